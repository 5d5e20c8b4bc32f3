"""The cases of `gpu.py`, by section: what is run, and what its answer must be.

Everything has two sizes: that of the table, for a GPU, and a small one to try the script on a CPU. Answers are held
against closed forms (levels of the free chain, the semicircle), Sturm counts in extended precision, published values,
and the same program on the CPU.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg

import rmtjax as rmt
from rmtjax.benchmark import _cases
from rmtjax.benchmark._cases import Problem, expect, expect_close
from rmtjax.linalg import _hermitian

sys.path.insert(0, str(Path(__file__).parent))
from tridiagonal import extended_counts, semicircle_cdf, semicircle_counts, tridiagonal

FLOATS = (np.float32, np.float64)
# F₂(-2), Bornemann (2010), On the numerical evaluation of Fredholm determinants, Math. Comp. 79, section 7.
TRACY_WIDOM_AT = (-2.0, 0.413224142505123)


@dataclass(frozen=True)
class Task:
    """One row of the table.

    Args:
        name: what is computed, and of which size.
        problem: the function, its arguments, and the check of its result, which may return (error, allowed error).
        dtype: of the numbers.
        repeats: timed calls after the first; 0 takes the first call alone, where a call takes many seconds.
        rows: rows times points of all sweeps, where there is one sweep; 0 otherwise.
        profile: whether to count launches and to look how long the device computes.
        x64: whether JAX's default types have 64 bits.
    """

    name: str
    problem: Problem
    dtype: str
    repeats: int = 5
    rows: int = 0
    profile: bool = False
    x64: bool = True


def _task(name: str, dtype: Any, fn: Callable, args: tuple, check: Callable, *, jit: bool = True, **more: Any) -> Task:
    problem = Problem(fn, args, check, jit=jit)
    return Task(name, problem, np.dtype(dtype).name, **more)


# Sturm sweeps


def counts(small: bool) -> Iterator[Task]:
    """128 counts in the bulk of the free chain, whose level j is 2 cos(jπ/(n+1)); each point is between two levels."""
    cases = [(n, None) for n in ((50, 300) if small else (1000, 15_000, 1_000_000))]
    cases.append((40, 3) if small else (1000, 1000))
    for n, batch in cases:
        # Near the edges a million levels are closer than float32 can tell; at |x| ≤ 1 they are not.
        number = np.linspace((n + 1) / 3, 2 * (n + 1) / 3, 128).astype(int)
        below = n - number
        for dtype in FLOATS:
            shape = () if batch is None else (batch,)
            points = jnp.asarray(2 * np.cos(np.pi * (number + 0.5) / (n + 1)), dtype)
            d, e = jnp.zeros((*shape, n), dtype), jnp.ones((*shape, n - 1), dtype)
            expected = np.broadcast_to(below, (*shape, 128))
            check = lambda got, expected=expected: expect_close("counts", got, expected, 0)
            name = f"128 counts, n = {n}" if batch is None else f"128 counts of each of {batch}, n = {n}"
            rows = n * 128 * (batch or 1)
            yield _task(name, dtype, _count, (d, e, points), check, rows=rows, profile=True)


def levels(small: bool) -> Iterator[Task]:
    """All levels of tridiagonal matrices of the GOE, and some of the middle of a chain of a million rows."""
    for n, batch in ((60, None), (40, 2)) if small else ((1000, None), (15_000, None), (1000, 100)):
        for dtype in FLOATS:
            d, e = tridiagonal(n, dtype, batch)
            name = f"all levels, n = {n}" if batch is None else f"all levels of {batch}, n = {n}"
            args = jnp.asarray(d), jnp.asarray(e)
            yield _task(name, dtype, _levels, args, partial(_certified, d, e), profile=True)
    n, some = (400, 5) if small else (1_000_000, 100)
    first = n // 2
    chain = jnp.zeros(n), jnp.ones(n - 1)
    expected = 2 * np.cos(np.pi * (n - np.arange(first, first + some)) / (n + 1))
    check = lambda got: expect_close("levels", got, expected, 8 * np.finfo(float).eps)
    fn = lambda d, e: rmt.SymTridiagonal(d, e).eigenvalues((first, first + some))
    yield _task(f"{some} levels in the middle, n = {n}", float, fn, chain, check, repeats=0)


def histograms(small: bool) -> Iterator[Task]:
    """From a key to the exact histogram of one spectrum, whose rows are drawn during the sweep and never stored."""
    one, edges, key = jnp.ones((), jnp.float32), jnp.linspace(-2.1, 2.1, 101, dtype=jnp.float32), jax.random.key(0)
    for n in (600,) if small else (15_000, 1_000_000):
        ensemble = rmt.GaussianBeta(n, one, one)
        expected = semicircle_counts(n, np.asarray(edges))
        # Levels are rigid, and the points are rounded to float32.
        check = lambda got, n=n, expected=expected: (
            expect_close("sum", got.sum(), n, 0) and expect_close("counts per bin", got, expected, 12 + 2e-6 * n)
        )
        fn = lambda key, ensemble=ensemble: jnp.diff(ensemble.count_below(key, edges))
        name, rows = f"key to histogram of 100 bins, n = {n}", n * edges.size
        yield _task(name, np.float32, fn, (key,), check, rows=rows, profile=True)


def simulate(small: bool) -> Iterator[Task]:
    """Counts of many draws by `simulate`, and by one compiled program on the same keys: the ratio is its overhead."""
    n, draws = (30, 6) if small else (1000, 2000)
    one, edges, key = jnp.ones((), jnp.float32), jnp.linspace(-2, 2, 101, dtype=jnp.float32), jax.random.key(0)
    ensemble = rmt.GOE(n, one)
    one_draw = lambda key: ensemble.count_below(key, edges)
    number = np.cumsum(semicircle_counts(n, np.asarray(edges)))

    def check(got: Any) -> tuple[float, float]:
        expect(bool((np.diff(got) >= 0).all()), "counts do not ascend")
        return expect_close("counts of each draw", got[:, 1:], np.broadcast_to(number, (draws, 100)), 12)

    keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(draws))
    whole = lambda key: rmt.simulate(one_draw, key, draws, progress=False)
    title, rows = f"counts of {draws} draws of GOE({n})", n * draws * edges.size
    yield _task(f"simulate, {title}", np.float32, whole, (key,), check, jit=False, rows=rows, profile=True)
    yield _task(f"one program, {title}", np.float32, jax.vmap(one_draw), (keys,), check, rows=rows, profile=True)


def _count(d: jax.Array, e: jax.Array, x: jax.Array) -> jax.Array:
    return rmt.SymTridiagonal(d, e).count_below(x)


def _levels(d: jax.Array, e: jax.Array) -> jax.Array:
    return rmt.SymTridiagonal(d, e).eigenvalues()


def _certified(d: np.ndarray, e: np.ndarray, levels: Any) -> tuple[float, float]:
    """Sturm counts in extended precision, 4 eps‖T‖ to both sides of 200 levels of each of up to three matrices."""
    d, e, levels = (np.atleast_2d(np.asarray(a)) for a in (d, e, levels))
    expect(levels.shape == d.shape, f"levels: shape {levels.shape}, expected {d.shape}")
    wrong = 0
    for i in sorted({0, len(d) // 2, len(d) - 1}):
        place = np.unique(np.linspace(0, d.shape[1] - 1, 200).astype(int))
        wide, margin = (
            levels[i, place].astype(np.longdouble),
            4 * np.finfo(d.dtype).eps * float(np.abs(levels[i]).max()),
        )
        lower, upper = extended_counts(d[i], e[i], wide - margin), extended_counts(d[i], e[i], wide + margin)
        wrong += int(np.sum((lower > place) | (upper <= place)))
    expect(wrong == 0, f"{wrong} levels are farther than 4 eps‖T‖ from their place")
    return 0.0, 0.0


# The classic cases, at their published sizes


def _classic(case: Callable, small_size: int, size: int, repeats: int, small: bool, **more: Any) -> Iterator[Task]:
    size = small_size if small else size
    with jax.enable_x64(False):
        problems = list(case(size, np.dtype(np.float32)))
    for problem in problems:
        yield Task(f"{case.__name__}, n = {size}", problem, "float32", repeats, x64=False, **more)


def goe(small: bool) -> Iterator[Task]:
    """The spectrum of a dense GOE matrix, directly and by its tridiagonal form; published at n = 15,000: 25.65 s."""
    (default,) = _classic(_cases.wigner, 60, 15_000, 0, small)
    yield default
    ensemble = rmt.GOE(60 if small else 15_000, jnp.ones((), jnp.float32))
    by_sweeps = lambda key: _hermitian._reduced_levels(ensemble.sample(key))
    problem = Problem(by_sweeps, default.problem.args, default.problem.check)
    yield Task(f"{default.name}, by reduction and sweeps", problem, "float32", 0, x64=False)


def cat(small: bool) -> Iterator[Task]:
    """Wigner's cat, 100 matrices of N = 1000 from the key to the pooled histogram; published on a GPU: 24.37 s."""
    return _classic(_cases.cat, 40, 1000, 3, small, profile=True)


def matmul(small: bool) -> Iterator[Task]:
    """A product of two matrices and its sum; published for n = 16,000 to 20,000: 46 to 48 TFLOP/s in float32."""
    return _classic(_cases.matmul, 128, 20_000, 3, small)


def sharded(small: bool) -> Iterator[Task]:
    """A product over all devices, in blocks."""
    return _classic(_cases.sharded_matmul, 128, 16_384, 3, small)


def recurrence(small: bool) -> Iterator[Task]:
    """100,000 products of a matrix and a vector in one loop."""
    return _classic(_cases.recurrence, 64, 2048, 3, small)


# Laws, and the same programs on the CPU


def laws(small: bool) -> Iterator[Task]:
    """Densities and distribution functions at a million points."""
    size = 1000 if small else 1_000_000
    for dtype in FLOATS:
        eps, one = float(np.finfo(dtype).eps), jnp.ones((), dtype)
        at = partial(jnp.linspace, num=size, dtype=dtype)
        x = at(-2, 2)
        exact = semicircle_cdf(x)
        semicircle = rmt.laws.Semicircle(2 * one)
        check = lambda got, exact=exact, eps=eps: expect_close("closed form", got, exact, 8 * eps)
        yield _task(f"Semicircle.cdf, {size} points", dtype, semicircle.cdf, (x,), check)
        x = at(0.1, 2.9)
        r = np.asarray(x, float)
        lower, upper = (1 - 0.5**0.5) ** 2, (1 + 0.5**0.5) ** 2
        exact = np.sqrt(np.maximum((upper - r) * (r - lower), 0)) / (np.pi * r)
        # Next to an edge the root turns an error eps into √eps.
        check = lambda got, exact=exact, eps=eps: expect_close("closed form", got, exact, 4 * eps**0.5)
        yield _task(f"MarchenkoPastur.pdf, {size} points", dtype, rmt.laws.MarchenkoPastur(one / 2).pdf, (x,), check)
        tracy_widom, (place, value) = rmt.laws.TracyWidom(2), TRACY_WIDOM_AT
        x = at(-6, 4).at[0].set(place)
        check = lambda got, eps=eps, value=value: expect_close("F₂(-2)", got[0], value, 16 * eps)
        yield _task(f"TracyWidom(2).cdf, {size} points", dtype, tracy_widom.cdf, (x,), check)
        p = at(0.001, 0.999)
        check = lambda got, p=p, eps=eps, law=tracy_widom: expect_close("cdf(ppf(p))", law.cdf(got), p, 64 * eps)
        yield _task(f"TracyWidom(2).ppf, {size} points", dtype, tracy_widom.ppf, (p,), check)


def agreement(small: bool) -> Iterator[Task]:
    """The same function of the same numbers on the default device and on the CPU."""
    n, cpu = 40 if small else 200, jax.local_devices(backend="cpu")[0]
    for dtype in FLOATS:
        eps, rng, one = float(np.finfo(dtype).eps), np.random.default_rng(0), jnp.ones((), dtype)
        a = rng.standard_normal((n, n))
        a = jnp.asarray((a + a.T) / (2 * n) ** 0.5, dtype)
        d, e = map(jnp.asarray, tridiagonal(n, dtype))
        key, x = jax.random.key(0), jnp.linspace(-2.5, 2.5, 301, dtype=dtype)
        above = jax.lax.complex(x, jnp.full_like(x, 0.01))
        gaps = np.convolve(scipy.linalg.eigvalsh_tridiagonal(*tridiagonal(n, float)), [1, 1]) / 2
        gaps = jnp.asarray(gaps[1:-1], dtype)  # a count is exact where no level is near
        inside = jnp.linspace(0.01, 0.99, 301, dtype=dtype)
        cases = {
            "random bits": (lambda key: jax.random.bits(key, (n,)), (key,), 0),
            f"GOE({n}).sample": (rmt.GOE(n, one).sample, (key,), 16 * eps),
            f"eigvalsh, n = {n}": (rmt.eigvalsh, (a,), n * eps),
            # 3A², for a norm of 2; its eigenvectors are known to a few n eps.
            "gradient of the sum of its cubes": (jax.grad(lambda a: jnp.sum(rmt.eigvalsh(a) ** 3)), (a,), 48 * n * eps),
            f"tridiagonal levels, n = {n}": (_levels, (d, e), 16 * eps),
            "tridiagonal counts": (_count, (d, e, gaps), 0),
            "Semicircle.stieltjes": (rmt.laws.Semicircle(2 * one).stieltjes, (above,), 64 * eps),
            "MarchenkoPastur.ppf": (rmt.laws.MarchenkoPastur(one / 2).ppf, (inside,), 256 * eps),
            "Spacing(2).pdf": (rmt.laws.Spacing(2).pdf, (3 * inside,), 64 * eps),
        }
        for name, (fn, args, allowed) in cases.items():
            yield _task(name, dtype, fn, args, partial(_as_on, cpu, fn, args, allowed), repeats=1)


def _as_on(device: Any, fn: Callable, args: tuple, allowed: float, got: Any) -> tuple[float, float]:
    with jax.default_device(device):
        expected = jax.jit(lambda *args: fn(*args))(*jax.device_put(args, device))
    if jnp.iscomplexobj(got):
        got, expected = (np.stack([np.real(a), np.imag(a)]) for a in (got, expected))
    return expect_close("difference from the CPU", got, expected, allowed)


# What may be cut off stands last.
SECTIONS: dict[str, Callable[[bool], Iterator[Task]]] = {
    "agreement": agreement,
    "matmul": matmul,
    "goe": goe,
    "cat": cat,
    "recurrence": recurrence,
    "sharded": sharded,
    "counts": counts,
    "levels": levels,
    "histograms": histograms,
    "simulate": simulate,
    "laws": laws,
}
