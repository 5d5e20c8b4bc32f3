"""The independent entries of the tridiagonal models of Dumitriu and Edelman, and the matrices made of them."""

from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.special import gammaln
from jaxtyping import Array, Float

from rmtjax._module import AbstractModule
from rmtjax.linalg._tridiagonal import SymTridiagonal


class AbstractEntries(AbstractModule):
    """The law of the independent normal and gamma variates that determine a symmetric tridiagonal matrix.

    The levels are `unit` times the levels of the weight without a unit. Each row of the model has two variates; the
    second variate of the last row has the shape 0 and is not used.
    """

    n: eqx.AbstractVar[int]
    beta: eqx.AbstractVar[Float[Array, ""]]
    unit: eqx.AbstractVar[Float[Array, ""]]
    normal_diagonal: eqx.AbstractClassVar[bool]  # whether the first variate of a row is standard normal, else gamma

    @abstractmethod
    def shapes(self) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """The shape parameters of the gamma variates of each row; where a variate is normal, its number is ignored."""

    @abstractmethod
    def without_one(self) -> "AbstractEntries":
        """The model of n - 1 levels with the same weight."""

    @abstractmethod
    def log_weight(self, x: Float[Array, "*m"]) -> Float[Array, "*m"]:
        r"""The logarithm of $(Z_{n-1}/Z_n)\,w(x)$, without the factor that all weights share."""

    @abstractmethod
    def soft_edge(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """The end of the bulk, in the unit of the weight, and the rate at which tails fall one fluctuation beyond."""

    @abstractmethod
    def matrix(self, first: Float[Array, " n"], second: Float[Array, " n"]) -> SymTridiagonal:
        """The tridiagonal matrix made of these variates, in the unit of the ensemble."""


class HermiteEntries(AbstractEntries):
    r"""The model with levels of density $\propto \prod |x_i - x_j|^\beta \prod e^{-x_i^2/2}$, times the unit.

    The variates of row i are the diagonal entry, N(0, 1), and the square of the entry to its right, of the gamma
    distribution with shape $(n - i)\beta/2$ (Dumitriu and Edelman 2002, theorem 2.12).
    """

    n: int = eqx.field(static=True)
    beta: Float[Array, ""]
    unit: Float[Array, ""]
    normal_diagonal: ClassVar[bool] = True

    def shapes(self) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        left = jnp.arange(self.n - 1, -1, -1, dtype=self.beta.dtype)
        return jnp.ones_like(left), self.beta * left / 2

    def without_one(self) -> "HermiteEntries":
        return HermiteEntries(self.n - 1, self.beta, self.unit)

    def log_weight(self, x: Float[Array, "*m"]) -> Float[Array, "*m"]:
        return -jnp.log(2 * jnp.pi) / 2 - x**2 / 2

    def soft_edge(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        return jnp.sqrt(2 * self.beta * self.n), jnp.sqrt(2 * self.beta) * self.n ** (1 / 6)

    def matrix(self, first: Float[Array, " n"], second: Float[Array, " n"]) -> SymTridiagonal:
        return SymTridiagonal(self.unit * first, self.unit * jnp.sqrt(second[: self.n - 1]))


class LaguerreEntries(AbstractEntries):
    r"""The model with levels of density $\propto \prod |x_i - x_j|^\beta \prod x_i^{a-(n-1)\beta/2-1} e^{-x_i}$.

    The variates of row i are the squares of the bidiagonal matrix's entries on the diagonal and below it, of gamma
    distributions with the shapes $a - (i-1)\beta/2$ and $(n - i)\beta/2$ (Dumitriu and Edelman 2002, theorem 3.4).
    """

    n: int = eqx.field(static=True)
    a: Float[Array, ""]
    beta: Float[Array, ""]
    unit: Float[Array, ""]
    normal_diagonal: ClassVar[bool] = False

    def shapes(self) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        row = jnp.arange(self.n, dtype=self.beta.dtype)
        return self.a - self.beta * row / 2, self.beta * (self.n - 1 - row) / 2

    def without_one(self) -> "LaguerreEntries":
        return LaguerreEntries(self.n - 1, self.a - self.beta / 2, self.beta, self.unit)

    def log_weight(self, x: Float[Array, "*m"]) -> Float[Array, "*m"]:
        power = self.a - (self.n - 1) * self.beta / 2 - 1
        inside = x > 0
        safe = jnp.where(inside, x, 1)
        return jnp.where(inside, -gammaln(self.a) + power * jnp.log(safe) - safe, -jnp.inf)

    def soft_edge(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        root, freedom = self.n**0.5, 2 * self.a / self.beta
        width = (jnp.sqrt(freedom) + root) * (1 / jnp.sqrt(freedom) + 1 / root) ** (1 / 3)
        return self.beta / 2 * (jnp.sqrt(freedom) + root) ** 2, 2 / width

    def matrix(self, first: Float[Array, " n"], second: Float[Array, " n"]) -> SymTridiagonal:
        below = second[: self.n - 1]
        diagonal = first + jnp.pad(below, (1, 0))
        return SymTridiagonal(self.unit * diagonal, self.unit * jnp.sqrt(first[:-1] * below))
