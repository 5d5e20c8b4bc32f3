"""`make test` always runs both halves of the suite, and prints one verdict."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).resolve().parents[1] / "Makefile"

# A stand-in for pytest, which notes that it ran and with which types, and exits with the given status.
FAKE = """#!/bin/sh
echo "${RMTJAX_X64:-1}" >> ran
[ "${RMTJAX_X64:-1}" = 0 ] && exit $SECOND
exit $FIRST
"""


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        (0, 0, "make test: the suite and its float32 part passed"),
        (1, 0, "make test: failed: the suite"),
        (0, 2, "make test: failed: its float32 part"),
        (1, 2, "make test: failed: the suite and its float32 part"),
    ],
)
def test_both_halves_run_and_count(tmp_path, first, second, verdict):
    shutil.copy(MAKEFILE, tmp_path)
    (tmp_path / "fake").write_text(FAKE)
    (tmp_path / "fake").chmod(0o755)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / ".venv").mkdir()
    # The environment exists already, so that nothing is installed.
    for stamp in ("pyvenv.cfg", ".installed-test"):
        (tmp_path / ".venv" / stamp).touch()
    told = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "RMTJAX_X64"))}
    command = ["make", "test", "PYTEST=./fake", f"PYTHON={sys.executable}"]
    environment = told | {"FIRST": str(first), "SECOND": str(second)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (tmp_path / "ran").read_text().split() == ["1", "0"]
    assert (done.returncode == 0) == (first == second == 0)
    assert verdict in (done.stdout + done.stderr).splitlines()
