"""Many independent draws of a function of a key, over all devices."""

import functools
import math
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxpr_as_fun
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, PyTree

from rmtjax import _checks
from rmtjax._threefry import looped, unrolled
from rmtjax._typing import KeyScalar
from rmtjax.simulation._memory import memory_budget, peak_bytes
from rmtjax.simulation._mesh import AXIS, resolve_mesh
from rmtjax.simulation._progress import progress_bar
from rmtjax.simulation._reduction import check_reducers, merge_and_finish, on_host, summarize
from rmtjax.simulation._structure import Structure, kept_for_structure, split

# A draw of this many bytes, about one core's cache, counts as large on a CPU.
_LARGE_DRAW = 2**20

# JAX's errors where a shape or a branch depends on a traced value; `jnp.zeros(n)` raises a plain TypeError instead.
_SHAPE_ERRORS = (
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerIntegerConversionError,
)


def simulate(
    fn: Callable[..., PyTree],
    key: KeyScalar,
    num_samples: int,
    *,
    args: tuple = (),
    reduce: PyTree = None,
    batch_size: int | None = None,
    mesh: Mesh | None = None,
    progress: bool | None = None,
) -> Any:
    """Draw `fn(key_i, *args)` for i = 0 … num_samples - 1, batched and sharded over devices.

    Draw i uses `jax.random.fold_in(key, i)` and nothing else, so a result does not depend on how the draws are spread:
    for every batch size and number of devices integer results are the same bit for bit, and floating-point ones to the
    rounding of their dtype. Batches run under `vmap` and `shard_map` in one compiled function, which later calls reuse
    for all values of `args`, of arrays in a partial, and of the parameters of a module that `fn` is a method of.

    Args:
        fn: a JAX function of one typed key and of `args`, e.g. `rmt.GOE(100).eigenvalues`. Its output is any pytree
            of arrays and numbers.
        key: a typed key.
        num_samples: number of draws, at least 1 and below 2^31.
        args: further arguments of `fn`, pytrees of arrays and numbers, e.g. `(scale, goe)`; new values never cause a
            new compilation. Every device gets a copy.
        reduce: a reducer, e.g. `rmt.Histogram(edges)`, or a tuple, list or dict of them: draws are streamed through
            it in constant memory. None stacks them.
        batch_size: number of draws per device at a time; by default, as many as an estimate of the memory of `fn`
            allows in a quarter of the device's memory (256 MiB where the device does not tell).
        mesh: devices with an axis named "draws", over which the draws are spread; by default all local devices.
        progress: whether to show a tqdm bar; by default on a terminal, if tqdm is installed.

    Returns:
        The result of the reducer, or the results of several in the same structure. Without a reducer, the pytree of
        `fn` with a leading axis of length `num_samples`, sharded over the mesh if its size divides `num_samples`.

    Raises:
        ValueError: `num_samples` or `batch_size` is below 1, `mesh` has no axis "draws", `reduce` holds anything but
            reducers, or `fn` calls numpy, returns no arrays, or has an output shape that depends on the key.
        ImportError: `progress=True` without tqdm.

    Example:
        >>> import jax, rmtjax as rmt
        >>> trace = lambda key, scale: rmt.GOE(8, scale).sample(key).trace()
        >>> traces = [rmt.simulate(trace, jax.random.key(0), 100, args=(scale,)) for scale in (1.0, 2.0)]
        >>> print(traces[1].shape, bool(abs(traces[1] - 2 * traces[0]).max() < 1e-4))
        (100,) True
    """
    key = _checks.typed_key(key)
    num_samples = _checks.integer("num_samples", num_samples, at_least=1)
    if num_samples >= 2**31:
        raise _checks.refusal("num_samples", "be below 2^31 (`fold_in` takes 32 bits)", num_samples)
    if not callable(fn):
        raise _checks.refusal("fn", "be a function of a key", fn)
    if not isinstance(args, tuple):
        raise _checks.refusal("args", "be a tuple", args)
    if reduce is not None:
        check_reducers(reduce)
    mesh = resolve_mesh(mesh)
    operands, draw = split((fn, jax.tree.map(_number_as_array, args)))
    peak, traced = _traced(draw, tuple(map(_shape, operands)), _shape(key)).taken()
    plan = _Plan(
        mesh=mesh,
        batch=_batch_size(peak, math.ceil(num_samples / mesh.shape[AXIS]), batch_size, mesh),
        one_by_one=_is_one_by_one(peak, mesh),
    )
    with progress_bar(num_samples, progress) as advance:
        chunks = _chunks(draw, traced, operands, key, num_samples, reduce, plan, advance)
        return _stack(chunks, num_samples, mesh) if reduce is None else merge_and_finish(reduce, on_host(chunks))


def _number_as_array(leaf: Any) -> Any:
    """A Python number as a weakly typed array, so that its value is not part of the program."""
    return jnp.asarray(leaf) if isinstance(leaf, bool | int | float | complex | np.generic) else leaf


def _shape(array: Array) -> jax.ShapeDtypeStruct:
    aval = jax.typeof(array)
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False))


class _Plan(NamedTuple):
    """How the draws are laid out: static facts that a compiled chunk depends on."""

    mesh: Mesh
    batch: int
    one_by_one: bool


def _is_one_by_one(peak: int, mesh: Mesh) -> bool:
    """Whether a device takes the draws of a batch one after the other instead of under `vmap`.

    On a CPU large draws gain nothing from `vmap`: one alone fills the cache, and a batched LAPACK call starts every
    matrix on a thread of its own, each of which starts the threads of BLAS (n = 1000 on 2 cores: 2.5 times slower than
    one by one). Several CPU devices also share one thread pool, and such a call holds a thread while it waits for
    others of the pool: as many calls as there are threads wait for ever (jaxlib 0.10, seen with 3 devices on 2 cores).
    """
    on_cpu = mesh.devices.flat[0].platform == "cpu"
    return on_cpu and (mesh.devices.size > 1 or peak >= _LARGE_DRAW)


@dataclass(frozen=True)
class _Traced:
    """The outcome of tracing a draw."""

    peak: int  # bytes that the draw needs
    waiting: list[Callable]

    def taken(self) -> tuple[int, Callable | None]:
        """The bytes and, for the first caller only, the draw as it was traced, so that it need not be traced again."""
        try:
            return self.peak, self.waiting.pop()
        except IndexError:
            return self.peak, None


# The draw that was traced in this call of `simulate`; before a later call globals or settings of JAX may change.
_JUST_TRACED: ContextVar[Callable | None] = ContextVar("_JUST_TRACED", default=None)


@kept_for_structure
def _traced(draw: Structure, operands: tuple[jax.ShapeDtypeStruct, ...], key: jax.ShapeDtypeStruct) -> _Traced:
    """Trace a draw; this is where functions that cannot be traced are detected."""
    structures = []

    def leaves(operands: list[Array], key: KeyScalar) -> list[Array]:
        output, structure = jax.tree.flatten(_one_draw(draw, operands, key))
        structures.append(structure)
        return output

    try:
        program = jax.make_jaxpr(leaves)(list(operands), key)
    except jax.errors.TracerArrayConversionError as error:
        raise ValueError("`fn` calls numpy on a traced value; use jax.numpy.") from error
    except (TypeError, IndexError) as error:
        if not (isinstance(error, _SHAPE_ERRORS) or "concrete values" in str(error)):
            raise
        raise ValueError(
            "`fn` must have an output shape that does not depend on the key or on `args`, and no Python branch on its "
            "values or number made of them (return arrays of static size with a mask, like `rmt.PaddedSpectrum`; bind "
            "a size with `functools.partial`)."
        ) from error
    run = jaxpr_as_fun(program)
    one_draw = lambda operands, key: jax.tree.unflatten(structures[0], run(*operands, key))
    return _Traced(max(1, peak_bytes(program)), [one_draw])


def _one_draw(draw: Structure, operands: list[Array], key: KeyScalar) -> PyTree:
    """The output of `fn` for one draw, as arrays."""
    fn, args = draw.combine(operands)
    output = fn(key, *args)
    if not jax.tree.leaves(output):
        raise _checks.refusal("fn", "return at least one array", output)
    return jax.tree.map(_as_array, output)


def _as_array(leaf: Any) -> Array:
    try:
        return jnp.asarray(leaf)
    except (TypeError, ValueError):
        raise _checks.refusal("fn", "return arrays or numbers", leaf) from None


def _batch_size(peak: int, per_device: int, asked: int | None, mesh: Mesh) -> int:
    """Draws per device at a time, evened out over the chunks so that the last one is not mostly padding."""
    if asked is not None:
        return min(_checks.integer("batch_size", asked, at_least=1), per_device)
    largest = max(1, memory_budget(mesh) // peak)
    even = math.ceil(per_device / math.ceil(per_device / largest))
    # There are sixteen sizes per octave: runs of similar lengths share a program, with at most 1/16 more draws.
    step = 2 ** max(0, even.bit_length() - 5)
    return min(largest, -(-even // step) * step)


def _chunks(
    draw: Structure,
    traced: Callable | None,
    operands: list[Array],
    key: KeyScalar,
    num_samples: int,
    reduce: PyTree,
    plan: _Plan,
    advance: Callable[[int], object],
) -> Iterator[PyTree]:
    """Run all draws, a batch on each device at a time."""
    per_chunk = plan.batch * plan.mesh.shape[AXIS]
    of_reducers, reducers = split(reduce)
    run = _program(draw, reducers, plan)
    # Whatever device the key and the parameters of fn live on, every device of the mesh gets a copy.
    arrays = jax.device_put((operands, of_reducers, key), NamedSharding(plan.mesh, PartitionSpec()))
    for start in range(0, num_samples, per_chunk):
        token = _JUST_TRACED.set(traced)
        try:
            chunk = run(arrays, np.array([start, num_samples], np.uint32))
        finally:
            _JUST_TRACED.reset(token)
        traced = None
        yield chunk
        advance(min(per_chunk, num_samples - start))


@kept_for_structure
def _program(draw: Structure, reducers: Structure, plan: _Plan) -> Callable:
    """A jitted function for these arguments only, so that its program is freed when the cache entry is."""
    return jax.jit(functools.partial(_run_chunk, draw, reducers, plan))


def _run_chunk(draw: Structure, reducers: Structure, plan: _Plan, arrays: PyTree, bounds: Array) -> PyTree:
    """The draws from the first bound on, a batch for each device, stacked; or the stacked summaries of the devices."""

    def on_device(arrays: PyTree, index: Array, stop: Array) -> PyTree:
        operands, of_reducers, key = arrays
        keys = looped(jax.vmap(jax.random.fold_in, (None, 0))(unrolled(key), index))
        one_draw = functools.partial(_JUST_TRACED.get() or functools.partial(_one_draw, draw), operands)
        samples = jax.lax.map(one_draw, keys) if plan.one_by_one else jax.vmap(one_draw)(keys)
        reduce = reducers.combine(of_reducers)
        if reduce is None:
            return samples
        return jax.tree.map(lambda leaf: leaf[None], summarize(reduce, samples, index < stop))

    everywhere, spread = PartitionSpec(), PartitionSpec(AXIS)
    # The check of varying axes is off, so that user functions may scan from a constant initial value.
    run = jax.shard_map(
        on_device,
        mesh=plan.mesh,
        in_specs=(everywhere, spread, everywhere),
        out_specs=spread,
        check_vma=False,
    )
    start, stop = bounds
    index = start + jnp.arange(plan.batch * plan.mesh.shape[AXIS], dtype=jnp.uint32)
    return run(arrays, index, stop)


def _stack(chunks: Iterator[PyTree], num_samples: int, mesh: Mesh) -> PyTree:
    """All draws in one array, without the padding of the last chunk."""
    sharding = None if num_samples % mesh.shape[AXIS] else NamedSharding(mesh, PartitionSpec(AXIS))
    return _join(list(chunks), num_samples, sharding)


@functools.partial(jax.jit, static_argnums=(1, 2))
def _join(chunks: list[PyTree], num_samples: int, sharding: NamedSharding | None) -> PyTree:
    stacked = jax.tree.map(lambda *leaves: jnp.concatenate(leaves)[:num_samples], *chunks)
    return stacked if sharding is None else jax.lax.with_sharding_constraint(stacked, sharding)
