"""The density of one level between its tails as polynomials on panels, made once in float64 on the host.

They give density and probabilities to the rounding of the dtype, at the cost of a few terms for every n. In float32 the
recurrence over n polynomials would lose digits.
"""

import dataclasses
import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from rmtjax.laws._finite_n.orthogonal_polynomials import ClassicalEnsemble, Side, log_density, log_tail
from rmtjax.laws._finite_n.panels import is_hard, ladder, lower_bound, panels
from rmtjax.special.internal import gauss_legendre

_NUM_TERMS = 32  # terms of each Legendre series, and nodes in each panel
_NODES, _WEIGHTS = gauss_legendre(_NUM_TERMS)


@dataclass(frozen=True, eq=False)
class Table:
    """Panels between the soft tails, with Legendre series of the density and of its integral.

    In a panel at a hard edge the series are multiplied by a power of the distance, and their variable is the distance
    or its root. `powers` has the power for the density. The integral goes from the left end of a panel to x, or at an
    upper hard edge from x to the right end. `below` and `above` are the probabilities outside each end of a panel;
    `nodes` and `masses` are a quadrature rule without the panels at hard edges.
    """

    edges: np.ndarray
    nodes: np.ndarray
    masses: np.ndarray
    density: np.ndarray
    integral: np.ndarray
    below: np.ndarray
    above: np.ndarray
    powers: dict[Side, float]
    in_roots: bool

    def _outermost(self, side: Side) -> int:
        return (0, len(self.edges) - 2)[side]

    def _locate(self, x: Float[Array, "..."]) -> tuple[Int[Array, "..."], *tuple[Float[Array, "..."], ...]]:
        """The panel of each point, the place in it from -1 to 1, and power and logarithm of the distance from an edge.

        Points outside move to the nearest point in the table. The distance is in units of the panel at the edge, and 1
        in other panels.
        """
        edges = jnp.asarray(self.edges, x.dtype)
        x = jnp.clip(x, edges[0], edges[-1])
        panel = jnp.clip(jnp.searchsorted(edges, x, side="right") - 1, 0, len(self.edges) - 2)
        width, distances = edges[panel + 1] - edges[panel], (x - edges[panel], edges[panel + 1] - x)
        place, logarithm = (distances[0] - distances[1]) / width, jnp.zeros_like(x)
        for side in self.powers:
            here = panel == self._outermost(side)
            distance = jnp.where(here, distances[side] / width, 1)
            logarithm += jnp.log(distance)
            if self.in_roots:
                place = jnp.where(here, side.sign * (1 - 2 * jnp.sqrt(distance)), place)
        first, last = (self.powers.get(side, 0.0) for side in Side)
        power = jnp.where(panel == 0, first, jnp.where(panel == len(self.edges) - 2, last, 0.0))
        return panel, place, power.astype(x.dtype), logarithm

    def logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        panel, y, power, logarithm = self._locate(x)
        return jnp.log(_legendre(self.density, panel, y)) + power * logarithm

    def pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        panel, y, power, logarithm = self._locate(x)
        return _legendre(self.density, panel, y) * jnp.exp(power * logarithm)

    def tail(self, x: Float[Array, "..."], side: Side) -> Float[Array, "..."]:
        """The probability beyond x; the larger of the two tails is the complement of the smaller one."""
        panel, y, power, logarithm = self._locate(x)
        partial = _legendre(self.integral, panel, y) * jnp.exp((power + 1) * logarithm)
        at_left = lambda values: jnp.asarray(values, x.dtype)[panel]
        below, above = at_left(self.below) + partial, at_left(self.above) - partial
        if Side.UPPER in self.powers:
            last = panel == self._outermost(Side.UPPER)
            below, above = jnp.where(last, 1 - partial, below), jnp.where(last, partial, above)
        right = at_left(self.below) > 0.5
        return jnp.where(right, 1 - above, below) if side is Side.LOWER else jnp.where(right, above, 1 - below)

    def logtail(self, x: Float[Array, "..."], side: Side) -> Float[Array, "..."]:
        """The logarithm of `tail`."""
        probability = self.tail(x, side)
        if side not in self.powers:
            return jnp.log(probability)
        panel, y, power, logarithm = self._locate(x)
        # At a hard edge the logarithm of the power is finite long after the power itself is 0.
        at_edge = panel == self._outermost(side)
        series = _legendre(self.integral, panel, jnp.where(at_edge, y, 1))
        by_power = jnp.log(jnp.where(at_edge, series, 1)) + (power + 1) * logarithm
        return jnp.where(at_edge, by_power, jnp.log(jnp.where(at_edge, 1, probability)))


def _legendre(series: np.ndarray, panel: Int[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
    """Clenshaw's sum of the series of each point's panel, in a loop, as 32 separate steps would compile for seconds."""
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
    """The table of an ensemble; it takes O(n²) operations, half a second at n = 1000."""
    edges = panels(ensemble)
    half = np.diff(edges)[:, None] / 2
    x = edges[:-1, None] + half * (_NODES + 1)
    values = np.exp(log_density(ensemble, np, x))
    density = _series(values)
    integral = half * np.polynomial.legendre.legint(density, lbnd=-1, axis=1)
    masses = half * values * _WEIGHTS
    beyond = [np.exp(log_tail(ensemble, np, edges[-side], side)) for side in Side]
    below = np.append(0, np.cumsum(masses.sum(1))) + beyond[0]
    above = np.append(np.cumsum(masses.sum(1)[::-1])[::-1], 0) + beyond[1]
    soft = Table(edges, x, masses, density, integral, below, above, {}, ensemble.beta == 1)
    return functools.reduce(functools.partial(_with_hard_edge, ensemble), Side, soft)


def _with_hard_edge(ensemble: ClassicalEnsemble, soft: Table, side: Side) -> Table:
    """The table with one more panel if this side is a hard edge."""
    own = ensemble if side is Side.LOWER else ensemble.reflected()
    if own is None or not is_hard(own):
        return soft
    width = lower_bound(own)
    # For β = 1 there are two powers that differ by 1/2, which become whole powers of the root of the distance.
    distance = width * ((_NODES + 1) / 2) ** (2 if soft.in_roots else 1)
    logarithm = np.log(distance / width)
    density = _series(np.exp(log_density(own, np, distance) - own.power * logarithm))
    integral = _series(np.exp(log_tail(own, np, distance, Side.LOWER) - (own.power + 1) * logarithm))
    if side is Side.UPPER:
        density, integral = (series * (-1) ** np.arange(_NUM_TERMS) for series in (density, integral))
    put = lambda panels, end: np.insert(panels, (0, len(panels))[side], end, axis=0)
    return dataclasses.replace(
        soft,
        edges=put(soft.edges, ensemble.weight.ends[side]),
        density=put(soft.density, density),
        integral=put(soft.integral, np.append(integral, 0)),
        below=put(soft.below, (0.0, 1.0)[side]),
        above=put(soft.above, (1.0, 0.0)[side]),
        powers=soft.powers | {side: own.power},
    )


def _series(values: np.ndarray) -> np.ndarray:
    """The coefficients of the Legendre series through the values at the nodes."""
    # The series interpolates: a sum over the nodes would add the rounding of the weights, multiplied by the order.
    return np.linalg.solve(np.polynomial.legendre.legvander(_NODES, _NUM_TERMS - 1), values.T).T


def breakpoints(ensemble: ClassicalEnsemble) -> np.ndarray:
    """The ends of panels for quadrature wherever float64 can tell the density from 0."""
    return np.unique(np.concatenate([table(ensemble).edges, *(ladder(ensemble, side) for side in Side)]))


@functools.cache
def moment(ensemble: ClassicalEnsemble, k: int, centre: float, unit: float = 1.0) -> float:
    """The moment E ((X - c)/u)^k, by quadrature over the panels and both tails."""
    middle = table(ensemble)
    total = np.sum(middle.masses * ((middle.nodes - centre) / unit) ** k)
    for side in Side:
        x, masses = _tail_masses(ensemble, side)
        total += np.sum(masses * ((x - centre) / unit) ** k)
    return float(total)


@functools.cache
def _tail_masses(ensemble: ClassicalEnsemble, side: Side) -> tuple[np.ndarray, np.ndarray]:
    mirror = ensemble.mirror(side)
    if mirror is not None:
        x, masses = _tail_masses(mirror, side.opposite)
        return ensemble.reflect(x), masses
    nodes, weights = gauss_legendre(64)
    edges = np.sort(ladder(ensemble, side))
    angle = np.pi * (nodes + 1) / 2
    width = np.diff(edges)[:, None]
    # As in `special.integrate`, a power of the distance from a hard edge is smooth in the angle.
    x = edges[:-1, None] + width * np.sin(angle / 2) ** 2
    return x, width * (np.pi / 4 * weights * np.sin(angle)) * np.exp(log_density(ensemble, np, x))
