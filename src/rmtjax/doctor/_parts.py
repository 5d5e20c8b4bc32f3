"""The parts of the report: what is installed, how JAX is set, and what lies in its compilation cache."""

import contextlib
import os
import platform
import re
import subprocess
import sys
import zlib
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp

from rmtjax._cache import is_open_to_others, user_folder
from rmtjax._version import __version__


class Finding(NamedTuple):
    """A problem, without its full stop, and its remedy, which is only advice unless something is broken."""

    problem: str
    remedy: str
    broken: bool = False


# The text that is shown, and the problems.
Part = tuple[str, list[Finding]]


def packages() -> Part:
    """Versions; packages that are missing or too old, and a jaxlib of another release than jax."""
    required = _required()
    versions = {"rmtjax": __version__} | {name: _version(name) for name in required}
    findings = []
    for name, oldest in required.items():
        if _release(versions[name]) < _release(oldest):
            remedy = "Install a newer Python." if name == "python" else f'pip install --upgrade "{name}>={oldest}"'
            findings.append(Finding(f"{name} {versions[name]}, but rmtjax needs {oldest}", remedy, broken=True))
    if _release(versions["jax"]) != _release(versions["jaxlib"]):
        remedy = 'They are made for each other: pip install --upgrade "jax=={jax}" "jaxlib=={jax}"'
        findings.append(Finding("jax {jax} runs with jaxlib {jaxlib}".format(**versions), remedy.format(**versions)))
    return ", ".join(map(" ".join, versions.items())) + f" on {platform.platform()}", findings


def _required() -> dict[str, str]:
    """The oldest version of each package, and of Python, that rmtjax declares to suffice."""
    try:
        told = metadata.metadata("rmtjax")
    except metadata.PackageNotFoundError:  # It runs from its source.
        return {"jax": "0", "jaxlib": "0"}
    lines = [line for line in metadata.requires("rmtjax") or () if "extra ==" not in line]
    lines.append(f"python{told['Requires-Python']}")
    return dict(re.findall(r"^([\w-]+)\s*>=\s*([\d.]+)", "\n".join(lines), re.MULTILINE))


def _version(package: str) -> str:
    if package == "python":
        return platform.python_version()
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "is missing"


def _release(version: str) -> tuple[int, ...]:
    """The first two numbers of a version, because no bound has more; none if the package is missing."""
    return tuple(map(int, re.findall(r"\d+", version)[:2]))


# A script that starts JAX in another process, and the seconds that it may take.
_START, _PATIENCE = "import jax; jax.devices()", 120.0
_GPU_DRIVER = Path("/proc/driver/nvidia/version")


def devices() -> Part:
    """Devices and cores; a JAX that does not start, and an NVIDIA GPU that it does not use."""
    # A new process tries first, because an unknown flag of XLA ends a process without a message.
    if error := _start_error():
        told = {name: os.environ.get(name) for name in ("XLA_FLAGS", "JAX_PLATFORMS")}
        suspects = " and ".join(f"{name}={value!r}" for name, value in told.items() if value)
        remedy = f"Unset or correct {suspects}." if suspects else "Install jax and jaxlib anew."
        return "none", [Finding(f"JAX cannot start its devices: {error.rstrip('.')}", remedy, broken=True)]
    findings = []
    if _GPU_DRIVER.exists() and {device.platform for device in jax.devices()} == {"cpu"}:
        chosen, install = os.environ.get("JAX_PLATFORMS"), 'pip install "jax[cuda13]" brings the GPU build.'
        remedy = f"JAX_PLATFORMS={chosen!r} decides so." if chosen else install
        findings.append(Finding("this machine has an NVIDIA GPU, and JAX computes on the CPU", remedy))
    kinds = [device.device_kind for device in jax.devices()]
    shown = [f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    limits = [f"{name}={value}" for name, value in os.environ.items() if name.endswith("_NUM_THREADS")]
    return ", ".join([*shown, f"{cores} cores for this process", *limits]), findings


def _start_error() -> str | None:
    """Why a new process cannot start JAX's devices, or None."""
    try:
        done = subprocess.run([sys.executable, "-c", _START], capture_output=True, text=True, timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        return f"no answer within {_PATIENCE:g} seconds"
    lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
    return next((line for line in lines if "Unknown flag" in line), lines[-1]).strip() if done.returncode else None


# Switches for debugging, and what each one costs.
SLOW = {
    "jax_debug_nans": "every result is fetched and searched for NaN",
    "jax_debug_infs": "every result is fetched and searched for infinities",
    "jax_enable_checks": "JAX checks itself at every step of tracing",
    "jax_check_tracer_leaks": "no trace is remembered, so that functions compile again and again",
    "jax_disable_jit": "nothing is compiled as a whole",
    "jax_disable_most_optimizations": "programs compile faster and run slower",
}


def numbers() -> Part:
    """The types of numbers; 64-bit types that are off, and debugging switches that are on."""
    findings = []
    wide = jax.config.values["jax_enable_x64"]
    if not wide:
        remedy = 'For 64 bits: jax.config.update("jax_enable_x64", True) after the imports, or JAX_ENABLE_X64=1.'
        findings.append(Finding("64-bit types are off, results have about 7 digits", remedy))
    for name, cost in SLOW.items():
        if jax.config.values.get(name):
            remedy = f"Unless you are debugging: unset {name.upper()}, or jax.config.update({name!r}, False)."
            findings.append(Finding(f"{name} is on: {cost}", remedy))
    return f"{jnp.zeros(()).dtype.name} by default, 64-bit types {'on' if wide else 'off'}", findings


_SWITCH_ON = "rmt.enable_compilation_cache()"


def cache() -> Part:
    """The cache of this process, or the one that `enable_compilation_cache()` would use, and its problems."""
    told = jax.config.values
    enabled = bool(told["jax_compilation_cache_dir"] and told["jax_enable_compilation_cache"])
    folder = Path(told["jax_compilation_cache_dir"] or user_folder())
    files = sorted(folder.glob("*-cache"))
    if not enabled and not files:
        problem = "the compilation cache is off, every new process compiles its programs anew"
        return "off", [Finding(problem, f"To keep them: {_SWITCH_ON} after the imports.")]
    findings = []
    existing = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    if not (existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)):
        remedy = f"Make it writable, or choose another: {_SWITCH_ON[:-1]}path)."
        findings.append(Finding(f"the compilation cache {folder} cannot be written", remedy, broken=True))
    elif existing == folder and is_open_to_others(folder):
        remedy = f"Programs in it are run: take the right from them by `chmod go-w {folder}`, or choose another folder."
        findings.append(Finding(f"other users may write to the compilation cache {folder}", remedy))
    if half := [str(file) for file in files if not _is_complete(file.read_bytes())]:
        remedy = f"Each is compiled in every process, with a warning, until it is removed: rm {' '.join(half)}"
        findings.append(Finding(f"incomplete entries in the compilation cache: {len(half)}", remedy))
    seconds = told["jax_persistent_cache_min_compile_time_secs"]
    if enabled and seconds > 0.1:
        problem = f"the compilation cache leaves out what compiles in less than {seconds:g} s"
        findings.append(Finding(problem, f"{_SWITCH_ON} stores small programs too."))
    size = sum(file.stat().st_size for file in files) / 2**20
    return f"{'' if enabled else 'off in this process; '}{folder}: {len(files)} entries, {size:.1f} MiB", findings


def _is_complete(entry: bytes) -> bool:
    """Whether an entry is not empty and its zlib stream has an end; other compression formats are not examined."""
    stream = zlib.decompressobj()
    with contextlib.suppress(zlib.error):
        stream.decompress(entry)
    # Every zlib stream with a window of 32 KiB begins with an x.
    return stream.eof or entry[:1] not in (b"", b"x")
