"""The two kinds of runs: draws are stacked, or streamed through reducers."""

import functools
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, PyTree

from rmtjax._automatic import on_automatic_axes
from rmtjax._mesh import devices_are_busy
from rmtjax.simulation import _reduction
from rmtjax.simulation._checkpoint import Saved, packed, unpacked
from rmtjax.simulation._devices import draw_axes, on_host, width
from rmtjax.simulation._goal import largest_standard_error
from rmtjax.simulation._run import AbstractRun, Surroundings


class Stacked(AbstractRun):
    """All draws, which stay on the devices."""

    one_batch = True

    def __init__(self, num_samples: int, mesh: Mesh, surroundings: Surroundings):
        super().__init__(num_samples, 0, surroundings)
        self._mesh = mesh
        self._chunks: list[PyTree] = []

    def _take(self, chunk: PyTree) -> None:
        self._chunks.append(chunk)

    def _combine(self) -> list[PyTree]:
        return []

    def result(self) -> PyTree:
        """The draws in one array, without the padding of the last chunk."""
        divides = self.done % width(self._mesh) == 0 and not devices_are_busy()
        sharding = NamedSharding(self._mesh, PartitionSpec(draw_axes(self._mesh)))
        return _join(self._chunks, self.done, sharding if divides else None)

    def standard_error(self) -> None:
        """Draws have none."""


@functools.partial(jax.jit, static_argnums=(1, 2))
def _join(chunks: list[PyTree], number: int, sharding: NamedSharding | None) -> PyTree:
    spec = PartitionSpec() if sharding is None else sharding.spec
    stacked = on_automatic_axes(functools.partial(_concatenated, number), spec)(*chunks)
    return stacked if sharding is None else jax.lax.with_sharding_constraint(stacked, sharding)


def _concatenated(number: int, *chunks: PyTree) -> PyTree:
    return jax.tree.map(functools.partial(_joined, number), *chunks)


def _joined(number: int, *parts: Array) -> Array:
    """The first entries of some arrays, one behind the other; only the last array has more of them than are wanted."""
    *whole, last = parts
    # XLA's partitioner fails if all of them are cut after they have been joined, and then go to every device.
    return jnp.concatenate([*whole, last[: number - sum(map(len, whole))]])


class Streamed(AbstractRun):
    """The states of the reducers: a total of all processes, and the part that this process has added since."""

    def __init__(
        self, reduce: PyTree, num_samples: int, empty: list[PyTree], saved: Saved | None, surroundings: Surroundings
    ):
        super().__init__(num_samples, saved.draws if saved else 0, surroundings)
        self._reduce, self._empty = reduce, empty
        self.one_batch = _reduction.keeps_draws(reduce)
        self._total = _like(empty, saved) if saved else empty
        self._part = empty
        self._tried = False

    def _take(self, chunk: PyTree) -> None:
        for of_device in on_host(chunk):
            self._part = _reduction.merge(self._reduce, self._part, of_device)
        # One of several processes may have no draw in the first chunk; they form a result after exchanging states.
        if not (self._tried or self.surroundings.processes.several):
            self._tried = True
            # A result of the first draws shows mistakes before hours of work, not after.
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                _reduction.finish(self._reduce, self._part)

    def _combine(self) -> list[PyTree]:
        processes = self.surroundings.processes
        parts = [self._part]
        if processes.several:
            blobs = processes.blobs(packed(Saved(0, 1, {}, jax.tree.leaves(self._part))))
            parts = [_like(self._empty, unpacked(blob)) for blob in blobs]
        for part in parts:
            self._total = _reduction.merge(self._reduce, self._total, part)
        self._part = self._empty
        return self._total

    def result(self) -> Any:
        return _reduction.finish(self._reduce, self._total)

    def standard_error(self) -> float | None:
        """The largest standard error of the results."""
        if self.surroundings.processes.several:  # This process does not know what the others have drawn since.
            return largest_standard_error(self.result())
        states = _reduction.merge(self._reduce, self._total, self._part)
        return largest_standard_error(_reduction.finish(self._reduce, states))


def _like(empty: list[PyTree], saved: Saved) -> list[PyTree]:
    return jax.tree.unflatten(jax.tree.structure(empty), saved.leaves)
