"""Batches of laws in NumPyro, one for each group of a plate; entropies and divergences against their integrals."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
import scipy.integrate
import scipy.optimize
import scipy.special
import scipy.stats
from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO
from numpyro.infer.util import log_density

import rmtjax as rmt
from rmtjax.adapters.numpyro import LawDistribution, distribution
from rmtjax.adapters.scipy_stats import frozen
from tests.statistical import assert_law

RADII = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def _semicircles(radii=RADII) -> LawDistribution:
    return distribution(jax.vmap(jax.vmap(rmt.laws.Semicircle))(jnp.asarray(radii)))


def test_a_batch_is_the_batch_of_scipy():
    found, expected = _semicircles(), scipy.stats.semicircular(scale=RADII)
    assert (found.batch_shape, found.event_shape) == ((2, 3), ())
    x, p = np.array([[0.2], [-0.9]]), np.array([0.1, 0.5, 0.7])
    for mine, theirs, points in (("log_prob", "logpdf", x), ("cdf", "cdf", x), ("icdf", "ppf", p)):
        values = getattr(found, mine)(points)
        assert values.shape == (2, 3)
        np.testing.assert_allclose(values, getattr(expected, theirs)(points), rtol=1e-5, atol=1e-6)
    assert found.log_prob(jnp.zeros((7, 1, 1))).shape == (7, 2, 3)
    assert found.log_prob(0.3).shape == (2, 3)
    np.testing.assert_allclose(found.variance, RADII**2 / 4, rtol=1e-6)
    np.testing.assert_allclose(found.mean, np.zeros((2, 3)), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(found.support(jnp.full((2, 3), 2.5)), RADII > 2.5)
    # The conventions of NumPyro: leading sample axes, expansion, events.
    draws = np.asarray(found.sample(jax.random.key(0), (300,)))
    assert draws.shape == (300, 2, 3)
    assert_law((draws / RADII).ravel(), scipy.stats.semicircular.cdf)
    assert len(np.unique(draws / RADII)) == draws.size  # each group draws for itself
    wide = found.expand((4, 2, 3))
    assert wide.sample(jax.random.PRNGKey(0), (5,)).shape == (5, 4, 2, 3)
    event = found.to_event(1)
    assert (event.batch_shape, event.event_shape) == ((2,), (3,))
    np.testing.assert_allclose(event.log_prob(x), found.log_prob(x).sum(-1), rtol=1e-6)


def test_the_shape_follows_the_parameters():
    made = jax.vmap(lambda radius: distribution(rmt.laws.Semicircle(radius)))(jnp.array([1.0, 2.0]))
    assert made.batch_shape == (2,)
    inner = jax.vmap(lambda each: jnp.full((), len(each.batch_shape)))(made)
    np.testing.assert_array_equal(inner, [0, 0])
    np.testing.assert_allclose(
        jax.jit(lambda made: made.log_prob(0.3))(made), scipy.stats.semicircular(scale=[1, 2]).logpdf(0.3), rtol=1e-5
    )
    # A parameter that is a vector keeps its axis, and laws inside of laws count.
    shares, radii = jnp.array([0.1, 0.2, 0.3]), jnp.array([1.0, 2.0, 3.0])
    make = lambda w, r: rmt.laws.Mixture([w, 1 - w], (rmt.laws.Semicircle(r), rmt.laws.Uniform(0.0, 1.0)))
    mixture = distribution(jax.vmap(make)(shares, radii))
    assert mixture.batch_shape == (3,)
    np.testing.assert_allclose(mixture.mean, (1 - np.asarray(shares)) / 2, rtol=1e-6)
    levels = jax.vmap(lambda top: rmt.laws.DeformedSemicircle(jnp.stack([-top, top]), [0.5, 0.5], 2.0))(radii)
    np.testing.assert_allclose(distribution(levels).variance, 1 + np.asarray(radii) ** 2, rtol=1e-5)
    # Laws without parameters, or with common ones, are no batch.
    assert distribution(rmt.laws.PoissonSpacing()).batch_shape == distribution(make(0.1, 1.0)).batch_shape == ()
    one_end = distribution(jax.vmap(lambda upper: rmt.laws.Uniform(-1.0, upper))(radii))
    np.testing.assert_allclose(one_end.mean, (np.asarray(radii) - 1) / 2, rtol=1e-6)


def test_a_batch_with_a_law_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"`radius` must be positive and finite, got -2\.0"):
        distribution(jax.vmap(rmt.laws.Semicircle)(jnp.array([1.0, -2.0])))
    ratios = lambda ratios: jax.vmap(lambda ratio: rmt.laws.MarchenkoPastur(ratio))(ratios)
    with pytest.raises(ValueError, match="`law` must have a density, and no point masses"):
        distribution(ratios(jnp.array([0.5, 2.0])))
    # What is inferred is NaN in the group that has none.
    found = jax.jit(lambda each: distribution(ratios(each)).log_prob(jnp.ones((4, 1))))(jnp.array([0.5, 2.0]))
    np.testing.assert_array_equal(np.isnan(found), np.tile([False, True], (4, 1)))


def _groups(data, observed=True):
    """Two groups of levels, each with a scale of its own."""
    with numpyro.plate("group", 2, dim=-1):
        scale = numpyro.sample("scale", dist.LogNormal(0.0, 2.0))
        with numpyro.plate("level", len(data), dim=-2):
            law = jax.vmap(rmt.laws.Semicircle)(scale)
            numpyro.sample("x", distribution(law), obs=jnp.asarray(data) if observed else None)


def _two_groups(key, n: int) -> np.ndarray:
    return np.asarray(rmt.laws.Semicircle(1.0).sample(key, (n, 2))) * np.array([1.0, 5.0])


def test_the_density_of_a_plate_is_the_sum_over_its_groups(getkey):
    data, scale = _two_groups(getkey(), 30), np.array([1.2, 5.5])
    with jax.numpy_dtype_promotion("standard"):  # NumPyro promotes
        density, trace = log_density(_groups, (data,), {}, {"scale": jnp.asarray(scale)})
    levels = scipy.stats.semicircular(scale=scale).logpdf(data)
    np.testing.assert_allclose(density, levels.sum() + scipy.stats.lognorm(2.0).logpdf(scale).sum(), rtol=1e-5)
    assert trace["x"]["fn"].batch_shape == (30, 2)
    with numpyro.handlers.seed(rng_seed=0):
        drawn = numpyro.handlers.trace(_groups).get_trace(data, observed=False)
    assert drawn["x"]["value"].shape == (30, 2)


def test_variational_inference_finds_the_scale_of_each_group(getkey):
    data = _two_groups(getkey(), 200)
    guide = numpyro.infer.autoguide.AutoDelta(
        _groups, init_loc_fn=numpyro.infer.init_to_value(values={"scale": jnp.full(2, 6.0)})
    )
    with jax.numpy_dtype_promotion("standard"):
        svi = SVI(_groups, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
        state = svi.run(jax.random.key(0), 200, data, progress_bar=False)
    found = guide.median(state.params)["scale"]
    # The maximum of the likelihood of each group with its prior, by SciPy.
    for scale, levels in zip(np.asarray(found), data.T, strict=True):
        lost = lambda r, x=levels: -scipy.stats.semicircular(scale=r).logpdf(x).sum() - scipy.stats.lognorm(2).logpdf(r)
        best = scipy.optimize.minimize_scalar(lost, bounds=(np.abs(levels).max() * (1 + 1e-9), 7), method="bounded").x
        np.testing.assert_allclose(scale, best, rtol=0.01)


@pytest.mark.slow
def test_the_posteriors_of_groups_are_those_of_grids(getkey):
    def model(spacings):
        with numpyro.plate("group", 2):
            beta = numpyro.sample("beta", dist.Exponential(1.0))
            with numpyro.plate("spacing", len(spacings)):
                numpyro.sample("s", distribution(jax.vmap(rmt.laws.WignerSurmise)(beta)), obs=spacings)

    truth = jnp.array([1.0, 3.0])
    spacings = distribution(jax.vmap(rmt.laws.WignerSurmise)(truth)).sample(getkey(), (150,))
    mcmc = MCMC(NUTS(model), num_warmup=500, num_samples=2000, progress_bar=False)
    with jax.numpy_dtype_promotion("standard"):
        mcmc.run(jax.random.key(1), spacings)
    found = np.asarray(mcmc.get_samples()["beta"])
    for group in range(2):
        grid, s = np.linspace(0.2, 6, 2901)[:, None], np.asarray(spacings)[:, group]
        half = (grid + 1) / 2
        b = np.exp(2 * (scipy.special.gammaln(half + 0.5) - scipy.special.gammaln(half)))
        logs = (np.log(2 * s) + scipy.stats.gamma.logpdf(s**2, half, scale=1 / b)).sum(1) - grid[:, 0]
        weights = np.exp(logs - logs.max())
        mean = np.average(grid[:, 0], weights=weights)
        deviation = np.average((grid[:, 0] - mean) ** 2, weights=weights) ** 0.5
        assert abs(found[:, group].mean() - mean) < 5 * deviation / 600**0.5


ENTROPIES = {
    # log(π r) - 1/2, log(π r/2), and of a gamma variate of shape 1/2 and scale 2.
    "semicircle": (rmt.laws.Semicircle, 1.5, np.log(1.5 * np.pi) - 0.5),
    "arcsine": (rmt.laws.Arcsine, 2.0, np.log(np.pi)),
    "Porter-Thomas": (lambda _: rmt.laws.PorterThomas(1), 0.0, scipy.stats.chi2(1).entropy()),
    "Brody": (rmt.laws.Brody, 0.5, scipy.stats.weibull_min(1.5, scale=1 / scipy.special.gamma(5 / 3)).entropy()),
    # E log X = -1 and E log(4 - X) = 1. The panel between 0 and the atom that is not there has no width.
    "Marchenko-Pastur": (lambda scale: rmt.laws.MarchenkoPastur(1.0, scale), 1.0, np.log(2 * np.pi) - 1),
    "uniform": (lambda upper: rmt.laws.Uniform(-1.0, upper), 3.0, np.log(4)),
}


@pytest.mark.parametrize("name", ENTROPIES)
def test_entropies_are_those_of_formulas(name):
    make, parameter, expected = ENTROPIES[name]
    parameter = jnp.asarray(parameter)
    one = distribution(make(parameter))
    np.testing.assert_allclose(one.entropy(), expected, rtol=2e-6, atol=2e-6)
    if jax.tree.leaves(one.law):
        batch = distribution(jax.vmap(make)(jnp.stack([parameter, parameter * 1.1]))).entropy()
        np.testing.assert_allclose(batch[0], expected, rtol=2e-6, atol=2e-6)
        assert batch.shape == (2,)


def test_entropy_has_a_slope():
    slope = jax.grad(lambda radius: distribution(rmt.laws.Semicircle(radius)).entropy())(2.0)
    np.testing.assert_allclose(slope, 0.5, rtol=1e-5)


PAIRS = {
    "semicircles": (rmt.laws.Semicircle(1.5), rmt.laws.Semicircle(1.6)),
    "quarter circles": (rmt.laws.QuarterCircle(1.5), rmt.laws.QuarterCircle(4.0)),
    "arcsines": (rmt.laws.Arcsine(1.5), rmt.laws.Arcsine(1.6)),
    "uniforms": (rmt.laws.Uniform(0.0, 1.0), rmt.laws.Uniform(-1.0, 2.5)),
    "surmises": (rmt.laws.WignerSurmise(1.0), rmt.laws.WignerSurmise(2.5)),
    "Poisson and Brody": (rmt.laws.PoissonSpacing(), rmt.laws.Brody(0.6)),
    "Brody and surmise": (rmt.laws.Brody(0.6), rmt.laws.WignerSurmise(1.0)),
    "surmise and Poisson": (rmt.laws.WignerSurmise(2.0), rmt.laws.PoissonSpacing(2)),
    "intensities": (rmt.laws.PorterThomas(1), rmt.laws.PorterThomas(2)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_divergences_are_their_integrals(name):
    one, other = PAIRS[name]
    found = dist.kl_divergence(distribution(one), distribution(other))
    p, q = frozen(one), frozen(other)
    lower, upper = p.ppf(0.0), p.isf(1e-15)
    # The variable of the arcs takes the singular ends away.
    middle, half = (lower + upper) / 2, (upper - lower) / 2
    at = lambda t: middle - half * np.cos(t)
    integrand = lambda t: p.pdf(at(t)) * (p.logpdf(at(t)) - q.logpdf(at(t))) * half * np.sin(t)
    expected = scipy.integrate.quad(integrand, 0, np.pi, limit=200, points=[0.1, 3.0])[0]
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(dist.kl_divergence(distribution(one), distribution(one)), 0, rtol=0, atol=1e-6)


def test_divergences_of_batches_and_beyond_the_support():
    radii = jnp.array([[1.0, 2.0, 3.0]])
    batch = distribution(jax.vmap(jax.vmap(rmt.laws.Semicircle))(radii))
    found = dist.kl_divergence(distribution(rmt.laws.Semicircle(2.0)), batch)
    assert found.shape == (1, 3)
    assert found[0, 0] == np.inf
    assert found[0, 1] == 0
    np.testing.assert_allclose(found[0, 2], dist.kl_divergence(_semicircles(2 * np.ones((1, 1))), batch)[0, 2])
    inside, outside = distribution(rmt.laws.Uniform(0.0, 1.0)), distribution(rmt.laws.Uniform(0.5, 2.0))
    assert dist.kl_divergence(inside, outside) == np.inf
    assert dist.kl_divergence(inside.expand((4,)), outside).shape == (4,)
    # Where the radii are equal the slope is 0 and not NaN; elsewhere it is that of a difference.
    inside_of = lambda r: distribution(rmt.laws.Semicircle(r))
    divergence = lambda r: dist.kl_divergence(inside_of(r), inside_of(2.0))
    assert jax.grad(divergence)(2.0) == 0
    np.testing.assert_allclose(jax.grad(divergence)(1.0), (divergence(1.03) - divergence(0.97)) / 0.06, rtol=5e-3)
    with pytest.raises(NotImplementedError, match="divergence of Semicircle and Uniform"):
        dist.kl_divergence(inside_of(1.0), inside)
