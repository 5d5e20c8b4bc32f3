"""The Rosenzweig-Porter ensemble: a random diagonal with weaker entries off the diagonal."""

import math
from typing import Annotated

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._typing import RealScalarLike
from rmtjax.ensembles._wigner.variance_profile import AbstractVarianceProfile
from rmtjax.laws import AbstractLaw, FreeSum, Normal, Semicircle


class RosenzweigPorter(AbstractVarianceProfile):
    r"""The Rosenzweig–Porter ensemble, which interpolates between GOE statistics and independent levels.

    $H_{ii} = s\,\xi_{ii}$ and $H_{ij} = H_{ji} = s\,n^{-\gamma/2}\,\xi_{ij}$ for i < j, with independent standard
    normal ξ. As n → ∞ the eigenvectors are ergodic for γ < 1, fractal for 1 < γ < 2 and localised for γ > 2.
    Neighbouring levels repel as in the GOE for γ < 2 and are independent for γ > 2. `laws.PoissonCrossoverSurmise` is
    the surmise for spacings between these limits.

    Convention: $E H_{ii}^2 = s^2$ and $E H_{ij}^2 = s^2 n^{-\gamma}$; nothing else is divided by n. The diagonal stays
    of order 1, and for γ < 1 the spectrum grows as $2 s\,n^{(1-\gamma)/2}$. Authors differ in constant factors off the
    diagonal, which do not move the two transitions. With $r = 1 + (n - 1) n^{-\gamma}$,
    $E \operatorname{tr} H^2 = n s^2 r$ and $E \operatorname{tr} H^4 = n s^4 \big(2 r^2 + 1 + (n - 1)
    n^{-2\gamma}\big)$. `law()` is the free sum of the normal law of the diagonal and the semicircle of
    the rest, of radius $2 s \sqrt{(n - 1)\,n^{-\gamma}}$. As n → ∞ the semicircle wins for γ < 1, the normal law for
    γ > 1, and at γ = 1 both stay.

    Args:
        n: size of the matrix, n ≥ 1; static.
        gamma: γ ≥ 0, differentiable.
        scale: s > 0, differentiable.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax
        >>> levels = RosenzweigPorter(100, gamma=4.0).eigenvalues(jax.random.key(0))
        >>> print(levels.shape)  # nearly independent
        (100,)

    References:
        Rosenzweig and Porter (1960), Phys. Rev. 120, 1698; Pastur (1972), Theor. Math. Phys. 10, 67, for the law;
        Kravtsov, Khaymovich, Cuevas and Amini (2015), New J. Phys. 17, 122002; von Soosten and Warzel (2019), Lett.
        Math. Phys. 109, 905.
    """

    n: int = eqx.field(static=True)
    gamma: Annotated[Float[Array, ""], _checks.NONNEGATIVE]
    scale: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, n: int, gamma: RealScalarLike, scale: RealScalarLike = 1.0):
        self.n = _checks.integer("n", n, at_least=1)
        self.gamma = _checks.scalar("gamma", gamma)
        self.scale = _checks.scalar("scale", scale, nonzero=True)

    def _deviations(self) -> Float[Array, "n n"]:
        return jnp.where(jnp.eye(self.n, dtype=bool), 1, self.n ** (-self.gamma / 2))

    def _law(self) -> AbstractLaw:
        diagonal = Normal(self.scale)
        if self.n == 1:
            return diagonal
        # For large γ the semicircle is below rounding, but its radius stays positive.
        least = float(jnp.finfo(self.gamma.dtype).eps) ** 2
        radius = 2 * jnp.maximum(math.sqrt(self.n - 1) * self.n ** (-self.gamma / 2), least)
        return FreeSum(diagonal, Semicircle(self.scale * radius))
