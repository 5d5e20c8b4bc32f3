r"""The limiting density of eigenvalues in a polynomial potential.

With the notation of `equilibrium_cuts`, $r\,G$ is a power series in $t = 1/\zeta$ with the coefficients γ. It ends for
one cut. For two it converges like $|t|^k$, so that near the cuts $(V' - h \sqrt R)/2$ takes its place. As
$2 u = \zeta + 1/\zeta$, the numerator of $1/(rG) - u = (1 - u\,rG)/(rG)$ is
$-\frac12 \sum_k (\gamma_{k+1} + \gamma_{k-1})\,t^k$, and an integration of $G\,dz$ gives
$U = \log(r \zeta/2) - \sum_k (\gamma_{k+1} - \gamma_{k-1})\,t^k/2k$.
"""

import math
from typing import Annotated, Any, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Complex, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import like
from rmtjax._staging import at_once, is_outside
from rmtjax._typing import RealLike
from rmtjax._units import unit_near
from rmtjax.laws._core.half_plane import edge_root, quotient_of_one, upper_logs
from rmtjax.laws._core.spectral import AbstractSpectralLaw
from rmtjax.laws._spectra.equilibrium_cuts import (
    ends_of_cuts,
    force,
    height,
    in_unit,
    integral_from,
    placed,
    power_sum,
    reach,
    root,
    signs_of,
    slopes_of,
    times_root,
)
from rmtjax.laws._spectra.equilibrium_search import GRID, located
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


class _Found(eqx.Module):
    """What a potential determines, in its unit."""

    solution: _Solution
    bits: int = eqx.field(static=True)  # of its numbers


def _found(coefficients: Float[Array, " m"], cuts: int) -> tuple[_Found, Bool[Array, ""]]:
    """The solution with so many cuts in the unit of the potential, and whether it is one.

    The density is not negative, and V - 2 E log|x - X| not less outside.
    """
    m = coefficients.size
    confines = (coefficients[-1] > 0) & jnp.all(jnp.abs(coefficients) < jnp.inf)
    coefficients = jnp.where(confines, coefficients, like(coefficients, np.arange(m) == m - 1))
    coefficients = in_unit(coefficients, unit_near(reach(coefficients)))
    bits = jnp.finfo(coefficients.dtype).bits
    ends, right_number = located(coefficients, cuts)
    solution, far = _solved(coefficients, ends), reach(coefficients)
    grid, eps = like(ends, GRID[None]), float(jnp.finfo(ends.dtype).eps)
    limit = 8 * eps**0.5
    points = lambda start, end: start[:, None] + (end - start)[:, None] * grid
    h = lambda x: chebyshev_series(solution.height, placed(ends, x))
    density = h(points(ends[::2], ends[1::2])) * like(ends, signs_of(cuts))[:, None]
    outside = points(jnp.append(-far, ends[1::2]), jnp.append(ends[::2], far))
    # The bottoms of narrow wells, which may lie between these points, are zeros of V', but for very little.
    slope = lambda x: power_sum(slopes_of(coefficients), x)
    rises = jnp.sign(slope(outside[:, 1:]))
    bottoms = bracketed_root(lambda x: rises * slope(x), outside[:, :-1], outside[:, 1:])
    excess = _excess(solution, bottoms)
    fits = jnp.all(jnp.diff(ends) > 0) & (jnp.min(density) >= -limit * jnp.max(density)) & (jnp.min(excess) >= -limit)
    return _Found(solution, bits), confines & right_number & fits


def _excess(solution: _Solution, x: Float[Array, "k g"]) -> Float[Array, "k g"]:
    """What V - 2 E log|x - X| is more than on the cuts, below, between and above them, but for rounding."""
    ends, u = solution.ends, placed(solution.ends, x)
    t = jnp.where(jnp.abs(u) > 1, 1 / (u + jnp.sign(u) * jnp.sqrt(jnp.maximum(u**2 - 1, 0))), 1)
    near = jnp.abs(t) > 1 / _FAR
    t = jnp.where(near, 1 / _FAR, t)
    logarithm = jnp.log((ends[-1] - ends[0]) / 4 / jnp.abs(t)) - t * power_sum(_potential(solution.series), t)
    value = x * power_sum(solution.coefficients, x)
    far = value - solution.level - 2 * logarithm + 64 * float(jnp.finfo(x.dtype).eps) * jnp.abs(value)
    nearest = jnp.sum(jnp.subtract.outer(x, (ends[1:] + ends[:-1]) / 2) > 0, axis=-1)
    signs = like(x, signs_of(ends.size // 2 + 1))[:, None]
    return jnp.where(near, signs * integral_from(ends, solution.height, ends[nearest], x), far)


found = compiled(_found, static_argnums=1)


@jax.custom_jvp
def _solution_of(coefficients: Float[Array, " m"], solution: _Solution) -> _Solution:
    """The solution for the coefficients, with its derivatives by them."""
    del coefficients
    return solution


@_solution_of.defjvp
def _(primals: tuple, tangents: tuple) -> tuple[_Solution, _Solution]:
    solution = _solution_of(*primals)
    _, change = jax.jvp(lambda c: _solved(c, ends_of_cuts(c, solution.ends)), primals[:1], tangents[:1])
    return solution, change


def _in_longer_unit(solution: _Solution, ratio: Array) -> _Solution:
    """The solution for X divided by a power of two."""
    return solution._replace(ends=solution.ends / ratio, level=solution.level + 2 * jnp.log(ratio))


def _needs(coefficients: np.ndarray, cuts: int, _: np.ndarray) -> str:
    """What is wrong with a potential that confines."""
    needs = (
        f"needs cuts={3 - cuts}"
        if found(jnp.asarray(coefficients), 3 - cuts)[1]
        else "needs more of them, or has cuts that are too narrow for the search"
    )
    return f"{coefficients}, which {needs}"


def _must(cuts: int, *_: Array) -> str:
    return f"be an even number of finite values, the last one positive, with a support of cuts={cuts}"


def _does_not_confine(coefficients: np.ndarray, _: int) -> str:
    fault = "ends with zeros: leave these out" if coefficients.any() and not coefficients[-1] else "does not confine"
    return f"{coefficients}, which {fault}"


_CONFINES = _checks.Rule(lambda c, _: (c[-1] > 0) & (abs(c) < math.inf).all(), _must, _does_not_confine)
_HAS_CUTS = _checks.Rule(lambda coefficients, cuts, fits: fits, _must, _needs)


class EquilibriumMeasure(AbstractSpectralLaw):
    r"""The limiting density of eigenvalues in a polynomial potential: the equilibrium measure.

    Let the joint density of n eigenvalues be proportional to

    $$\prod_{i < j} |\lambda_i - \lambda_j|^\beta \, \exp\Big(-\frac{\beta n}2 \sum_i V(\lambda_i)\Big), \qquad
    V(x) = c_1 x + c_2 x^2 + \dots + c_m x^m .$$

    The first coefficient belongs to x, because a constant in V would change nothing. As n → ∞ the law of one eigenvalue
    is the measure μ with $V(x) - 2 \int \log|x - y|\,d\mu(y) = l$ on its support and $\ge l$ elsewhere, whatever β is.
    Its support consists of intervals, the cuts: at most m/2 of them, and one if V is convex. With the product R of x
    minus each end, and a polynomial h,

    $$G(z) = \frac{V'(z) - h(z) \sqrt{R(z)}}2, \qquad f(x) = \frac{|h(x)| \sqrt{|R(x)|}}{2 \pi} .$$

    The ends and all values are right to some $10^{-13}$ of the support (single precision: $10^{-5}$), with relative
    digits in tails. Where a cut is born, splits or touches another one, or h is 0 at an end, they are right to some
    $10^{-5}$ ($10^{-2}$), and derivatives by c may be infinite. Two cuts with a gap of this size between them count as
    one. Cuts that are narrower than their distance lose digits with the square of the ratio of both. With a cut that is
    narrower than some $10^{-4}$ of the distance (single precision: $10^{-2}$) a potential may be refused. The search
    takes milliseconds in each call.

    Convention: `EquilibriumMeasure([0, 1/2])` is `Semicircle(2)`, the law of `GUE(n)`.

    Args:
        coefficients: the coefficients c of x, x², …; an even number of them, of which the last is positive.
        cuts: the number of cuts, 1 or 2, static. A potential with another number of them is refused, and the error says
            if the other one of the two is right.

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

    coefficients: Annotated[Float[Array, " m"], _CONFINES, "cuts"]
    cuts: int = eqx.field(static=True)
    # In a law that is made for one call: what its check has found, and the solution in the unit of this law.
    found: _Found | None = eqx.field(repr=False)
    solution: _Solution | None = eqx.field(repr=False)

    def __init__(self, coefficients: RealLike, cuts: int = 1):
        self.coefficients = _checks.vector("coefficients", coefficients)
        self.cuts = _checks.integer("cuts", cuts, at_least=1, at_most=2)
        self.found = self.solution = None

    def _examined(self) -> tuple[Self, Any]:
        if self.found is not None or self.solution is not None:
            return self, True
        _, confines = super()._examined()
        size = self.coefficients.size
        if size % 2 or size < 2 * self.cuts:
            fault = "needs cuts=1" if size == 2 else "does not confine"
            words = _checks.Words(f"{self.coefficients}, which {fault}")
            raise _checks.refusal("coefficients", _must(self.cuts), words)
        if isinstance(self.coefficients, Tracer):
            result, fits = found(jax.lax.stop_gradient(self.coefficients), self.cuts)
        else:
            with at_once():
                result, fits = found(jnp.asarray(np.asarray(self.coefficients)), self.cuts)
                # Inside of a program the numbers of the host are constants on every mesh.
                result, fits = (result, fits) if is_outside() else jax.tree.map(np.asarray, (result, fits))
        fits = _HAS_CUTS.kept("coefficients", self.coefficients, self.cuts, fits)
        law = eqx.tree_at(lambda law: law.found, self, result, is_leaf=lambda part: part is None)
        return law, _checks.all_kept(confines, fits)

    def _size(self) -> Float[Array, ""] | None:
        return reach(self.coefficients) if self.solution is None else None

    def _over(self, size: Float[Array, ""]) -> Self:
        """The law of X divided by the unit, with its solution."""
        coefficients = in_unit(self.coefficients, unit_near(size))
        law = eqx.tree_at(lambda law: law.coefficients, self, coefficients)
        solution = self._solution_over(coefficients, unit_near(size))
        return eqx.tree_at(lambda law: law.solution, law, solution, is_leaf=lambda part: part is None)

    def _solution_over(self, coefficients: Float[Array, " m"], unit: Array | float) -> _Solution:
        """The solution for X divided by a unit, from the check, if it has all digits."""
        known, result = jax.lax.stop_gradient(self.coefficients), self.found
        if result is None or result.bits < jnp.finfo(known.dtype).bits:
            result, _ = found(known, self.cuts)
        solution = _in_longer_unit(result.solution, unit / unit_near(reach(known)))
        return _solution_of(coefficients, solution._replace(coefficients=jax.lax.stop_gradient(coefficients)))

    def _solution(self) -> _Solution:
        return self._solution_over(self.coefficients, 1.0) if self.solution is None else self.solution

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
