r"""The surmise for spacings from independent levels to the GOE.

Derivation. Let D be a diagonal 2×2 matrix with entries at an exponential distance X of mean 1, and H a `GOE(2)`. The
distance of the levels of $D + \lambda H$ is $S = |(X + \sqrt2 \lambda a, \sqrt2 \lambda b)|$ with normal a and b. With
$t = S/2\lambda$, $X = 2\lambda\xi$ and $m_n = \int_0^\infty \xi^n e^{-\xi^2 - 2\lambda\xi} d\xi$ Rice's law averages to

$$p(S) = 2t\,e^{-t^2} \int_0^\infty e^{-\xi^2 - 2\lambda\xi} I_0(2t\xi)\,d\xi
= 2t\,e^{-t^2} \sum_k \frac{m_{2k}}{k!^2} t^{2k}, $$

$$P(S \le 2\lambda t) = 2\lambda\,e^{-t^2} \sum_{j > k \ge 0} \frac{m_{2k}}{k!} \frac{t^{2j}}{j!}, \qquad
P(S > 2\lambda t) = e^{-t^2} \Big[1 + 2t \int_0^\infty e^{-\xi^2 - 2\lambda\xi} I_1(2t\xi)\,d\xi\Big] .$$

All terms are positive. The series are used for $t \le 6.5$. They are nested from the last term on, as the quotients
$\rho_n = m_{n+1}/m_n = \frac{n + 1}{2 (\rho_{n+1} + \lambda)}$ are stable downwards. For larger t, $I_0$ and $I_1$ are
written as integrals over an angle θ. The integral over ξ is then an error function, and with $x = t\cos\theta$

$$p(S) = \frac t{\sqrt\pi}\,e^{-t^2} \int_0^{\pi/2}
[\mathrm{erfcx}(\lambda - x) + \mathrm{erfcx}(\lambda + x)]\,d\theta, \qquad
P(S > 2\lambda t) = e^{-t^2} + \frac t{\sqrt\pi}\,e^{-t^2} \int_0^{\pi/2}
[\mathrm{erfcx}(\lambda - x) - \mathrm{erfcx}(\lambda + x)]\cos\theta\,d\theta .$$

The variable $\varphi = t\,\theta$ keeps these smooth down to λ = 0, where t is infinite.
"""

import math
from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfc
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._promotion import aligned, like
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax.laws._core import positive_axis
from rmtjax.laws._core.log_space import AbstractLogarithmicLaw
from rmtjax.special.internal import erfcx, gauss_hermite, gauss_legendre, log_one_minus_exp, log_one_plus

# The series are used up to this t, where they need so many terms.
_SPLIT, _NUM_TERMS = 6.5, 120
# Beyond it, the integrand over φ has decayed after so many of its widths, and the rule has so many nodes.
_WIDTHS, _NUM_NODES = 9.0, 56
# Below the first coupling levels count as independent. Beyond the second the law is Wigner's surmise to all digits.
_SMALLEST, _LARGEST = 1e-18, 1e9


class PoissonCrossoverSurmise(AbstractLogarithmicLaw):
    r"""The surmise for spacings from independent levels to the GOE.

    $$p(s) = \frac{u^2 s}\lambda\,e^{-u^2 s^2/4\lambda^2} \int_0^\infty
    e^{-\xi^2 - 2\lambda\xi}\,I_0\Big(\frac{u s \xi}\lambda\Big)\,d\xi, \qquad
    u = \sqrt\pi\,U\big(-\tfrac12, 0, \lambda^2\big) = 2 \int_0^\infty e^{-\xi^2} \sqrt{\lambda^2 + \xi^2}\,d\xi .$$

    It is exact for the two levels of $D + \lambda H$, where H is a `GOE(2)` and D is diagonal, with two entries at an
    exponential distance of mean 1. λ = 0 is `PoissonSpacing()`, and `WignerSurmise(1)` is the limit of large λ, up to
    terms of order $1/\lambda^2$. For every λ > 0 levels repel at small distances, with the slope
    $p'(0) = \frac{\pi^{1/2}}2 \frac{u^2}\lambda\,e^{\lambda^2}\,\mathrm{erfc}\,\lambda$, and the upper tail is
    exponential from $u s \approx 2\lambda^2$ on. All formulas hold to some ten ulp, both tails in relative error.

    In large matrices the ensemble `RosenzweigPorter` has this crossover at γ = 2, where the entries off the diagonal
    are of the order of the mean spacing. The law is not exact for its spacings at large n; λ is then to be fitted.

    Convention: mean 1; λ is the strength of H against the mean distance of the entries of D, with the entries of H of
    variance 1 on the diagonal and 1/2 off it.

    Args:
        coupling: a finite λ ≥ 0; below 1e-18 it counts as 0.

    Raises:
        ValueError: `coupling` is outside its range.

    Example:
        >>> law = PoissonCrossoverSurmise(coupling=0.1)
        >>> print(f"{law.pdf(0.0):.1f} {law.pdf(0.25):.5f} {law.pdf(1.0):.5f} {law.sf(2.0):.5f}")
        0.0 0.98196 0.37886 0.12881

    References:
        Lenz and Haake (1991), Phys. Rev. Lett. 67, 1.
    """

    coupling: Annotated[Float[Array, ""], _checks.NONNEGATIVE]

    def __init__(self, coupling: RealScalarLike):
        self.coupling = _checks.scalar("coupling", coupling)

    def _strength(self) -> Float[Array, ""]:
        return jnp.where(self.coupling < _SMALLEST, 0, jnp.minimum(self.coupling, _LARGEST))

    def _mean_distance(self) -> Float[Array, ""]:
        """The number u, by a series of positive terms at small λ, else by the integral, whose branch points are far."""
        square = self._strength() ** 2
        small = square < 2
        tiny = float(jnp.finfo(square.dtype).tiny)
        z = jnp.where(small & (square > tiny), square, tiny)
        total = jnp.zeros_like(z)
        for coefficient, digammas in reversed(_mean_series()):
            total = total * z + coefficient * (digammas - jnp.log(z))
        nodes, weights = (jnp.asarray(each, z.dtype) for each in gauss_hermite(96))
        return jnp.where(small, 1 + z / 2 * total, jnp.sqrt(jnp.where(small, 2, square) + nodes**2) @ weights)

    def _support(self) -> tuple[Array, Array]:
        return 0 * self.coupling, jnp.inf + 0 * self.coupling

    def _breakpoints(self) -> Float[Array, " k"]:
        # At every λ the density has a hole of width λ at 0. It may decay as slowly as e^{-s}.
        return jnp.append(0 * self.coupling, like(self.coupling, 800 * 2.0 ** np.arange(-28, 1)) + 0 * self.coupling)

    def _pdf_at_ends(self) -> tuple[Array | float, Array | float]:
        return jnp.where(self._strength() > 0, 0, 1) + 0 * self.coupling, 0.0

    def _terms(self, x: Float[Array, "..."]) -> tuple[Array, "_Logarithms", "_Logarithms"]:
        """Whether the series are used at x, their values, and the values of the integrals, each in its own range."""
        coupling, distance = self._strength(), self._mean_distance() * x
        near = distance < 2 * _SPLIT * coupling
        t = jnp.where(near, distance, 0.5) / jnp.where(near, 2 * coupling, 1)
        series = _series(t, jnp.where(coupling > 0, coupling, 1))
        return near, series, _integrals(jnp.where(near, 2 * _SPLIT * coupling + 1, distance), coupling)

    def _logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        near, series, integrals = self._terms(x)
        return jnp.log(self._mean_distance()) + jnp.where(near, series.density, integrals.density)

    def _logcdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        near, series, integrals = self._terms(x)
        return jnp.where(near, _sharper(series.below, series.above), _sharper(integrals.below, integrals.above))

    def _logsf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        near, series, integrals = self._terms(x)
        return jnp.where(near, _sharper(series.above, series.below), _sharper(integrals.above, integrals.below))

    def _ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        return positive_axis.ppf(self, p, q, 800 + 0 * self.coupling)

    def _sample(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        keys, dtype = jax.random.split(key), jnp.result_type(self.coupling)
        x, y = math.sqrt(2) * self._strength() * jax.random.normal(keys[0], (2, *shape), dtype)
        return jnp.hypot(x + jax.random.exponential(keys[1], shape, dtype), y) / self._mean_distance()

    def _moment(self, k: int) -> Float[Array, ""]:
        if k == 2:
            return (2 + 4 * self._strength() ** 2) / self._mean_distance() ** 2
        return self.coupling**0 if k < 2 else super()._moment(k)


class _Logarithms(NamedTuple):
    """Logarithms of the density in S and of the two tails; a tail has its digits where it is not near 1."""

    density: Float[Array, "..."]
    below: Float[Array, "..."]
    above: Float[Array, "..."]


def _sharper(tail: Float[Array, "..."], other: Float[Array, "..."]) -> Float[Array, "..."]:
    """The logarithm of a tail, from the logarithm of the other tail where the other tail is smaller."""
    direct = tail < other
    return jnp.where(direct, tail, log_one_minus_exp(jnp.where(direct, -1, other)))


def _mean_series() -> list[tuple[float, float]]:
    """Coefficients of z^k in the series of U, and the sums of digamma functions from which log z is subtracted."""
    pairs, coefficient = [], 1.0
    digammas = 2 * math.log(2) + 1 - np.euler_gamma
    for k in range(20):
        pairs.append((coefficient, digammas))
        coefficient *= (k + 0.5) / ((k + 1) * (k + 2))
        digammas += 1 / (k + 1) + 1 / (k + 2) - 1 / (k + 0.5)
    return pairs


def _last_quotient(coupling: Float[Array, ""], n: int) -> Float[Array, ""]:
    """The quotient ρ_n: the mean of ξ under the n-th integrand, by the trapezoidal rule around its maximum."""
    top = n / (coupling + jnp.sqrt(coupling**2 + 2 * n))
    d = jnp.arange(-8, 8.25, 0.5, top.dtype) / jnp.sqrt(n + 2 * top**2)
    weights = jnp.exp(n * (log_one_plus(d) - d) - (top * d) ** 2)
    return top * (1 + (weights @ d) / jnp.sum(weights))


def _nest(step: Array, state: tuple) -> tuple:
    """One more term of each series; k counts downwards."""
    z, coupling, quotient, density, below, above, exponential = state
    k = like(z, _NUM_TERMS - 1 - step)
    odd = (k + 1) / (quotient + coupling)
    even = (k + 0.5) / (odd + coupling)
    exponential = 1 + z / (k + 2) * exponential
    return (
        z,
        coupling,
        even,
        1 + z * (even / (k + 1)) * (odd / (k + 1)) * density,
        exponential + z * (even / (k + 1)) * (odd / (k + 2)) * below,
        1 + z * (odd / (k + 1)) * (quotient / (k + 2)) * above,
        exponential,
    )


def _series(t: Float[Array, "..."], coupling: Float[Array, ""]) -> _Logarithms:
    """The series for t up to 6.5."""
    z, one = t**2, jnp.ones_like(t)
    last = _last_quotient(coupling, 2 * _NUM_TERMS)
    state = jax.lax.fori_loop(0, _NUM_TERMS, _nest, (z, coupling, last, one, one, one, one))
    _, _, first, density, below, above, _ = state
    start = math.sqrt(math.pi) / 2 * erfcx(coupling)
    log_t = jnp.log(t)
    return _Logarithms(
        math.log(2) + log_t + jnp.log(start * density) - z,
        2 * log_t + jnp.log(2 * coupling * start * below) - z,
        jnp.log1p(2 * z * start * first * above) - z,
    )


def _sine_ratio(square: Float[Array, "..."]) -> Float[Array, "..."]:
    """The quotient sin(y)/y as a function of y², y ≤ π/2, by its series: derivatives of the quotient would cancel."""
    total = jnp.ones_like(square)
    for k in range(11, 0, -1):
        total = 1 - square / (2 * k * (2 * k + 1)) * total
    return total


def _integrals(distance: Float[Array, "..."], coupling: Float[Array, ""]) -> _Logarithms:
    """The integrals over the angle for t from 6.5 on, where S is 2 λ t."""
    inverse = 2 * coupling / distance
    # The integrand falls like a Gaussian of variance 1/2(1 - λ/t) in φ. If this is too wide, all angles count.
    narrow = 1 - coupling * inverse > (2 * _WIDTHS / math.pi * inverse) ** 2
    width = _WIDTHS / jnp.sqrt(jnp.where(narrow, 1 - coupling * inverse, 1))
    end = jnp.where(narrow, width, math.pi / 2 / jnp.where(narrow, 1, inverse))[..., None]
    nodes, weights = (jnp.asarray(each, distance.dtype) for each in gauss_legendre(_NUM_NODES))
    phi, r = jnp.multiply(*aligned(end, 1 + nodes)) / 2, inverse[..., None]
    mean = lambda values: (values @ weights) * end[..., 0] / 2 / math.sqrt(math.pi)

    cosine = jnp.cos(r * phi)
    # At t = 1e9 the error functions have reached their limits.
    t = 1 / jnp.maximum(inverse, 1e-9)
    x = t[..., None] * cosine
    beyond = t > coupling
    # Below its maximum the integrand is e^{-2 t² sin²(θ/2) (1 + cos θ - 2λ/t)} erfc(λ - x), where λ < x.
    half = (phi / 2 * _sine_ratio((r * phi) ** 2 / 4)) ** 2
    gap = jnp.where(beyond, t - coupling, 0)[..., None]
    inside = x > coupling
    drop = jnp.where(inside, 2 * half * (1 + cosine - 2 * coupling * r), 0)
    direct = jnp.exp(-drop) * erfc(coupling - jnp.where(inside, x, coupling))
    first = jnp.where(inside, direct, jnp.exp(-(gap**2)) * erfcx(jnp.where(inside, 1, coupling - x)))
    second = jnp.exp(-(gap**2)) * erfcx(coupling + x)
    exponent = jnp.where(beyond, coupling**2 - distance, -(jnp.where(beyond, 1, t) ** 2))

    above = exponent + jnp.log(jnp.exp(-(gap[..., 0] ** 2)) + mean(cosine * (first - second)))
    # Below the median λ is small, and replacing the error functions by their limits costs less than e^{-t²}.
    sine = phi * _sine_ratio((r * phi) ** 2)
    short = (coupling < 0.25) & (above > -math.log(2))
    rise = jnp.expm1(jnp.where(short[..., None], coupling**2 - distance[..., None] * cosine, 0))
    few = mean(-2 * cosine * jnp.exp(-(sine**2)) * rise)
    below = jnp.where(short, jnp.log(jnp.where(short, few, 1)), 0)
    return _Logarithms(exponent + jnp.log(mean(first + second)), below, above)
