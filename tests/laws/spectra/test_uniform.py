"""The uniform law: closed forms, against SciPy and the fall-backs, ends and bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import rmtjax as rmt
from rmtjax.laws._core import fallbacks
from tests.statistical import assert_law

LAW = rmt.laws.Uniform(-0.7, 2.1)
REFERENCE = scipy.stats.uniform(-0.7, 2.8)
X = np.array([-3.0, -0.7, -0.6, 0.0, 1.4, 2.1, 5.0])


@pytest.mark.float32
@pytest.mark.parametrize("method", ["pdf", "cdf", "sf", "logcdf", "logsf", "logpdf"])
def test_values(method):
    inside = (X > -0.7) & (X < 2.1) if "pdf" in method else np.ones(X.size, bool)
    values = getattr(LAW, method)(X)
    np.testing.assert_allclose(
        values[inside], getattr(REFERENCE, method)(X)[inside], rtol=40 * np.finfo(values.dtype).eps, atol=1e-7
    )


def test_quantile_moments_and_mass():
    p = np.array([0.0, 0.1, 0.5, 1.0])
    np.testing.assert_allclose(LAW.ppf(p), REFERENCE.ppf(p), rtol=1e-14)
    for k in range(6):
        np.testing.assert_allclose(LAW.moment(k), REFERENCE.moment(k), rtol=1e-13)
    np.testing.assert_allclose([LAW.mean(), LAW.var()], REFERENCE.stats("mv"), rtol=1e-14)
    np.testing.assert_allclose(fallbacks.moment(LAW, 3), LAW.moment(3), rtol=1e-12)


def test_sampler(getkey):
    assert_law(LAW.sample(getkey(), (20_000,)), REFERENCE.cdf)


def test_ends_are_differentiable():
    slope = jax.grad(lambda a, b: rmt.laws.Uniform(a, b).cdf(0.5), (0, 1))(0.0, 2.0)
    np.testing.assert_allclose(slope, (-0.375, -0.125), rtol=1e-14)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.0, 1.0), "`upper` must be finite and larger than lower, got 1"),
        ((0.0, float("inf")), "`upper` must be finite and larger than lower, got inf"),
        ((float("nan"), 1.0), "`lower` must be finite, got nan"),
        ((1j, 1.0), "`lower` must be a real scalar"),
        ((0.0, jnp.ones(2)), "`upper` must be a real scalar"),
        ((0.0, "1"), "`upper` must be a real scalar, got '1'"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        rmt.laws.Uniform(*arguments)
