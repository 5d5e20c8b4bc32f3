r"""Upper tails of the statistics that are sums of squares, for independent values, as functions of the sample size.

The logarithm of the tail is a Chebyshev series in s, where

$$s^2 = -\frac n3 \log \frac{n/3 - x}{n/3 - x_{\min}} \quad (W^2 \le n/3), \qquad s^2 = x - x_{\min} \quad (A^2).$$

Near the largest value of W², where all values of the sample are at one end, the tail is a constant times
$(n/3 - x)^n$, and the tail of A² ends like $e^{-x}$. So the series continues as a line in $s^2$ of slope -3 and -1. The
table has a series for each n up to 12 and for n = 16, 24, 48 and ∞. For other n it is interpolated in 1/n.
`scripts/goodness_table.py` makes the table and says how.
"""

from functools import cache
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax.special.internal import log_one_plus

# The series are for s up to this number, where the tail is between 1e-28 and 1e-31.
_REACH = {"cramer-von-mises": 3.75, "anderson-darling": 8.0}
_SLOPE = {"cramer-von-mises": -3.0, "anderson-darling": -1.0}
# Rows of the table for n from 1 to this number; from here on the rows are nodes of the interpolation in 1/n.
_ALONE = 12


def cramer_von_mises_tail(w: Float[Array, ""], n: Float[Array, ""], most: int) -> Float[Array, ""]:
    """P(W² ≥ w), right to 1e-3 of itself down to 1e-12 and to 4 % far beyond; to 1e-4 for up to 12 values."""
    least, series = _row("cramer-von-mises", n)
    inside = (w > least) & (w < n / 3)
    square = -n / 3 * log_one_plus(-jnp.where(inside, w - least, 0) / (n / 3 - least))
    return jnp.where(inside, _tail("cramer-von-mises", series, square), jnp.where(w < n / 3, 1.0, 0.0))


def anderson_darling_tail(a: Float[Array, ""], n: Float[Array, ""], most: int) -> Float[Array, ""]:
    """P(A² ≥ a), right to 2e-4 of itself down to 1e-12 and to 3 % far beyond."""
    least, series = _row("anderson-darling", n)
    inside = (a > least) & (a < jnp.inf)
    tail = _tail("anderson-darling", series, jnp.where(inside, a - least, 0))
    return jnp.where(inside, tail, jnp.where(a < jnp.inf, 1.0, 0.0))


@cache
def _table() -> dict[str, np.ndarray]:
    with np.load(Path(__file__).with_name("null_tails.npz")) as arrays:
        return dict(arrays)


def _row(test: str, n: Float[Array, ""]) -> tuple[Float[Array, ""], Float[Array, " q"]]:
    """The least value of the statistic of n values and the coefficients of its series."""
    table = _table()
    # Lagrange's polynomials in y = 12/n, by their coefficients.
    nodes = _ALONE * table["inverse_sizes"][_ALONE - 1 :]
    degree = np.arange(nodes.size)
    polynomials = jnp.asarray(np.linalg.inv(nodes[:, None] ** degree), n.dtype)
    between = (jnp.minimum(_ALONE / n, 1) ** jnp.asarray(degree, n.dtype)) @ polynomials
    alone = jnp.where(jnp.arange(1, _ALONE, dtype=n.dtype) == n, 1, 0).astype(n.dtype)
    shares = jnp.concatenate([alone, jnp.where(n < _ALONE, 0, between)])
    rows = np.column_stack([table[f"{test}-least"], table[test]])
    found = jnp.matmul(shares, jnp.asarray(rows, n.dtype), precision="highest")
    return found[0], found[1:]


def _tail(test: str, series: Float[Array, " q"], square: Float[Array, ""]) -> Float[Array, ""]:
    """The tail at a value of s²."""
    reach, eps = _REACH[test], jnp.finfo(square.dtype).eps
    # The derivatives of the root and of the angle are infinite at the ends.
    near = jnp.clip(square, eps**2, reach**2 * (1 - 4 * eps))
    angle = jnp.arccos(2 * jnp.sqrt(near) / reach - 1)
    logarithm = jnp.sum(series * jnp.cos(angle * jnp.arange(series.size, dtype=angle.dtype)))
    beyond = jnp.maximum(square - near, 0)
    return jnp.exp(jnp.minimum(logarithm, 0) + _SLOPE[test] * beyond)
