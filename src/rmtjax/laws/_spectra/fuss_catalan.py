r"""The Fuss-Catalan laws.

Derivation. $w = z\,G(z)$ is the solution of $z = w^{s+1}/(w - 1)$ with w = 1 at infinity. On the upper side of the
support the triangle of 0, 1 and $\bar w$ has the angle φ at 0 and the angle sφ at $\bar w$. So with ψ = π - (s + 1)φ
in (0, π)

    w = sin ψ/sin(sφ) exp(-iφ),    |w - 1| = sin φ/sin(sφ),    x = sin^{s+1} ψ / [sin φ sin^s(sφ)],

and sφ = π - φ - ψ. The density is -Im w/πx, and since dz/z = [(s + 1)/w - 1/(w - 1)] dw, ∫ G dz = s w - log(w - 1), so

    π cdf = ψ + s sin φ sin ψ/sin(φ + ψ),
    π sf = s S(2φ)/2 + S(φ) (φ + sin φ)/φ + sin²φ/φ [1 - sφ cot(sφ)],

with S(t) = t - sin t. These sums have no negative terms; they are small at x = 0 (ψ = 0) and at the upper end (φ = 0).
The pair (φ, ψ) stands for the point x. Newton's method finds the smaller of the two angles in logarithms, because
x ~ ψ^{s+1} at the lower end and log(end/x) ~ φ² at the upper end. With v = sin φ/sin(sφ) the slope is

    -dφ/d log x = v sin ψ / [(1 - s v)² + 4 s v cos²(ψ/2)].
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import complex_dtype
from rmtjax.laws._core.half_plane import upper_sqrt
from rmtjax.laws._core.orders import as_number
from rmtjax.laws._core.spectral import AbstractSpectralLaw
from rmtjax.special.internal import log_one_plus, t_minus_sin_t

_STEPS = 8  # Newton steps; up to order 20, five steps reach rounding from every guess below.
_LARGEST_ORDER = 32  # Beyond this order powers leave the range of float32.

Angles = tuple[Float[Array, "..."], Float[Array, "..."]]


def _upper_end(s: int) -> Fraction:
    return Fraction((s + 1) ** (s + 1), s**s)


def _sines(s: int, phi: Float[Array, "..."], psi: Float[Array, "..."]) -> tuple[Array, Array, Array]:
    """The sines of φ, ψ and sφ, each from an angle that is not a rounded difference from π."""
    at_end = psi > jnp.pi / 2
    return jnp.sin(phi), jnp.sin(jnp.where(at_end, (s + 1) * phi, psi)), jnp.sin(jnp.where(at_end, s * phi, phi + psi))


def _point(s: int, phi: Float[Array, "..."], psi: Float[Array, "..."]) -> Float[Array, "..."]:
    """The point x of a pair of angles."""
    sine, height, side = _sines(s, phi, psi)
    return (height / side) ** s * (height / sine)


def _rate(s: int, phi: Float[Array, "..."], psi: Float[Array, "..."]) -> Float[Array, "..."]:
    """The slope -dφ/d log x."""
    sine, height, side = _sines(s, phi, psi)
    v, cosine = sine / side, jnp.where(psi > jnp.pi / 2, jnp.sin((s + 1) * phi / 2), jnp.cos(psi / 2))
    return v * height / ((1 - s * v) ** 2 + 4 * s * v * cosine**2)


def _mass_rate(s: int, phi: Float[Array, "..."], psi: Float[Array, "..."]) -> Float[Array, "..."]:
    """The slope of the distribution function in log x."""
    sine, height, side = _sines(s, phi, psi)
    return sine * height / (jnp.pi * side)


def _lower_mass(s: int, phi: Float[Array, "..."], psi: Float[Array, "..."]) -> Float[Array, "..."]:
    return psi / jnp.pi + s * _mass_rate(s, phi, psi)


def _upper_mass(s: int, phi: Float[Array, "..."], psi: Float[Array, "..."]) -> Float[Array, "..."]:
    t, (sine, _, side) = s * phi, _sines(s, phi, psi)
    square = t_minus_sin_t(phi) * (phi + sine) / phi
    cotangent = (2 * t * jnp.sin(t / 2) ** 2 - t_minus_sin_t(t)) / side
    return (s / 2 * t_minus_sin_t(2 * phi) + square + sine**2 / phi * cotangent) / jnp.pi


def _angles(s: int, lower: Array, psi_step: Callable, psi: Array, phi_step: Callable, phi: Array) -> Angles:
    """Newton's method, from a guess of ψ in the lower part and from a guess of φ in the upper part."""
    from_psi = lambda psi: ((jnp.pi - psi) / (s + 1), psi)
    from_phi = lambda phi: (phi, jnp.pi - (s + 1) * phi)
    step = lambda _, both: (
        jnp.minimum(both[0] * psi_step(*from_psi(both[0])), 2),
        jnp.minimum(both[1] * phi_step(*from_phi(both[1])), 2 / (s + 1)),
    )
    # The caps lie above all roots, which are at most π/2 for ψ and π/2(s + 1) for φ.
    psi, phi = jax.lax.fori_loop(0, _STEPS, step, (jnp.minimum(psi, 2), jnp.minimum(phi, 2 / (s + 1))))
    return jax.tree.map(partial(jnp.where, lower), from_psi(psi), from_phi(phi))


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _angles_at(s: int, x: Float[Array, "..."]) -> Angles:
    """The pair (φ, ψ) at x."""
    half = math.pi / (2 * (s + 1))
    middle = 1 / (math.sin(half) * math.cos(half) ** s)
    lower = x < middle
    y = jnp.where(lower, x, middle)
    root = y ** (1 / (s + 1))
    # This step removes the rounding of the exponent, which is some 50 ulp at x = 1e-300.
    root = root * (1 + (y / root ** (s + 1) - 1) / (s + 1))

    def psi_step(phi: Array, psi: Array) -> Array:
        sine, height, side = _sines(s, phi, psi)
        return (root * (sine * side**s) ** (1 / (s + 1)) / height) ** ((s + 1) ** 2 * _rate(s, phi, psi) / psi)

    # The distance from the upper end is corrected for the rounding of this end.
    end = _upper_end(s)
    rounded = Fraction(float(jnp.finfo(x.dtype).dtype.type(float(end))))
    distance = jnp.where(lower, middle, x) - float(rounded)
    depth = -log_one_plus(distance / float(end) - float((end - rounded) / end))

    def phi_step(phi: Array, psi: Array) -> Array:
        minus_log_sinc = lambda t: -log_one_plus(-t_minus_sin_t(t) / t)
        reached = (s + 1) * minus_log_sinc((s + 1) * phi) - minus_log_sinc(phi) - s * minus_log_sinc(s * phi)
        return (depth / reached) ** (_rate(s, phi, psi) * reached / phi)

    start = root * math.sin(math.pi / (s + 1)), jnp.sqrt(2 * depth / (s * (s + 1)))
    return _angles(s, lower, psi_step, start[0], phi_step, start[1])


@_angles_at.defjvp
def _angles_at_jvp(s: int, primals: tuple, tangents: tuple) -> tuple[Angles, Angles]:
    phi, psi = _angles_at(s, *primals)
    change = _rate(s, phi, psi) / primals[0] * tangents[0]
    return (phi, psi), (-change, (s + 1) * change)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _angles_of(s: int, p: Float[Array, "..."], q: Float[Array, "..."]) -> Angles:
    """The pair (φ, ψ) at the quantile of p = 1 - q."""
    middle = 0.5 + s * math.tan(math.pi / (2 * (s + 1))) / math.pi
    lower = p < middle
    below, above = jnp.where(lower, p, middle), jnp.where(lower, 1 - middle, q)

    def psi_step(phi: Array, psi: Array) -> Array:
        reached = _lower_mass(s, phi, psi)
        return (below / reached) ** (reached / psi * ((s + 1) * _rate(s, phi, psi) / _mass_rate(s, phi, psi)))

    def phi_step(phi: Array, psi: Array) -> Array:
        reached = _upper_mass(s, phi, psi)
        return (above / reached) ** (reached / phi * (_rate(s, phi, psi) / _mass_rate(s, phi, psi)))

    start = jnp.pi * below / (s + 1), jnp.cbrt(3 * jnp.pi * above / (s + 1) ** 2)
    return _angles(s, lower, psi_step, start[0], phi_step, start[1])


@_angles_of.defjvp
def _angles_of_jvp(s: int, primals: tuple, tangents: tuple) -> tuple[Angles, Angles]:
    phi, psi = _angles_of(s, *primals)
    change = _rate(s, phi, psi) / _mass_rate(s, phi, psi) * tangents[0]
    return (phi, psi), (-change, (s + 1) * change)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _ppf(s: int, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
    """The quantile of p = 1 - q; for q below eps³ it is the upper end to rounding."""
    return _point(s, *_angles_of(s, p, _not_too_small(q)))


@_ppf.defjvp
def _quantile_jvp(s: int, primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    p, q = primals
    x = _ppf(s, p, q)
    # This is the derivative of log x in φ over the derivative of p; the derivatives of x in φ and in ψ would cancel.
    return x, x / _mass_rate(s, *_angles_of(s, p, _not_too_small(q))) * tangents[0]


def _not_too_small(q: Float[Array, "..."]) -> Float[Array, "..."]:
    return jnp.maximum(q, float(jnp.finfo(q.dtype).eps) ** 3)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _branch(s: int, t: Complex[Array, "..."]) -> Complex[Array, "..."]:
    """The solution of w = 1 + t w^{s+1} with w = 1 at t = 0, for t in the closed lower half plane.

    The guess has the right branch point, the right value there and the right power at infinity. It is nowhere off by
    more than a tenth.
    """
    if s == 0:
        return 1 / (1 - t)
    rise = (1 + 1 / s) ** ((s + 1) / 2) - 1
    guess = (1 + 1 / s) * (1 + rise * upper_sqrt(1 - float(_upper_end(s)) * t)) ** (-2 / (s + 1))

    def step(_: int, w: Array) -> Array:
        slope = s * w - (s + 1)
        critical = slope == 0
        return jnp.where(critical, w, w - (t * w ** (s + 1) - w + 1) * w / jnp.where(critical, 1, slope))

    return jax.lax.fori_loop(0, _STEPS, step, guess)


@_branch.defjvp
def _branch_jvp(s: int, primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    w = _branch(s, *primals)
    slope = (s + 1) - s * w
    critical = slope == 0
    return w, jnp.where(critical, 0, w ** (s + 2) / jnp.where(critical, 1, slope) * tangents[0])


class FussCatalan(AbstractSpectralLaw):
    r"""The Fuss-Catalan law, the limiting law of the squared singular values of a product of s Ginibre matrices.

    On $[0, (s+1)^{s+1}/s^s]$, with an angle φ that runs from 0 at the upper end to π/(s + 1) at x = 0,

    $$x = \frac{\sin^{s+1}((s+1)\varphi)}{\sin\varphi\,\sin^s(s\varphi)}, \qquad
    f(x) = \frac{\sin^2\varphi\,\sin^{s-1}(s\varphi)}{\pi \sin^s((s+1)\varphi)}, \qquad
    F(x) = 1 - \frac{s+1}\pi \varphi + \frac s\pi\,\frac{\sin\varphi\,\sin((s+1)\varphi)}{\sin(s\varphi)} .$$

    The moments are the Fuss-Catalan numbers $E X^k = \frac1{sk+1}\binom{sk+k}k$, the mean is 1, the variance s, the
    free cumulants are $\frac1{sk+1}\binom{sk+1}k$, $S(z) = (1 + z)^{-s}$, and $w = z\,G(z)$ solves
    $w^{s+1} = z(w - 1)$. At 0 the density diverges as $x^{-s/(s+1)}$. The law is the s-th free multiplicative power of
    the Marčenko-Pastur law of ratio 1. All values are right to a few ulp, however small a tail is.

    Convention: squared singular values of the product of s matrices of `Ginibre(n, scale=1)`.

    Args:
        order: an integer s from 1 to 32; static.

    Raises:
        ValueError: `order` is outside its range.

    Example:
        >>> law = FussCatalan(order=2)
        >>> print(f"{law.support()[1]:.2f} {law.moment(3):.0f} {law.free_cumulant(3):.0f} {law.cdf(1.0):.5f}")
        6.75 12 5 0.68582

    References:
        Penson and Życzkowski (2011), Phys. Rev. E 83, 061118; Haagerup and Möller (2013), arXiv:1211.4457;
        Banica, Belinschi, Capitaine and Collins (2011), Canad. J. Math. 63, 3.
    """

    order: int = eqx.field(static=True)

    def __init__(self, order: int):
        self.order = _checks.integer("order", order, at_least=1, at_most=_LARGEST_ORDER)

    def _support(self) -> tuple[Array, Array]:
        return jnp.asarray(0.0), jnp.asarray(float(_upper_end(self.order)))

    def _is_bounded(self) -> bool:
        return True

    def _breakpoints(self) -> Float[Array, " k"]:
        # Near 0 the density is a general power of x, so the panels shrink 1000-fold until eps of the mass is left.
        lower, upper = self._support()
        finite = jnp.finfo(upper.dtype)
        smallest = max(float(finite.eps) ** (self.order + 1), float(finite.tiny) * 1e3)
        number = math.ceil(-math.log(smallest) / math.log(1000))
        graded = upper * jnp.asarray([smallest ** (1 - j / number) for j in range(number + 1)], upper.dtype)
        return jnp.concatenate([lower[None], graded])

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        s, (phi, psi) = self.order, _angles_at(self.order, x)
        sine, height, side = _sines(s, phi, psi)
        return sine**2 / (jnp.pi * height) * (side / height) ** (s - 1)

    def _cdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return _lower_mass(self.order, *_angles_at(self.order, x))

    def _sf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return _upper_mass(self.order, *_angles_at(self.order, x))

    def _ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.minimum(_ppf(self.order, p, q), self._support()[1])

    def _moment(self, k: int) -> Float[Array, ""]:
        return as_number(math.comb((self.order + 1) * k, k) // (self.order * k + 1))

    def _var(self) -> Float[Array, ""]:
        return jnp.asarray(float(self.order))

    def _stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        zero = z == 0
        t = 1 / jnp.where(zero, 1, z)
        return jnp.where(zero, jnp.inf, _branch(self.order, t) * t)

    def _free_cumulant(self, k: int) -> Float[Array, ""]:
        return as_number(math.comb(self.order * k + 1, k) // (self.order * k + 1))

    def _r_transform(self, g: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        # B = 1 + g R solves B = 1 + g B^s, the equation of `_branch` for order s - 1.
        above = jnp.imag(g) > 0
        power = _branch(self.order - 1, jnp.where(above, jnp.conj(g), g).astype(complex_dtype(g.dtype))) ** self.order
        power = jnp.where(above, jnp.conj(power), power)
        if jnp.iscomplexobj(g):
            return power
        # R is real up to its branch point; for s = 1 it has a pole instead, and is real beyond it as well.
        last = float(_upper_end(self.order - 1)) if self.order > 1 else 0.0
        return jnp.where(g * last > 1, jnp.nan, jnp.real(power))

    def _s_transform(self, z: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        return (1 + z) ** -self.order
