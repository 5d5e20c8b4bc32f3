r"""The free analogue of Lévy's law, whose mean is infinite.

Derivation of the transform. With $R(g) = s/\sqrt{-g}$ and $v = 1/\sqrt{-G}$, $z = R(G) + 1/G$ is $v^2 - s v + z = 0$.
As $v \sim \sqrt{-z}$ for large z, v is the root with a positive real part, $v = s/2 - i \sqrt{z - s^2/4}$, of which
neither term has a negative one, so no digits cancel. The potential has the derivative G, and so it is
$s/v + \log(-v^2)$.
"""

import math
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import like
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax.laws._core import fallbacks
from rmtjax.laws._core.half_plane import upper_logs, upper_sqrt
from rmtjax.laws._core.spectral import AbstractSpectralLaw
from rmtjax.special.internal import t_minus_sin_t


class FreeLevy(AbstractSpectralLaw):
    r"""The free stable law of index 1/2, the limit for inverses of square Wishart matrices.

    $$f(x) = \frac{s \sqrt{4x - s^2}}{2\pi x^2}, \qquad
    1 - F(x) = \frac2\pi \Big[\arcsin\frac s{2\sqrt x} + \frac{s \sqrt{4x - s^2}}{4x}\Big], \qquad x > \frac{s^2}4 .$$

    It is the law of $s^2/Y$ for a Marčenko-Pastur variate Y of ratio 1. The mean and all higher moments are infinite,
    and so are the free cumulants. $R(g) = s/\sqrt{-g}$ and $S(z) = -z/s^2$. So the free sum of two such laws is such a
    law, and their s add. All values are right to a few ulp, however small a tail is, at a point within a few ulp of x:
    the end $s^2/4$ is rounded. A quantile above the largest number is infinite. `FreeSum` and its relatives refuse the
    law as a part, because they need parts with moments.

    Convention: the law of one eigenvalue of $s^2 (XX^*/n)^{-1}$ with X n×n and $E|X_{ij}|^2 = 1$.

    Args:
        scale: s > 0.

    Raises:
        ValueError: `scale` is outside its range.

    Example:
        >>> law = FreeLevy(scale=2.0)
        >>> print(f"{law.cdf(2.0):.5f} {law.mean()} {law.s_transform(-0.5):.3f}")
        0.18169 inf 0.125

    References:
        Bercovici and Pata (1999), Ann. Math. 149, 1023, appendix by Biane.
    """

    scale: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, scale: RealScalarLike = 1.0):
        self.scale = _checks.scalar("scale", scale, nonzero=True)

    def _degrees(self) -> dict[str, int]:
        return {"scale": 2}

    def _support(self) -> tuple[Array, Array]:
        return self.scale**2 / 4, math.inf + 0 * self.scale

    def _breakpoints(self) -> Float[Array, " k"]:
        # The mass above x falls like 1/√x, so that it is lost in rounding above s²/eps².
        powers = 16.0 ** np.arange((2 * jnp.finfo(self.scale.dtype).nmant + 6) // 4)
        return self.scale**2 / 4 * jnp.array(powers, self.scale.dtype)

    def _has_moments(self) -> bool:
        return False

    def _root(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """The root of x - s²/4."""
        return jnp.sqrt(x - self.scale**2 / 4)

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.scale / jnp.pi * (self._root(x) / x) / x

    def _logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.log(self.scale / jnp.pi) + jnp.log(self._root(x)) - 2 * jnp.log(x)

    def _tails(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        half, root = self.scale / 2, self._root(x)
        below = t_minus_sin_t(2 * jnp.arctan2(root, half)) / jnp.pi
        return below, 2 / jnp.pi * (jnp.arctan2(half, root) + half * (root / x))

    def _ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        largest = jnp.full_like(self.scale, jnp.finfo(self.scale.dtype).max)
        x = fallbacks.ppf_between(self, p, q, self._support()[0], largest)
        return jnp.where(x < largest, x, jnp.inf)

    def _sample(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        # The root of Y/4 is the height of a uniform point on the half disc. Numbers in (0, 1] keep it away from 0.
        key_radius, key_angle = jax.random.split(key)
        square, angle = (1 - jax.random.uniform(k, shape, self.scale.dtype) for k in (key_radius, key_angle))
        return self.scale**2 / 4 / (square * jnp.sin(jnp.pi / 2 * angle) ** 2)

    def _moment(self, k: int) -> Float[Array, ""]:
        return jnp.full_like(self.scale, jnp.inf if k else 1)

    def _stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        return -((1 / self._v(z)) ** 2)

    def _log_potential(self, w: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
        v = self._v(w)
        return (like(w, self.scale) / v)[None] + upper_logs(-(v**2))

    def _v(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        """The number v of the formulas at the top of the file."""
        half = like(z, self.scale / 2)
        return half - 1j * upper_sqrt(z - half**2)

    def _free_cumulant(self, k: int) -> Float[Array, ""]:
        return self._moment(k)

    def _r_transform(self, g: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        zero = g == 0
        return jnp.where(zero, jnp.inf, like(g, self.scale) / jnp.sqrt(-jnp.where(zero, -1, g)))

    def _s_transform(self, z: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        return -z / like(z, self.scale) ** 2
