"""The abstract ensemble of unitary matrices: every public method once, and the hooks that an ensemble fills in."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Inexact, Int

from rmtjax import _checks
from rmtjax._module import AbstractModule
from rmtjax._promotion import in_one_precision
from rmtjax._typing import KeyScalar, RealLike
from rmtjax.ensembles._core.joint_density import anywhere
from rmtjax.ensembles._core.with_law import Law, WithLaw
from rmtjax.laws import AbstractLaw


class AbstractUnitaryEnsemble(AbstractModule):
    r"""A probability measure on unitary matrices, whose eigenvalues are $e^{i\theta_k}$ with phases in (-π, π].

    A subclass defines `_sample`, `_eigenphases`, `_count_below` and `_law`, `_joint_logpdf` if it knows a joint
    density, and `_independent_phases` if symmetry leaves fewer than n independent phases. Public methods are final and
    take one typed key; batches come from `jax.vmap` over keys. For one key, `eigenvalues` and `count_below` agree with
    the phases that `eigenphases` returns; `sample` with the same key is a different draw from the measure.
    """

    n: eqx.AbstractVar[int]

    @abstractmethod
    def _sample(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        """A dense matrix."""

    @abstractmethod
    def _eigenphases(self, key: KeyScalar) -> Float[Array, " n"]:
        """Ascending phases."""

    @abstractmethod
    def _count_below(self, key: KeyScalar, x: Float[Array, "..."]) -> Int[Array, "..."]:
        """Number of phases below each x."""

    @abstractmethod
    def _law(self) -> AbstractLaw:
        """Limiting law of one phase."""

    def _independent_phases(self) -> int:
        """The number of phases that determine all others; `joint_logpdf` takes this many."""
        return self.n

    def _has_density(self) -> Any:
        """Whether the phases have a joint density at these parameters; like `_valid`, it raises or is traced."""
        return True

    def _joint_logpdf(self, phases: Float[Array, " k"]) -> Float[Array, ""]:
        raise NotImplementedError(f"The joint density of the eigenphases of {type(self).__name__} is not known.")

    def sample(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        """A matrix drawn from the ensemble."""
        return self._run(self._sample, _checks.typed_key(key))

    def eigenphases(self, key: KeyScalar) -> Float[Array, " n"]:
        """The ascending eigenphases of a draw in (-π, π], exact in distribution; not those of `sample(key)`."""
        return self._run(self._eigenphases, _checks.typed_key(key))

    def eigenvalues(self, key: KeyScalar) -> Complex[Array, " n"]:
        r"""The eigenvalues $e^{i\theta_k}$ of the phases `eigenphases(key)`, in the same order."""
        return self._run(self._eigenvalues, _checks.typed_key(key))

    def _eigenvalues(self, key: KeyScalar) -> Complex[Array, " n"]:
        phases = self._eigenphases(key)
        # The dtype rounds π, which would give the forced eigenvalue -1 an imaginary part.
        rounding = jnp.where(phases == jnp.asarray(jnp.pi, phases.dtype), jnp.sin(phases), 0)
        return jax.lax.complex(jnp.cos(phases), jnp.sin(phases) - jax.lax.stop_gradient(rounding))

    def count_below(self, key: KeyScalar, x: RealLike) -> Int[Array, "..."]:
        """How many of the phases `eigenphases(key)` lie strictly below each x.

        Args:
            key: a typed key.
            x: angles of any shape and order, without NaN; all phases lie between -π and π.

        Raises:
            ValueError: `x` contains NaN.
        """
        points, valid = _checks.points("x", x)
        return _checks.masked(valid, self._run(self._count_below, _checks.typed_key(key), points))

    def law(self: WithLaw[Law]) -> Law:
        """Limiting law of one eigenphase at these parameters, as n → ∞."""
        return _checks.masked(self._valid(), in_one_precision(self)._law())

    def joint_logpdf(self, eigenphases: RealLike) -> Float[Array, ""]:
        r"""Logarithm of the joint density of the eigenphases, normalised to 1 over $(-\pi, \pi]^n$.

        If eigenvalues come in conjugate pairs, it is the density of the k angles of the pairs over $(0, \pi)^k$. It is
        symmetric; the density of the ascending phases is n! (or k!) times as large. It takes O(n²) time and O(n)
        memory.

        Args:
            eigenphases: n phases in any order, taken modulo 2π, or one angle in (0, π) for each pair. The result is
                $-\infty$ if two coincide, one is infinite, or the angle of a pair lies outside (0, π).

        Raises:
            NotImplementedError: the eigenphases of this ensemble have no joint density, or none that is known.
            ValueError: `eigenphases` is not a vector of that many real numbers, or contains NaN.
        """
        phases, valid = _checks.levels("eigenphases", eigenphases, self._independent_phases())
        return self._run(self._anywhere_joint_logpdf, phases, valid=_checks.all_kept(valid, self._has_density()))

    def _anywhere_joint_logpdf(self, phases: Float[Array, " k"]) -> Float[Array, ""]:
        return anywhere(self._joint_logpdf, phases)
