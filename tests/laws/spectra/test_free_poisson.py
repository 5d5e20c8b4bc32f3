"""The free Poisson law: free cumulants, matrices that have the law, derivatives, bad input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.laws import FreePoisson
from rmtjax.testing import check_derivatives


@pytest.mark.float32
@pytest.mark.parametrize(("rate", "jump"), [(0.25, 1.5), (1.0, 2.0), (4.0, 0.5)])
def test_free_cumulants_are_the_rate_times_powers_of_the_jump(rate, jump):
    numbers = lambda law: ([law.free_cumulant(k) for k in range(1, 9)], law.var(), law.moment(3))
    cumulants, variance, third = jax.jit(numbers)(FreePoisson(rate, jump))
    rtol = 20 * float(jnp.finfo(variance.dtype).eps)
    np.testing.assert_allclose(cumulants, [rate * jump**k for k in range(1, 9)], rtol=rtol)
    np.testing.assert_allclose(variance, rate * jump**2, rtol=rtol)
    np.testing.assert_allclose(third, jump**3 * (rate + 3 * rate**2 + rate**3), rtol=rtol)


def test_it_is_the_law_of_wishart_matrices():
    x, p = np.random.default_rng(5).normal(size=(200, 500)), np.array([0.1, 0.5, 0.9])
    levels = 0.8 * np.linalg.eigvalsh(x @ x.T / 200)
    np.testing.assert_allclose(FreePoisson(2.5, 0.8).cdf(np.quantile(levels, p)), p, rtol=0, atol=0.02)


def test_it_is_infinitely_divisible():
    # R-transforms add, and so do the rates.
    g = jnp.array([0.1, -0.3, 0.2j])
    total = FreePoisson(0.4, 1.5).r_transform(g) + FreePoisson(1.1, 1.5).r_transform(g)
    np.testing.assert_allclose(FreePoisson(1.5, 1.5).r_transform(g), total, rtol=1e-14)
    np.testing.assert_allclose(FreePoisson(0.4, 1.5).s_transform(0.2), 1 / (1.5 * 0.6), rtol=1e-14)


@pytest.mark.slow
@pytest.mark.float32
def test_derivatives():
    formulas = lambda law, x: (law.pdf(x), law.cdf(x), law.sf(x), law.stieltjes(x), law.atoms())
    check_derivatives(formulas, FreePoisson(0.4, 1.5), jnp.array([1.0, 2.2]))


@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, np.nan, "x", [1.0, 2.0]])
def test_bad_parameters(value):
    with pytest.raises(ValueError, match="`rate` must be"):
        FreePoisson(value)
    with pytest.raises(ValueError, match="`jump` must be"):
        FreePoisson(1.0, value)
