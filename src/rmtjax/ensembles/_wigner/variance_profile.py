"""Real symmetric matrices with independent normal entries of given variances: profiles and bands."""

import math
from abc import abstractmethod
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._promotion import common_dtype
from rmtjax._typing import KeyScalar, RealLike, RealScalarLike
from rmtjax.ensembles._core.base import AbstractEnsemble
from rmtjax.ensembles._core.symmetric import mirrored
from rmtjax.laws import Semicircle, VarianceProfileLaw
from rmtjax.linalg.internal import hermitian_eigenvalues, hermitian_part
from rmtjax.special.internal import square_root


class AbstractVarianceProfile(AbstractEnsemble):
    r"""Real symmetric matrices $H_{ij} = s \sqrt{v_{ij}}\,\xi_{ij}$ with independent standard normal ξ for i ≤ j.

    In the formula for $E \operatorname{tr} H^4$ (see `VarianceProfile`) two pairings of the four steps of a closed walk
    do not cross; the crossing pairing keeps the walk on a single edge.
    """

    scale: eqx.AbstractVar[Float[Array, ""]]

    @abstractmethod
    def _deviations(self) -> Float[Array, "n n"]:
        """The symmetric matrix of the standard deviations √v."""

    def _degree_in_scale(self) -> int:
        return 1

    def _sample(self, key: KeyScalar) -> Float[Array, "n n"]:
        deviations = self._deviations()
        dtype = common_dtype(self.scale, deviations)
        return self.scale * (deviations * mirrored(jax.random.normal(key, (self.n, self.n), dtype)))

    def _eigenvalues(self, key: KeyScalar) -> Float[Array, " n"]:
        return hermitian_eigenvalues(self._sample(key))


_VARIANCES = _checks.Rule(lambda v: ((v >= 0) & (v < math.inf)).all(), "be finite and not negative")


class VarianceProfile(AbstractVarianceProfile):
    r"""Real symmetric matrices with independent normal entries of arbitrary variances.

    $H_{ij} = H_{ji} = s \sqrt{v_{ij}}\;\xi_{ij}$ with independent standard normal ξ for i ≤ j.

    Convention: $E H_{ij}^2 = s^2 v_{ij}$, on the diagonal too; nothing is divided by n. The spectrum stays bounded as
    n → ∞ if the row sums $r_i = \sum_j v_{ij}$ do. $E \operatorname{tr} H^2 = s^2 \sum_i r_i$ and
    $E \operatorname{tr} H^4 = s^4 (2 \sum_i r_i^2 + \sum_{ij} v_{ij}^2)$. `law()` is that of large
    matrices whose rows are of n types with these variances. It solves $1/g_i = z - s^2 \sum_j v_{ij} g_j$ for n
    numbers, and needs positive variances on the diagonal.

    Args:
        variances: n×n finite variances v ≥ 0, of which the symmetric part $(v + v^T)/2$ is used. Differentiable; at
            v = 0 the derivative of √v is taken as 0.
        scale: s > 0, differentiable.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> checkerboard = VarianceProfile(jnp.array([[0.0, 1.0], [1.0, 0.0]]))
        >>> print(jnp.trace(checkerboard.sample(jax.random.key(0))))
        0.0

    References:
        Ajanki, Erdős and Krüger (2017), Probab. Theory Related Fields 169, 667, section 1.
    """

    n: int = eqx.field(static=True)
    variances: Annotated[Float[Array, "n n"], _VARIANCES]
    scale: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, variances: RealLike, scale: RealScalarLike = 1.0):
        array = _checks.real("variances", variances)
        if array.ndim != 2:
            raise _checks.refusal("variances", "be one square matrix", array.shape)
        self.variances = _checks.square_matrix("variances", array)
        self.n = array.shape[0]
        self.scale = _checks.scalar("scale", scale, nonzero=True)

    def _deviations(self) -> Float[Array, "n n"]:
        return square_root(hermitian_part(self.variances))

    def _law(self) -> VarianceProfileLaw:
        return VarianceProfileLaw(self.n * self.scale**2 * self.variances)


class Banded(AbstractVarianceProfile):
    r"""Periodic band matrices: real symmetric, with normal entries within a distance w of the diagonal.

    $H_{ij} = H_{ji} = \frac{s}{\sqrt{2w + 1}}\,\xi_{ij}$ with independent standard normal ξ where
    $\min(|i - j|, n - |i - j|) \le w$, and 0 elsewhere.

    Convention: $E H_{ij}^2 = s^2/(2w + 1)$ in the band and on the diagonal, so the variances in every row sum to
    $s^2$: $E \operatorname{tr} H^2 = n s^2$ and $E \operatorname{tr} H^4 = n s^4 \big(2 + \frac1{2w+1}\big)$ at every
    n. The spectrum fills [-2s, 2s] as both w and n go to ∞. At 2w + 1 = n the ensemble is `Wigner(n, scale=s)`.

    Args:
        n: size of the matrix; static.
        width: w, 1 ≤ w ≤ (n - 1)/2; static.
        scale: s > 0, differentiable.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax
        >>> print((Banded(6, 1).sample(jax.random.key(0))[0] != 0).astype(int))
        [1 1 0 0 0 1]

    References:
        Casati, Molinari and Izrailev (1990), Phys. Rev. Lett. 64, 1851; Erdős, Yau and Yin (2012), Probab. Theory
        Related Fields 154, 341, section 2.
    """

    n: int = eqx.field(static=True)
    width: int = eqx.field(static=True)
    scale: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, n: int, width: int, scale: RealScalarLike = 1.0):
        self.n = _checks.integer("n", n, at_least=3)
        self.width = _checks.integer("width", width, at_least=1)
        if 2 * self.width + 1 > self.n:
            raise _checks.refusal("width", f"be at most {(self.n - 1) // 2}", width)
        self.scale = _checks.scalar("scale", scale, nonzero=True)

    def _deviations(self) -> Float[Array, "n n"]:
        index = jnp.arange(self.n)
        distance = jnp.abs(index[:, None] - index[None])
        in_band = jnp.minimum(distance, self.n - distance) <= self.width
        return jnp.where(in_band, (2 * self.width + 1) ** -0.5, 0.0)

    def _law(self) -> Semicircle:
        return Semicircle(2 * self.scale)
