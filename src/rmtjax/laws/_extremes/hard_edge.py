"""The law of the smallest level at a hard edge, from Fredholm determinants."""

import functools
import math
from collections.abc import Callable
from typing import Annotated, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._promotion import aligned, common_dtype, like
from rmtjax._typing import DysonIndex, RealScalarLike
from rmtjax.laws._core import positive_axis
from rmtjax.laws._core.log_space import AbstractLogarithmicLaw
from rmtjax.laws._extremes.bessel_operator import ALPHA, bessel_order, hard_edge_operator
from rmtjax.linalg.internal import decompose_one_by_one
from rmtjax.special import bessel_j
from rmtjax.special.internal import (
    chebyshev_coefficients,
    chebyshev_nodes,
    chebyshev_series,
    log_one_minus_exp,
    log_one_plus,
    piecewise_chebyshev,
)

# Number of nodes of the determinants, by the bits of the dtype.
_NODES = {64: 64, 32: 36}
# The Bessel function is interpolated on so many panels, with so many nodes in each.
_BESSEL_PANELS, _BESSEL_NODES = 24, 16
# Determinants are used up to where the upper tail is about e^-19 in float64 and e^-7 in float32. There √s (2√s for
# β = 4) is a + p + q √(a + 1), with the order a of the Bessel function. The pair p, q is given by β and the bits.
_FARTHEST = {
    1: {64: (8.6, 1.95), 32: (4.3, 1.5)},
    2: {64: (7.0, 1.75), 32: (4.0, 1.35)},
    4: {64: (12.1, 2.1), 32: (7.7, 1.7)},
}
# Number of terms of the series near 0, and the end of its range in units of (a + 1)².
_TERMS, _SERIES_END = 40, 0.6
# With the smallest number `tiny`, the series is used where F is below tiny**_DEEP; determinants reach tiny**_UNDERFLOW.
_DEEP, _UNDERFLOW = 0.4, 0.45
# Quantiles come from interpolation on so many panels that halve towards 0 and so many equal ones, with so many nodes.
_HALVINGS, _EQUAL, _PANEL_NODES = 4, 16, 14
# Logarithms of float64 lie above minus this number.
_SMALLEST = 750.0
# Coefficients, in falling powers of √(1 - c), of the second correction to the ratio of the determinants.
_RATIO = (224, 41, -1180, -2120, -1460, -365)


class HardEdge(AbstractLogarithmicLaw):
    r"""The law of the smallest level at a hard edge, as for Wishart matrices that are nearly square.

    With the operator $T_a$ of kernel $\tfrac{\sqrt s}2 J_a(\sqrt{sxy})$ on (0, 1) and $D_\mp(a, s) = \det(1 \mp T_a)$

    $$1 - F = \begin{cases} D_-(2\alpha + 1, s) & \beta = 1, \\ D_-(\alpha, s)\,D_+(\alpha, s) & \beta = 2, \\
    \tfrac12 \big[D_-(\alpha - 1, 4s) + D_+(\alpha - 1, 4s)\big] & \beta = 4. \end{cases}$$

    In float64 probabilities are right to 1e-13, the lower tail in relative error (for β = 4 to 2e-11), if the order of
    the Bessel function is at least -1/2. Towards -1 digits are lost. In float32 the absolute error is 1e-5.
    Determinants lose the relative accuracy of the upper tail. Below e^-19 (float32: e^-7) the tail comes from the
    expansion of $\sigma = -s\,\tfrac{d}{ds}\log D_-D_+$, which solves

    $$(s\sigma'')^2 + \sigma'(\sigma - s\sigma')(4\sigma' - 1) = a^2\sigma'^2, \qquad
    \frac{d}{ds}\log\frac{D_-}{D_+} = -\sqrt{\sigma'/s} .$$

    The expansion in powers of 1/s has functions of $c = a/\sqrt s$ as coefficients, so it holds for every α. It begins
    with $\sigma = (\sqrt s - a)^2/4 + c/(16(1 - c)) + \dots$ and gives the tail's logarithm to 1e-6 (float32: 1e-3).

    Every point costs about half a millisecond. `ppf` and `sample` interpolate, to 1e-10 (float32: 1e-4).

    Convention: the limit of $4 n m \lambda_{\min}/c^2$ for `Wishart(n, m, beta, c)` with m - n fixed, where
    α = β(m - n + 1)/2 - 1, and of $8 n a \lambda_{\min}/(\beta c^2)$ for `LaguerreBeta(n, a, beta, c)`, where
    α = a - (n - 1)β/2 - 1. For the weight $x^\alpha e^{-\beta x/2}$, without a unit, it is the limit of
    $4 n \lambda_{\min}$. Far from the edge the density of all levels is $1/(2\pi\sqrt s)$.

    Args:
        alpha: α in [-0.95, 24] for β = 1, [-0.9, 50] for β = 2, [0.1, 50] for β = 4; differentiable.
        beta: 1, 2 or 4; static.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> law = HardEdge(0, beta=2)  # exp(-s/4)
        >>> print(f"{law.sf(4.0):.5f} {law.mean():.4f} {HardEdge(-0.5, beta=1).sf(4.0):.5f}")
        0.36788 4.0000 0.22313

    References:
        Edelman (1988), SIAM J. Matrix Anal. Appl. 9, 543; Forrester (1993), Nucl. Phys. B 402, 709; Forrester (2006),
        Nonlinearity 19, 2989; Tracy and Widom (1994), Commun. Math. Phys. 161, 289.
    """

    _highest_order = 20

    alpha: Annotated[Float[Array, ""], ALPHA, "beta"]
    beta: DysonIndex = eqx.field(static=True)

    def __init__(self, alpha: RealScalarLike, beta: DysonIndex = 2):
        self.beta = _checks.dyson_index(beta)
        self.alpha = _checks.scalar("alpha", alpha)

    def _support(self) -> tuple[Array, Array]:
        return jnp.asarray(0.0), jnp.asarray(jnp.inf)

    def _stretch(self) -> float:
        """The quotient of the operator's s and the law's s."""
        return 4.0 if self.beta == 4 else 1.0

    def _farthest(self, dtype: np.dtype) -> Float[Array, ""]:
        """The end of the range in which determinants are used."""
        order = bessel_order(self.alpha, self.beta)
        constant, multiple = _FARTHEST[self.beta][jnp.finfo(dtype).bits]
        return ((order + constant + multiple * jnp.sqrt(order + 1)) ** 2 / self._stretch()).astype(dtype)

    def _breakpoints(self) -> Float[Array, " k"]:
        dtype = jnp.result_type(self.alpha)
        return self._farthest(dtype) * jnp.asarray([0, 0.02, 0.12, 0.4, 1, 2, 8], dtype)

    def _pdf_at_ends(self) -> tuple[Array | float, Array | float]:
        # At α = 0 the upper tail is exp(-βs/8).
        return jnp.where(self.alpha == 0, self.beta / 8, 0.0), 0.0

    def _logcdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return self._log_tails(x)[0]

    def _logsf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return self._log_tails(x)[1]

    def _logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        (log_cdf, log_sf), (rise, fall) = jax.jvp(self._log_tails, (x,), (jnp.ones_like(x),))
        # The density comes from the smaller tail, which keeps its digits. A slope lost in rounding may have any sign.
        rise, fall = (jnp.maximum(slope, jnp.finfo(x.dtype).tiny) for slope in (rise, -fall))
        return jnp.where(log_cdf < log_sf, log_cdf + jnp.log(rise), log_sf + jnp.log(fall))

    def _ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        dtype = common_dtype(p, self.alpha)
        table = self._interpolated(dtype)
        # Beyond the table the upper tail falls like a Gaussian in √s, and at first more slowly. Twice the distance at
        # which the Gaussian would underflow holds every quantile.
        farthest = (2 * (table.edges[-1] + jnp.sqrt(8 * _SMALLEST / self.beta))) ** 2
        return positive_axis.ppf(table, p.astype(dtype), q.astype(dtype), farthest)

    def _log_tails(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """The logarithms of F and of 1 - F."""
        x = x.astype(common_dtype(x, self.alpha))
        end = self._farthest(x.dtype)
        near = jnp.minimum(x, end)
        log_series, in_series = self._lower_tail(near)
        log_gap, log_f = self._by_determinants(near)
        lower = in_series | (log_f < -math.log(2))
        log_sf = log_gap + self._beyond(x, end)
        known = jnp.where(in_series, log_series, jnp.where(lower, log_f, log_sf))
        other = log_one_minus_exp(known)
        return jnp.where(lower, known, other), jnp.where(lower, other, known)

    def _by_determinants(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """The logarithms of 1 - F and of F from determinants; log(1 - F) is right where 1 - F is the smaller tail."""
        order = bessel_order(self.alpha, self.beta).astype(x.dtype)
        bessel = _tabulated_bessel(order, jnp.sqrt(self._stretch() * self._farthest(x.dtype)))

        @functools.partial(jnp.vectorize, signature="()->(),()")
        def at(x: Float[Array, ""]) -> tuple[Float[Array, ""], Float[Array, ""]]:
            t = hard_edge_operator(self._stretch() * x, order, _NODES[jnp.finfo(x.dtype).bits], bessel)
            # Below this number the derivatives of log F would overflow, and F comes from the series.
            smallest = float(jnp.finfo(x.dtype).tiny) ** _UNDERFLOW
            if self.beta == 4:
                log_gap, f, _ = _mean_determinant(t)
                return log_gap, jnp.log(jnp.where(f < smallest, smallest, f))
            # For β = 2 use det(1 - T²): near s = 0 its logarithm is far smaller than the logarithms of its factors.
            log_gap = _determinant(t if self.beta == 1 else jnp.matmul(t, t, precision="highest"))[0]
            log_gap = jnp.where(log_gap > -smallest, -smallest, log_gap)
            return log_gap, log_one_minus_exp(log_gap)

        return at(x)

    def _lower_tail(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Array]:
        r"""Log F from the terms of lowest order near 0, and whether they are needed.

        In the basis $x^{a/2+k}$ the operator is the product of the diagonal matrix of its coefficients $c_k$ and the
        Cauchy matrix 1/(a + 1 + j + k). So its trace and, for β = 4, its minors of order 2 are explicit. They are
        needed where F underflows, and for β = 4 also where the second eigenvalue is lost in the rounding of the first.
        """
        h = (bessel_order(self.alpha, self.beta) + 1).astype(x.dtype)
        s = self._stretch() * x
        log_s, k = jnp.log(s / 4), jnp.arange(_TERMS, dtype=x.dtype)
        fall = gammaln(k + 1) + gammaln(h + k) - gammaln(h)
        sizes = jnp.exp(jnp.subtract(*aligned(jnp.multiply(*aligned(k, log_s[..., None])), fall)))
        c, j, k = jnp.multiply(*aligned(sizes, like(x, (-1.0) ** np.arange(_TERMS)))), k[:, None], k[None]
        if self.beta == 1:
            total, power = jnp.sum(jnp.divide(*aligned(c, h + 2 * k[0])), axis=-1), h / 2
        else:
            product = 1 / (h + j + k) ** 2
            minors = -((j - k) ** 2) / (2 * (h + 2 * j) * (h + 2 * k)) * product
            total, power = jnp.sum((c @ (minors if self.beta == 4 else product)) * c, axis=-1), h
        positive = total > 0
        log_f = power * log_s - 2 * power / h * gammaln(h) + jnp.log(jnp.where(positive, total, 1))
        info = jnp.finfo(x.dtype)
        deep = log_f < _DEEP * math.log(float(info.tiny))
        near = (s < _SERIES_END / 2 * h**1.5) & (self.beta == 4)
        inside = positive & (deep & (s < _SERIES_END * h**2) | near)
        return jnp.where(inside, log_f, -1), inside

    def _beyond(self, x: Float[Array, "..."], end: Float[Array, ""]) -> Float[Array, "..."]:
        """The change of the logarithm of the upper tail between `end` and x; 0 for smaller x."""
        farther = self._far_tail(jnp.stack([jnp.maximum(x, end), jnp.broadcast_to(end, x.shape)]))
        return farther[0] - farther[1]

    def _far_tail(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """The logarithm of the upper tail far out, up to a constant."""
        order = bessel_order(self.alpha, self.beta).astype(x.dtype)
        log_product, log_ratio = _expansions(self._stretch() * x, order)
        if self.beta == 2:
            return log_product
        if self.beta == 1:
            return (log_product + log_ratio) / 2
        return (log_product - log_ratio) / 2 + jnp.log1p(jnp.exp(log_ratio))

    def _interpolated(self, dtype: np.dtype) -> "_Interpolated":
        """The logarithms of both tails, interpolated in √s; the lower tail is divided by its power of s."""
        halves = 2.0 ** -np.arange(_HALVINGS, 0, -1) / _EQUAL
        parts = np.concatenate([[0], halves, np.arange(1, _EQUAL + 1) / _EQUAL])
        edges = jnp.sqrt(self._farthest(dtype)) * jnp.asarray(parts, dtype)
        half = jnp.diff(edges)[:, None] / 2
        x = (edges[:-1, None] + half * jnp.asarray(1 + chebyshev_nodes(_PANEL_NODES), dtype)[None]) ** 2
        log_cdf, log_sf = self._log_tails(x)
        rows = chebyshev_coefficients(jnp.stack([log_cdf - (self.alpha + 1) * jnp.log(x), log_sf]))
        return _Interpolated(self, edges, rows.astype(dtype))


class _Interpolated(NamedTuple):
    """The members of a law that `positive_axis.ppf` uses, from Chebyshev series in √s."""

    law: HardEdge
    edges: Float[Array, " panels+1"]
    rows: Float[Array, "2 panels q"]

    def _at(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        r = jnp.minimum(jnp.sqrt(x), self.edges[-1])
        panel = jnp.clip(jnp.searchsorted(self.edges, r) - 1, 0, self.edges.size - 2)
        lower, upper = self.edges[panel], self.edges[panel + 1]
        t = (2 * r - lower - upper) / (upper - lower)
        below, above = (chebyshev_series(jnp.moveaxis(row[panel], -1, 0), t) for row in self.rows)
        return below, above

    def _logcdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return self._at(x)[0] + (self.law.alpha + 1) * jnp.log(jnp.minimum(x, self.edges[-1] ** 2))

    def _logsf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return self._at(x)[1] + self.law._beyond(x, self.edges[-1] ** 2)


def _expansions(s: Float[Array, "..."], a: Float[Array, ""]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    r"""Log D_- D_+, up to a constant, and log D_-/D_+, for s > a².

    The logarithm of the product is $-\int\sigma\,ds/s$, and the logarithm of the ratio $-\int\sqrt{\sigma'/s}\,ds$.
    Both use the terms of σ up to 1/s². The constant in the ratio agrees with the ratio $e^{-\sqrt s}$ for a = 0, with
    $1/I_0(\sqrt s)$ for a = 1, and with Forrester (1994), J. Math. Phys. 35, 2539, for integer a.
    """
    r = jnp.sqrt(s)
    c = a / r
    w = 1 / (s * (1 - c) ** 3)
    corrections = -log_one_plus(-c) / 8 + c * w * (3 / 128 + 9 / 1024 * (2 * c + 5) * w)
    log_product = -s / 4 + a * r - a**2 / 4 * jnp.log(s) + corrections
    u = jnp.sqrt(1 - c)
    first = -(2 * u + 1) / (24 * u**3 * (1 + u) ** 2)
    second = jnp.polyval(jnp.asarray(_RATIO, u.dtype), u) / (11520 * u**9 * (1 + u) ** 4)
    constant = (math.log(math.pi) + a * (math.log(2) - 1)) / 2 - gammaln((a + 1) / 2)
    log_ratio = -r * u + a * jnp.log((1 + u) / 2 * jnp.sqrt(r)) + a / s * (first + second / s) + constant
    return log_product, log_ratio


def _tabulated_bessel(
    order: Float[Array, ""], farthest: Float[Array, ""]
) -> Callable[[Float[Array, "..."]], tuple[Float[Array, "..."], Float[Array, "..."]]]:
    r"""The Bessel function on (0, farthest] as a function of log z: a number and the logarithm of a factor.

    A matrix needs thousands of values. They are interpolated from some hundreds of $(1 + c^2/z^2)^{a/2} J_a(z)$, which
    tends to a constant at 0 and has the size of $J_a$ beyond c.
    """
    # The function does not depend on where its panels meet, so their width is not differentiated.
    width = jax.lax.stop_gradient(farthest) / _BESSEL_PANELS
    c = order + 2

    def log_factor(log_z: Float[Array, "..."]) -> Float[Array, "..."]:
        return order * (log_z - jnp.log(jnp.hypot(jnp.exp(log_z), c)))

    z = width * like(width, np.arange(_BESSEL_PANELS)[:, None] + (1 + chebyshev_nodes(_BESSEL_NODES)) / 2)
    logarithm = log_factor(jnp.log(z))
    # In float32 both underflow, where they do not matter. The slope of a quotient would contain the factor squared.
    small = logarithm < math.log(float(jnp.finfo(logarithm.dtype).tiny))
    values = jnp.where(small, 0, bessel_j(order, z)) * jnp.exp(-jnp.where(small, 0, logarithm))
    rows = chebyshev_coefficients(values.astype(order.dtype))

    def bessel(log_z: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        return piecewise_chebyshev(rows, 0.0, width, jnp.exp(log_z)), log_factor(log_z)

    return bessel


@jax.custom_jvp
def _determinant(a: Float[Array, "... q q"]) -> tuple[Float[Array, "..."], Float[Array, "... q q"]]:
    """Log det(1 - A) of a symmetric matrix, to relative accuracy where A is small, and the inverse of 1 - A."""
    values, vectors = decompose_one_by_one(a)
    # Towards a = -1 rounding makes the largest eigenvalue exceed 1.
    values = jnp.minimum(values, 1 - float(jnp.finfo(a.dtype).eps))
    rest, logarithms = 1 - values, log_one_plus(-values)
    inverse = jnp.matmul(vectors / rest[..., None, :], jnp.matrix_transpose(vectors), precision="highest")
    return jnp.sum(logarithms, axis=-1), inverse


@_determinant.defjvp
def _determinant_jvp(primals: tuple, tangents: tuple) -> tuple[tuple, tuple]:
    (a,), (change,) = primals, tangents
    log_determinant, inverse = _determinant(a)
    # No gap between eigenvalues appears, so the slope can be differentiated again at degeneracies.
    slope = -jnp.sum(inverse * change, axis=(-1, -2))
    product = lambda b, c: jnp.matmul(b, c, precision="highest")
    return (log_determinant, inverse), (slope, product(inverse, product(change, inverse)))


@jax.custom_jvp
def _mean_determinant(
    a: Float[Array, "... q q"],
) -> tuple[Float[Array, "..."], Float[Array, "..."], Float[Array, "... q q"]]:
    r"""For p = ½ [det(1 - A) + det(1 + A)] of a symmetric matrix: log p, 1 - p, and the gradient of 1 - p.

    With the elementary symmetric polynomials e of the eigenvalues, $1 - p = -\sum_{k \ge 1} e_{2k}$. The determinants
    differ from 1 by the larger $e_1$, so they do not have the digits of 1 - p. The derivative by an eigenvalue is minus
    the sum of the polynomials of odd degree in the other eigenvalues.
    """
    values, vectors = decompose_one_by_one(a)
    # Towards α = 0 and at large s rounding makes eigenvalues exceed 1.
    eps = jnp.finfo(a.dtype).eps
    minus, plus = jnp.maximum(1 - values, eps), jnp.maximum(1 + values, eps)
    log_minus, log_plus = (jnp.sum(jnp.log(each), axis=-1) for each in (minus, plus))

    def multiply(parts: tuple[Array, Array], value: Array) -> tuple[tuple[Array, Array], None]:
        rest, odd = parts
        return (rest - value * odd, odd + value * (1 - rest)), None

    # Ordered by size the eigenvalues alternate in sign, and nothing cancels.
    largest_first = jnp.take_along_axis(values, jnp.argsort(-jnp.abs(values), axis=-1), axis=-1)
    zero = jnp.zeros_like(log_minus)
    (rest, _), _ = jax.lax.scan(multiply, (zero, zero), jnp.moveaxis(largest_first, -1, 0))

    # Sum over the other eigenvalues directly: subtracting one term from the full sum would cancel.
    over_others = 1 - jnp.eye(values.shape[-1], dtype=a.dtype)
    others = lambda terms: jnp.einsum("ij,...j->...i", over_others, terms, precision="highest")
    odd = jnp.exp(others(jnp.log(minus * plus)) / 2) * jnp.sinh(others(jnp.arctanh(jnp.clip(values, eps - 1, 1 - eps))))
    gradient = jnp.matmul(vectors * -odd[..., None, :], jnp.matrix_transpose(vectors), precision="highest")
    return jnp.logaddexp(log_minus, log_plus) - math.log(2), rest, gradient


@_mean_determinant.defjvp
def _mean_determinant_jvp(primals: tuple, tangents: tuple) -> tuple[tuple, tuple]:
    (a,), (change,) = primals, tangents
    log_p, rest, gradient = _mean_determinant(a)
    slope = jnp.sum(gradient * change, axis=(-1, -2))
    # The gradient is ½ [D_- (1 - A)⁻¹ - D_+ (1 + A)⁻¹]; its derivative does not cancel and is differentiable again.
    logarithms, inverses = _determinant(jnp.stack([a, -a]))
    product, change = lambda b, c: jnp.matmul(b, c, precision="highest"), change[None]
    traces = jnp.sum(inverses * change, axis=(-1, -2))[..., None, None]
    bends = product(inverses, product(change, inverses)) - traces * inverses
    bend = jnp.sum(jnp.exp(logarithms)[..., None, None] * bends, axis=0) / 2
    return (log_p, rest, gradient), (-jnp.exp(-log_p) * slope, slope, bend)
