"""Gauss rules: exact moments, the polynomials they are exact for, protection against changes, bad input."""

import math

import numpy as np
import pytest
from scipy.special import beta as euler_beta

from rmtjax.special._gauss import gauss_hermite, gauss_jacobi, gauss_laguerre, gauss_legendre


@pytest.mark.parametrize("num_nodes", [1, 2, 7, 200])
def test_hermite(num_nodes):
    nodes, weights = gauss_hermite(num_nodes)
    for k in range(0, min(2 * num_nodes, 40), 2):
        np.testing.assert_allclose(weights @ nodes**k, math.gamma((k + 1) / 2), rtol=2e-13)
    assert abs(weights @ nodes) < 1e-14
    if num_nodes < 20:
        assert abs(weights @ nodes ** (2 * num_nodes) / math.gamma(num_nodes + 0.5) - 1) > 1e-6


@pytest.mark.parametrize("num_nodes", [1, 2, 7, 60, 1500])
def test_legendre(num_nodes):
    nodes, weights = gauss_legendre(num_nodes)
    np.testing.assert_array_equal(nodes, np.sort(nodes))
    if num_nodes <= 60:
        np.testing.assert_allclose(nodes, np.polynomial.legendre.leggauss(num_nodes)[0], rtol=0, atol=4e-16)
    for k in range(0, min(2 * num_nodes, 40), 2):
        np.testing.assert_allclose(weights @ nodes**k, 2 / (k + 1), rtol=4e-14)
    # The highest even power that is integrated exactly, which is that of the outermost nodes and weights.
    top = 2 * num_nodes - 2
    np.testing.assert_allclose(weights @ nodes**top, 2 / (top + 1), rtol=1e-10)


@pytest.mark.parametrize("alpha", [-0.9, 0.0, 3.5])
@pytest.mark.parametrize("num_nodes", [1, 2, 7, 200])
def test_laguerre(num_nodes, alpha):
    nodes, weights = gauss_laguerre(num_nodes, alpha)
    assert (nodes > 0).all()
    for k in range(min(2 * num_nodes, 20)):
        np.testing.assert_allclose(weights @ nodes**k, math.gamma(k + alpha + 1), rtol=1e-12)
    if num_nodes < 20:
        assert abs(weights @ nodes ** (2 * num_nodes) / math.gamma(2 * num_nodes + alpha + 1) - 1) > 1e-6


def test_the_plain_laguerre_weight_is_the_default():
    np.testing.assert_array_equal(gauss_laguerre(5), gauss_laguerre(5, 0.0))


@pytest.mark.parametrize(("alpha", "beta"), [(0.0, 0.0), (-0.5, -0.5), (0.3, -0.7), (4.0, 1.5)])
@pytest.mark.parametrize("num_nodes", [1, 2, 7, 100])
def test_jacobi(num_nodes, alpha, beta):
    nodes, weights = gauss_jacobi(num_nodes, alpha, beta)
    assert (np.abs(nodes) < 1).all()
    for k in range(min(2 * num_nodes, 30)):
        # The powers of 1 + x: the two exponents may not be exchanged.
        exact = 2 ** (alpha + beta + k + 1) * euler_beta(alpha + 1, beta + k + 1)
        np.testing.assert_allclose(weights @ (1 + nodes) ** k, exact, rtol=1e-11)


@pytest.mark.parametrize("rule", [gauss_legendre, gauss_hermite, gauss_laguerre, lambda n: gauss_jacobi(n, 0.5, 0.0)])
def test_rules_are_ascending_read_only_and_in_double_precision(rule):
    for array in rule(6):
        assert array.dtype == np.float64
        assert array.shape == (6,)
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    nodes, weights = rule(6)
    assert (np.diff(nodes) > 0).all()
    assert (weights > 0).all()
    for bad in (0, 2.5, True):
        with pytest.raises(ValueError, match="`num_nodes` must be an integer of at least 1"):
            rule(bad)


@pytest.mark.parametrize(
    ("rule", "args", "name"),
    [
        (gauss_laguerre, (3, -1.0), "alpha"),
        (gauss_jacobi, (3, np.nan, 0.0), "alpha"),
        (gauss_jacobi, (3, 0.0, -2), "beta"),
    ],
)
def test_bad_exponents(rule, args, name):
    with pytest.raises(ValueError, match=f"`{name}` must be finite and above -1"):
        rule(*args)


def test_rules_beyond_the_range_are_refused():
    with pytest.raises(ValueError, match="`num_nodes` must be smaller"):
        gauss_laguerre(500)
