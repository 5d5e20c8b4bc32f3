"""The doctor's statement about one thing that is not as it should be."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One problem and its remedy.

    Args:
        problem: what is wrong, in a sentence without its full stop.
        remedy: what to do about it.
        broken: whether something does not work; otherwise it works, and the remedy is advice.
    """

    problem: str
    remedy: str
    broken: bool = False

    def __str__(self) -> str:
        return f"{'BROKEN' if self.broken else 'advice'}: {self.problem}.\n        {self.remedy}"
