"""JAX's persistent compilation cache: whether it is on, and what its folder holds."""

import importlib.util
import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import jax

from rmtjax._cache import user_folder
from rmtjax.doctor._finding import Finding

_SWITCH_ON = "rmt.enable_compilation_cache()"
# A cache that leaves out programs with more seconds of compilation than this gets a finding.
_SMALL = 0.1


@dataclass(frozen=True)
class Store:
    """The state of the cache.

    Args:
        folder: the folder of the entries, which may not exist.
        enabled: whether this process uses the cache; a script may have switched it on for itself.
        entries: number of entries.
        size: bytes of all entries.
        incomplete: entries that some process did not finish writing.
        writable: whether this process may add entries.
        min_seconds: programs that compile faster than this are not stored.
        bounded: whether JAX is told to keep the folder below a certain size.
    """

    folder: Path
    enabled: bool = True
    entries: int = 0
    size: int = 0
    incomplete: tuple[Path, ...] = ()
    writable: bool = True
    min_seconds: float = 0.0
    bounded: bool = False

    def __str__(self) -> str:
        contents = f"{self.folder}: {self.entries} entries, {self.size / 2**20:.1f} MiB"
        if self.enabled:
            return contents
        return f"off in this process; {contents}" if self.entries else "off"


def store() -> Store:
    """The cache of this process, or the one that `enable_compilation_cache()` would use."""
    told = jax.config.values
    enabled = bool(told["jax_compilation_cache_dir"] and told["jax_enable_compilation_cache"])
    folder = Path(told["jax_compilation_cache_dir"] or user_folder())
    files = sorted(folder.glob("*-cache"))
    existing = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    return Store(
        folder,
        enabled,
        entries=len(files),
        size=sum(file.stat().st_size for file in files),
        incomplete=tuple(incomplete(files)),
        writable=existing.is_dir() and os.access(existing, os.W_OK | os.X_OK),
        min_seconds=told["jax_persistent_cache_min_compile_time_secs"],
        bounded=told["jax_compilation_cache_max_size"] != -1,
    )


def incomplete(files: Iterable[Path]) -> list[Path]:
    """The entries that are empty or whose zlib stream has no end; other compression formats are not examined."""
    return [file for file in files if not _is_complete(file.read_bytes())]


def _is_complete(entry: bytes) -> bool:
    if entry[:1] != b"\x78":  # the first byte of every zlib stream with a window of 32 KiB
        return bool(entry)
    stream = zlib.decompressobj()
    try:
        stream.decompress(entry)
    except zlib.error:
        return False
    return stream.eof


def store_findings(store: Store, has_filelock: bool | None = None) -> list[Finding]:
    """Findings about what keeps programs from being found on disk."""
    if not store.enabled and not store.entries:
        remedy = f"To keep them: {_SWITCH_ON} after the imports."
        return [Finding("the compilation cache is off, every new process compiles its programs anew", remedy)]
    findings = []
    if not store.writable:
        remedy = f"Make it writable, or choose another: {_SWITCH_ON[:-1]}path)."
        findings.append(Finding(f"the compilation cache {store.folder} cannot be written", remedy, broken=True))
    if store.incomplete:
        files = " ".join(map(str, store.incomplete))
        remedy = f"Each is compiled in every process, with a warning, until it is removed: rm {files}"
        findings.append(Finding(f"incomplete entries in the compilation cache: {len(store.incomplete)}", remedy))
    if store.enabled and store.min_seconds > _SMALL:
        problem = f"the compilation cache leaves out what compiles in less than {store.min_seconds:g} s"
        findings.append(Finding(problem, f"{_SWITCH_ON} stores small programs too."))
    if has_filelock is None:
        has_filelock = importlib.util.find_spec("filelock") is not None
    if store.bounded and not has_filelock:
        remedy = "pip install filelock, or leave JAX_COMPILATION_CACHE_MAX_SIZE unset."
        findings.append(Finding("a compilation cache of bounded size needs the package filelock", remedy, broken=True))
    return findings
