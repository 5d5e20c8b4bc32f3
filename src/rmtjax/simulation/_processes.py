"""What the processes of a simulation tell each other."""

from collections.abc import Callable, Sequence

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh


class ProcessLost(RuntimeError):
    """Another process of the run has ended, so that this one cannot go on."""


class Processes:
    """The processes of a simulation, only one if all devices are local; all make the same calls in the same order."""

    def __init__(self, mesh: Mesh):
        self.several = mesh.is_multi_process

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes."""
        return not self.several or jax.process_index() == 0

    def numbers(self, numbers: Sequence[int]) -> list[list[int]]:
        """The 32-bit integers of every process, in the order of processes."""
        return self._gathered(np.asarray(numbers, np.int32)).tolist()

    def blobs(self, blob: bytes) -> list[bytes]:
        """The bytes of every process, in the order of processes."""
        if not self.several:
            return [blob]
        if len(blob) >= 2**31:
            raise ValueError(f"The states of a run over several processes must be below 2 GiB, got {len(blob)} bytes.")
        sizes = [size for (size,) in self.numbers([len(blob)])]
        padded = np.zeros(max(sizes), np.uint8)
        padded[: len(blob)] = np.frombuffer(blob, np.uint8)
        return [row[:size].tobytes() for row, size in zip(self._gathered(padded), sizes, strict=True)]

    def from_first(self, compute: Callable[[], bytes]) -> bytes:
        """The answer that the first process computes, in all processes; if it raises an error, all do."""
        if not self.several:
            return compute()
        answer, error = b"", None
        if self.first:
            try:
                answer = b"+" + compute()
            except Exception as raised:
                answer, error = b"-" + str(raised).encode(), raised
        answer = self.blobs(answer)[0]
        if error is not None:
            raise error
        if answer[:1] == b"-":
            raise RuntimeError(f"The first process of the run reports: {answer[1:].decode()}")
        return answer[1:]

    def _gathered(self, array: np.ndarray) -> np.ndarray:
        if not self.several:
            return array[None]
        try:
            return np.asarray(multihost_utils.process_allgather(array)).reshape(jax.process_count(), *array.shape)
        except Exception as error:  # A collective operation fails with errors of several kinds.
            raise ProcessLost(
                "Another process of the run is gone: start all of them anew, as many as there are now. A run with "
                "`checkpoint` goes on where it was last saved."
            ) from error
