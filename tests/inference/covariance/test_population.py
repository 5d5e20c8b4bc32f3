"""The population levels against known ones, a fit by SciPy on the formulas of the source, and exact laws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import nnls

import rmtjax as rmt
from rmtjax.inference import PopulationSpectrum, population_spectrum
from rmtjax.inference._covariance import silverstein_fit

P = 60


def truth(name: str) -> np.ndarray:
    if name == "one":
        return np.ones(P)
    if name == "two":
        return np.repeat([1.0, 3.0], P // 2)
    if name == "three":
        return np.repeat([1.0, 3.0, 10.0], [P // 5, 2 * P // 5, 2 * P // 5])
    return np.linalg.eigvalsh(0.3 ** np.abs(np.subtract.outer(range(P), range(P))))


def draws(population: np.ndarray, n: int, *, beta: int = 1, number: int = 6, seed: int = 0) -> np.ndarray:
    """Levels of a few sample covariance matrices, the min(n, p) that need not be 0."""
    rng = np.random.default_rng(seed)
    shape = (number, n, population.size)
    data = rng.normal(size=shape) + (1j * rng.normal(size=shape) if beta == 2 else 0)
    return np.linalg.svd(data * np.sqrt(population / (beta * n)), compute_uv=False)[..., ::-1] ** 2


def error(levels: np.ndarray, population: np.ndarray) -> float:
    return float(np.abs(np.asarray(levels) - population).mean() / population.mean())


# The limits are about 1.5 times the errors that were measured.
@pytest.mark.float32
@pytest.mark.parametrize(
    ("n", "limits"),
    [(180, {"one": 0.06, "two": 0.1, "three": 0.1, "toeplitz": 0.17}), (30, {"one": 0.2, "three": 0.5})],
)
def test_levels_are_near_the_true_ones(n, limits):
    for name, limit in limits.items():
        population = truth(name)
        levels = draws(population, n)
        found = population_spectrum(jnp.asarray(levels), n, P)
        assert found.levels.shape == (6, P)
        assert np.all(np.diff(found.levels) >= 0)
        full = np.concatenate([np.zeros((6, P - levels.shape[-1])), levels], axis=-1)
        assert error(found.levels, population) < min(limit, 0.75 * error(full, population))
        # The trace of the sample is unbiased, and the equation holds for large z.
        np.testing.assert_allclose(found.levels.mean(-1), full.mean(-1), rtol=0.03)
        assert np.all((found.distance * P > 0.5) & (found.distance * P < 5))


def test_spikes_and_zeros():
    population = np.concatenate([np.zeros(10), np.ones(47), [20.0, 40.0, 3000.0]])
    found = population_spectrum(jnp.asarray(draws(population, 180)), 180, P)
    np.testing.assert_allclose(found.levels[:, :10], 0, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.levels[:, 10:55].mean(0), 1, rtol=0, atol=0.3)
    np.testing.assert_allclose(found.levels[:, 57:].mean(0), population[57:], rtol=0.35)


@pytest.mark.parametrize(("n", "population"), [(180, "three"), (30, "one")])
def test_distance_is_that_of_the_law(n, population):
    levels = draws(truth(population), n)
    law = rmt.laws.GeneralMarchenkoPastur(P / n, truth(population))
    weights = jnp.full(P, 1 / P)
    below = silverstein_fit.distribution(jnp.asarray(levels[0]), jnp.asarray(truth(population)), weights, P / n)
    np.testing.assert_allclose(below, law.cdf(levels[0]), rtol=0, atol=2e-3)
    found = jax.tree.map(lambda leaf: leaf[0], population_spectrum(jnp.asarray(levels), n, P))
    below, steps = np.asarray(found.law.cdf(levels[0])), np.arange(P - levels.shape[-1], P + 1) / P
    distance = np.maximum(abs(below - steps[:-1]), abs(below - steps[1:])).max()
    np.testing.assert_allclose(found.distance, distance, rtol=0, atol=2e-3)


@pytest.mark.float32
def test_least_squares_are_those_of_scipy():
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(40, 128)) + 5
    target = matrix @ np.where(np.arange(128) % 50 == 7, 0.3, 0) + rng.normal(size=40)
    found = np.asarray(silverstein_fit._nonnegative_least_squares(jnp.asarray(matrix), jnp.asarray(target)), float)
    objective = lambda w: np.sum((matrix @ w - target) ** 2) / 2
    best = objective(nnls(matrix, target)[0])
    assert best <= objective(found) < best + 0.1
    assert np.all(found > 0)


def test_covariance_of_the_equation_is_that_of_draws():
    """For Σ = 1 with c = 1/2 at two points on the curve: the error of the equation over draws."""
    n, p, points = 80, 40, np.array([1 + 1j, 1.6 + 0.8j])
    z = points * (1 + 0.5 / (points - 1))
    levels = draws(np.ones(p), n, number=4000, seed=5)
    omega = -n / ((1 / (levels[..., None] - z)).sum(1) - (n - p) / z)
    errors = (z - omega) / omega**2 - 0.5 / (omega * (omega - 1))
    stacked = np.concatenate([errors.real, errors.imag], axis=-1)
    inverse = jnp.asarray(1 / (points[:, None] - 1))
    expected = np.asarray(silverstein_fit._covariance(inverse, jnp.array([0.5]))) * 2 / n**2
    measured = np.cov(stacked, rowvar=False)
    sizes = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    np.testing.assert_allclose(measured / sizes, expected / sizes, rtol=0, atol=0.2)
    bias = 0.5 / (points - 1) ** 3 / (1 - 0.5 / (points - 1) ** 2) / n
    deviations = np.sqrt(np.diag(expected) / 4000)
    np.testing.assert_array_less(
        abs(stacked.mean(0) - np.concatenate([bias.real, bias.imag])), 5 * deviations + 0.15 * abs(bias).max()
    )


def test_scale_and_forms_of_the_levels():
    levels = draws(truth("two"), 30, seed=2)
    found = population_spectrum(jnp.asarray(levels), 30, P)
    full = jnp.asarray(np.concatenate([np.zeros((6, 30)), 1e30 * levels], axis=-1))
    np.testing.assert_allclose(population_spectrum(full[:, ::-1], 30).levels, 1e30 * found.levels, rtol=1e-4)


def test_equal_levels():
    np.testing.assert_allclose(population_spectrum(jnp.full(5, 2.0), 10**6).levels, 2, rtol=1e-2)


def test_it_is_a_constant_to_derivatives():
    levels = jnp.asarray(draws(truth("two")[::6], 40, number=1)[0])
    slopes = jax.grad(lambda x: population_spectrum(x, 40).levels.mean())(levels)
    np.testing.assert_array_equal(slopes, 0)


def test_wrong_arguments_are_named():
    levels = [0.5, 1.0, 1.5]
    for arguments, name in [
        ((levels, 0), "n"),
        ((levels, 10, 5), "levels"),
        (([-1.0, 1.0], 10), "levels"),
        (([0.0, 0.0], 10), "levels"),
        ((levels, 2), "levels"),
        (([1.0], 10), "levels"),
    ]:
        with pytest.raises(ValueError, match=f"`{name}`"):
            population_spectrum(*arguments)
    assert np.isnan(jax.jit(lambda x: population_spectrum(x, 10).levels)(jnp.array([-1.0, 1.0, 2.0]))).all()
    assert isinstance(population_spectrum(levels, 10), PopulationSpectrum)
