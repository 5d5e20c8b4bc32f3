"""Cases from random-matrix theory: spectra of large matrices, Wigner's cat, derivatives, spectral radii."""

import math
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax.benchmark._measure import Work
from rmtjax.benchmark._registry import Problem, expect, expect_close, register, rounding
from rmtjax.ensembles import GOE, Mixed
from rmtjax.linalg import eigvalsh, spectral_radius
from rmtjax.simulation import Histogram, HistogramResult, simulate


def _goe(n: int, dtype: Any) -> GOE:
    return GOE(n, scale=jnp.ones((), dtype))


def _semicircle_cdf(x: np.ndarray) -> np.ndarray:
    """Distribution function of the semicircle on [-2, 2], in closed form."""
    x = np.clip(x, -2, 2)
    return 0.5 + x * np.sqrt(4 - x**2) / (4 * np.pi) + np.arcsin(x / 2) / np.pi


@register(
    "wigner",
    cpu_size=1000,
    full_cpu_size=2000,
    accelerator_size=8000,
    reference="25.65 s at n = 15,000 on an RTX 4080",
)
def wigner(n: int, dtype: Any) -> Iterable[Problem]:
    """The spectrum of one dense GOE matrix, from its key.

    The answer must have the traces of the matrix and its square, and follow the semicircle.
    """
    goe, key = _goe(n, dtype), jax.random.key(0)

    def check(result: Array) -> None:
        h, levels = np.asarray(goe.sample(key), np.float64), np.asarray(result, np.float64)
        error = 16 * rounding(dtype) * n  # n levels, each known to about eps times the norm
        expect(bool(np.all(np.diff(levels) >= 0)), "levels do not ascend")
        expect_close("sum of the levels", levels.sum(), np.trace(h), error)
        expect_close("sum of their squares", (levels**2).sum(), (h**2).sum(), 2 * error)
        # Levels are rigid: their ranks follow the law to O(log n), those of independent points only to O(√n).
        expected = (np.arange(n) + 0.5) / n
        expect_close("semicircle", _semicircle_cdf(levels), expected, (2 + 2 * math.log(n)) / n)

    def work(_: Array) -> Work:
        return Work(4 / 3 * n**3, "4n³/3 for the tridiagonal form (Golub and Van Loan 2013, section 8.3.1)")

    yield Problem("", n, lambda key: eigvalsh(goe.sample(key)), (key,), check, work)


_MATRICES, _MIXTURE = 100, 0.9  # number of matrices, and μ


@register(
    "cat",
    cpu_size=200,
    full_cpu_size=1000,
    accelerator_size=1000,
    reference="24.37 s at N = 1000, 100 matrices, μ = 0.9",
)
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

    yield Problem("", n, run, (jax.random.key(0),), check, jit=False)


@register("derivatives", cpu_size=100, full_cpu_size=400, accelerator_size=1000)
def derivatives(n: int, dtype: Any) -> Iterable[Problem]:
    """Gradient (n×n) and Hessian (√n×√n) of Σ λ³, which is tr A³: the answers are polynomials in A."""
    yield derivative_problem("gradient", n, dtype)
    yield derivative_problem("hessian", max(2, math.isqrt(n)), dtype)


def derivative_problem(variant: str, n: int, dtype: Any) -> Problem:
    """The gradient 3A², or the Hessian Y ↦ 3(AY + YA), Y symmetric, of the sum of cubes of the levels."""
    a = _goe(n, dtype).sample(jax.random.key(0))
    cubes = lambda a: jnp.sum(eigvalsh(a) ** 3)
    # Close levels amplify rounding by 1/gap, in terms that cancel only in exact arithmetic.
    tolerance = math.sqrt(rounding(dtype))

    def check_gradient(gradient: Float[Array, "n n"]) -> None:
        a64 = np.asarray(a, np.float64)
        expect_close("gradient of tr A³", gradient, 3 * a64 @ a64, tolerance)

    def check_hessian(hessian: Float[Array, "n n n n"]) -> None:
        a64, y = np.asarray(a, np.float64), np.random.default_rng(1).standard_normal((n, n))
        symmetric = (y + y.T) / 2
        got = np.einsum("ijkl,kl->ij", np.asarray(hessian, np.float64), y)
        expect_close("Hessian of tr A³", got, 3 * (a64 @ symmetric + symmetric @ a64), n * tolerance)

    if variant == "gradient":
        return Problem(variant, n, jax.grad(cubes), (a,), check_gradient)
    return Problem(variant, n, jax.hessian(cubes), (a,), check_hessian)


@register("spectral_radius", cpu_size=32, full_cpu_size=128, accelerator_size=128)
def spectral_radii(count: int, dtype: Any) -> Iterable[Problem]:
    """Spectral radii of `count` 3×3 matrices, in four ways; the answers are NumPy's.

    The ways are a Python loop over the matrices, one compiled loop, `vmap` operation by operation, and compiled `vmap`.
    """
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
        expect_close("spectral radius", radii, expected, 4 * math.sqrt(rounding(dtype)))

    for variant, fn in over_all.items():
        yield Problem(variant, count, fn, (matrices,), check, jit=variant.startswith("jitted"))
