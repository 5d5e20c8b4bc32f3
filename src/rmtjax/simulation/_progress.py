"""A progress bar over draws, if wanted and possible."""

import contextlib
import importlib.util
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress_bar(total: int, show: bool | None) -> Iterator[Callable[[int], object]]:
    """A context manager that gives a function, to be called with the number of draws just finished.

    Args:
        total: number of draws.
        show: True or False; None shows the bar on a terminal, if tqdm is installed.

    Raises:
        ImportError: `show=True` without tqdm.
    """
    if show is None:
        show = sys.stderr.isatty() and importlib.util.find_spec("tqdm") is not None
    if not show:
        yield lambda draws: None
        return
    try:
        import tqdm
    except ImportError as error:
        raise ImportError("`progress=True` needs tqdm: pip install tqdm") from error
    with tqdm.tqdm(total=total, unit="draw") as bar:
        yield bar.update
