"""Reduced models of spiked ensembles: a tridiagonal or bidiagonal matrix for one spike, a band for several."""

import math
from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact, Int

from rmtjax import _checks
from rmtjax._module import AbstractModule
from rmtjax._promotion import common_dtype, like
from rmtjax._typing import KeyScalar
from rmtjax._units import quotient
from rmtjax.ensembles._core.base import AbstractEnsemble
from rmtjax.ensembles._gaussian.beta import AbstractGaussian, GaussianBeta
from rmtjax.ensembles._laguerre.beta import LaguerreBeta
from rmtjax.ensembles._laguerre.wishart import Wishart
from rmtjax.linalg import SymTridiagonal
from rmtjax.linalg.internal import block_counts, block_singular_values, block_square_counts, hermitian_eigenvalues
from rmtjax.random.internal import lower_band, triangular_band, unchecked_chi
from rmtjax.spectra.internal import count_below

Entries = tuple[Float[Array, " k"], Float[Array, " k-1"]]


class AbstractSpikedModel(AbstractModule):
    """The spectrum of a base with spikes."""

    base: eqx.AbstractVar[AbstractEnsemble]
    spikes: eqx.AbstractVar[Float[Array, " r"]]

    @staticmethod
    @abstractmethod
    def limits(base: Any) -> tuple[int, float]:
        """The largest number of spikes of the base, and the number that each of them must exceed."""

    @abstractmethod
    def outliers(self) -> Float[Array, " r"]:
        """Limits of the levels that belong to the spikes."""

    @abstractmethod
    def perturbed(self, matrix: Inexact[Array, "rows rows"], spikes: Float[Array, " k"]) -> Inexact[Array, "rows rows"]:
        """A sample of the base with spikes in its first rows."""

    @abstractmethod
    def excess(self) -> Float[Array, " r"]:
        """The spikes in units of the threshold: above 1 there is an outlier above the bulk, below -1 one below it."""

    @abstractmethod
    def eigenvalues(self, key: KeyScalar, first: int, last: int) -> Float[Array, " k"]:
        """The ascending levels `first` to `last - 1`."""

    @abstractmethod
    def _counts_with_one(self, key: KeyScalar, x: Float[Array, "..."]) -> Int[Array, "..."]:
        """Number of levels below x for a single spike."""

    def count_below(self, key: KeyScalar, x: Float[Array, "..."]) -> Int[Array, "..."]:
        if self.spikes.size == 1:
            return self._counts_with_one(key, x)
        return count_below(self.eigenvalues(key, 0, self.base.n), x)


class SpikedHermite(AbstractSpikedModel):
    """The matrix H + diag(θ)."""

    base: AbstractGaussian
    spikes: Float[Array, " r"]

    @staticmethod
    def limits(base: Any) -> tuple[int, float]:
        return (1 if isinstance(base, GaussianBeta) else base.n), -math.inf

    def excess(self) -> Float[Array, " r"]:
        return quotient(self.spikes, self.base.scale)

    def outliers(self) -> Float[Array, " r"]:
        strength = self.excess()
        beyond = jnp.where(strength < 0, -1, 1) * jnp.maximum(jnp.abs(strength), 1)
        return self.base.scale * (beyond + 1 / beyond)

    def perturbed(self, matrix: Inexact[Array, "rows rows"], spikes: Float[Array, " k"]) -> Inexact[Array, "rows rows"]:
        return matrix + like(matrix, jnp.diag(_filled(spikes, matrix.shape[-1], 0)))

    def eigenvalues(self, key: KeyScalar, first: int, last: int) -> Float[Array, " k"]:
        if self.spikes.size == 1:
            return self.base.scale * SymTridiagonal(*self._tridiagonal(key)).eigenvalues((first, last))
        return hermitian_eigenvalues(self._band(key))[:: _copies(int(self.base._beta()))][first:last]

    def _counts_with_one(self, key: KeyScalar, x: Float[Array, "..."]) -> Int[Array, "..."]:
        return block_counts(*self._tridiagonal(key), jnp.int32(self.base.n), quotient(x, self.base.scale))

    def _tridiagonal(self, key: KeyScalar) -> Entries:
        diagonal, beside = (entries.astype(_dtype(self)) for entries in self.base._entries(key))
        return diagonal.at[0].add(quotient(self.spikes[0], self.base.scale)), beside

    def _band(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        """The band matrix, with normal entries down to lower diagonal r - 1 and χ variates, norms of columns, on r."""
        n, beta, r = self.base.n, int(self.base._beta()), self.spikes.size
        key_inner, key_edge = jax.random.split(key)
        inner = jax.random.normal(key_inner, (beta, r, n), _dtype(self))
        # The diagonal has one real component of twice the variance. Adding the adjoint doubles this component.
        inner = inner.at[0, 0].multiply(2**-0.5).at[1:, 0].set(0)
        left = jnp.maximum(n - r - jnp.arange(n, dtype=_dtype(self)), 0)
        lower = lower_band(inner, unchecked_chi(key_edge, beta * left), n)
        matrix = like(lower, self.base.scale * (beta * n) ** -0.5) * (lower + lower.conj().T)
        return self.perturbed(matrix, jnp.repeat(self.spikes, _copies(beta)))


class SpikedLaguerre(AbstractSpikedModel):
    """The matrix Σ^{1/2} W Σ^{1/2} with Σ = diag(θ, 1, …, 1)."""

    base: Wishart | LaguerreBeta
    spikes: Float[Array, " r"]

    @staticmethod
    def limits(base: Any) -> tuple[int, float]:
        return (1 if isinstance(base, LaguerreBeta) else base.n), 0.0

    def excess(self) -> Float[Array, " r"]:
        return (self.spikes - 1) / jnp.sqrt(jnp.asarray(self.base._law().ratio))

    def outliers(self) -> Float[Array, " r"]:
        ratio = jnp.asarray(self.base._law().ratio)
        root, excess = jnp.sqrt(ratio), self.spikes - 1
        below = jnp.where(ratio < 1, jnp.minimum(excess, -root), -root)
        excess = jnp.where(excess >= 0, jnp.maximum(excess, root), below)
        return self.base.scale**2 * (1 + excess) * (1 + ratio / excess)

    def perturbed(self, matrix: Inexact[Array, "rows rows"], spikes: Float[Array, " k"]) -> Inexact[Array, "rows rows"]:
        root = _filled(jnp.sqrt(spikes), matrix.shape[-1], 1)
        return like(matrix, root[:, None] * root[None]) * matrix

    def eigenvalues(self, key: KeyScalar, first: int, last: int) -> Float[Array, " k"]:
        n, zeros = self.base.n, self.base._zeros()
        first_positive, last_positive = max(first, zeros), max(last, zeros)
        if self.spikes.size == 1:
            diagonal, below, unit = self._bidiagonal(key)
            singular = block_singular_values(first_positive, last_positive, diagonal, below, jnp.int32(n))
        else:
            band, unit = self._band(key)
            singular = jnp.linalg.svd(band, compute_uv=False)[:: -_copies(int(self.base.beta))]
            singular = singular[first_positive - zeros : last_positive - zeros]
        return jnp.pad(unit * singular**2, (last - first - singular.size, 0))

    def _counts_with_one(self, key: KeyScalar, x: Float[Array, "..."]) -> Int[Array, "..."]:
        diagonal, below, unit = self._bidiagonal(key)
        counts = block_square_counts(diagonal, below, jnp.int32(self.base.n), quotient(x, unit))
        return jnp.where(x > 0, jnp.maximum(counts, self.base._zeros()), 0)

    def _bidiagonal(self, key: KeyScalar) -> tuple[Float[Array, " n"], Float[Array, " n-1"], Float[Array, ""]]:
        """The model of the base with θ in its first row, and the unit of its squares."""
        if isinstance(self.base, Wishart):
            diagonal, below, unit = self.base._block_bidiagonal(key, jnp.int32(self.base.n))
        else:
            (diagonal, below), unit = self.base._bidiagonal(key), self.base._unit()
        return diagonal.astype(_dtype(self)).at[0].multiply(jnp.sqrt(self.spikes[0])), below, unit

    def _band(self, key: KeyScalar) -> tuple[Inexact[Array, "rows columns"], Float[Array, ""]]:
        """A band with entries of order 1, θ in its first rows, and the unit of its squares."""
        base = self.base
        assert isinstance(base, Wishart)  # `LaguerreBeta` has one spike
        n, m, beta = base.n, base.m, base.beta
        largest = jnp.asarray(beta * max(n, m), _dtype(self))
        band = triangular_band(key, n, m, beta, self.spikes.size, _dtype(self))
        root = _filled(jnp.repeat(jnp.sqrt(self.spikes), _copies(beta)), band.shape[0], 1)
        return like(band, root)[:, None] * (band / like(band, jnp.sqrt(largest))), base.scale**2 / (beta * m) * largest


# The model of each kind of base. A further kind needs a class here and an entry.
_MODELS: dict[type, type[AbstractSpikedModel]] = {
    AbstractGaussian: SpikedHermite,
    LaguerreBeta: SpikedLaguerre,
    Wishart: SpikedLaguerre,
}


def model_class(base: Any) -> type[AbstractSpikedModel]:
    """The class of the model of a base with spikes; raises ValueError if there is none."""
    for kind, model in _MODELS.items():
        if isinstance(base, kind):
            return model
    raise _checks.refusal("base", "be a Gaussian or a Wishart ensemble", base)


def _copies(beta: int) -> int:
    """The multiplicity of each level in a dense matrix."""
    return 2 if beta == 4 else 1


def _dtype(model: AbstractSpikedModel) -> jnp.dtype:
    return common_dtype(*jax.tree.leaves(model))


def _filled(values: Float[Array, " k"], size: int, fill: float) -> Float[Array, " size"]:
    return jnp.pad(values, (0, size - values.size), constant_values=fill)
