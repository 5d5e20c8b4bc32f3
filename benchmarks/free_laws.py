"""Free sums, powers and products against freealg, with references that are neither's: answers first, then times.

    OPENBLAS_NUM_THREADS=1 python benchmarks/free_laws.py

Needs `pip install freealg==0.12.2`. Its algebraic families are the rivals that there are, at `eta=0` on the real axis
and at its default. References are roots of the polynomial of each law in 40 digits, and closed forms, at 200 points
between points a twentieth of the support beyond its ends. An error is the largest difference of densities in units of
one over the length of the support, where the law is no further than 1e-6 of the support from an end. Times are for
1000 densities. The record is `benchmarks/results/free_laws.json`.
"""

import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, NamedTuple

import freealg.distributions as rivals
import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
from inference import circumstances, medians, recorded

from rmtjax.laws import Empirical, FreePower, FreeProduct, FreeSum, KestenMcKay, MarchenkoPastur, Semicircle

jax.config.update("jax_enable_x64", True)  # before the laws get their parameters
COIN, TWO = Empirical([-1.0, 1.0]), Empirical([1.0, 5.0])


class Pair(NamedTuple):
    """A law, the same law of the rival, and the density at a point in 40 digits."""

    ours: Any
    rival: Any
    exact: Callable[[float], float]


def of_polynomial(coefficients: Callable[[Any], list]) -> Callable[[float], float]:
    """The density where one pair of roots G of the polynomial is complex; elsewhere 0."""

    def density(x: float) -> float:
        with mp.workdps(40):
            roots = mp.polyroots(coefficients(mp.mpf(x)), maxsteps=500, extraprec=200)
            return float(max(max(-mp.im(root), 0) for root in roots) / mp.pi)

    return density


def on_the_positive_axis(density: Callable[[float], float]) -> Callable[[float], float]:
    """The density of positive levels; the polynomial has further complex roots where there are none."""
    return lambda x: density(x) if x > 0 else 0.0


def with_noise(variance: float) -> Callable[[float], float]:
    """Two signs and a semicircle: G (u² - 1) = u with u = z - vG, a cubic equation."""
    v = mp.mpf(variance)
    return of_polynomial(lambda z: [v**2, -2 * v * z, z**2 - 1 + v, -z])


def of_population(ratio: float) -> Callable[[float], float]:
    """Levels 1 and 5 of equal weight, by Silverstein's equation of u: z = -1/u + c Σ w t/(1 + tu), a cubic equation."""
    c = mp.mpf(ratio)

    def coefficients(z: Any) -> list:
        # z u (1 + u)(1 + 5u) + (1 + u)(1 + 5u) - (c/2) u [(1 + 5u) + 5 (1 + u)] = 0
        return [5 * z, 6 * z + 5 - 5 * c, z + 6 - 3 * c, 1]

    companion = of_polynomial(coefficients)
    return lambda x: companion(x) / ratio


PAIRS = {
    "two signs and a semicircle, a gap": Pair(
        FreeSum(COIN, Semicircle(1.0)), rivals.DeformedWigner([-1.0, 1.0], [0.5, 0.5], 0.5), with_noise(0.25)
    ),
    "two signs and a semicircle, a narrow gap": Pair(
        FreeSum(COIN, Semicircle(1.99)), rivals.DeformedWigner([-1.0, 1.0], [0.5, 0.5], 0.995), with_noise(0.995**2)
    ),
    "levels 1 and 5 times Marčenko-Pastur 0.1": Pair(
        FreeProduct(TWO, MarchenkoPastur(0.1)),
        rivals.DeformedMarchenkoPastur([1.0, 5.0], [0.5, 0.5], 0.1),
        of_population(0.1),
    ),
    "levels 1 and 5 times Marčenko-Pastur 2, an atom": Pair(
        FreeProduct(TWO, MarchenkoPastur(2.0)),
        rivals.DeformedMarchenkoPastur([1.0, 5.0], [0.5, 0.5], 2.0),
        of_population(2.0),
    ),
    "two Marčenko-Pastur laws multiplied": Pair(
        FreeProduct(MarchenkoPastur(1.0), MarchenkoPastur(1.0)),
        rivals.FussCatalan(2),
        on_the_positive_axis(of_polynomial(lambda z: [z**2, 0, -z, 1])),
    ),
    "three copies of a coin": Pair(
        FreePower(COIN, 3.0), rivals.KestenMcKay(3), lambda x: float(np.asarray(KestenMcKay(3.0).pdf(x)))
    ),
}


def rival_density(law: Any, x: np.ndarray, **options: float) -> np.ndarray:
    """The density of the rival; its closed form has no offset from the axis."""
    return np.asarray(law.density(x, **({} if isinstance(law, rivals.KestenMcKay) else options)))


def measured(name: str, turns: int) -> dict[str, Any]:
    """Errors of both and times of one pair."""
    ours, rival, exact = PAIRS[name]
    low, high = map(float, ours.support())
    length, ends = high - low, np.asarray(ours.breakpoints())
    x = np.linspace(low - length / 20, high + length / 20, 200)
    x = x[np.abs(x[:, None] - ends).min(axis=1) > 1e-6 * length]
    right = np.array([exact(each) for each in x])
    answers = {
        "ours": np.asarray(ours.pdf(jnp.asarray(x))),
        "freealg, eta=0": rival_density(rival, x, eta=0.0),
        "freealg": rival_density(rival, x),
    }
    errors = {route: float(np.abs(found - right).max() * length) for route, found in answers.items()}
    many = low + length * (np.arange(1000) + 0.5) / 1000  # freealg fails at 0 exactly
    points = jnp.asarray(many)
    calls = {
        "ours": lambda: ours.pdf(points),
        "freealg, eta=0": lambda: rival_density(rival, many, eta=0.0),
        "freealg": lambda: rival_density(rival, many),
    }
    times = medians(turns, time.process_time, **calls)
    rows = {route: {"error": errors[route], "seconds of processor time": times[route]} for route in calls}
    return circumstances() | {"freealg": version("freealg")} | rows


if __name__ == "__main__":
    recorded("free_laws.json", __doc__, PAIRS, measured, None)
