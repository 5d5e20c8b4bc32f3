"""The cost of a draw: its memory, estimated before anything is compiled, and whether it calls LAPACK."""

import os
from collections.abc import Iterator, Sequence, Set
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


def peak_bytes(jaxpr: Jaxpr, shared: Set[Any] = frozenset()) -> int:
    """The largest number of bytes in use at once while the program runs operation by operation, without fusion.

    Variables that all draws share are there once, however many draws there are, and are not counted.
    """
    size = lambda v: 0 if v in shared else _bytes(v)
    last_use = {v: i for i, eqn in enumerate(jaxpr.eqns) for v in eqn.invars if not isinstance(v, Literal)}
    kept = {v for v in jaxpr.outvars if not isinstance(v, Literal)}
    live = {v: size(v) for v in (*jaxpr.invars, *jaxpr.constvars)}
    peak = sum(live.values())
    for i, eqn in enumerate(jaxpr.eqns):
        live |= {v: size(v) for v in eqn.outvars}
        inner = max((peak_bytes(inner, _handed_on(eqn, inner, shared)) for inner, _ in inner_programs(eqn)), default=0)
        peak = max(peak, sum(live.values()) + inner)
        live = {v: held for v, held in live.items() if last_use.get(v, -1) > i or v in kept}
    return peak


def inner_programs(eqn: JaxprEqn) -> Iterator[tuple[Jaxpr, Sequence[Any]]]:
    """The programs among the parameters of an operation, with their constants."""
    for value in jax.tree.leaves(eqn.params, is_leaf=lambda value: isinstance(value, Jaxpr | ClosedJaxpr)):
        if isinstance(value, ClosedJaxpr):
            yield value.jaxpr, value.consts
        elif isinstance(value, Jaxpr):
            yield value, ()


def multiplied_bytes(jaxpr: Jaxpr, shared: Set[Any]) -> int:
    """The largest number of bytes of a shared variable that is a factor of a matrix product."""
    factors = (v for eqn in jaxpr.eqns if eqn.primitive.name == "dot_general" for v in eqn.invars)
    here = max((_bytes(v) for v in factors if not isinstance(v, Literal) and v in shared), default=0)
    inside = (
        multiplied_bytes(inner, _handed_on(eqn, inner, shared))
        for eqn in jaxpr.eqns
        for inner, _ in inner_programs(eqn)
    )
    return max(here, *inside, 0)


def _handed_on(eqn: JaxprEqn, inner: Jaxpr, shared: Set[Any]) -> Set[Any]:
    """Which variables of an inner program are the shared ones: constants of a loop, but not what it carries."""
    name, params = eqn.primitive.name, eqn.params
    first = {"cond": 1, "while": params.get("cond_nconsts")}.get(name, 0)
    last = {"scan": params.get("num_consts"), "while": first + params.get("body_nconsts", 0)}.get(name)
    pairs = zip(inner.invars, eqn.invars[first:last], strict=False)
    return {v for v, given in pairs if not isinstance(given, Literal) and given in shared and v.aval == given.aval}


def _bytes(var: object) -> int:
    aval = getattr(var, "aval", None)
    size = getattr(aval, "size", 0)
    return size * getattr(getattr(aval, "dtype", None), "itemsize", 0)
