"""Many independent draws of a function of a key, over all devices."""

import contextlib
import functools
import math
import os
import warnings
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Literal, TypedDict, TypeVar, Unpack

from jax.sharding import Mesh
from jaxtyping import Array

from rmtjax import _checks
from rmtjax._staging import uninspected
from rmtjax._typing import KeyScalar, PyTree, overload
from rmtjax.simulation._checkpoint import Store
from rmtjax.simulation._devices import surrounded_by
from rmtjax.simulation._fingerprint import facts
from rmtjax.simulation._goal import Goal
from rmtjax.simulation._interrupts import Interrupted, noted_interrupts
from rmtjax.simulation._layout import longest_chunk
from rmtjax.simulation._processes import Processes
from rmtjax.simulation._progress import shown_progress
from rmtjax.simulation._reduction import are_states
from rmtjax.simulation._results import Reducer, Same
from rmtjax.simulation._run import Surroundings, go_on
from rmtjax.simulation._runs import Stacked, Streamed
from rmtjax.simulation._saver import Interval, Saver
from rmtjax.simulation._work import prepared

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
K = TypeVar("K", bound=str | int)
Fn = Callable[..., Any]
OnWriteError = Literal["continue", "raise"]


class Options(TypedDict, total=False):
    """The arguments of `simulate` on which the type of its result does not depend."""

    args: tuple[Any, ...]
    batch_size: int | None
    mesh: Mesh | None
    progress: bool | None
    checkpoint: str | os.PathLike[str] | None
    every: int | str | timedelta
    on_write_error: OnWriteError
    stop_when: float | Callable[[Any], Any] | None


@overload
def simulate(
    fn: Callable[..., float], key: KeyScalar, num_samples: int, *, reduce: None = None, **options: Unpack[Options]
) -> Array: ...
@overload
def simulate(
    fn: Callable[..., A], key: KeyScalar, num_samples: int, *, reduce: None = None, **options: Unpack[Options]
) -> A: ...
@overload
def simulate(fn: Fn, key: KeyScalar, num_samples: int, *, reduce: Reducer[A], **options: Unpack[Options]) -> A: ...
@overload
def simulate(
    fn: Fn, key: KeyScalar, num_samples: int, *, reduce: tuple[Reducer[A], Reducer[B]], **options: Unpack[Options]
) -> tuple[A, B]: ...
@overload
def simulate(
    fn: Fn,
    key: KeyScalar,
    num_samples: int,
    *,
    reduce: tuple[Reducer[A], Reducer[B], Reducer[C]],
    **options: Unpack[Options],
) -> tuple[A, B, C]: ...
@overload
def simulate(
    fn: Fn, key: KeyScalar, num_samples: int, *, reduce: Mapping[K, Reducer[Same]], **options: Unpack[Options]
) -> dict[K, Same]: ...
@overload
def simulate(
    fn: Fn, key: KeyScalar, num_samples: int, *, reduce: Mapping[K, Any], **options: Unpack[Options]
) -> dict[K, Any]: ...
@overload
def simulate(
    fn: Fn, key: KeyScalar, num_samples: int, *, reduce: list[Any] | tuple[Any, ...], **options: Unpack[Options]
) -> Any: ...
def simulate(
    fn: Callable[..., PyTree],
    key: KeyScalar,
    num_samples: int,
    *,
    args: tuple[Any, ...] = (),
    reduce: PyTree = None,
    batch_size: int | None = None,
    mesh: Mesh | None = None,
    progress: bool | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    every: int | str | timedelta = "5min",
    on_write_error: OnWriteError = "continue",
    stop_when: float | Callable[[Any], Any] | None = None,
) -> Any:
    """Draw `fn(key_i, *args)` for i = 0 … num_samples - 1, batched and sharded over devices.

    Draw i uses `jax.random.fold_in(key, i)` and nothing else. So for one batch size, and every number of devices and
    processes, integer results are the same bit for bit, also after an interruption, and floating-point results agree to
    the rounding of their dtype. For another batch size XLA may round a draw otherwise, and a value within rounding of
    an edge may be counted in the next bin.

    Batches run under `vmap` and `shard_map` in one compiled function, which later calls reuse for all values of `args`,
    of arrays in a partial, and of the parameters of a module if `fn` is its method.

    After `jax.distributed.initialize()` every process makes the same call, takes its share of the draws, and returns
    the same result. The first process writes the checkpoint and shows the progress.

    After Ctrl-C the state is saved, the result of the draws so far is returned, and a warning gives their number. A
    second Ctrl-C stops at once.

    Args:
        fn: a JAX function of one typed key and of `args`, e.g. `rmt.GOE(100).eigenvalues`. Its output is any pytree
            of arrays and numbers.
        key: a typed key.
        num_samples: number of draws, at least 1 and below 2^31.
        args: further arguments of `fn`, pytrees of arrays and numbers, e.g. `(scale, goe)`; new values never cause a
            new compilation. Every device gets a copy.
        reduce: a reducer, e.g. `rmt.Histogram(edges)`, or a tuple, list or dict of them: draws are streamed through
            it in constant memory. None stacks them.
        batch_size: number of draws per device at a time. By default an estimate of the memory of `fn` decides: the
            batch may take a quarter of the device's memory (256 MiB if the device does not tell it), and with a reducer
            on a CPU only its cache.
        mesh: devices with an axis named "draws", over which the draws are spread. By default the mesh of
            `jax.set_mesh`, along all of its axes if none has this name, or else all devices of all processes; inside of
            `shard_map` the device of the caller.
        progress: whether to show how far the run is, with the rate, the time left and the largest standard error: a bar
            of tqdm on a terminal and in a notebook, a line every ten seconds elsewhere. By default only on a terminal,
            if tqdm is installed.
        checkpoint: a file for the state of the reducer. If it exists, the run goes on where it was saved, also with
            other devices or a larger `num_samples`, and with the batch size that it had, if `batch_size` is None. `fn`,
            `args`, `key` and `reduce` must be the same. `<checkpoint>.previous` holds the state before.
        every: the interval between two checkpoints: a number of draws, or a time such as "30s", "5min" or "1h".
        on_write_error: what to do if the checkpoint cannot be written: "continue" in memory with a warning, and try
            again after the next interval, or "raise".
        stop_when: a target for the largest standard error of the result, in its units, or a function of the result (the
            tuple, list or dict for several reducers) that returns whether it is good enough, for an array in all
            entries. The run looks after every hundredth of `num_samples`.

    Returns:
        The result of the reducer, or the results of several in the same structure. Without a reducer, the pytree of
        `fn` with a leading axis of length `num_samples`, sharded over the mesh if its size divides `num_samples`.

    Raises:
        ValueError: an argument is not as described; `fn` calls numpy, returns no arrays, or has an output shape that
            depends on the key; `checkpoint` is damaged, of another simulation, or has more than `num_samples` draws.
        RuntimeError: another run writes to `checkpoint`, or another process has ended.
        OSError: `checkpoint` cannot be written, and `on_write_error` is "raise".
        ImportError: `progress=True` on a terminal or in a notebook without tqdm.

    Example:
        >>> import jax, rmtjax as rmt
        >>> trace = lambda key, scale: rmt.GOE(8, scale).sample(key).trace()
        >>> traces = [rmt.simulate(trace, jax.random.key(0), 100, args=(scale,)) for scale in (1.0, 2.0)]
        >>> print(traces[1].shape, bool(abs(traces[1] - 2 * traces[0]).max() < 1e-4))
        (100,) True
    """
    if reduce is None and (checkpoint is not None or stop_when is not None):
        raise _checks.refusal("reduce", "be a reducer for `checkpoint` and `stop_when`", reduce)
    store = None if checkpoint is None else Store(checkpoint)
    num_samples = _checks.integer("num_samples", num_samples, at_least=1)
    interval, goal = Interval(every), Goal(stop_when, num_samples)
    strict = _checks.choice("on_write_error", on_write_error, OnWriteError) == "raise"
    least = min(goal.next_look(0), math.inf if store is None else interval.draws)
    work = prepared(fn, key, num_samples, args, reduce, batch_size, mesh, fingerprint=store is not None, interval=least)
    processes = Processes(work.plan.mesh)
    work = work.agreed(processes, num_samples)
    what = {} if store is None else facts(work)
    fits = functools.partial(are_states, reduce, work.empty or [])
    saver = Saver(store, what, fits, num_samples, work.wanted, interval, strict, processes)
    with contextlib.ExitStack() as stack:
        interrupts = stack.enter_context(noted_interrupts(termination=store is not None))
        saved = stack.enter_context(saver.opened())
        initial = saved.draws if saved else 0
        if saved and batch_size is None:
            work = work.in_batches(saved.batch)
            saver.batch = work.wanted
        show = progress if processes.first else False
        advance = stack.enter_context(shown_progress(num_samples, initial, show))
        surroundings = Surroundings(processes, interrupts, saver, goal, advance)
        if work.empty is None:
            run = Stacked(num_samples, work.plan.mesh, surroundings)
        else:
            run = Streamed(reduce, num_samples, work.empty, saved, surroundings)
        stack.enter_context(surrounded_by(work.plan.mesh))
        stack.enter_context(uninspected())  # Draws may be NaN.
        go_on(run, work.chunks(), work.plan, longest_chunk(work.trace, work.plan.mesh))
        if run.interrupted or interrupts.signal is not None:
            kept = "" if store is None else f", which are saved in {store.path}"
            warnings.warn(f"Interrupted after {run.done} of {num_samples} draws{kept}.", Interrupted, stacklevel=2)
        return run.result()
