"""Many independent draws of a function of a key, over all devices."""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, PyTree

from rmtjax import _checks
from rmtjax._typing import KeyScalar
from rmtjax.simulation._memory import memory_budget, peak_bytes
from rmtjax.simulation._mesh import AXIS, resolve_mesh
from rmtjax.simulation._progress import progress_bar
from rmtjax.simulation._reducers import AbstractReducer

# Bytes from which a draw counts as large on a CPU, about one core's cache.
_LARGE_DRAW = 2**20

# What JAX raises where a shape or a branch depends on a traced value; `jnp.zeros(n)` gives a plain TypeError instead.
_SHAPE_ERRORS = (
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)


def simulate(
    fn: Callable[[KeyScalar], PyTree],
    key: KeyScalar,
    num_samples: int,
    *,
    reduce: AbstractReducer | None = None,
    batch_size: int | None = None,
    mesh: Mesh | None = None,
    progress: bool | None = None,
) -> Any:
    """Draw `fn(key_i)` for i = 0 … num_samples - 1, batched and sharded over devices.

    Draw i uses `jax.random.fold_in(key, i)` and nothing else, so a result does not depend on how the draws are spread:
    integer results are the same bit for bit, floating ones to the rounding of their dtype, for every batch size and
    number of devices. Batches run under `vmap` and `shard_map` in one compiled function; calling `simulate` again
    with the same `fn` object does not compile again.

    Args:
        fn: a JAX function of one typed key, e.g. `rmt.GOE(100).eigenvalues`. Its output is any pytree of arrays.
        key: a typed key.
        num_samples: number of draws, at least 1 and below 2^31.
        reduce: a reducer, e.g. `rmt.Histogram(edges)`: draws are streamed through it in constant memory.
            None stacks them.
        batch_size: draws per device at a time; by default what an estimate of the memory of `fn` allows, at most a
            quarter of the device's memory (256 MiB where the device does not tell).
        mesh: devices with an axis named "draws", over which the draws are spread; by default all local devices.
        progress: whether to show a tqdm bar; by default on a terminal, if tqdm is installed.

    Returns:
        The result of the reducer; or, without one, the pytree of `fn` with a leading axis of length `num_samples`,
        sharded over the mesh where its size divides `num_samples`.

    Raises:
        ValueError: `num_samples` or `batch_size` below 1, a mesh without the axis "draws", or an `fn` whose output
            shape depends on the key.
        ImportError: `progress=True` without tqdm.

    Example:
        >>> import jax, rmtjax as rmt
        >>> levels = rmt.simulate(rmt.GOE(8).eigenvalues, jax.random.key(0), 100)
        >>> print(levels.shape)
        (100, 8)
    """
    key = _checks.typed_key(key)
    num_samples = _checks.integer("num_samples", num_samples, at_least=1)
    if num_samples >= 2**31:
        raise _checks.refusal("num_samples", "be below 2^31 (`fold_in` takes 32 bits)", num_samples)
    mesh = resolve_mesh(mesh)
    peak = _peak_of_one_draw(fn, key)
    plan = _Plan(
        mesh=mesh,
        batch=_batch_size(peak, math.ceil(num_samples / mesh.shape[AXIS]), batch_size, mesh),
        one_by_one=_is_one_by_one(peak, mesh),
    )
    with progress_bar(num_samples, progress) as advance:
        chunks = _chunks(fn, key, num_samples, reduce, plan, advance)
        return _stack(chunks, num_samples, mesh) if reduce is None else _reduce(chunks, reduce)


class _Plan(NamedTuple):
    """How the draws are laid out: static facts that a compiled chunk depends on."""

    mesh: Mesh
    batch: int
    one_by_one: bool


def _is_one_by_one(peak: int, mesh: Mesh) -> bool:
    """Whether a device takes the draws of a batch one after the other instead of under `vmap`.

    On a CPU large draws gain nothing from `vmap`: one alone fills the cache, and a batched LAPACK call starts every
    matrix on a thread of its own, each of which starts the threads of BLAS (n = 1000 on 2 cores: 2.5 times slower than
    one by one). Several CPU devices share one thread pool besides, where such a call waits inside a thread for others
    of the same pool: as many calls as threads wait for ever (jaxlib 0.10, seen with 3 devices on 2 cores).
    """
    on_cpu = mesh.devices.flat[0].platform == "cpu"
    return on_cpu and (mesh.devices.size > 1 or peak >= _LARGE_DRAW)


def _peak_of_one_draw(fn: Callable, key: KeyScalar) -> int:
    """Bytes that a draw needs; this is also where a shape that depends on the key is found out."""
    try:
        return max(1, peak_bytes(fn, key))
    except (TypeError, IndexError) as error:
        if not (isinstance(error, _SHAPE_ERRORS) or "concrete values" in str(error)):
            raise
        raise ValueError(
            "`fn` must have an output shape that does not depend on the key, and no Python branch on its values "
            "(return arrays of static size with a mask, like `rmt.PaddedSpectrum`)."
        ) from error


def _batch_size(peak: int, per_device: int, asked: int | None, mesh: Mesh) -> int:
    """Draws per device at a time, evened out over the chunks so that the last one is not mostly padding."""
    if asked is not None:
        return min(_checks.integer("batch_size", asked, at_least=1), per_device)
    largest = max(1, memory_budget(mesh) // peak)
    return math.ceil(per_device / math.ceil(per_device / largest))


def _chunks(
    fn: Callable,
    key: KeyScalar,
    num_samples: int,
    reduce: AbstractReducer | None,
    plan: _Plan,
    advance: Callable[[int], object],
) -> Iterator[PyTree]:
    """Run all draws, a batch on each device at a time."""
    per_chunk = plan.batch * plan.mesh.shape[AXIS]
    arrays, static = eqx.partition((fn, reduce), eqx.is_array)
    # Whatever device the key and the parameters of fn live on, every device of the mesh gets a copy.
    arrays, key = jax.device_put((arrays, key), NamedSharding(plan.mesh, PartitionSpec()))
    for start in range(0, num_samples, per_chunk):
        bounds = np.array([start, num_samples], np.uint32)
        yield _run_chunk(arrays, static, key, bounds, plan)
        advance(min(per_chunk, num_samples - start))


@eqx.filter_jit
def _run_chunk(arrays: PyTree, static: PyTree, key: KeyScalar, bounds: np.ndarray, plan: _Plan) -> PyTree:
    """Draws from the first bound on, one batch for each device: stacked, or the devices' summaries stacked."""

    def on_device(arrays: PyTree, key: KeyScalar, index: Array, stop: Array) -> PyTree:
        fn, reduce = eqx.combine(arrays, static)
        keys = jax.vmap(jax.random.fold_in, (None, 0))(key, index)
        samples = jax.lax.map(fn, keys) if plan.one_by_one else jax.vmap(fn)(keys)
        if reduce is None:
            return samples
        return jax.tree.map(lambda leaf: leaf[None], reduce.summarize(samples, index < stop))

    everywhere, spread = PartitionSpec(), PartitionSpec(AXIS)
    # Without the check of varying axes, user functions may scan from a constant initial value.
    run = jax.shard_map(
        on_device,
        mesh=plan.mesh,
        in_specs=(everywhere, everywhere, spread, everywhere),
        out_specs=spread,
        check_vma=False,
    )
    start, stop = jnp.asarray(bounds)
    index = start + jnp.arange(plan.batch * plan.mesh.shape[AXIS], dtype=jnp.uint32)
    return run(arrays, key, index, stop)


def _stack(chunks: Iterator[PyTree], num_samples: int, mesh: Mesh) -> PyTree:
    """All draws in one array, without the padding of the last chunk."""
    stacked = jax.tree.map(lambda *leaves: jnp.concatenate(leaves)[:num_samples], *chunks)
    if num_samples % mesh.shape[AXIS]:
        return stacked
    return jax.device_put(stacked, NamedSharding(mesh, PartitionSpec(AXIS)))


def _reduce(chunks: Iterator[PyTree], reduce: AbstractReducer) -> Any:
    """Merge the devices' summaries on the host, one chunk behind the devices so that these never wait."""
    total, pending = None, next(chunks)
    for chunk in itertools.chain(chunks, [None]):
        on_host = jax.tree.map(np.asarray, pending)
        for device in range(jax.tree.leaves(on_host)[0].shape[0]):
            summary = jax.tree.map(lambda leaf, i=device: leaf[i], on_host)
            total = summary if total is None else reduce.merge(total, summary)
        pending = chunk
    return reduce.finish(total)
