"""Linear shrinkage towards targets: the authors' programs, the definition, and what holds for every target."""

from typing import get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax._typing import ShrinkageTarget
from tests.cases import further

TARGETS = [each for each in get_args(ShrinkageTarget) if each != "identity"]


def shrink(data, target, **options):
    return rmt.inference.shrink_covariance(data, method="ledoit-wolf", target=target, **options)


def _data(n: int, p: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    factor = rng.normal(size=(n, 1))
    return (rng.normal(size=(n, p)) + factor * np.linspace(0.3, 1.2, p)) * np.geomspace(1, 3, p) + 5


# The entries [0, 1] and [2, 7] and the Frobenius norm of the programs of Ledoit and Wolf (covShrinkage of pald22 on
# GitHub, at a03fe68: covDiag, covCor, covMarket, cov2Para) for centred data and k=0. `single_factor` of PyPortfolioOpt
# has the same numbers as covMarket for 25 rows.
PUBLISHED = {
    ("diagonal", 25, 8): (0.0911545023783, 1.20088810735, 27.085726049),
    ("constant-correlation", 25, 8): (0.256653233232, 1.71756358224, 26.1620003215),
    ("one-factor", 25, 8): (0.0697039138415, 2.27575421689, 30.8389297003),
    ("two-parameter", 25, 8): (0.413150160635, 1.53993805686, 27.0853776382),
    ("diagonal", 20, 31): (0.242714833262, -0.0772482053627, 54.6057190001),
    ("constant-correlation", 20, 31): (0.215413931431, 0.169386568672, 52.8812926598),
    ("one-factor", 20, 31): (0.105994051055, -0.0469321127761, 69.807506333),
    ("two-parameter", 20, 31): (0.725155344533, 0.444329489247, 55.4145555705),
}


@pytest.mark.parametrize(("target", "n", "p"), PUBLISHED)
def test_estimates_are_those_of_the_authors(target, n, p):
    expected, data = PUBLISHED[target, n, p], _data(n, p)
    for found in (shrink(data - data.mean(0), target, center=False), shrink(data, target) * ((n - 1) / n)):
        numbers = found[0, 1], found[2, 7], jnp.linalg.norm(found)
        np.testing.assert_allclose(numbers, expected, rtol=1e-10)


def _target(name: str, s: np.ndarray, correlation: float) -> np.ndarray:
    """The target as a function of the matrix S; the mean correlation counts as a constant, as in the source."""
    p, variances = len(s), np.diagonal(s).real
    if name == "two-parameter":
        total = s.sum().real - variances.sum()
        return np.where(np.eye(p), variances.mean(), total / (p * (p - 1))).astype(s.dtype)
    roots = np.sqrt(variances)
    pairs = {
        "diagonal": np.zeros_like(s),
        "constant-correlation": correlation * np.outer(roots, roots),
        "one-factor": np.outer(s.sum(1), s.sum(1).conj()) / s.sum(),
    }
    return np.where(np.eye(p), variances, pairs[name])


@pytest.mark.parametrize("cplx", [False, True], ids=["real", "complex"])
@pytest.mark.parametrize("target", TARGETS)
def test_intensity_is_that_of_the_definition(target, cplx):
    """The sum of the covariances of all entries of S and T, with the numerical derivative of T."""
    n, p = 25, 8
    data = _data(n, p) - 5 + (1j * _data(n + 1, p)[:n] - 5j if cplx else 0)
    outer = data[:, :, None] * data[:, None, :].conj()
    s = outer.mean(0)
    roots = np.sqrt(np.diagonal(s).real)
    correlation = ((s / roots[:, None] / roots).sum().real - p) / (p * (p - 1))
    step = 1e-5
    at = lambda x: _target(target, x, correlation)
    change = lambda d: (at(s + step * d) - at(s - step * d)) / (2 * step)
    end = at(s)
    pi = np.mean([np.sum(abs(x - s) ** 2) for x in outer])
    rho = np.mean([np.sum(change(x - s) * (x - s).conj()).real for x in outer])
    intensity = (pi - rho) / n / np.sum(abs(end - s) ** 2)
    assert 0.05 < intensity < 0.95
    expected = s + intensity * (end - s)
    np.testing.assert_allclose(shrink(data, target, center=False), expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("target", TARGETS)
def test_estimates_are_positive_with_few_rows(target):
    found = np.asarray(shrink(_data(20, 31), target))
    np.testing.assert_array_equal(found, found.T)
    assert np.linalg.eigvalsh(found)[0] > 0.05
    # Two rows, four columns: S has one level, and its intensity is at the end of its range or near it.
    two = np.asarray(shrink(np.array([[0.0, 1.0, 2.0, 5.0], [2.0, 1.5, 0.0, 1.0]]), target))
    assert np.linalg.eigvalsh(two)[0] > -1e-12


@pytest.mark.parametrize("target", [TARGETS[2], *further(*TARGETS[:2], TARGETS[3])])
def test_constant_columns_are_no_variables(target):
    data = _data(25, 8)
    with_constants = np.insert(data, [2, 8], 0.1, axis=1)
    expected = np.insert(np.insert(shrink(data, target), [2, 8], 0.0, axis=1), [2, 8], 0.0, axis=0)
    np.testing.assert_allclose(shrink(with_constants, target), expected, rtol=1e-12, atol=1e-13)
    # All columns constant, one column left, and columns whose mean is constant.
    opposite = np.stack([data[:, 0], -data[:, 0]], axis=1)
    for few in (np.ones((9, 3)), np.insert(np.ones((25, 2)), 1, data[:, 0], axis=1), opposite):
        value, slope = jax.value_and_grad(lambda x: jnp.sum(jnp.sin(shrink(x, target))))(jnp.asarray(few))
        assert np.isfinite(value)
        assert np.isfinite(slope).all()
        np.testing.assert_allclose(np.trace(shrink(few, target)), few.var(0, ddof=1).sum(), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("target", [TARGETS[1], *further(TARGETS[0], *TARGETS[2:])])
def test_batches_derivatives_and_precision(target):
    data = jnp.asarray(_data(25, 8))
    both = jnp.stack([data, 2 * data[::-1]])
    found = shrink(both, target)
    np.testing.assert_allclose(found, np.stack([shrink(each, target) for each in both]), rtol=1e-12)
    rng = np.random.default_rng(1)
    weights, direction = rng.normal(size=(8, 8)), rng.normal(size=(25, 8))
    value = jax.jit(lambda t: jnp.sum(weights * shrink(data + t * direction, target)))
    expected = (value(1e-5) - value(-1e-5)) / 2e-5
    np.testing.assert_allclose(jax.jit(jax.grad(value))(0.0), expected, rtol=1e-6)
    single = shrink(data.astype("float32"), target)
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, found[0], rtol=1e-4, atol=1e-4)
    # Fourth powers of these would overflow.
    np.testing.assert_array_equal(shrink(data.astype("float32") * 2.0**50, target), single * 2.0**100)


def test_correlations_may_be_shrunk_towards_a_target():
    data = _data(25, 8)
    units = np.geomspace(1, 1e4, 8)
    found = np.asarray(shrink(data * units, "constant-correlation", standardize=True))
    np.testing.assert_allclose(np.diagonal(found), (data * units).var(0, ddof=1), rtol=1e-12)
    standard = (data - data.mean(0)) / data.std(0)
    expected = np.asarray(shrink(standard, "constant-correlation", center=False))
    np.testing.assert_allclose(found / np.sqrt(np.outer(np.diagonal(found), np.diagonal(found))), expected, rtol=1e-10)


def test_bad_targets_are_refused():
    with pytest.raises(ValueError, match="`target` must be one of 'identity', 'diagonal'"):
        shrink(_data(25, 8), "market")
    with pytest.raises(ValueError, match="`target` must be left out unless `method` is one of"):
        rmt.inference.shrink_covariance(_data(25, 8), target="diagonal")


@pytest.mark.slow
def test_the_target_of_the_population_has_the_least_error():
    """Where the population has the structure of a target, its squared error is the least."""
    rng, p, n = np.random.default_rng(0), 40, 60
    deviations = np.geomspace(0.5, 3, p)
    loads = np.linspace(0, 1, p)
    populations = {
        "diagonal": np.diag(deviations**2),
        "two-parameter": 0.4 * np.ones((p, p)) + 0.6 * np.eye(p),
        "constant-correlation": (0.4 * np.ones((p, p)) + 0.6 * np.eye(p)) * np.outer(deviations, deviations),
        "one-factor": np.outer(loads, loads) + np.eye(p),
    }
    for best, truth in populations.items():
        data = rng.normal(size=(400, n, p)) @ np.linalg.cholesky(truth).T
        loss = lambda found, truth=truth: np.linalg.norm(np.asarray(found) - truth, axis=(-2, -1)) ** 2
        losses = {target: loss(shrink(data, target)) for target in TARGETS}
        sample = loss(rmt.inference.shrink_covariance(data, method="sample"))
        for other, worse in (("sample", sample), *losses.items()):
            if other != best:
                gain = worse - losses[best]
                assert gain.mean() > max(5 * gain.std() / 20, 0.01 * losses[best].mean()), (best, other)
