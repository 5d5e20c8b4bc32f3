"""The installed packages and the devices that JAX finds."""

import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

from rmtjax.doctor._finding import Finding


def installed_versions() -> dict[str, str | None]:
    """The version of rmtjax and of each package that it requires, or None if the package is missing."""
    packages = [name for name in required_versions() if name != "python"]
    return {name: _version(name) for name in ("rmtjax", *packages)} | {"python": platform.python_version()}


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def required_versions() -> dict[str, str]:
    """The oldest version of each package that will do, as rmtjax declares it."""
    lines = [line for line in metadata.requires("rmtjax") or () if "extra ==" not in line]
    lines.append(f"python{metadata.metadata('rmtjax')['Requires-Python']}")
    bounds = [re.match(r"([\w-]+)\s*>=\s*([\d.]+)", line) for line in lines]
    return {bound[1]: bound[2] for bound in bounds if bound}


def version_findings(versions: Mapping[str, str | None], required: Mapping[str, str]) -> list[Finding]:
    """Findings for packages that are missing or too old, and for a jax with a jaxlib of another release."""
    findings = []
    for name, oldest in required.items():
        version = versions.get(name)
        if version is None:
            findings.append(Finding(f"{name} is not installed", f'pip install "{name}>={oldest}"', broken=True))
        elif _numbers(version) < _numbers(oldest):
            upgrade = "install a newer Python" if name == "python" else f'pip install --upgrade "{name}>={oldest}"'
            findings.append(Finding(f"{name} {version} is older than {oldest}", upgrade, broken=True))
    jax, jaxlib = versions.get("jax"), versions.get("jaxlib")
    if jax and jaxlib and _numbers(jax)[:2] != _numbers(jaxlib)[:2]:
        remedy = f'They are made for each other: pip install --upgrade "jax=={jax}" "jaxlib=={jax}"'
        findings.append(Finding(f"jax {jax} runs with jaxlib {jaxlib}", remedy))
    return findings


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version, without trailing zeros, so that 0.8 and 0.8.0 compare equal."""
    release = re.match(r"\d+(\.\d+)*", version)
    numbers = [int(part) for part in release[0].split(".")] if release else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def start_error(code: str = "import jax; jax.devices()", seconds: float = 120) -> str | None:
    """Why a new process cannot start JAX's devices, or None; a flag that XLA does not know ends the process."""
    try:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"no answer within {seconds:g} seconds"
    if done.returncode == 0:
        return None
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    unknown = [line for line in lines if "Unknown flag" in line]
    return (unknown or lines or [f"exit status {done.returncode}"])[-1]


def start_findings(error: str | None, environment: Mapping[str, str]) -> list[Finding]:
    """A finding if JAX does not start, with the settings that may be the cause."""
    if error is None:
        return []
    suspects = [f"{name}={environment[name]!r}" for name in ("XLA_FLAGS", "JAX_PLATFORMS") if environment.get(name)]
    remedy = f"Unset or correct {' and '.join(suspects)}." if suspects else "Install jax and jaxlib anew."
    return [Finding(f"JAX cannot start its devices: {error.rstrip('.')}", remedy, broken=True)]


def gpu_present() -> bool:
    """Whether the system has the driver of an NVIDIA GPU loaded."""
    return Path("/proc/driver/nvidia/version").exists()


def gpu_findings(platforms: Iterable[str], present: bool, chosen: str) -> list[Finding]:
    """A finding for a GPU that JAX does not use, given the platforms of its devices and `JAX_PLATFORMS`."""
    if not present or set(platforms) != {"cpu"}:
        return []
    remedy = f"JAX_PLATFORMS={chosen!r} decides so." if chosen else 'pip install "jax[cuda13]" brings the GPU build.'
    return [Finding("this machine has an NVIDIA GPU, and JAX computes on the CPU", remedy)]
