"""JAX's persistent compilation cache, switched on by one line."""

import os
import sys
import tempfile
from pathlib import Path

import jax
from jax.experimental.compilation_cache import compilation_cache

from rmtjax import _checks


def enable_compilation_cache(path: str | os.PathLike[str] | None = None) -> Path:
    """Keep compiled programs on disk, so that the next process finds them there.

    This is JAX's own persistent cache, which is off by default, with settings under which small programs are
    stored too. It holds for all that JAX compiles in this process from now on, and may be called at any time; the
    best place is right after the imports. The setting belongs to the process: every script calls it for itself.

    Several processes may share a folder. JAX writes an entry in place, so that one process may read what another
    has half written: it notices, warns, and compiles for itself. An entry that stays incomplete because its
    process was killed gives that warning in every later process; `python -m rmtjax.doctor`
    finds such entries. The
    folder only grows, and may be deleted at any time. Programs on disk are run as they are: share the folder only
    with people you trust. Entries are found again under the same path, version of jaxlib, and kind of processor.

    Args:
        path: the folder, made if it does not exist. None stands for the folder that JAX is set to already, for
            instance by the environment variable `JAX_COMPILATION_CACHE_DIR`, and where there is none for `rmtjax`
            in the user's cache folder: `$XDG_CACHE_HOME` or `~/.cache` on Linux, `~/Library/Caches` on macOS,
            `%LOCALAPPDATA%` on Windows.

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
    jax.config.update("jax_enable_compilation_cache", True)
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    # 0 would leave the choice to JAX.
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    # JAX reads the settings when it first needs them, and never again unless told to.
    compilation_cache.reset_cache()
    return folder


def user_folder() -> Path:
    """The folder of this library in the user's cache folder."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "rmtjax"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "rmtjax"
    # A relative path is to be ignored (XDG Base Directory Specification).
    told = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (told if told.is_absolute() else Path.home() / ".cache") / "rmtjax"


def _writable(path: str | os.PathLike[str]) -> Path:
    """An existing folder, as an absolute path, in which a file could be written just now."""
    must = "be a local folder that can be written"
    if not isinstance(path, str | os.PathLike) or "://" in str(path) or not str(path):
        raise _checks.refusal("path", must, path)
    folder = Path(path).expanduser().absolute()
    try:
        # For the user alone: who can write here can have programs run.
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise _checks.refusal("path", must, str(path)) from error
