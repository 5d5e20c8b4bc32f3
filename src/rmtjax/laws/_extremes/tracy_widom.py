"""The laws of Tracy and Widom, from the table that `scripts/tracy_widom_table.py` builds."""

import functools
import math
from pathlib import Path
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._typing import DysonIndex
from rmtjax.laws._core.tabulated import AbstractTabulatedLaw, at_ends, load
from rmtjax.special.internal import chebyshev_series, piecewise_chebyshev

# For β = 4, the factor from x in each convention to Bornemann's scaling, in which the table and expansions are.
Convention = Literal["tracy-widom", "bornemann", "stochastic-airy"]
_STRETCH: dict[Convention, float] = {"tracy-widom": 2 ** (1 / 2), "bornemann": 1.0, "stochastic-airy": 2 ** (2 / 3)}
_REACH = 13.0  # the panels of the table start at minus this
_LOWEST = {1: 4, 2: 3, 4: 2}  # the last available rank, by β


class _Table(NamedTuple):
    tail: np.ndarray
    slope: np.ndarray
    left: np.ndarray
    right: np.ndarray


@functools.cache
def _table() -> _Table:
    return _Table(**load(Path(__file__).with_suffix(".npz")))


class _Edge(NamedTuple):
    r"""The k-th largest level for β = 1 or 2, in Bornemann's scaling: a row of the table, and tails beyond it.

    With x = -s,

    $$\log F \approx -\frac{\beta x^3}{24} + \frac{2\beta(k - 1) + \beta - 2}{3\sqrt2} x^{3/2}, \qquad
    \log(1 - F) \approx -\frac{2\beta k}3 s^{3/2} - \frac{3\beta k^2}4 \log s .$$

    For the first three rows the table has expansions of the remainder. For the other rows the remainder has two terms,
    which are matched to the end of the table, where the tail is below 1e-36.
    """

    beta: int
    k: int
    row: int
    switch: float  # the table has log F below it and log(1 - F) above it
    last: float  # the right end of the panels

    def left(self, s: Float[Array, "..."]) -> Float[Array, "..."]:
        """Log F for s to the left of the table."""
        if self == _EDGES[1, 2]:  # (D_- + D_+)/2
            return jnp.logaddexp(_left(s, *_expansion(_EDGES[1, 1])), _left(s, *_expansion(self))) - math.log(2)
        return _left(s, *_expansion(self))

    def right(self, s: Float[Array, "..."]) -> Float[Array, "..."]:
        """Log(1 - F) for s to the right of the table."""
        root = s * jnp.sqrt(s)
        rest = chebyshev_series(_right_rest(self), 2 * (self.last**1.5 / root) - 1)
        return rest - self.right_power() * jnp.log(s) - self.right_rate() * root

    def right_rate(self) -> float:
        return 2 * self.beta * self.k / 3

    def right_power(self) -> float:
        return 3 * self.beta * self.k**2 / 4


_EDGES = {
    edge[:2]: edge
    for edge in (
        _Edge(1, 1, 0, -2.0, 13.0),
        _Edge(2, 1, 1, -2.0, 13.0),
        _Edge(1, 2, 2, -2.0, 13.0),
        _Edge(1, 3, 3, -4.0, 11.0),
        _Edge(1, 4, 4, -5.0, 8.0),
        _Edge(2, 2, 5, -4.0, 8.0),
        _Edge(2, 3, 6, -5.0, 6.0),
    )
}


def _left(
    s: Float[Array, "..."], beta: int, linear: float, power: float, coefficients: list[float]
) -> Float[Array, "..."]:
    """The expansion to the left of the logarithm of F or of a determinant."""
    x = -s
    root = x * jnp.sqrt(x)
    small, rest = 1 / root, jnp.zeros_like(x)
    for a in reversed(coefficients):
        rest = rest * small + a
    return linear * root - beta / 24 * root**2 + power * jnp.log(x) + rest


@functools.cache
def _expansion(edge: _Edge) -> tuple[int, float, float, list[float]]:
    r"""The arguments of `_left`: β, the factor of $x^{3/2}$, the power of x, and the coefficients of $x^{-3j/2}$.

    They belong to $\log D_-$, $\log D_- D_+$ and $\log D_+$ for the first three rows, and to log F for the other rows.
    """
    linear = (2 * edge.beta * (edge.k - 1) + edge.beta - 2) / (3 * 2**0.5)
    if edge.row < 3:
        minus, plus = _table().left
        return edge.beta, linear, -edge.beta / 16, [minus, minus + plus, plus][edge.row].tolist()
    (tail, log_slope), _ = at_ends(np.stack([_table().tail[edge.row, 0], _table().slope[edge.row, 0]]))
    slope = -np.exp(log_slope)
    x = _REACH
    power = x * (slope - 1.5 * linear * x**0.5 + edge.beta / 8 * x**2)
    constant = tail - linear * x**1.5 + edge.beta / 24 * x**3 - power * math.log(x)
    return edge.beta, linear, float(power), [float(constant)]


@functools.cache
def _right_rest(edge: _Edge) -> list[float]:
    r"""Chebyshev coefficients in $2(r/s)^{3/2} - 1$ of the remainder of log(1 - F), with the end r of the table."""
    if edge.row < 3:
        return _table().right[edge.row].tolist()
    s, panel = edge.last, int(edge.last + _REACH) - 1
    _, (tail, log_slope) = at_ends(np.stack([_table().tail[edge.row, panel], _table().slope[edge.row, panel]]))
    slope = -np.exp(log_slope)
    value = tail + edge.right_rate() * s**1.5 + edge.right_power() * math.log(s)
    # The slope in s is divided by the slope of the variable, which is -3/s at s = r.
    linear = -(slope + 1.5 * edge.right_rate() * s**0.5 + edge.right_power() / s) * s / 3
    return [float(value - linear), float(linear)]


@functools.cache
def _joints(edge: _Edge) -> tuple[np.ndarray, np.ndarray]:
    """Log F at the ends of the panels below the switch, and log(1 - F) at the ends of the panels above it."""
    starts, ends = at_ends(_table().tail[edge.row])
    switch, last = int(edge.switch + _REACH), int(edge.last + _REACH)
    return np.append(starts[:switch], ends[switch - 1]), np.append(starts[switch:last], ends[last - 1])


class TracyWidom(AbstractTabulatedLaw):
    r"""The law of Tracy and Widom, for the largest or the k-th largest eigenvalue at a soft edge.

    With the Hastings-McLeod solution q of $q'' = xq + 2q^3$, $q(x) \sim \mathrm{Ai}(x)$ as $x \to \infty$,

    $$F_2(x) = \exp\Big(-\int_x^\infty (y - x)\,q(y)^2\,dy\Big), \qquad \mu(x) = \int_x^\infty q,$$

    $$F_1 = \sqrt{F_2}\,e^{-\mu/2}, \qquad F_4(x/\sqrt2) = \sqrt{F_2}\,\cosh(\mu/2) .$$

    For the k-th largest level $F = E(0; x)$ becomes $\sum_{j<k} E(j; x)$, with the probability E(j; x) of j levels > x.

    In float64 `cdf` and `pdf` are right to 1e-14. Both tails are right to rounding, in relative error, as far as they
    can be represented. Their logarithms grow as $|x|^3$ to the left and $x^{3/2}$ to the right; they are right up to
    |x| = 1e77 (float32: 4e9) and constant beyond. In float32 all this holds to 1e-6. `ppf` inverts every normal number
    between 0 and 1. For `order` 2 and more, tails below 1e-36 are given by their leading terms.

    Convention: the law of $(\lambda_{\max}/s - 2)\,n^{2/3}$ for `GOE(n, s)` and `GUE(n, s)` as n → ∞. For β = 4 the
    literature has three scales; for β = 1 and 2 they agree.

    - `"tracy-widom"`, the default, is the formula above, with the mean -2.30688….
    - `"bornemann"` has $F_4(x)$ in place of $F_4(x/\sqrt2)$ and the mean -3.26242….
    - `"stochastic-airy"` has the mean -2.05520…. It is the scale of `GSE(n, s)` and, for every β, of minus the lowest
      level of the stochastic Airy operator.

    Args:
        beta: 1, 2 or 4.
        convention: `"tracy-widom"`, `"bornemann"` or `"stochastic-airy"`.
        order: rank k of the level, counted from the largest: up to 4 for β = 1, 3 for β = 2 and 2 for β = 4.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> law = TracyWidom(2)
        >>> print(f"{law.mean():.5f} {law.cdf(-2.0):.5f} {law.logsf(50.0):.2f} {law.ppf(0.99):.4f}")
        -1.77109 0.41322 -481.19 0.4776

    References:
        Tracy and Widom (1994), Commun. Math. Phys. 159, 151; Tracy and Widom (1996), Commun. Math. Phys. 177, 727;
        Ramírez, Rider and Virág (2011), J. Am. Math. Soc. 24, 919, for the stochastic Airy operator; Bornemann (2010),
        Markov Process. Relat. Fields 16, 803; Dieng and Tracy (2011), in Random Matrices, Random Processes and
        Integrable Systems, for further levels.
    """

    _highest_order = 20

    beta: DysonIndex = eqx.field(static=True)
    convention: Convention = eqx.field(static=True)
    order: int = eqx.field(static=True)

    def __init__(self, beta: DysonIndex, convention: Convention = "tracy-widom", order: int = 1):
        self.beta = _checks.dyson_index(beta)
        self.convention = _checks.choice("convention", convention, Convention)
        self.order = _checks.integer("order", order, at_least=1)
        if order > _LOWEST[self.beta]:
            raise _checks.refusal("order", f"be at most {_LOWEST[self.beta]} for beta={beta}", order)

    def _edge(self) -> _Edge:
        # The k-th level of β = 4 is the 2k-th of β = 1.
        return _EDGES[1, 2 * self.order] if self.beta == 4 else _EDGES[self.beta, self.order]

    def _stretch(self) -> float:
        return _STRETCH[self.convention] if self.beta == 4 else 1.0

    def _support(self) -> tuple[Array, Array]:
        return jnp.asarray(-jnp.inf), jnp.asarray(jnp.inf)

    def _breakpoints(self) -> Float[Array, " k"]:
        # The last panel is for high moments.
        return jnp.append(jnp.arange(-_REACH, _REACH + 1), 2 * _REACH) / self._stretch()

    def _switch(self) -> float:
        return self._edge().switch / self._stretch()

    def _tail_and_slope(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        s, edge = self._stretch() * x, self._edge()
        # Rounding may put s on the other side of the switch than x, where the other tail is tabulated.
        switch = jnp.asarray(edge.switch, s.dtype)
        below = x < self._switch()
        beside = jnp.where(below, jnp.nextafter(switch, jnp.asarray(-jnp.inf, s.dtype)), switch)
        s = s + jax.lax.stop_gradient(jnp.where(below == (s < switch), 0, beside - s))
        left, right = s < -_REACH, s >= edge.last
        middle = ~(left | right)
        inside = lambda table: piecewise_chebyshev(table[edge.row], -_REACH, 1.0, jnp.where(middle, s, 0))
        with_slope = lambda expansion, y: jax.jvp(expansion, (y,), (jnp.ones_like(y),))
        log_f, rise = with_slope(edge.left, jnp.where(left, s, -_REACH))
        log_sf, fall = with_slope(edge.right, jnp.where(right, s, _REACH))
        tail = jnp.where(middle, inside(_table().tail), jnp.where(left, log_f, log_sf))
        slope = jnp.where(middle, inside(_table().slope), jnp.log(jnp.where(left, rise, -fall)))
        return tail, slope + math.log(self._stretch())

    def _guess(self, below: Float[Array, "..."], above: Float[Array, "..."]) -> tuple[Array, Array]:
        edge = self._edge()
        rising, falling = (jnp.asarray(joint, below.dtype) for joint in _joints(edge))
        ends = jnp.arange(-_REACH, edge.last + 1, dtype=below.dtype)
        # The leading terms give the guess beyond the table.
        cube = jnp.cbrt(24 / edge.beta * below)
        root = jnp.cbrt(-above / edge.right_rate()) ** 2
        lower = jnp.where(below < rising[0], cube, jnp.interp(below, rising, ends[: rising.size]))
        upper = jnp.where(above < falling[-1], root, jnp.interp(-above, -falling, ends[rising.size - 1 :]))
        return lower / self._stretch(), upper / self._stretch()
