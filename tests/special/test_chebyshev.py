"""Chebyshev series: against numpy's, joints of panels, dtypes, derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.polynomial import chebyshev

from rmtjax.special.internal import chebyshev_coefficients, chebyshev_nodes, chebyshev_series, piecewise_chebyshev
from tests.cases import every_dtype

COEFFICIENTS = np.array([0.3, -1.2, 0.7, 0.05, -0.4])


@every_dtype
@pytest.mark.parametrize("number", [1, 2, 5])
def test_series_against_numpy(number, dtype):
    x = np.linspace(-1, 1, 11, dtype=dtype)
    got = chebyshev_series(jnp.asarray(COEFFICIENTS[:number], dtype), x)
    assert got.dtype == dtype
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(got, chebyshev.chebval(x.astype(float), COEFFICIENTS[:number]), rtol=0, atol=10 * eps)


@every_dtype
def test_interpolation_is_exact_for_polynomials(dtype):
    nodes = chebyshev_nodes(5)
    np.testing.assert_allclose(nodes, np.cos((2 * np.arange(5) + 1) * np.pi / 10), rtol=0, atol=5e-16)
    values = jnp.asarray([chebyshev.chebval(nodes, COEFFICIENTS), nodes**4], dtype)
    got = chebyshev_coefficients(values)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(got, [COEFFICIENTS, [3 / 8, 0, 1 / 2, 0, 1 / 8]], rtol=0, atol=8 * eps)
    assert got.dtype == dtype


def test_analytic_functions_to_rounding():
    coefficients = chebyshev_coefficients(jnp.exp(jnp.asarray(chebyshev_nodes(16))))
    x = np.linspace(-1, 1, 101)
    # The sizes of the 16 terms add up to e.
    atol = 16 * np.finfo(float).eps * np.e
    np.testing.assert_allclose(chebyshev_series(coefficients, x), np.exp(x), rtol=0, atol=atol)


def panels(lower, width, number, degree=12):
    starts = lower + width * np.arange(number)
    values = np.sin(starts[:, None] + width * (chebyshev_nodes(degree) + 1) / 2)
    return np.stack([chebyshev.chebfit(chebyshev_nodes(degree), row, degree - 1) for row in values])


@every_dtype
def test_pieces(dtype):
    table = panels(-3.0, 0.5, 12)
    x = np.linspace(-3, 3, 241, dtype=dtype)  # all joints among them
    got = piecewise_chebyshev(table, -3.0, 0.5, jnp.asarray(x))
    assert got.dtype == dtype
    np.testing.assert_allclose(got, np.sin(x.astype(float)), rtol=0, atol=10 * np.finfo(dtype).eps)


def test_a_point_belongs_to_the_panel_that_it_lies_in():
    # Just below a joint the distance from the first panel rounds up to it.
    table, just_below, just_above = np.array([[0.0], [1.0], [2.0]]), np.nextafter(-2.0, -3.0), np.nextafter(-2.0, 0.0)
    assert float(just_below + 13.0) == 11.0
    np.testing.assert_array_equal(
        piecewise_chebyshev(table, -13.0, 11.0, jnp.array([just_below, -2.0, just_above])), [0, 1, 1]
    )


def test_derivatives_of_all_orders():
    table, x = panels(0.0, 1.0, 3), jnp.array([0.2, 1.0, 1.7, 2.9])
    fn = lambda y: piecewise_chebyshev(table, 0.0, 1.0, y)
    np.testing.assert_allclose(jax.vmap(jax.grad(fn))(x), jnp.cos(x), rtol=0, atol=1e-11)
    np.testing.assert_allclose(jax.vmap(jax.grad(jax.grad(fn)))(x), -jnp.sin(x), rtol=0, atol=1e-9)


def test_nodes_of_the_cache_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        chebyshev_nodes(3)[0] = 0
