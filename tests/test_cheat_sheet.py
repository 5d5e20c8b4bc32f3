"""The lines of the cheat sheet, one after the other."""

import re
from pathlib import Path

import jax
import matplotlib.pyplot as plt

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cheat_sheet.md"


def test_every_line_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text()
    (cell,) = re.findall(r"^```{code-cell} ipython3\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    lines = [line for row in rows for line in re.findall(r"`([^`]+)`", row)]
    settings = [line for line in lines if "enable_compilation_cache" in line or "jax.config" in line]
    assert len(lines) > 40
    assert len(settings) == 2  # which belong to the whole process, and have their own tests
    names = {}
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        exec(cell, names)
        for line in lines:
            if line not in settings:
                eval(line, names)
    plt.close("all")
