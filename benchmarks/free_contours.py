"""Free sums and products against the contour integrals of Cortinovis and Ying, on the pairs of their paper.

    git clone https://github.com/Alice94/FreeConvolutionCode
    OPENBLAS_NUM_THREADS=1 PYTHONPATH=FreeConvolutionCode python benchmarks/free_contours.py

Needs matplotlib too. Their code gives the density at points of its own (Cortinovis and Ying 2023, arXiv:2305.01819,
with the parameters of section 6). The reference is Newton's method for subordination in 30 digits, along a path from
high above the axis. An error is the largest difference of densities in units of one over the length of the support,
where the law is no further than a thousandth of the support from an end. Times are processor times of one law at these
points. The record is `benchmarks/results/free_contours.json`.
"""

import contextlib
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import freeconvolution
import jax
import mpmath as mp
import numpy as np
import spectral_measure
from inference import circumstances, medians, recorded

from rmtjax.laws import FreeProduct, FreeSum, MarchenkoPastur, Semicircle, Uniform

jax.config.update("jax_enable_x64", True)  # before the laws get their parameters


class Part(NamedTuple):
    """A law, the call that sets theirs, and the transform in many digits."""

    law: Any
    setting: tuple
    transform: Callable[[Any], Any]


def semicircle(centre: float) -> Part:
    root = lambda w: mp.sqrt(w - 2) * mp.sqrt(w + 2)
    setting = ("set_shifted_semicircle", 1) if centre else ("set_semicircle", 1)
    law = Semicircle(2.0).shifted(centre) if centre else Semicircle(2.0)
    return Part(law, setting, lambda w: (w - centre - root(w - centre)) / 2)


def uniform(lower: float, upper: float) -> Part:
    transform = lambda w: (mp.log(w - lower) - mp.log(w - upper)) / (upper - lower)
    return Part(Uniform(lower, upper), ("set_uniform", lower, upper), transform)


def poisson(ratio: float) -> Part:
    c = mp.mpf(ratio)
    lower, upper = (1 - mp.sqrt(c)) ** 2, (1 + mp.sqrt(c)) ** 2
    transform = lambda w: (w + c - 1 - mp.sqrt(w - lower) * mp.sqrt(w - upper)) / (2 * c * w)
    return Part(MarchenkoPastur(ratio), ("set_marchenko_pastur", ratio), transform)


class Pair(NamedTuple):
    """Two laws, whether they are added, and the parameters N1, N2, N and ε of the paper."""

    a: Part
    b: Part
    is_sum: bool
    numbers: tuple[int, int, int]
    margin: float = 0.05
    terms: int = 20


PAIRS = {
    "two semicircles": Pair(semicircle(0), semicircle(0), True, (400, 400, 400), terms=10),
    "a semicircle and Marčenko-Pastur 0.5": Pair(semicircle(0), poisson(0.5), True, (400, 400, 400)),
    "a semicircle and uniform levels to 1": Pair(semicircle(0), uniform(-1, 1), True, (400, 4000, 400)),
    "a semicircle and uniform levels to 4": Pair(semicircle(0), uniform(-4, 4), True, (400, 4000, 400)),
    "a semicircle and uniform levels to 10": Pair(semicircle(0), uniform(-10, 10), True, (400, 4000, 400), 0.02),
    "uniform levels to 2 and Marčenko-Pastur 0.7": Pair(uniform(-2, 2), poisson(0.7), True, (4000, 400, 400)),
    "uniform levels to 1 and to 2": Pair(uniform(-1, 1), uniform(-2, 2), True, (4000, 4000, 400)),
    "Marčenko-Pastur 0.2 and 0.6": Pair(poisson(0.2), poisson(0.6), True, (4000, 4000, 4000)),
    "Marčenko-Pastur 0.1 times uniform levels": Pair(poisson(0.1), uniform(1, 3), False, (400, 400, 4000)),
    "a shifted semicircle times Marčenko-Pastur 0.2": Pair(semicircle(3), poisson(0.2), False, (4000, 4000, 4000)),
    "two shifted semicircles multiplied": Pair(semicircle(3), semicircle(3), False, (400, 400, 400)),
    "uniform levels multiplied": Pair(uniform(1, 2), uniform(1, 3), False, (4000, 4000, 4000)),
}


def root_near(f: Callable[[Any], Any], w: Any) -> Any:
    """The root of a function by Newton's method."""
    width = mp.mpf("1e-10")
    for _ in range(100):
        step = f(w) * 2 * width / (f(w + width) - f(w - width))
        w -= step
        if abs(step) < mp.mpf("1e-20"):
            return w
    raise ArithmeticError


def exact_density(pair: Pair, x: float) -> float:
    """The density at a point in a band."""
    with mp.workdps(30):
        h_a, h_b = (lambda w, part=part: 1 / part.transform(w) - w for part in (pair.a, pair.b))
        w = mp.mpc(x, 64)
        for height in [*(mp.mpf(2) ** k for k in range(6, -20, -1)), mp.mpf(0)]:
            z = mp.mpc(x, height)
            image = (lambda w, z=z: z + h_b(z + h_a(w))) if pair.is_sum else (lambda w, z=z: -z / h_b(-z / h_a(w)))
            w = root_near(lambda w, image=image: image(w) - w, w)
        transform = pair.a.transform(w) * (1 if pair.is_sum else w / x)
        return float(-mp.im(transform) / mp.pi)


def theirs(pair: Pair) -> tuple[np.ndarray, np.ndarray]:
    """The points and densities of their code."""
    measures = []
    for part in (pair.a, pair.b):
        measure = spectral_measure.spectral_measure()
        name, *numbers = part.setting
        getattr(measure, name)(*numbers)
        measures.append(measure)
    kind = "free_additive_convolution" if pair.is_sum else "free_multiplicative_convolution"
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        *_, x, density, _ = getattr(freeconvolution, kind)(*measures, *pair.numbers, pair.terms, pair.margin, 0)
    return np.asarray(x), np.real(density)


def measured(name: str, turns: int) -> dict[str, Any]:
    """Errors of both and times of one pair."""
    pair = PAIRS[name]
    start = time.process_time()
    x, found = theirs(pair)
    seconds = time.process_time() - start
    start = time.process_time()
    law = (FreeSum if pair.is_sum else FreeProduct)(pair.a.law, pair.b.law)
    np.asarray(law.pdf(x))
    first = time.process_time() - start
    lower, upper = map(float, law.support())
    length = upper - lower
    inner = (x > lower + length / 1000) & (x < upper - length / 1000)
    right = np.array([exact_density(pair, each) for each in x[inner]])
    error = lambda values: float(np.abs(np.asarray(values)[inner] - right).max() * length)
    warm = medians(turns, time.process_time, ours=lambda: law.pdf(x))["ours"]
    return circumstances() | {
        "points": int(inner.sum()),
        "ours": {"error": error(law.pdf(x)), "seconds of processor time": warm, "first call": first},
        "contour integrals": {"error": error(found), "seconds of processor time": seconds},
    }


if __name__ == "__main__":
    recorded("free_contours.json", __doc__, PAIRS, measured, None)
