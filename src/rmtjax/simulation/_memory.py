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
# Operations that run an inner program on what they are given.
_CALLS = frozenset("jit pjit closed_call scan custom_jvp_call custom_vjp_call checkpoint remat remat2".split())


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


def bytes_of_each(jaxpr: Jaxpr) -> int | None:
    """The bytes that each draw needs for itself, if draws together read a matrix once that each would read; else None.

    The program has no LAPACK. Its last input is the key, and all draws share the others. The matrix is at least twice
    as large as what a draw needs, so that reading it is most of the work. Under `vmap` both branches of a `cond` would
    run for all draws, a `while` loop would run until the slowest draw is done, and some operations would copy what is
    shared: a program with these is left alone.
    """
    shared = _with_derived(jaxpr, {*jaxpr.invars[:-1]})
    matrix = _multiplied(jaxpr, shared)
    if matrix is None:
        return None
    copied = sum(_bytes(v) for v in jaxpr.outvars if not isinstance(v, Literal) and v in shared)
    own = max(1, peak_bytes(jaxpr, shared) + copied)
    return own if matrix >= 2 * own else None


def _multiplied(jaxpr: Jaxpr, shared: Set[Any]) -> int | None:
    """The bytes of the largest shared factor of a product; None if `vmap` may cost more."""
    largest = 0
    for eqn in jaxpr.eqns:
        name, programs = eqn.primitive.name, list(inner_programs(eqn))
        if programs and not (name in _CALLS or (name == "cond" and _is_in(eqn.invars[0], shared))):
            return None
        if name.startswith(("bcoo", "bcsr")) or "callback" in name:
            return None
        if name == "dot_general":
            largest = max(largest, *(_bytes(v) for v in eqn.invars if _is_in(v, shared)), 0)
        for inner, _ in programs:
            found = _multiplied(inner, _handed_on(eqn, inner, shared))
            if found is None:
                return None
            largest = max(largest, found)
    return largest


def _with_derived(jaxpr: Jaxpr, shared: Set[Any]) -> Set[Any]:
    """The shared variables, constants, and all that is computed from these alone."""
    found = {*shared, *jaxpr.constvars}
    for eqn in jaxpr.eqns:
        if all(isinstance(v, Literal) or v in found for v in eqn.invars):
            found |= {*eqn.outvars}
    return found


def _handed_on(eqn: JaxprEqn, inner: Jaxpr, shared: Set[Any]) -> Set[Any]:
    """The shared variables of an inner program, which are not those that a loop carries."""
    if not shared:
        return shared
    outer = eqn.invars[1:] if eqn.primitive.name == "cond" else eqn.invars
    if len(outer) != len(inner.invars):
        return _with_derived(inner, set())
    first = eqn.params.get("num_consts", len(outer)) if eqn.primitive.name == "scan" else len(outer)
    carried = {*inner.invars[first : first + eqn.params.get("num_carry", 0)]}
    pairs = zip(inner.invars, outer, strict=True)
    return _with_derived(inner, {v for v, given in pairs if _is_in(given, shared)} - carried)


def _is_in(var: Any, shared: Set[Any]) -> bool:
    return not isinstance(var, Literal) and var in shared


def _bytes(var: object) -> int:
    aval = getattr(var, "aval", None)
    size = getattr(aval, "size", 0)
    return size * getattr(getattr(aval, "dtype", None), "itemsize", 0)
