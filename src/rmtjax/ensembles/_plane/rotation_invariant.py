r"""The common base of ensembles invariant under $G \to e^{i\varphi} G$, which have independent absolute values.

If the weight w depends on $t = |z|^2$ alone, the joint densities of `log_determinantal` for β = 2 and 4 become a
permanent when integrated over the angles: the squared absolute values are, as a set, n independent variates of density
$\propto t^{\beta k/2 - 1} w(t)$, k = 1..n (Kostlan 1992, Linear Algebra Appl. 162, 385; Hough, Krishnapur, Peres and
Virág 2006, Probab. Surv. 3, 206, for determinantal processes; Rider 2004, J. Stat. Phys. 114, 1139, for β = 4).
"""

from abc import abstractmethod
from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Complex, Float

from rmtjax._ordering import in_order
from rmtjax._promotion import in_one_precision
from rmtjax._typing import KeyScalar
from rmtjax._units import quotient
from rmtjax.ensembles._core.non_hermitian import AbstractNonHermitianEnsemble, log_determinantal


class AbstractRotationInvariant(AbstractNonHermitianEnsemble):
    """An ensemble whose eigenvalues have, for β = 2 and 4, independent absolute values."""

    @abstractmethod
    def _independent_moduli(self, key: KeyScalar) -> Float[Array, " n"]:
        """The absolute values in units of `_unit`, in any order, for β = 2 and 4."""

    def _moduli(self, key: KeyScalar) -> Float[Array, " n"]:
        if self.beta == 1:
            return super()._moduli(key)
        return self._unit() * in_order(self._independent_moduli(key))

    def _degrees(self) -> Float[Array, " n"]:
        """The numbers βk, k = 1..n: degrees of freedom of chi variates, and twice the parameters of gamma variates."""
        return self.beta * jnp.arange(1, self.n + 1, dtype=self._unit().dtype)

    def _radial_joint_logpdf(
        self, levels: Complex[Array, " n"], log_weight: Callable[[Array], Array], log_moment: Callable[[Array], Array]
    ) -> Float[Array, ""]:
        r"""Logarithm of the joint density for a weight w(t), in units of `_unit`, with moments $\int t^{a-1} w\,dt$."""
        levels, unit, degrees = in_one_precision((levels, self._unit(), self._degrees()))
        z = quotient(levels, unit)
        density = log_determinantal(z, self.beta, log_weight(square(z)), log_moment(degrees / 2))
        return density - 2 * self.n * jnp.log(unit)


def square(z: Complex[Array, " n"]) -> Float[Array, " n"]:
    """The square |z|², which is differentiable at 0 too."""
    return z.real**2 + z.imag**2
