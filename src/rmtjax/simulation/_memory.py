"""The cost of a draw: its memory, estimated before anything is compiled, and whether it calls LAPACK."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal

# The share of a device's memory that one batch may take, and its bytes if the backend does not tell the memory.
_SHARE_OF_DEVICE_MEMORY = 0.25
_DEFAULT_BUDGET = 2**28
# Operations that call LAPACK on a CPU.
_LAPACK = frozenset(
    "cholesky eig eigh geqrf geqp3 hessenberg householder_product lu ormqr qr schur svd tridiagonal ffi_call".split()
)


def device_memory(device: Any) -> int | None:
    """Bytes of the device, or of the machine for a CPU; None if they are not known."""
    limit = (device.memory_stats() or {}).get("bytes_limit")
    if limit is None and device.platform == "cpu" and hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        limit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return limit


def memory_budget(device: Any) -> int:
    """Bytes that one batch may use on a device."""
    limit = (device.memory_stats() or {}).get("bytes_limit")
    return int(_SHARE_OF_DEVICE_MEMORY * limit) if limit else _DEFAULT_BUDGET


def uses_lapack(jaxpr: Jaxpr) -> bool:
    """Whether the program factorises matrices, which a CPU does by calls of LAPACK."""
    inside = lambda eqn: any(uses_lapack(inner) for inner, _ in inner_programs(eqn))
    return any(eqn.primitive.name in _LAPACK or inside(eqn) for eqn in jaxpr.eqns)


def peak_bytes(jaxpr: Jaxpr) -> int:
    """The largest number of bytes in use at once while the program runs operation by operation, without fusion."""
    last_use = {v: i for i, eqn in enumerate(jaxpr.eqns) for v in eqn.invars if not isinstance(v, Literal)}
    kept = {v for v in jaxpr.outvars if not isinstance(v, Literal)}
    live = {v: _bytes(v) for v in (*jaxpr.invars, *jaxpr.constvars)}
    peak = sum(live.values())
    for i, eqn in enumerate(jaxpr.eqns):
        live |= {v: _bytes(v) for v in eqn.outvars}
        inner = max((peak_bytes(inner) for inner, _ in inner_programs(eqn)), default=0)
        peak = max(peak, sum(live.values()) + inner)
        live = {v: size for v, size in live.items() if last_use.get(v, -1) > i or v in kept}
    return peak


def inner_programs(eqn: JaxprEqn) -> Iterator[tuple[Jaxpr, Sequence[Any]]]:
    """The programs among the parameters of an operation, with their constants."""
    for value in jax.tree.leaves(eqn.params, is_leaf=lambda value: isinstance(value, Jaxpr | ClosedJaxpr)):
        if isinstance(value, ClosedJaxpr):
            yield value.jaxpr, value.consts
        elif isinstance(value, Jaxpr):
            yield value, ()


def _bytes(var: object) -> int:
    aval = getattr(var, "aval", None)
    size = getattr(aval, "size", 0)
    return size * getattr(getattr(aval, "dtype", None), "itemsize", 0)
