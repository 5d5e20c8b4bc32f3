"""The laws of spacings in the bulk, from the table that `scripts/spacing_table.py` builds."""

import functools
import math
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._typing import DysonIndex
from rmtjax.laws._core.tabulated import AbstractTabulatedLaw, at_ends, load
from rmtjax.special.internal import chebyshev_series, piecewise_chebyshev

# The panels of the table, each of width WIDTH, fill [0, REACH]. The expansion beyond is fitted up to _FARTHEST.
REACH = 20.0
_FARTHEST = 40.0
WIDTH = 0.5
# By the β of the table: the largest number k of levels inside a spacing, and the row of the table for k = 0.
_MOST = {1: 7, 2: 3}
_FIRST = {1: 0, 2: 8}


class _Table(NamedTuple):
    tail: np.ndarray
    slope: np.ndarray
    right: np.ndarray


@functools.cache
def table() -> _Table:
    """The series of the tail and of its slope by row and panel, and the series beyond the panels by row."""
    return _Table(**load(Path(__file__).with_suffix(".npz")))


@functools.cache
def _joints(row: int, number: int, power: int) -> tuple[np.ndarray, np.ndarray]:
    """Log F at the upper ends of the panels below the switch, and log(1 - F) at the ends of the panels above it."""
    starts, ends = at_ends(table().tail[row])
    lower = ends[:number] + power * np.log(WIDTH * np.arange(1, number + 1))
    return lower, np.append(starts[number:], ends[-1])


def variable_beyond(inverse: Float[Array, "..."]) -> Float[Array, "..."]:
    """The variable of the series beyond the panels, as a function of 1/s, for arrays of JAX or NumPy."""
    middle, half = (1 / REACH + 1 / _FARTHEST) / 2, (1 / REACH - 1 / _FARTHEST) / 2
    return (inverse - middle) / half


class Spacing(AbstractTabulatedLaw):
    r"""The law of Gaudin and Mehta: the exact law of the distance between neighbouring levels in the bulk.

    In units of the mean level spacing, with the probability E(j; s) that an interval of length s holds j levels,

    $$1 - F_k(s) = -\sum_{j=0}^{k-1} (k - j)\,E'(j; s), \qquad f_k(s) = \sum_{j=0}^{k-1} (k - j)\,E''(j; s),$$

    for the distance from a level to the k-th level above it; its mean is k. $f_k \sim s^\gamma$ at 0 with
    $\gamma = k - 1 + \tfrac\beta2 k(k + 1)$, and the upper tail is Gaussian, $\log(1 - F) \sim -\beta (\pi s)^2/16$.
    In float64 all methods are right to 1e-14. Both tails are right to rounding, in relative error, as far as they can
    be represented; further out the logarithm of the upper tail is right to 1e-10. Spacings for β = 4 are half of the
    spacings of order 2k for β = 1. `WignerSurmise` is a closed form whose density is off by up to 0.01.

    Args:
        beta: 1, 2 or 4.
        order: k, from 1 for neighbours, as in `statistics.spacings`, up to 8 for β = 1 and up to 4 for β = 2 and 4.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> law = Spacing(2)
        >>> print(f"{law.pdf(1.0):.5f} {law.mean():.5f} {law.var():.5f} {law.logsf(10.0):.2f}")
        0.90290 1.00000 0.17999 -121.29

    References:
        Gaudin (1961), Nucl. Phys. 25, 447; Mehta and Dyson (1963), J. Math. Phys. 4, 713; Mehta (2004), Random
        Matrices, sections 6.1, 7.1 and 11.7; Bornemann (2010), Markov Process. Relat. Fields 16, 803, section 5.
    """

    beta: DysonIndex = eqx.field(static=True)
    order: int = eqx.field(static=True)

    def __init__(self, beta: DysonIndex, order: int = 1):
        self.beta = _checks.dyson_index(beta)
        self.order = _checks.integer("order", order, at_least=1)
        most = _MOST[self._index()]
        if self._inside() > most:
            largest = (most + 1) // 2 if beta == 4 else most + 1
            raise _checks.refusal("order", f"be at most {largest} for beta={beta}", order)

    def _index(self) -> int:
        """The β of the table's row: 1 or 2."""
        return 2 if self.beta == 2 else 1

    def _inside(self) -> int:
        """The k of the table's row: the number of levels inside the tabulated spacing."""
        return 2 * self.order - 1 if self.beta == 4 else self.order - 1

    def _stretch(self) -> float:
        """The factor by which the tabulated spacings are longer."""
        return 2.0 if self.beta == 4 else 1.0

    def _row(self) -> int:
        return _FIRST[self._index()] + self._inside()

    def _power(self) -> int:
        """The exponent of s in F near 0."""
        k = self._inside()
        return k + self._index() * (k + 1) * (k + 2) // 2 + 1

    def _support(self) -> tuple[Array, Array]:
        return jnp.asarray(0.0), jnp.asarray(jnp.inf)

    def _breakpoints(self) -> Float[Array, " k"]:
        return jnp.arange(0, REACH + 1) / self._stretch()

    def _switch(self) -> float:
        return (self._inside() + 1) / self._stretch()

    def _right(self, s: Float[Array, "..."]) -> Float[Array, "..."]:
        """Log(1 - F) for s to the right of the table."""
        power, linear, square = self._growth()
        series = chebyshev_series(table().right[self._row()].tolist(), variable_beyond(1 / s))
        return series + power * jnp.log(s) + linear * s - square * s**2

    def _growth(self) -> tuple[float, float, float]:
        """The factors of log s, s and -s² in log(1 - F) far out."""
        beta, k = self._index(), self._inside()
        power = 1 - (beta * k * (k - 1) + 2 * k * (beta - 1)) / 4 - (1 / 8 if beta == 1 else 1 / 4)
        return power, (beta * k + beta / 2 - 1) * math.pi / 2, beta * (math.pi / 4) ** 2

    def _tail_and_slope(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        s = self._stretch() * x
        right = s > REACH
        inside = lambda rows: piecewise_chebyshev(rows[self._row()], 0.0, WIDTH, jnp.where(right, 0, s))
        far = jnp.where(right, s, REACH)
        log_sf, fall = jax.jvp(self._right, (far,), (jnp.ones_like(s),))
        below = s < self._inside() + 1
        log_s = jnp.log(jnp.where(below, s, 1))
        tail = jnp.where(right, log_sf, inside(table().tail) + self._power() * log_s)
        slope = jnp.where(right, jnp.log(-fall), inside(table().slope) - log_s)
        return tail, slope + math.log(self._stretch())

    def _guess(self, below: Float[Array, "..."], above: Float[Array, "..."]) -> tuple[Array, Array]:
        number = int((self._inside() + 1) / WIDTH)
        rising, falling = (jnp.asarray(a, below.dtype) for a in _joints(self._row(), number, self._power()))
        ends = jnp.arange(WIDTH, REACH + WIDTH, WIDTH, dtype=below.dtype)
        # The leading terms give the guess in the first panel and beyond the last panel.
        start = WIDTH * jnp.exp((below - rising[0]) / self._power())
        gauss = REACH * jnp.sqrt(above / falling[-1])
        lower = jnp.where(below < rising[0], start, jnp.interp(below, rising, ends[:number]))
        upper = jnp.where(above < falling[-1], gauss, jnp.interp(-above, -falling, ends[number - 1 :]))
        return lower / self._stretch(), upper / self._stretch()
