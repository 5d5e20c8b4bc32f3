r"""The ratio of two consecutive spacings in the bulk, from the table that `scripts/gap_ratio_table.py` builds.

The smaller of the two spacings is the fraction $v = r/(1 + r)$ of their sum. It has the density 2H(v) on (0, 1/2),
where H is an entire function of $y^2$, $y = 1 - 2v = (1 - r)/(1 + r)$. So a few Chebyshev series are the whole law.
"""

import functools
import math
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._typing import DysonIndex
from rmtjax.laws._core.log_space import AbstractLogarithmicLaw
from rmtjax.laws._core.tabulated import load
from rmtjax.special.internal import chebyshev_series, log_one_minus_exp


class _Series(NamedTuple):
    """Coefficients of functions on [0, 1], for one β."""

    density: list[float]  # H/(v(1 - v))^β by y²
    lower: list[float]  # F/v^(β+1) by 2v
    upper: list[float]  # (1 - F)/y by y²
    lower_quantile: list[float]  # v/w by w, in units of its largest value, where F = w^(β+1) ≤ 1/2
    upper_quantile: list[float]  # y/q by 2q, where 1 - F = q ≤ 1/2


@functools.cache
def _table() -> dict[int, _Series]:
    tables = load(Path(__file__).with_suffix(".npz"))["series"]
    # Each series ends where its coefficients are lost in rounding.
    series = [_Series(*(np.trim_zeros(row, "b").tolist() for row in rows)) for rows in tables]
    return dict(zip((1, 2, 4), series, strict=True))


def _value(coefficients: list[float], unit: Float[Array, "..."]) -> Float[Array, "..."]:
    """The value of a series at a point of [0, 1]."""
    return chebyshev_series(coefficients, 2 * unit - 1)


class GapRatio(AbstractLogarithmicLaw):
    r"""The exact law of the ratio of two consecutive spacings in the bulk of large spectra.

    For $\tilde r = \min(s_1/s_2, s_2/s_1)$ in [0, 1], with the joint density ρ of two consecutive spacings of mean 1,

    $$p(r) = 2 \int_0^\infty s\,\rho(rs, s)\,ds, \qquad p(r) \sim r^\beta \text{ at } 0 .$$

    The integrand is a Fredholm determinant (β = 2) or Pfaffian (β = 1 and 4) of the sine kernel, bordered by the three
    levels. The means are `mean_gap_ratio(beta)`: 0.53073, 0.59975 and 0.67444. `GapRatioSurmise` is a closed form for
    every β, whose density is 4 to 5 % too small near 0 and 1 to 2 % too large near 1. Circular ensembles are near this
    law already for few levels n: the relative distance of their densities is below 6/n⁴ for every n ≥ 3.

    In float64 all methods are right to 1e-14, both tails in relative error. Quantiles are series too, without a search.

    Convention: the ratio needs no unfolding. The density of $s_1/s_2$ itself is half of this one on [0, 1].

    Args:
        beta: 1, 2 or 4; static.

    Raises:
        ValueError: `beta` is outside its range.

    Example:
        >>> law = GapRatio(1)
        >>> print(f"{law.pdf(0.5):.5f} {law.cdf(0.5):.5f} {law.mean():.5f}")
        1.24387 0.46893 0.53073

    References:
        Atas, Bogomolny, Giraud and Roux (2013), Phys. Rev. Lett. 110, 084101; Nishigaki (2024), arXiv:2407.15704, for
        β = 2; Bornemann (2010), Math. Comp. 79, 871; Mehta (2004), Random Matrices, sections 6.1, 7.2 and 8.1.
    """

    beta: DysonIndex = eqx.field(static=True)

    def __init__(self, beta: DysonIndex):
        self.beta = _checks.dyson_index(beta)

    def _support(self) -> tuple[Array, Array]:
        return jnp.asarray(0.0), jnp.asarray(1.0)

    def _pdf_at_ends(self) -> tuple[Array | float, Array | float]:
        # The density at 1 is H(1/2)/2.
        return 0.0, _value(_table()[self.beta].density, jnp.asarray(0.0)) / (2 * 4**self.beta)

    def _logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        reduced = _value(_table()[self.beta].density, ((1 - x) / (1 + x)) ** 2)
        return math.log(2) + self.beta * jnp.log(x) - (2 * self.beta + 2) * jnp.log1p(x) + jnp.log(reduced)

    def _log_smaller_tail(self, x: Float[Array, "..."]) -> tuple[Array, Array, Array]:
        """Whether x is in the lower half, and the logarithms of F and of 1 - F, each right where it is the smaller."""
        y = (1 - x) / (1 + x)
        lower = jnp.log(_value(_table()[self.beta].lower, 1 - y))
        upper = jnp.log(_value(_table()[self.beta].upper, y**2))
        return x < 0.5, (self.beta + 1) * (jnp.log(x) - jnp.log1p(x)) + lower, jnp.log(y) + upper

    def _logcdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        below, log_f, log_sf = self._log_smaller_tail(x)
        return jnp.where(below, log_f, log_one_minus_exp(jnp.where(below, -1, log_sf)))

    def _logsf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        below, log_f, log_sf = self._log_smaller_tail(x)
        return jnp.where(below, log_one_minus_exp(jnp.where(below, log_f, -1)), log_sf)

    def _ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        below = p < 0.5
        w = jnp.where(below, p, 0.5) ** (1 / (self.beta + 1))
        v = w * _value(_table()[self.beta].lower_quantile, w * 2 ** (1 / (self.beta + 1)))
        q = jnp.where(below, 0.5, q)
        y = q * _value(_table()[self.beta].upper_quantile, 2 * q)
        return jnp.where(below, v / (1 - v), (1 - y) / (1 + y))
