"""How extensions of the manual compute before it is read: a script of its own, with processes side by side."""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Collection
from pathlib import Path

from tqdm import tqdm

# Compiled programs, for the next build. JAX writes entries in place, so what runs side by side has folders of its own.
PROGRAMS = Path(__file__).resolve().parent / "_build" / "programs"


def run(script: str) -> None:
    """Run a file of this folder in a fresh interpreter. The processes that it starts share the cores."""
    subprocess.run([sys.executable, script], check=True, env={"OPENBLAS_NUM_THREADS": "1"} | os.environ)


def for_each(write: Callable[[str], None], names: Collection[str], title: str) -> None:
    """Call a function of a module for each name, in as many processes as there are cores, up to four.

    Most of the time goes into compilation, on one core. A terminal shows how many names are done.
    """
    with multiprocessing.get_context("spawn").Pool(min(4, os.cpu_count() or 1)) as pool:
        for _ in tqdm(pool.imap_unordered(write, names), title, len(names), disable=None):
            pass


def update(page: Path, text: str) -> None:
    """Write a page. One that has this text is left alone, so that Sphinx does not read it again."""
    if not page.exists() or page.read_text() != text:
        page.write_text(text)
