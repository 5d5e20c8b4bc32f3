r"""Wachter's law.

Derivation of the distribution function. Let c = a + b - 1 and N = a + b, so that the four dimensions in units of n are
1, a, b and c. In a triangle let √(ac) and √b enclose the angle φ and let N√x be the third side. Then N√(1 - x) is the
third side of the triangle in which √(bc) and √a enclose π - φ, and φ runs from 0 at $x_-$ to π at $x_+$. Since
1/[x(1 - x)] is the sum of 1/x and 1/(1 - x), the density is the sum of two densities of Marčenko-Pastur form, one in x
and one in 1 - x. Their masses are the squares of the shorter sides over N, and `mass_from_end` integrates each from the
nearer end. The total mass is the smallest of the four dimensions.
"""

import math
from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import common_dtype, like
from rmtjax._typing import RealScalarLike
from rmtjax.laws._core.half_plane import edge_root, pole, reciprocal
from rmtjax.laws._core.orders import no_more_than
from rmtjax.laws._core.spectral import AbstractSpectralLaw
from rmtjax.laws._spectra.mass_from_end import mass_from_end
from rmtjax.special.internal import whole_powers


class _Triangle(NamedTuple):
    """The triangle with the sides √(ac) and √b, in units of N = a + b, so that its third side is √x."""

    longer: Float[Array, ""]
    q: Float[Array, ""]  # the shorter side over the longer one
    gap: Float[Array, ""]  # 1 - q
    smallest: Float[Array, ""]  # the least x, the square of the difference of the sides
    largest: Float[Array, ""]  # the largest x, the square of their sum
    share: Float[Array, ""]  # the fraction of the continuous mass that belongs to this triangle


def _sides(a: Float[Array, ""], b: Float[Array, ""], c: Float[Array, ""]) -> _Triangle:
    sides, total = (jnp.sqrt(a * c), jnp.sqrt(b)), a + b
    # The squares of the sides differ by (a - 1) N. An absolute value would have a wrong derivative where it is 0.
    longer, shorter = jnp.where(a < 1, sides[1], sides[0]), jnp.where(a < 1, sides[0], sides[1])
    nearest = jnp.where(a < 1, 1 - a, a - 1) / (longer + shorter)
    share = jnp.where(a < 1, jnp.where(b < 1, a, c), jnp.where(b < 1, 1, b)) / total
    largest = ((longer + shorter) / total) ** 2
    return _Triangle(longer / total, shorter / longer, nearest * (total / longer), nearest**2, largest, share)


def _excess(a: Float[Array, ""], b: Float[Array, ""]) -> Float[Array, ""]:
    """The value a + b - 1, without rounding a + b first."""
    return (jnp.maximum(a, b) - 1) + jnp.minimum(a, b)


def _is_enough(b: Any, a: Any) -> Any:
    # Rounding may move the sum of the quotients m₁/n and m₂/n below 1 by this much.
    return (b > 0) & (b < math.inf) & (_excess(a, b) >= -2 * jnp.finfo(common_dtype(a, b)).eps)


class Wachter(AbstractSpectralLaw):
    r"""Wachter's law, the limiting spectral density of Jacobi (MANOVA) matrices.

    With $x_\pm = \Big(\frac{\sqrt{a(a+b-1)} \pm \sqrt b}{a+b}\Big)^2$,

    $$f(x) = \frac{(a + b) \sqrt{(x_+ - x)(x - x_-)}}{2\pi x (1 - x)}, \qquad x_- < x < x_+,$$

    and there are point masses $1 - a$ at 0 for $a < 1$ and $1 - b$ at 1 for $b < 1$. At $a = 1$ the density diverges as
    $x^{-1/2}$ at $x_- = 0$, at $b = 1$ as $(1 - x)^{-1/2}$ at $x_+ = 1$; $a = b = 1$ is the arcsine law. The mean is
    $a/(a+b)$, the variance $ab/(a+b)^3$, and $S(z) = (a + b + z)/(a + z)$. The moments are
    $E X^k = (a+b)\,E\max(0, 1 - J/k)$, where J is the sum of two independent binomial variates of k trials with the
    probabilities $(a+b-1)/(a+b)$ and $b/(a+b)$. All values are right to a few ulp, however small a tail is, at a point
    within a few ulp of x: the ends $x_\pm$ of the continuous part are rounded.

    `atoms()` always has two entries, because the presence of the atoms may depend on traced parameters: the ends of the
    support, with masses $\max(0, 1 - a)$ and $\max(0, 1 - b)$. Where a mass has a kink, its derivative is 0.

    Convention: the law of one eigenvalue of $(XX^* + YY^*)^{-1/2}\,XX^*\,(XX^* + YY^*)^{-1/2}$ with X n×m₁, Y n×m₂,
    $m_1/n \to a$ and $m_2/n \to b$, and of the squared cosines between random subspaces. At $a + b = 1$ only the two
    point masses are left.

    Args:
        a: a > 0.
        b: b > 0 with a + b ≥ 1 up to the rounding of both.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> law = Wachter(a=2.0, b=0.5)
        >>> print(f"{law.cdf(0.5):.5f} {law.mean():.1f} {law.sf(0.999):.1f}")
        0.17661 0.8 0.5

    References:
        Wachter (1980), Ann. Statist. 8, 937; Collins (2005), Probab. Theory Relat. Fields 133, 315, for subspaces.
    """

    a: Annotated[Float[Array, ""], _checks.POSITIVE]
    b: Annotated[Float[Array, ""], _checks.Rule(_is_enough, "be positive, finite and at least 1 - a"), "a"]

    def __init__(self, a: RealScalarLike, b: RealScalarLike):
        self.a = _checks.scalar("a", a, nonzero=True)
        self.b = _checks.scalar("b", b)

    def _dimensions(self) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
        """The dimensions a, b and c in units of n."""
        c = _excess(self.a, self.b)
        # This least value keeps all sides above 0; a continuous part so small is lost in the rounding of the atoms.
        return self.a, self.b, jnp.maximum(c, jnp.finfo(c.dtype).eps ** 2)

    def _triangles(self) -> tuple[_Triangle, _Triangle]:
        """The triangle with the third side √x, and the one with √(1 - x)."""
        a, b, c = self._dimensions()
        return _sides(a, b, c), _sides(b, a, c)

    def _ends(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """The ends of the continuous part; the upper end is exactly 1 where b is 1."""
        below, above = self._triangles()
        return below.smallest, jnp.where(below.largest > 0.5, 1 - above.smallest, below.largest)

    def _support(self) -> tuple[Array, Array]:
        lower, upper = self._ends()
        return jnp.where(self.a < 1, 0, lower), jnp.where(self.b < 1, 1, upper)

    def _atoms(self) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        return jnp.stack(self._support()), jnp.stack(self._masses())

    def _masses(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """The masses of the atoms at 0 and 1."""
        return jnp.where(self.a < 1, 1 - self.a, 0), jnp.where(self.b < 1, 1 - self.b, 0)

    def _is_bounded(self) -> bool:
        return True

    def _breakpoints(self) -> Float[Array, " k"]:
        lower, upper = self._support()
        return jnp.stack([lower, *self._ends(), upper])

    def _half_angle(self, x: Float[Array, "..."]) -> tuple[Array, Array, Array, Array]:
        """Whether x is in the continuous part, not in a gap at an atom; x (or the midpoint), sin(φ/2), cos(φ/2)."""
        a, b, c = self._dimensions()
        below, above = self._triangles()
        lower, upper = self._ends()
        inside = (x > lower) & (x < upper)
        x = jnp.where(inside, x, lower / 2 + upper / 2)
        to_upper = jnp.where(below.largest > 0.5, (1 - x) - above.smallest, below.largest - x)
        root = lambda distance: jnp.sqrt(jnp.where(inside, distance / (4 * jnp.sqrt(a * b * c)) * (a + b) ** 2, 0.5))
        return inside, x, root(x - lower), root(to_upper)

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        a, b, c = self._dimensions()
        inside, x, sine, cosine = self._half_angle(x)
        # Divide by each root twice: at a = 1 dividing by x has the derivative 0/0 near 0, long before it overflows.
        one_side = lambda side, distance: side / jnp.sqrt(distance) / jnp.sqrt(distance)
        height = 2 / jnp.pi * jnp.sqrt(a * b * c) / (a + b)
        return jnp.where(inside, height * one_side(sine, x) * one_side(cosine, 1 - x), 0)

    def _tails(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        a, b, c = self._dimensions()
        below, above = self._triangles()
        inside, y, sine, cosine = self._half_angle(x)
        # Only the mass from the nearer end is computed; the other mass is its complement, which never exceeds 1.
        left = sine < cosine
        small, large = jnp.where(left, sine, cosine), jnp.where(left, cosine, sine)
        near = below.share * mass_from_end(left, small, large, jnp.sqrt(y) / below.longer, below.q, below.gap)
        near += above.share * mass_from_end(~left, small, large, jnp.sqrt(1 - y) / above.longer, above.q, above.gap)
        lower = jnp.where(inside, jnp.where(left, near, 1 - near), like(near, x > y))
        upper = jnp.where(inside, jnp.where(left, 1 - near, near), like(near, x <= y))
        continuous = jnp.where(a < 1, jnp.where(b < 1, c, a), jnp.where(b < 1, b, 1))
        at_0, at_1 = self._masses()
        return at_0 + continuous * lower, at_1 + continuous * upper

    def _moment(self, k: int) -> Float[Array, ""]:
        a, b, c = self._dimensions()
        if k == 0:
            return 0 * a + 1
        no_more_than(100, k)
        j, total = jnp.arange(k + 1), a + b
        ways = jnp.asarray([math.comb(k, i) for i in range(k + 1)], total.dtype)
        power = lambda part, j: whole_powers(part / total, j)
        binomial = lambda success, failure: ways * power(success, j) * power(failure, k - j)
        remaining = like(total, jnp.maximum(k - j[:, None] - j[None], 0)) / k
        return total * jnp.sum(remaining * binomial(c, 1)[:, None] * binomial(b, a)[None])

    def _var(self) -> Float[Array, ""]:
        total = self.a + self.b
        return self.a / total * (self.b / total) / total

    def _central_moments(self, *orders: int) -> tuple[Float[Array, ""], ...]:
        # The third central moment is the third free cumulant; the fourth has twice the squared variance in addition.
        total, variance = self.a + self.b, self._var()
        asymmetry = (self.b - self.a) / total
        third = variance * asymmetry / total
        fourth = (third * asymmetry - variance**2) / total + 2 * variance**2
        return tuple({2: variance, 3: third, 4: fourth}[k] for k in orders)

    def _stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        # The continuous part, of mass (N - S)/2 with S = |a - 1| + |b - 1|, solves z(1 - z) G² - P G + (N² - S²)/4 = 0
        # with P = |a - 1| (z - 1) + |b - 1| z. An absolute value would have a wrong derivative where it is 0.
        a, b, c = self._dimensions()
        left, right = (jnp.where(dimension < 1, 1 - dimension, dimension - 1) for dimension in (a, b))
        numerator = 2 * jnp.where(a < 1, jnp.where(b < 1, c, a * b), jnp.where(b < 1, a * b, c))
        left, right, both, numerator = (like(z, each) for each in (left, right, a + b, numerator))
        continuous = left * (z - 1) + right * z + both * edge_root(z, *self._ends())
        at_0, at_1 = self._masses()
        return pole(z, 0.0, at_0) + pole(z, 1.0, at_1) + reciprocal(continuous / numerator)

    def _free_cumulant(self, k: int) -> Float[Array, ""]:
        no_more_than(50, k)
        # The series C = Σ κ_k g^k solves C (a + b + C) = g (a + C).
        total = self.a + self.b
        cumulants = [0 * total, self.a / total]
        for j in range(2, k + 1):
            products = sum(cumulants[i] * cumulants[j - i] for i in range(1, j))
            cumulants.append((cumulants[j - 1] - products) / total)
        return cumulants[k]

    def _r_transform(self, g: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        a, gap = like(g, self.a), like(g, self.a + self.b) - g
        return 2 * a / (gap + jnp.sqrt(gap**2 + 4 * a * g))

    def _s_transform(self, z: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        return (like(z, self.a + self.b) + z) / (like(z, self.a) + z)
