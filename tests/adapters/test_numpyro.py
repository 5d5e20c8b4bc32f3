"""Laws as distributions of NumPyro: against its own, as a pytree, and in inference against a grid."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
import scipy.stats
from numpyro.infer import MCMC, NUTS

import rmtjax as rmt
from rmtjax.adapters.numpyro import distribution
from tests.statistical import assert_law

PAIRS = [(rmt.laws.PoissonSpacing(), dist.Exponential(1.0)), (rmt.laws.Uniform(-1.0, 3.0), dist.Uniform(-1.0, 3.0))]


@pytest.mark.parametrize(("law", "expected"), PAIRS, ids=["exponential", "uniform"])
def test_it_is_the_distribution_of_numpyro(law, expected):
    found = distribution(law)
    x, p = jnp.array([0.2, 1.4]), jnp.array([0.1, 0.7])
    for method, points in (("log_prob", x), ("cdf", x), ("icdf", p)):
        np.testing.assert_allclose(getattr(found, method)(points), getattr(expected, method)(points), rtol=1e-5)
    np.testing.assert_allclose([found.mean, found.variance], [expected.mean, expected.variance], rtol=1e-6)
    outside = jnp.array([-1.5, 0.5, 5.0])
    np.testing.assert_array_equal(found.support(outside), expected.support(outside))
    assert found.batch_shape == found.event_shape == ()
    for key in (jax.random.key(0), jax.random.PRNGKey(0)):
        draws = found.sample(key, (400,))
        assert draws.shape == (400,)
        assert_law(np.asarray(draws), lambda x: np.asarray(expected.cdf(x)))


def test_it_is_a_pytree_of_the_parameters():
    made = jax.jit(lambda radius: distribution(rmt.laws.Semicircle(radius)))(1.5)
    assert [float(leaf) for leaf in jax.tree.leaves(made)] == [1.5]
    log_prob = jax.jit(lambda law, x: law.log_prob(x))(made, 0.3)
    np.testing.assert_allclose(log_prob, scipy.stats.semicircular(scale=1.5).logpdf(0.3), rtol=1e-6)
    batch = jax.vmap(lambda radius: distribution(rmt.laws.Semicircle(radius)).log_prob(0.3))(jnp.array([1.5, 2.0]))
    np.testing.assert_allclose(batch[0], log_prob, rtol=1e-6)
    # d/dr of -2 log r + ½ log(r² - x²).
    slope = jax.grad(lambda radius: distribution(rmt.laws.Semicircle(radius)).log_prob(0.3))(2.0)
    np.testing.assert_allclose(slope, -2 / 2 + 2 / (4 - 0.09), rtol=1e-5)
    # The infinite end is known although the parameter is traced.
    assert jax.jit(lambda beta: distribution(rmt.laws.WignerSurmise(beta)).support(jnp.array(1e6)))(2.0)


def test_a_plate_repeats_it():
    with numpyro.handlers.seed(rng_seed=0), numpyro.plate("n", 5):
        assert numpyro.sample("x", distribution(rmt.laws.Semicircle(2.0))).shape == (5,)


def test_what_has_no_density_is_refused():
    with pytest.raises(ValueError, match="`law` must have a density, and no point masses"):
        distribution(rmt.laws.MarchenkoPastur(2.0))
    with pytest.raises(ValueError, match=r"`law` must be a law of `rmtjax.laws`"):
        distribution(rmt.GOE(3))  # pyright: ignore[reportArgumentType]
    # Where there is none at these parameters, there is a density.
    assert distribution(rmt.laws.MarchenkoPastur(0.5)).log_prob(1.0) < 0
    with pytest.warns(UserWarning, match="Out-of-support"):
        distribution(rmt.laws.Uniform(), validate_args=True).log_prob(2.0)


def test_a_point_mass_that_depends_on_a_parameter():
    log_prob = jax.jit(lambda ratio: distribution(rmt.laws.MarchenkoPastur(ratio)).log_prob(1.0))
    np.testing.assert_allclose(log_prob(0.5), distribution(rmt.laws.MarchenkoPastur(0.5)).log_prob(1.0), rtol=1e-6)
    assert np.isnan(log_prob(2.0))
    # A known parameter stays known in the program of a sampler.
    assert jax.jit(lambda x: distribution(rmt.laws.MarchenkoPastur(0.5)).log_prob(x))(1.0) == log_prob(0.5)
    with pytest.raises(ValueError, match="`law` must have a density, and no point masses"):
        jax.jit(lambda x: distribution(rmt.laws.MarchenkoPastur(2.0)).log_prob(x))(1.0)


def _posterior(model, *args, samples=2000):
    mcmc = MCMC(NUTS(model), num_warmup=500, num_samples=samples, progress_bar=False)
    with jax.numpy_dtype_promotion("standard"):  # NumPyro promotes
        mcmc.run(jax.random.key(1), *args)
    return {name: np.asarray(values) for name, values in mcmc.get_samples().items()}


@pytest.mark.slow
def test_the_posterior_of_beta_is_that_of_a_grid(getkey):
    spacings = rmt.laws.WignerSurmise(1.5).sample(getkey(), (200,))

    def model(spacings):
        beta = numpyro.sample("beta", dist.Exponential(1.0))
        with numpyro.plate("spacings", spacings.size):
            numpyro.sample("s", distribution(rmt.laws.WignerSurmise(beta)), obs=spacings)

    found = _posterior(model, spacings)["beta"]
    # The surmise is a s^β exp(-b s²), the root of a gamma variable of mean shape/b.
    grid, s = np.linspace(0.5, 4, 1401)[:, None], np.asarray(spacings)
    half = (grid + 1) / 2
    b = np.exp(2 * (scipy.special.gammaln(half + 0.5) - scipy.special.gammaln(half)))
    log = np.log(2 * s) + scipy.stats.gamma.logpdf(s**2, half, scale=1 / b)
    weights = np.exp((logs := log.sum(1) - grid[:, 0]) - logs.max())
    mean = np.average(grid[:, 0], weights=weights)
    deviation = np.average((grid[:, 0] - mean) ** 2, weights=weights) ** 0.5
    # At least a third of the 2000 samples of NUTS count as independent.
    assert abs(found.mean() - mean) < 5 * deviation / 600**0.5
    assert abs(found.std() / deviation - 1) < 5 / (2 * 600) ** 0.5


@pytest.mark.slow
def test_a_latent_variable_stays_in_a_support_that_moves():
    def model():
        radius = numpyro.sample("radius", dist.LogNormal(0.0, 0.3))
        numpyro.sample("x", distribution(rmt.laws.Semicircle(radius)))

    found = _posterior(model, samples=4000)
    inside = found["x"] / found["radius"]
    assert (abs(inside) < 1).all()
    # x/r is a semicircle and independent of r; every fifth sample is next to independent.
    assert_law(inside[::5], scipy.stats.semicircular.cdf)
    assert_law(np.log(found["radius"])[::5] / 0.3, scipy.stats.norm.cdf)


@pytest.mark.slow
def test_the_posterior_of_a_ratio_is_that_of_a_grid(getkey):
    levels = rmt.laws.MarchenkoPastur(0.3).sample(getkey(), (150,))

    def model(levels):
        ratio = numpyro.sample("ratio", dist.Uniform(0.25, 0.95))
        with numpyro.plate("levels", levels.size):
            numpyro.sample("x", distribution(rmt.laws.MarchenkoPastur(ratio)), obs=levels)

    found = _posterior(model, levels)["ratio"]
    # The density is √((b - x)(x - a))/(2π c x) between a and b = (1 ± √c)², and 0 outside.
    grid, x = np.linspace(0.25, 0.95, 7001)[:, None], np.asarray(levels)
    lower, upper = (1 - grid**0.5) ** 2, (1 + grid**0.5) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = np.log(np.sqrt((upper - x) * (x - lower)) / (2 * np.pi * grid * x))
    logs = np.where(np.isnan(logs), -np.inf, logs).sum(1)
    weights = np.exp(logs - logs.max())
    mean = np.average(grid[:, 0], weights=weights)
    deviation = np.average((grid[:, 0] - mean) ** 2, weights=weights) ** 0.5
    assert abs(found.mean() - mean) < 0.3 * deviation
    assert abs(found.std() / deviation - 1) < 0.3
