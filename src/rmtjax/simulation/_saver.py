"""When a run is saved, and what happens if that fails."""

import contextlib
import functools
import math
import re
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import timedelta

import jax
from jaxtyping import PyTree

from rmtjax import _checks
from rmtjax.simulation._checkpoint import Damaged, Leaves, Manifest, Saved, Store, packed, unpacked
from rmtjax.simulation._fingerprint import difference
from rmtjax.simulation._processes import Processes

_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_INTERVAL = re.compile(r"([0-9.]+) *(s|min|h)")


class Interval:
    """A number of draws or a time, such as 100000, "30s", "5min", "1h" or a `timedelta`."""

    def __init__(self, every: int | str | timedelta):
        self.draws, self.seconds = math.inf, math.inf
        try:
            if isinstance(every, str):
                number, unit = _INTERVAL.fullmatch(every.strip()).groups()  # pyright: ignore[reportOptionalMemberAccess]
                self.seconds = float(number) * _UNITS[unit]
            elif isinstance(every, timedelta):
                self.seconds = every.total_seconds()
            else:
                self.draws = _checks.integer("every", every, at_least=1)
        except (AttributeError, ValueError):
            self.seconds = -1
        if min(self.draws, self.seconds) <= 0:
            must = 'be a number of draws of at least 1, or a time such as "30s", "5min" or "1h"'
            raise _checks.refusal("every", must, every)


class Saver:
    """Keeps the states of a run in a file, or nowhere if there is no store.

    The first process reads and writes, and tells the others the outcome.

    Args:
        facts: the facts of the simulation.
        are_states: whether arrays of given dtypes and shapes may be states of its reducers after so many draws.
        num_samples: the number of draws that it will have.
        batch: draws of a device at a time, where there are enough of them.
        strict: whether a failure to write is an error.
    """

    def __init__(
        self,
        store: Store | None,
        facts: dict[str, str],
        are_states: Callable[[int, Leaves], bool],
        num_samples: int,
        batch: int,
        every: Interval,
        strict: bool,
        processes: Processes,
    ):
        self._store, self._facts, self._are_states, self._num_samples = store, facts, are_states, num_samples
        self.batch, self._every, self._strict, self._processes = batch, every, strict, processes
        self._saved, self._time = 0, time.monotonic()

    @contextlib.contextmanager
    def opened(self) -> Iterator[Saved | None]:
        """The state that was saved, if any; no other run writes to the file as long as the context lasts.

        Raises:
            RuntimeError: another run writes to the file.
            ValueError: the file is damaged or belongs to another simulation.
        """
        if self._store is None:
            yield None
            return
        with contextlib.ExitStack() as stack:
            content = self._processes.from_first(functools.partial(self._read, self._store, stack))
            saved = unpacked(content) if content else None
            self._saved = saved.draws if saved else 0
            yield saved

    def _read(self, store: Store, stack: contextlib.ExitStack) -> bytes:
        store.check()
        unlocked = None
        try:
            stack.enter_context(store.locked())
        except OSError as error:
            unlocked = error
        saved = store.load(functools.partial(self._check, store))
        self._saved = saved.draws if saved else 0
        if unlocked is not None:
            self._failed(store, unlocked)
        return b"" if saved is None else packed(saved)

    def _check(self, store: Store, found: Manifest) -> None:
        """Refuse a file from which this simulation does not go on."""
        if different := difference(found.facts, self._facts):
            raise ValueError(
                f"`checkpoint` must be of this simulation, got {store.path}, which differs in {different}. "
                "Nothing was overwritten."
            )
        if found.draws > self._num_samples:
            must = f"be at least the {found.draws} draws of the checkpoint"
            raise _checks.refusal("num_samples", must, self._num_samples)
        if not self._are_states(found.draws, found.leaves):
            raise Damaged("its arrays are no states of `reduce` after so many draws")

    def next_save(self, start: int) -> float:
        """The number of draws after which the next state is due, infinite if the interval is a time."""
        return math.inf if self._store is None else (start // self._every.draws + 1) * self._every.draws

    def is_due(self, draws: int) -> bool:
        """Whether an interval has passed."""
        if self._store is None:
            return False
        return draws % self._every.draws == 0 or time.monotonic() - self._time >= self._every.seconds

    def save(self, draws: int, states: PyTree) -> None:
        """Write the states of the first draws, if there are new ones."""
        self._time = time.monotonic()
        if self._store is None or draws == self._saved:
            return
        saved = Saved(draws, self.batch, self._facts, jax.tree.leaves(states))
        self._processes.from_first(functools.partial(self._write, self._store, saved))

    def _write(self, store: Store, saved: Saved) -> bytes:
        try:
            store.save(saved)
            self._saved = saved.draws
        except OSError as error:
            self._failed(store, error)
        return b""

    def _failed(self, store: Store, error: OSError) -> None:
        text = f"The checkpoint {store.path} cannot be written: {error}; {self._saved} draws are saved."
        if self._strict:
            raise OSError(error.errno, text) from error
        warnings.warn(f"{text} The run goes on in memory.", RuntimeWarning, stacklevel=2)
