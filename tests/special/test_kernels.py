"""Kernels: against mpmath at all distances, on and near the diagonal; gradients, symmetry, traces, bad input."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.special import airy_kernel, bessel_kernel, hermite_kernel, sine_kernel
from rmtjax.special.internal import gauss_legendre
from tests.cases import every_dtype, further

DISTANCES = [0.0, 1e-8, 3e-5, 1e-3, 0.02, 0.11, 0.26, 0.51, 0.9, 1.1, 3.0]
mpf = mpmath.mpf


def sine(x, y):
    return mpmath.sincpi(x - y)


def airy(x, y):
    ai = lambda z, k=0: mpmath.airyai(z, derivative=k)
    if x == y:
        return ai(x, 1) ** 2 - x * ai(x) ** 2
    return (ai(x) * ai(y, 1) - ai(x, 1) * ai(y)) / (x - y)


def bessel(x, y, alpha):
    j = lambda k, z: mpmath.besselj(alpha + k, mpmath.sqrt(z))
    if x == y:
        return (j(0, x) ** 2 - 2 * alpha / mpmath.sqrt(x) * j(0, x) * j(1, x) + j(1, x) ** 2) / 4
    return (mpmath.sqrt(x) * j(1, x) * j(0, y) - mpmath.sqrt(y) * j(0, x) * j(1, y)) / (2 * (x - y))


def hermite_functions(n, x):
    functions = [mpf(0), mpmath.pi ** mpf(-0.25) * mpmath.exp(-(x**2) / 2)]
    for k in range(n - 1):
        terms = mpmath.sqrt(mpf(2) / (k + 1)) * x * functions[-1], mpmath.sqrt(mpf(k) / (k + 1)) * functions[-2]
        functions.append(terms[0] - terms[1])
    return functions[1:]


def check_values(kernel, exact, points, ulps, dtype, *parameters):
    """Errors in ulp of sqrt(K(x, x) K(y, y)), for the points as rounded to the dtype."""
    x, y, *parameters = (np.asarray(column, dtype) for column in (*zip(*points, strict=True), *parameters))
    got = jax.jit(kernel)(x, y, *parameters)
    assert got.dtype == dtype
    turned = jax.jit(kernel)(y, x, *parameters)
    parameters = [np.broadcast_to(each, x.shape) for each in parameters]
    with mpmath.workdps(50):
        for a, b, value, other, *rest in zip(x, y, got, turned, *parameters, strict=True):
            a, b, *rest = (mpf(float(each)) for each in (a, b, *rest))
            size = mpmath.sqrt(exact(a, a, *rest) * exact(b, b, *rest))
            if size > np.finfo(dtype).tiny * 1e6:
                errors = [abs(float(each) - exact(a, b, *rest)) / size for each in (value, other)]
                assert max(errors) <= ulps * np.finfo(dtype).eps, (a, b, rest)


@every_dtype
def test_sine_kernel(dtype):
    points = [(x, x + d) for x in (-7.0, 0.1, 20.0) for d in [*DISTANCES, 10.5, 100.25]]
    check_values(sine_kernel, sine, points, 4, dtype)


@every_dtype
def test_airy_kernel(dtype):
    # In float32 products underflow beyond 15.
    places = [-1000.0, -60.0, -9.0, -3.9, -0.6, 0.0, 0.7, 3.8, 5.0, 12.0]
    places += [40.0, 90.0] if dtype == np.float64 else []
    check_values(airy_kernel, airy, [(x, x + d) for x in places for d in [*DISTANCES, 8.0]], 20, dtype)


@every_dtype
@pytest.mark.parametrize("places", [(1e-6, 0.01, 2.0), (50.0, 3e3, 1e5)], ids=["edge", "bulk"])
def test_bessel_kernel(places, dtype):
    points = [(x, x * (1 + d)) for x in places for d in DISTANCES]
    orders = [-0.75, 0.0, 0.5, 2.0] + ([20.0] if dtype == np.float64 else [])
    points, alphas = zip(*[(point, alpha) for point in points for alpha in orders], strict=True)
    check_values(bessel_kernel, bessel, points, 60, dtype, alphas)


@every_dtype
@pytest.mark.parametrize(("n", "ulps"), [(1, 10), (2, 10), (30, 30), (1000, 200)])
def test_hermite_kernel(n, ulps, dtype):
    edge = np.sqrt(2 * n)
    places = [0.1, 0.8 * edge, edge, 1.1 * edge, -0.5 * edge]
    points = [(x, y) for x in places for y in (x, x + 1e-6, x + 0.3 / edge, 0.7 * edge, -x)]
    numbers = {}

    def exact(x, y):
        for z in (x, y):
            if z not in numbers:
                numbers[z] = hermite_functions(n, z)
        return mpmath.fdot(numbers[x], numbers[y])

    check_values(lambda x, y: hermite_kernel(x, y, n), exact, points, ulps, dtype)


def test_far_tail_of_the_hermite_kernel():
    # In exp(-x²) the rounding of x² would show.
    x = np.array([11.3, 18.1, 18.9])
    with mpmath.workdps(40):
        expected = [float((1 + 2 * mpf(z) ** 2) * mpmath.exp(-(mpf(z) ** 2)) / mpmath.sqrt(mpmath.pi)) for z in x]
    np.testing.assert_allclose(hermite_kernel(x, x, 2), expected, rtol=3e-15)


def test_hard_edge_at_the_origin():
    alphas = jnp.array([0.0, 0.5, -0.5])
    corner, side, outside = jax.jit(bessel_kernel)(0.0, jnp.array([[0.0], [2.0], [-1.0]]), alphas)
    np.testing.assert_array_equal(corner, [0.25, 0, np.inf])
    np.testing.assert_allclose(side, [float(mpmath.besselj(1, mpmath.sqrt(2)) / mpmath.sqrt(8)), 0, np.inf], rtol=1e-14)
    assert np.isnan(outside).all()


def test_far_points():
    assert airy_kernel(np.inf, np.inf) == airy_kernel(np.inf, -3.0) == airy_kernel(1e10, 1e10) == 0
    assert hermite_kernel(np.inf, 0.3, 5) == hermite_kernel(1e200, 1e200, 5) == 0
    assert np.isnan(hermite_kernel(np.nan, 0.3, 5))
    assert np.isfinite(hermite_kernel(60.0, 63.0, 2000))


def test_unfolding_connects_the_kernels():
    """The finite kernel has its limits in the bulk and at the soft edge, with their arguments and factors."""
    n, x = 3000, np.array([-0.7, 0.0, 0.4])
    density = np.sqrt(2 * n) / np.pi
    bulk = hermite_kernel(x / density, 0.1 / density, n) / density
    np.testing.assert_allclose(bulk, sine_kernel(x, 0.1), rtol=0, atol=1e-3)
    unit = 1 / (np.sqrt(2) * n ** (1 / 6))
    edge = hermite_kernel(np.sqrt(2 * n) + unit * x, np.sqrt(2 * n) - 0.2 * unit, n) * unit
    np.testing.assert_allclose(edge, airy_kernel(x, -0.2), rtol=0, atol=1e-3)


def test_traces_and_projections():
    nodes, weights = gauss_legendre(120)
    points, weights = 12 * nodes, 12 * weights
    kernel = np.asarray(hermite_kernel(points[:, None], points[None, :], 25))
    np.testing.assert_allclose(weights @ np.diag(kernel), 25, rtol=1e-12)
    np.testing.assert_allclose(kernel * weights @ kernel, kernel, rtol=0, atol=1e-11)


X = [-50.0, -2.0, 0.5, 4.2, 30.0]
bessel_gradients = jax.jit(jax.vmap(jax.grad(bessel_kernel, (0, 1))))


@pytest.mark.parametrize("distance", [0.0, 0.3, *further(1e-8, 1e-3, 2.0)])
def test_gradients(distance):
    """Gradients by both arguments agree with mpmath, near the diagonal as well as far from it."""

    def check(got, exact, points, *parameters):
        with mpmath.workdps(50):
            for k, (x, y) in enumerate(points):
                x, y = mpf(float(x)), mpf(float(y))
                # A shift off the diagonal, too small to matter, lets one formula serve as the reference.
                y = y + mpf(10) ** -14 if x == y else y
                step = mpf(10) ** -20
                by_x = (exact(x + step, y, *parameters) - exact(x - step, y, *parameters)) / (2 * step)
                by_y = (exact(x, y + step, *parameters) - exact(x, y - step, *parameters)) / (2 * step)
                size = abs(by_x) + abs(by_y) + abs(exact(x, y, *parameters))
                for ours, theirs in ((got[0][k], by_x), (got[1][k], by_y)):
                    assert abs(float(ours) - theirs) < 1e-11 * size, (x, y, ours, theirs)

    for kernel, exact in ((sine_kernel, sine), (airy_kernel, airy)):
        points = [(x, x + distance) for x in ([0.0, 3.5] if kernel is sine_kernel else X)]
        check(jax.jit(jax.vmap(jax.grad(kernel, (0, 1))))(*jnp.array(points).T), exact, points)
    points = [(x, x * (1 + distance)) for x in (1e-3, 0.2, 1.0, 9.0, 70.0)]
    check(bessel_gradients(*jnp.array(points).T, jnp.array(5 * [0.5])), bessel, points, 0.5)


def test_gradients_of_the_bessel_kernel_at_the_origin():
    # By the integral the value at α = 0 is -1/16 ∫ t dt; for other α it is only finite, as the power is not smooth.
    by_x, by_y = bessel_gradients(jnp.zeros(5), jnp.zeros(5), jnp.array([0.0, 0.7, 1.0, 1.5, 2.0]))
    np.testing.assert_allclose([by_x[0], by_y[0]], -1 / 32, rtol=1e-13)
    assert np.isfinite([by_x, by_y]).all()


def test_gradients_of_the_bessel_kernel_with_one_point_at_the_origin():
    # The kernel is (xy)^(α/2) times a power series, whose slope at x = 0 is finite for α = 0 and 2, and 0 for α = 4.
    with mpmath.workdps(40):
        step = mpf(10) ** -20
        slopes = [float((bessel(2 * step, mpf(4), a) - bessel(step, mpf(4), a)) / step) for a in (0, 2)]
    by_x, _ = bessel_gradients(jnp.zeros(3), jnp.full(3, 4.0), jnp.array([0.0, 2.0, 4.0]))
    _, by_y = bessel_gradients(jnp.full(3, 4.0), jnp.zeros(3), jnp.array([0.0, 2.0, 4.0]))
    np.testing.assert_allclose(by_x, [*slopes, 0], rtol=1e-12)
    np.testing.assert_allclose(by_y, [*slopes, 0], rtol=1e-12)


@pytest.mark.slow
def test_gradient_of_the_bessel_kernel_by_alpha():
    points = jnp.array([(2.0, 2.0, 0.5), (2.0, 2.0001, 0.5), (1.0, 9.0, 0.5), (0.0, 0.0, 0.0), (0.0, 0.0, 0.7)]).T
    by_alpha = jax.jit(jax.vmap(jax.grad(bessel_kernel, 2)))(*points)
    with mpmath.workdps(40):
        for k, (x, y) in enumerate([(2.0, 2.0), (2.0, 2.0001), (1.0, 9.0)]):
            at = lambda alpha, x=x, y=y: bessel(mpf(x), mpf(y), alpha)
            np.testing.assert_allclose(by_alpha[k], float(mpmath.diff(at, 0.5, h=mpf(10) ** -15)), rtol=1e-12)
    assert np.isfinite(by_alpha[3:]).all()


@pytest.mark.slow
def test_points_broadcast():
    x, y = jnp.array([[0.5], [1.3], [4.4]]), jnp.array([0.5, 1.31])
    a, b = mpf(4.4), mpf(1.31)
    of_order_4 = mpmath.fdot(hermite_functions(4, a), hermite_functions(4, b))
    for matrix, exact in (
        (sine_kernel(x, y), sine(a, b)),
        (airy_kernel(x, y), airy(a, b)),
        (bessel_kernel(x, y, 0.7), bessel(a, b, 0.7)),
        (hermite_kernel(x, y, 4), of_order_4),
    ):
        assert matrix.shape == (3, 2)
        np.testing.assert_allclose(matrix[2, 1], float(exact), rtol=1e-12)


@pytest.mark.float32
def test_bad_input():
    with pytest.raises(ValueError, match=r"`alpha` must lie in \(-1, 50\], got -1"):
        bessel_kernel(1.0, 2.0, -1)
    with pytest.raises(ValueError, match="`n` must be an integer of at least 1, got 0"):
        hermite_kernel(1.0, 2.0, 0)
    with pytest.raises(ValueError, match="`y` must be real"):
        sine_kernel(1.0, 2j)
