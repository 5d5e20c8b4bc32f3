"""Quadratures against the vectors that they are made of, spectra in closed form, and the steps of another library."""

import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from matfree import decomp

import rmtjax as rmt
from rmtjax.inference import SpectralDensityEstimate, spectral_density_of
from rmtjax.inference._matrix_free.lanczos import tridiagonalised
from rmtjax.inference._matrix_free.vectors import vector_kind
from tests.cases import further
from tests.statistical import ERROR_RATE
from tests.test_compile_once import no_compilation

N, DEPTH, PROBES = 60, 12, 4


def product(v, a):
    return a @ v


def scaled(v, levels):
    return levels * v


def matrix(key, n=N, dtype=float):
    ensemble = rmt.GUE(n) if jnp.issubdtype(dtype, jnp.complexfloating) else rmt.GOE(n)
    return ensemble.sample(key).astype(dtype)


def estimated(a, key, **options):
    return spectral_density_of(product, key, len(a), args=(a,), **({"depth": DEPTH, "probes": PROBES} | options))


def seen(a, key, probes=PROBES):
    """The levels of a matrix, and the weights with which the probes see them."""
    levels, vectors = np.linalg.eigh(a)
    keys = [jax.random.split(jax.random.fold_in(key, i))[0] for i in range(probes)]
    draws = [np.asarray(jax.random.normal(key, (len(a),), a.dtype)) for key in keys]
    return levels, np.stack([abs(vectors.conj().T @ v) ** 2 / np.linalg.norm(v) ** 2 for v in draws])


@pytest.mark.parametrize("dtype", [float, complex])
def test_moments_below_twice_the_depth_are_those_of_the_probes(getkey, dtype):
    a, key = matrix(getkey(), dtype=dtype), getkey()
    found, (levels, weights) = estimated(a, key), seen(a, key)
    assert found.beta == (2 if dtype is complex else 1)
    for k in (0, 1, 2, 2 * DEPTH - 1):
        np.testing.assert_allclose((found.weights * found.nodes**k).sum(-1), weights @ levels**k, rtol=1e-11)
        assert found.moment(k).value == pytest.approx((weights @ levels**k).mean(), rel=1e-11)
    beyond = abs((found.weights * found.nodes ** (2 * DEPTH)).sum(-1) / (weights @ levels ** (2 * DEPTH)) - 1)
    assert (beyond > 1e-9).all()  # one vector fewer, and the line above would fail


def test_brackets_hold_what_the_probes_see(getkey):
    a, key = matrix(getkey()), getkey()
    found, (levels, weights) = estimated(a, key), seen(a, key)
    x = np.concatenate([np.linspace(-2.5, 2.5, 501), levels + 1e-9, levels - 1e-9])
    truth = (weights @ (levels[:, None] <= x)).mean(0)
    lower, upper = map(np.asarray, found.cdf_bracket(x))
    assert (lower <= truth + 1e-12).all()
    assert (truth <= upper + 1e-12).all()
    value = np.asarray(found.cdf(x).value)
    assert (lower <= value + 1e-12).all()
    assert (value <= upper + 1e-12).all()
    # The brackets are about as narrow as two nodes; with one node the truth lies outside.
    assert 0.5 < ((upper - lower)[:501].mean() / (2 * 4 / 5 / DEPTH)) < 2
    low, high = map(np.asarray, found.cdf_band(x))
    assert (low <= lower).all()
    assert (upper <= high).all()
    assert (high[:501] - low[:501]).max() < 0.6


def test_all_is_exact_where_the_vectors_run_out(getkey):
    levels, key = jnp.repeat(jnp.array([-1.0, 2.0, 7.0]), N // 3), getkey()
    found = spectral_density_of(scaled, key, N, args=(levels,), depth=DEPTH, probes=PROBES)
    assert found.complete.all()
    _, weights = seen(np.diag(levels), key)
    expected = weights.reshape(PROBES, 3, -1).sum(-1).mean(0)
    x = jnp.array([-2.0, -0.5, 3.0, 8.0])
    for fraction in (found.cdf(x).value, *found.cdf_bracket(x)):
        np.testing.assert_allclose(fraction, np.concatenate([[0], np.cumsum(expected)]), rtol=0, atol=1e-12)
    outermost, residuals = found.extreme_levels(5)
    np.testing.assert_allclose(outermost, [7, 2, -1, -np.inf, -np.inf], rtol=0, atol=1e-12)
    assert (residuals[:3] < 1e-10).all()
    np.testing.assert_allclose(found.extreme_levels(2, side="lower")[0], [-1, 2], rtol=0, atol=1e-12)


@pytest.mark.parametrize("level", [0.0, 1.0, -3.0])
def test_a_multiple_of_the_identity_has_one_level(getkey, level):
    found = spectral_density_of(scaled, getkey(), N, args=(jnp.full(N, level),), depth=DEPTH, probes=PROBES)
    assert found.complete.all()
    np.testing.assert_allclose(found.nodes, level, rtol=0, atol=1e-13)
    np.testing.assert_allclose(found.weights[:, 0], 1)
    assert found.cdf(level - 0.1).value == 0
    assert found.cdf(level + 0.1).value == 1
    with pytest.raises(ValueError, match="`width` must be given where all levels are equal"):
        found.density(level)
    np.testing.assert_allclose(found.density(level, width=0.5).value, 2 / (2 * np.pi) ** 0.5)
    assert np.isnan(jax.jit(lambda found: found.density(level).value)(found))


@pytest.mark.parametrize("dtype", ["float32", *further("float64")])
def test_vectors_stay_orthogonal_when_levels_have_converged(getkey, dtype):
    # Far levels converge within a few steps. Vectors made orthogonal to only two neighbours would find them again.
    levels = jnp.linspace(-1, 1, 500).at[:3].set(jnp.array([1e4, 3e3, 1e3])).astype(dtype)
    found = spectral_density_of(lambda v: levels * v, getkey(), 500, depth=60, probes=2)
    assert found.nodes.dtype == dtype
    eps = float(jnp.finfo(dtype).eps)
    np.testing.assert_allclose(found.extreme_levels(3)[0], [1e4, 3e3, 1e3], rtol=0, atol=30 * eps * 1e4)
    assert ((found.nodes > 10).sum(-1) == 3).all()
    assert ((found.nodes < 1 + 100 * eps * 1e4).sum(-1) == 57).all()


def test_steps_are_those_of_another_library(getkey):
    a, start = matrix(getkey()), jax.random.normal(getkey(), (N,))
    steps = tridiagonalised(lambda v: a @ v, start / jnp.linalg.norm(start), depth=DEPTH)
    theirs = decomp.hessenberg(DEPTH, reortho="full", custom_vjp=False)(lambda v: a @ v, start).J_small
    np.testing.assert_allclose(steps.unit * steps.diagonal, jnp.diagonal(theirs), rtol=0, atol=1e-12)
    np.testing.assert_allclose(steps.unit * steps.off_diagonal[:-1], jnp.diagonal(theirs, -1), rtol=0, atol=1e-12)
    assert steps.asymmetry < 1e-13


def test_residuals_reach_a_level(getkey):
    a = matrix(getkey())
    found, levels = estimated(a, getkey()), np.linalg.eigvalsh(a)
    distance = abs(np.asarray(found.nodes)[..., None] - levels).min(-1)
    assert (distance <= found.residuals + 1e-13).all()
    outermost, _ = found.extreme_levels(4)
    assert (outermost <= levels[::-1][:4] + 1e-13).all()
    assert outermost[0] == found.nodes.max()


@pytest.mark.parametrize("dtype", [float, *further(complex)])
def test_standard_error_is_the_spread_over_probes(getkey, dtype):
    levels, key, m = jnp.linspace(-1, 1, 24) ** 3, getkey(), 4000
    found = spectral_density_of(lambda v: levels.astype(v.dtype) * v, key, 24, depth=6, probes=m, dtype=dtype)
    for f in (lambda x: x, lambda x: x**2 + x):
        each = (found.weights * f(found.nodes)).sum(-1)
        estimate = found.mean(f)
        assert abs(estimate.z_score(f(levels).mean())) < scipy.stats.norm.isf(ERROR_RATE / 2)
        # The relative variance of a variance of nearly normal numbers is 2/m.
        assert each.var() / m / estimate.standard_error**2 == pytest.approx(1, abs=6 * (2 / m) ** 0.5)


def test_density_at_its_resolution_is_that_of_the_probes(getkey):
    a, key = matrix(getkey()), getkey()
    found, (levels, weights) = estimated(a, key), seen(a, key)
    x = np.linspace(-2.2, 2.2, 45)
    for width, error in ((None, 3e-5), (2 * found.resolution, 3e-11)):
        eta = float(found.resolution if width is None else width)
        smooth = np.exp(-(((x - levels[:, None]) / eta) ** 2) / 2) / (eta * (2 * np.pi) ** 0.5)
        np.testing.assert_allclose(found.density(x, width).value, (weights @ smooth).mean(0), rtol=0, atol=error)


def test_vectors_may_be_trees(getkey):
    tree = {"a": jnp.zeros((3, 2)), "b": jnp.zeros(5)}
    scale = {"a": jnp.arange(6.0).reshape(3, 2), "b": jnp.arange(6.0, 11.0)}
    found = spectral_density_of(lambda v: jax.tree.map(jnp.multiply, scale, v), getkey(), tree, probes=1)
    assert found.n == 11
    np.testing.assert_allclose(found.nodes[0], jnp.arange(11.0), rtol=0, atol=1e-12)


def test_inputs_decide_the_dtype():
    kept = lambda apply, dtype=None: vector_kind(5, dtype).flat_product(apply, ())[1]
    for dtype in (jnp.float32, jnp.complex64, jnp.float64):
        a = jnp.eye(5, dtype=dtype)
        assert kept(lambda v, a=a: a @ v) == dtype
    default = jnp.zeros(()).dtype
    assert kept(lambda v: 2 * v) == default
    assert kept(lambda v: 1j * (jnp.roll(v, 1) - jnp.roll(v, -1)).astype(complex)) == np.result_type(
        default, jnp.complex64
    )
    assert kept(lambda v: 2 * v, jnp.float32) == jnp.float32


NOT_VECTORS = {
    r"return a vector of shape \(60,\), got \(59,\)": lambda v: v[1:],
    r"got \(\(60,\), \(60,\)\)": lambda v: (v, v),
    "be of single or double precision": lambda v: v.astype(jnp.float16),
    "dtype that it takes": lambda v: v.astype(jnp.float32 if v.dtype == jnp.float64 else jnp.complex64),
    "be a function of JAX": lambda v: jnp.ones((N, N + 1)) @ v,
    "of JAX of a vector": lambda v: np.sin(v),
}


@pytest.mark.parametrize("words", NOT_VECTORS)
def test_products_of_another_kind_are_refused(getkey, words):
    with pytest.raises(ValueError, match=rf"`matvec` must .*{words}"):
        spectral_density_of(NOT_VECTORS[words], getkey(), N)


def test_operators_that_are_not_symmetric_are_refused(getkey):
    a, key = matrix(getkey()), getkey()
    for other in (jnp.tril(a), a.at[7, 30].multiply(-1)):
        with pytest.raises(ValueError, match=r"be symmetric \(Hermitian\), got <u, A v> and <A u, v> that differ by"):
            estimated(other, key)
    with pytest.raises(ValueError, match="got NaN or infinity for 4 of 4 probes"):
        estimated(a.at[3, 5].set(jnp.nan), key)
    for other in (jax.lax.complex(0 * a, a), matrix(key, dtype=complex) + 0.01j * jnp.eye(N, dtype=complex)):
        with pytest.raises(ValueError, match="be symmetric"):
            estimated(other, key)
    with pytest.raises(ValueError, match="be symmetric"):
        spectral_density_of(lambda v: v + 1, key, N, depth=DEPTH, probes=PROBES)


def test_one_product_is_enough_to_see_that_an_operator_is_not_symmetric(getkey):
    a, key = matrix(getkey()), getkey()
    slightly = a.at[7, 30].multiply(1 + 1e-4)
    for other in (jnp.tril(a), slightly, a + 1e-3 * jnp.roll(jnp.eye(N), 1, 0)):
        with pytest.raises(ValueError, match=r"be symmetric \(Hermitian\), got"):
            estimated(other, key, depth=1)
    # Rounding of single precision is no asymmetry, whatever the norm, even where nearly everything cancels.
    ones = jnp.ones((N, N)) / N
    for other in (1e12 * a, a + 1e3 * ones, jnp.diag(jnp.logspace(-9, 9, N)), ones, 0 * a):
        estimated(other.astype("float32"), key, depth=1)


def test_bad_arguments_are_refused(getkey):
    key, twice = getkey(), lambda v: 2 * v
    for refused, words in (
        (lambda: spectral_density_of(1, key, 5), "matvec"),
        (lambda: spectral_density_of(twice, key, 0), "n"),
        (lambda: spectral_density_of(twice, key, [jnp.tanh]), "n"),
        (lambda: spectral_density_of(twice, key, jnp.arange(5)), "n"),
        (lambda: spectral_density_of(twice, key, [jnp.zeros(2, jnp.float32), jnp.zeros(2, complex)]), "n"),
        (lambda: spectral_density_of(twice, key, 5, depth=6), "depth"),
        (lambda: spectral_density_of(twice, key, 5, depth=0), "depth"),
        (lambda: spectral_density_of(twice, key, 5, probes=0), "probes"),
        (lambda: spectral_density_of(twice, key, 5, dtype=int), "dtype"),
        (lambda: spectral_density_of(twice, key, 5, dtype=jnp.float16), "dtype"),
        (lambda: spectral_density_of(twice, key, 5, args=[1]), "args"),
        (lambda: spectral_density_of(twice, jax.random.PRNGKey(0), 5), "key"),
    ):
        with pytest.raises(ValueError, match=f"`{words}` must"):
            refused()


def test_bad_questions_are_refused():
    found = SpectralDensityEstimate(*jnp.ones((3, 2, 5)), jnp.zeros(2, bool), 30, 1)
    for refused, words in (
        (lambda: found.mean(jnp.sum), "f"),
        (lambda: found.moment(-1), "k"),
        (lambda: found.density(0.0, 0.0), "width"),
        (lambda: found.cdf(jnp.nan), "x"),
        (lambda: found.cdf_band(0.0, 1.0), "confidence"),
        (lambda: found.extreme_levels(6), "k"),
        (lambda: found.extreme_levels(1, side="left"), "side"),
    ):
        with pytest.raises(ValueError, match=f"`{words}` must"):
            refused()


@pytest.mark.slow
def test_a_traced_operator_that_is_not_symmetric_gives_nan(getkey):
    second = jax.jit(lambda a, key: estimated(a, key).moment(2).value)
    a, key = matrix(getkey()), getkey()
    assert second(a, key) == pytest.approx(float(estimated(a, key).moment(2).value))
    assert jnp.isnan(second(jnp.triu(a), key))


@pytest.mark.slow
def test_derivative_in_the_arguments(getkey):
    a, key = matrix(getkey()), getkey()

    def logarithm(s):
        found = estimated(3 * jnp.eye(N) + s * a, key)
        return found.mean(jnp.log).value

    h = 1e-5
    expected = (logarithm(1 + h) - logarithm(1 - h)) / (2 * h)
    assert jax.grad(logarithm)(1.0) == pytest.approx(float(expected), rel=1e-6)
    assert jax.jvp(logarithm, (1.0,), (1.0,))[1] == pytest.approx(float(expected), rel=1e-6)


def test_one_program_for_all_arguments_which_goes_with_its_function(getkey):
    a, keys = matrix(getkey()), list(jax.random.split(getkey(), 20))
    estimated(a, keys[0])
    with no_compilation():
        for key in keys:
            estimated(a, key)

    def mortal(v):
        return a @ v

    spectral_density_of(mortal, keys[0], N, depth=DEPTH, probes=PROBES)
    gone = weakref.ref(mortal)
    del mortal
    gc.collect()
    assert gone() is None


def torus(side):
    """The Laplacian of a square lattice on a torus, and its levels."""

    def laplacian(v):
        g = v.reshape(side, side)
        return (4 * g - sum(jnp.roll(g, by, axis) for by in (-1, 1) for axis in (0, 1))).ravel()

    waves = 2 - 2 * np.cos(2 * np.pi * np.arange(side) / side)
    return laplacian, np.sort((waves[:, None] + waves).ravel())


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["uniform", "matrix", "torus"])
def test_bands_cover_at_their_rate(getkey, operator):
    repetitions, probes = 400, 2
    if operator == "torus":
        apply, levels = torus(16)
        x = jnp.linspace(0.5, 7.5, 8)
    else:
        a = jnp.diag(jnp.linspace(-2, 2, 256)) if operator == "uniform" else matrix(getkey(), 256)
        apply, levels = (lambda v: a @ v), np.linalg.eigvalsh(a)
        x = jnp.linspace(-1.7, 1.7, 8)

    @jax.jit
    @jax.vmap
    def ends(key):
        found = spectral_density_of(apply, key, 256, depth=50, probes=probes)
        density, second = found.density(x, 0.3), found.moment(2)
        half = density.interval(0.5)
        return density.interval(), half, second.interval(), found.cdf_band(x), found.cdf(x).value

    density, half, second, band, _ = ends(jax.random.split(getkey(), repetitions))
    smooth = np.exp(-(((np.asarray(x) - levels[:, None]) / 0.3) ** 2) / 2).mean(0) / (0.3 * (2 * np.pi) ** 0.5)
    below = (levels[:, None] <= np.asarray(x)).mean(0)

    def covered(interval, truth):
        low, high = map(np.asarray, interval)
        return np.sum((low <= truth) & (truth <= high), axis=0)

    limits = lambda rate: scipy.stats.binom.ppf([ERROR_RATE / 2, 1 - ERROR_RATE / 2], repetitions, rate)
    for interval, truth, rate in ((density, smooth, 0.95), (half, smooth, 0.5), (second, (levels**2).mean(), 0.95)):
        low, high = limits(rate)
        number = covered(interval, truth)
        assert ((low <= number) & (number <= high)).all(), number
    assert (covered(band, below) >= limits(0.95)[0]).all()
    # A band that is too wide to be wrong is of no use; its size is the error of the probes and two nodes.
    assert np.mean(band[1] - band[0]) < 0.2


@pytest.mark.slow
def test_shape_of_the_torus(getkey):
    apply, levels = torus(100)
    found = spectral_density_of(apply, getkey(), 10_000, probes=4)
    x = np.linspace(0.2, 7.8, 39)
    assert abs(found.cdf(x).z_score((levels[:, None] <= x).mean(0))).max() < 6
    smooth = np.exp(-(((x - levels[:, None]) / 0.2) ** 2) / 2).mean(0) / (0.2 * (2 * np.pi) ** 0.5)
    assert abs(found.density(x, 0.2).z_score(smooth)).max() < 5
    assert found.extreme_levels(1)[0][0] == pytest.approx(8, abs=1e-3)
