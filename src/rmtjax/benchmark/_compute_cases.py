"""Cases that show what the device and the compiler do: products, a sharded product, loops."""

import math
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from jaxtyping import Array, Float

from rmtjax.benchmark._measure import Work
from rmtjax.benchmark._registry import Problem, device_grid, expect, expect_close, register, rounding
from rmtjax.linalg import sharded_product

# Products of float32 are computed in float32: the default would let a GPU round the factors to 10 bits.
_PRECISION = jax.lax.Precision.HIGHEST
_PRODUCT = "2n³, one multiplication and one addition per term"


def _normal(seed: int, shape: tuple[int, ...], dtype: Any) -> Array:
    return jax.random.normal(jax.random.key(seed), shape, dtype)


@register(
    "matmul",
    cpu_size=2048,
    full_cpu_size=4096,
    accelerator_size=16_384,
    reference="46 to 48 TFLOP/s at n = 16,000 to 20,000 in float32 on an RTX 4080",
)
def matmul(n: int, dtype: Any) -> Iterable[Problem]:
    """C = AB and the sum of its entries, in one compiled function; the answer is (1ᵀA)(B1)."""
    a, b = _normal(0, (n, n), dtype), _normal(1, (n, n), dtype)

    def check(total: Array) -> None:
        columns, rows = np.asarray(a, np.float64).sum(axis=0), np.asarray(b, np.float64).sum(axis=1)
        # The sum and its partial sums are of size n^1.5; the worst order of addition loses n eps of that.
        expect_close("sum of AB", total, columns @ rows, 4 * rounding(dtype) * n * n**1.5)

    def work(_: Array) -> Work:
        return Work(2 * n**3, f"{_PRODUCT}; A and B are read once", 2 * n**2 * dtype.itemsize)

    yield Problem("", n, lambda a, b: jnp.sum(jnp.matmul(a, b, precision=_PRECISION)), (a, b), check, work)


@register("sharded_matmul", cpu_size=2048, full_cpu_size=4096, accelerator_size=16_384)
def sharded_matmul(n: int, dtype: Any) -> Iterable[Problem]:
    """C = AB by `linalg.sharded_product` over a mesh x×y of all devices; the answer is compared with A(Bv).

    Each device multiplies an (n/x)×(n/y) block by an (n/y)×n block. n is rounded up to a multiple of the device count.
    """
    devices = jax.devices()
    n = math.ceil(n / len(devices)) * len(devices)
    mesh = jax.make_mesh(device_grid(len(devices)), ("x", "y"), axis_types=(AxisType.Auto, AxisType.Auto))
    over_both, over_y = PartitionSpec("x", "y"), PartitionSpec("y", None)
    whole_a, whole_b = _normal(0, (n, n), dtype), _normal(1, (n, n), dtype)
    a = jax.device_put(whole_a, NamedSharding(mesh, over_both))
    b = jax.device_put(whole_b, NamedSharding(mesh, over_y))

    def product(a: Array, b: Array) -> Array:
        return sharded_product(a, b, mesh)

    def check(c: Array) -> None:
        # Freivalds' test: the product with a random vector shows a wrong entry, with n² operations instead of n³.
        v = np.random.default_rng(2).standard_normal(n)
        expected = np.asarray(whole_a, np.float64) @ (np.asarray(whole_b, np.float64) @ v)
        expect_close("ABv", np.asarray(c, np.float64) @ v, expected, 64 * rounding(dtype) * n**1.5)

    def work(_: Array) -> Work:
        return Work(2 * n**3, _PRODUCT)

    yield Problem("", n, product, (a, b), check, work)


_FEEDBACK = 0.25  # α of the recurrence
_CPU_STEPS, _ACCELERATOR_STEPS = 1000, 100_000


@register("recurrence", cpu_size=1024, full_cpu_size=2048, accelerator_size=2048)
def recurrence(n: int, dtype: Any) -> Iterable[Problem]:
    """Iterate x ← tanh(Wx + b) + αx in one compiled loop; the answer is the same loop in float64 NumPy.

    W has independent entries of variance 1/(16n) and therefore a norm near 1/2 (twice the standard deviation
    times √n); with α = 1/4 a step contracts distances by 3/4, so rounding errors do not accumulate.
    """
    steps = _CPU_STEPS if jax.default_backend() == "cpu" else _ACCELERATOR_STEPS
    w, b, x = _normal(0, (n, n), dtype) / (4 * n**0.5), _normal(1, (n,), dtype), _normal(2, (n,), dtype)
    yield recurrence_problem(w, b, x, steps)


def recurrence_problem(w: Float[Array, "n n"], b: Float[Array, " n"], x: Float[Array, " n"], steps: int) -> Problem:
    """The recurrence for a given number of steps."""
    n, dtype = x.size, w.dtype

    def loop(w: Array, b: Array, x: Array) -> Array:
        step = lambda _, x: jnp.tanh(jnp.matmul(w, x, precision=_PRECISION) + b) + _FEEDBACK * x
        return jax.lax.fori_loop(0, steps, step, x)

    def check(result: Array) -> None:
        w64, b64, y = (np.asarray(array, np.float64) for array in (w, b, x))
        for _ in range(min(steps, 500)):  # (3/4)^500 = 1e-63: by then the fixed point is reached
            y = np.tanh(w64 @ y + b64) + _FEEDBACK * y
        expect_close(f"x after {steps} steps", result, y, 64 * rounding(dtype) * n**0.5)

    def work(_: Array) -> Work:
        source = "2n² per step for Wx, which also reads the n² entries of W"
        return Work(2 * n**2 * steps, source, n**2 * dtype.itemsize * steps)

    return Problem("", n, loop, (w, b, x), check, work)


_SPIKE = 3.0  # θ of the spiked Wigner matrix


@register("while", cpu_size=2048, full_cpu_size=4096, accelerator_size=8192)
def power_iteration(n: int, dtype: Any) -> Iterable[Problem]:
    """Power iteration on a spiked Wigner matrix, stopped on the device by its residual.

    A = θuuᵀ + H with a GOE matrix H of spectrum [-2, 2] has one outlier, at θ + 1/θ as n → ∞ (Féral and Péché
    2007; Benaych-Georges and Nadakuditi 2011, section 3.1).
    """
    g, u = _normal(0, (n, n), dtype), jnp.full(n, n**-0.5, dtype)
    a = (g + g.T) / (2 * n) ** 0.5 + _SPIKE * u[:, None] * u[None, :]
    tolerance = 32 * rounding(dtype) * n**0.5

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

    def check(result: tuple[Array, Array, Array]) -> None:
        value, v, count = float(result[0]), np.asarray(result[1], np.float64), int(result[2])
        distance = np.linalg.norm(np.asarray(a, np.float64) @ v - value * v)
        expect(1 < count < 1000, f"stopped after {count} products")
        expect_close("norm of the vector", np.linalg.norm(v), 1.0, tolerance)
        expect(distance <= 2 * tolerance, f"residual {distance:.3g}, tolerance {2 * tolerance:.3g}")
        # The outlier fluctuates with standard deviation sqrt(2(1 - 1/θ²)/n).
        expect_close("outlier", value, _SPIKE + 1 / _SPIKE, 6 * (2 * (1 - _SPIKE**-2) / n) ** 0.5 + 4 / n)

    def work(result: tuple[Array, Array, Array]) -> Work:
        count = int(result[2])
        return Work(2 * n**2 * count, f"2n² for each of {count} products", n**2 * dtype.itemsize * count)

    yield Problem("", n, iterate, (a,), check, work)
