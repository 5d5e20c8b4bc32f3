"""A checkpoint: the state of a simulation in a file that is whole or refused.

The file begins with one line of text, `rmtjax checkpoint <format> sha256 <digest of the rest>`. The rest is a numpy
archive, read without pickle: a manifest in JSON and the arrays. A new file is written beside the old one, forced to the
disk, and renamed to the path; the old one is kept as `<path>.previous`. So the file at the path is whole whenever the
process or the machine stops, if the disk keeps what it was given.
"""

import contextlib
import hashlib
import io
import json
import os
import shutil
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from rmtjax import _checks

_FORMAT = 1
_TITLE = "rmtjax checkpoint"
_LONGEST_TITLE = 200
_LEFT = "Nothing was overwritten: remove it, or name another file."


class Saved(NamedTuple):
    """What a file holds.

    Args:
        draws: the number of draws in the states, and the index of the next one.
        facts: what the simulation is, name by name; see `_fingerprint`.
        leaves: the arrays of the states.
    """

    draws: int
    facts: dict[str, str]
    leaves: Sequence[np.ndarray]


class Damaged(ValueError):
    """A file was a checkpoint but is not whole any more."""


class Foreign(ValueError):
    """A file is not a checkpoint that this version reads."""


def packed(saved: Saved) -> bytes:
    """The content of a file."""
    dtypes = [leaf.dtype.name for leaf in saved.leaves]
    manifest = json.dumps({"draws": saved.draws, "facts": saved.facts, "dtypes": dtypes})
    # Arrays are stored as unsigned integers of the same size, because numpy's format does not know bfloat16.
    words = {f"leaf_{i}": np.array(leaf, order="C").view(_word(leaf.dtype)) for i, leaf in enumerate(saved.leaves)}
    archive = io.BytesIO()
    np.savez(archive, manifest=np.frombuffer(manifest.encode(), np.uint8), **words)  # pyright: ignore[reportArgumentType]
    body = archive.getvalue()
    return f"{_TITLE} {_FORMAT} sha256 {hashlib.sha256(body).hexdigest()}\n".encode() + body


def unpacked(content: bytes) -> Saved:
    """What the content of a file holds, if it is whole; otherwise it is `Damaged` or `Foreign`."""
    if not content:
        raise Damaged("it is empty")
    line, _, body = content.partition(b"\n")
    try:
        *title, number, algorithm, digest = line[:_LONGEST_TITLE].decode("ascii").split(" ")
    except ValueError:
        raise Foreign("it is no checkpoint of rmtjax") from None
    if " ".join(title) != _TITLE or algorithm != "sha256":
        raise Foreign("it is no checkpoint of rmtjax")
    if number != str(_FORMAT):
        raise Foreign(f"it has format {number}, and this version of rmtjax reads format {_FORMAT}")
    if hashlib.sha256(body).hexdigest() != digest:
        raise Damaged("its checksum is wrong")
    try:
        with np.load(io.BytesIO(body), allow_pickle=False) as archive:
            manifest = json.loads(archive["manifest"].tobytes())
            dtypes = manifest["dtypes"]
            leaves = [archive[f"leaf_{i}"].view(jnp.dtype(dtype)) for i, dtype in enumerate(dtypes)]
        return Saved(manifest["draws"], manifest["facts"], leaves)
    except (ValueError, TypeError, KeyError, zipfile.BadZipFile) as error:
        raise Damaged(f"its content is not that of a checkpoint ({error})") from error


def _word(dtype: np.dtype) -> np.dtype:
    size = dtype.itemsize
    return np.dtype(f"u{size}") if size in (1, 2, 4, 8) else dtype


class Store:
    """The files of a checkpoint."""

    def __init__(self, path: str | os.PathLike):
        self.path = Path(path).expanduser().absolute()  # The working directory may change later.
        self.previous = self.path.with_name(self.path.name + ".previous")
        self._new = self.path.with_name(self.path.name + ".new")
        self._link = self.path.with_name(self.path.name + ".link")
        self._is_whole = False  # whether the file at the path may take the place of the previous one

    def check(self) -> None:
        """Refuse a path where no file can be."""
        if self.path.is_dir():
            raise _checks.refusal("checkpoint", "be the path of a file, not of a folder", str(self.path))
        if not self.path.parent.is_dir():
            raise _checks.refusal("checkpoint", "be in a folder that exists", str(self.path))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep these files from other runs as long as the context lasts.

        The system drops the lock when the process ends, however it ends.

        Raises:
            RuntimeError: another run has locked them.
        """
        name = self.path.with_name(self.path.name + ".lock")
        while True:
            handle = os.open(name, os.O_CREAT | os.O_RDWR, 0o666)
            try:
                _lock(handle)
            except (BlockingIOError, PermissionError):
                os.close(handle)
                raise RuntimeError(f"Another run writes to the checkpoint {self.path}; only one may.") from None
            except OSError:  # The file system has no locks.
                os.close(handle)
                raise
            # A run that has just ended removes the file. The lock is then on a file without a name.
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), os.stat(name)):
                    break
            os.close(handle)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                os.unlink(name)
            os.close(handle)

    def load(self) -> Saved | None:
        """The state saved last, the one before if the file is damaged, or None if there is no file.

        Raises:
            ValueError: the file is not a checkpoint, or it is damaged and the one before is not whole either.
        """
        self._is_whole = False
        try:
            found = unpacked(self.path.read_bytes())
            self._is_whole = True
            return found
        except FileNotFoundError:
            return None
        except Foreign as error:
            raise ValueError(f"{self.path} cannot be used: {error}. {_LEFT}") from error
        except Damaged as error:
            damage = f"{self.path} cannot be used: {error}"
        try:
            found = unpacked(self.previous.read_bytes())
        except (OSError, Damaged, Foreign):
            raise ValueError(f"{damage}. {_LEFT}") from None
        text = f"{damage}. The run goes on from {self.previous}, saved after {found.draws} draws."
        warnings.warn(text, RuntimeWarning, stacklevel=4)
        return found

    def save(self, saved: Saved) -> None:
        """Write the state, so that a whole file exists at every moment; an `OSError` leaves the old state unchanged."""
        try:
            with open(self._new, "wb") as file:
                file.write(packed(saved))
                file.flush()
                os.fsync(file.fileno())
            if self._is_whole:
                self._keep()
            os.replace(self._new, self.path)
            self._is_whole = True
            _sync(self.path.parent)
        except OSError:
            with contextlib.suppress(OSError):
                self._new.unlink()
            raise

    def _keep(self) -> None:
        """Give the present file the name of the previous one as well, so that it stays until it is replaced."""
        with contextlib.suppress(FileNotFoundError):  # Somebody may have removed it.
            self._link.unlink(missing_ok=True)
            try:
                os.link(self.path, self._link)
            except FileNotFoundError:
                raise
            except OSError:  # The file system has no hard links.
                shutil.copyfile(self.path, self._link)
            os.replace(self._link, self.previous)


def _lock(handle: int) -> None:
    """Lock an open file for this process, or raise an error without waiting."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # pyright: ignore[reportAttributeAccessIssue]
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sync(folder: Path) -> None:
    """Force the names in a folder to the disk, where the system has such a call."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
