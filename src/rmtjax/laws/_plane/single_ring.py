r"""The law of the single ring theorem.

Derivation. Let μ be the law of σ², and $S(z) = \chi(z)(1 + z)/z$ with $E\,\chi\sigma^2/(1 - \chi\sigma^2) = z$ its
S-transform. For $z = p - 1$ and $\chi = -1/\tau$ this is $E\,\tau/(\tau + \sigma^2) = p$, and the theorem,
$P(|Z|^2 \le 1/S(p - 1)) = p$, puts the quantile of $T = |Z|^2$ at $t = \tau(1 - p)/p$. So t and p are related by

$$E\,\frac{t - \sigma^2}{p\,t + (1 - p)\,\sigma^2} = 0.$$

The left side rises with t and falls with p; the solution is $t = 1/E\sigma^{-2}$ at p = 0 and $t = E\sigma^2$ at p = 1.
"""

import math
from typing import Annotated

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._promotion import aligned, common_dtype
from rmtjax._typing import RealLike
from rmtjax.laws._plane.radial import AbstractRadialLaw
from rmtjax.special.internal import bracketed_root

_SINGULAR_VALUES = _checks.Rule(
    lambda x: ((x > 0) & (x < math.inf)).all() & (x.max() > x.min()), "be positive, finite and not all equal"
)


class SingleRing(AbstractRadialLaw):
    r"""The law of the single ring theorem: eigenvalues of $U \Sigma V$ with Haar unitary U and V, independent.

    For singular values σ of equal weight, P(|Z|² ≤ t) = p is the solution of

    $$\frac1n \sum_k \frac{t - \sigma_k^2}{p\,t + (1 - p)\,\sigma_k^2} = 0, \qquad
    \Big(\frac1n \sum_k \sigma_k^{-2}\Big)^{-1} \le t \le \frac1n \sum_k \sigma_k^2,$$

    so the eigenvalues fill a single ring, whose squared radii are the harmonic and the arithmetic mean of σ². It is
    the limit for large matrices in which each σ is repeated equally often, or whose law of singular values has the σ
    as quantiles. Values are right to rounding if the largest σ is at most $10^9$ times the smallest (double precision:
    $10^{70}$). Each value costs a sum over the singular values for every step of a bisection.

    Args:
        singular_values: a vector of at least two positive finite numbers in any order, not all equal, which would give
            a circle. Repeat a number to give it more weight.

    Raises:
        ValueError: `singular_values` is outside its range.

    Example:
        >>> law = SingleRing([1.0, 2.0])
        >>> print(f"{law.radial_cdf(1.5):.5f} {law.radial_cdf(1.26):.1f} {law.radial_cdf(1.6):.1f}")
        0.74286 0.0 1.0

    References:
        Feinberg and Zee (1997), Nucl. Phys. B 501, 643; Haagerup and Larsen (2000), J. Funct. Anal. 176, 331, theorem
        4.4; Guionnet, Krishnapur and Zeitouni (2011), Ann. Math. 174, 1189, theorem 1.
    """

    singular_values: Annotated[Float[Array, " n"], _SINGULAR_VALUES]

    def __init__(self, singular_values: Annotated[RealLike, "n"]):
        self.singular_values = _checks.vector("singular_values", singular_values)

    def _degrees(self) -> dict[str, int]:
        return {"singular_values": 1}

    def _squares(self) -> Float[Array, " n"]:
        return self.singular_values**2

    def _ends(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        return 1 / jnp.mean(1 / self._squares()), jnp.mean(self._squares())

    def _excess(self, t: Float[Array, "..."], p: Float[Array, "..."]) -> Float[Array, "..."]:
        """The left side of the equation for t and p."""
        t, p, squares = aligned(t[..., None], p[..., None], self._squares())
        return jnp.mean((t - squares) / (p * t + (1 - p) * squares), -1)

    def _mass(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        zero = jnp.zeros(t.shape, common_dtype(t, self.singular_values))
        return bracketed_root(lambda p: -self._excess(t, p), zero, zero + 1)

    def _square(self, p: Float[Array, "..."]) -> Float[Array, "..."]:
        lower, upper = (jnp.broadcast_to(end.astype(common_dtype(p, end)), p.shape) for end in self._ends())
        return bracketed_root(lambda t: self._excess(t, p), lower, upper)

    def _density(self, t: Float[Array, "..."]) -> Float[Array, "..."]:
        # The density is dp/dt, from the implicit function theorem.
        t, squares = aligned(t[..., None], self._squares())
        p = self._mass(t)
        denominator = (p * t + (1 - p) * squares) ** 2
        return jnp.mean(squares / denominator, -1) / jnp.mean((t - squares) ** 2 / denominator, -1)
