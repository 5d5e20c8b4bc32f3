"""The free Poisson law."""

from typing import Annotated

import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Inexact

from rmtjax import _checks
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax.laws._core.spectral import AbstractSpectralLaw
from rmtjax.laws._spectra.marchenko_pastur import MarchenkoPastur


class FreePoisson(AbstractSpectralLaw):
    r"""The free Poisson law, the free analogue of rare independent jumps, with the free cumulants $\lambda\alpha^k$.

    With the rate λ and the jump α, between $\alpha(1 \pm \sqrt\lambda)^2$ the density is

    $$f(x) = \frac{\sqrt{4\lambda\alpha^2 - (x - \alpha(1 + \lambda))^2}}{2\pi\alpha x},$$

    with a point mass $1 - \lambda$ at 0 for $\lambda < 1$. The mean is $\lambda\alpha$, the variance
    $\lambda\alpha^2$, $R(g) = \lambda\alpha/(1 - \alpha g)$ and $S(z) = 1/[\alpha(\lambda + z)]$. It is the law
    `MarchenkoPastur` of ratio 1/λ and scale $\sqrt{\lambda\alpha}$, which computes all its values.

    Convention: the law of one eigenvalue of $\alpha XX^*/n$ with X n×m, $E|X_{ij}|^2 = 1$ and $m/n \to \lambda$.

    Args:
        rate: λ > 0.
        jump: α > 0.

    Raises:
        ValueError: `rate` or `jump` is not a positive finite real scalar.

    Example:
        >>> law = FreePoisson(rate=0.5, jump=2.0)
        >>> print(f"{law.cdf(0.0):.1f} {law.mean():.1f} {law.free_cumulant(3):.1f}")
        0.5 1.0 4.0

    References:
        Nica and Speicher (2006), Lectures on the Combinatorics of Free Probability, proposition 12.11.
    """

    rate: Annotated[Float[Array, ""], _checks.POSITIVE]
    jump: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, rate: RealScalarLike, jump: RealScalarLike = 1.0):
        self.rate = _checks.scalar("rate", rate, nonzero=True)
        self.jump = _checks.scalar("jump", jump, nonzero=True)

    def _degrees(self) -> dict[str, int]:
        return {"jump": 1}

    def _law(self) -> MarchenkoPastur:
        return MarchenkoPastur(1 / self.rate, jnp.sqrt(self.rate * self.jump))

    def _support(self) -> tuple[Array, Array]:
        return self._law()._support()

    def _atoms(self) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        return self._law()._atoms()

    def _breakpoints(self) -> Float[Array, " k"]:
        return self._law()._breakpoints()

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return self._law()._pdf(x)

    def _tails(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        return self._law()._tails(x)

    def _sample(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        return self._law()._sample(key, shape)

    def _moment(self, k: int) -> Float[Array, ""]:
        return self._law()._moment(k)

    def _var(self) -> Float[Array, ""]:
        return self._law()._var()

    def _stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        return self._law()._stieltjes(z)

    def _free_cumulant(self, k: int) -> Float[Array, ""]:
        return self._law()._free_cumulant(k)

    def _r_transform(self, g: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        return self._law()._r_transform(g)

    def _s_transform(self, z: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        return self._law()._s_transform(z)
