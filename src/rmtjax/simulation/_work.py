"""A simulation before its first draw: checked, traced, laid out and on the devices."""

import functools
import math
import warnings
import zlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.core import Tracer
from jax.sharding import Mesh
from jaxtyping import Array

from rmtjax import _checks
from rmtjax._mesh import devices_are_busy
from rmtjax._module import AbstractModule
from rmtjax._typing import KeyScalar, PyTree
from rmtjax.simulation import _draw, _layout, _reduction
from rmtjax.simulation._chunk import Chunks, Plan
from rmtjax.simulation._devices import local_devices, on_every_device, resolve_mesh, surrounded_by, width
from rmtjax.simulation._memory import device_memory, memory_budget
from rmtjax.simulation._processes import Processes
from rmtjax.simulation._structure import Structure, split


class Work(NamedTuple):
    """The draws that are to be made, and how.

    Args:
        fn, args, reduce, key: as the user gave them, except that numbers in `args` are arrays.
        operands, draw: the arrays of `fn` and `args`, and the rest, which refers to functions weakly.
        empty: the states of no draws, or None without reducers.
        wanted: draws of a device at a time, where there are enough of them.
        at_once: the number of draws between two interruptions of the run.
    """

    fn: Callable
    args: tuple
    reduce: PyTree
    key: KeyScalar
    operands: list[Array]
    draw: Structure
    trace: _draw.Trace
    plan: Plan
    empty: list[PyTree] | None
    wanted: int
    at_once: int

    def agreed(self, processes: Processes, num_samples: int) -> "Work":
        """The work with the smallest batch of all processes, which must have the same work."""
        if not processes.several:
            return self
        what = repr((np.asarray(jax.random.key_data(self.key)).tolist(), num_samples, self.plan.digest))
        facts = processes.numbers([self.plan.batch, self.plan.one_by_one, zlib.crc32(what.encode()) >> 1])
        if len({fact[2] for fact in facts}) > 1:
            raise ValueError("`simulate` must be called with the same arguments in all processes of the run.")
        batch, one_by_one = min(fact[0] for fact in facts), any(fact[1] for fact in facts)
        return self._replace(plan=self.plan._replace(batch=batch, one_by_one=one_by_one))

    def in_batches(self, wanted: int) -> "Work":
        """The work in batches of another size, or shorter ones if there are not so many draws."""
        batch = _layout.at_most(wanted, self.at_once, self.plan.mesh)
        return self._replace(plan=self.plan._replace(batch=batch), wanted=wanted)

    def chunks(self) -> Callable[[Plan], Chunks]:
        """A function of the layout, for this call of `simulate` only, after putting the arrays on the devices."""
        of_reducers, reducers = split(self.reduce)
        words = jax.random.key_data(self.key)
        arrays = on_every_device((self.operands, of_reducers, self.empty, words), self.plan.mesh)
        # A trace without a mesh does not know that its numbers differ between the devices of a `shard_map`.
        traced = None if devices_are_busy() else self.trace.taken()
        return functools.partial(Chunks, self.draw, reducers, arrays, traced)


def prepared(
    fn: Any,
    key: Any,
    num_samples: Any,
    args: Any,
    reduce: PyTree,
    batch_size: int | None,
    mesh: Mesh | None,
    *,
    fingerprint: bool = False,
    interval: float = math.inf,
) -> Work:
    """The work of the arguments of `simulate`, after checking them.

    With `fingerprint` the operations of a draw get a name. A batch is no longer than `interval`, the number of draws
    between two interruptions of the run.
    """
    key = _checks.typed_key(key)
    num_samples = _checks.integer("num_samples", num_samples, at_least=1)
    if not callable(fn):
        raise _checks.refusal("fn", "be a function of a key, such as a method of an ensemble (`goe.eigenvalues`)", fn)
    if not isinstance(args, tuple):
        raise _checks.refusal("args", "be a tuple", args)
    if reduce is not None:
        _reduction.check_reducers(reduce)
        if isinstance(key, Tracer):
            raise _checks.refusal("reduce", "be None inside of a compiled function: reducers merge on the host", reduce)
    if batch_size is not None:
        batch_size = _checks.integer("batch_size", batch_size, at_least=1)
    mesh = resolve_mesh(mesh)
    args = jax.tree.map(_draw.number_as_array, _checks.passed_on("args", args))
    operands, draw = split((fn, args))
    with surrounded_by(mesh):
        trace = _draw.traced(draw, operands, key, fresh=fingerprint)
    at_once, generator = int(min(num_samples, interval)), jax.random.key_impl(key)
    one_by_one, looped = _layout.is_one_by_one(trace, mesh, generator), reduce is not None
    wanted = batch_size or _layout.largest_batch(trace, mesh, vmapped=not one_by_one, looped=looped)
    evenly = functools.partial(_layout.draws_per_device, looped=looped)
    plan = Plan(
        mesh=mesh,
        batch=(evenly if batch_size is None else _layout.at_most)(wanted, at_once, mesh),
        one_by_one=one_by_one,
        generator=generator,
        quick=_layout.is_quick(trace, num_samples),
        digest=trace.digest,
    )
    empty = None if reduce is None else _reduction.init(reduce, trace.output)
    if not trace.uses_key:
        text = "All draws are equal, as `fn` does not use its key. NumPy draws random numbers once, while JAX traces."
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    if empty is None:
        _warn_of_size(trace, num_samples, mesh)
    return Work(fn, args, reduce, key, operands, draw, trace, plan, empty, wanted, at_once)


def _warn_of_size(trace: _draw.Trace, num_samples: int, mesh: Mesh) -> None:
    """Warn if the stacked draws, which stay on the devices, need more memory than there is."""
    device = local_devices(mesh)[0]
    # The CPU devices of a machine share its memory.
    sharing = len(local_devices(mesh)) if device.platform == "cpu" else 1
    needed = sharing * -(-num_samples // width(mesh)) * _bytes(trace.leaves)
    there = device_memory(device)
    if there is not None and needed > there:
        text = f"{num_samples} draws take {needed / 2**30:.3g} GiB of {there / 2**30:.3g} GiB; a reducer needs little."
        warnings.warn(text, RuntimeWarning, stacklevel=4)


def _bytes(leaves: Iterable) -> int:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in leaves)


class MemoryPlan(AbstractModule):
    """The memory that `simulate` needs on each device, estimated before anything is compiled.

    Args:
        batch_size: draws of a device at a time.
        one_by_one: whether the device takes them one after the other, so that they share their memory.
        draw_bytes: bytes for making a draw, with all intermediate arrays, operation by operation.
        output_bytes: bytes of the result of a draw.
        batch_bytes: bytes for making a batch. Draws that multiply one matrix, which all share, need fewer than as many
            single ones.
        kept_bytes: bytes that stay on a device: states of the reducers, or without a reducer its share of the draws.
        budget_bytes: bytes that a batch may need by default.

    Example:
        >>> import jax, rmtjax as rmt
        >>> plan = rmt.simulation.memory_plan(jax.random.normal, jax.random.key(0), 100, reduce=rmt.Moments())
        >>> print(plan.kept_bytes)
        48
    """

    batch_size: int
    one_by_one: bool
    draw_bytes: int
    output_bytes: int
    batch_bytes: int
    kept_bytes: int
    budget_bytes: int


def memory_plan(
    fn: Callable[..., PyTree],
    key: KeyScalar,
    num_samples: int,
    *,
    args: tuple[Any, ...] = (),
    reduce: PyTree = None,
    batch_size: int | None = None,
    mesh: Mesh | None = None,
) -> MemoryPlan:
    """How `simulate` would lay out these draws in memory; nothing is compiled or drawn.

    The estimate counts every intermediate array of `fn` as if XLA fused no operations, so that most draws need less. It
    leaves out the workspace of LAPACK. `rmtjax.simulate` describes the arguments and refuses the same ones.

    Args:
        fn: a JAX function of one typed key and of `args`.
        key: a typed key.
        num_samples: number of draws.
        args: further arguments of `fn`.
        reduce: a reducer, a tree of reducers, or None.
        batch_size: number of draws per device at a time.
        mesh: devices with an axis named "draws".

    Returns:
        The plan for one device.

    Example:
        >>> import jax, rmtjax as rmt
        >>> plan = rmt.simulation.memory_plan(rmt.GOE(1000).sample, jax.random.key(0), 50)
        >>> print(plan.output_bytes == 1000 * 1000 * jax.numpy.zeros(()).dtype.itemsize)
        True
    """
    work = prepared(fn, key, num_samples, args, reduce, batch_size, mesh)
    plan, trace = work.plan, work.trace
    output = _bytes(trace.leaves)
    at_once = 1 if plan.one_by_one else plan.batch
    share = -(-num_samples // width(plan.mesh)) * output
    return MemoryPlan(
        batch_size=plan.batch,
        one_by_one=plan.one_by_one,
        draw_bytes=trace.peak,
        output_bytes=output,
        batch_bytes=trace.peak + (at_once - 1) * (trace.together or trace.peak) + (plan.batch - at_once) * output,
        kept_bytes=share if work.empty is None else _bytes(jax.tree.leaves(work.empty)),
        budget_bytes=memory_budget(local_devices(plan.mesh)[0]),
    )
