"""Wigner matrices, and what every dense ensemble inherits: entry laws, exact moments, nested blocks, derivatives."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from tests.statistical import assert_mean

NUM_SAMPLES = 20_000


@jax.jit
def samples_of(ensemble, keys):
    return jax.vmap(ensemble.sample)(keys)


@jax.jit
def levels_of(ensemble, keys):
    return jax.vmap(ensemble.eigenvalues)(keys)


def gaussian_trace_moments(n, d):
    """E tr H² and E tr H⁴ for unit variance off the diagonal and Gaussian diagonal variance d.

    tr H⁴ sums closed walks i→j→k→l→i. By Wick: n(n-1)(n-2)·2 walks on paths of two edges, n(n-1)·E x⁴ = 3 on one edge,
    4 d n(n-1) with one stay on the diagonal pair of an edge, 3 d² n on the diagonal alone.
    """
    return n * (n - 1) + d * n, 2 * n * (n - 1) * (n - 2) + 3 * n * (n - 1) + 4 * d * n * (n - 1) + 3 * d**2 * n


def test_trace_moments_of_the_reference():
    # Checks the formula used below against Ledoux (2009): E tr H⁴ = 2n³ + 5n² + 5n for unit variance off the diagonal.
    n = 7
    assert gaussian_trace_moments(n, 2) == (n * (n + 1), 2 * n**3 + 5 * n**2 + 5 * n)


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize(
    ("make", "diagonal"),
    [
        (rmt.Wigner, 1),
        (lambda n: rmt.Wigner(n, diagonal_variance=0.0), 0),
        (lambda n: rmt.Wigner(n, diagonal_variance=2.0), 2),
    ],
    ids=["wigner", "zero_diagonal", "goe"],
)
def test_exact_moments(getkey, n, make, diagonal):
    x = np.asarray(levels_of(make(n), jax.random.split(getkey(), NUM_SAMPLES)))
    second, fourth = gaussian_trace_moments(n, diagonal)
    if diagonal == 0:
        np.testing.assert_allclose(x.sum(-1), 0, rtol=0, atol=1e-14)
    else:
        assert_mean(x.sum(-1), 0)
    if second == 0:
        return
    assert_mean((x**2).sum(-1), second / n)
    assert_mean((x**4).sum(-1), fourth / n**2)


@pytest.mark.parametrize(
    ("entries", "fourth"),
    [("normal", 3.0), ("rademacher", 1.0), ("uniform", 9 / 5), (lambda k, s: jax.random.laplace(k, s) / 2**0.5, 6.0)],
    ids=["normal", "rademacher", "uniform", "laplace"],
)
def test_wigner_entries(getkey, entries, fourth):
    n, d = 3, 0.5
    ensemble = rmt.Wigner(n, diagonal_variance=d, entries=entries)
    h = np.asarray(samples_of(ensemble, jax.random.split(getkey(), NUM_SAMPLES)))
    np.testing.assert_array_equal(h, np.swapaxes(h, -1, -2))
    # Different entries are uncorrelated.
    assert_mean(h[:, 0, 1] * h[:, 0, 2], 0)
    assert_mean(h[:, 0, 0] * h[:, 1, 1], 0)
    off, on = h[:, 0, 1] * n**0.5, h[:, 2, 2] * (n / d) ** 0.5
    for xi in (off, on):
        assert_mean(xi, 0)
        if fourth == 1:
            np.testing.assert_allclose(np.abs(xi), 1, rtol=1e-6)
        else:
            assert_mean(xi**2, 1)
            assert_mean(xi**4, fourth)


def test_derivative_in_the_diagonal_variance(getkey):
    key, step = getkey(), 1e-6
    trace_cubed = jax.jit(jax.value_and_grad(lambda d: (rmt.Wigner(5, 1.0, d).eigenvalues(key) ** 3).sum()))
    difference = (trace_cubed(0.5 + step)[0] - trace_cubed(0.5 - step)[0]) / (2 * step)
    np.testing.assert_allclose(trace_cubed(0.5)[1], difference, rtol=1e-7)
    assert jnp.isfinite(trace_cubed(0.0)[1])


def test_block_spectra_have_the_law_of_their_order(getkey):
    n, order = 5, 3
    draw = jax.jit(jax.vmap(rmt.Wigner(n).leading_block_eigenvalues, (0, None)))
    values = np.asarray(draw(jax.random.split(getkey(), NUM_SAMPLES), order).values)
    assert np.isposinf(values[:, order:]).all()
    assert (np.diff(values[:, :order]) >= 0).all()
    second, fourth = gaussian_trace_moments(order, 1)
    assert_mean((values[:, :order] ** 2).sum(-1), second / n)
    assert_mean((values[:, :order] ** 4).sum(-1), fourth / n**2)


def test_bound_methods_are_functions_to_jax(getkey):
    # Every other test here already maps them.
    key, wigner = getkey(), rmt.Wigner(5, jnp.asarray(1.5))
    expected = wigner.eigenvalues(key)
    keys = jnp.stack([key, key])
    np.testing.assert_allclose(jax.jit(wigner.eigenvalues)(key), expected, rtol=1e-12)
    np.testing.assert_allclose(jax.checkpoint(wigner.eigenvalues)(key), expected, rtol=1e-12)
    _, scanned = jax.lax.scan(lambda carry, k: (carry, wigner.eigenvalues(k)), 0, keys)
    np.testing.assert_allclose(scanned[1], expected, rtol=1e-12)


class Asymmetric(rmt.ensembles.AbstractEnsemble):
    """A user's ensemble whose matrices are replaced by their symmetric part, or refused."""

    n: int = eqx.field(static=True)
    fill: float = eqx.field(static=True)

    def _sample(self, key):
        return jnp.array([[0.0, self.fill], [1.0, 0.0]])

    def _law(self):
        return rmt.laws.Semicircle()


def test_fall_backs_are_those_of_eigvalsh(getkey):
    np.testing.assert_allclose(Asymmetric(2, 5.0).eigenvalues(getkey()), [-3, 3], rtol=1e-12)
    assert Asymmetric(2, float("nan")).count_below(getkey(), 0.0) == -1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rmt.Wigner(3, entries="cauchy"), "`entries` must be one of .* got 'cauchy'"),
        (lambda: rmt.Wigner(3, entries=lambda k, s: jnp.ones(2)).sample(jax.random.key(0)), "`entries` must return"),
        (
            lambda: rmt.Wigner(3, entries=lambda k, s: 1j * jnp.ones(s, complex)).sample(jax.random.key(0)),
            "`entries` must",
        ),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_entries_that_are_no_numbers_have_no_levels(getkey):
    ensemble = rmt.Wigner(3, entries=_no_numbers)
    assert jnp.isnan(ensemble.eigenvalues(getkey())).all()
    assert ensemble.count_below(getkey(), 0.0) == -1


def _no_numbers(key, shape):
    return jnp.nan * jnp.ones(shape)


def test_bad_values_under_jit_give_nan(getkey):
    levels = jax.jit(lambda scale, key: rmt.Wigner(3, scale).eigenvalues(key))
    levels(1.0, getkey())
    assert jnp.all(jnp.isnan(levels(-1.0, getkey())))
    block = jax.jit(lambda order, key: rmt.Wigner(3).leading_block(key, order).values)
    assert jnp.all(jnp.isnan(block(4, getkey())))
    assert jax.jit(rmt.Wigner(3).leading_block)(getkey(), 4).order == -1


def test_the_diagonal_has_draws_of_its_own():
    constant = rmt.Wigner(2, entries=lambda key, shape: jnp.full(shape, jax.random.uniform(key)))
    matrix = constant.sample(jax.random.key(0))
    assert matrix[0, 0] != matrix[0, 1]
