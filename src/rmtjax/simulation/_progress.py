"""How far a run is: a bar on a terminal, and lines elsewhere."""

import contextlib
import importlib.util
import math
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta

# Called with the number of draws just finished, and with a function that returns the standard error of the result so
# far, or None.
Advance = Callable[[int, Callable[[], float | None]], object]

# Seconds between two looks at the standard error, and between two lines.
_SECONDS_OF_BAR = 2.0
_SECONDS_OF_LINES = 10.0


@contextlib.contextmanager
def shown_progress(total: int, initial: int, show: bool | None) -> Iterator[Advance]:
    """A context with a function that shows the progress.

    Args:
        total: number of draws.
        initial: how many of them are done before the run begins.
        show: True or False; None shows a bar on a terminal, if tqdm is installed.

    Raises:
        ImportError: `show=True` on a terminal or in a notebook without tqdm.
    """
    terminal = _is_terminal()
    if show is None:
        show = terminal and importlib.util.find_spec("tqdm") is not None
    if not show:
        yield lambda draws, error: None
        return
    # A notebook draws its bar itself.
    if not (terminal or "ipykernel" in sys.modules):
        lines = _Lines(total, initial)
        yield lines
        lines.tell()  # A run may end before its last draw.
        return
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError("`progress=True` needs tqdm: pip install tqdm") from error
    with tqdm(total=total, initial=initial, unit="draw", unit_scale=True) as bar:
        due = _Due(_SECONDS_OF_BAR)

        def advance(draws: int, error: Callable[[], float | None]) -> None:
            if due.now():
                bar.set_postfix_str(_shown(error(), ""), refresh=False)
            bar.update(draws)

        yield advance


def _is_terminal() -> bool:
    return sys.stderr.isatty()


def _shown(error: float | None, before: str) -> str:
    """The standard error in words; nothing if it is not known."""
    return f"{before}standard error {error:.2g}" if error is not None and math.isfinite(error) else ""


class _Due:
    """A clock that says once in an interval that it has passed."""

    def __init__(self, seconds: float):
        self._seconds, self._last = seconds, time.monotonic()

    def now(self) -> bool:
        """Whether an interval has passed since this was last true."""
        now = time.monotonic()
        if now - self._last < self._seconds:
            return False
        self._last = now
        return True


class _Lines:
    """A line at intervals, and one at the end."""

    def __init__(self, total: int, initial: int):
        self._total, self._done, self._told = total, initial, initial
        self._due = _Due(_SECONDS_OF_LINES)
        # Times and numbers of draws at the start and after the first draws, which have waited for the compiler.
        self._marks = [(time.monotonic(), initial)]

    def __call__(self, draws: int, error: Callable[[], float | None]) -> None:
        self._done += draws
        if len(self._marks) == 1:
            self._marks.append((time.monotonic(), self._done))
        if self._due.now() or self._done == self._total:
            self.tell(error)

    def tell(self, error: Callable[[], float | None] = lambda: None) -> None:
        """Print a line, unless there is nothing new to tell."""
        if self._told == self._done:
            return
        start, before = next(mark for mark in reversed(self._marks) if mark[1] < self._done)
        rate = (self._done - before) / max(time.monotonic() - start, 1e-9)
        left = timedelta(seconds=round((self._total - self._done) / rate))
        accuracy = _shown(error(), ", ")
        self._told = self._done
        text = f"{self._done:,} of {self._total:,} draws ({self._done / self._total:.1%}), {rate:,.4g} draws/s"
        print(f"{text}, {left} left{accuracy}", file=sys.stderr, flush=True)
