"""The abstract ensemble of unitary matrices: every public method once, and the hooks that an ensemble fills in."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Inexact, Int

from rmtjax import _checks
from rmtjax._module import AbstractModule
from rmtjax._typing import KeyScalar, RealLike
from rmtjax.laws import AbstractLaw


class AbstractUnitaryEnsemble(AbstractModule):
    r"""A probability measure on unitary matrices, whose eigenvalues are $e^{i\theta_k}$ with phases in (-π, π].

    A subclass writes `_sample`, `_eigenphases`, `_count_below` and `_law`, `_joint_logpdf` where it knows a joint
    density, and `_independent_phases` where symmetry leaves fewer of them than n. The public methods are final. They
    take one typed key; batches come from `jax.vmap` over keys. For one key, `eigenvalues` and `count_below` are those
    of the phases that `eigenphases` returns; `sample` with that key is another draw of the same measure.
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
        """Phases below each x."""

    @abstractmethod
    def _law(self) -> AbstractLaw:
        """Limiting law of one phase."""

    def _independent_phases(self) -> int:
        """How many phases determine all: those that `joint_logpdf` takes."""
        return self.n

    def _has_density(self) -> Any:
        """True where the phases have a joint density at these parameters; checked or traced as `_valid` is."""
        return True

    def _joint_logpdf(self, phases: Float[Array, " k"]) -> Float[Array, ""]:
        raise NotImplementedError(f"The joint density of the eigenphases of {type(self).__name__} is not known.")

    def sample(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        """A matrix drawn from the ensemble."""
        return self._run("_sample", _checks.typed_key(key))

    def eigenphases(self, key: KeyScalar) -> Float[Array, " n"]:
        """The ascending eigenphases of a draw in (-π, π], exact in distribution; not those of `sample(key)`."""
        return self._run("_eigenphases", _checks.typed_key(key))

    def eigenvalues(self, key: KeyScalar) -> Complex[Array, " n"]:
        r"""The eigenvalues $e^{i\theta_k}$ to `eigenphases(key)`, in their order."""
        return self._run("_eigenvalues", _checks.typed_key(key))

    def _eigenvalues(self, key: KeyScalar) -> Complex[Array, " n"]:
        phases = self._eigenphases(key)
        # π itself is no number of the dtype: a forced -1 would not be real.
        rounding = jnp.where(phases == jnp.asarray(jnp.pi, phases.dtype), jnp.sin(phases), 0)
        return jnp.cos(phases) + 1j * (jnp.sin(phases) - jax.lax.stop_gradient(rounding))

    def count_below(self, key: KeyScalar, x: RealLike) -> Int[Array, "..."]:
        """How many of the phases `eigenphases(key)` lie strictly below each x.

        Args:
            key: a typed key.
            x: angles of any shape and order, without NaN; all phases lie between -π and π.

        Raises:
            ValueError: `x` holds NaN.
        """
        points, valid = _checks.points("x", x)
        return _checks.masked(valid, self._run("_count_below", _checks.typed_key(key), points))

    def law(self) -> AbstractLaw:
        """Limiting law of one eigenphase at these parameters, as n → ∞."""
        return _checks.masked(self._valid(), self._law())

    def joint_logpdf(self, eigenphases: RealLike) -> Float[Array, ""]:
        r"""Logarithm of the joint density of the eigenphases, normalised to 1 over $(-\pi, \pi]^n$.

        Where eigenvalues come in conjugate pairs, it is that of the k angles of the pairs over $(0, \pi)^k$. It is
        symmetric: the density of the ascending phases is n! times it, or k! times. O(n²) time, O(n) memory.

        Args:
            eigenphases: n phases in any order, taken modulo 2π, or one angle of each pair in (0, π); $-\infty$ is the
                answer where two coincide, and outside of (0, π).

        Raises:
            NotImplementedError: the eigenphases of this ensemble have no joint density, or none that is known.
            ValueError: `eigenphases` are not as many real numbers without NaN.
        """
        phases, valid = _checks.levels("eigenphases", eigenphases, self._independent_phases())
        return self._run("_joint_logpdf", phases, valid=_checks.both(valid, self._has_density()))
