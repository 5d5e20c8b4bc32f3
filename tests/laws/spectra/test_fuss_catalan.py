"""Fuss-Catalan laws: mpmath deep into both tails, combinatorial numbers, other laws, matrices, the contract."""

import functools
import math

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.laws import FussCatalan, MarchenkoPastur
from tests.cases import every_dtype, further
from tests.laws.core.methods import METHODS, check_ulps, columns_of

# Points in units of the upper end.
FRACTIONS = [1e-30, 1e-12, 1e-6, 1e-3, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1 - 2.0**-10, 1 - 2.0**-14, 1 - 2.0**-20]


def upper_end(s):
    return mpmath.mpf(s + 1) ** (s + 1) / mpmath.mpf(s) ** s


def transform(x, s):
    """w = z G(z) at x + i0, continued from infinity down to the axis."""
    w = mpmath.mpf(1)
    for k in range(8, -240, -2):
        z = mpmath.mpc(x, mpmath.mpf(2) ** k)
        for _ in range(5):
            w -= (w ** (s + 1) - z * (w - 1)) / ((s + 1) * w**s - z)
    return w


@functools.cache
def table(s):
    """Points of float32 and all methods there, from the root w, which is not the form that the library uses."""
    with mpmath.workdps(100):
        x = [float(np.float32(upper_end(s) * mpmath.mpf(fraction))) for fraction in FRACTIONS]
        w = [transform(mpmath.mpf(point), s) for point in x]
        pdf = [-root.imag / (mpmath.pi * mpmath.mpf(point)) for root, point in zip(w, x, strict=True)]
        sf = [(s * root - mpmath.log(root - 1)).imag / mpmath.pi for root in w]
        return columns_of(x, pdf, [1 - q for q in sf], sf)


def test_the_reference_is_the_integral_of_the_density():
    with mpmath.workdps(30):
        density = lambda x: -transform(x, 2).imag / (mpmath.pi * x)
        nodes, weights = map(np.ndarray.tolist, np.polynomial.legendre.leggauss(20))
        unit = [(1 + mpmath.mpf(node)) / 2 for node in nodes]
        # The variable u = x^{1/3} removes the singularity at 0.
        mass = sum(w / 2 * 3 * u**2 * density(u**3) for u, w in zip(unit, weights, strict=True))
        w = transform(mpmath.mpf(1), 2)
        assert abs(1 - (2 * w - mpmath.log(w - 1)).imag / mpmath.pi - mass) < 1e-12


@pytest.mark.slow
@every_dtype
@pytest.mark.parametrize("s", [1, 2, 3, 7])
def test_a_few_ulp_of_relative_error_up_to_the_edges(s, dtype):
    check_ulps(FussCatalan(s), *table(s), dtype, ulps=20)


def test_as_near_to_0_as_numbers_go():
    # Near 0, x ~ ψ^{s+1}/sin^{s+1}(π/(s+1)) and cdf ~ (s + 1) ψ/π.
    x = np.array([1e-200, 1e-300])
    for s in (1, 2, 5):
        with mpmath.workdps(40):
            root = np.array([float(mpmath.root(mpmath.mpf(y), s + 1)) for y in x])
        psi = root * math.sin(math.pi / (s + 1))
        np.testing.assert_allclose(FussCatalan(s).cdf(x), (s + 1) * psi / np.pi, rtol=1e-14)
        np.testing.assert_allclose(FussCatalan(s).pdf(x), psi / np.pi / x, rtol=1e-14)


@every_dtype
@pytest.mark.parametrize("s", [*further(1), 3])
def test_quantile_in_relative_error(s, dtype):
    law, eps = FussCatalan(s), np.finfo(dtype).eps
    p = np.array([1e-30 ** (1 / (s + 1)), 1e-5, 0.01, 0.3, 0.5, 0.8, 0.95, 0.999], dtype)
    x = law.ppf(p)
    assert x.dtype == dtype
    np.testing.assert_allclose(law.cdf(x)[:5], p[:5], rtol=20 * eps)
    by_rounding = 10 * eps * float(np.max(law.pdf(x)[5:] * x[5:]))
    np.testing.assert_allclose(law.sf(x)[5:], 1 - p[5:], rtol=20 * eps, atol=by_rounding)
    np.testing.assert_array_equal(law.ppf(np.array([0, 1], dtype)), np.array(law.support(), dtype))


@pytest.mark.float32
@pytest.mark.parametrize("s", [1, 2, 3, 5])
def test_moments_and_free_cumulants_count(s):
    law = FussCatalan(s)

    # Fuss-Catalan numbers by their convolution, B = 1 + z B^{s+1}, count (s + 1)-ary trees, and s-ary ones.
    def trees(arity):
        numbers = [1]
        for _ in range(8):
            power = [1] + [0] * 8
            for _ in range(arity):
                power = [sum(power[i] * (numbers + [0] * 9)[n - i] for i in range(n + 1)) for n in range(9)]
            numbers.append(power[len(numbers) - 1])
        return numbers

    moments = [float(law.moment(k)) for k in range(9)]
    np.testing.assert_allclose(moments, np.array(trees(s + 1), float), rtol=1e-6 if moments[-1] > 1e7 else 0)
    cumulants = [float(law.free_cumulant(k)) for k in range(1, 9)]
    np.testing.assert_array_equal(cumulants, np.array(trees(s)[1:], np.float32))
    assert (law.mean(), law.var()) == (1, s)


@pytest.mark.slow
def test_of_order_1_it_is_marchenko_and_pasturs():
    law, other, x = FussCatalan(1), MarchenkoPastur(1.0), np.array([1e-20, 1e-3, 0.3, 1.0, 2.7, 3.9])
    for method in METHODS:
        np.testing.assert_allclose(getattr(law, method)(x), getattr(other, method)(x), rtol=1e-13, err_msg=method)
    z = np.array([0.4 + 0.3j, 2.0 + 0j, -1e-9 + 1e-12j, 7.0 - 1e-5j])
    np.testing.assert_allclose(law.stieltjes(z), other.stieltjes(z), rtol=1e-14)


@every_dtype
@pytest.mark.parametrize("s", [1, 2, 3, 10])
def test_the_branch_of_the_transform_everywhere(s, dtype):
    law, eps = FussCatalan(s), np.finfo(dtype).eps
    end = float(upper_end(s))
    radii = end * np.array([1e-30, 1e-8, 1e-3, 0.1, 0.5, 0.9, 0.999, 1.001, 1.1, 2.0, 10.0, 1e6, 1e30])
    angles = np.array([0, 1e-6, 1e-3, 0.1, 1.0, 2.0, 3.0, np.pi - 1e-3])
    z = (radii[:, None] * np.exp(1j * angles)).ravel().astype(np.result_type(dtype, np.complex64))
    g = np.asarray(law.stieltjes(z)).astype(complex)
    w = g * z
    # The result solves the equation up to rounding, and lies in the sector that holds no other solution.
    slope = (s + 1) * w**s / z - 1
    error = np.abs(w ** (s + 1) / z - (w - 1)) / np.abs(slope) / np.abs(w)
    near_end = np.abs(1 - z / end) < 0.01
    assert (error < eps * np.where(near_end, 2000, 30)).all(), error.max() / eps
    angle = np.angle(w)
    assert (angle <= 30 * eps).all()
    assert (angle >= -np.pi / (s + 1) - 30 * eps).all()
    assert (np.sign(g.imag) <= 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("s", [1, 3])
def test_derivatives(s):
    law, end = FussCatalan(s), float(upper_end(s))
    x = jnp.array([1e-12, 1e-3, 0.3 * end, 0.7 * end, (1 - 2.0**-12) * end])
    by = jax.jit(lambda f, x: jax.vmap(jax.grad(f))(x), static_argnums=0)
    np.testing.assert_allclose(by(law.cdf, x), law.pdf(x), rtol=1e-11)
    np.testing.assert_allclose(by(law.sf, x), -law.pdf(x), rtol=1e-12)
    p = jnp.array([1e-3, 0.4, 0.9])
    np.testing.assert_allclose(by(law.ppf, p), 1 / law.pdf(law.ppf(p)), rtol=1e-12)
    # w' comes from the equation, differentiated once, and the density from G.
    density = lambda x: -jnp.imag(law.stieltjes(x)) / jnp.pi
    middle = x[1:4]
    np.testing.assert_allclose(by(density, middle), by(law.pdf, middle), rtol=1e-11)
    h = 1e-5 * middle
    np.testing.assert_allclose(by(law.pdf, middle), (law.pdf(middle + h) - law.pdf(middle - h)) / (2 * h), rtol=1e-7)
    second = jax.jit(jax.vmap(jax.grad(jax.grad(law.cdf))))(middle)
    np.testing.assert_allclose(second, by(law.pdf, middle), rtol=1e-10)


@pytest.mark.slow
def test_it_is_the_law_of_products_of_ginibre_matrices():
    factors = np.random.default_rng(5).normal(size=(2, 400, 400)) / 20
    squares = np.linalg.svd(factors[0] @ factors[1], compute_uv=False) ** 2
    p = np.array([0.3, 0.5, 0.7, 0.9])
    np.testing.assert_allclose(FussCatalan(2).cdf(np.quantile(squares, p)), p, rtol=0, atol=0.01)


@pytest.mark.parametrize("order", [0, -1, 1.5, True, "x"])
def test_bad_orders(order):
    with pytest.raises(ValueError, match="`order` must be an integer of at least 1"):
        FussCatalan(order)
