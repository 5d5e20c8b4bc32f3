"""Symmetric tridiagonal matrices: derivatives, batches, limits and refusals."""

import re
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import rmtjax as rmt
from rmtjax.linalg import SymTridiagonal, _tridiagonal
from tests.cases import further
from tests.linalg.reference import REAL_DTYPES, SINGLE
from tests.linalg.tridiagonal_matrices import dense, exact_eigenvalues

N = 6
SOME = (1, 4)
POINTS = np.array([[-1.9, 0.3, 0.8], [2.6, -0.45, 7.0]])
GRID = POINTS + np.array([0.01j, -0.7j, 1j])


def generic(seed, *batch, n=N):
    random = np.random.default_rng(seed)
    return random.standard_normal((*batch, n)), random.standard_normal((*batch, n - 1))


def split(seed, *places):
    """A generic matrix except for zeros on the off-diagonal; its levels are distinct nevertheless."""
    d, e = generic(seed)
    e[list(places)] = 0
    return d, e


BLOCK = np.array([0.3, -1.1, 0.7]), np.array([0.9, -0.4])
TWICE = np.tile(BLOCK[0], 2), np.concatenate([BLOCK[1], [0.0], BLOCK[1]])
CHAIN = np.zeros(N), np.ones(N - 1)
DISTINCT = {"generic": generic(1), "split": split(2, 1, 4), "diagonal": split(3, *range(N - 1)), "chain": CHAIN}
DEGENERATE = {
    "equal blocks": TWICE,
    "blocks equal to rounding": (TWICE[0] * (1 + np.arange(N) * 1e-16), TWICE[1]),
    "blocks that hardly touch": (TWICE[0], TWICE[1] + 1e-9 * (TWICE[1] == 0)),
    "pairs on the diagonal": (np.array([1.0, 2.0, 1.0, 3.0, 2.0, 1.0]), np.zeros(N - 1)),
    "identity": (np.full(N, -1.5), np.zeros(N - 1)),
    "zero": (np.zeros(N), np.zeros(N - 1)),
}
SINGLE_TOO = [pytest.param(np.float32, marks=[SINGLE, pytest.mark.slow])]
distinct = pytest.mark.parametrize("bands", DISTINCT.values(), ids=DISTINCT)
degenerate = pytest.mark.parametrize("bands", DEGENERATE.values(), ids=DEGENERATE)


def expected_trace(bands, z):
    return np.sum(1 / (np.asarray(z)[..., None] - np.linalg.eigvalsh(dense(*bands))), axis=-1)


def expected_log_determinant(bands, x):
    return np.linalg.slogdet(dense(*bands) - np.asarray(x)[..., None, None] * np.eye(bands[0].size))[1]


def bands_of(a):
    """The gradient of tr f(T) by the two diagonals, from the matrix f'(T)."""
    return np.diagonal(a), 2 * np.diagonal(a, 1)


# Compilation takes nearly all of the time: these functions are shared, with one program for each shape.


def everything(matrix, x, z):
    return {
        "levels": matrix.eigenvalues(),
        "vectors": matrix.eigenvectors(),
        "log_determinant": matrix.log_determinant(x),
        "trace": matrix.resolvent_trace(z),
    }


@jax.jit
def mapped_batch(d, e):
    """The map of a function over batches."""
    return jax.vmap(lambda d, e: everything(SymTridiagonal(d, e), POINTS, GRID))(d, e)


compiled = jax.jit(everything)


@jax.jit
def counts(matrix, x):
    return matrix.count_below(x)


def solved(bands, scale=1.0):
    matrix = SymTridiagonal(*(scale * band for band in bands))
    return jax.tree.map(np.asarray, compiled(matrix, scale * POINTS, scale * GRID))


def levels_and_projectors(d, e):
    matrix = SymTridiagonal(d, e)
    v = matrix.eigenvectors(SOME)
    return matrix.eigenvalues(), v[:, None] * v[None, :]


def dense_levels_and_projectors(d, e):
    levels, v = rmt.eigh(SymTridiagonal(d, e).todense())
    v = v[:, slice(*SOME)]
    return levels, v[:, None] * v[None, :]


@partial(jax.jit, static_argnums=2)
def jacobian(d, e, fn=levels_and_projectors):
    """Derivatives of levels and projectors by both diagonals, in forward mode."""
    return jax.jacfwd(fn, (0, 1))(d, e)


@jax.jit
def power_sum_gradient(d, e):
    """Gradient of tr T³, in reverse mode."""
    return jax.grad(lambda d, e: jnp.sum(SymTridiagonal(d, e).eigenvalues() ** 3), (0, 1))(d, e)


def assert_power_sum_gradient(got, bands, tolerance):
    a = dense(*bands).astype(np.float64)
    for band, expected in zip(got, bands_of(3 * a @ a), strict=True):
        assert band.dtype == bands[0].dtype
        np.testing.assert_allclose(band, expected, rtol=0, atol=tolerance * max(1, np.abs(a).max()) ** 2)


# Values


@pytest.mark.parametrize("shape", [(), (3,), (2, 1, 3)], ids=str)
def test_dense_matrix_and_product(shape):
    d, e = generic(0, *shape, n=4)
    matrix = SymTridiagonal(d, e)
    a = np.asarray(matrix.todense())
    expected = np.zeros((*shape, 4, 4))
    for place in np.ndindex(shape):
        expected[place] = dense(d[place], e[place])
    np.testing.assert_array_equal(a, expected)
    v = np.random.default_rng(1).standard_normal((5, *[1] * len(shape), 4)) * (1 + 2j)
    np.testing.assert_allclose(matrix.matvec(v), (a @ v[..., None])[..., 0], rtol=1e-14, atol=1e-14)


def test_maps_and_batches_are_loops():
    # One of the matrices falls apart, so the vectors of all of them take the longer way.
    d, e = generic(4, 2, 3)
    d[1, 2], e[1, 2] = TWICE
    together = mapped_batch(d, e)
    assert {name: value.shape for name, value in together.items()} == {
        "levels": (2, 3, N),
        "vectors": (2, 3, N, N),
        "log_determinant": (2, 3, *POINTS.shape),
        "trace": (2, 3, *POINTS.shape),
    }
    below = counts(SymTridiagonal(d, e), POINTS)
    mapped = jax.jit(jax.vmap(lambda d, e: SymTridiagonal(d, e).count_below(POINTS)))(d, e)
    assert below.shape == mapped.shape == (2, 3, *POINTS.shape)
    for place in np.ndindex(2, 3):
        for name, one in solved((d[place], e[place])).items():
            if place != (1, 2) or name != "vectors":  # these are any basis of each pair
                np.testing.assert_allclose(together[name][place], one, rtol=1e-12, atol=1e-13)
        one = counts(SymTridiagonal(d[place], e[place]), POINTS)
        np.testing.assert_array_equal(below[place], one)
        np.testing.assert_array_equal(mapped[place], one)


@distinct
def test_values_are_those_of_the_dense_matrix(bands):
    got, levels = solved(bands), np.linalg.eigvalsh(dense(*bands))
    np.testing.assert_allclose(got["levels"], levels, rtol=0, atol=1e-14)
    below = counts(SymTridiagonal(*bands), POINTS)
    np.testing.assert_array_equal(below, np.sum(np.less(levels, POINTS[..., None]), axis=-1))
    np.testing.assert_allclose(got["log_determinant"], expected_log_determinant(bands, POINTS), rtol=0, atol=1e-13)
    np.testing.assert_allclose(got["trace"], expected_trace(bands, GRID), rtol=1e-12)
    np.testing.assert_allclose(got["trace"], N * rmt.statistics.stieltjes(jnp.asarray(levels), GRID), rtol=1e-12)


def test_points_of_any_shape():
    matrix = SymTridiagonal(*generic(5, 2, n=3))
    for shape in ((), (0,), (2, 1, 2)):
        x = np.linspace(-3.0, 3.0, max(1, int(np.prod(shape))))[: int(np.prod(shape))].reshape(shape)
        for method in (matrix.count_below, matrix.log_determinant, matrix.resolvent_trace):
            assert jax.eval_shape(method, x).shape == (2, *shape)


def test_points_of_any_order():
    matrix = SymTridiagonal(np.array([0.0, 1.0, 2.0]), np.zeros(2))
    x = np.array([np.inf, 1.0, -np.inf, 2.5, 0.0, 1.5, 1.0])
    got = matrix.count_below(x)
    assert jnp.issubdtype(got.dtype, jnp.integer)
    # The count is strict: a level equal to the point does not count.
    np.testing.assert_array_equal(got, [3, 1, 0, 3, 0, 2, 1])


@pytest.mark.parametrize("dtype", REAL_DTYPES)
def test_no_level_of_a_diagonal_matrix_is_below_itself(dtype):
    # Every pivot at a level is exactly 0, and the floor under the off-diagonal must not move the counts.
    d = np.random.default_rng(2).permutation(40)
    below = SymTridiagonal(d.astype(dtype), np.zeros(39, dtype)).count_below(d.astype(dtype))
    np.testing.assert_array_equal(below, d)
    # Equal neighbours, which the floor would couple.
    twice = np.repeat([0.0, 1.0, 1.25], [5, 2, 3]).astype(dtype)
    matrix = SymTridiagonal(twice, np.zeros(9, dtype))
    np.testing.assert_array_equal(matrix.count_below(np.array([-1e-3, 0, 0.5, 1, 1.25, 2], dtype)), [0, 0, 5, 5, 7, 10])
    assert SymTridiagonal(np.zeros(5, dtype), np.zeros(4, dtype)).count_below(0.0) == 0


@pytest.mark.parametrize("dtype", REAL_DTYPES)
def test_a_million_rows_are_counted(dtype):
    # The length needs more than one piece of the count, and is even, so that no level is at 0.
    n = (1 << 20) + 22
    angles = np.array([0.5]) if dtype == np.float32 else (np.array([0, 1, 1 << 19, n - 1, n]) + 0.5) / (n + 1)
    expected = np.round((1 - angles) * (n + 1) - 0.5)
    x = 2 * np.cos(np.pi * angles) if dtype == np.float64 else np.zeros(1)
    matrix = SymTridiagonal(np.zeros(n, dtype), np.ones(n - 1, dtype))
    np.testing.assert_array_equal(matrix.count_below(x.astype(dtype)), expected)


@pytest.mark.parametrize("exponent", [-1000, -667, 667, 1000])
def test_a_scale_far_from_one_is_a_factor(exponent):
    bands, scale = DISTINCT["generic"], 2.0**exponent
    got, unit = solved(bands, scale), solved(bands)
    np.testing.assert_array_equal(got["levels"] / scale, unit["levels"])
    np.testing.assert_allclose(
        got["log_determinant"] - N * exponent * np.log(2), unit["log_determinant"], rtol=0, atol=1e-11
    )
    np.testing.assert_allclose(got["trace"] * scale, unit["trace"], rtol=1e-14)
    scaled = SymTridiagonal(*(scale * band for band in bands))
    np.testing.assert_array_equal(counts(scaled, scale * POINTS), counts(SymTridiagonal(*bands), POINTS))


@pytest.mark.parametrize("dtype", REAL_DTYPES)
def test_the_ends_of_the_range_of_exponents(dtype):
    info = np.finfo(dtype)
    bands = [np.array(band, dtype) for band in ([1.0, -0.5, 0.25], [0.5, 0.25])]
    levels = np.linalg.eigvalsh(dense(*bands).astype(np.float64))
    some = jax.jit(lambda d, e, x: (SymTridiagonal(d, e).eigenvalues(), SymTridiagonal(d, e).count_below(x)))
    for scale in (2.0 ** (info.minexp + 2), 1.0, 2.0 ** (info.maxexp - 2)):  # all entries are normal numbers
        d, e = (dtype(scale) * band for band in bands)
        got, below = some(d, e, dtype(scale) * np.array([-1, 0, 0.5, 1.5], dtype))
        np.testing.assert_allclose(np.asarray(got, np.float64) / scale, levels, rtol=0, atol=4 * info.eps)
        np.testing.assert_array_equal(below, [0, 1, 2, 3])


# In double precision the points of `test_a_scale_far_from_one_is_a_factor` are far out as well.
@pytest.mark.parametrize("dtype", [REAL_DTYPES[0], *further(np.float64)])
def test_points_far_from_the_matrix(dtype):
    largest = float(np.finfo(dtype).max)
    d, e, x = np.array([1.0, 2.0], dtype), np.array([1.0], dtype), np.array([largest / 2, -1e30, 1e9], dtype)
    unit = dtype(1 / largest**0.5)  # the points are beyond the range of exponents in units of the matrix
    tiny = SymTridiagonal(unit * d, unit * e)
    np.testing.assert_allclose(tiny.log_determinant(x), 2 * np.log(np.abs(x)), rtol=1e-6)
    np.testing.assert_allclose(tiny.resolvent_trace(1j * x[1:]), -2j / x[1:], rtol=1e-6)
    by_d, by_e, by_x = jax.grad(lambda *a: SymTridiagonal(*a[:2]).log_determinant(a[2]), (0, 1, 2))(
        unit * d, unit * e, x[1]
    )
    np.testing.assert_allclose([*by_d, by_x], np.array([-1, -1, 2]) / x[1], rtol=1e-6)
    np.testing.assert_array_equal(by_e, 0)
    assert np.isnan(tiny.log_determinant(np.nan))


@pytest.mark.parametrize("n", [1, 2])
def test_small_orders(n):
    bands = np.array([0.4, -1.0])[:n], np.array([0.7])[: n - 1]
    matrix, a = SymTridiagonal(*bands), dense(*bands)
    np.testing.assert_array_equal(matrix.todense(), a)
    np.testing.assert_allclose(matrix.matvec(np.array([1.0, 2.0])[:n]), a @ np.array([1.0, 2.0])[:n], rtol=1e-15)
    np.testing.assert_allclose(
        matrix.log_determinant(POINTS), expected_log_determinant(bands, POINTS), rtol=0, atol=1e-14
    )
    z = POINTS if n == 1 else GRID  # real points are complex points too
    np.testing.assert_allclose(matrix.resolvent_trace(z), expected_trace(bands, z), rtol=1e-13)


def test_gradient_without_an_off_diagonal():
    by_d, by_e = power_sum_gradient(np.array([0.5]), np.zeros(0))
    np.testing.assert_allclose(by_d, [0.75], rtol=1e-15)
    assert by_e.shape == (0,)


# Derivatives


@distinct
def test_derivatives_of_levels_and_projectors_are_those_of_the_dense_matrix(bands):
    # The vectors are a range: their derivatives come from the levels outside it as well.
    got, expected = jacobian(*bands), jacobian(*bands, dense_levels_and_projectors)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=0, atol=1e-12), got[0], expected[0])
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-10, atol=1e-11), got[1], expected[1])


def test_derivatives_of_levels_against_finite_differences():
    d, e = DISTINCT["generic"]
    levels = lambda d, e: solved((d, e))["levels"]
    by_d, by_e = jacobian(d, e)[0]
    for k, step in enumerate(1e-5 * np.eye(N)):
        np.testing.assert_allclose(by_d[:, k], (levels(d + step, e) - levels(d - step, e)) / 2e-5, rtol=0, atol=1e-9)
    for k, step in enumerate(1e-5 * np.eye(N - 1)):
        np.testing.assert_allclose(by_e[:, k], (levels(d, e + step) - levels(d, e - step)) / 2e-5, rtol=0, atol=1e-9)


@distinct
def test_derivatives_of_the_trace_of_the_resolvent(bands):
    for z in (0.35 - 0.7j, -2.0 + 1e-3j):
        by_d, by_e, by_z = trace_gradient(*bands, z)
        square = np.linalg.matrix_power(np.linalg.inv(z * np.eye(N) - dense(*bands)), 2)
        size = 1e-13 * np.abs(square).max() ** 1.5
        np.testing.assert_allclose(by_d, bands_of(square.real)[0], rtol=0, atol=size)
        np.testing.assert_allclose(by_e, bands_of(square.real)[1], rtol=0, atol=size)
        np.testing.assert_allclose(by_z, -np.trace(square), rtol=0, atol=N * size)


@jax.jit
def trace_gradient(d, e, z):
    """The gradient of the real part of the trace."""
    return jax.grad(lambda d, e, z: SymTridiagonal(d, e).resolvent_trace(z).real, (0, 1, 2))(d, e, z)


def test_gradients_of_a_symmetric_function():
    """The gradients are right at degeneracy too, and next to a matrix with NaN."""
    every = DISTINCT | DEGENERATE
    d, e = (np.stack(bands) for bands in zip(*every.values(), TWICE, strict=True))
    d[-1, 2] = np.nan
    by_d, by_e = power_sum_gradient(d, e)
    assert np.isnan(by_d[-1]).all()
    for k, bands in enumerate(every.values()):
        assert_power_sum_gradient((by_d[k], by_e[k]), bands, 2e-14)


def test_gradient_at_levels_that_agree_to_rounding():
    # Wilkinson's W21+: the two largest agree to 14 digits, and are two levels.
    bands = np.abs(np.arange(21) - 10.0), np.ones(20)
    exponentials = lambda d, e: jnp.sum(jnp.exp(SymTridiagonal(d, e).eigenvalues() - 10))
    got = jax.jit(jax.grad(exponentials, (0, 1)))(*bands)
    expected = bands_of(scipy.linalg.expm(dense(*bands) - 10 * np.eye(21)))
    np.testing.assert_allclose(got[0], expected[0], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(got[1], expected[1], rtol=1e-12, atol=1e-14)


@jax.jit
def block_levels_and_derivatives(d, e, order):
    levels = lambda d, e: _tridiagonal.block_eigenvalues(0, N, d, e, order)
    return levels(d, e), jax.jacrev(levels, (0, 1))(d, e)


@jax.jit
def hessian(d, e, order):
    levels = lambda d: _tridiagonal.block_eigenvalues(0, N, d, e, order)
    return jax.jacfwd(jax.jacrev(levels))(d)


@pytest.mark.parametrize("order", [N, 4])
def test_second_derivatives_of_levels_are_second_order_perturbation_theory(order):
    d, e = DISTINCT["generic"]
    start = N - order
    levels, v = np.linalg.eigh(dense(d[start:], e[start:]))
    gaps = levels[:, None] - levels
    np.fill_diagonal(gaps, np.inf)
    expected = np.zeros((N, N, N))
    expected[:order, start:, start:] = 2 * np.einsum("ik,im,jk,jm,km->kij", v, v, v, v, 1 / gaps)
    np.testing.assert_allclose(hessian(d, e, np.int32(order)), expected, rtol=0, atol=1e-12)
    step = 1e-6 * np.eye(N)[-1]
    by_d = lambda d: block_levels_and_derivatives(d, e, np.int32(order))[1][0]
    difference = (by_d(d + step) - by_d(d - step)) / 2e-6
    np.testing.assert_allclose(hessian(d, e, np.int32(order))[:, :, -1], difference, rtol=0, atol=1e-7)


@pytest.mark.parametrize("bands", [TWICE, (np.ones(3), np.zeros(2))], ids=["equal blocks", "identity"])
def test_second_derivatives_at_equal_levels_are_no_numbers(bands):
    d, e = map(jnp.asarray, bands)
    cubes = lambda t: jnp.sum(SymTridiagonal(d, e + t).eigenvalues() ** 3)
    assert np.isfinite(jax.grad(cubes)(0.0))
    assert np.isnan(jax.hessian(cubes)(0.0))
    # Levels that a block does not have are equal to none.
    padded = lambda t: jnp.sum(
        _tridiagonal.block_eigenvalues(0, N, CHAIN[0] + t, jnp.asarray(CHAIN[1]), jnp.int32(3))[:3] ** 3
    )
    assert np.isfinite(jax.hessian(padded)(0.1))


def test_counts_have_the_derivative_zero():
    d, e = map(jnp.asarray, DISTINCT["generic"])
    total = lambda d, e, x: jnp.sum(x * SymTridiagonal(d, e).count_below(x).astype(x.dtype))
    by_d, by_e, by_x = jax.jit(jax.grad(total, (0, 1, 2)))(d, e, jnp.asarray(POINTS))
    np.testing.assert_array_equal(by_d, np.zeros(N))
    np.testing.assert_array_equal(by_e, np.zeros(N - 1))
    np.testing.assert_array_equal(by_x, counts(SymTridiagonal(d, e), POINTS))
    primal, tangent = jax.jvp(lambda d: SymTridiagonal(d, e).count_below(0.3), (d,), (d,))
    assert tangent.dtype == jax.dtypes.float0
    assert int(primal) == int(np.sum(np.linalg.eigvalsh(dense(*DISTINCT["generic"])) < 0.3))


@jax.jit
def log_determinant_and_gradient(d, e, x):
    return jax.value_and_grad(lambda d, e, x: SymTridiagonal(d, e).log_determinant(x), (0, 1, 2))(d, e, x)


@pytest.mark.parametrize("name", [*DISTINCT, "equal blocks"])
def test_log_determinant_and_its_gradient(name):
    # The inverse of the chain is full of zeros: every other pivot vanishes.
    bands = (DISTINCT | DEGENERATE)[name]
    for x in (0.0, 0.35):
        value, (by_d, by_e, by_x) = log_determinant_and_gradient(*bands, x)
        inverse = np.linalg.inv(dense(*bands) - x * np.eye(N))
        size = 1e-12 * np.abs(inverse).max() ** 2
        np.testing.assert_allclose(value, expected_log_determinant(bands, x), rtol=0, atol=size)
        np.testing.assert_allclose(by_d, bands_of(inverse)[0], rtol=0, atol=size)
        np.testing.assert_allclose(by_e, bands_of(inverse)[1], rtol=0, atol=size)
        np.testing.assert_allclose(by_x, -np.trace(inverse), rtol=0, atol=N * size)


def test_log_determinant_at_a_level():
    diagonal = SymTridiagonal(np.array([0.0, 1.0, 2.0]), np.zeros(2))
    np.testing.assert_allclose(
        diagonal.log_determinant(np.array([1.0, 3.0, 0.0])), [-np.inf, np.log(6), -np.inf], rtol=1e-14
    )
    # First a level makes the last pivot vanish, then a pivot vanishes without a level.
    assert float(SymTridiagonal(np.ones(2), np.ones(1)).log_determinant()) == -np.inf
    assert abs(float(SymTridiagonal(np.zeros(2), np.ones(1)).log_determinant())) < 1e-14


# A matrix that is not finite


def test_nan_and_infinity_stay_in_their_matrix():
    d, e = generic(6, 2, 3)
    d[0, 0, 2], e[0, 2, 3], d[1, 1, 0] = np.nan, np.inf, -np.inf
    got, bad = jax.tree.map(np.asarray, mapped_batch(d, e)), ([0, 0, 1], [0, 2, 1])
    assert all(np.isnan(values[bad]).all() for values in got.values())
    for place in ((0, 1), (1, 0), (1, 2)):
        for name, one in solved((d[place], e[place])).items():
            # The signs of vectors are arbitrary, and depend on the last digit of a level.
            sign = np.sign(np.sum(got[name][place] * one, axis=0)) if name == "vectors" else 1
            np.testing.assert_allclose(got[name][place] * sign, one, rtol=1e-12, atol=1e-13)


@SINGLE
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_counts_of_a_matrix_that_is_not_finite_are_refused(bad):
    d, e = np.array([1.0, bad]), np.ones(1)
    with pytest.raises(ValueError, match="`diagonal` must be finite"):
        SymTridiagonal(d, e).count_below(0.0)
    with pytest.raises(ValueError, match="`off_diagonal` must be finite"):
        SymTridiagonal(np.ones(2), np.array([bad])).count_below(0.0)
    assert jnp.all(jax.jit(lambda d: SymTridiagonal(d, e).count_below(0.0))(d) == -1)


# Refusals

BAD_BANDS = [
    (1.0, [], r"`diagonal` must have at least one entry, got \(\)"),
    ([], [], r"`diagonal` must have at least one entry, got \(0,\)"),
    ([1.0, 2.0], [1.0, 2.0], r"`off_diagonal` must have the shape \(1,\), got \(2,\)"),
    (np.ones((2, 3)), np.ones((3, 2)), r"`off_diagonal` must have the shape \(2, 2\), got \(3, 2\)"),
    (np.ones((2, 3)), np.ones(2), r"`off_diagonal` must have the shape \(2, 2\), got \(2,\)"),
    ([1.0, 2j], [1.0], "`diagonal` must be real"),
    ([1.0, 2.0], [1j], "`off_diagonal` must be real"),
    (np.ones(2, np.float16), [1.0], "`diagonal` must be of single or double precision (.*), got 'float16'"),
]


@SINGLE
@pytest.mark.parametrize(("d", "e", "message"), BAD_BANDS)
def test_bad_diagonals_are_refused(d, e, message):
    with pytest.raises(ValueError, match=r"(?s)" + message):
        SymTridiagonal(jnp.asarray(d), jnp.asarray(e))


@SINGLE
@pytest.mark.parametrize("select", [(-1, 2), (0, 4), (2, 2), (2, 1), (3, 3), (0, 1.0), (0.0, 1), (False, 2), (0, -1)])
def test_bad_ranges_are_refused(select):
    matrix = SymTridiagonal(np.ones(3), np.ones(2))
    for method in (matrix.eigenvalues, matrix.eigenvectors):
        with pytest.raises(ValueError, match="`select` must be"):
            method(select)


@SINGLE
def test_bad_points_are_refused():
    matrix = SymTridiagonal(np.ones(3), np.ones(2))
    for bad in (np.nan, np.array([0.0, np.nan])):
        with pytest.raises(ValueError, match="`x` must not be NaN"):
            matrix.count_below(bad)
    assert jax.jit(matrix.count_below)(np.nan) == -1
    for method in (matrix.count_below, matrix.log_determinant):
        with pytest.raises(ValueError, match="`x` must be real"):
            method(1j)
    for bad in (1.0, np.ones(4), np.ones((3, 2))):
        with pytest.raises(ValueError, match="`v` must have 3 entries on its last axis"):
            matrix.matvec(bad)


# Dtypes and compilations


@SINGLE
def test_single_precision_is_kept():
    bands = [band.astype(np.float32) for band in DISTINCT["generic"]]
    matrix = SymTridiagonal(*bands)
    got = jax.eval_shape(everything, matrix, POINTS.astype(np.float32), GRID.astype(np.complex64))
    assert {name: value.dtype for name, value in got.items()} == {
        "levels": np.float32,
        "vectors": np.float32,
        "log_determinant": np.float32,
        "trace": np.complex64,
    }
    assert matrix.todense().dtype == matrix.matvec(bands[0]).dtype == np.float32
    trace = matrix.resolvent_trace(GRID.astype(np.complex64))
    np.testing.assert_allclose(trace, expected_trace(DISTINCT["generic"], GRID), rtol=1e-5)
    wide = [band.astype(np.float64) for band in bands]
    below = counts(matrix, POINTS.astype(np.float32))
    np.testing.assert_array_equal(below, np.sum(np.linalg.eigvalsh(dense(*wide)) < POINTS[..., None], axis=-1))


@SINGLE
@pytest.mark.parametrize("bands", [DISTINCT["generic"], *DEGENERATE.values()], ids=["generic", *DEGENERATE])
def test_gradient_in_single_precision(bands):
    bands = [band.astype(np.float32) for band in bands]
    assert_power_sum_gradient(power_sum_gradient(*bands), bands, 1e-5)


@SINGLE
def test_integers_are_entries_too():
    matrix = SymTridiagonal(jnp.array([2, 2]), jnp.array([1]))
    assert matrix.diagonal.dtype == matrix.off_diagonal.dtype == jnp.ones(()).dtype
    np.testing.assert_array_equal(matrix.todense(), [[2, 1], [1, 2]])


def test_the_wider_of_two_dtypes():
    matrix = SymTridiagonal(np.ones(2, np.float32), np.ones(1))
    assert matrix.diagonal.dtype == matrix.off_diagonal.dtype == np.float64


def test_one_compilation_for_all_values():
    solved(DISTINCT["generic"])
    before = compiled._cache_size()
    for bands in (*DISTINCT.values(), TWICE):
        solved(bands)
    assert compiled._cache_size() == before


# The trailing block, of an order that may be traced


@pytest.mark.parametrize("order", [0, 1, 3, N])
def test_levels_of_the_trailing_block(order):
    bands, start = DISTINCT["generic"], N - order
    block = [band[start:] for band in bands]
    exact, v = np.linalg.eigh(dense(*block)) if order else (np.zeros(0), np.zeros((0, 0)))
    by_d, by_e = np.zeros((N, N)), np.zeros((N, N - 1))
    by_d[:order, start:] = v.T**2
    by_e[:order, start:] = 2 * (v[1:] * v[:-1]).T
    # The result does not depend on the entries outside of the block.
    for outside in (0.5, 1e30, np.nan):
        given = [np.where(np.arange(band.size) < start, outside, band) for band in bands]
        levels, got = block_levels_and_derivatives(*given, np.int32(order))
        np.testing.assert_array_equal(levels[order:], np.inf)
        np.testing.assert_allclose(levels[:order], exact, rtol=0, atol=1e-14)
        np.testing.assert_allclose(got[0], by_d, rtol=0, atol=1e-13)
        np.testing.assert_allclose(got[1], by_e, rtol=0, atol=1e-13)


@SINGLE
def test_levels_of_the_trailing_block_in_single_precision():
    d, e = (band.astype(np.float32) for band in DISTINCT["generic"])
    some = jax.jit(lambda order: _tridiagonal.block_eigenvalues(0, N, d, e, order))
    for order in (1, 4):
        exact = np.linalg.eigvalsh(dense(d[N - order :], e[N - order :]).astype(np.float64))
        levels = some(np.int32(order))
        assert levels.dtype == np.float32
        np.testing.assert_array_equal(levels[order:], np.inf)
        np.testing.assert_allclose(levels[:order], exact, rtol=0, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, *SINGLE_TOO])
def test_levels_of_the_trailing_block_of_a_larger_matrix(dtype):
    # Fewer than half of the levels exist, about half, or all: the slower half of the search must know the ends.
    n = 140
    d, e = (band.astype(dtype) for band in generic(7, n=n))
    some = jax.jit(lambda order: _tridiagonal.block_eigenvalues(0, n, d, e, order))
    for order in (3, 40, 69, 70, 71, n):
        exact = exact_eigenvalues(d[n - order :].astype(np.float64), e[n - order :].astype(np.float64))
        levels = some(np.int32(order))
        np.testing.assert_array_equal(levels[order:], np.inf)
        unit = np.finfo(dtype).eps * np.abs(exact).max()
        np.testing.assert_allclose(levels[:order], exact, rtol=0, atol=4 * unit)


def test_a_range_of_the_levels_of_the_trailing_block():
    d, e = DISTINCT["generic"]
    some = jax.jit(lambda order: _tridiagonal.block_eigenvalues(2, 5, d, e, order))
    for order in (1, 4):
        exact = np.linalg.eigvalsh(dense(d[N - order :], e[N - order :]))
        padded = np.concatenate([exact, np.full(N - order, np.inf)])
        np.testing.assert_allclose(some(np.int32(order)), padded[2:5], rtol=0, atol=1e-14)


def test_counts_of_the_trailing_block():
    d, e = DISTINCT["generic"]
    below = jax.jit(lambda order: _tridiagonal.block_counts(d, e, order, POINTS))
    for order in range(1, N + 1):
        exact = np.linalg.eigvalsh(dense(d[N - order :], e[N - order :]))
        np.testing.assert_array_equal(below(np.int32(order)), np.sum(exact < POINTS[..., None], axis=-1))
    np.testing.assert_array_equal(below(np.int32(0)), np.zeros_like(POINTS))


@pytest.mark.parametrize("dtype", [np.float64, *SINGLE_TOO])
def test_vectors_of_levels_on_the_grid_of_rounding(dtype):
    # The diagonals hold a few neighbouring numbers: a shift of inverse iteration equal to one would divide by 0.
    steps = np.random.default_rng(5).integers(0, 12, (200, N))
    d = (0.5 + np.finfo(dtype).eps / 2 * steps).astype(dtype)
    v = np.asarray(SymTridiagonal(d, np.zeros((200, N - 1), dtype)).eigenvectors())
    np.testing.assert_allclose(
        v.swapaxes(1, 2) @ v, np.broadcast_to(np.eye(N), v.shape), rtol=0, atol=50 * np.finfo(dtype).eps
    )


def test_residuals_of_vectors_that_extend_over_the_whole_matrix():
    n = 400  # a twisted vector alone has √n times the error of its level
    chain = SymTridiagonal(2 * np.ones(n), np.ones(n - 1))
    levels, v = np.asarray(chain.eigenvalues((180, 220))), np.asarray(chain.eigenvectors((180, 220)))
    residuals = np.linalg.norm(np.asarray(chain.todense()) @ v - v * levels, axis=0)
    assert residuals.max() <= 10 * np.finfo(float).eps * 4


def test_zero_matrix_is_counted_at_every_scale():
    zero = SymTridiagonal(np.zeros(3), np.zeros(2))
    np.testing.assert_array_equal(zero.count_below(np.array([-1e-300, 1e-300, 1.0])), [0, 3, 3])


@pytest.mark.parametrize("batch", [(), (2,)])
def test_no_number_of_128_bits_is_scattered(batch):
    # A GPU would write these one after the other. More than 256 levels queue for lanes.
    d = jax.ShapeDtypeStruct((*batch, 300), jnp.float64)
    e = jax.ShapeDtypeStruct((*batch, 299), jnp.float64)
    one = lambda d, e: SymTridiagonal(d, e).eigenvalues()
    levels = jax.vmap(one) if batch else one
    program = jax.jit(levels).lower(d, e).as_text()
    types = re.findall(r'"stablehlo.scatter"[\s\S]*?-> (tensor<.*)', program)
    assert types
    assert not any("complex" in some for some in types)


def test_calls_outside_of_jit_compile_once():
    compilations, listening = [], True

    def listener(event, _, **__):
        if listening and "backend_compile" in event:
            compilations.append(event)

    a = np.eye(51) + np.ones((51, 51))
    calls = [  # of sizes that occur nowhere else
        lambda: rmt.eigvalsh(a),
        lambda: SymTridiagonal(*generic(7, n=11)).eigenvalues(),
        lambda: SymTridiagonal(*generic(7, n=11)).count_below(0.3),
        lambda: SymTridiagonal(*generic(7, n=11)).log_determinant(0.3),
    ]
    jax.monitoring.register_event_duration_secs_listener(listener)
    try:
        for call in calls:
            call()
        first = len(compilations)
        assert first > 0  # the listener hears
        for call in calls:
            call()
        assert len(compilations) == first
    finally:
        listening = False  # jax 0.8 cannot unregister a listener


def test_a_lone_level_beside_a_cluster_is_orthogonal_to_it():
    n, rng = 96, np.random.default_rng(0)
    gap, levels = 0.002 / n, np.sort(rng.uniform(-1, 1, n))
    for first in range(0, n - 4, 8):  # the second one belongs to the first, the third one just does not
        levels[first + 1 : first + 3] = levels[first] + gap * np.array([0.6, 2.8])
    q, _ = np.linalg.qr(rng.normal(size=(n, n)))
    t = scipy.linalg.hessenberg((q * np.sort(levels)) @ q.T)
    v = np.asarray(SymTridiagonal(np.diag(t), np.diag((t + t.T) / 2, 1)).eigenvectors())
    # LAPACK's vectors for the clusters, together with twisted vectors for the rest, would miss this tenfold.
    np.testing.assert_allclose(v.T @ v, np.eye(n), rtol=0, atol=50 * n * np.finfo(float).eps)


@pytest.mark.parametrize("batch", [(0,), (2, 0)])
def test_empty_batches(batch):
    d, e = jnp.zeros((*batch, 3)), jnp.zeros((*batch, 2))
    assert SymTridiagonal(d, e).count_below(np.zeros(2)).shape == (*batch, 2)
    assert SymTridiagonal(d, e).eigenvectors().shape == (*batch, 3, 3)
    assert jax.grad(lambda d: SymTridiagonal(d, e).eigenvalues().sum())(d).shape == d.shape


@pytest.mark.slow
def test_derivatives_outside_of_jit_are_those_inside(getkey):
    # Outside of `jit` the rules call programs of their own, with other compiler options.
    d, e = jax.random.normal(getkey(), (4,)), jnp.array([1.0, 0.7, 0.4])
    energy = lambda d: jnp.sum(jnp.sin(SymTridiagonal(d, e).eigenvalues()))
    batch = jnp.stack([d, d[::-1]])
    for transformed, x in (
        (jax.grad(energy), d),
        (jax.hessian(energy), d),
        (jax.jacfwd(jax.grad(energy)), d),
        (jax.vmap(jax.grad(energy)), batch),
        (jax.grad(lambda d: jnp.sum(jax.vmap(energy)(d))), batch),
        (jax.linearize(energy, d)[1], e[0] * d),
        (jax.grad(jax.checkpoint(energy)), d),
    ):
        np.testing.assert_allclose(transformed(x), jax.jit(transformed)(x), rtol=1e-10, atol=1e-10)
