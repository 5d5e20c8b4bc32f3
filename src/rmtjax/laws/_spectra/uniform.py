"""The uniform law."""

import math
from typing import Annotated

import jax
import jax.numpy as jnp
import scipy  # loads `scipy.special` when it is first used
from jaxtyping import Array, Complex, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import common_dtype, like
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax._units import times_power
from rmtjax.laws._core.half_plane import upper_logs
from rmtjax.laws._core.spectral import AbstractSpectralLaw
from rmtjax.special.internal import whole_powers


def _bernoulli(k: int) -> float:
    """The k-th Bernoulli number times (2π)^k/k!, for k ≥ 2."""
    return 0.0 if k % 2 else 2 * (-1) ** (k // 2 + 1) * float(scipy.special.zeta(k))


def _langevin(x: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
    """The function coth x - 1/x, by its Taylor series where it would cancel (|x| < 1; 17 terms reach 1e-17)."""
    small = jnp.abs(x) < 1
    s = jnp.where(small, 2 * x, 0)
    series = jnp.zeros_like(s)
    for k in range(34, 0, -2):
        series = series * s**2 + _bernoulli(k) / (2 * math.pi) ** k
    large = jnp.where(small, 1, x)
    sign = jnp.where(jnp.real(large) < 0, -1, 1)
    decay = jnp.exp(-2 * sign * large)
    return jnp.where(small, 2 * s * series, sign * (1 + decay) / (1 - decay) - 1 / large)


_LARGER = _checks.Rule(lambda b, a: (b > a) & (b < math.inf), "be finite and larger than lower")


class Uniform(AbstractSpectralLaw):
    r"""The uniform law on an interval, the law of an eigenphase of every circular ensemble.

    $$f(x) = \frac1{b - a}, \qquad F(x) = \frac{x - a}{b - a}, \qquad a < x < b.$$

    The first free cumulant is the mean, the others are $\kappa_k = (b - a)^k B_k/k!$ with the Bernoulli numbers $B_k$.
    With the half width h, $R(g) = \frac{a + b}2 + h \coth hg - \frac1g$.

    Args:
        lower: a, finite.
        upper: b > a, finite.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> print(Uniform(-1.0, 3.0).cdf(0.0))
        0.25
    """

    lower: Annotated[Float[Array, ""], _checks.FINITE]
    upper: Annotated[Float[Array, ""], _LARGER, "lower"]

    def __init__(self, lower: RealScalarLike = 0.0, upper: RealScalarLike = 1.0):
        self.lower = _checks.scalar("lower", lower)
        self.upper = _checks.scalar("upper", upper)
        _checks.told_apart("upper", (lower, upper), (self.lower, self.upper))

    def _degrees(self) -> dict[str, int]:
        return {"lower": 1, "upper": 1}

    def _support(self) -> tuple[Array, Array]:
        return self.lower, self.upper

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.ones_like(x) / (self.upper - self.lower)

    def _cdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return (x - self.lower) / (self.upper - self.lower)

    def _sf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return (self.upper - x) / (self.upper - self.lower)

    def _ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        width = self.upper - self.lower
        return jnp.where(p <= 0.5, self.lower + p * width, self.upper - q * width)

    def _sample(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        uniform = jax.random.uniform(key, shape, common_dtype(self.lower, self.upper))
        return self.lower + uniform * (self.upper - self.lower)

    def _moment(self, k: int) -> Float[Array, ""]:
        # The moment (b^{k+1} - a^{k+1}) / ((k + 1)(b - a)) is the mean of b^{k-j} a^j, here in units of the larger end.
        above = jnp.abs(self.upper) >= jnp.abs(self.lower)
        larger, smaller = jnp.where(above, self.upper, self.lower), jnp.where(above, self.lower, self.upper)
        return times_power(jnp.mean(whole_powers(smaller / larger, jnp.arange(k + 1))), larger, k)

    def _var(self) -> Float[Array, ""]:
        return (self.upper - self.lower) ** 2 / 12

    def _halves(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """The middle, and half the width."""
        return self.lower / 2 + self.upper / 2, self.upper / 2 - self.lower / 2

    def _stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        # The transform is artanh(1/u)/h with z = middle + h u, and artanh(1/u) = artanh(u) - iπ/2. Beside an end u has
        # lost the distance from it, and the transform is that of the logarithm of (z - a)/(z - b).
        middle, half = self._halves()
        lower, upper, u = z - like(z, self.lower), z - like(z, self.upper), (z - like(z, middle)) / like(z, half)
        end, beside = (lower == 0) | (upper == 0), jnp.minimum(jnp.abs(lower), jnp.abs(upper)) < half / 4
        logarithm = jnp.log(jnp.where(beside & ~end, lower, 1) / jnp.where(beside & ~end, upper, 1)) / 2
        u = jnp.where(beside, 2, u)
        outer = jnp.abs(u) > 1
        value = jnp.arctanh(jnp.where(outer, 1 / jnp.where(outer, u, 2), u)) - jnp.where(outer, 0, 0.5j * jnp.pi)
        value = jnp.where(beside, logarithm, value)
        # On the real axis the sign of a zero imaginary part would otherwise choose the side.
        value = value - jnp.where(jnp.imag(value) > 0, 1j * jnp.pi, 0)
        return jnp.where(end, jnp.where(lower == 0, -jnp.inf, jnp.inf), value / like(z, half))

    def _log_potential(self, w: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
        width, ends = like(w, self.upper - self.lower), (w - like(w, self.lower), w - like(w, self.upper))
        # The limit at an end is that of x log x.
        logs = [jnp.where((end == 0)[None], 0, upper_logs(end)) for end in ends]
        beside = (ends[0][None] * logs[0] - ends[1][None] * logs[1]) / width
        # Far away the terms cancel. The logarithm of their ratio is small there, and real on the axis.
        far = jnp.abs(ends[1]) > jnp.abs(8 * width)
        ratio = jnp.log1p(width / jnp.where(far, ends[1], 1))
        return jnp.where(far[None], (logs[0] + logs[1] + ((ends[0] + ends[1]) / width * ratio)[None]) / 2, beside) - 1

    def _free_cumulant(self, k: int) -> Float[Array, ""]:
        middle, half = self._halves()
        return middle if k == 1 else times_power(_bernoulli(k), half / math.pi, k)

    def _r_transform(self, g: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        middle, half = self._halves()
        middle, half = like(g, middle), like(g, half)
        return middle + half * _langevin(half * g)
