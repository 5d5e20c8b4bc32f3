"""Gauss rules: exact moments, the polynomials for which they are exact, protection against changes, bad input."""

import math

import numpy as np
import pytest
import scipy.special

from rmtjax.special.internal import gauss_hermite, gauss_laguerre, gauss_legendre

every_rule = pytest.mark.parametrize("rule", [gauss_hermite, gauss_laguerre, gauss_legendre])
# The moments of the weights, for symmetric weights of even order only.
MOMENTS = {
    gauss_hermite: lambda k: math.gamma((k + 1) / 2),
    gauss_laguerre: lambda k: math.gamma(k + 1),
    gauss_legendre: lambda k: 2 / (k + 1),
}
RTOL = {gauss_hermite: 2e-13, gauss_laguerre: 1e-12, gauss_legendre: 4e-14}


@pytest.mark.parametrize("num_nodes", [1, 2, 7, 200])
@every_rule
def test_a_rule_is_exact_up_to_its_degree_and_not_beyond(rule, num_nodes):
    (nodes, weights), moment = rule(num_nodes), MOMENTS[rule]
    orders = range(min(2 * num_nodes, 20)) if rule is gauss_laguerre else range(0, min(2 * num_nodes, 40), 2)
    for k in orders:
        np.testing.assert_allclose(weights @ nodes**k, moment(k), rtol=RTOL[rule])
    if rule is not gauss_laguerre:
        assert abs(weights @ nodes) < 1e-14
    if num_nodes < 20:
        assert abs(weights @ nodes ** (2 * num_nodes) / moment(2 * num_nodes) - 1) > 1e-6


@pytest.mark.parametrize("num_nodes", [1, 2, 5, 7, 60, 1500])
def test_legendre_against_scipy_and_at_the_ends(num_nodes):
    nodes, weights = gauss_legendre(num_nodes)
    if num_nodes <= 60:
        expected_nodes, expected_weights = scipy.special.roots_legendre(num_nodes)
        np.testing.assert_allclose(nodes, expected_nodes, rtol=0, atol=1e-15)
        # The two rules agree in the smallest weights to 2e-12; the moment below shows which is right.
        np.testing.assert_allclose(weights, expected_weights, rtol=1e-11)
        np.testing.assert_allclose(nodes, np.polynomial.legendre.leggauss(num_nodes)[0], rtol=0, atol=4e-16)
    # The highest even power that is integrated exactly is decided by the outermost nodes and weights.
    top = 2 * num_nodes - 2
    np.testing.assert_allclose(weights @ nodes**top, 2 / (top + 1), rtol=1e-10)


@every_rule
def test_rules_are_ascending_read_only_and_in_double_precision(rule):
    nodes, weights = rule(6)
    for array in (nodes, weights):
        assert array.dtype == np.float64
        assert array.shape == (6,)
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert (np.diff(nodes) > 0).all()
    assert (weights > 0).all()


def test_bad_numbers_of_nodes():
    for bad in (0, 2.5, True):
        with pytest.raises(ValueError, match="`num_nodes` must be an integer of at least 1"):
            gauss_legendre(bad)
    with pytest.raises(ValueError, match="`num_nodes` must be smaller"):
        gauss_laguerre(500)
