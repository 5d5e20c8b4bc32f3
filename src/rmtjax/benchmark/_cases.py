"""The classic cases, as functions of a size and a dtype: products, loops, spectra, the cat, derivatives."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from jaxtyping import Array, Float

from rmtjax.benchmark._measure import Work
from rmtjax.ensembles import GOE, Mixed
from rmtjax.linalg import eigvalsh, sharded_product, spectral_radius
from rmtjax.simulation import Histogram, HistogramResult, simulate


class WrongAnswer(ArithmeticError):
    """The result of a benchmark case differs from the independent answer."""


@dataclass(frozen=True)
class Problem:
    """A function to time, with a check of its result."""

    fn: Callable[..., Any]
    args: tuple
    check: Callable[[Any], Any]  # raises `WrongAnswer`, or returns the work of the call, if it is known
    size: int = 0  # the number that the table shows as n
    variant: str = ""  # distinguishes the rows of one case
    jit: bool = True  # whether `fn` is compiled as a whole


def expect_close(what: str, got: Any, expected: Any, tolerance: float) -> tuple[float, float]:
    """The largest error and the tolerance; a larger error, NaN or another shape is a wrong answer."""
    got, expected = np.asarray(got, np.float64), np.asarray(expected, np.float64)
    expect(got.shape == expected.shape, f"{what}: shape {got.shape}, expected {expected.shape}")
    error = float(np.max(np.abs(got - expected)))
    expect(error <= tolerance, f"{what}: off by {error:.3g}, tolerance {tolerance:.3g}")
    return error, tolerance


def expect(holds: bool, otherwise: str) -> None:
    """Refuse a result for which the statement does not hold."""
    if not holds:
        raise WrongAnswer(otherwise)


# This computes products of float32 in float32: by default a GPU may round the factors to 10 bits.
_PRECISION = jax.lax.Precision.HIGHEST
_PRODUCT = "2n³, one multiplication and one addition per term"


def _normal(seed: int, shape: tuple[int, ...], dtype: Any) -> Array:
    return jax.random.normal(jax.random.key(seed), shape, dtype)


def matmul(n: int, dtype: Any) -> Iterable[Problem]:
    """C = AB and the sum of its entries, in one compiled function; the answer is (1ᵀA)(B1)."""
    a, b = _normal(0, (n, n), dtype), _normal(1, (n, n), dtype)

    def check(total: Array) -> Work:
        columns, rows = np.asarray(a, np.float64).sum(axis=0), np.asarray(b, np.float64).sum(axis=1)
        # The sum and its partial sums are of size n^1.5; the worst order of addition loses n eps of that.
        expect_close("sum of AB", total, columns @ rows, 4 * np.finfo(dtype).eps * n * n**1.5)
        return Work(2 * n**3, f"{_PRODUCT}; A and B are read once", 2 * n**2 * dtype.itemsize)

    yield Problem(lambda a, b: jnp.sum(jnp.matmul(a, b, precision=_PRECISION)), (a, b), check, n)


def sharded_matmul(n: int, dtype: Any) -> Iterable[Problem]:
    """C = AB by `linalg.sharded_product` over a mesh x×y of all devices; the answer is compared with A(Bv).

    Each device multiplies an (n/x)×(n/y) block by an (n/y)×n block. n is rounded up to a multiple of the device count.
    """
    count = jax.device_count()
    n = math.ceil(n / count) * count
    y = max(d for d in range(1, math.isqrt(count) + 1) if count % d == 0)
    mesh = jax.make_mesh((count // y, y), ("x", "y"), axis_types=(AxisType.Auto, AxisType.Auto))
    whole_a, whole_b = _normal(0, (n, n), dtype), _normal(1, (n, n), dtype)
    a = jax.device_put(whole_a, NamedSharding(mesh, PartitionSpec("x", "y")))
    b = jax.device_put(whole_b, NamedSharding(mesh, PartitionSpec("y", None)))

    def check(c: Array) -> Work:
        # Freivalds' test: the product with a random vector shows a wrong entry, with n² operations instead of n³.
        v = np.random.default_rng(2).standard_normal(n)
        expected = np.asarray(whole_a, np.float64) @ (np.asarray(whole_b, np.float64) @ v)
        expect_close("ABv", np.asarray(c, np.float64) @ v, expected, 64 * np.finfo(dtype).eps * n**1.5)
        return Work(2 * n**3, _PRODUCT)

    yield Problem(lambda a, b: sharded_product(a, b, mesh), (a, b), check, n)


_FEEDBACK = 0.25  # α of the recurrence
_STEPS = {"cpu": 1000}  # elsewhere 100,000


def recurrence(n: int, dtype: Any) -> Iterable[Problem]:
    """Iterate x ← tanh(Wx + b) + αx in one compiled loop; the answer is the same loop in float64 NumPy.

    W has independent entries of variance 1/(16n), and so a norm near 1/2 (twice the standard deviation times √n). With
    α = 1/4 a step contracts distances by 3/4, so rounding errors do not accumulate.
    """
    steps = _STEPS.get(jax.default_backend(), 100_000)
    w, b, x = _normal(0, (n, n), dtype) / (4 * n**0.5), _normal(1, (n,), dtype), _normal(2, (n,), dtype)

    def loop(w: Array, b: Array, x: Array) -> Array:
        step = lambda _, x: jnp.tanh(jnp.matmul(w, x, precision=_PRECISION) + b) + _FEEDBACK * x
        return jax.lax.fori_loop(0, steps, step, x)

    def check(result: Array) -> Work:
        w64, b64, y = (np.asarray(array, np.float64) for array in (w, b, x))
        for _ in range(min(steps, 500)):  # (3/4)^500 = 1e-63: by then the fixed point is reached
            y = np.tanh(w64 @ y + b64) + _FEEDBACK * y
        expect_close(f"x after {steps} steps", result, y, 64 * np.finfo(dtype).eps * n**0.5)
        source = "2n² per step for Wx, which also reads the n² entries of W"
        return Work(2 * n**2 * steps, source, n**2 * dtype.itemsize * steps)

    yield Problem(loop, (w, b, x), check, n)


_SPIKE = 3.0  # θ of the spiked Wigner matrix


def power_iteration(n: int, dtype: Any) -> Iterable[Problem]:
    """Power iteration on a spiked Wigner matrix, stopped on the device by its residual.

    A = θuuᵀ + H with a GOE matrix H of spectrum [-2, 2] has one outlier, at θ + 1/θ as n → ∞ (Féral and Péché
    2007; Benaych-Georges and Nadakuditi 2011, section 3.1).
    """
    g, u = _normal(0, (n, n), dtype), jnp.full(n, n**-0.5, dtype)
    a = (g + g.T) / (2 * n) ** 0.5 + _SPIKE * u[:, None] * u[None, :]
    tolerance = 32 * np.finfo(dtype).eps * n**0.5

    def iterate(a: Array) -> tuple[Array, Array, Array]:
        product = lambda v: jnp.matmul(a, v, precision=_PRECISION)

        def residual(state: tuple) -> Array:
            v, av, _ = state
            return jnp.linalg.norm(av - (v @ av) * v)

        def step(state: tuple) -> tuple:
            _, av, count = state
            v = av / jnp.linalg.norm(av)
            return v, product(v), count + 1

        v = jnp.zeros(n, dtype).at[0].set(1)
        unfinished = lambda state: (residual(state) > tolerance) & (state[2] < 1000)
        v, av, count = jax.lax.while_loop(unfinished, step, (v, product(v), jnp.asarray(1)))
        return v @ av, v, count

    def check(result: tuple[Array, Array, Array]) -> Work:
        value, v, count = float(result[0]), np.asarray(result[1], np.float64), int(result[2])
        distance = np.linalg.norm(np.asarray(a, np.float64) @ v - value * v)
        expect(1 < count < 1000, f"stopped after {count} products")
        expect_close("norm of the vector", np.linalg.norm(v), 1.0, tolerance)
        expect(distance <= 2 * tolerance, f"residual {distance:.3g}, tolerance {2 * tolerance:.3g}")
        # The outlier fluctuates with standard deviation sqrt(2(1 - 1/θ²)/n).
        expect_close("outlier", value, _SPIKE + 1 / _SPIKE, 6 * (2 * (1 - _SPIKE**-2) / n) ** 0.5 + 4 / n)
        return Work(2 * n**2 * count, f"2n² for each of {count} products", n**2 * dtype.itemsize * count)

    yield Problem(iterate, (a,), check, n)


def _goe(n: int, dtype: Any) -> GOE:
    return GOE(n, scale=jnp.ones((), dtype))


def _semicircle_cdf(x: np.ndarray) -> np.ndarray:
    """The distribution function of the semicircle on [-2, 2]."""
    x = np.clip(x, -2, 2)
    return 0.5 + x * np.sqrt(4 - x**2) / (4 * np.pi) + np.arcsin(x / 2) / np.pi


def wigner(n: int, dtype: Any) -> Iterable[Problem]:
    """The spectrum of one dense GOE matrix; its sums are traces, and it follows the semicircle."""
    goe, key = _goe(n, dtype), jax.random.key(0)

    def check(result: Array) -> Work:
        h, levels = np.asarray(goe.sample(key), np.float64), np.asarray(result, np.float64)
        error = 16 * np.finfo(dtype).eps * n  # n levels, each known to about eps times the norm
        expect(bool(np.all(np.diff(levels) >= 0)), "levels do not ascend")
        expect_close("sum of the levels", levels.sum(), np.trace(h), error)
        expect_close("sum of their squares", (levels**2).sum(), (h**2).sum(), 2 * error)
        # Levels are rigid: their ranks follow the law to O(log n), ranks of independent points only to O(√n).
        expected = (np.arange(n) + 0.5) / n
        expect_close("semicircle", _semicircle_cdf(levels), expected, (2 + 2 * math.log(n)) / n)
        return Work(4 / 3 * n**3, "4n³/3 for the tridiagonal form (Golub and Van Loan 2013, section 8.3.1)")

    yield Problem(lambda key: eigvalsh(goe.sample(key)), (key,), check, n)


_MATRICES, _MIXTURE = 100, 0.9  # number of matrices, and μ


def cat(n: int, dtype: Any) -> Iterable[Problem]:
    """Wigner's cat from the key to the pooled histogram: 100 GOE blocks of binomial order, padded cyclically.

    It is timed as a call of `simulate`, so the first call includes the compilation. The answer is the density
    μ f(x)(c + 1{F(x) < ρ}), c = ⌊1/μ⌋, ρ = 1/μ - c, whose distribution function is μ (c F + min(F, ρ)).
    """
    mixed = Mixed(_goe(n, dtype), jnp.asarray(_MIXTURE, dtype))
    edges = jnp.linspace(-3, 3, 121, dtype=dtype)
    padded = lambda key: mixed.periodic_eigenvalues(key, "ascending")

    def run(key: Array) -> HistogramResult:
        return simulate(padded, key, _MATRICES, reduce=Histogram(edges), progress=False)

    def check(result: HistogramResult) -> None:
        expect(result.total == n * _MATRICES, f"{result.total} levels, expected {n * _MATRICES}")
        below = (result.underflow + np.cumsum(result.counts)) / result.total
        f = _semicircle_cdf(np.asarray(result.edges[1:], np.float64))
        copies = math.floor(1 / _MIXTURE)
        law = _MIXTURE * (copies * f + np.minimum(f, 1 / _MIXTURE - copies))
        # Orders fluctuate by √(μ(1-μ)N); a finite matrix differs from its limit by O(1) levels.
        spread = (_MIXTURE * (1 - _MIXTURE) / (n * _MATRICES)) ** 0.5
        expect_close("law of the cat", below, law, 6 * spread + 2 / n)

    yield Problem(run, (jax.random.key(0),), check, n, jit=False)


def derivatives(n: int, dtype: Any) -> Iterable[Problem]:
    """Gradient (n×n) and Hessian (√n×√n) of Σ λ³, which is tr A³: 3A² and, for symmetric Y, Y ↦ 3(AY + YA)."""
    m = max(2, math.isqrt(n))
    a, small = (_goe(size, dtype).sample(jax.random.key(0)) for size in (n, m))
    cubes = lambda a: jnp.sum(eigvalsh(a) ** 3)
    # Close levels amplify rounding by 1/gap, in terms that cancel only in exact arithmetic.
    tolerance = math.sqrt(np.finfo(dtype).eps)

    def check_gradient(gradient: Float[Array, "n n"]) -> None:
        a64 = np.asarray(a, np.float64)
        expect_close("gradient of tr A³", gradient, 3 * a64 @ a64, tolerance)

    def check_hessian(hessian: Float[Array, "m m m m"]) -> None:
        a64, y = np.asarray(small, np.float64), np.random.default_rng(1).standard_normal((m, m))
        symmetric = (y + y.T) / 2
        got = np.einsum("ijkl,kl->ij", np.asarray(hessian, np.float64), y)
        expect_close("Hessian of tr A³", got, 3 * (a64 @ symmetric + symmetric @ a64), m * tolerance)

    yield Problem(jax.grad(cubes), (a,), check_gradient, n, "gradient")
    yield Problem(jax.hessian(cubes), (small,), check_hessian, m, "hessian")


def spectral_radii(count: int, dtype: Any) -> Iterable[Problem]:
    """Spectral radii of 3×3 matrices by a loop and by `vmap`, with and without `jit`; the answers are NumPy's."""
    matrices = jax.random.normal(jax.random.key(0), (count, 3, 3), dtype)
    over_all = {
        "loop": lambda stack: jnp.stack([spectral_radius(matrix) for matrix in stack]),
        "jitted loop": lambda stack: jax.lax.map(spectral_radius, stack),
        "vmap": jax.vmap(spectral_radius),
        "jitted vmap": jax.vmap(spectral_radius),
    }

    def check(radii: Float[Array, " m"]) -> None:
        expected = np.abs(np.linalg.eigvals(np.asarray(matrices, np.float64))).max(axis=1)
        # Rounding moves two merging eigenvalues by √eps.
        expect_close("spectral radius", radii, expected, 4 * math.sqrt(np.finfo(dtype).eps))

    for variant, fn in over_all.items():
        yield Problem(fn, (matrices,), check, count, variant, jit=variant.startswith("jitted"))
