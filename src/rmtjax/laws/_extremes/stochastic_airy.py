r"""The laws of Tracy and Widom for all β: a table from the equation of Bloemendal and Virág, and tails beyond it."""

import math
from collections.abc import Callable
from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._promotion import common_dtype
from rmtjax._typing import RealScalarLike
from rmtjax.laws._core.log_space import AbstractLogarithmicLaw
from rmtjax.laws._core.tabulated import not_too_far
from rmtjax.laws._extremes.stochastic_airy_equation import LOWER, TAIL, UPPER, left_leading, right_tail, table, unit
from rmtjax.special.internal import bracketed_root, log_normal_cdf, log_one_minus_exp, panel_nodes, piecewise_chebyshev

# The least β by the bits of the dtype: below it the march loses its digits.
_LEAST = {64: 0.001, 32: 0.05}
# Logarithms of float64 lie above this number.
_NOTHING = -760.0
# The panels for moments reach out to at most so many standard deviations, and there are so many of them.
_DEVIATIONS, _PANELS = 12.0, 12


class _Table(NamedTuple):
    r"""The unit of x, and the Chebyshev coefficients of G on panels, for $F = Φ(\sqrtβ\,G)$."""

    beta: Array
    unit: Array
    rows: Array

    @property
    def lower(self) -> Array:
        return LOWER * self.unit

    @property
    def upper(self) -> Array:
        return UPPER * self.unit

    def deviations(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """The number of standard deviations at which the normal distribution function is F, for x inside the table."""
        return jnp.sqrt(self.beta) * piecewise_chebyshev(self.rows, LOWER, 1.0, x / self.unit)

    def log_cdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """Log F to the left of the table, from its expansion, matched to the table in value and slope."""
        lower = self.lower
        value, slope = jax.jvp(lambda y: log_normal_cdf(self.deviations(y)), (lower,), (jnp.ones_like(lower),))
        leading, rise = jax.jvp(lambda y: left_leading(self.beta, y), (lower,), (jnp.ones_like(lower),))
        # The next term of the expansion is of order |x|^{-3/2}.
        rest = (slope - rise) * -lower / 1.5 * ((lower / x) ** 1.5 - 1)
        return left_leading(self.beta, x) + value - leading + rest

    def log_sf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """Log(1 - F) to the right of the table, from its expansion, matched to the table by the first omitted term."""
        omitted = (self.upper / x) ** (1.5 * (len(TAIL) + 1))
        rest = log_normal_cdf(-self.deviations(self.upper)) - right_tail(self.beta, self.upper)
        return right_tail(self.beta, x) + rest * omitted

    def sides(self, x: Float[Array, "..."]) -> tuple[Array, Array, Array, Array, Array]:
        """Whether x is left or right of the table, and x moved to the left of it, into it, and to the right of it."""
        left, right = x < self.lower, x > self.upper
        inner = jnp.where(left | right, 0, x)
        return left, right, jnp.where(left, x, self.lower), inner, jnp.where(right, x, self.upper)

    def logs(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """Log F and log(1 - F)."""
        left, right, below, inner, above = self.sides(x)
        z = self.deviations(inner)
        lower = left | (~right & (z < 0))
        # An absolute value would have a wrong derivative where it is 0.
        inside = log_normal_cdf(jnp.where(z < 0, z, -z))
        smaller = jnp.where(left, self.log_cdf(below), jnp.where(right, self.log_sf(above), inside))
        # The logarithm of a probability near 1 gets its digits from the other tail.
        larger = log_one_minus_exp(smaller)
        return jnp.where(lower, smaller, larger), jnp.where(lower, larger, smaller)

    def logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """Log of the normal density times the slope of its argument, or of a tail times its logarithmic slope."""
        left, right, below, inner, above = self.sides(x)
        with_slope = lambda fn, y: jax.jvp(fn, (y,), (jnp.ones_like(y),))
        (log_f, rise), (log_sf, fall) = with_slope(self.log_cdf, below), with_slope(self.log_sf, above)
        z, slope = with_slope(self.deviations, inner)
        middle = -(z**2 + math.log(2 * math.pi)) / 2 + jnp.log(slope)
        outside = jnp.where(left, log_f, log_sf) + jnp.log(jnp.where(left, rise, -fall))
        return jnp.where(left | right, outside, middle)


def _of_one_number(fn: Callable) -> Callable:
    """The function, differentiated in forward mode only, so that reverse mode stores nothing of the march."""

    @jax.custom_jvp
    def wrapped(beta: Array) -> tuple:
        return fn(beta)

    @wrapped.defjvp
    def _(primals: tuple, tangents: tuple) -> tuple:
        with_slopes = _of_one_number(lambda b: jax.jvp(fn, (b,), (jnp.ones_like(b),)))
        values, slopes = with_slopes(*primals)
        return values, jax.tree.map(lambda slope: slope * tangents[0], slopes)

    return wrapped


_table = _of_one_number(lambda beta: _Table(beta, unit(beta), table(beta)))


_ENOUGH = _checks.Rule(
    lambda beta: (beta >= _LEAST[jnp.finfo(beta.dtype).bits]) & (beta < math.inf),
    f"be finite and at least {_LEAST[64]}, in float32 {_LEAST[32]}",
)


class StochasticAiry(AbstractLogarithmicLaw):
    r"""The law of Tracy and Widom for any β, of minus the lowest level of the stochastic Airy operator.

    $$\mathcal H_β = -\frac{d^2}{dx^2} + x + \frac2{\sqrtβ}\,B'(x) \quad\text{on } x \ge 0,\ \text{zero at } 0,$$

    with white noise B'. It is $F_β(x) = F(x, \infty)$ for the bounded solution F of

    $$\frac{\partial F}{\partial x} + \frac2β\,\frac{\partial^2 F}{\partial w^2}
    + (x - w^2)\,\frac{\partial F}{\partial w} = 0, \qquad F \to 1 \text{ as } x, w \to \infty, \qquad
    F \to 0 \text{ as } w \to -\infty .$$

    Each call of a method solves the equation once for all its points, and differentiates it if the derivative in β is
    requested. In float64, for β from 0.01 to 100, `cdf` and `pdf` are right to 2e-12, and both tails in relative error
    to 1e-10 down to e^-30 (the upper tail to 1e-7 for β below 1). For larger β, x itself loses digits against the width
    of the law, and the error grows like $\sqrtβ$. Beyond 8 natural units of $(1 + 1/β)^{2/3}$ to the left and 9 to the
    right, the logarithms of the tails come from expansions, with a relative error of 5e-5. In float32, for β from 0.3
    to 100, `cdf` is right to 3e-6, `pdf` to 5e-5, and both tails to 5e-3 in relative error; elsewhere to fewer digits.

    For large β the law becomes normal about the first zero of the Airy function. For small β it is the law of the
    largest of many independent levels, $-\log F = \frac2{πβ} \arctan\frac{\mathrm{Ai}(z)}{\mathrm{Bi}(z)} + O(β)$ with
    $z = (β/2)^{2/3} x$.

    Convention: for `GaussianBeta(n, beta, s)` and n → ∞ the law of $(\lambda_{\max}/s - 2)\,n^{2/3}$. For β = 1, 2 and
    4 it is `TracyWidom(beta, "stochastic-airy")`, which is right to rounding; the mean at β = 4 is -2.05520….

    Args:
        beta: a finite β of at least 0.001, in float32 of at least 0.05.

    Raises:
        ValueError: `beta` is outside its range.

    Example:
        >>> import jax
        >>> with jax.enable_x64(True):
        ...     law = StochasticAiry(3.0)
        ...     print(f"{law.cdf(-2.0):.6f}")
        0.491210

    References:
        Ramírez, Rider and Virág (2011), J. Am. Math. Soc. 24, 919; Bloemendal and Virág (2013), Probab. Theory Relat.
        Fields 156, 795, theorem 1.7; Trogdon and Zhang (2024), SIGMA 20, 005, for another scheme of solution; Borot,
        Eynard, Majumdar and Nadal (2011), J. Stat. Mech. 2011, P11024, and the next three, for tails; Dumaz and Virág
        (2013), Ann. Inst. H. Poincaré Probab. Stat. 49, 915; Forrester (2012), J. Phys. A 45, 075206; Borot and Nadal
        (2012), Random Matrices Theory Appl. 1, 1250006.
    """

    _highest_order = 20

    beta: Annotated[Float[Array, ""], _ENOUGH]

    def __init__(self, beta: RealScalarLike):
        self.beta = _checks.scalar("beta", beta)

    def _support(self) -> tuple[Array, Array]:
        return jnp.asarray(-jnp.inf), jnp.asarray(jnp.inf)

    def _breakpoints(self) -> Float[Array, " k"]:
        return _breakpoints(_table(self.beta))

    def _logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return _table(self.beta).logpdf(not_too_far(x))

    def _logcdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return _table(self.beta).logs(not_too_far(x))[0]

    def _logsf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return _table(self.beta).logs(not_too_far(x))[1]

    def _ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        table, dtype = _table(self.beta), common_dtype(p, self.beta)
        least, greatest = (jnp.broadcast_to(end, p.shape) for end in _ends(table))
        below, log_f, log_sf = p < 0.5, jnp.log(p.astype(dtype)), jnp.log(q.astype(dtype))

        def excess(x: Float[Array, "..."]) -> Float[Array, "..."]:
            reached = table.logs(x)
            return jnp.where(below, reached[0] - log_f, log_sf - reached[1])

        return bracketed_root(excess, least, greatest)

    def _quadrature(self) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
        table = _table(self.beta)
        points, weights = panel_nodes(_breakpoints(table))
        return points.ravel(), (weights * jnp.exp(table.logpdf(points))).ravel()


def _ends(table: _Table) -> tuple[Array, Array]:
    """Points so far out that, by the leading terms, the probability beyond them underflows in float64."""
    beta, lower, upper = table.beta, table.lower, table.upper
    half = 2**0.5 / 6 * (beta - 2)
    root = (half + jnp.sqrt(half**2 - beta * _NOTHING / 6)) * 12 / beta
    return jnp.minimum(lower, -(root ** (2 / 3))) - 1, upper + (-1.5 * _NOTHING / beta) ** (2 / 3)


def _breakpoints(table: _Table) -> Float[Array, " k"]:
    """The ends of panels that are equal on the scale of a normal variate, and the ends of the tails."""
    least, greatest = _ends(table)
    points = jnp.linspace(table.lower, table.upper, 200)
    deviations = table.deviations(points)
    lower, upper = jnp.maximum(deviations[0], -_DEVIATIONS), jnp.minimum(deviations[-1], _DEVIATIONS)
    inner = jnp.interp(jnp.linspace(lower, upper, _PANELS + 1), deviations, points)
    return jnp.concatenate([least[None], inner, greatest[None]])
