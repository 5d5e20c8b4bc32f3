"""The abstract motion: matrices at given times, each drawn from the one before it."""

import math
from abc import abstractmethod
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from rmtjax import _checks
from rmtjax._module import AbstractModule
from rmtjax._promotion import like
from rmtjax._typing import DysonIndex, KeyScalar, RealLike
from rmtjax._varying import varying_like

_TIMES = _checks.Rule(
    lambda times: ((times >= 0) & (times < math.inf)).all() & (times[1:] >= times[:-1]).all(),
    "be finite, at least 0 and ascending",
)


class AbstractMotion(AbstractModule):
    """A Markov process of random matrices. A step has the exact law of the process, however long it is.

    A subclass defines `_start`, `_moved` and `_levels`.
    """

    n: eqx.AbstractVar[int]
    beta: eqx.AbstractVar[DysonIndex]
    scale: eqx.AbstractVar[Float[Array, ""]]

    @abstractmethod
    def _start(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        """The matrix at time 0."""

    @abstractmethod
    def _moved(
        self, key: KeyScalar, matrix: Inexact[Array, "rows rows"], duration: Float[Array, ""]
    ) -> Inexact[Array, "rows rows"]:
        """The matrix after a time, given the matrix before it."""

    @abstractmethod
    def _levels(self, matrix: Inexact[Array, "rows rows"]) -> Float[Array, " n"]:
        """The levels of a matrix on the way."""

    def _multiplicity(self) -> int:
        """How often a matrix has each level."""
        return 2 if self.beta == 4 else 1

    def sample(self, key: KeyScalar, times: RealLike) -> Inexact[Array, "*times rows rows"]:
        """The matrices at some times of one path.

        Args:
            key: a typed key.
            times: t ≥ 0, ascending, a vector or one number. More times at the end leave the path before them as it is;
                a time in between makes it another draw of the same process. Where a step has the length 0, its
                derivative by the time is infinite, and 0 is returned.

        Raises:
            ValueError: an argument is outside its range.
        """
        return self._along(self._matrices, key, times)

    def _along(self, hook: Callable, key: KeyScalar, times: RealLike) -> Inexact[Array, "..."]:
        """What a hook makes of a path at a vector of times, or at one time."""
        array = _checks.real("times", times)
        if array.ndim > 1:
            raise _checks.refusal("times", "be a number or a vector (use `jax.vmap` for several paths)", array.shape)
        vector = jnp.atleast_1d(array)
        valid = _TIMES.kept("times", vector)
        seen = self._run(hook, _checks.typed_key(key), vector, valid=valid)
        return seen if array.ndim else seen[0]

    def _matrices(self, key: KeyScalar, times: Float[Array, " k"]) -> Inexact[Array, "k rows rows"]:
        return self._path(key, times, lambda matrix: matrix)

    def _levels_along(self, key: KeyScalar, times: Float[Array, " k"]) -> Float[Array, "k n"]:
        return self._path(key, times, self._levels)

    def _path(self, key: KeyScalar, times: Float[Array, " k"], seen: Callable) -> Inexact[Array, "k ..."]:
        """What is seen of the matrices at the times; one matrix is held at a time."""
        start_key, key = jax.random.split(key)

        def step(state: tuple, duration: Float[Array, ""]) -> tuple:
            number, matrix = state
            # A key by number: times at the end do not change the keys of those before them.
            matrix = self._moved(jax.random.fold_in(key, number), matrix, duration)
            return (number + 1, matrix), seen(matrix)

        times = like(self.scale, times)
        durations = jnp.diff(times, prepend=jnp.zeros_like(times[:1]))
        first = varying_like(self._start(start_key), key, durations)
        return jax.lax.scan(step, (jnp.int32(0), first), durations)[1]
