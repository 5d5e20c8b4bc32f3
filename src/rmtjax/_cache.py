"""JAX's persistent compilation cache, switched on by one line."""

import os
import stat
import sys
import tempfile
import warnings
from pathlib import Path

import jax
from jax.experimental.compilation_cache import compilation_cache

from rmtjax import _checks


def enable_compilation_cache(path: str | os.PathLike[str] | None = None) -> Path:
    """Keep compiled programs on disk, so that the next process finds them there.

    This switches on JAX's own persistent cache, with settings that store small programs too, for everything that JAX
    compiles in this process from now on. Every script has to call it for itself, at any time, best right after the
    imports.

    Several processes may share a folder. A process that reads an entry while another one writes it warns and compiles
    for itself. An entry that stays incomplete because its process was killed causes that warning in every later
    process; `python -m rmtjax.doctor` finds such entries. The folder only grows, and may be deleted at any time. Stored
    programs are run unchecked, so there is a warning if other users may write to the folder. An entry is found again
    only under the same path, version of jaxlib and kind of processor.

    Args:
        path: the folder, made if it does not exist. By default the folder that JAX already uses, for instance because
            of the environment variable `JAX_COMPILATION_CACHE_DIR`, or else `rmtjax` in the user's cache folder:
            `$XDG_CACHE_HOME` or `~/.cache` on Linux, `~/Library/Caches` on macOS, `%LOCALAPPDATA%` on Windows.

    Returns:
        The folder.

    Raises:
        ValueError: `path` is not a local folder in which this process may write.

    Example:
        >>> import rmtjax as rmt
        >>> folder = rmt.enable_compilation_cache()
        >>> folder.is_dir()
        True
    """
    told = jax.config.values["jax_compilation_cache_dir"]
    folder = _writable((told or user_folder()) if path is None else path)
    if is_open_to_others(folder):
        text = f"Other users may write to the compilation cache {folder}, and this process runs the programs in it."
        warnings.warn(f"{text} Choose another folder, or take the right from them by `chmod go-w`.", stacklevel=2)
    jax.config.update("jax_enable_compilation_cache", True)
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    # -1 stores programs of any size; 0 would leave the choice to JAX.
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    # JAX reads these settings once, when it first needs them; the reset makes it read them again.
    compilation_cache.reset_cache()
    return folder


def user_folder() -> Path:
    """This library's folder inside the user's cache folder."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "rmtjax"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "rmtjax"
    # The XDG Base Directory Specification asks to ignore a relative path.
    told = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (told if told.is_absolute() else Path.home() / ".cache") / "rmtjax"


def is_open_to_others(folder: Path) -> bool:
    """Whether others than the user and the system may write to a folder that exists, or have made it."""
    if not hasattr(os, "geteuid"):  # Windows keeps rights in another form.
        return False
    found = folder.stat()
    return found.st_uid not in (0, os.geteuid()) or bool(found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))


def _writable(path: str | os.PathLike[str]) -> Path:
    """The folder as an absolute path, made if necessary, after a test file has been written to it."""
    must = "be a local folder that can be written"
    if not isinstance(path, str | os.PathLike) or "://" in str(path) or not str(path):
        raise _checks.refusal("path", must, path)
    folder = Path(path).expanduser().absolute()
    try:
        # Only the user gets access: whoever can write here can make later processes run a program.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise _checks.refusal("path", must, str(path)) from error
