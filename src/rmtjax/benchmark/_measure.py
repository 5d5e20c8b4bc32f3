"""The cost of a compiled function: seconds of each stage, operations, traffic and memory."""

import statistics
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rmtjax import _checks

_CACHE_HIT = "/jax/compilation_cache/cache_hits"


@dataclass(frozen=True)
class Work:
    """Operations and traffic of one call, stated from a formula because the compiler cannot know them.

    XLA's cost analysis sees neither inside LAPACK and vendor calls nor how often a loop runs.

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

    Args:
        device: kind of the device, e.g. `"cpu"`.
        num_devices: number of devices over which the result is spread.
        dtype: dtype of the floating-point results, or of the arguments if no result is floating-point.
        jax_version: version of JAX in the run.
        trace_seconds: time of tracing and lowering to the compiler's input.
        compile_seconds: time of compiling.
        compile_cached: whether the persistent compilation cache answered instead of the compiler.
        first_call_seconds: time of the first execution, until the result is ready.
        median_seconds: median time of the calls in the steady state.
        min_seconds: time of the fastest of them.
        max_seconds: time of the slowest of them.
        repeats: number of calls in the steady state.
        xla_flops: operations of one device's program by XLA's cost analysis, which counts the body of a loop
            once and cannot see inside LAPACK calls.
        xla_bytes: bytes accessed by one device's program, by the same analysis.
        planned_bytes: arguments, results and temporaries of one device's program, as planned by the compiler.
        peak_bytes: largest memory in use on one device since the process began.
        work: the work that the caller stated, for all devices together.

    Example:
        >>> record = measure(lambda x: x @ x, jax.numpy.ones((32, 32)), repeats=3)
        >>> record.min_seconds <= record.median_seconds <= record.max_seconds
        True
        >>> Measurement.from_dict(record.to_dict()) == record
        True
    """

    device: str
    num_devices: int
    dtype: str | None
    jax_version: str
    trace_seconds: float | None
    compile_seconds: float | None
    compile_cached: bool | None
    first_call_seconds: float
    median_seconds: float
    min_seconds: float
    max_seconds: float
    repeats: int
    xla_flops: float | None
    xla_bytes: float | None
    planned_bytes: int | None
    peak_bytes: int | None
    work: Work | None = None

    @property
    def teraflops_per_second(self) -> float | None:
        """Achieved 10¹² operations per second, by the stated work if there is any, otherwise by XLA's count."""
        flops = self.work.flops if self.work else self._over_all_devices(self.xla_flops)
        return self._rate(flops, 1e12)

    @property
    def gigabytes_per_second(self) -> float | None:
        """Achieved 10⁹ bytes per second, from the same source as `teraflops_per_second`."""
        traffic = self.work.bytes_accessed if self.work else self._over_all_devices(self.xla_bytes)
        return self._rate(traffic, 1e9)

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain Python values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> "Measurement":
        """The inverse of `to_dict`."""
        work = record["work"]
        return cls(**{**record, "work": None if work is None else Work(**work)})

    def _over_all_devices(self, amount: float | None) -> float | None:
        return None if amount is None else amount * self.num_devices

    def _rate(self, amount: float | None, unit: float) -> float | None:
        return None if amount is None else amount / self.median_seconds / unit


def measure(
    fn: Callable[..., Any],
    *args: Any,
    repeats: int = 5,
    warmup: int = 1,
    jit: bool = True,
    work: Work | None = None,
) -> Measurement:
    """Measure the stages of compiling a function and its steady state.

    Each call is timed from its start until all of its results are ready. A plain function is traced and compiled
    afresh, whatever was compiled before. A function from `jax.jit` or `eqx.filter_jit` is lowered as it is; if it was
    lowered or measured on such arguments before, JAX remembers the trace and the executable, and both stages take
    almost no time. A persistent compilation cache is left as the caller set it: where it answers, `compile_seconds` is
    the time of the look-up and `compile_cached` is True.

    Args:
        fn: function of arrays or pytrees of arrays, without static or donated arguments.
        *args: its arguments, already on their devices.
        repeats: number of timed calls in the steady state, at least 1.
        warmup: number of calls before those, at least 1; the first of them gives `first_call_seconds`.
        jit: False calls `fn` as it is; the first call then includes whatever it compiles.
        work: operations of one call from a formula, for functions that XLA's cost analysis cannot count.

    Returns:
        An immutable record.

    Raises:
        ValueError: `fn` is not callable, or `repeats` or `warmup` is not an integer of at least 1.

    Example:
        >>> import jax.numpy as jnp
        >>> record = measure(jnp.matmul, jnp.ones((64, 64)), jnp.ones((64, 64)))
        >>> print(record.repeats, record.num_devices, record.xla_flops > 0)
        5 1 True
    """
    return measure_with_result(fn, *args, repeats=repeats, warmup=warmup, jit=jit, work=work)[0]


def measure_with_result(
    fn: Callable[..., Any],
    *args: Any,
    repeats: int = 5,
    warmup: int = 1,
    jit: bool = True,
    work: Work | None = None,
) -> tuple[Measurement, Any]:
    """The measurement together with the result of the last call, so that the answer can be checked."""
    if not callable(fn):
        raise _checks.refusal("fn", "be callable", fn)
    repeats = _checks.integer("repeats", repeats, at_least=1)
    warmup = _checks.integer("warmup", warmup, at_least=1)
    jax.block_until_ready(args)
    stages, call = _staged(fn, args) if jit else (_NOT_COMPILED, fn)
    first_call, result = _timed(call, args)
    for _ in range(warmup - 1):
        _timed(call, args)
    steady = []
    for _ in range(repeats):
        seconds, result = _timed(call, args)
        steady.append(seconds)
    devices = _devices(result)
    record = Measurement(
        device=devices[0].device_kind,
        num_devices=len(devices),
        dtype=_floating_dtype(result) or _floating_dtype(args),
        jax_version=jax.__version__,
        first_call_seconds=first_call,
        median_seconds=statistics.median(steady),
        min_seconds=min(steady),
        max_seconds=max(steady),
        repeats=repeats,
        peak_bytes=_peak_bytes(devices),
        work=work,
        **stages,
    )
    return record, result


_NOT_COMPILED: dict[str, Any] = dict.fromkeys(
    ("trace_seconds", "compile_seconds", "compile_cached", "xla_flops", "xla_bytes", "planned_bytes")
)


def _staged(fn: Any, args: tuple) -> tuple[dict[str, Any], Callable[..., Any]]:
    # A new lambda at every call, so that no earlier trace or executable is found for it.
    jitted = fn if hasattr(fn, "lower") else jax.jit(lambda *a: fn(*a))
    trace_seconds, lowered = _timed(lambda: jitted.lower(*args), ())
    hits_before = _events()[_CACHE_HIT]
    compile_seconds, compiled = _timed(lowered.compile, ())
    executable = getattr(compiled, "compiled", compiled)  # equinox wraps the executable of jax
    cost = executable.cost_analysis() or {}
    if isinstance(cost, list):  # one dictionary per program, and there is one program
        cost = cost[0] if cost else {}
    stages = dict(
        trace_seconds=trace_seconds,
        compile_seconds=compile_seconds,
        compile_cached=_events()[_CACHE_HIT] > hits_before,
        xla_flops=_known(cost.get("flops")),
        xla_bytes=_known(cost.get("bytes accessed")),
        planned_bytes=_planned_bytes(executable),
    )
    return stages, compiled


def _timed(call: Callable[..., Any], args: tuple) -> tuple[float, Any]:
    start = time.perf_counter()
    result = jax.block_until_ready(call(*args))
    return time.perf_counter() - start, result


@cache
def _events() -> Counter[str]:
    """The count of each event in JAX since the first call; jax 0.8 cannot remove a listener, so this one stays."""
    events: Counter[str] = Counter()
    jax.monitoring.register_event_listener(lambda event, **_: events.update([event]))
    return events


def _known(amount: float | None) -> float | None:
    # XLA reports -1 where it does not know the amount.
    return None if amount is None or amount < 0 else float(amount)


def _planned_bytes(executable: Any) -> int | None:
    plan = executable.memory_analysis()
    if plan is None:
        return None
    used = plan.argument_size_in_bytes + plan.output_size_in_bytes + plan.temp_size_in_bytes
    return used - plan.alias_size_in_bytes


def _devices(result: Any) -> list[Any]:
    arrays = [leaf for leaf in jax.tree.leaves(result) if isinstance(leaf, jax.Array)]
    found = set().union(*(array.sharding.device_set for array in arrays))
    return sorted(found, key=lambda device: device.id) or jax.devices()[:1]


def _peak_bytes(devices: list[Any]) -> int | None:
    peaks = [(device.memory_stats() or {}).get("peak_bytes_in_use") for device in devices]
    return max((peak for peak in peaks if peak is not None), default=None)


def _floating_dtype(tree: Any) -> str | None:
    dtypes = [leaf.dtype for leaf in jax.tree.leaves(tree) if hasattr(leaf, "dtype")]
    floating = {dtype for dtype in dtypes if jnp.issubdtype(dtype, jnp.inexact)}
    if not jax.config.read("jax_enable_x64"):
        # What the host has merged in 64 bits was not computed in them.
        floating = {dtype for dtype in floating if jnp.finfo(dtype).bits < 64} or floating
    return np.result_type(*floating).name if floating else None
