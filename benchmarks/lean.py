"""What everyone computes: this library against NumPy, SciPy and scikit-learn, warm and in double precision.

    OPENBLAS_NUM_THREADS=1 python benchmarks/lean.py [--only haar]

Each row is checked against its rival where both compute the same numbers. Times are medians of calls in turns, after
one of each for warm-up. XLA may use all cores where NumPy, with one BLAS thread, uses one; the processor time beside
the elapsed time shows how much of a ratio comes from that, and what is left of it on a machine with other work. The
record is `benchmarks/results/lean.json`, where a run writes its own rows only.
"""

import os
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
import scipy.stats
import sklearn.covariance
from inference import circumstances, medians, recorded

import rmtjax as rmt

KEY = jax.random.key(0)
RNG = np.random.default_rng(0)


class Row(NamedTuple):
    """Two functions without arguments that do the same work, and whether they return the same numbers."""

    ours: Callable[[], Any]
    rival: Callable[[], Any]
    equal: bool = True


def gap_ratios() -> Row:
    """Ratios of 1000 spectra of 1000 levels."""
    levels = np.sort(RNG.normal(size=(1000, 1000)), axis=1)
    array = jnp.asarray(levels)

    def rival() -> np.ndarray:
        s = np.diff(levels)
        return np.minimum(s[:, 1:], s[:, :-1]) / np.maximum(s[:, 1:], s[:, :-1])

    return Row(lambda: rmt.statistics.gap_ratios(array).values, rival)


def gap_ratios_in_jit() -> Row:
    """Ratios of 200 spectra of 1000 levels, in the user's own program, against plain `jax.numpy`.

    Ours first reads all levels to see whether they ascend; without this pass wrong input would give wrong numbers.
    Written in plain `jax.numpy`, the check and the ratios take 1.3 times as long as ours.
    """
    levels = jnp.sort(jnp.asarray(RNG.normal(size=(200, 1000))), axis=1)

    @jax.jit
    def rival(levels: jax.Array) -> jax.Array:
        s = jnp.diff(levels)
        return jnp.minimum(s[:, 1:], s[:, :-1]) / jnp.maximum(s[:, 1:], s[:, :-1])

    ours = jax.jit(lambda levels: rmt.statistics.gap_ratios(levels).values)
    return Row(lambda: ours(levels), lambda: rival(levels))


def kolmogorov_smirnov() -> Row:
    """A test of 20,000 independent values against a law."""
    values = np.asarray(rmt.laws.Semicircle().sample(KEY, (20_000,)))
    ours = lambda: rmt.inference.kolmogorov_smirnov(values, rmt.laws.Semicircle(), calibration="independent").p_value
    return Row(ours, lambda: scipy.stats.kstest(values, scipy.stats.semicircular(scale=2).cdf).pvalue)


def haar() -> Row:
    """200 matrices of the unitary group of order 100."""
    keys = jax.random.split(KEY, 200)
    ours = jax.jit(jax.vmap(rmt.CUE(100).sample))
    return Row(lambda: ours(keys), lambda: scipy.stats.unitary_group.rvs(100, 200, random_state=RNG), equal=False)


def _shrinkage(method: Any, estimator: Any, n: int, p: int) -> Row:
    data = RNG.normal(size=(n, p)) @ np.diag(np.linspace(1, 3, p))
    array = jnp.asarray(data)
    # They divide by n, as ours does where the mean is known.
    ours = lambda: rmt.inference.shrink_covariance(array, method=method, center=False)
    return Row(ours, lambda: estimator(assume_centered=True).fit(data).covariance_, equal=method != "oas")


def ledoit_wolf() -> Row:
    """The linear estimate of Ledoit and Wolf, 500 × 200."""
    return _shrinkage("ledoit-wolf", sklearn.covariance.LedoitWolf, 500, 200)


def ledoit_wolf_of_many() -> Row:
    """The linear estimate of Ledoit and Wolf, 2000 × 1000."""
    return _shrinkage("ledoit-wolf", sklearn.covariance.LedoitWolf, 2000, 1000)


def oas() -> Row:
    """The linear estimate for normal data, 500 × 200; scikit-learn leaves a term 2/p out."""
    return _shrinkage("oas", sklearn.covariance.OAS, 500, 200)


def goe_matrix() -> Row:
    """A dense GOE matrix of order 2000."""
    n = 2000
    ours = jax.jit(rmt.GOE(n).sample)

    def rival() -> np.ndarray:
        x = RNG.standard_normal((n, n))
        return (x + x.T) / (2 * n) ** 0.5

    return Row(lambda: ours(KEY), rival, equal=False)


def eigvalsh() -> Row:
    """Levels of 1000 symmetric matrices of order 20."""
    a = RNG.normal(size=(1000, 20, 20))
    a, array = a + a.swapaxes(1, 2), jnp.asarray(a + a.swapaxes(1, 2))
    return Row(lambda: rmt.eigvalsh(array), lambda: np.linalg.eigvalsh(a))


def sparse_density() -> Row:
    """The density of a sparse operator of order 10⁵ from 80 products of one vector, against a method of kernels."""
    n, depth = 100_000, 80
    i, j = RNG.integers(n, size=(2, 4 * n))
    graph = scipy.sparse.csr_matrix((np.ones(4 * n), (i, j)), shape=(n, n))
    graph = (graph + graph.T).tocoo()
    rows, columns, weights = (jnp.asarray(each) for each in (graph.row, graph.col, graph.data))
    scale = 1 / float(abs(graph).sum(axis=0).max())

    def product(v: jax.Array, rows: jax.Array, columns: jax.Array, weights: jax.Array) -> jax.Array:
        return jnp.zeros_like(v).at[rows].add(weights * v[columns])

    def ours() -> jax.Array:
        spectrum = rmt.inference.spectral_density_of(
            product, KEY, n, args=(rows, columns, weights), depth=depth, probes=1, orthogonal=False
        )
        return spectrum.nodes

    @jax.jit
    def rival(key: jax.Array, rows: jax.Array, columns: jax.Array, weights: jax.Array) -> jax.Array:
        v = jax.random.normal(key, (n,))

        def step(state: tuple, _: None) -> tuple:
            before, now = state
            later = 2 * scale * product(now, rows, columns, weights) - before
            return (now, later), v @ later

        first = scale * product(v, rows, columns, weights)
        return jax.lax.scan(step, (v, first), None, length=depth - 1)[1]

    return Row(ours, lambda: rival(KEY, rows, columns, weights), equal=False)


ROWS: dict[str, Callable[[], Row]] = {
    row.__name__: row
    for row in (
        gap_ratios, gap_ratios_in_jit, kolmogorov_smirnov, haar, ledoit_wolf, ledoit_wolf_of_many, oas, goe_matrix,
        eigvalsh, sparse_density,
    )
}  # fmt: skip


def measured(name: str, turns: int) -> dict[str, Any]:
    """A row, once it has been checked."""
    row = ROWS[name]()
    if row.equal:
        np.testing.assert_allclose(row.ours(), row.rival(), rtol=1e-6, atol=1e-9)
    elapsed, processor = (
        medians(turns, clock, ours=row.ours, rival=row.rival) for clock in (time.perf_counter, time.process_time)
    )
    return circumstances() | {
        "what": (ROWS[name].__doc__ or "").partition("\n")[0],
        "milliseconds": {who: round(1e3 * each, 3) for who, each in elapsed.items()},
        "rival / ours": round(elapsed["rival"] / elapsed["ours"], 2),
        "processor milliseconds": {who: round(1e3 * each, 3) for who, each in processor.items()},
        "rival / ours, processor": round(processor["rival"] / processor["ours"], 2),
        "BLAS threads": os.environ.get("OPENBLAS_NUM_THREADS", "all"),
        "versions": {name: version(name) for name in ("numpy", "scipy", "scikit-learn")},
    }


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    recorded("lean.json", __doc__, ROWS, measured, None)
