"""Work of one package, measured in a process of its own, which `apart.py` starts in the environment of the package.

    python peer_work.py '{"package": "scipy", "work": "levels", "turns": 3, "parameters": {"n": 100}}' answer.npy

Needs NumPy, that package, and Linux. It writes the answer and prints the seconds of the first call and the median of
later ones, and the peak memory of each beyond what the process had after its imports.
"""

import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

warnings.simplefilter("ignore")
Works = dict[str, Callable[..., Any]]
# Levels are scaled such that the semicircle ends at -2 and 2.
EDGES = np.linspace(-2, 2, 101)
LONG = 5.0  # seconds after which work is not repeated


def named(*works: Callable[..., Any]) -> Works:
    """Work by name."""
    return {work.__name__: work for work in works}


def rmtjax() -> Works:
    import jax

    import rmtjax as rmt

    jax.config.update("jax_enable_x64", True)

    def levels(n: int) -> Any:
        return rmt.GOE(n).eigenvalues(jax.random.key(0))

    def histogram(n: int) -> Any:
        return np.diff(rmt.GOE(n).count_below(jax.random.key(0), EDGES))

    def largest(n: int) -> Any:
        return rmt.GOE(n).largest_eigenvalues(jax.random.key(0))

    return named(levels, histogram, largest)


def numpy() -> Works:
    """Whole matrices."""

    def levels(n: int) -> Any:
        a = np.random.default_rng(0).normal(size=(n, n))
        return np.linalg.eigvalsh((a + a.T) / (2 * n) ** 0.5)

    return named(levels, histogram_by(levels), largest_by(levels))


def scipy() -> Works:
    """The tridiagonal form of Dumitriu and Edelman."""
    from scipy.linalg import eigvalsh_tridiagonal

    def entries(n: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(0)
        return rng.normal(size=n) * (2 / n) ** 0.5, (rng.chisquare(np.arange(n - 1, 0, -1)) / n) ** 0.5

    def levels(n: int) -> Any:
        return eigvalsh_tridiagonal(*entries(n))

    def largest(n: int) -> Any:
        return eigvalsh_tridiagonal(*entries(n), select="i", select_range=(n - 1, n - 1))

    return named(levels, histogram_by(levels), largest)


def dppy() -> Works:
    from dppy.beta_ensembles import HermiteEnsemble

    def levels(n: int) -> Any:
        return HermiteEnsemble(beta=1).sample_banded_model(size_N=n, random_state=0) / n**0.5

    return named(levels)


def beta_ensembles() -> Works:
    import beta_ensembles.gaussian

    def levels(n: int) -> Any:
        return beta_ensembles.gaussian.spectra(1, n, 1, 0, verbose=False)[0] / n**0.5

    return named(levels)


def scikit_rmt() -> Works:
    from skrmt.ensemble import GaussianEnsemble, WishartEnsemble
    from skrmt.ensemble.spectral_law import MarchenkoPasturDistribution, TracyWidomDistribution

    def goe(n: int, seed: int = 0) -> Any:
        return GaussianEnsemble(beta=1, n=n, tridiagonal_form=True, random_state=seed)

    def levels(n: int) -> Any:
        return goe(n).eigvals(normalize=True)

    def histogram(n: int) -> Any:
        return goe(n).eigval_hist(bins=len(EDGES) - 1, interval=(-2, 2), normalize=True)[0]

    def spectra(n: int, number: int) -> Any:
        return np.stack([goe(n, seed).eigvals() for seed in range(number)])

    def wishart_spectra(p: int, n: int, number: int) -> Any:
        draw = lambda seed: WishartEnsemble(beta=1, p=p, n=n, tridiagonal_form=True, random_state=seed)
        return np.stack([draw(seed).eigvals() for seed in range(number)])

    def tracy_widom(beta: int) -> Callable[[np.ndarray], Any]:
        return TracyWidomDistribution(beta=beta).cdf

    def marchenko_pastur(ratio: float) -> Callable[[np.ndarray], Any]:
        return MarchenkoPasturDistribution(ratio=ratio).cdf

    return named(levels, histogram, largest_by(levels), spectra, wishart_spectra, tracy_widom, marchenko_pastur)


def histogram_by(levels: Callable[[int], Any]) -> Callable[[int], Any]:
    """The histogram of all levels."""

    def histogram(n: int) -> Any:
        return np.histogram(levels(n), EDGES)[0]

    return histogram


def largest_by(levels: Callable[[int], Any]) -> Callable[[int], Any]:
    """The largest of all levels."""

    def largest(n: int) -> Any:
        return levels(n).max()

    return largest


def lines() -> Works:
    """Lines of Python that leave their answer in `found`."""

    def found(text: str) -> Any:
        names: dict[str, Any] = {}
        exec(text, names)
        return names["found"]

    return named(found)


PACKAGES = {
    "rmtjax": rmtjax,
    "numpy": numpy,
    "scipy": scipy,
    "dppy": dppy,
    "beta-ensembles": beta_ensembles,
    "scikit-rmt": scikit_rmt,
    "lines": lines,
}


def memory(kind: str) -> float:
    """Megabytes: `VmRSS` now, or `VmHWM` at most since `forget_peak`."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(kind)]
    return int(line.split()[1]) / 1000


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def main(task: dict[str, Any], file: str) -> None:
    """Do the work, write the answer, and print the numbers."""
    work, parameters = PACKAGES[task["package"]]()[task["work"]], task["parameters"]
    x = parameters.pop("x", None)  # points of a law, which is made once
    if x is not None:
        law, points = work(**parameters), np.array(x)
        work, parameters = law, {"x": points}
    forget_peak()
    before, answer = memory("VmRSS"), None

    def timed() -> float:
        nonlocal answer
        start = time.perf_counter()
        answer = np.asarray(work(**parameters))
        return time.perf_counter() - start

    numbers = {"first call": timed(), "peak MB of the first call": memory("VmHWM") - before}
    np.save(file, answer)
    if task["turns"]:
        answer = None
        forget_peak()
        times = [timed()]
        while len(times) < task["turns"] and sum(times) < LONG:
            times.append(timed())
        numbers |= {"seconds": statistics.median(times), "peak MB": memory("VmHWM") - before}
    print(json.dumps(numbers))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2])
