"""Wigner's cat by a plain loop over matrices and by the library, side by side, from the key to the histogram.

    python benchmarks/cat_baseline.py [--size 1000] [--matrices 100] [--mixture 0.9] [--json [FILE]]

The plain loop is what one writes without the library: for each matrix draw the order n ~ Binomial(N, μ),
build the n×n block, call `jnp.linalg.eigh`, repeat the ascending spectrum cyclically up to N, and count.
JAX compiles it once for each order that turns up; NumPy does the padding and counting, and compiles nothing.

For the cold time everything that JAX has compiled is dropped first, and no persistent compilation cache is used; the
warm time is for the same key again, with every order compiled. The routes run in both orders, so that neither always
comes first; each number is the faster of two runs.
"""

import argparse
import json
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import rmtjax as rmt

EDGES = np.linspace(-3, 3, 121)
RESULTS = Path(__file__).parent / "results"
COMPILE_EVENT = "/jax/core/compile/backend_compile_duration"
Route = Callable[[jax.Array], np.ndarray]


def plain_loop(size: int, matrices: int, mixture: float) -> Route:
    def counts(key: jax.Array) -> np.ndarray:
        pooled = np.zeros(EDGES.size - 1, np.int64)
        for i in range(matrices):
            key_order, key_block = jax.random.split(jax.random.fold_in(key, i))
            n = max(2, int(jax.random.binomial(key_order, size, mixture)))
            g = jax.random.normal(key_block, (n, n))
            levels, _ = jnp.linalg.eigh((g + g.T) / math.sqrt(2 * n))
            pooled += np.histogram(np.resize(levels, size), EDGES)[0]
        return pooled

    return counts


def library(size: int, matrices: int, mixture: float) -> Route:
    mixed = rmt.Mixed(rmt.GOE(size), mixture)
    padded = lambda key: mixed.eigenvalues(key).periodic("ascending")

    def counts(key: jax.Array) -> np.ndarray:
        return rmt.simulate(padded, key, matrices, reduce=rmt.Histogram(EDGES), progress=False).counts

    return counts


def compare(routes: dict[str, Route]) -> tuple[dict[str, dict[str, float]], dict[str, np.ndarray]]:
    """The cold and warm seconds and the number of compilations of each route, and the histograms."""
    events: Counter[str] = Counter()
    jax.monitoring.register_event_duration_secs_listener(lambda event, _, **__: events.update([event]))
    key = jax.random.key(0)
    jax.block_until_ready(jax.random.normal(key))  # starts the backend, which counts for neither route
    seconds, pooled = {name: {"cold": math.inf, "warm": math.inf} for name in routes}, {}
    for names in (list(routes), list(reversed(routes))):
        for name in names:
            jax.clear_caches()
            events.clear()
            cold, pooled[name] = timed(routes[name], key)
            compiled = events[COMPILE_EVENT]
            warm, _ = timed(routes[name], key)
            of = seconds[name]
            of |= {"cold": min(of["cold"], cold), "warm": min(of["warm"], warm), "compiled": compiled}
    return seconds, pooled


def timed(route: Route, key: jax.Array) -> tuple[float, np.ndarray]:
    start = time.perf_counter()
    pooled = route(key)
    return time.perf_counter() - start, pooled


def largest_difference(pooled: dict[str, np.ndarray]) -> float:
    """The Kolmogorov distance of the two histograms."""
    first, second = (np.cumsum(counts) / counts.sum() for counts in pooled.values())
    return float(np.abs(first - second).max())


def main() -> int:
    parser = argparse.ArgumentParser(description="Wigner's cat: the library against a plain loop.")
    parser.add_argument("--size", type=int, default=1000, help="N, the largest order")
    parser.add_argument("--matrices", type=int, default=100)
    parser.add_argument("--mixture", type=float, default=0.9)
    parser.add_argument("--json", type=Path, nargs="?", const=RESULTS / "cat_baseline.json", metavar="FILE")
    options = parser.parse_args()
    jax.config.update("jax_enable_compilation_cache", False)

    size, matrices, mixture = case = options.size, options.matrices, options.mixture
    seconds, pooled = compare({"plain loop": plain_loop(*case), "library": library(*case)})
    ratios = {state: seconds["plain loop"][state] / seconds["library"][state] for state in ("cold", "warm")}
    device = f"{jax.local_device_count()} {jax.devices()[0].device_kind}, {os.cpu_count()} CPU cores"
    print(f"Wigner's cat, N = {size}, {matrices} matrices, μ = {mixture}; {device}; jax {jax.__version__}")
    print(f"{'':12}{'cold s':>10}{'warm s':>10}{'compilations':>15}")
    for name, of in seconds.items():
        print(f"{name:12}{of['cold']:10.2f}{of['warm']:10.2f}{of['compiled']:15d}")
    print(f"{'ratio':12}{ratios['cold']:10.2f}{ratios['warm']:10.2f}")

    difference = largest_difference(pooled)
    # Two mean orders, each with standard deviation √(μ(1-μ)/(N m)) relative to N, and some levels per matrix.
    allowed = 6 * math.sqrt(2 * mixture * (1 - mixture) / (size * matrices)) + 4 / size
    print(f"largest difference of the two distribution functions: {difference:.1e} (allowed {allowed:.1e})")
    if options.json is not None:
        record = {"size": size, "matrices": matrices, "mixture": mixture, "dtype": jnp.zeros(()).dtype.name}
        record |= {"device": device, "jax_version": jax.__version__}
        record |= {"seconds": seconds, "ratios": ratios, "difference": difference}
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(record, indent=2) + "\n")
    totals_agree = all(counts.sum() == size * matrices for counts in pooled.values())
    return 0 if totals_agree and difference <= allowed else 1


if __name__ == "__main__":
    sys.exit(main())
