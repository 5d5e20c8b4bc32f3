"""A checkpoint: the state of a simulation in a file that is whole or refused.

The file has three parts: a title of one line, `rmtjax checkpoint <format> <bytes of the manifest> <its SHA-256>`; the
manifest in JSON; and the bytes of the arrays, one after the other. Each part says how long the next one is and what its
digest is, so a part is read only after all that is known of it has been checked. A new file is written beside the old
one, forced to the disk, and renamed to the path; the old one is kept as `<path>.previous`. So the file at the path is
whole whenever the process or the machine stops, if the disk keeps what it was given.
"""

import contextlib
import hashlib
import io
import itertools
import json
import math
import os
import re
import shutil
import stat
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import jax.numpy as jnp
import numpy as np

from rmtjax import _checks

_FORMAT = 2
_TITLE = b"rmtjax checkpoint "
_LINE = re.compile(_TITLE + b"%d ([0-9]{1,8}) ([0-9a-f]{64})\n" % _FORMAT)
_LONGEST_TITLE = 200
# Limits of a manifest, and the longest end of the name of a file beside the checkpoint.
_MOST_DRAWS, _MOST_ENTRIES, _MOST_AXES, _LONGEST_SUFFIX = 2**31, 2**48, 64, ".previous"
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_LEFT = "Nothing was overwritten: remove it, or name another file."


# The dtypes and shapes of arrays.
Leaves = Sequence[tuple[np.dtype, tuple[int, ...]]]


class Manifest(NamedTuple):
    """What a file holds, as far as it can be said before the arrays are read.

    Args:
        draws: the number of draws in the states, and the index of the next one.
        batch: the number of draws that a device took at a time.
        facts: what the simulation is, name by name; see `_fingerprint`.
        leaves: dtypes and shapes of the arrays of the states.
        digest: the SHA-256 of their bytes.
    """

    draws: int
    batch: int
    facts: dict[str, str]
    leaves: Leaves
    digest: str

    @property
    def sizes(self) -> list[int]:
        """The number of bytes of each array."""
        return [dtype.itemsize * math.prod(shape) for dtype, shape in self.leaves]


class Saved(NamedTuple):
    """The content of a file; the names are those of the `Manifest`, and `leaves` are the arrays themselves."""

    draws: int
    batch: int
    facts: dict[str, str]
    leaves: Sequence[np.ndarray]


class Damaged(ValueError):
    """A file was a checkpoint but is not whole any more."""


class Foreign(ValueError):
    """A file is not a checkpoint that this version reads."""


Fits = Callable[[Manifest], None]


def packed(saved: Saved) -> bytes:
    """The content of a file."""
    arrays = [np.asarray(leaf) for leaf in saved.leaves]
    arrays = [array.astype(array.dtype.newbyteorder("="), copy=False) for array in arrays]
    body = b"".join(array.tobytes() for array in arrays)
    leaves = [(array.dtype.name, array.shape) for array in arrays]
    manifest = json.dumps([saved.draws, saved.batch, saved.facts, leaves, _digest(body)]).encode()
    return _TITLE + f"{_FORMAT} {len(manifest)} {_digest(manifest)}\n".encode() + manifest + body


def unpacked(content: bytes) -> Saved:
    """What the content of a file holds."""
    return read(io.BytesIO(content), len(content))


def read(file: BinaryIO, size: int, fits: Fits = lambda _: None) -> Saved:
    """What a file of this size holds.

    Args:
        file: the file, from its start on.
        size: the number of its bytes.
        fits: raises an error if the run does not go on from such a file; it is asked before the arrays are read.

    Raises:
        Damaged: the file is not whole.
        Foreign: it is not a checkpoint of this format.
    """
    line = file.readline(_LONGEST_TITLE)
    title = _LINE.fullmatch(line)
    if title is None:
        raise _without_title(line)
    length, digest = int(title[1]), title[2].decode()
    text = file.read(length)
    if _digest(text) != digest:
        raise Damaged("its manifest has a wrong checksum")
    found = _manifest(text)
    if size != len(line) + length + sum(found.sizes):
        raise Damaged(f"it has {size} bytes instead of {len(line) + length + sum(found.sizes)}")
    fits(found)
    body = file.read(sum(found.sizes))
    if _digest(body) != found.digest:
        raise Damaged("its arrays have a wrong checksum")
    places = zip(found.leaves, itertools.accumulate(found.sizes, initial=0), strict=False)
    try:
        leaves = [np.ndarray(shape, dtype, body, start) for (dtype, shape), start in places]
    except ValueError:
        raise Damaged("its arrays have no shapes") from None
    return Saved(found.draws, found.batch, found.facts, leaves)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _without_title(line: bytes) -> ValueError:
    """The error for a file that does not begin with a title."""
    other = re.match(_TITLE + b"([0-9]{1,9}) ", line)
    if other and other[1] != b"%d" % _FORMAT:
        return Foreign(f"it has format {other[1].decode()}, and this version of rmtjax reads format {_FORMAT}")
    # A disk that fails leaves other bytes in some places, or zeros in all.
    right = sum(one == other for one, other in zip(line, _TITLE, strict=False))
    if not line.strip(b"\0") or 2 * right >= len(_TITLE):
        return Damaged("its title is damaged" if line else "it is empty")
    return Foreign("it is no checkpoint of rmtjax")


def _manifest(text: bytes) -> Manifest:
    """The manifest, if all in it is of the right kind."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise Damaged("its manifest is no JSON") from None
    if not (isinstance(found, list) and len(found) == len(Manifest._fields)):
        raise Damaged("its manifest has other entries")
    draws, batch, facts, leaves, digest = found
    if not (_is_count(draws, _MOST_DRAWS) and _is_count(batch, _MOST_DRAWS) and batch > 0):
        raise Damaged("its numbers of draws are no counts")
    if not (isinstance(facts, dict) and all(isinstance(fact, str) for fact in facts.values())):
        raise Damaged("its facts are no text")
    if not (isinstance(leaves, list) and all(isinstance(leaf, list) and len(leaf) == 2 for leaf in leaves)):
        raise Damaged("its arrays have no dtypes and shapes")
    return Manifest(draws, batch, facts, [(_dtype(dtype), _shape(shape)) for dtype, shape in leaves], str(digest))


def _is_count(value: Any, most: int) -> bool:
    return type(value) is int and 0 <= value < most


def _shape(found: Any) -> tuple[int, ...]:
    if not (isinstance(found, list) and len(found) <= _MOST_AXES and all(_is_count(n, _MOST_ENTRIES) for n in found)):
        raise Damaged("its arrays have no shapes")
    return tuple(found)


def _dtype(name: Any) -> np.dtype:
    """The dtype of plain numbers with this name, which NumPy may know from JAX only."""
    try:
        dtype = jnp.dtype(name) if isinstance(name, str) and re.fullmatch("[a-z0-9_]+", name) else None
    except TypeError:
        dtype = None
    if dtype is None or dtype.name != name or dtype.hasobject or dtype.fields is not None:
        raise Damaged("its arrays have unknown dtypes")
    return dtype


class Store:
    """The files of a checkpoint; a link to a file stands for the file."""

    def __init__(self, path: str | os.PathLike):
        must = "be the path of a file, or of a link to one"
        try:
            self.path = Path(path).expanduser().resolve()  # The working directory may change later.
            leads_nowhere = self.path.is_symlink()  # to itself
        except (OSError, RuntimeError, TypeError, ValueError):
            raise _checks.refusal("checkpoint", must, path) from None
        if leads_nowhere:
            raise _checks.refusal("checkpoint", must, path)
        self.previous = self._beside(".previous")
        self._new, self._link = self._beside(".new"), self._beside(".link")
        self._is_whole = False  # whether the file at the path may take the place of the previous one

    def _beside(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name + suffix)

    def check(self) -> None:
        """Refuse a path where no file can be."""
        if not self.path.parent.is_dir():
            raise _checks.refusal("checkpoint", "be in a folder that exists", str(self.path))
        longest = os.pathconf(self.path.parent, "PC_NAME_MAX") if hasattr(os, "pathconf") else 255
        longest -= len(_LONGEST_SUFFIX)
        if len(os.fsencode(self.path.name)) > longest:
            raise _checks.refusal("checkpoint", f"have a name of at most {longest} bytes", self.path.name)
        if self.path.is_dir():
            raise _checks.refusal("checkpoint", "be the path of a file, not of a folder", str(self.path))
        if self.path.exists() and not self.path.is_file():
            raise _checks.refusal("checkpoint", "be a file, not a device or a pipe", str(self.path))

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep these files from other runs as long as the context lasts.

        The system drops the lock when the process ends, however it ends.

        Raises:
            RuntimeError: another run has locked them.
        """
        name = self._beside(".lock")
        while True:
            if name.is_symlink():  # Another file would be locked.
                name.unlink()
            handle = os.open(name, os.O_CREAT | os.O_RDWR | _NO_LINK, 0o666)
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

    def load(self, fits: Fits = lambda _: None) -> Saved | None:
        """The state saved last, the one before if the file is damaged, or None if there is no file.

        Raises:
            ValueError: the file is not a checkpoint, it is damaged and the one before is not whole either, or the run
                does not go on from it, as `fits` says.
        """
        self._is_whole = False
        try:
            found = _from(self.path, fits)
            self._is_whole = True
            return found
        except FileNotFoundError:
            return None
        except (OSError, Foreign) as error:  # A file that cannot be read now may be whole.
            raise ValueError(f"`checkpoint` {self.path} cannot be used: {error}. {_LEFT}") from error
        except Damaged as error:
            damage = f"`checkpoint` {self.path} cannot be used: {error}"
        try:
            found = _from(self.previous, fits)
        except (OSError, ValueError):
            raise ValueError(f"{damage}. {_LEFT}") from None
        text = f"{damage}. The run goes on from {self.previous}, saved after {found.draws} draws."
        warnings.warn(text, RuntimeWarning, stacklevel=4)
        return found

    def save(self, saved: Saved) -> None:
        """Write the state, so that a whole file exists at every moment; an `OSError` leaves the old state unchanged."""
        try:
            self._new.unlink(missing_ok=True)
            with open(self._new, "xb", opener=self._with_mode) as file:  # never a file to which a link leads
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

    def _with_mode(self, path: str, flags: int) -> int:
        """Open a new file that those may read and write who may read and write the old one."""
        try:
            mode = stat.S_IMODE(self.path.stat().st_mode)
        except FileNotFoundError:
            return os.open(path, flags, 0o666)
        handle = os.open(path, flags, mode & 0o600)
        with contextlib.suppress(PermissionError):  # The file system has modes of its own.
            os.chmod(path, mode)
        return handle

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
            self._link.unlink(missing_ok=True)  # It stays where both names are of one file.


def _from(path: Path, fits: Fits) -> Saved:
    """The content of a file, which is opened only if it is one."""
    without_waiting = lambda path, flags: os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    with open(path, "rb", opener=without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise Foreign("it is a device or a pipe")
        return read(file, status.st_size, fits)


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
