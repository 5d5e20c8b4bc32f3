"""A run, chunk by chunk: how long the chunks are, and what happens between them."""

import math
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
from jaxtyping import PyTree

from rmtjax.simulation._chunk import Chunks, Plan
from rmtjax.simulation._devices import is_ready
from rmtjax.simulation._goal import Goal
from rmtjax.simulation._interrupts import Interrupts
from rmtjax.simulation._processes import Processes
from rmtjax.simulation._progress import Advance
from rmtjax.simulation._saver import Saver

# Seconds of work between two visits of the host. Several processes wait for one another at each visit.
_SECONDS = 0.5
_SECONDS_OF_SEVERAL = 5.0
_FASTEST_GROWTH = 4
# Seconds between two looks at whether a chunk is ready; Ctrl-C is noticed that soon.
_SHORTEST_PAUSE, _LONGEST_PAUSE = 1e-5, 0.02
# A batch that did not fit into memory is divided by this number.
_LESS = 4


class Surroundings(NamedTuple):
    """The other parts that a run works with."""

    processes: Processes
    interrupts: Interrupts
    saver: Saver
    goal: Goal
    advance: Advance


class AbstractRun(ABC):
    """A run that takes in chunk after chunk; `done` is the number of draws so far, in all processes together."""

    # Whether a chunk is one batch of each device, because its output grows with the number of its draws.
    one_batch: bool

    def __init__(self, num_samples: int, done: int, surroundings: Surroundings):
        self.num_samples, self.done, self.surroundings = num_samples, done, surroundings
        self.interrupted = False  # by a signal to this process or to another

    @abstractmethod
    def _take(self, chunk: PyTree) -> None:
        """Take in the output of the devices for the next draws."""

    @abstractmethod
    def _combine(self) -> list[PyTree]:
        """The states of all draws so far, the same in all processes; an empty list if there is nothing to save."""

    @abstractmethod
    def result(self) -> Any:
        """The result of the draws so far."""

    @abstractmethod
    def standard_error(self) -> float | None:
        """The largest standard error of the result so far, as far as this process knows; None if it has none."""

    def go_on(self, chunks: Chunks, plan: Plan, longest: int) -> None:
        """Draw until something ends the run; no chunk has more draws than `longest`."""
        seconds = _SECONDS_OF_SEVERAL if self.surroundings.processes.several else _SECONDS
        pace = _Pace(plan.step, plan.step if self.one_batch else longest, seconds)
        for stop, chunk in _one_behind(self._launched(chunks, pace)):
            if not self._is_there(chunk):
                self.surroundings.saver.save(self.done, self._combine())
                return
            self._take(chunk)
            number, self.done = stop - self.done, stop
            self.surroundings.advance(number, self.standard_error)
            if self._visit(pace, number):
                return

    def _launched(self, chunks: Chunks, pace: "_Pace") -> Iterator[tuple[int, PyTree]]:
        start = self.done
        while start < self.num_samples:
            visit = min(self.surroundings.goal.next_look(start), self.surroundings.saver.next_save(start))
            stop = int(min(start + pace.draws, visit, self.num_samples))
            yield stop, chunks(start, stop)
            start = stop

    def _visit(self, pace: "_Pace", number: int) -> bool:
        """Save and look at the result if that is due, and return whether the run ends; processes decide together."""
        processes, interrupts, saver, goal, _ = self.surroundings
        answers = processes.numbers([interrupts.signal or 0, saver.is_due(self.done), pace.milliseconds()])
        if signal := max(answer[0] for answer in answers):
            # A process that is terminated takes the others with it, because JAX would end them soon.
            interrupts.told, self.interrupted = signal, True
        _, due, milliseconds = answers[0]
        pace.learn(number, milliseconds)
        finished, look = self.done == self.num_samples, goal.is_look(self.done)
        if not (self.interrupted or due or finished or look):
            return False
        states = self._combine()
        # A condition may look at a clock, so only the first process evaluates it.
        reached = look and processes.from_first(lambda: b"1" if goal.is_reached(self.result()) else b"") == b"1"
        ends = self.interrupted or finished or reached
        if due and not ends:
            # A state without a result, such as a histogram with NaN, must not replace a good one.
            self.result()
        if due or ends:
            saver.save(self.done, states)
        return ends

    def _is_there(self, chunk: PyTree) -> bool:
        """Wait for the devices, and return False if a signal ends the run first; several processes always wait."""
        start = time.monotonic()
        while not is_ready(chunk):
            if self.surroundings.interrupts.signal is not None and not self.surroundings.processes.several:
                if self.done == 0:
                    raise KeyboardInterrupt
                self.interrupted = True
                return False
            # This notices the chunk too late by at most a hundredth of its time.
            time.sleep(min(max(_SHORTEST_PAUSE, (time.monotonic() - start) / 100), _LONGEST_PAUSE))
        return True


class _Pace:
    """The number of draws between two visits of the host, from the time that the last draws took."""

    def __init__(self, step: int, longest: int, seconds: float):
        self.draws = step
        self._step, self._most_steps, self._seconds = step, max(1, longest // step), seconds
        self._before = time.monotonic()

    def milliseconds(self) -> int:
        """The time since this was last asked."""
        before, self._before = self._before, time.monotonic()
        return math.ceil(1e3 * (self._before - before))

    def learn(self, draws: int, milliseconds: int) -> None:
        """Adapt to the time that these draws took, by the clock of the first process."""
        wanted = min(draws * 1e3 * self._seconds / max(milliseconds, 1), _FASTEST_GROWTH * self.draws)
        self.draws = self._step * min(max(1, round(wanted / self._step)), self._most_steps)


def _one_behind(chunks: Iterator[Any]) -> Iterator[Any]:
    """Each chunk after the next one is on the devices, so that they never wait."""
    pending = next(chunks, None)
    for chunk in chunks:
        yield pending
        pending = chunk
    if pending is not None:
        yield pending


def go_on(run: AbstractRun, chunks: Callable[[Plan], Chunks], plan: Plan, longest: int) -> None:
    """Fill the run; if the memory of a device does not suffice, go on with a smaller batch."""
    try:
        run.go_on(chunks(plan), plan, longest)
        return
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error) or plan.batch == 1 or run.surroundings.processes.several:
            raise
    # Outside of the handler nothing refers any more to the arrays that did not fit.
    smaller = plan._replace(batch=max(1, plan.batch // _LESS))
    text = f"Batches of {plan.batch} draws do not fit into memory; the run goes on with batches of {smaller.batch}."
    warnings.warn(text, RuntimeWarning, stacklevel=3)
    run.surroundings.saver.batch = smaller.batch
    run.go_on(chunks(smaller), smaller, longest)
