"""The choice between two routes for Sturm sweeps: a scan that XLA compiles, and a kernel for GPUs.

On a GPU every step of the scan is a launch of its own, and a row of a sweep is a few multiplications: one sweep over
n = 15,000 rows waits for its thousand launches. `_sturm_kernel` has the rows inside of one launch. As no GPU has been
measured yet, nothing uses it unless it is asked for.

The environment variable `RMTJAX_STURM_KERNEL`, set before Python starts, is the only switch:

- `measured`, the default: the kernel on GPUs for which a record in `benchmarks/results` shows a gain (`MEASURED`);
- `always`: the kernel on every CUDA device; other devices keep the scan;
- `never`: the scan everywhere;
- `interpret`: the kernel everywhere, run by Pallas' interpreter, slowly: for tests without a GPU.

The route is fixed when a program is traced. It is a context of JAX (`jax.make_user_context`), which is a part of the
key of all of its caches, so a program of one route is never found for the other.
"""

import os
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import jax

from rmtjax import _checks

SWITCH = "RMTJAX_STURM_KERNEL"
Route = Literal["measured", "always", "never", "interpret"]
# `device_kind` of each GPU on which the kernel is the default, and the record of `benchmarks/gpu.py` that says why.
MEASURED: dict[str, str] = {}

# Tests and `benchmarks/gpu.py` run both routes in one process: `with ROUTE("never"): ...`.
ROUTE = jax.make_user_context(os.environ.get(SWITCH, "measured"))

R = TypeVar("R")


def routed(kernel: Callable[..., R], scan: Callable[..., R], *operands: Any) -> R:
    """The result of `kernel(*operands, interpret=...)` or of `scan(*operands)`, as the switch and the platform say."""
    chosen = _checks.choice(SWITCH, ROUTE.value, Route)
    if chosen == "interpret":
        return kernel(*operands, interpret=True)
    if chosen == "always" or (chosen == "measured" and _gains()):
        on_gpu = lambda *operands: kernel(*operands, interpret=False)
        return jax.lax.platform_dependent(*operands, cuda=on_gpu, default=scan)
    return scan(*operands)


def _gains() -> bool:
    """Whether the default device is in the table; with an empty one no device is started to find out."""
    return bool(MEASURED) and jax.devices()[0].device_kind in MEASURED
