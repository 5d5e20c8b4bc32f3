"""Laws of spacings with one parameter, against another optimiser and at the ends of their ranges."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
import scipy.stats

import rmtjax as rmt
from rmtjax.inference import fit_berry_robnik, fit_beta, fit_brody, fit_crossover, log_likelihood
from rmtjax.inference._fits.maximum import Groups, usable
from rmtjax.laws import (
    BerryRobnik,
    Brody,
    CrossoverSurmise,
    InterpolatedGapRatio,
    InterpolatedSpacing,
    PoissonCrossoverSurmise,
)
from tests.cases import further

# Forty spacings at the quantiles of a law between independent levels and the GOE.
SPACINGS = np.asarray(Brody(0.6).ppf((jnp.arange(40.0) + 0.5) / 40))[np.random.default_rng(0).permutation(40)]
LEVELS = np.append(0.0, np.cumsum(SPACINGS))


@pytest.mark.parametrize(
    ("fit", "law", "bounds"),
    [
        (fit_brody, Brody, (-0.5, 3)),
        (fit_berry_robnik, BerryRobnik, (0, 1)),
        *further((lambda levels: fit_crossover(levels, start="goe"), CrossoverSurmise, (0, 1))),
        *further((fit_crossover, PoissonCrossoverSurmise, (1e-3, 5))),
    ],
    ids=["brody", "berry-robnik", "goe", "poisson"],
)
def test_fit_is_that_of_another_optimiser(fit, law, bounds):
    spacings = SPACINGS if law is not CrossoverSurmise else 1 + 0.65 * (SPACINGS - 1)
    if law is BerryRobnik:  # forty spacings do not tell it from both ends
        spacings = np.tile(SPACINGS, 10)
    found = fit(np.append(0.0, np.cumsum(spacings)))
    program = jax.jit(lambda x: log_likelihood(law(x), jnp.asarray(spacings)))
    best = scipy.optimize.minimize_scalar(lambda x: -float(program(x)), bounds=bounds, options={"xatol": 1e-9})
    np.testing.assert_allclose(found.value, best.x, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(found.log_likelihood, -best.fun, rtol=1e-9)
    assert (found.errors, found.groups, found.number) == ("blocks", 20, spacings.size)
    assert isinstance(found.law, law)
    # Blocks, by differences.
    program = jax.jit(lambda x: law(x).logpdf(jnp.asarray(spacings)))
    each = lambda x: np.asarray(program(x)).reshape(20, -1)
    step = 1e-3 * best.x
    above, middle, below = (each(best.x + h).sum(1) for h in (step, 0.0, -step))
    slopes, bend = (above - below) / (2 * step), (above - 2 * middle + below).sum() / step**2
    if not found.at_boundary:
        np.testing.assert_allclose(found.standard_error, np.sqrt(20 / 19 * (slopes**2).sum()) / -bend, rtol=1e-3)
    # At the ends of the interval the test is just significant, or the range ends.
    limits = RANGES[law]
    bound, ends = scipy.stats.t.ppf(0.95, 19) ** 2, np.asarray(found.interval(0.9))
    for end in ends[~np.isin(ends, limits)]:
        np.testing.assert_allclose(statistic(each, end, best.x), bound, rtol=1e-5)
    assert ends[0] < found.value < ends[1]
    losses = [each(best.x).sum() - each(limit).sum() for limit in limits]
    assert found.at_boundary == (2 * min(losses) <= 3.841459)


# The ends of the parameters of the fits.
RANGES = {Brody: (-0.9, 5.0), BerryRobnik: (0.0, 1.0), CrossoverSurmise: (0.0, 1.0), PoissonCrossoverSurmise: (0, 10)}


def statistic(each, theta, best):
    """Twice the loss of likelihood, over the inflation of its variance by blocks."""
    loss = each(best) - each(theta)
    deviations = loss - loss.mean()
    return 2 * loss.sum() / (20 / 19 * (deviations.sum(1) ** 2).sum() / (deviations**2).sum())


def test_boundary_and_mask():
    rigid = jnp.cumsum(1 + 0.01 * jnp.asarray(SPACINGS))
    fit = fit_berry_robnik(rigid)
    assert fit.at_boundary
    assert fit.value == 0
    assert np.isnan(fit.standard_error)
    # A level far away leaves the fit alone where it does not count.
    levels = jnp.append(jnp.asarray(LEVELS[1:]), 1e3)
    spectrum = rmt.Spectrum(levels, levels < 500, unfolded=True)
    masked, whole = fit_brody(spectrum), fit_brody(LEVELS[1:])
    np.testing.assert_allclose(masked.value, whole.value, rtol=1e-10)
    assert masked.number == whole.number == 39


def test_derivative_in_the_levels():
    slope = jax.grad(lambda x: fit_brody(x).value)(jnp.asarray(LEVELS))
    direction = np.random.default_rng(1).normal(size=LEVELS.size)
    ends = [float(fit_brody(LEVELS + h * direction).value) for h in (1e-6, -1e-6)]
    np.testing.assert_allclose(slope @ direction, (ends[0] - ends[1]) / 2e-6, rtol=1e-5)


def test_bad_input():
    with pytest.raises(ValueError, match="`start` must be one of"):
        fit_crossover(LEVELS, start="gue")
    with pytest.raises(ValueError, match="must be ascending"):
        fit_brody(LEVELS[::-1])


def test_levels_that_are_not_unfolded_are_refused():
    """The mean of 40 spacings may be as far from 1 as by chance; a spectrum that is not unfolded never passes."""
    for factor in (0.1, 4.0):
        fit_brody(factor**0.5 * LEVELS)
        for fit in (fit_brody, fit_berry_robnik, fit_crossover, partial(fit_beta, by="spacings")):
            with pytest.raises(ValueError, match=r"`levels` must have a mean spacing of 1 .*statistics.unfold"):
                fit(factor * LEVELS)
            with pytest.raises(
                ValueError, match=r"`levels` must be unfolded .*statistics.unfold.* a spectrum that is not"
            ):
                fit(rmt.Spectrum(LEVELS))
    assert fit_beta(rmt.Spectrum(1e3 * LEVELS)).number == 39
    assert fit_beta(1e3 * LEVELS).number == 39
    # The limits are bounds from above for SciPy's gamma distribution of a sum of exponentials.
    for mean, kept in ((0.15, False), (0.2, True), (2.8, True), (3.2, False)):
        m = 40
        tail = min(scipy.stats.gamma.cdf(m * mean, m), scipy.stats.gamma.sf(m * mean, m))
        assert (tail > 1e-17) == kept
        groups = Groups(jnp.full((2, 20), mean), jnp.ones((2, 20), bool))
        if kept:
            assert usable(groups, spacings=True) is True
        else:
            with pytest.raises(ValueError, match=f"got {mean}"):
                usable(groups, spacings=True)
    # A mean that is off because matrices are small is allowed, for any number of spacings.
    many = jnp.ones((1000, 300), bool)
    assert usable(Groups(1.018 * many.astype(float), many), spacings=True) is True
    traced = jax.jit(lambda x: fit_brody(x))
    assert np.isnan(traced(10 * LEVELS).value)
    assert np.isfinite(traced(LEVELS).value)


def test_few_levels_and_the_repr():
    for levels in (LEVELS[:1], np.zeros((3, 0)), np.zeros((0, 5))):
        for fit in (fit_brody, fit_beta):
            with pytest.raises(ValueError, match="`levels` must leave at least 2 values that count, got 0"):
                fit(levels)
    with pytest.raises(ValueError, match="at least 2 levels"):
        fit_beta(np.zeros((0, 5)), by="levels")
    with pytest.raises(ValueError, match="`law` must be a law"):
        log_likelihood(Brody, SPACINGS)  # pyright: ignore[reportArgumentType]
    fit = fit_brody(LEVELS)
    assert "at_boundary=False, number=40" in repr(fit)
    assert "at_boundary=True" in repr(eqx.tree_at(lambda x: x.at_boundary, fit, jnp.array(True)))
    jax.jit(repr_of)(fit)


def repr_of(fit):
    assert "at_boundary=bool[]" in repr(fit)
    return fit.value


# At the ends of the ranges, where the likelihood is not quadratic, near them and inside.
COVERED = [
    *((fit_brody, Brody, q) for q in (-0.5, 0.0, 1.0, 3.0)),
    *((fit_berry_robnik, BerryRobnik, rho) for rho in (0.0, 0.02, 0.1, 0.5, 0.9, 1.0)),
    *((partial(fit_crossover, start="goe"), CrossoverSurmise, coupling) for coupling in (0.0, 0.003, 0.05, 0.3, 1.0)),
    *((fit_crossover, PoissonCrossoverSurmise, coupling) for coupling in (0.0, 0.001, 0.01, 0.1, 1.0, 10.0)),
    *((partial(fit_beta, by="spacings"), InterpolatedSpacing, beta) for beta in (0.0, 0.05, 1.0, 4.0)),
    *((fit_beta, InterpolatedGapRatio, beta) for beta in (0.0, 0.05, 1.0, 4.0)),
]


@pytest.mark.slow
@pytest.mark.heavy
@pytest.mark.parametrize(("fit", "law", "parameter"), COVERED)
def test_coverage(getkey, fit, law, parameter):
    """An interval of 95 % holds the truth in 93 to 97 % of data sets, or says that it has one side only."""
    # These laws take long: one to fit, and two to draw from.
    sizes = {PoissonCrossoverSurmise: (400, 200), InterpolatedSpacing: (400, 100), InterpolatedGapRatio: (400, 100)}
    draws, size = sizes.get(law, (1000, 300))
    values = law(parameter).sample(getkey(), (draws, size))
    if law is InterpolatedGapRatio:
        levels = jnp.stack([0 * values, 1 + 0 * values, 1 + values], axis=-1)
    else:
        levels = jnp.cumsum(values, axis=-1)
    found = jax.jit(partial(jax.lax.map, fit))(levels)
    low, high = map(np.asarray, found.interval())
    share = ((low <= parameter) & (parameter <= high)).mean()
    one_sided = np.isin(np.stack([low, high]), found.profile.grid).any(axis=0)
    # 400 data sets know a share of 94 % to 1.2 %.
    error = (0.94 * 0.06 / draws) ** 0.5
    assert share > 0.93 - 2 * error
    assert share < 0.97 + 2 * error or one_sided.mean() > 0.8
    # Where an end is not excluded there is no standard error.
    assert (np.isnan(found.standard_error) == np.asarray(found.at_boundary)).all()
    assert (one_sided == np.asarray(found.at_boundary)).mean() > 0.85
