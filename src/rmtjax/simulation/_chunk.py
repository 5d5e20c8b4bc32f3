"""The compiled part of a simulation: a chunk of draws, spread over the devices of a mesh."""

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, PyTree, UInt32

from rmtjax._compile import quick_options
from rmtjax._mesh import devices_are_busy
from rmtjax._threefry import looped, unrolled
from rmtjax.simulation import _reduction
from rmtjax.simulation._devices import draw_axes, width
from rmtjax.simulation._draw import one_draw
from rmtjax.simulation._reducers.base import Draws
from rmtjax.simulation._structure import Structure, kept_for_structure


class Plan(NamedTuple):
    """How the draws are laid out: static facts that a compiled chunk depends on."""

    mesh: Mesh
    batch: int  # draws of a device at a time
    one_by_one: bool  # whether it takes them one after the other
    generator: Any  # the implementation of the key
    quick: bool  # whether the program is compiled with little effort, because it runs shortly
    digest: str | None  # the name of the operations of a draw, if there is a checkpoint

    @property
    def step(self) -> int:
        """Draws of all devices at a time."""
        return self.batch * width(self.mesh)


# The draw that was traced in this call of `simulate`. Globals or settings of JAX may change before a later call.
_JUST_TRACED: ContextVar[Callable | None] = ContextVar("_JUST_TRACED", default=None)


class Chunks:
    """Runs chunks of one simulation; the first traces the program, unless an earlier simulation has."""

    def __init__(self, draw: Structure, reducers: Structure, arrays: PyTree, just_traced: Callable | None, plan: Plan):
        self.batch = plan.batch
        self._run = _compiled(draw, reducers, plan)
        self._arrays = arrays
        self._just_traced = just_traced

    def __call__(self, start: int, stop: int) -> PyTree:
        """A batch of draws for each device from `start` on, stacked, or each device's states of all before `stop`."""
        token = _JUST_TRACED.set(self._just_traced)
        try:
            return self._run(self._arrays, np.array([start, stop], np.uint32))
        finally:
            _JUST_TRACED.reset(token)
            self._just_traced = None


@kept_for_structure
def _compiled(draw: Structure, reducers: Structure, plan: Plan) -> Callable:
    """A jitted function for these arguments only, so that its program is freed with the cache entry."""
    options = quick_options() if plan.quick else None
    return jax.jit(functools.partial(_run_chunk, draw, reducers, plan), compiler_options=options)


def _run_chunk(draw: Structure, reducers: Structure, plan: Plan, arrays: PyTree, bounds: UInt32[Array, " 2"]) -> PyTree:
    """The draws of a step, stacked, or the states of the reducers on each device, stacked."""
    axes, alone = draw_axes(plan.mesh), devices_are_busy()

    def on_device(arrays: PyTree, bounds: UInt32[Array, " 2"]) -> PyTree:
        operands, of_reducers, states, words = arrays
        start, stop = bounds
        key = jax.random.wrap_key_data(words, impl=plan.generator)
        place = jnp.uint32(0) if alone else jax.lax.axis_index(axes).astype(jnp.uint32)
        first = start + place * plan.batch

        def draws(step: Array) -> Draws:
            index = first + step.astype(jnp.uint32) * plan.step + jnp.arange(plan.batch, dtype=jnp.uint32)
            draw_one = functools.partial(_JUST_TRACED.get() or functools.partial(one_draw, draw), operands)
            fold = functools.partial(jax.random.fold_in, unrolled(key))
            if plan.one_by_one:
                values = jax.lax.map(lambda i: draw_one(looped(fold(i))), index)
            else:
                values = jax.vmap(draw_one)(looped(jax.vmap(fold)(index)))
            return Draws(values, index, index < stop)

        reduce = reducers.combine(of_reducers)
        if reduce is None:
            return draws(jnp.uint32(0)).values
        add = lambda step, states: _reduction.update(reduce, states, draws(step))
        if _reduction.keeps_draws(reduce):
            states = add(jnp.uint32(0), states)
        else:
            states = jax.lax.fori_loop(jnp.uint32(0), (stop - start + (plan.step - 1)) // plan.step, add, states)
        return jax.tree.map(lambda leaf: leaf[None], states)

    if alone:
        return on_device(arrays, bounds)
    everywhere, spread = PartitionSpec(), PartitionSpec(axes)
    # The check of varying axes is off, so that user functions may scan from a constant initial value.
    run = jax.shard_map(on_device, mesh=plan.mesh, in_specs=(everywhere, everywhere), out_specs=spread, check_vma=False)
    return run(arrays, bounds)
