"""What a draw costs: its memory, estimated before anything is compiled, and whether it calls LAPACK."""

import os
from collections.abc import Iterator
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

# The share of a device's memory that one batch may take, and the bytes where the backend does not tell its memory.
_SHARE_OF_DEVICE_MEMORY = 0.25
_DEFAULT_BUDGET = 2**28


# Operations that call LAPACK on a CPU.
_LAPACK = frozenset(
    "cholesky eig eigh geqrf geqp3 hessenberg householder_product lu ormqr qr schur svd tridiagonal ffi_call".split()
)


def device_memory(device: Any) -> int | None:
    """Bytes of the device, or of the machine for a CPU, if they are known."""
    limit = (device.memory_stats() or {}).get("bytes_limit")
    if limit is None and device.platform == "cpu" and hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        limit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return limit


def memory_budget(device: Any) -> int:
    """Bytes that one batch may use on a device."""
    stats = device.memory_stats() or {}
    limit = stats.get("bytes_limit")
    return int(_SHARE_OF_DEVICE_MEMORY * limit) if limit else _DEFAULT_BUDGET


def uses_lapack(program: ClosedJaxpr) -> bool:
    """Whether the program factorises matrices, which a CPU does by calls of LAPACK."""
    return _uses_lapack(program.jaxpr)


def _uses_lapack(jaxpr: Jaxpr) -> bool:
    return any(eqn.primitive.name in _LAPACK or any(map(_uses_lapack, _subjaxprs(eqn.params))) for eqn in jaxpr.eqns)


def peak_bytes(program: ClosedJaxpr) -> int:
    """The largest number of bytes in use at once while the program runs operation by operation, without fusion."""
    return _peak(program.jaxpr)


def _peak(jaxpr: Jaxpr) -> int:
    last_use = {v: i for i, eqn in enumerate(jaxpr.eqns) for v in eqn.invars if not isinstance(v, Literal)}
    kept = {v for v in jaxpr.outvars if not isinstance(v, Literal)}
    live = {v: _bytes(v) for v in (*jaxpr.invars, *jaxpr.constvars)}
    peak = sum(live.values())
    for i, eqn in enumerate(jaxpr.eqns):
        live |= {v: _bytes(v) for v in eqn.outvars}
        inner = max((_peak(sub) for sub in _subjaxprs(eqn.params)), default=0)
        peak = max(peak, sum(live.values()) + inner)
        dead = (v for v in list(live) if last_use.get(v, -1) <= i and v not in kept)
        for v in dead:
            del live[v]
    return peak


def _subjaxprs(params: dict) -> Iterator[Jaxpr]:
    is_jaxpr = lambda value: isinstance(value, Jaxpr | ClosedJaxpr)
    for value in jax.tree.leaves(params, is_leaf=is_jaxpr):
        if is_jaxpr(value):
            yield value.jaxpr if isinstance(value, ClosedJaxpr) else value


def _bytes(var: object) -> int:
    aval = getattr(var, "aval", None)
    size = getattr(aval, "size", 0)
    return size * getattr(getattr(aval, "dtype", None), "itemsize", 0)
