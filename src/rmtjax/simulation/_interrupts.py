"""Signals that end a run: noted when they come, and obeyed when the state is complete."""

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any


class Interrupted(UserWarning):
    """The warning that a signal ended a run, whose result is then the result of the draws so far.

    Example:
        Stop a script at Ctrl-C instead of going on with the partial result:

        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", Interrupted)
    """


class Interrupts:
    """The first signal that has come to this process, if any, and the one of which other processes tell."""

    signal: int | None = None
    told: int | None = None

    def note(self, number: int, frame: FrameType | None) -> None:
        """Remember the first signal; a second Ctrl-C ends the run at once."""
        if self.signal is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = number
        if number == signal.SIGINT:
            print("Stopping as soon as possible; Ctrl-C again stops at once.", file=sys.stderr, flush=True)


@contextlib.contextmanager
def noted_interrupts(*, termination: bool) -> Iterator[Interrupts]:
    """Note Ctrl-C, and SIGTERM if `termination` is True, until the context ends, when SIGTERM is sent again.

    Python delivers signals to the main thread only, so other threads note none. A user's own handler stays in place.
    """
    interrupts = Interrupts()
    usual: dict[int, Any] = {signal.SIGINT: signal.default_int_handler}
    if termination and signal.getsignal(signal.SIGTERM) != signal.SIG_IGN:
        usual[signal.SIGTERM] = signal.getsignal(signal.SIGTERM)
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: handler for number, handler in usual.items() if signal.getsignal(number) == handler}
    for number in before:
        signal.signal(number, interrupts.note)
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if signal.SIGTERM in (interrupts.signal, interrupts.told):
            signal.raise_signal(signal.SIGTERM)
