"""Statistics of 200 spectra of 1000 levels: against NumPy, and against other packages where they are installed.

    python benchmarks/spectral_statistics.py

`pip install --no-deps beta-ensembles==1.1.0 empyricalRMT==1.1.1` with numba brings the others: what they compute is
checked, as far as it is the same. Times are medians of several turns after warm-up; ratios are what counts on a machine
with other work. First calls are those of fresh processes with empty caches. The record is
`benchmarks/results/spectral_statistics.json`.
"""

import argparse
import importlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
import types
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import rmtjax as rmt

SAMPLES, N = 200, 1000
LENGTHS = np.linspace(0.5, 50, 50)
TIMES = np.linspace(0.002, 2, 1000)
EDGES = np.linspace(0, 10, 51)


def unfolded(levels: jax.Array) -> rmt.Spectrum:
    return rmt.statistics.unfold(levels, rmt.laws.Semicircle(2.0))


def short_range(levels: jax.Array) -> tuple:
    """Unfolding, spacings and ratios."""
    return rmt.statistics.spacings(unfolded(levels)), rmt.statistics.gap_ratios(levels)


def long_range(levels: jax.Array) -> tuple:
    """Number variance and rigidity."""
    return rmt.statistics.number_variance(levels, LENGTHS), rmt.statistics.rigidity(levels, LENGTHS)


# Name, what is called, and on what: raw levels of GOE matrices, or levels of mean spacing 1.
CASES: dict[str, tuple[Callable, str]] = {
    "unfold, spacings, gap_ratios": (short_range, "raw"),
    "number_variance, rigidity, 50 lengths": (long_range, "flat"),
    "form_factor, 1000 times": (lambda x: rmt.statistics.form_factor(x, TIMES), "flat"),
    "form_factor, 1000 times on a logarithmic axis": (
        lambda x: rmt.statistics.form_factor(x, np.geomspace(0.002, 2, 1000)),
        "flat",
    ),
    "pair_correlation, 50 bins": (lambda x: rmt.statistics.pair_correlation(x, EDGES), "flat"),
    "power_spectrum, 500 frequencies": (
        lambda x: rmt.statistics.power_spectrum(x, np.pi * np.arange(1, 501) / 500.5),
        "flat",
    ),
}


# Each statistic by itself, for what its first call costs.
SINGLE: dict[str, tuple[Callable, str]] = {
    "unfold": (unfolded, "raw"),
    "unfold_polynomial": (lambda x: rmt.statistics.unfold_polynomial(x, 9), "raw"),
    "polynomial_degree": (lambda x: rmt.statistics.polynomial_degree(x, range(1, 10)), "raw"),
    "unfold_kernel": (lambda x: rmt.statistics.unfold_kernel(x[:20], 0.1), "raw"),
    "unfold_local": (lambda x: rmt.statistics.unfold_local(x, 5), "raw"),
    "spacings": (rmt.statistics.spacings, "flat"),
    "gap_ratios": (rmt.statistics.gap_ratios, "raw"),
    "complex_spacing_ratios": (lambda x: rmt.statistics.complex_spacing_ratios(x[:20] + 1j * x[20:40]), "raw"),
    "level_repulsion": (lambda x: rmt.statistics.level_repulsion(x, 0.3), "flat"),
    "number_variance": (lambda x: rmt.statistics.number_variance(x, LENGTHS), "flat"),
    "rigidity": (lambda x: rmt.statistics.rigidity(x, LENGTHS), "flat"),
    "number_probabilities": (lambda x: rmt.statistics.number_probabilities(x, LENGTHS, max_count=3), "flat"),
    "level_density": (lambda x: rmt.statistics.level_density(x, EDGES / 5 - 1), "raw"),
    "spectral_ergodicity": (lambda x: rmt.statistics.spectral_ergodicity(x, EDGES / 5 - 1), "raw"),
    "linear_statistic": (lambda x: rmt.statistics.linear_statistic(x, jnp.cosh), "raw"),
    "over_samples": (
        lambda x: rmt.statistics.over_samples(lambda x: x, (x[:, 0], x[:, 1]), combine=lambda mean: mean[0] / mean[1]),
        "raw",
    ),
} | {name.split(",")[0]: case for name, case in list(CASES.items())[2:] if "axis" not in name}


def exact_numbers(levels: np.ndarray) -> np.ndarray:
    """Number variance and rigidity of one spectrum in NumPy, exactly, by prefix sums between sorted events."""
    x, zero = levels - levels[0], np.zeros(1)
    sums = [np.concatenate([zero, np.cumsum(v)]) for v in (x, x**2, np.arange(x.size) * x)]
    nodes, weights = np.array([0.5 - 0.15**0.5, 0.5, 0.5 + 0.15**0.5]), np.array([5, 8, 5]) / 18
    result = []
    for length in LENGTHS:
        last = x[-1] - length
        events = np.sort(np.concatenate([x, x - length]))
        events = np.concatenate([zero, events[(events > 0) & (events < last)], [last]])
        steps = np.diff(events)
        positions = events[:-1, None] + steps[:, None] * nodes
        low, high = (np.searchsorted(x, positions[:, 1] + shift, "right") for shift in (0, length))
        count, centre, half = (high - low)[:, None], positions + length / 2, length / 2
        one, two, three = ((s[high] - s[low])[:, None] for s in sums)
        first = one - count * centre
        second = two - 2 * centre * one + count * centre**2
        ranked = three - low[:, None] * one - centre * count * (count - 1) / 2
        f0, f1, f2 = count * half - first, (count * half**2 - second) / 2, count**2 * half - 2 * ranked - first
        deviation = (f2 - f0**2 / length - 12 * f1**2 / length**3) / length
        variance = (steps * (count[:, 0] - length) ** 2).sum() / last
        result.append((variance, (steps * (deviation @ weights)).sum() / last))
    return np.array(result).T


def sampled_numbers(levels: np.ndarray, windows: int = 1000) -> np.ndarray:
    """The same at sampled windows, as it is usually written: a line through the staircase on a grid in each."""
    result = []
    for length in LENGTHS:
        starts = np.linspace(levels[0], levels[-1] - length, windows)
        count = np.searchsorted(levels, starts + length, "right") - np.searchsorted(levels, starts, "right")
        grid = np.linspace(-0.5, 0.5, 101)
        staircase = np.searchsorted(levels, starts[:, None] + length * (grid + 0.5), "right")
        line = np.stack([np.ones_like(grid), grid])
        fit = np.linalg.lstsq(line.T, staircase.T, rcond=None)[0]
        result.append((((count - length) ** 2).mean(), ((staircase - fit.T @ line) ** 2).mean()))
    return np.array(result).T


def numpy_ratios(levels: np.ndarray) -> np.ndarray:
    """Unfolding by the semicircle, spacings and ratios in NumPy."""
    x = np.clip(levels / 2, -1, 1)
    flat = N * (0.5 + (x * np.sqrt(1 - x**2) + np.arcsin(x)) / np.pi)
    gaps = np.diff(levels)
    return np.diff(flat), np.minimum(gaps[:, 1:], gaps[:, :-1]) / np.maximum(gaps[:, 1:], gaps[:, :-1])


def loaded(package: str, module: str) -> Any:
    """A module of another package, without what its `__init__` imports for pictures; None if it is not installed."""
    if package not in sys.modules:
        spec = importlib.util.find_spec(package)
        if spec is None:
            return None
        sys.modules[package] = shell = types.ModuleType(package)
        shell.__path__ = spec.submodule_search_locations
    return importlib.import_module(f"{package}.{module}")


def empyrical(levels: np.ndarray) -> tuple:
    """The observables of empyricalRMT, with its own settings."""
    variance, rigidity = (loaded("empyricalRMT", f"observables.{name}") for name in ("levelvariance", "rigidity"))
    return (
        variance.level_number_variance(levels, LENGTHS, show_progress=False)[1],
        rigidity.spectral_rigidity(levels, LENGTHS, show_progress=False)[1],
    )


def median(call: Callable, turns: int) -> float:
    """The median time of a call after one for warm-up."""
    times = []
    for _ in range(turns + 1):
        start = time.perf_counter()
        jax.block_until_ready(call())
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:])


def spectra(kind: str) -> np.ndarray:
    """Levels of GOE matrices, raw or of mean spacing 1 in the middle part of larger ones."""
    keys = jax.random.split(jax.random.key(0), SAMPLES)
    n = N if kind == "raw" else 2 * N
    levels = jax.lax.map(rmt.GOE(n).eigenvalues, keys, batch_size=20)
    if kind == "raw":
        return np.asarray(levels)
    return n * np.asarray(rmt.laws.Semicircle(2.0).cdf(levels))[:, N // 2 : N // 2 + N]


def first_call(name: str) -> float:
    """Seconds of the first call of a statistic in a process without any cache."""
    command = [sys.executable, __file__, "--first", name]
    env = os.environ | {"JAX_ENABLE_COMPILATION_CACHE": "0"}
    return float(subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, check, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--json", default=str(Path(__file__).parent / "results" / "spectral_statistics.json"), help="the record"
    )
    parser.add_argument("--turns", type=int, default=7, help="of each measurement (default %(default)s)")
    parser.add_argument("--first", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.first:
        levels = jnp.asarray(np.sort(np.random.default_rng(0).uniform(-2, 2, (SAMPLES, N)), axis=1))
        call, kind = SINGLE[args.first]
        levels = jax.block_until_ready(levels if kind == "raw" else jnp.sort(500 + 250 * levels, axis=1))
        start = time.perf_counter()
        jax.block_until_ready(call(levels))
        print(time.perf_counter() - start)
        return
    data = {kind: spectra(kind) for kind in ("raw", "flat")}
    rows: dict[str, dict[str, float]] = {}
    for name, (call, kind) in CASES.items():
        levels = jnp.asarray(data[kind])
        rows[name] = {"seconds": median(partial(call, levels), args.turns)}
    for name, rival, seconds in rivals(data):
        rows[name][f"times as fast as {rival}"] = seconds / rows[name]["seconds"]
    found = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "date": time.strftime("%Y-%m-%d"),
        "jax": jax.__version__,
        "precision": str(jnp.result_type(float)),
        "spectra": [SAMPLES, N],
        "rows": rows,
        "first calls, seconds": {name: first_call(name) for name in SINGLE},
    }
    Path(args.json).write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


def rivals(data: dict[str, np.ndarray]) -> list[tuple[str, str, float]]:
    """Name of the case, of the rival, and its seconds for all spectra, once it is known to compute the same."""
    raw, flat = data["raw"], data["flat"]
    short, long, form = list(CASES)[:3]
    ours = [np.asarray(each)[0] for each in long_range(jnp.asarray(flat))]
    np.testing.assert_allclose(exact_numbers(flat[0]), ours, atol=1e-6)
    np.testing.assert_allclose(sampled_numbers(flat[0]), ours, atol=0.2)  # an error of some 0.05 by sampling
    found = [
        (short, "NumPy, all spectra at once", median(partial(numpy_ratios, raw), 7)),
        (long, "NumPy, exact by prefix sums", SAMPLES * median(partial(exact_numbers, flat[0]), 3)),
        (long, "NumPy, 1000 sampled windows", SAMPLES * median(partial(sampled_numbers, flat[0]), 1)),
    ]
    if (sff := loaded("beta_ensembles", "sff")) is not None:
        times = TIMES[::20]
        few = partial(sff.compute_sff, list(flat), t_grid=times, verbose=False)
        mean = rmt.statistics.form_factor(flat, times).raw.mean(0)
        np.testing.assert_allclose(few()[0], mean, rtol=1e-9)
        found.append((form, "beta-ensembles 1.1.0", TIMES.size / times.size * median(few, 1)))
    if loaded("empyricalRMT", "observables.rigidity") is not None:
        theirs = empyrical(flat[0])
        print(
            "empyricalRMT, largest deviations from ours:",
            [float(abs(a - b).max()) for a, b in zip(theirs, ours, strict=True)],
        )
        found.append((long, "empyricalRMT 1.1.1", SAMPLES * median(partial(empyrical, flat[0]), 1)))
    return found


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    main()
