"""Quotients of two Ginibre matrices."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import betaln
from jaxtyping import Array, Complex, Float, Inexact

from rmtjax import _checks
from rmtjax._typing import DysonIndex, KeyScalar
from rmtjax.ensembles._plane.rotation_invariant import AbstractRotationInvariant
from rmtjax.laws import SphericalLaw
from rmtjax.random.internal import gaussian_matrix, unchecked_chi


class Spherical(AbstractRotationInvariant):
    r"""The spherical ensembles, $B^{-1} A$ for two independent Ginibre matrices.

    $B^{-1} A$ and $A B^{-1}$ both have the density $\propto \det(1 + Y Y^*)^{-\beta n}$. The eigenvalues are those of
    the pencil $A - \lambda B$; for β = 2 their law, projected onto the sphere, is invariant under rotations.
    For β = 2 and 4 the absolute values are, as a set, independent variates $\chi_{\beta k}/\chi_{\beta(n + 1 - k)}$,
    k = 1..n.

    Convention: there is no scale, because the scales of A and B cancel. Half of the eigenvalues lie in the unit disc.
    The entries and eigenvalues have heavy tails: $E|\lambda| < \infty$ but $E|\lambda|^2 = \infty$ for β = 2.

    Args:
        n: size of the matrix, n ≥ 1; static.
        beta: 1, 2 or 4; static.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax
        >>> print(Spherical(4, beta=2).eigenvalues(jax.random.key(0)).shape)
        (4,)

    References:
        Krishnapur (2009), Ann. Probab. 37, 314; Forrester and Mays (2012), Probab. Theory Related Fields 154, 1, for
        β = 1; Mays (2013), J. Stat. Phys. 153, 48, for β = 4.
    """

    n: int = eqx.field(static=True)
    beta: DysonIndex = eqx.field(static=True)

    def __init__(self, n: int, beta: DysonIndex = 1):
        self.n = _checks.integer("n", n, at_least=1)
        self.beta = _checks.dyson_index(beta)

    def _matrix(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        draw = lambda key: gaussian_matrix(key, self.n, self.n, self.beta, self._unit().dtype)
        a, b = jax.vmap(draw)(jax.random.split(key))
        return jnp.linalg.solve(b, a)

    def _independent_moduli(self, key: KeyScalar) -> Float[Array, " n"]:
        key_above, key_below = jax.random.split(key)
        return unchecked_chi(key_above, self._degrees()) / unchecked_chi(key_below, self._degrees()[::-1])

    def _joint_logpdf(self, levels: Complex[Array, " n"]) -> Float[Array, ""]:
        power = self.beta * (self.n + 1) / 2
        return self._radial_joint_logpdf(levels, lambda t: -power * jnp.log1p(t), lambda a: betaln(a, power - a))

    def _law(self) -> SphericalLaw:
        return SphericalLaw()
