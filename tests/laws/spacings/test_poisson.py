"""Spacings of independent levels: against finite sums, the contract, bad input."""

import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.laws import PoissonSpacing
from tests.laws.core.positive_axis import check_against

DTYPES = [pytest.param(np.float32, marks=pytest.mark.float32), np.float64]
S = [1e-8, 1e-2, 0.3, 1.0, 2.5, 6.0, 30.0, 700.0]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("k", [0, 1, 6])  # levels in between
def test_both_tails_against_finite_sums(k, dtype):
    density = lambda s: s**k * mpmath.exp(-s) / mpmath.factorial(k)
    survival = lambda s: mpmath.exp(-s) * sum(s**j / mpmath.factorial(j) for j in range(k + 1))
    lower = lambda s: mpmath.gammainc(k + 1, 0, s, regularized=True)
    check_against(PoissonSpacing(k + 1), density, lower, survival, S, dtype, 40)


@pytest.mark.float32
def test_neighbours_and_moments():
    eps = float(jnp.finfo(jnp.result_type(float)).eps)
    s = np.array([0.25, 1.0, 8.0])
    np.testing.assert_allclose(PoissonSpacing().logsf(s), -s, rtol=40 * eps)
    np.testing.assert_allclose(PoissonSpacing().ppf(0.5), np.log(2), rtol=40 * eps)
    assert (PoissonSpacing().pdf(0.0), PoissonSpacing(2).pdf(0.0)) == (1, 0)
    for k in (1, 4):
        law = PoissonSpacing(k)
        np.testing.assert_allclose([law.mean(), law.var(), law.moment(3)], [k, k, k * (k + 1) * (k + 2)], rtol=40 * eps)


@pytest.mark.parametrize("order", [0, 1.5, True, None])
def test_bad_input(order):
    with pytest.raises(ValueError, match="`order` must be an integer of at least 1, got"):
        PoissonSpacing(order)
