"""How draws are laid out on the devices: the size of batches, and whether a batch is taken one by one."""

import math
from typing import Any

from jax.sharding import Mesh

from rmtjax._compile import is_small, is_soon
from rmtjax.simulation._devices import local_devices, width
from rmtjax.simulation._draw import Trace
from rmtjax.simulation._memory import memory_budget

# A draw of this many bytes, about one core's cache, counts as large on a CPU.
_LARGE_DRAW = 2**20
# Bytes of a batch that goes through a loop on a CPU. A larger one leaves the cache, which takes twice as long for cheap
# draws.
_CACHED_BATCH = 2**23
_MANY_BATCHES = 16
# Elementary steps of a draw for each of its bytes. A run counts as small up to a millisecond: 20 of Lanczos' steps on 8
# vectors of length 100 take 0.3 ms with all passes and 0.9 ms without, and a second less to compile.
_STEPS_PER_BYTE = 2
# Large batches are multiples of this: XLA's loops over other numbers of lanes may take three times as long.
_LANES = 64


def is_one_by_one(draw: Trace, mesh: Mesh, generator: Any) -> bool:
    """Whether a device takes the draws of a batch one after the other instead of under `vmap`.

    On a CPU large draws gain nothing from `vmap`. A single one fills the cache, and a batched LAPACK call starts a
    thread for every matrix, each of which starts the threads of BLAS (n = 1000 on 2 cores: 2.5 times slower than one by
    one). Several devices of a process also share one thread pool, and such a call holds a thread while it waits for
    others: as many calls as there are threads wait for ever (jaxlib 0.10, seen with 3 devices on 2 cores).

    Draws that multiply one larger matrix are better together: what is read of it serves all of them (80 products with a
    matrix of order 1000 for each of 8 vectors: 2.4 times faster than one by one).

    On every platform the generators "rbg" and "unsafe_rbg" give other numbers under `vmap` than for one key.
    """
    if "rbg" in str(generator):
        return True
    devices = local_devices(mesh)
    on_cpu = devices[0].platform == "cpu"
    large = draw.peak >= _LARGE_DRAW and draw.together is None
    return on_cpu and (large or (draw.lapack and len(devices) > 1))


def largest_batch(draw: Trace, mesh: Mesh, *, vmapped: bool, looped: bool) -> int:
    """The number of draws per device at a time for which there is room."""
    device = local_devices(mesh)[0]
    cached = looped and vmapped and device.platform == "cpu" and draw.together is None
    largest = max(1, (_CACHED_BATCH if cached else memory_budget(device)) // (draw.together or draw.peak))
    return largest if largest < _LANES else largest - largest % _LANES


def at_most(batch: int, num_samples: int, mesh: Mesh) -> int:
    """A number of draws per device at a time, or fewer if there are not so many."""
    return min(batch, math.ceil(num_samples / width(mesh)))


def draws_per_device(largest: int, num_samples: int, mesh: Mesh, *, looped: bool) -> int:
    """The number of draws per device at a time, chosen so that the last batch is not mostly padding."""
    per_device = math.ceil(num_samples / width(mesh))
    if looped and per_device >= _MANY_BATCHES * largest:
        return largest  # The last of many batches hardly counts, and all long runs share a program.
    even = math.ceil(per_device / math.ceil(per_device / largest))
    # There are sixteen sizes per octave: runs of similar lengths share a program, with at most 1/16 more draws.
    step = 2 ** max(0, even.bit_length() - 5)
    return min(largest, -(-even // step) * step)


def is_quick(draw: Trace, num_samples: int) -> bool:
    """Whether the caller asks for a quick compilation, and the draws take few steps if their loops are short."""
    return is_soon() and is_small((), work=_STEPS_PER_BYTE * draw.peak * num_samples)


def longest_chunk(draw: Trace, mesh: Mesh) -> int:
    """The number of draws that a state on a device may see without more than 2^31 numbers."""
    return max(1, (2**31 - 1) // max(1, draw.numbers)) * width(mesh)
