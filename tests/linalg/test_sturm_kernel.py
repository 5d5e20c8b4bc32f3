"""The kernels of Sturm sweeps, by Pallas' interpreter: against the scan bit for bit, closed forms, and LAPACK."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import rmtjax as rmt
from rmtjax.linalg import _bidiagonal, _circular, _sturm, _sturm_kernel, _tridiagonal
from rmtjax.linalg._sturm_route import ROUTE
from tests.linalg.tridiagonal_matrices import PROBLEMS, SMALL, SMALL_ORDER, exact_eigenvalues

BOTH = [np.float64, pytest.param(np.float32, marks=pytest.mark.float32)]
# Three steps of rows, the last one with padding; two programs of lanes and a part of a third.
ORDER, POINTS = 40, 70


def entries(n, dtype, seed=0):
    rng = np.random.default_rng(seed)
    d, e = rng.standard_normal(n), rng.standard_normal(n - 1)
    e[n // 2 :: 7] = 0
    return jnp.asarray(d, dtype), jnp.asarray(e, dtype)


def tridiagonal(n, dtype):
    d, e = entries(n, dtype)
    return _sturm.prepare(d, e, jnp.ones(n, bool))[0]


def trailing_block(n, dtype):
    d, e, inside = _tridiagonal._inside(*entries(n, dtype), jnp.int32(n - 5))
    return _sturm.prepare(d, e, inside)[0]


def bidiagonal(n, dtype):
    return _bidiagonal.prepare(*map(jnp.abs, entries(n, dtype)), jnp.int32(n))[0]


def circular(n, dtype):
    rng = np.random.default_rng(1)
    modulus, angle = rng.uniform(0, 1, n - 1).astype(dtype), rng.uniform(-3, 3, n - 1).astype(dtype)
    coefficients = _circular.Verblunsky(*map(jnp.asarray, (dtype(1), modulus, 1 - modulus**2, angle)))
    return _circular._prepare(coefficients)[0]


KINDS = [tridiagonal, trailing_block, bidiagonal, circular]
scanned = jax.jit(_sturm._count_by_scan)
in_kernel = jax.jit(partial(_sturm_kernel.count, interpret=True))
bisected = jax.jit(partial(_sturm_kernel.bisected, interpret=True))


@pytest.mark.parametrize("dtype", BOTH)
@pytest.mark.parametrize("kind", KINDS)
def test_ratios_and_counts_are_those_of_the_scan_bit_for_bit(kind, dtype):
    matrix = kind(ORDER, dtype)
    x = jnp.linspace(-1, 1, POINTS, dtype=dtype)
    (ratio, below), (ratio_too, below_too) = (route(matrix, matrix.start(x), x) for route in (scanned, in_kernel))
    assert ratio_too.dtype == dtype
    assert below_too.dtype == np.int32
    assert np.unique(below).size > 10
    np.testing.assert_array_equal(ratio_too, ratio)
    np.testing.assert_array_equal(below_too, below)


@pytest.mark.parametrize("dtype", BOTH)
@pytest.mark.parametrize("kind", KINDS)
def test_bisection_takes_the_turns_of_a_plain_loop_over_counts(kind, dtype):
    """The same points, halved in NumPy with counts of the scan, so that not one bit may differ."""
    matrix, level, eps = kind(ORDER, dtype), np.arange(POINTS, dtype=np.int32) - 2, np.finfo(dtype).eps
    lower, upper = (np.full(POINTS, end, dtype) for end in (matrix.lower - eps, matrix.upper + eps))
    for _ in range(1 + np.finfo(dtype).nmant):
        middle = dtype(0.5) * (lower + upper)
        x = jnp.asarray(middle)
        above = np.asarray(scanned(matrix, matrix.start(x), x)[1]) > level
        lower, upper = np.where(above, lower, middle), np.where(above, middle, upper)
    np.testing.assert_array_equal(bisected(matrix, jnp.asarray(level)), dtype(0.5) * (lower + upper))


@pytest.mark.parametrize("dtype", BOTH)
def test_no_level_of_a_diagonal_matrix_is_below_itself(dtype):
    """Pivots are exactly 0 there, and the floor under the off-diagonals must not move the counts."""
    d = np.random.default_rng(2).permutation(ORDER)
    with ROUTE("interpret"):
        below = rmt.SymTridiagonal(jnp.asarray(d, dtype), jnp.zeros(ORDER - 1, dtype)).count_below(
            jnp.asarray(d, dtype)
        )
    np.testing.assert_array_equal(below, d)


@pytest.mark.parametrize("dtype", BOTH)
def test_levels_of_the_free_chain_and_its_exact_counts(dtype):
    n, chain = 41, rmt.SymTridiagonal(jnp.zeros(41, dtype), jnp.ones(40, dtype))
    exact = 2 * np.cos(np.pi * np.arange(n, 0, -1) / (n + 1))
    with ROUTE("interpret"):
        levels, below = chain.eigenvalues(), chain.count_below(jnp.asarray(exact[:-1] + exact[1:], dtype) / 2)
        some = chain.eigenvalues((5, 9))
    np.testing.assert_allclose(levels, exact, rtol=0, atol=8 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(below, np.arange(1, n))
    np.testing.assert_array_equal(some, levels[5:9])


def test_levels_are_those_of_lapack_and_of_the_search():
    d, e = entries(ORDER, np.float64)
    matrix = rmt.SymTridiagonal(d, e)
    with ROUTE("never"):
        searched = matrix.eigenvalues()
    with ROUTE("interpret"):
        levels = matrix.eigenvalues()
    exact = scipy.linalg.eigvalsh_tridiagonal(d, e)
    bound = np.finfo(float).eps * np.abs(exact).max()
    np.testing.assert_allclose(levels, exact, rtol=0, atol=8 * bound)
    np.testing.assert_allclose(levels, searched, rtol=0, atol=8 * bound)


HARD = [problem for problem in PROBLEMS if problem.tag != SMALL and problem.build()[0].size == SMALL_ORDER]


@pytest.mark.parametrize("dtype", BOTH)
@pytest.mark.parametrize("problem", HARD, ids=lambda problem: problem.name)
def test_hard_matrices_keep_four_eps(problem, dtype):
    if dtype not in problem.dtypes:
        pytest.skip("the problem needs double precision")
    bands = problem.matrix(dtype)
    with ROUTE("interpret"):
        levels = rmt.SymTridiagonal(*map(jnp.asarray, bands)).eigenvalues()
    exact = exact_eigenvalues(*bands)
    error = np.abs(np.asarray(levels, float) / 2 - exact / 2)  # the difference itself may overflow
    assert error.max() <= 2 * np.finfo(dtype).eps * np.abs(exact).max()


def test_nothing_to_count():
    """No points, no matrices, and no points under a mapped axis."""
    one, none = rmt.SymTridiagonal(jnp.zeros(5), jnp.ones(4)), rmt.SymTridiagonal(jnp.zeros((0, 5)), jnp.ones((0, 4)))
    with ROUTE("interpret"):
        assert one.count_below(jnp.zeros((0, 3))).shape == (0, 3)
        assert none.count_below(jnp.zeros(3)).shape == (0, 3)
        assert none.eigenvalues().shape == (0, 5)
        assert jax.vmap(one.count_below)(jnp.zeros((2, 0))).shape == (2, 0)


def test_a_block_of_traced_order_and_a_matrix_that_is_not_finite():
    d, e = entries(ORDER, np.float64)
    with ROUTE("interpret"):
        levels = jax.jit(partial(_tridiagonal.block_eigenvalues, 0, ORDER))(d, e, 7)
        spoilt = rmt.SymTridiagonal(d.at[3].set(jnp.nan), e).eigenvalues()
    np.testing.assert_allclose(levels[:7], scipy.linalg.eigvalsh_tridiagonal(d[-7:], e[-6:]), rtol=0, atol=1e-14)
    assert np.isposinf(levels[7:]).all()
    assert np.isnan(spoilt).all()


@pytest.mark.parametrize("chunk", [None, 512])
def test_counts_of_ensembles_do_not_depend_on_the_route(chunk, getkey):
    key, x = getkey(), jnp.linspace(-2, 2, 9)
    below = {}
    for route in ("never", "interpret"):
        with ROUTE(route):
            below[route] = rmt.GOE(600).count_below(key, x, chunk=chunk), rmt.CUE(30).count_below(key, x)
    jax.tree.map(np.testing.assert_array_equal, below["interpret"], below["never"])


@pytest.mark.parametrize("ensemble", [rmt.Wishart(20, 30), rmt.CircularBeta(20, 3.0)], ids=["singular", "circular"])
def test_spectra_of_the_other_recurrences(ensemble, getkey):
    method, key = getattr(ensemble, "eigenphases", ensemble.eigenvalues), getkey()
    with ROUTE("never"):
        expected = method(key)
    with ROUTE("interpret"):
        levels = method(key)
    np.testing.assert_allclose(levels, expected, rtol=0, atol=1e-14)


@pytest.mark.slow
def test_mapped_axes_become_matrices_or_lanes(getkey):
    d, e = (jnp.stack(some) for some in zip(*(entries(ORDER, np.float64, seed) for seed in range(6)), strict=True))
    x = jnp.linspace(-2, 2, 30).reshape(6, 5)
    one = lambda d, e, x: rmt.SymTridiagonal(d, e).count_below(x)
    every = jax.vmap(jax.vmap(one, (None, None, 0)), (0, 0, None))  # all matrices, all points
    pairs = jax.vmap(one)
    pairs_of_grid = lambda d, e, x: jax.vmap(pairs)(*(a.reshape(2, 3, *a.shape[1:]) for a in (d, e, x)))
    found = {}
    for route in ("never", "interpret"):
        with ROUTE(route):
            found[route] = [np.asarray(f(d, e, x)) for f in (every, pairs, pairs_of_grid)]
            found[route].append(np.asarray(jax.vmap(lambda x: one(d[0], e[0], x))(x)))
    for got, expected in zip(found["interpret"], found["never"], strict=True):
        np.testing.assert_array_equal(got, expected)
    assert np.ptp(found["interpret"][0], axis=0).min() > 0


@pytest.mark.slow
def test_simulations_and_derivatives(getkey):
    """Devices are a `shard_map`, whose arrays say whether they differ between devices."""
    key, ensemble = getkey(), rmt.GOE(20)
    level = lambda scale: rmt.GOE(20, scale).eigenvalues(key)[-1]
    draws = {}
    for route in ("never", "interpret"):
        with ROUTE(route):
            draws[route] = rmt.simulate(ensemble.eigenvalues, key, 3, progress=False), jax.grad(level)(2.0)
    for got, expected in zip(draws["interpret"], draws["never"], strict=True):
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-14)
