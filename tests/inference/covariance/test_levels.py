"""Shrunk levels, and linear- and geometric-inverse shrinkage against the authors' programs and in their own losses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.inference import shrink_covariance, shrink_levels
from tests.cases import further

METHODS = ["qis", *further("lis", "gis", "analytical", "oas", "rie", "clipping", "spiked")]


def _data(n: int, p: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    factor = rng.normal(size=(n, 1))
    return (rng.normal(size=(n, p)) + factor * np.linspace(0.3, 1.2, p)) * np.geomspace(1, 3, p) + 5


# The entries [0, 1] and [2, 7], the Frobenius norm and the trace of the programs LIS and GIS of Ledoit and Wolf
# (covShrinkage of pald22 on GitHub, at a03fe68). Here no level needs their bound.
PUBLISHED = {
    "lis": (0.196668016366, 2.77101048155, 33.477705285, 53.7489499912),
    "gis": (0.207101180451, 2.92142730365, 35.2416225943, 56.4912476869),
}


@pytest.mark.parametrize("method", PUBLISHED)
def test_inverse_shrinkage_is_that_of_the_authors(method):
    found = shrink_covariance(_data(60, 8), method=method)
    numbers = found[0, 1], found[2, 7], jnp.linalg.norm(found), jnp.trace(found)
    np.testing.assert_allclose(numbers, PUBLISHED[method], rtol=1e-10)


def test_the_three_shrinkages_are_in_order():
    """The harmonic mean of the variances along a vector is at most the arithmetic one, also where p is near n."""
    for n in (9, 12, 40):
        levels = np.linalg.eigvalsh(np.cov(_data(n, 8).T))
        lis, gis = (shrink_levels(levels, n - 1, method=method) for method in ("lis", "gis"))
        largest = gis**2 / lis
        # The levels of `qis` are these with the trace of the sample.
        np.testing.assert_allclose(largest * levels.sum() / largest.sum(), shrink_levels(levels, n - 1), rtol=1e-10)
        assert (lis > 0).all()
        assert (lis <= largest * (1 + 1e-12)).all()


@pytest.mark.parametrize("method", METHODS)
def test_levels_are_those_of_the_matrix(method):
    options = {"method": method, **({"loss": "stein", "noise": 1.3} if method == "spiked" else {})}
    for n, p in [(25, 8), (20, 31)]:
        if method in ("lis", "gis") and p > n:
            continue
        data = _data(n, p)
        found = np.asarray(shrink_covariance(data, **options))
        levels, vectors = np.linalg.eigh(np.cov(data.T))
        expected = np.sum(vectors * (found @ vectors), 0)
        np.testing.assert_allclose(shrink_levels(np.maximum(levels, 0), n - 1, **options), expected, rtol=1e-8)
        fewer = shrink_levels(np.maximum(levels, 0)[-min(n - 1, p) :], n - 1, p, **options)
        np.testing.assert_allclose(fewer, expected, rtol=1e-8)


@pytest.mark.float32
def test_batches_units_and_derivatives():
    levels = jnp.linalg.eigvalsh(jnp.cov(jnp.asarray(_data(25, 8)).T))
    found = shrink_levels(levels, 24)
    assert found.dtype == levels.dtype
    both = shrink_levels(jnp.stack([levels, 2.0**80 * levels, 2.0**-80 * levels]), 24)
    np.testing.assert_allclose(both, np.stack([found, 2.0**80 * found, 2.0**-80 * found]), rtol=1e-5)
    total = lambda x: jnp.sum(jnp.sin(shrink_levels(x, 24)))
    # The levels of the estimate have the trace of the sample.
    slope = jax.jit(jax.grad(lambda x: jnp.sum(shrink_levels(x, 24))))(levels)
    np.testing.assert_allclose(slope, 1, rtol=2e-5)
    if levels.dtype == jnp.float64:
        step = 1e-6 * jnp.arange(1.0, 9.0)
        expected = (total(levels + step) - total(levels - step)) / 2
        np.testing.assert_allclose(jnp.sum(jax.grad(total)(levels) * step), expected, rtol=1e-6)
    known = shrink_levels(2.0**80 * levels, 24, method="spiked", noise=2.0**40)
    np.testing.assert_allclose(known, 2.0**80 * shrink_levels(levels, 24, method="spiked", noise=1.0), rtol=1e-5)


def test_bad_arguments_are_refused():
    good = np.arange(1.0, 4.0)
    for arguments, options, message in [
        ((good[::-1], 9), {}, "`levels` must be ascending"),
        ((-good[::-1], 9), {}, "`levels` must be ascending, finite and not negative"),
        ((good, 9, 2), {}, "`levels` must be all p = 2"),
        ((good, 9, 5), {}, r"min\(n, p\) = 5"),
        ((1.0, 9), {}, "`levels` must have an axis"),
        ((good, 9.5), {}, "`n` must be an integer"),
        ((good, 0), {}, "`n` must be an integer of at least 1"),
        ((good, 2), {"method": "lis"}, "`n` must be at least p = "),
        ((good, 2), {"method": "analytical"}, "`n` must have at least 12"),
        ((good, 9), {"method": "ledoit-wolf"}, "`method` must be one of 'qis', 'lis'"),
        ((good, 9), {"loss": "stein"}, "`loss` must be left out"),
        ((good, 9), {"noise": 1.0}, "`noise` must be left out"),
    ]:
        with pytest.raises(ValueError, match=message):
            shrink_levels(*arguments, **options)
    assert np.isnan(jax.jit(lambda x: shrink_levels(x, 9))(good[::-1])).all()
    with pytest.raises(ValueError, match=r"`data` must have at least p \+ 1 = \d+ rows for `gis`"):
        shrink_covariance(_data(8, 8), method="gis")


@pytest.mark.slow
def test_each_inverse_shrinkage_is_best_in_its_own_loss():
    rng, p, n = np.random.default_rng(0), 60, 240
    loads = rng.uniform(0.5, 1.5, p)
    populations = {
        "three levels": np.diag(np.repeat([1.0, 3.0, 10.0], [12, 24, 24])),
        "autoregression": 0.5 ** abs(np.subtract.outer(np.arange(p), np.arange(p))),
        "market": 0.5 * np.outer(loads, loads) + np.diag(rng.uniform(0.5, 2, p)),
    }
    trace = lambda a, b: np.trace(a @ b, axis1=-2, axis2=-1)
    for name, truth in populations.items():
        data = rng.normal(size=(150, n, p)) @ np.linalg.cholesky(truth).T
        log = lambda a, truth=truth: np.linalg.slogdet(a)[1] - np.linalg.slogdet(truth)[1]
        stein = lambda a, truth=truth, log=log: trace(np.linalg.inv(truth), a) - log(a) - p
        inverse = lambda a, truth=truth, log=log: trace(np.linalg.inv(a), truth) + log(a) - p
        losses = {"lis": stein, "gis": lambda a, stein=stein, inverse=inverse: stein(a) + inverse(a), "qis": inverse}
        estimates = {method: np.asarray(shrink_covariance(data, method=method)) for method in losses}
        for best, loss in losses.items():
            for other in losses:
                if other != best:
                    gain = loss(estimates[other]) - loss(estimates[best])
                    # For the market the optimum of `gis` is as flat as its kernel is wrong.
                    least = -0.01 * loss(estimates[best]).mean() if best == "gis" else 5 * gain.std() / 150**0.5
                    assert gain.mean() > least, (name, best, other)
