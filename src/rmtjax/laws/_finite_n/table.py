"""The density of one level between its tails as polynomials on panels, made once in float64 on the host.

These give density and probabilities at the cost of a few terms for every n, and to the rounding of the dtype: in
float32 the recurrence over n polynomials would lose digits.
"""

import dataclasses
import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from rmtjax.laws._finite_n.orthogonal_polynomials import ClassicalEnsemble, log_density, log_tail
from rmtjax.laws._finite_n.panels import is_hard, ladder, lower_bound, panels
from rmtjax.special import gauss_legendre
from rmtjax.special.internal import HermiteWeight

_NUM_TERMS = 32
_NODES, _WEIGHTS = gauss_legendre(_NUM_TERMS)


@dataclass(frozen=True, eq=False)
class Table:
    """Panels between the soft tails, with Legendre series of the density and of its integral.

    The series are multiplied by a power of the distance from a hard edge, `powers` that of the density in the first and
    in the last panel, None where there is no hard edge; the variable there is the distance or its root. The integral is
    that from the left end of the panel, in a panel at an upper hard edge that to the right end. `below` and `above` are
    the probabilities outside each of the ends of the panels, `nodes` and `masses` a quadrature.
    """

    edges: np.ndarray
    nodes: np.ndarray
    masses: np.ndarray
    density: np.ndarray
    integral: np.ndarray
    below: np.ndarray
    above: np.ndarray
    powers: tuple[float | None, float | None]
    in_roots: bool

    def _locate(self, x: Float[Array, "..."]) -> tuple[Int[Array, "..."], ...]:
        """The panel of each point, the place in it from -1 to 1, and the logarithm of the distance from a hard edge.

        Points outside are moved to the nearest of the table. The distance is in units of the panel; in others it is 1.
        """
        edges = jnp.asarray(self.edges, x.dtype)
        x = jnp.clip(x, edges[0], edges[-1])
        panel = jnp.clip(jnp.searchsorted(edges, x, side="right") - 1, 0, len(self.edges) - 2)
        lower, upper = edges[panel], edges[panel + 1]
        place, logarithm = ((x - lower) - (upper - x)) / (upper - lower), jnp.zeros_like(x)
        for is_upper in (False, True):
            if self.powers[is_upper] is not None:
                here = panel == (len(self.edges) - 2 if is_upper else 0)
                distance = jnp.where(here, (upper - x if is_upper else x - lower) / (upper - lower), 1)
                logarithm += jnp.log(distance)
                if self.in_roots:
                    root = 2 * jnp.sqrt(distance) - 1
                    place = jnp.where(here, -root if is_upper else root, place)
        return panel, place, logarithm

    def _exponent(self, panel: Int[Array, "..."]) -> Float[Array, "..."]:
        """The power of the density in each panel."""
        lower, upper = (0.0 if power is None else power for power in self.powers)
        return jnp.where(panel == 0, lower, jnp.where(panel == len(self.edges) - 2, upper, 0.0))

    def logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """The logarithm of the density."""
        panel, y, logarithm = self._locate(x)
        return jnp.log(_legendre(self.density, panel, y)) + self._exponent(panel).astype(x.dtype) * logarithm

    def pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """The density."""
        panel, y, logarithm = self._locate(x)
        return _legendre(self.density, panel, y) * jnp.exp(self._exponent(panel).astype(x.dtype) * logarithm)

    def tail(self, x: Float[Array, "..."], *, upper: bool) -> Float[Array, "..."]:
        """The probability of lying above x, or below; each as the complement of the other where it is larger."""
        panel, y, logarithm = self._locate(x)
        partial = _legendre(self.integral, panel, y) * jnp.exp((self._exponent(panel).astype(x.dtype) + 1) * logarithm)
        at_left = lambda values: jnp.asarray(values, x.dtype)[panel]
        below, above = at_left(self.below) + partial, at_left(self.above) - partial
        if self.powers[1] is not None:
            last = panel == len(self.edges) - 2
            below, above = jnp.where(last, 1 - partial, below), jnp.where(last, partial, above)
        right = at_left(self.below) > 0.5
        near, far = (above, below) if upper else (below, above)
        return jnp.where(right == upper, near, 1 - far)

    def logtail(self, x: Float[Array, "..."], *, upper: bool) -> Float[Array, "..."]:
        """The logarithm of the same."""
        probability, power = self.tail(x, upper=upper), self.powers[upper]
        if power is None:
            return jnp.log(probability)
        panel, y, logarithm = self._locate(x)
        # At a hard edge the power is finite in the logarithm long after it is 0 itself.
        at_edge = panel == (len(self.edges) - 2 if upper else 0)
        series = _legendre(self.integral, panel, jnp.where(at_edge, y, 1))
        by_power = jnp.log(jnp.where(at_edge, series, 1)) + (power + 1) * logarithm
        return jnp.where(at_edge, by_power, jnp.log(jnp.where(at_edge, 1, probability)))


def _legendre(series: np.ndarray, panel: Int[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
    """Clenshaw's sum of the series of each point's panel; in a loop, as 32 steps written out compile for seconds."""
    k = np.arange(series.shape[1], dtype=float)
    terms = jnp.asarray(series.T, y.dtype)[:, panel]
    factors = (jnp.asarray(values, y.dtype) for values in ((2 * k + 1) / (k + 1), (k + 1) / (k + 2)))

    def step(carry: tuple, row: tuple) -> tuple[tuple, None]:
        (above, after), (term, first, second) = carry, row
        return (term + first * y * above - second * after, above), None

    start = (jnp.zeros_like(y), jnp.zeros_like(y))
    return jax.lax.scan(step, start, (terms, *factors), reverse=True)[0][0]


@functools.cache
def table(ensemble: ClassicalEnsemble) -> Table:
    """The table; O(n²) operations, half a second at n = 1000."""
    edges = panels(ensemble)
    half = np.diff(edges)[:, None] / 2
    x = edges[:-1, None] + half * (_NODES + 1)
    values = np.exp(log_density(ensemble, np, x))
    density = _series(values)
    integral = half * np.polynomial.legendre.legint(density, lbnd=-1, axis=1)
    masses = half * values * _WEIGHTS
    beyond = [np.exp(log_tail(ensemble, np, edges[-upper], upper=bool(upper))) for upper in (0, 1)]
    below = np.append(0, np.cumsum(masses.sum(1))) + beyond[0]
    above = np.append(np.cumsum(masses.sum(1)[::-1])[::-1], 0) + beyond[1]
    result = Table(edges, x, masses, density, integral, below, above, (None, None), ensemble.beta == 1)
    return _with_hard_edge(ensemble, _with_hard_edge(ensemble, result, False), True)


def _with_hard_edge(ensemble: ClassicalEnsemble, soft: Table, upper: bool) -> Table:
    """A panel more, at a hard edge."""
    own = ensemble.reflected() if upper else ensemble
    if isinstance(ensemble.weight, HermiteWeight) or own is None or not is_hard(own):
        return soft
    power, width = own.power, lower_bound(own)
    # For β = 1 two powers that differ by a half come together.
    distance = width * ((_NODES + 1) / 2) ** (2 if soft.in_roots else 1)
    logarithm = np.log(distance / width)
    density = _series(np.exp(log_density(own, np, distance) - power * logarithm))
    integral = _series(np.exp(log_tail(own, np, distance, upper=False) - (power + 1) * logarithm))
    if upper:
        density, integral = (series * (-1) ** np.arange(_NUM_TERMS) for series in (density, integral))
    integral = np.append(integral, 0)
    put = lambda panels, end: np.concatenate([panels, [end]] if upper else [[end], panels])
    return dataclasses.replace(
        soft,
        edges=put(soft.edges, ensemble.weight.ends[upper]),
        density=put(soft.density, density),
        integral=put(soft.integral, integral),
        below=put(soft.below, 1.0 if upper else 0.0),
        above=put(soft.above, 0.0 if upper else 1.0),
        powers=(soft.powers[0], power) if upper else (power, soft.powers[1]),
    )


def _series(values: np.ndarray) -> np.ndarray:
    """Coefficients of the Legendre series to values at the nodes."""
    # By interpolation: a sum over the nodes would add the rounding of their weights, multiplied by the order.
    return np.linalg.solve(np.polynomial.legendre.legvander(_NODES, _NUM_TERMS - 1), values.T).T


def breakpoints(ensemble: ClassicalEnsemble) -> np.ndarray:
    """Ends of panels for quadrature over all that float64 can tell from 0."""
    return np.unique(np.concatenate([ladder(ensemble, False), table(ensemble).edges, ladder(ensemble, True)]))


@functools.cache
def moment(ensemble: ClassicalEnsemble, k: int, centre: float) -> float:
    """E (X - c)^k, by quadrature over the panels and both tails."""
    middle = table(ensemble)
    total = np.sum(middle.masses * (middle.nodes - centre) ** k)
    for upper in (False, True):
        x, masses = _tail_masses(ensemble, upper)
        total += np.sum(masses * (x - centre) ** k)
    return float(total)


@functools.cache
def _tail_masses(ensemble: ClassicalEnsemble, upper: bool) -> tuple[np.ndarray, np.ndarray]:
    reflected = ensemble.reflected()
    if reflected is not None and upper != isinstance(ensemble.weight, HermiteWeight):
        x, masses = _tail_masses(reflected, not upper)
        return ensemble.reflect(x), masses
    nodes, weights = gauss_legendre(64)
    edges = np.sort(ladder(ensemble, upper))
    angle = np.pi * (nodes + 1) / 2
    width = np.diff(edges)[:, None]
    # As in `special.integrate`: a power of the distance from a hard edge is smooth in the angle.
    x = edges[:-1, None] + width * np.sin(angle / 2) ** 2
    return x, width * (np.pi / 4 * weights * np.sin(angle)) * np.exp(log_density(ensemble, np, x))
