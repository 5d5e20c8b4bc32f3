"""The normal law, as a law of one eigenvalue."""

import math
from fractions import Fraction
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Array, Complex, Float

from rmtjax import _checks
from rmtjax._promotion import like
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax._units import times_power
from rmtjax.laws._core.half_plane import in_plane, quotient_of_one
from rmtjax.laws._core.orders import no_more_than
from rmtjax.laws._core.spectral import AbstractSpectralLaw
from rmtjax.special.internal import faddeeva, gauss_legendre, log_normal_cdf


class Normal(AbstractSpectralLaw):
    r"""The normal law of mean 0, the limit for matrices whose independent random diagonal outweighs the rest.

    $$f(x) = \frac1{\sqrt{2\pi}\,\sigma}\,e^{-x^2/2\sigma^2}, \qquad
    G(z) = -\frac{i}{\sigma} \sqrt{\frac\pi2}\; w\Big(\frac{z}{\sqrt2\,\sigma}\Big),$$

    with Faddeeva's function w. $E X^{2m} = (2m - 1)!!\,\sigma^{2m}$, and the free cumulants are
    $\kappa_{2m} = c_m \sigma^{2m}$ with the numbers 1, 1, 4, 27, 248, … of connected chord diagrams,
    $c_m = (m - 1) \sum_{i=1}^{m-1} c_i\,c_{m-i}$. Its free sum with a semicircle is the limit for `RosenzweigPorter`
    matrices and for Laplacians of random graphs. Another mean is `law.shifted(mean)`.

    Args:
        scale: the standard deviation σ > 0.

    Raises:
        ValueError: `scale` is outside its range; from `free_cumulant`, if k is above 1000.

    Example:
        >>> law = Normal(2.0)
        >>> print(f"{law.cdf(2.0):.4f} {law.stieltjes(2j).imag:.4f} {law.free_cumulant(6) / 2**6:.0f}")
        0.8413 -0.3278 4

    References:
        Bryc, Dembo and Jiang (2006), Ann. Probab. 34, 1, theorem 1.3, for Laplacians; Belinschi, Bożejko, Lehner and
        Speicher (2011), Adv. Math. 226, 3677, for the free cumulants.
    """

    scale: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, scale: RealScalarLike = 1.0):
        self.scale = _checks.scalar("scale", scale, nonzero=True)

    def _degrees(self) -> dict[str, int]:
        return {"scale": 1}

    def _support(self) -> tuple[Array, Array]:
        return -math.inf + 0 * self.scale, math.inf + 0 * self.scale

    def _breakpoints(self) -> Float[Array, " k"]:
        # Beyond 39 σ the masses are 0 in double precision.
        return self.scale * jnp.array([-39.0, -12.0, -4.0, 0.0, 4.0, 12.0, 39.0], self.scale.dtype)

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.exp(-((x / self.scale) ** 2) / 2) / (self.scale * math.sqrt(2 * math.pi))

    def _logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return -((x / self.scale) ** 2) / 2 - jnp.log(self.scale * math.sqrt(2 * math.pi))

    def _cdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return ndtr(x / self.scale)

    def _sf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return ndtr(-x / self.scale)

    def _logcdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return log_normal_cdf(x / self.scale)

    def _logsf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return log_normal_cdf(-x / self.scale)

    def _ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        lower = p <= 0.5
        return self.scale * jnp.where(lower, 1, -1) * ndtri(jnp.where(lower, p, q))

    def _sample(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        return self.scale * jax.random.normal(key, shape, jnp.result_type(self.scale))

    def _moment(self, k: int) -> Float[Array, ""]:
        return self._in_units(math.prod(range(1, k, 2)), k) if k % 2 == 0 else 0 * self.scale

    def _in_units(self, number: int, k: int) -> Float[Array, ""]:
        """A number of the order of (k - 1)!!, times σ^k, in a unit in which no factor leaves the range."""
        # The number is about (k/e)^(k/2), and 77/127 is the root of 1/e to three digits.
        tilt = Fraction(77, 127) if k > 100 else Fraction(1)
        share = Fraction(number) / (tilt**k * max(k, 1) ** (k // 2))
        return times_power(float(share), self.scale * (math.sqrt(max(k, 1)) * float(tilt)), k)

    def _var(self) -> Float[Array, ""]:
        return self.scale**2

    def _free_cumulant(self, k: int) -> Float[Array, ""]:
        no_more_than(1000, k)
        return self._in_units(_chord_diagrams(k // 2), k) if k % 2 == 0 else 0 * self.scale

    def _stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        return _stieltjes(z / like(z, self.scale)) / like(z, self.scale)

    def _subordination(self, w: Complex[Array, "..."]) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
        # As x f = -σ² f', the transform has the derivative (1 - w G)/σ², and h the derivative -1 - h (w + h)/σ².
        inverse = quotient_of_one(self._stieltjes(w))
        h = inverse - w
        return h, -1 - (h / like(w, self.scale)) * (inverse / like(w, self.scale))

    def _log_potential(self, w: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
        z = w / like(w, self.scale)
        outward, y = jnp.abs(jnp.real(z)), jnp.imag(z)
        value = _log_potential(jax.lax.complex(outward, y)) + like(w, jnp.log(self.scale))
        above, size = jnp.imag(value), jnp.real(value)
        right = jnp.real(z) >= 0
        angle = lambda positive: jnp.where(positive, above, jnp.pi - above)
        return jnp.stack([jax.lax.complex(size, angle(right)), jax.lax.complex(size, -angle(~right))])


# Beyond this |z| the asymptotic series is right to all digits.
_FAR = 10.0
_NODES, _WEIGHTS = gauss_legendre(48)


def _stieltjes(z: Complex[Array, "..."]) -> Complex[Array, "..."]:
    """The transform of the standard normal law."""
    return like(z, -1j * math.sqrt(math.pi / 2)) * faddeeva(z / like(z, math.sqrt(2)))


def _log_potential(z: Complex[Array, "..."]) -> Complex[Array, "..."]:
    r"""The potential $E \log(z - X)$ of the standard normal law in the closed first quadrant.

    Its derivative is G. Near 0 it is the integral of G from 0 along the axis to Re z, and from there up to z. The
    imaginary part on the axis is π times the mass above, so small ones have all digits. Far away it is the asymptotic
    series, and near the axis π times the mass above z besides. (Where that begins it is below rounding.)
    """
    far = jnp.abs(z) >= _FAR
    near = jnp.where(far, 0, z)
    x, y = jnp.real(near), jnp.imag(near)

    def node(sums: Complex[Array, "..."], given: tuple[Array, Array]) -> tuple[Complex[Array, "..."], None]:
        place, weight = (like(x, each) for each in given)
        along = x * jnp.real(_stieltjes(in_plane(x * place)))
        up = like(sums, y) * _stieltjes(jax.lax.complex(x, y * place))
        return sums + like(sums, weight) * (like(sums, along) + 1j * up), None

    nodes = like(x, (_NODES + 1) / 2), like(x, _WEIGHTS / 2)
    integral = jax.lax.scan(node, jnp.zeros_like(near), nodes)[0]
    on_axis = jax.lax.complex(jnp.full_like(x, -(np.euler_gamma + math.log(2)) / 2), jnp.pi * ndtr(-x))

    distant = jnp.where(far, z, _FAR)
    inverse = (1 / distant) ** 2
    series = jnp.zeros_like(z)
    for k in range(16, 0, -1):
        series = inverse * (like(z, math.prod(range(1, 2 * k, 2)) / (2 * k)) + series)
    # From 60 on the mass is 0, and the square of z may leave the range.
    near_axis = (jnp.real(distant) > 4 * jnp.imag(distant)) & (jnp.real(distant) < 60)
    beside = jnp.where(near_axis, distant, _FAR)
    mass = jnp.exp(-(beside**2) / 2) * faddeeva(like(z, 1j / math.sqrt(2)) * beside) / 2
    tail = jnp.where(near_axis, like(z, 1j * math.pi) * mass, 0)
    return jnp.where(far, jnp.log(distant) - series + tail, on_axis + integral)


def _chord_diagrams(m: int) -> int:
    """The number of connected diagrams of m chords."""
    numbers = [1, 1]
    for k in range(2, m + 1):
        numbers.append((k - 1) * sum(numbers[i] * numbers[k - i] for i in range(1, k)))
    return numbers[m]
