r"""The limiting density of eigenvalues in a polynomial potential.

With the notation of `equilibrium_cuts`, $r\,G$ is a power series in $t = 1/\zeta$ with the coefficients γ. It ends for
one cut. For two it converges like $|t|^k$, so that near the cuts $(V' - h \sqrt R)/2$ takes its place. As
$2 u = \zeta + 1/\zeta$, the numerator of $1/(rG) - u = (1 - u\,rG)/(rG)$ is
$-\frac12 \sum_k (\gamma_{k+1} + \gamma_{k-1})\,t^k$, and an integration of $G\,dz$ gives
$U = \log(r \zeta/2) - \sum_k (\gamma_{k+1} - \gamma_{k-1})\,t^k/2k$.
"""

from typing import Annotated, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import like
from rmtjax._typing import RealLike
from rmtjax._units import unit_near
from rmtjax.laws._core.half_plane import edge_root, in_plane, quotient_of_one, upper_logs
from rmtjax.laws._core.spectral import AbstractSpectralLaw
from rmtjax.laws._spectra.equilibrium_cuts import (
    GRID,
    ends_of_cuts,
    force,
    height,
    in_unit,
    integral_from,
    located,
    placed,
    power_sum,
    reach,
    root,
    signs_of,
    slopes_of,
    times_root,
)
from rmtjax.special.internal import bracketed_root, chebyshev_series

# Beyond this |ζ| the series for two cuts has this many terms, which reach 1e-16.
_FAR, _TERMS = 1.5, 96


class _Solution(NamedTuple):
    """What the density and the transforms are made of."""

    coefficients: Float[Array, " m"]
    ends: Float[Array, " 2k"]
    force: Float[Array, " m"]  # the Chebyshev coefficients of r V',
    height: Float[Array, " n"]  # and of h
    series: Float[Array, " l"]  # the coefficients γ from the first order on
    below: Float[Array, " 2k"]  # the masses below and above the ends
    above: Float[Array, " 2k"]
    level: Float[Array, ""]  # V - 2 E log|x - X| on the cuts


def _solved(coefficients: Float[Array, " m"], ends: Float[Array, " 2k"]) -> _Solution:
    cuts = ends.size // 2
    w, h = force(coefficients, ends), height(coefficients, ends)
    last, terms = w.size - 1, w.size - 1 if cuts == 1 else max(_TERMS, w.size)
    rest = times_root(h, ends, 0.5, last + terms + 1)[last + 1 :]
    series = (jnp.pad(w[1:] / 2, (0, terms - last)) - rest) / 2
    halves = jnp.abs(integral_from(ends, h, ends, jnp.repeat((ends[::2] + ends[1::2]) / 2, 2))) / (2 * jnp.pi)
    masses = halves[::2] + halves[1::2]
    below = jnp.pad(jnp.repeat(masses[:-1], 2), 1, constant_values=(0, 1))
    above = jnp.pad(jnp.repeat(masses[1:], 2), 1, constant_values=(1, 0))
    # At this point the series converges.
    half = (ends[-1] - ends[0]) / 2
    x = ends[-1] + half * ((_FAR + 1 / _FAR) / 2 - 1)
    log_far = jnp.log(half / 2 * _FAR) - power_sum(_potential(series), 1 / _FAR + 0 * x) / _FAR
    level = x * power_sum(coefficients, x) - integral_from(ends, h, ends[-1], x) - 2 * log_far
    return _Solution(coefficients, ends, w, h, series, below, above, level)


def _fit(coefficients: Float[Array, " m"], cuts: int) -> Bool[Array, ""]:
    """Whether the support has so many cuts: the density is not negative, and V - 2 E log|x - X| not less outside."""
    m = coefficients.size
    confines = (coefficients[-1] > 0) & jnp.all(jnp.abs(coefficients) < jnp.inf)
    if m % 2 or m < 2 * cuts:
        return confines & False
    coefficients = jnp.where(confines, coefficients, like(coefficients, np.arange(m) == m - 1))
    coefficients = in_unit(coefficients, reach(coefficients))
    ends, gap = located(coefficients, cuts)
    solution, eps = _solved(coefficients, ends), float(jnp.finfo(gap.dtype).eps)
    right_number = gap <= eps**0.25 if cuts == 1 else gap > 0
    grid = like(ends, GRID[None, ::4])
    points = lambda start, end: start[:, None] + (end - start)[:, None] * grid
    inside = points(ends[::2], ends[1::2])
    density = chebyshev_series(solution.height, placed(ends, inside)) * like(ends, signs_of(cuts))[:, None]
    outside = points(jnp.append(-jnp.ones_like(gap), ends[1::2]), jnp.append(ends[::2], 1))
    # The bottoms of narrow wells, which may lie between these points, are zeros of V', but for very little.
    slope = lambda x: power_sum(slopes_of(coefficients), x)
    rises = jnp.sign(slope(outside[:, 1:]))
    bottoms = bracketed_root(lambda x: rises * slope(x), outside[:, :-1], outside[:, 1:])
    outside = jnp.concatenate([outside, bottoms], axis=1)
    value = outside * power_sum(coefficients, outside)
    excess = value - solution.level - 2 * jnp.real(_log_potential(solution, in_plane(outside))[0])
    limit = 8 * eps**0.5
    is_positive = jnp.min(density) >= -limit * jnp.max(density)
    is_least = jnp.min(excess + 64 * eps * jnp.abs(value)) >= -limit
    return confines & right_number & jnp.all(jnp.diff(ends) > 0) & is_positive & is_least


fit = compiled(_fit, static_argnums=1)


def _needs(coefficients: np.ndarray, cuts: int) -> str:
    """What is wrong with a potential."""
    if coefficients.size % 2 or not coefficients[-1] > 0 or not np.isfinite(coefficients).all():
        return f"{coefficients}, which does not confine"
    needs = (
        f"needs cuts={3 - cuts}"
        if fit(jnp.asarray(coefficients), 3 - cuts)
        else "needs more of them, or has cuts that the search does not find"
    )
    return f"{coefficients}, which {needs}"


_POTENTIAL = _checks.Rule(
    lambda coefficients, cuts: fit(jnp.asarray(coefficients), cuts),
    lambda cuts: f"be finite, of even number, the last one positive, with a support of cuts={cuts}",
    _needs,
)


class EquilibriumMeasure(AbstractSpectralLaw):
    r"""The limiting density of eigenvalues in a polynomial potential: the equilibrium measure.

    Let the joint density of n eigenvalues be proportional to

    $$\prod_{i < j} |\lambda_i - \lambda_j|^\beta \, \exp\Big(-\frac{\beta n}2 \sum_i V(\lambda_i)\Big), \qquad
    V(x) = c_1 x + c_2 x^2 + \dots + c_m x^m .$$

    The first coefficient belongs to x, because a constant in V would change nothing. As n → ∞ the law of one eigenvalue
    is the measure μ with $V(x) - 2 \int \log|x - y|\,d\mu(y) = l$ on its support and $\ge l$ elsewhere, whatever β is.
    Its support are intervals, the cuts; at most m/2 of them, and one if V is convex. With the product R of x minus each
    end, and a polynomial h,

    $$G(z) = \frac{V'(z) - h(z) \sqrt{R(z)}}2, \qquad f(x) = \frac{|h(x)| \sqrt{|R(x)|}}{2 \pi} .$$

    The ends and all values are right to some $10^{-13}$ of the support (single precision: $10^{-5}$), with relative
    digits in tails. Where a cut is born, splits or touches another one, or h is 0 at an end, they are right to some
    $10^{-5}$ ($10^{-2}$), and derivatives by c may be infinite. So small a gap between touching cuts is a single cut.
    Cuts that are narrower than their distance lose digits with the square of the ratio of both. A far cut that is
    narrower than a hundredth of the distance may be overlooked, and so may one or two cuts in a potential with three
    wells or more, about one in a hundred; then the potential is refused. The search takes a millisecond in each call.

    Convention: `EquilibriumMeasure([0, 1/2])` is `Semicircle(2)`, the law of `GUE(n)`.

    Args:
        coefficients: the coefficients c of x, x², …; an even number of them, of which the last is positive.
        cuts: the number of cuts, 1 or 2, static. Another number of them is refused, with the number that is needed.

    Raises:
        ValueError: an argument is outside its range, or the support has another number of cuts.

    Example:
        >>> law = EquilibriumMeasure([0.0, -2.0, 0.0, 0.25], cuts=2)  # x⁴/4 - 2x², on |x| from √2 to √6
        >>> print(f"{law.support()[1]:.4f} {law.pdf(2.0):.4f} {law.var():.2f}")
        2.4495 0.6366 4.00

    References:
        Brézin, Itzykson, Parisi and Zuber (1978), Commun. Math. Phys. 59, 35, for the quartic; Saff and Totik (1997),
        Logarithmic Potentials with External Fields, chapters I and IV; Deift (1999), Orthogonal Polynomials and Random
        Matrices, chapter 6.
    """

    coefficients: Annotated[Float[Array, " m"], _POTENTIAL, "cuts"]
    cuts: int = eqx.field(static=True)
    solution: _Solution | None = eqx.field(repr=False)  # in a law that is made for one call

    def __init__(self, coefficients: RealLike, cuts: int = 1):
        self.coefficients = _checks.vector("coefficients", coefficients)
        self.cuts = _checks.integer("cuts", cuts, at_least=1, at_most=2)
        self.solution = None

    def _size(self) -> Float[Array, ""] | None:
        return reach(self.coefficients) if self.solution is None else None

    def _over(self, size: Float[Array, ""]) -> Self:
        """The law of X divided by the unit, with its solution, so that there is one search in a call."""
        coefficients = in_unit(self.coefficients, unit_near(size))
        law = eqx.tree_at(lambda law: law.coefficients, self, coefficients)
        return eqx.tree_at(lambda law: law.solution, law, law._solution(), is_leaf=lambda part: part is None)

    def _solution(self) -> _Solution:
        if self.solution is not None:
            return self.solution
        return _solved(self.coefficients, ends_of_cuts(self.coefficients, self.cuts))

    def _support(self) -> tuple[Array, Array]:
        ends = self._solution().ends
        return ends[0], ends[-1]

    def _breakpoints(self) -> Float[Array, " 2k"]:
        return self._solution().ends

    def _is_bounded(self) -> bool:
        return True

    def _gap_levels(self) -> Float[Array, " k"]:
        return self._solution().below[1:-1:2]

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        _, ends, _, h, *_ = self._solution()
        nearest, _, inside, y = _nearest(self._solution(), x)
        sign = like(y, signs_of(self.cuts))[nearest // 2]
        density = sign * chebyshev_series(h, placed(ends, y)) * root(ends, 0.0, y)
        return jnp.where(inside, jnp.maximum(density, 0) / (jnp.pi * (ends[-1] - ends[0])), 0)

    def _tails(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        _, ends, _, h, _, below, above, _ = self._solution()
        nearest, side, inside, y = _nearest(self._solution(), x)
        part = side * jnp.where(inside, jnp.abs(integral_from(ends, h, ends[nearest], y)), 0) / (2 * jnp.pi)
        return below[nearest] + part, above[nearest] - part

    def _stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        solution = self._solution()
        _, t, r, near = _variable(solution, z)
        value = t * power_sum(solution.series, t)
        if self.cuts == 2:
            value = jnp.where(near, _near_cuts(solution, z, near), value)
        return value / r

    def _h(self, w: Complex[Array, "..."]) -> Complex[Array, "..."]:
        """The function 1/G - w, of which nothing cancels far away."""
        solution = self._solution()
        u, t, r, near = _variable(solution, w)
        value = -power_sum(_shifted(solution.series, 1), t) / 2 / power_sum(solution.series, t)
        if self.cuts == 2:
            value = jnp.where(near, quotient_of_one(_near_cuts(solution, w, near)) - u, value)
        return value * r - like(w, (solution.ends[0] + solution.ends[-1]) / 2)

    def _subordination(self, w: Complex[Array, "..."]) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
        return jax.jvp(self._h, (w,), (jnp.ones_like(w),))

    def _log_potential(self, w: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
        return _log_potential(self._solution(), w)


def _nearest(solution: _Solution, x: Float[Array, "..."]) -> tuple[Array, Array, Array, Array]:
    """The number of the nearest end, its side, whether x is in its cut, and x or else the middle of this cut."""
    ends = solution.ends.astype(x.dtype)
    nearest = jnp.sum(jnp.subtract.outer(x, (ends[1:] + ends[:-1]) / 2) > 0, axis=-1)
    side = like(x, 1 - 2 * (nearest % 2))
    inside = side * (x - ends[nearest]) > 0
    return nearest, side, inside, jnp.where(inside, x, ((ends[::2] + ends[1::2]) / 2)[nearest // 2])


def _variable(solution: _Solution, z: Complex[Array, "..."]) -> tuple[Array, Array, Array, Array]:
    """The variables u and t, r, and whether z is so near to the cuts that the series do not converge for two."""
    ends = solution.ends
    r, u = like(z, (ends[-1] - ends[0]) / 2), placed(ends, z)
    t = 1 / (u + edge_root(z, ends[0], ends[-1]) / r)
    return u, t, r, jnp.abs(t) > 1 / _FAR


def _near_cuts(solution: _Solution, z: Complex[Array, "..."], near: Bool[Array, "..."]) -> Complex[Array, "..."]:
    """The product r G near the cuts."""
    z = jnp.where(near, z, like(z, solution.ends[0]))
    u, (w, h) = placed(solution.ends, z), (like(z, each) for each in (solution.force, solution.height))
    return (chebyshev_series(w, u) - chebyshev_series(h, u) * root(solution.ends, 0.0, z)) / 2


def _log_potential(solution: _Solution, w: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
    ends, series = solution.ends, solution.series
    _, t, r, near = _variable(solution, w)
    far = upper_logs(r / 2 / t) - (t * power_sum(_potential(series), t))[None]
    z = jnp.where(near, w, like(w, ends[0]))
    nearest = _nearest(solution, jnp.real(z))[0]
    integral = integral_from(ends, solution.height, like(z, ends[nearest]), z)
    mean = (z * power_sum(solution.coefficients, z) - like(z, solution.level) - integral) / 2
    angles = like(z, jnp.stack([solution.above[nearest], -solution.below[nearest]])) * like(z, 1j * jnp.pi)
    return jnp.where(near, mean[None] + angles, far)


def _shifted(series: Float[Array, " l"], sign: int) -> Float[Array, " l+1"]:
    """The sums γ_{k+1} ± γ_{k-1} from k = 1 on."""
    return jnp.pad(series[1:], (0, 2)) + sign * jnp.pad(series, (1, 0))


def _potential(series: Float[Array, " l"]) -> Float[Array, " l+1"]:
    """The coefficients of the potential, whose derivative the series is."""
    return _shifted(series, -1) / like(series, 2 * np.arange(1, series.size + 2))
