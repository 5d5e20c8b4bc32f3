"""The cost of a compiled function: seconds of each stage, operations, traffic and memory."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rmtjax import _checks


@dataclass(frozen=True)
class Work:
    """Operations and traffic of one call, from a formula, because XLA's cost analysis cannot know them.

    It sees neither inside LAPACK and vendor calls nor how often a loop runs.

    Args:
        flops: floating-point operations of one call.
        source: the formula, in words.
        bytes_accessed: bytes moved to and from memory by one call; None if they were not counted.

    Example:
        >>> Work(flops=2 * 100**3, source="2n³, one multiplication and one addition per term").flops
        2000000
    """

    flops: float
    source: str
    bytes_accessed: float | None = None


@dataclass(frozen=True)
class Measurement:
    """The result of `measure`; a field is None if its quantity does not exist or the backend does not tell it.

    It is immutable, and `dataclasses.asdict` makes plain values of it.

    Args:
        device: kind of the device, e.g. `"cpu"`.
        num_devices: number of devices over which the result is spread.
        dtype: dtype of the floating-point results, or of the arguments if no result is floating-point.
        first_call_seconds: time of the first execution, until the result is ready.
        median_seconds: median time of the calls in the steady state.
        min_seconds: time of the fastest one.
        max_seconds: time of the slowest one.
        repeats: number of calls in the steady state.
        trace_seconds: time of tracing and lowering to the compiler's input.
        compile_seconds: time of compiling.
        compile_cached: whether the persistent compilation cache answered instead of the compiler.
        xla_flops: operations of one device's program by XLA's cost analysis, which counts the body of a loop once and
            cannot see inside LAPACK calls.
        xla_bytes: bytes accessed by one device's program, by the same analysis.
        planned_bytes: arguments, results and temporaries of one device's program, as planned by the compiler.
        work: the work that the caller stated, for all devices together.

    Example:
        >>> record = measure(lambda x: x @ x, jax.numpy.ones((32, 32)), repeats=3)
        >>> record.min_seconds <= record.median_seconds <= record.max_seconds
        True
    """

    device: str
    num_devices: int
    dtype: str | None
    first_call_seconds: float
    median_seconds: float
    min_seconds: float
    max_seconds: float
    repeats: int
    trace_seconds: float | None = None
    compile_seconds: float | None = None
    compile_cached: bool | None = None
    xla_flops: float | None = None
    xla_bytes: float | None = None
    planned_bytes: int | None = None
    work: Work | None = None

    @property
    def teraflops_per_second(self) -> float | None:
        """Achieved 10¹² operations per second, by the stated work if there is any, otherwise by XLA's count."""
        return self._rate(self.work.flops if self.work else self.xla_flops, 1e12)

    @property
    def gigabytes_per_second(self) -> float | None:
        """Achieved 10⁹ bytes per second, from the same source as `teraflops_per_second`."""
        return self._rate(self.work.bytes_accessed if self.work else self.xla_bytes, 1e9)

    def _rate(self, amount: float | None, unit: float) -> float | None:
        programs = 1 if self.work else self.num_devices  # XLA counts the program of one device
        return None if amount is None else programs * amount / self.median_seconds / unit


def measure(
    fn: Callable[..., Any], *args: Any, repeats: int = 5, jit: bool = True, work: Work | None = None
) -> Measurement:
    """Measure the stages of compiling a function and its steady state.

    Each call is timed from its start until all of its results are ready. A plain function is always traced and compiled
    anew. A function from `jax.jit` or `eqx.filter_jit` is lowered as it is; if it was lowered or measured on such
    arguments before, JAX remembers the trace and the executable, and both stages take almost no time. A persistent
    compilation cache stays as the caller set it: if it answers, `compile_seconds` is the time of the look-up and
    `compile_cached` is True.

    Args:
        fn: function of arrays or pytrees of arrays, without static or donated arguments.
        *args: its arguments, already on their devices.
        repeats: number of timed calls after the first one, at least 1.
        jit: False calls `fn` as it is; the first call then includes its compilations.
        work: operations of one call from a formula, for functions that XLA's cost analysis cannot count.

    Example:
        >>> import jax.numpy as jnp
        >>> record = measure(jnp.matmul, jnp.ones((64, 64)), jnp.ones((64, 64)))
        >>> print(record.repeats, record.num_devices, record.xla_flops > 0)
        5 1 True
    """
    if not callable(fn):
        raise _checks.refusal("fn", "be callable", fn)
    return measured(fn, args, _checks.integer("repeats", repeats, at_least=1), jit, work)[0]


def measured(
    fn: Callable[..., Any], args: tuple, repeats: int, jit: bool = True, work: Work | None = None
) -> tuple[Measurement, Any]:
    """The measurement and the result of the last call; without repeats the first call stands for the others."""
    jax.block_until_ready(args)
    stages, call = _staged(fn, args) if jit else ({}, fn)
    first_call, result = _timed(call, args)
    steady = [] if repeats else [first_call]
    for _ in range(repeats):
        seconds, result = _timed(call, args)
        steady.append(seconds)
    arrays = [leaf for leaf in jax.tree.leaves(result) if isinstance(leaf, jax.Array)]
    devices = set().union(*(array.sharding.device_set for array in arrays)) or set(jax.devices()[:1])
    record = Measurement(
        device=min(devices, key=lambda device: device.id).device_kind,
        num_devices=len(devices),
        dtype=_floating_dtype(result) or _floating_dtype(args),
        first_call_seconds=first_call,
        median_seconds=statistics.median(steady),
        min_seconds=min(steady),
        max_seconds=max(steady),
        repeats=repeats,
        work=work,
        **stages,
    )
    return record, result


def _staged(fn: Any, args: tuple) -> tuple[dict[str, Any], Callable[..., Any]]:
    # JAX finds no earlier trace or executable for a new lambda.
    jitted = fn if hasattr(fn, "lower") else jax.jit(lambda *a: fn(*a))
    trace_seconds, lowered = _timed(jitted.lower, args)
    hits_before = len(_cache_hits())
    compile_seconds, compiled = _timed(lowered.compile, ())
    executable = getattr(compiled, "compiled", compiled)  # equinox wraps the executable of jax
    cost, plan = executable.cost_analysis(), executable.memory_analysis()
    # XLA reports -1 where it does not know the amount.
    known = {name: amount for name, amount in cost.items() if amount >= 0} if isinstance(cost, dict) else {}
    parts = ("argument_size_in_bytes", "output_size_in_bytes", "temp_size_in_bytes")
    stages = dict(
        trace_seconds=trace_seconds,
        compile_seconds=compile_seconds,
        compile_cached=len(_cache_hits()) > hits_before,
        xla_flops=known.get("flops"),
        xla_bytes=known.get("bytes accessed"),
        planned_bytes=plan and sum(getattr(plan, part) for part in parts) - plan.alias_size_in_bytes,
    )
    return stages, compiled


def _timed(call: Callable[..., Any], args: tuple) -> tuple[float, Any]:
    start = time.perf_counter()
    result = jax.block_until_ready(call(*args))
    return time.perf_counter() - start, result


@cache
def _cache_hits() -> list[str]:
    """The answers of the persistent cache since the first call; the listener stays, as jax 0.8 cannot remove it."""
    hits: list[str] = []
    jax.monitoring.register_event_listener(lambda event, **_: hits.extend([event] * event.endswith("/cache_hits")))
    return hits


def _floating_dtype(tree: Any) -> str | None:
    dtypes = {leaf.dtype for leaf in jax.tree.leaves(tree) if hasattr(leaf, "dtype")}
    floating = {dtype for dtype in dtypes if jnp.issubdtype(dtype, jnp.inexact)}
    if not jax.config.read("jax_enable_x64"):
        # Results that the host has merged in 64 bits were not computed in 64 bits.
        floating = {dtype for dtype in floating if jnp.finfo(dtype).bits < 64} or floating
    return np.result_type(*floating).name if floating else None
