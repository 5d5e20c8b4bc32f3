"""Decisions from data: against NumPy, and against other packages where they are installed.

    python benchmarks/inference.py [--only denoise]

`pip install dipy` brings the rival of `denoise_image`. What a rival computes is checked, as far as it is the same.
Times are medians of several turns after warm-up, in one process and in turns with those of the rival; ratios are what
counts on a machine with other work. The record is `benchmarks/results/inference.json`, where a run writes its own parts
only.
"""

import argparse
import importlib.util
import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import rmtjax as rmt


def medians(turns: int, clock: Callable[[], float] = time.perf_counter, **calls: Callable) -> dict[str, float]:
    """Median seconds of each call, taken in turns after one for warm-up."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(turns + 1):
        for name, call in calls.items():
            start = clock()
            jax.block_until_ready(call())
            times[name].append(clock() - start)
    return {name: statistics.median(each[1:]) for name, each in times.items()}


def numpy_denoise(y: np.ndarray) -> np.ndarray:
    """The Frobenius shrinker for unknown noise, as it is written with NumPy for one matrix."""
    smaller, larger = sorted(y.shape)
    beta = smaller / larger
    u, s, vh = np.linalg.svd(y, full_matrices=False)
    threshold = rmt.inference.optimal_hard_threshold(*y.shape)
    scale = np.median(s) * float(threshold.median_rule / threshold.known_noise)
    x = (s / scale) ** 2
    square = np.where(x > (1 + beta**0.5) ** 2, (x - beta - 1) ** 2 - 4 * beta, 0)
    return (u * (scale**2 * np.sqrt(square) / s)) @ vh


def denoise(turns: int) -> dict[str, Any]:
    """Whole matrices, in single and in double precision."""
    found = {}
    for dtype in (np.float32, np.float64):
        for n, p in ((200, 100), (1000, 500)):
            rng = np.random.default_rng(0)
            y = (rng.normal(size=(n, p)) + np.outer(rng.normal(size=n), rng.normal(size=p))).astype(dtype)
            array = jnp.asarray(y)
            ours = lambda array=array: rmt.inference.denoise(array).matrix
            np.testing.assert_allclose(ours(), numpy_denoise(y), atol=1e-3)
            seconds = medians(turns, ours=ours, numpy=lambda y=y: numpy_denoise(y))
            found[f"{n} × {p}, {dtype.__name__}"] = seconds | {
                "times as fast as NumPy": seconds["numpy"] / seconds["ours"]
            }
    return found


def decays(*space: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """An image of two exponentials whose rates and amounts change slowly over space, without and with noise."""
    x, y, z = np.meshgrid(*(np.linspace(0, 1, size) for size in space), indexing="ij")
    times, rng = np.linspace(0, 3, k), np.random.default_rng(0)
    signal = (1 + np.sin(5 * x) * np.cos(4 * y))[..., None] * np.exp(-times * (0.5 + x)[..., None])
    signal += (1 + 0.5 * z + 0.3 * np.sin(9 * y))[..., None] * np.exp(-times * (2 + np.cos(3 * z))[..., None]) + 1
    return signal, signal + 0.1 * rng.normal(size=signal.shape)


def denoise_image(turns: int) -> dict[str, Any]:
    """All overlapping patches of an image; dipy's loop over patches computes nearly the same (see `agreement`)."""
    found = {}
    for radius, k, size in ((2, 30, 24), (1, 20, 22)):
        for dtype in (np.float32, np.float64):
            signal, noisy = (each.astype(dtype) for each in decays(size, size, size, k=k))
            array, width = jnp.asarray(noisy), 2 * radius + 1
            ours = lambda array=array, width=width: rmt.inference.denoise_image(array, patch=(width,) * 3)
            calls: dict[str, Callable] = {"ours": ours}
            if importlib.util.find_spec("dipy") is not None:
                from dipy.denoise.localpca import mppca

                calls["dipy"] = lambda noisy=noisy, radius=radius: mppca(noisy, patch_radius=radius, return_sigma=True)
            seconds = medians(turns, **calls)
            number = (size - 2 * radius) ** 3
            row = {
                "patches": number,
                "patches a minute": 60 * number / seconds["ours"],
                "error": float(np.std(ours().image - signal)),
                "noise (0.1)": float(np.mean(ours().noise)),
            }
            if "dipy" in calls:
                theirs, noise = calls["dipy"]()
                row |= {
                    "times as fast as dipy": seconds["dipy"] / seconds["ours"],
                    "error of dipy": float(np.std(theirs - signal)),
                    "noise of dipy": float(np.mean(noise)),
                    "agreement": f"median difference {np.median(abs(theirs - np.asarray(ours().image))):.1e}",
                }
            found[f"patches {width**3} × {k}, {dtype.__name__}"] = row | seconds
    return found


def denoise_patches(turns: int) -> dict[str, Any]:
    """Batches of independent patches."""
    found = {}
    for m, k in ((125, 30), (27, 20)):
        patches = jax.random.normal(jax.random.key(0), (5000, m, k), jnp.float32)
        seconds = medians(turns, ours=lambda patches=patches: rmt.inference.denoise_patches(patches))
        found[f"{m} × {k}, float32"] = seconds | {"matrices a minute": 60 * 5000 / seconds["ours"]}
    return found


# Each part returns rows of numbers by name.
def numpy_rank(data: np.ndarray, points: np.ndarray, tail: np.ndarray) -> int:
    """Tests of one level after the other for unknown noise, as it is written with NumPy, with a table of the law."""
    centred = data - data.mean(0)
    n, p = data.shape[0] - 1, data.shape[1]
    levels = np.linalg.eigvalsh(centred.T @ centred)[::-1]
    for k in range(p - 1):
        rows, columns = n - k - 0.5, p - k - 0.5
        root = rows**0.5 + columns**0.5
        scale = root * (rows**-0.5 + columns**-0.5) ** (1 / 3)
        ratio = (n - k) * (p - k) * levels[k] / levels[k:].sum()
        if np.interp((ratio - root**2) / scale, points, tail) >= 0.05:
            return k
    return p


def signal_rank(turns: int) -> dict[str, Any]:
    """A thousand matrices of 200 × 100 with three signals; NumPy without the correction of the tail."""
    points, found = np.linspace(-8, 30, 4000), {}
    tail = np.asarray(rmt.laws.TracyWidom(1).sf(points))
    for dtype in (np.float32, np.float64):
        data = np.random.default_rng(0).normal(size=(1000, 200, 100)).astype(dtype)
        data[:, :, :3] *= 3
        array = jnp.asarray(data)
        few = lambda array=array: rmt.inference.signal_rank(array, max_rank=8).rank
        agree = np.mean(np.asarray(few()) == [numpy_rank(each, points, tail) for each in data])
        seconds = medians(
            turns,
            ours=few,
            all_levels=lambda array=array: rmt.inference.signal_rank(array).rank,
            numpy=lambda data=data: [numpy_rank(each, points, tail) for each in data],
        )
        found[dtype.__name__] = seconds | {
            "agreement": float(agree),
            "times as fast as NumPy": seconds["numpy"] / seconds["ours"],
        }
    return found


def numpy_qis(data: np.ndarray) -> np.ndarray:
    """Quadratic-inverse shrinkage for p < n, as it is written with NumPy for one matrix."""
    n, p = data.shape[0] - 1, data.shape[1]
    c = p / n
    levels, vectors = np.linalg.eigh(np.cov(data, rowvar=False))
    inverse = 1 / levels
    h = min(c, 1 / c) ** 0.7 / p**0.35
    gaps = inverse[None, :] - inverse[:, None]
    below = gaps**2 + (h * inverse) ** 2
    theta, conjugate = np.mean(inverse * gaps / below, 1), np.mean(h * inverse**2 / below, 1)
    new = levels / ((1 - c) ** 2 + 2 * c * (1 - c) * theta + c**2 * (theta**2 + conjugate**2))
    return (vectors * (new * levels.sum() / new.sum())) @ vectors.T


def loop_analytical(data: np.ndarray) -> np.ndarray:
    """Analytical shrinkage for p < n, with a loop over the levels."""
    n, p = data.shape[0] - 1, data.shape[1]
    c, h, root = p / n, n ** (-1 / 3), 5**0.5
    levels, vectors = np.linalg.eigh(np.cov(data, rowvar=False))
    new = np.empty(p)
    for i in range(p):
        density = hilbert = 0.0
        for j in range(p):
            x = (levels[i] - levels[j]) / (h * levels[j])
            density += 0.75 / root * max(1 - x**2 / 5, 0) / (h * levels[j]) / p
            kernel = -0.3 / np.pi * x + 0.75 / root / np.pi * (1 - x**2 / 5) * np.log(abs((root - x) / (root + x)))
            hilbert += kernel / (h * levels[j]) / p
        squared = (np.pi * c * levels[i] * density) ** 2 + (1 - c - np.pi * c * levels[i] * hilbert) ** 2
        new[i] = levels[i] / squared
    return (vectors * new) @ vectors.T


def _windows(data: jax.Array) -> jax.Array:
    window = lambda start: rmt.inference.shrink_covariance(jax.lax.dynamic_slice_in_dim(data, start, 100))
    return jax.vmap(window)(jnp.arange(data.shape[0] - 99))


def shrink_covariance(turns: int) -> dict[str, Any]:
    """One matrix against the decomposition alone, windows against a loop, both against NumPy; a loop over levels.

    With `OPENBLAS_NUM_THREADS=1` where other work is on the machine: threads that wait for each other decide otherwise.
    """
    rng = np.random.default_rng(0)
    found: dict[str, Any] = {"BLAS threads": {"given": os.environ.get("OPENBLAS_NUM_THREADS", "none")}}
    with jax.enable_x64(True):
        data = rng.normal(size=(1000, 500))
        array, sample = jnp.asarray(data), np.cov(data, rowvar=False)
        shrink = rmt.inference.shrink_covariance
        np.testing.assert_allclose(shrink(array), numpy_qis(data), atol=1e-8)
        seconds = medians(
            turns, ours=lambda: shrink(array), eigh=lambda: np.linalg.eigh(sample), numpy=lambda: numpy_qis(data)
        )
        found["qis, 1000 × 500"] = seconds | {
            "in units of NumPy's eigh": seconds["ours"] / seconds["eigh"],
            "times as fast as NumPy": seconds["numpy"] / seconds["ours"],
        }
        series = rng.normal(size=(1099, 50))
        rows, rolling = jnp.asarray(series), jax.jit(_windows)
        loop = lambda: np.stack([numpy_qis(series[start : start + 100]) for start in range(1000)])
        np.testing.assert_allclose(rolling(rows), loop(), atol=1e-8)
        seconds = medians(turns, ours=lambda: rolling(rows), numpy=loop)
        found["qis, 1000 windows 100 × 50"] = seconds | {"times as fast as NumPy": seconds["numpy"] / seconds["ours"]}
        data = rng.normal(size=(300, 100))
        array = jnp.asarray(data)
        ours = lambda: shrink(array, method="analytical")
        np.testing.assert_allclose(ours(), loop_analytical(data), atol=1e-8)
        seconds = medians(turns, ours=ours, python=lambda: loop_analytical(data))
        found["analytical, 300 × 100"] = seconds | {"times as fast as Python": seconds["python"] / seconds["ours"]}
    return found


# Each part returns rows of numbers by name.
PARTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "signal_rank": signal_rank,
    "denoise": denoise,
    "denoise_patches": denoise_patches,
    "denoise_image": denoise_image,
    "shrink_covariance": shrink_covariance,
}


def circumstances() -> dict[str, Any]:
    """Where and when numbers were measured."""
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "date": time.strftime("%Y-%m-%d"),
        "jax": jax.__version__,
    }


def recorded(
    name: str, text: str | None, parts: dict[str, Any], measured: Callable[[str, int], dict], argv: Sequence[str] | None
) -> None:
    """Measure the parts that are asked for, print them, and write them into a record, where the others stay."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    path = Path(__file__).parent / "results" / name
    parser.add_argument("--json", default=str(path), help="the record")
    parser.add_argument("--turns", type=int, default=5, help="of each measurement (default %(default)s)")
    parser.add_argument("--only", nargs="*", choices=parts, default=list(parts), help="the parts to be measured")
    args = parser.parse_args(argv)
    record = Path(args.json)
    found = json.loads(record.read_text()) if record.is_file() else {}
    for part in args.only:
        found[part] = measured(part, args.turns)
        print(part, json.dumps(found[part], indent=1), flush=True)
    ordered = {part: found[part] for part in parts if part in found}
    record.write_text(json.dumps(ordered, indent=1) + "\n")


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, check, print and write."""
    measured = lambda name, turns: circumstances() | {"rows": PARTS[name](turns)}
    recorded("inference.json", __doc__, PARTS, measured, argv)


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    main()
