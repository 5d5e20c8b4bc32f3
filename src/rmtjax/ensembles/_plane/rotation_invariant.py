r"""What ensembles that do not change under $G \to e^{i\varphi} G$ have in common: independent absolute values.

With a weight w of $t = |z|^2$, the joint densities of `log_determinantal` for β = 2 and 4 integrate over the angles to
a permanent: the squares of the absolute values are together those of n independent variates of density
$\propto t^{\beta k/2 - 1} w(t)$, k = 1..n (Kostlan 1992, Linear Algebra Appl. 162, 385; Hough, Krishnapur, Peres and
Virág 2006, Probab. Surv. 3, 206, for determinantal processes; Rider 2004, J. Stat. Phys. 114, 1139, for β = 4).
"""

from abc import abstractmethod
from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Complex, Float

from rmtjax._typing import KeyScalar
from rmtjax.ensembles._core.non_hermitian import AbstractNonHermitianEnsemble, log_determinantal


class AbstractRotationInvariant(AbstractNonHermitianEnsemble):
    """An ensemble of which, for β = 2 and 4, the absolute values of the eigenvalues are independent variates."""

    @abstractmethod
    def _independent_moduli(self, key: KeyScalar) -> Float[Array, " n"]:
        """Those variates in units of `_unit`, in any order, for β = 2 and 4."""

    def _moduli(self, key: KeyScalar) -> Float[Array, " n"]:
        if self.beta == 1:
            return jnp.sort(jnp.abs(self._eigenvalues(key)))
        return self._unit() * jnp.sort(self._independent_moduli(key))

    def _degrees(self) -> Float[Array, " n"]:
        """βk, k = 1..n: twice the parameters of the gamma variates among them."""
        return self.beta * jnp.arange(1, self.n + 1, dtype=self._unit().dtype)

    def _radial_log_prob(
        self,
        levels: Complex[Array, " n"],
        log_weight: Callable[[Array], Array],
        log_moment: Callable[[Array], Array],
    ) -> Float[Array, ""]:
        r"""Joint density with the weight w(t) and its moments $\mu(a) = \int t^{a-1} w\,dt$, in units of `_unit`."""
        unit = self._unit()
        z = levels / unit
        density = log_determinantal(z, self.beta, log_weight(square(z)), log_moment(self._degrees() / 2))
        return density - 2 * self.n * jnp.log(unit)


def square(z: Complex[Array, " n"]) -> Float[Array, " n"]:
    """|z|² with a derivative at 0."""
    return z.real**2 + z.imag**2
