"""Spacings of independent levels: finite sums, neighbours, moments."""

import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.laws import PoissonSpacing
from tests.laws.core.positive_axis import both_tails


def functions(k):
    density = lambda s: s ** (k - 1) * mpmath.exp(-s) / mpmath.factorial(k - 1)
    above = lambda s: mpmath.exp(-s) * sum(s**j / mpmath.factorial(j) for j in range(k))
    return density, lambda s: mpmath.gammainc(k, 0, s, regularized=True), above


test_both_tails = both_tails(PoissonSpacing, functions, [1, 2, 7], [1e-8, 1e-2, 0.3, 1.0, 2.5, 6.0, 30.0, 700.0])


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
