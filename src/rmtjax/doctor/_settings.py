"""The settings of JAX that affect precision and speed."""

import os
from collections.abc import Mapping
from typing import Any

import jax

from rmtjax.doctor._finding import Finding

# Switches for debugging, and what each of them costs.
SLOW = {
    "jax_debug_nans": "every result is fetched and searched for NaN",
    "jax_debug_infs": "every result is fetched and searched for infinities",
    "jax_enable_checks": "JAX checks itself at every step of tracing",
    "jax_check_tracer_leaks": "no trace is remembered, so that functions compile again and again",
    "jax_disable_jit": "nothing is compiled as a whole",
    "jax_disable_most_optimizations": "programs compile faster and run slower",
}

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def settings() -> dict[str, Any]:
    """The present values of all settings that the findings look at."""
    values = jax.config.values
    return {name: values.get(name) for name in (*SLOW, "jax_enable_x64")}


def setting_findings(values: Mapping[str, Any]) -> list[Finding]:
    """Findings for 64-bit types that are off, and for debugging switches that are on."""
    findings = []
    if not values["jax_enable_x64"]:
        remedy = 'For 64 bits: jax.config.update("jax_enable_x64", True) after the imports, or JAX_ENABLE_X64=1.'
        findings.append(Finding("64-bit types are off, results have about 7 digits", remedy))
    for name, cost in SLOW.items():
        if values.get(name):
            remedy = f"Unless you are debugging: unset {name.upper()}, or jax.config.update({name!r}, False)."
            findings.append(Finding(f"{name} is on: {cost}", remedy))
    return findings


def threads(environment: Mapping[str, str]) -> str:
    """The cores of this process, and the settings that limit the threads of LAPACK."""
    limits = [f"{name}={environment[name]}" for name in _THREADS if environment.get(name)]
    return ", ".join([f"{usable_cores()} for this process", *limits])


def usable_cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
