"""Sums of a Gaussian and a deterministic matrix."""

from typing import Annotated

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import like
from rmtjax._typing import KeyScalar, RealLike
from rmtjax.ensembles._core.base import AbstractEnsemble
from rmtjax.ensembles._gaussian.matrices import GOE, GSE, GUE
from rmtjax.laws import DeformedSemicircle
from rmtjax.linalg.internal import hermitian_eigenvalues


class Deformed(AbstractEnsemble):
    r"""Deformed Gaussian ensembles, A + H with a deterministic matrix A that has given levels a.

    H is drawn from the base, a GOE, GUE or GSE, and A is diagonal. Because the base is invariant, any A with these
    levels in the symmetry class of the base gives a spectrum of the same law: the law of Gaussian matrices with an
    external source, or of Dyson's Brownian motion started at a.

    Convention: as in the base. With $c = E (H^2)_{ii} = s^2 \big(1 + \frac{2/\beta - 1}{n}\big)$ the means
    $E \sum_k \lambda_k = \sum_k a_k$, $E \sum_k \lambda_k^2 = \sum_k a_k^2 + n c$ and
    $E \sum_k \lambda_k^3 = \sum_k a_k^3 + 3 c \sum_k a_k$ are exact. The law is the free convolution of the n levels
    with the semicircle on ±2s. For β = 4 a sample has 2n rows, A has every level twice, and `eigenvalues` returns n.

    Args:
        base: a `GOE`, `GUE` or `GSE` of n levels.
        levels: a, n finite real numbers in any order; differentiable, like the scale of the base.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax, rmtjax as rmt
        >>> law = Deformed(rmt.GUE(4, scale=0.5), [-1.0, -1.0, 1.0, 1.0]).law()
        >>> print(f"{law.var():.2f}")
        1.25

    References:
        Pastur (1972), Theor. Math. Phys. 10, 67; Brézin and Hikami (1996), Nucl. Phys. B 479, 697; Johansson (2001),
        Commun. Math. Phys. 215, 683.
    """

    n: int = eqx.field(static=True)
    base: GOE | GUE | GSE
    levels: Annotated[Float[Array, " n"], _checks.ALL_FINITE]

    def __init__(self, base: GOE | GUE | GSE, levels: RealLike):
        if not isinstance(base, GOE | GUE | GSE):
            raise _checks.refusal("base", "be a GOE, GUE or GSE", base)
        self.n, self.base = base.n, base
        self.levels = _checks.of_shape("levels", levels, (base.n,))

    def _multiplicity(self) -> int:
        return 2 if isinstance(self.base, GSE) else 1

    def _sample(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        h = self.base._sample(key)
        return h + like(h, jnp.diag(jnp.repeat(self.levels, self._multiplicity())))

    def _eigenvalues(self, key: KeyScalar) -> Float[Array, " n"]:
        return hermitian_eigenvalues(self._sample(key))[:: self._multiplicity()]

    def _law(self) -> DeformedSemicircle:
        return DeformedSemicircle(self.levels, jnp.full_like(self.levels, 1 / self.n), 2 * self.base.scale)
