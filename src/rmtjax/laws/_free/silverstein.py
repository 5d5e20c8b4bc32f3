r"""Silverstein's equation, solved for the subordinate point.

Derivation. Let c be the ratio and w the weights of the points t of the population. The law of the companion matrix
X*ΣX/m is free compound Poisson, with the R-transform $c \sum_k w_k t_k/(1 - t_k g)$. So its Stieltjes transform at z is
1/ω with

$$z = ω\,\Big(1 + c \sum_k \frac{w_k t_k}{ω - t_k}\Big),$$

which maps a part of the upper half plane one to one onto all of it (Silverstein and Choi, with $ω = -1/\underline m$).
As z tends to a real x, either ω = ρ exp(iφ) is real or, from the imaginary part of the equation, with
$D_k = |ω - t_k|^2$,

$$c \sum_k w_k t_k^2/D_k = 1, \qquad x = ρ^2 c \sum_k w_k t_k/D_k, \qquad f(x) = \frac{\sin φ}{π c ρ}.$$

Along the solutions Re ω and ρ increase with x, and $x \min t \le ρ^2 \le x \max t$, also in the gaps between bands. For
a given ρ the first sum decreases as 1 - cos φ grows. Nothing cancels if each difference $1 - t^2/D$ with t > ρ is
written as $(ρ^2 - 2 t \operatorname{Re} ω)/D$.

The distribution function. The primitive of dz/ω is $z/ω + \log ω + c \sum_k w_k \log(1 - t_k/ω)$. With S(a) = a - sin a
and the angle $ψ_k$ at ω in the triangle of 0, $t_k$, and ω, the first sum turns its imaginary part into

$$π c\,P(X > x) = \tfrac12 S(2φ) + \tfrac c2 \sum_k w_k S(2ψ_k).$$

At the lower end of the continuous part ω > 0 if $c\,P(t > 0) < 1$, and ω < 0 otherwise. Let α = φ or π - φ be the angle
at 0 that vanishes there, $η_k$ the angle at $t_k$ (its supplement in the second case), $χ_k = α ± η_k$, and
$κ_k = \sin χ_k / \sin α = t_k/\sqrt{D_k}$. The mass between that end and x is the sum of $c w_k E_k/πc$ with

$$E = ±\tfrac12 [S(2χ) - κ^2 S(2α)] = S(η) + 2 i P \cos η + 2 \sin η \sin^2 \tfrac η2 ± (i^2 P \cos α + α \sin^2 η),$$

where $i = \sin η/\sin α = ρ/\sqrt D$ and P = sin α - α cos α. The first form is used for χ far below α. In a gap the
sum of $c w κ^2$ is not 1, and its difference from 1, times ½ S(2α), is added.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Complex, Float

from rmtjax._promotion import like
from rmtjax.laws._free.subordination import ends_of_gaps, harmonic_root
from rmtjax.special.internal import bracketed_root, implicit_root, t_minus_sin_t

_NEWTON_STEPS = 5


class Point(NamedTuple):
    """The subordinate point ρ exp(iφ), and the square D of its distance from each point t."""

    radius: Float[Array, ""]
    versine: Float[Array, ""]  # 1 - cos φ
    sine: Float[Array, ""]
    squares: Float[Array, " k"]
    deficit: Float[Array, ""]  # in a gap 1 minus the first sum above, in a band 0


class Silverstein(NamedTuple):
    """The equation of a ratio and a population without its null eigenvalues; weights may be 0, points may not."""

    ratio: Float[Array, ""]
    points: Float[Array, " k"]
    weights: Float[Array, " k"]
    null: Float[Array, ""]  # the weight of the null eigenvalues

    def overfull(self) -> Bool[Array, ""]:
        """Whether the continuous part lacks mass because there are more variables than observations."""
        return self.ratio * (1 - self.null) > 1

    def _remainder(self, far: Bool[Array, " k"]) -> Float[Array, ""]:
        """The difference 1 - c P(t far), from the near points; a sum over the far points would cancel for c near 1."""
        return 1 - self.ratio * (1 - self.null - jnp.sum(jnp.where(far, 0, self.weights)))

    def _deficit(self, square: Array, product: Array, squares: Array) -> Float[Array, ""]:
        """The difference 1 - c Σ w t²/D, from |ω|² (square), |ω|² - 2t Re ω (product), and D (squares)."""
        far = self.points**2 > square
        terms = jnp.where(far, product, -(self.points**2)) / squares
        return self._remainder(far) + self.ratio * jnp.sum(self.weights * terms)

    def _at(self, u: Float[Array, ""], v: Float[Array, ""] | float = 0.0) -> Float[Array, ""]:
        """The value of `_deficit` at ω = u + iv."""
        square = u**2 + v**2
        return self._deficit(square, square - 2 * u * self.points, (u - self.points) ** 2 + v**2)

    def image(self, omega: Array) -> Array:
        """The z of a real or complex ω."""
        return omega * self.slope(omega)

    def slope(self, omega: Array) -> Array:
        """The quotient z/ω, in which points larger than |ω| contribute in another form than smaller points."""
        far = self.points > jnp.abs(jax.lax.stop_gradient(omega))
        parts = self.points, self.weights, self._remainder(far), self.ratio
        points, weights, rest, ratio = (like(omega, part) for part in parts)
        terms = jnp.where(far, omega, points) / (omega - points)
        return rest + ratio * jnp.sum(weights * terms)

    def _spread(self) -> Float[Array, ""]:
        """A bound on the distance of z - ω from its mean, and on the distance of the outermost ω from the points."""
        return jnp.sqrt(self.ratio * jnp.sum(self.weights * self.points**2))

    def outer_ends(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """The lowest and the highest real ω of a band."""
        least, largest = map(jax.lax.stop_gradient, (jnp.min(self.points), jnp.max(self.points)))
        # A search that could end at one of the points would divide by 0.
        below, above = jnp.nextafter(least, -jnp.inf), jnp.nextafter(largest, jnp.inf)
        lower = bracketed_root(lambda u: -self._at(u), least - self._spread(), below)
        return lower, bracketed_root(self._at, above, largest + self._spread())

    def inner_ends(self) -> Float[Array, " 2k-2"]:
        """The points x where gaps begin and end; twice the same x between two points that have no gap."""
        masses = self.ratio * self.weights * self.points**2
        return ends_of_gaps(self.image, lambda u: self.abscissa(self.point(u)), self.points, masses)

    def point(self, radius: Float[Array, ""]) -> Point:
        """The subordinate point of absolute value ρ."""
        t, tau = self.points, self.points / radius
        product = lambda versine: radius * (radius - 2 * t * (1 - versine))
        squares = lambda versine: (radius - t) ** 2 + 2 * radius * t * versine
        deficit = lambda versine: self._deficit(radius**2, product(versine), squares(versine))
        # Each of the points alone gives a lower bound, which is above 0 for ρ near that point.
        bounds = 1 + ((self.ratio * self.weights - 1) * tau - 1 / tau) / 2
        versine = harmonic_root(deficit, jnp.maximum(jnp.max(bounds), 0))
        inside = (versine > 0) & (versine < 2)
        some = jnp.where(inside, versine, 1)
        sine = jnp.where(inside, jnp.sqrt(some * (2 - some)), 0)
        versine = jnp.where(inside, versine, jnp.where(versine > 0, 2, 0))
        # On the circle through one of the points the deficit at the angle 0 would be infinite.
        lack = jnp.where(versine == 0, deficit(jnp.where(versine == 0, versine, 1)), 0)
        return Point(radius, versine, sine, squares(versine), lack)

    def abscissa(self, point: Point) -> Float[Array, ""]:
        """The point x to which ω is subordinate."""
        total = self.ratio * jnp.sum(self.weights * self.points / point.squares)
        return point.radius * (point.deficit + point.radius * total)

    def subordinate(self, x: Float[Array, ""]) -> Point:
        """The subordinate point of an x between the ends of the continuous part."""
        lowest = jnp.maximum(jnp.sqrt(x * jnp.min(self.points)), jnp.abs(self.outer_ends()[0]))
        highest = jnp.sqrt(x * jnp.max(self.points))
        excess = lambda radius: self.abscissa(self.point(radius)) - x
        return self.point(bracketed_root(excess, lowest, jnp.maximum(lowest, highest)))

    def density(self, point: Point) -> Float[Array, ""]:
        """The density at x."""
        return point.sine / (jnp.pi * self.ratio * point.radius)

    def masses(self, point: Point) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """The masses up to x and above x; the smaller mass is computed from its end, the larger is its complement."""
        radius, t, sine, cosine = point.radius, self.points, point.sine, 1 - point.versine
        half = lambda angle: t_minus_sin_t(2 * angle) / 2
        overfull, root = self.overfull(), jnp.sqrt(point.squares)
        # The angles come from sin φ and cos φ: sin(φ/2) and cos(φ/2) would have infinite derivatives in the gaps.
        from_zero = jnp.arctan2(sine, cosine)
        psi = jnp.arctan2(t * sine, radius - t * cosine)
        above = (half(from_zero) + self.ratio * jnp.sum(self.weights * half(psi))) / (jnp.pi * self.ratio)

        sign = jnp.where(overfull, -1, 1)
        alpha, eta = jnp.arctan2(sine, sign * cosine), jnp.arctan2(radius * sine, t - radius * cosine)
        rest = 2 * alpha * jnp.sin(alpha / 2) ** 2 - t_minus_sin_t(alpha)  # sin α - α cos α
        i, sine_eta, cosine_eta = radius / root, radius * sine / root, (t - radius * cosine) / root
        terms = t_minus_sin_t(eta) + 2 * i * rest * cosine_eta + 2 * sine_eta * jnp.sin(eta / 2) ** 2
        terms = terms + sign * (i**2 * rest * sign * cosine + alpha * sine_eta**2)
        terms = jnp.where(overfull & (2 * psi < alpha), t**2 / point.squares * half(alpha) - half(psi), terms)
        continuous = point.deficit * half(alpha) + self.ratio * jnp.sum(self.weights * terms)
        atom = jnp.where(overfull, (self.ratio - 1) / self.ratio, self.null)
        below = atom + continuous / (jnp.pi * self.ratio)
        left = above > 0.5
        return jnp.where(left, below, 1 - above), jnp.where(left, 1 - below, above)

    def solve(self, z: Complex[Array, ""]) -> Complex[Array, ""]:
        """The ω of a z in the closed upper half plane.

        For a given u = Re ω the imaginary part of z increases with Im ω beyond the bands. Along the curve of the right
        imaginary part, Re z increases with u. So two nested searches find the right solution, and Newton's method then
        adds the last digits.
        """
        return implicit_root(lambda omega: self.image(omega) - z, jax.lax.stop_gradient(self)._search, z)

    def _search(self, residual: Callable[[Array], Array], z: Complex[Array, ""]) -> Complex[Array, ""]:
        def step(_: int, omega: Complex[Array, ""]) -> Complex[Array, ""]:
            value, slope = jax.jvp(residual, (omega,), (jnp.ones_like(omega),))
            new = omega - value / slope
            new = jax.lax.complex(jnp.real(new), jnp.maximum(jnp.imag(new), 0))
            return jnp.where(jnp.abs(residual(new)) < jnp.abs(value), new, omega)

        x, height = jnp.real(z), jnp.imag(z)
        spread = self._spread()
        centre = x - self.ratio * jnp.sum(self.weights * self.points)
        above = lambda u: bracketed_root(lambda v: v * self._at(u, v) - height, height, height + spread)
        excess = lambda u: jnp.real(self.image(jax.lax.complex(u, above(u)))) - x
        u = bracketed_root(excess, centre - spread, centre + spread)
        return jax.lax.fori_loop(0, _NEWTON_STEPS, step, jax.lax.complex(u, above(u)))
