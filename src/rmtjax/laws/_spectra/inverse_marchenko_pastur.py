"""The law of the inverse of a Marčenko-Pastur variate."""

from typing import Annotated

import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import like
from rmtjax._typing import RealScalarLike
from rmtjax._units import times_power
from rmtjax.laws._core.free_cumulants import catalan_share
from rmtjax.laws._core.half_plane import edge_root, reciprocal
from rmtjax.laws._core.spectral import AbstractSpectralLaw
from rmtjax.laws._spectra.marchenko_pastur import MarchenkoPastur


class InverseMarchenkoPastur(AbstractSpectralLaw):
    r"""The law of $s^2/Y$ for a Marčenko-Pastur variate Y of ratio c < 1, the limit for inverse Wishart matrices.

    $$f(x) = \frac{\sqrt{(x_+ - x)(x - x_-)}\,(1 - c)}{2\pi c\,x^2}, \qquad x_\pm = \frac{s^2}{(1 \mp \sqrt c)^2}.$$

    The mean is $s^2/(1 - c)$, the variance $c s^4/(1 - c)^3$, $E X^k = s^{2k} (1 - c)^{1-2k}\,E Y^{k-1}$, and
    $S(z) = (1 - c - cz)/s^2$. The free cumulants are $C_{k-1}\,c^{k-1} s^{2k} (1 - c)^{1-2k}$ with the Catalan numbers
    $C_k$.

    Convention: the law of one eigenvalue of $s^2 (XX^*/m)^{-1}$ with X n×m, $E|X_{ij}|^2 = 1$ and $n/m \to c$.

    Args:
        ratio: c in (0, 1), the number of rows of X over the number of columns.
        scale: s > 0.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> law = InverseMarchenkoPastur(ratio=0.5)
        >>> print(f"{law.mean():.1f} {law.var():.1f}")
        2.0 4.0

    References:
        Bai and Silverstein (2010), Spectral Analysis of Large Dimensional Random Matrices, equation 3.1.1.
    """

    ratio: Annotated[Float[Array, ""], _checks.PROPER_FRACTION]
    scale: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, ratio: RealScalarLike, scale: RealScalarLike = 1.0):
        self.ratio = _checks.scalar("ratio", ratio)
        self.scale = _checks.scalar("scale", scale, nonzero=True)

    def _degrees(self) -> dict[str, int]:
        return {"scale": 2}

    def _inverse(self) -> MarchenkoPastur:
        """The law of Y/s² = 1/X."""
        return MarchenkoPastur(self.ratio, 1 / self.scale)

    def _support(self) -> tuple[Array, Array]:
        root = jnp.sqrt(self.ratio)
        return (self.scale / (1 + root)) ** 2, (self.scale * (1 + root) / (1 - self.ratio)) ** 2

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return self._inverse().pdf(1 / x) / x**2

    def _tails(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        below, above = self._inverse()._on_support(1 / x, quantity="tails")
        return above, below

    def _moment(self, k: int) -> Float[Array, ""]:
        if k == 0:
            return jnp.ones_like(self.ratio * self.scale)
        return self._mean() * MarchenkoPastur(self.ratio, self.scale / (1 - self.ratio))._moment(k - 1)

    def _mean(self) -> Float[Array, ""]:
        return self.scale**2 / (1 - self.ratio)

    def _var(self) -> Float[Array, ""]:
        return self.ratio * self.scale**4 / (1 - self.ratio) ** 3

    def _stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        # The transform solves c z² G² + (s² - (1 + c) z) G + 1 = 0.
        ratio, scale = like(z, self.ratio), like(z, self.scale)
        root = (1 - ratio) * edge_root(z, *self._support())
        return reciprocal(((1 + ratio) * z - scale**2 + root) / 2)

    def _free_cumulant(self, k: int) -> Float[Array, ""]:
        c = self.ratio
        return self._mean() * times_power(catalan_share(k - 1), 4 * c * (self.scale / (1 - c)) ** 2, k - 1)

    def _r_transform(self, g: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        ratio, square = like(g, self.ratio), like(g, self.scale) ** 2
        return 2 * square / (1 - ratio + jnp.sqrt((1 - ratio) ** 2 - 4 * ratio * square * g))

    def _s_transform(self, z: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        ratio = like(z, self.ratio)
        return (1 - ratio - ratio * z) / like(z, self.scale) ** 2
