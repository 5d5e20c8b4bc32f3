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
from rmtjax.laws import BerryRobnik, Brody, CrossoverSurmise, PoissonCrossoverSurmise
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
    spacings = SPACINGS if law is not CrossoverSurmise else 1 + 0.6 * (SPACINGS - 1)
    found = fit(np.append(0.0, np.cumsum(spacings)))
    program = jax.jit(lambda x: log_likelihood(law(x), jnp.asarray(spacings)))
    best = scipy.optimize.minimize_scalar(lambda x: -float(program(x)), bounds=bounds, options={"xatol": 1e-9})
    np.testing.assert_allclose(found.value, best.x, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(found.log_likelihood, -best.fun, rtol=1e-9)
    assert (found.errors, found.groups, found.number) == ("blocks", 20, 40)
    assert isinstance(found.law, law)
    # Blocks of two spacings, by differences.
    step = 1e-3 * best.x
    program = jax.jit(lambda x: law(x).logpdf(jnp.asarray(spacings)))
    above, middle, below = (np.asarray(program(best.x + h)).reshape(20, 2).sum(1) for h in (step, 0.0, -step))
    slopes, bend = (above - below) / (2 * step), (above - 2 * middle + below).sum() / step**2
    np.testing.assert_allclose(found.standard_error, np.sqrt(20 / 19 * (slopes**2).sum()) / -bend, rtol=1e-3)


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


@pytest.mark.slow
@pytest.mark.heavy
@pytest.mark.parametrize(
    ("fit", "law", "parameter"),
    [
        (fit_brody, Brody, 0.4),
        (fit_berry_robnik, BerryRobnik, 0.3),
        (fit_crossover, PoissonCrossoverSurmise, 0.3),
        (lambda levels: fit_crossover(levels, start="goe"), CrossoverSurmise, 0.4),
    ],
    ids=["brody", "berry-robnik", "poisson", "goe"],
)
def test_coverage(getkey, fit, law, parameter):
    draws = 200 if law is not PoissonCrossoverSurmise else 60
    levels = jnp.cumsum(law(parameter).sample(getkey(), (draws, 500)), axis=-1)
    found = jax.lax.map(fit, levels)
    z = np.asarray((found.value - parameter) / found.standard_error)
    z = z[~np.asarray(found.at_boundary)]
    assert z.size > 0.9 * draws
    assert abs(z.mean()) < 0.2 + 5 / z.size**0.5
    assert 0.8 < z.std() < 1.35
