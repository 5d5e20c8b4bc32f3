"""Corners of Haar-distributed orthogonal, unitary and symplectic matrices."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import betaln, xlog1py
from jaxtyping import Array, Complex, Float, Inexact

from rmtjax import _checks
from rmtjax._typing import DysonIndex, KeyScalar
from rmtjax.ensembles._plane.rotation_invariant import AbstractRotationInvariant
from rmtjax.laws import TruncatedUnitaryLaw
from rmtjax.random.internal import haar_isometry, unchecked_chi


class TruncatedUnitary(AbstractRotationInvariant):
    r"""The upper left n×n corner of a Haar-distributed matrix of size n + m.

    The matrix is orthogonal for β = 1, unitary for β = 2 and symplectic (of quaternions) for β = 4. The corner A is a
    contraction, with the density $\propto \det(1 - A^* A)^{\beta(m - n + 1)/2 - 1}$ if m ≥ n. For β = 2 and 4 the
    squared absolute values of the eigenvalues are, as a set, independent variates of
    $\mathrm{Beta}(\beta k/2, \beta m/2)$, k = 1..n.

    Convention: there is no scale; the singular values lie in [0, 1]. The law fills the disc of radius
    $\sqrt{n/(n + m)}$.

    Args:
        n: size of the corner, n ≥ 1; static.
        m: number of rows and columns that are cut off, m ≥ 1; static.
        beta: 1, 2 or 4; static.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax
        >>> print(bool((TruncatedUnitary(3, 2).moduli(jax.random.key(0)) < 1).all()))
        True

    References:
        Życzkowski and Sommers (2000), J. Phys. A 33, 2045; Khoruzhenko, Sommers and Życzkowski (2010), Phys. Rev. E 82,
        040106, for β = 1.
    """

    n: int = eqx.field(static=True)
    m: int = eqx.field(static=True)
    beta: DysonIndex = eqx.field(static=True)

    def __init__(self, n: int, m: int, beta: DysonIndex = 2):
        self.n = _checks.integer("n", n, at_least=1)
        self.m = _checks.integer("m", m, at_least=1)
        self.beta = _checks.dyson_index(beta)

    def _matrix(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        columns = haar_isometry(key, self.n + self.m, self.n, self.beta, self._unit().dtype)
        return columns[: columns.shape[1]]

    def _independent_moduli(self, key: KeyScalar) -> Float[Array, " n"]:
        key_inside, key_outside = jax.random.split(key)
        inside = unchecked_chi(key_inside, self._degrees())
        return inside / jnp.hypot(inside, unchecked_chi(key_outside, jnp.full_like(inside, self.beta * self.m)))

    def _joint_logpdf(self, levels: Complex[Array, " n"]) -> Float[Array, ""]:
        power = self.beta * self.m / 2

        def log_weight(t: Array) -> Array:
            inside = t < 1
            return jnp.where(inside, xlog1py(power - 1, -jnp.where(inside, t, 0)), -jnp.inf)

        return self._radial_joint_logpdf(levels, log_weight, lambda a: betaln(a, power))

    def _law(self) -> TruncatedUnitaryLaw:
        return TruncatedUnitaryLaw(self.n / (self.n + self.m))
