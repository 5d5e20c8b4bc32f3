"""The free Poisson law."""

from typing import Annotated

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._typing import RealScalarLike
from rmtjax.laws._spectra.marchenko_pastur import AbstractMarchenkoPastur


class FreePoisson(AbstractMarchenkoPastur):
    r"""The free Poisson law, the free analogue of rare independent jumps, with the free cumulants $\lambda\alpha^k$.

    With the rate λ and the jump α, between $\alpha(1 \pm \sqrt\lambda)^2$ the density is

    $$f(x) = \frac{\sqrt{4\lambda\alpha^2 - (x - \alpha(1 + \lambda))^2}}{2\pi\alpha x},$$

    with a point mass $1 - \lambda$ at 0 for $\lambda < 1$. The mean is $\lambda\alpha$, the variance
    $\lambda\alpha^2$, $R(g) = \lambda\alpha/(1 - \alpha g)$ and $S(z) = 1/[\alpha(\lambda + z)]$. It is the law
    `MarchenkoPastur` of ratio 1/λ and scale $\sqrt{\lambda\alpha}$, with the same accuracy.

    Convention: the law of one eigenvalue of $\alpha XX^*/n$ with X n×m, $E|X_{ij}|^2 = 1$ and $m/n \to \lambda$.

    Args:
        rate: λ > 0.
        jump: α > 0.

    Raises:
        ValueError: an argument is outside its range.

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

    def _ratio_and_scale(self) -> tuple[Array, Array]:
        return 1 / self.rate, jnp.sqrt(self.rate * self.jump)
