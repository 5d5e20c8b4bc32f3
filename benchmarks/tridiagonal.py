"""The tridiagonal engine compared with other ways to do the same work, side by side in one run.

    python benchmarks/tridiagonal.py [--only NAME ...] [--quick] [--json [FILE]]

Every number is the median of several calls after a warm-up, or one call where a call takes many seconds, and every
ratio is that of two such numbers from this run. Each row checks its answer too: levels by Sturm counts in extended
precision (for a batch, of three matrices) or against LAPACK, histograms by the semicircle and by the plain loop,
variates by their variance. The exit status is 1 if an answer is wrong or a ratio falls short of its target by more than
the noise of a shared machine (a fifth).
"""

import argparse
import json
import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import scipy
import scipy.linalg

import rmtjax as rmt

sys.path.insert(0, str(Path(__file__).parent))
from cat_baseline import EDGES, plain_loop

RESULTS = Path(__file__).parent / "results"
FLOATS = (np.float64, np.float32)
FILE = RESULTS / "tridiagonal.json"


@dataclass
class Row:
    """One comparison: seconds of the library and of the reference, and how many times faster it should be."""

    name: str
    seconds: float
    reference: str
    reference_seconds: float
    target: float
    right: bool
    note: str = ""

    @property
    def ratio(self) -> float:
        """How many times faster the library is."""
        return self.reference_seconds / self.seconds


def median_seconds(fn: Callable, *args: object, repeats: int = 5) -> tuple[float, object]:
    result = jax.block_until_ready(fn(*args))
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = jax.block_until_ready(fn(*args))
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds)), result


def tridiagonal(n: int, dtype: type, batch: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Entries of the tridiagonal GOE."""
    rng, shape = np.random.default_rng(n), () if batch is None else (batch,)
    d = rng.standard_normal((*shape, n)) * np.sqrt(2 / n)
    e = np.sqrt(rng.chisquare(np.arange(n - 1, 0, -1), (*shape, n - 1)) / n)
    return d.astype(dtype), e.astype(dtype)


def within_four_eps(d: np.ndarray, e: np.ndarray, levels: np.ndarray) -> bool:
    """Whether every level is within 4 eps‖T‖ of its place, by Sturm counts in extended precision."""
    place, margin = np.arange(d.size), 4 * np.finfo(d.dtype).eps * float(np.abs(levels).max())
    wide = np.asarray(levels, np.longdouble)
    lower, upper = extended_counts(d, e, wide - margin), extended_counts(d, e, wide + margin)
    return bool((lower <= place).all() and (upper > place).all())


def extended_counts(d: np.ndarray, e: np.ndarray, x: np.ndarray) -> np.ndarray:
    below, q = np.zeros(x.size, int), np.ones(x.size, np.longdouble)
    squares = np.concatenate([[0], e.astype(np.longdouble) ** 2])
    for diagonal, square in zip(d.astype(np.longdouble), squares, strict=True):
        q = diagonal - x - square / q
        q[q == 0] = np.finfo(np.longdouble).tiny ** 0.5
        below += q < 0
    return below


def all_levels(quick: bool) -> Iterator[Row]:
    """All eigenvalues of one matrix and of a batch."""
    for n in (1000, 4000) if quick else (4000, 15_000):
        for dtype, target in zip(FLOATS, (2, 3), strict=True):
            d, e = tridiagonal(n, dtype)
            ours, levels = median_seconds(jax.jit(lambda d, e: rmt.SymTridiagonal(d, e).eigenvalues()), d, e)
            reference, _ = median_seconds(scipy.linalg.eigvalsh_tridiagonal, d, e, repeats=3)
            right = within_four_eps(d, e, np.asarray(levels))
            name = f"all levels, n = {n}, {dtype.__name__}"
            yield Row(name, ours, "scipy.linalg.eigvalsh_tridiagonal", reference, target, right)
    batch, n = (10, 300) if quick else (100, 1000)
    for dtype, target in zip(FLOATS, (2, 3), strict=True):
        d, e = tridiagonal(n, dtype, batch)
        ours, levels = median_seconds(jax.jit(lambda d, e: rmt.SymTridiagonal(d, e).eigenvalues()), d, e)
        loop = lambda d, e: [scipy.linalg.eigvalsh_tridiagonal(*matrix) for matrix in zip(d, e, strict=True)]
        reference, _ = median_seconds(loop, d, e, repeats=3)
        right = all(within_four_eps(d[i], e[i], np.asarray(levels)[i]) for i in (0, batch // 2, batch - 1))
        name = f"all levels, {batch} of n = {n}, {dtype.__name__}"
        yield Row(name, ours, "loop of scipy.linalg.eigvalsh_tridiagonal", reference, target, right)
    n = 1000 if quick else 4000
    for dtype in FLOATS:
        d, e = tridiagonal(n, dtype)
        ours, levels = median_seconds(jax.jit(lambda d, e: rmt.SymTridiagonal(d, e).eigenvalues()), d, e)
        theirs = jax.jit(lambda d, e: jax.scipy.linalg.eigh_tridiagonal(d, e, eigvals_only=True))
        reference, _ = median_seconds(theirs, d, e, repeats=1)
        right = within_four_eps(d, e, np.asarray(levels))
        name = f"all levels, n = {n}, {dtype.__name__}"
        yield Row(name, ours, "jax.scipy.linalg.eigh_tridiagonal", reference, 3, right)


def histogram_of(ensemble: rmt.GaussianBeta | rmt.GOE, edges: jax.Array) -> Callable:
    return jax.jit(lambda key: jnp.diff(ensemble.count_below(key, edges)))


def semicircle_counts(n: int, edges: np.ndarray) -> np.ndarray:
    return n * np.diff(semicircle_cdf(edges))


def semicircle_cdf(x: np.ndarray) -> np.ndarray:
    x = np.clip(np.asarray(x, float), -2, 2)
    return 0.5 + x * np.sqrt((2 - x) * (2 + x)) / (4 * np.pi) + np.arcsin(x / 2) / np.pi


def histograms(quick: bool) -> Iterator[Row]:
    """From a key to the exact histogram of a spectrum in 100 bins."""
    n, dense = (4000, 1000) if quick else (15_000, 4000)
    key, one = jax.random.key(0), jnp.ones((), jnp.float32)
    edges = jnp.linspace(-2.1, 2.1, 101, dtype=jnp.float32)
    ours, counts = median_seconds(histogram_of(rmt.GOE(n, one), edges), key, repeats=50)
    # Levels are rigid: a bin deviates from its mean by O(√log n) levels.
    right = int(counts.sum()) == n and float(np.abs(counts - semicircle_counts(n, np.asarray(edges))).max()) < 12
    sample = rmt.GOE(dense, one)
    by_matrix = jax.jit(lambda key: jnp.histogram(jnp.linalg.eigvalsh(sample.sample(key)), edges)[0])
    reference, _ = median_seconds(by_matrix, key, repeats=1)
    name = f"GOE({n}), key to 100-bin histogram"
    note = f"measured at n = {dense}, times (n/{dense})^3"
    yield Row(name, ours, "jnp.linalg.eigvalsh of a sample", reference * (n / dense) ** 3, 10_000, right, note)
    scipy_levels = scipy.linalg.eigvalsh_tridiagonal
    reference, _ = median_seconds(scipy_levels, *tridiagonal(n, np.float32), repeats=3)
    yield Row(name, ours, "scipy.linalg.eigvalsh_tridiagonal, float32", reference, 100, right)
    reference, _ = median_seconds(scipy_levels, *tridiagonal(n, np.float64), repeats=3)
    yield Row(name, ours, "scipy.linalg.eigvalsh_tridiagonal, float64", reference, 100, right)

    n = 10**5 if quick else 10**6
    rng, df = np.random.default_rng(0), np.arange(n, 0, -1)
    reference, _ = median_seconds(lambda: (rng.standard_normal(n), rng.chisquare(df)))
    for size in (n,) if quick else (n, 10 * n, 100 * n):
        ensemble = rmt.GaussianBeta(size, one)
        ours, counts = median_seconds(histogram_of(ensemble, edges), key, repeats=5 if size == n else 1)
        right = int(counts.sum()) == size
        right &= float(np.abs(counts - semicircle_counts(size, np.asarray(edges))).max()) < 12 + 2e-6 * size
        name = f"GaussianBeta({size:.0e}, 1), key to 100-bin histogram"
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        note = f"numpy's time times {size // n}; peak memory of the process so far {peak:.1f} GiB"
        yield Row(name, ours, "numpy draws the normals and chi-squares", reference * (size // n), 1 / 6, right, note)


def cat(quick: bool) -> Iterator[Row]:
    """Wigner's cat, 100 matrices of N = 1000, from the key to the pooled histogram."""
    size, matrices, mixture = (200, 20, 0.9) if quick else (1000, 100, 0.9)
    one = jnp.ones((), jnp.float32)
    mixed, edges = rmt.Mixed(rmt.GOE(size, one), mixture * one), jnp.asarray(EDGES, jnp.float32)
    keys = lambda key: jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(matrices))
    counted = lambda key: jnp.diff(mixed.count_below(key, edges, "ascending"))
    solved = lambda key: jnp.histogram(mixed.periodic_eigenvalues(key, "ascending"), edges)[0]
    key = jax.random.key(0)
    with jax.enable_x64(False):
        loop = plain_loop(size, matrices, mixture)
        reference, expected = median_seconds(loop, key, repeats=1 if quick else 3)
    # N(x) at a fixed x varies with the order of a matrix, by less than √(size μ (1 - μ)) levels.
    tolerance = 5 * (2 * matrices * size * mixture * (1 - mixture)) ** 0.5
    pooled = {}
    for name, one_draw, target in (("by counts", counted, 500), ("by eigenvalues", solved, 30)):
        all_draws = jax.jit(lambda key, one_draw=one_draw: jax.vmap(one_draw)(keys(key)).sum(axis=0))
        ours, pooled[name] = median_seconds(all_draws, key, repeats=5)
        right = int(pooled[name].sum()) == size * matrices
        right &= int(np.abs(np.cumsum(pooled[name] - pooled["by counts"])).max()) <= matrices // 20
        right &= float(np.abs(np.cumsum(pooled[name] - expected)).max()) <= tolerance
        title = f"cat, N = {size}, {matrices} matrices, {name}"
        yield Row(title, ours, "plain loop over matrices, warm", reference, target, right)


def variates(quick: bool) -> Iterator[Row]:
    """Chi variates of mixed degrees of freedom."""
    n = 10**5 if quick else 10**6
    for dtype in FLOATS:
        df = jnp.asarray(np.geomspace(1, 1e6, n), dtype)
        key = jax.random.key(0)
        ours, draws = median_seconds(jax.jit(rmt.random.chi), key, df)
        theirs = jax.jit(lambda key, df: jnp.sqrt(jax.random.chisquare(key, df, dtype=df.dtype)))
        reference, _ = median_seconds(theirs, key, df, repeats=2)
        # A chi-square of k degrees is (x² - k)/√(2k) of variance 1: its mean square over n draws is 1 ± √(15/n).
        square = float(jnp.mean((draws.astype(float) ** 2 - df) ** 2 / (2 * df)))
        right = abs(square - 1) < 6 * (15 / n) ** 0.5 + (0.01 if dtype is np.float32 else 0)
        yield Row(f"chi, {n:.0e} draws, {dtype.__name__}", ours, "sqrt(jax.random.chisquare)", reference, 4, right)


def dense(quick: bool) -> Iterator[Row]:
    """Eigenvalues of dense symmetric matrices."""
    cases = ((16, 100), (2, 300)) if quick else ((64, 100), (8, 500), (1, 1000), (1, 2000))
    for batch, n in cases:
        for dtype in FLOATS:
            rng = np.random.default_rng(n)
            a = rng.standard_normal((batch, n, n)).astype(dtype)
            a = (a + a.swapaxes(1, 2)) / dtype((2 * n) ** 0.5)
            repeats = 3 if n > 500 else 9
            ours, levels = median_seconds(jax.jit(rmt.eigvalsh), a, repeats=repeats)
            theirs, _ = median_seconds(jax.jit(jnp.linalg.eigvalsh), a, repeats=repeats)
            by_numpy, exact = median_seconds(np.linalg.eigvalsh, a, repeats=repeats)
            by_scipy, _ = median_seconds(lambda a: [scipy.linalg.eigvalsh(m) for m in a], a, repeats=repeats)
            right = float(np.abs(levels - exact).max()) < n * np.finfo(dtype).eps
            best = "numpy" if by_numpy < by_scipy else "scipy"
            name = f"eigvalsh, {batch} of n = {n}, {dtype.__name__}"
            yield Row(name, ours, "jnp.linalg.eigvalsh", theirs, 2, right)
            yield Row(name, ours, f"{best}.linalg.eigvalsh, the better of two", min(by_numpy, by_scipy), 1, right)


SECTIONS = {f.__name__: f for f in (all_levels, histograms, cat, variates, dense)}


def main() -> int:
    parser = argparse.ArgumentParser(description="The tridiagonal engine against other routes.")
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), default=list(SECTIONS), metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that everything runs")
    parser.add_argument("--json", type=Path, nargs="?", const=FILE, metavar="FILE")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    machine = {
        "date": time.strftime("%Y-%m-%d"),
        "device": f"{jax.local_device_count()} {jax.devices()[0].device_kind}, {os.cpu_count()} CPU cores",
        "cpu": cpu_name(),
        "versions": {"jax": jax.__version__, "numpy": np.__version__, "scipy": scipy.__version__},
    }
    print(f"{machine['device']}, {machine['cpu']}; {machine['versions']}")
    rows = []
    for section in options.only:
        for row in SECTIONS[section](options.quick):
            rows.append(row)
            verdict = "" if row.right else "  WRONG ANSWER"
            print(f"{row.name:48}{row.seconds:11.5f} s {row.ratio:9.3g} x {row.reference}", end="")
            print(f" (target {row.target:.3g}){verdict}", flush=True)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        record = machine | {"rows": [asdict(row) | {"ratio": row.ratio, "right": bool(row.right)} for row in rows]}
        options.json.write_text(json.dumps(record, indent=2) + "\n")
    fast = options.quick or all(row.ratio >= 0.8 * row.target for row in rows)
    return 0 if fast and all(row.right for row in rows) else 1


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


if __name__ == "__main__":
    sys.exit(main())
