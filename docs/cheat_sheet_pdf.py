"""Sphinx extension: the cheat sheet on one page to print, from the tables of `cheat_sheet.md`."""

import re
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
TARGET = HERE / "cheat_sheet.pdf"
_ROW = re.compile(r"^\| (`.*`) \| (.*) \|$")
_CELL = re.compile(r"```{code-cell}[^\n]*\n(.*?)```", re.DOTALL)
# A line of text is this high, of a page that is 1 high.
_LINE = 0.0185
_HEADING = {"size": 9, "weight": "bold"}
_CODE = {"size": 7.2, "family": "monospace"}
_MEANING = {"size": 7.2, "color": "0.35"}


def _lines() -> list[tuple[float, float, str, dict[str, Any]]]:
    """Space above, indent, text and style of each line."""
    page = (HERE / "cheat_sheet.md").read_text()
    begin = _CELL.search(page)[1].split("\n")
    lines = [(0, 0, "Begin", _HEADING), *((1, 0, code, _CODE) for code in begin if code)]
    for line in page.splitlines():
        if line.startswith("## "):
            lines.append((1.6, 0, line.removeprefix("## "), _HEADING))
        elif row := _ROW.match(line):
            code, meaning = (cell.replace("`", "") for cell in row.groups())
            lines += [(1.05, 0, code, _CODE), (0.85, 0.012, meaning, _MEANING)]
    return lines


def write() -> None:
    """The sheet in two columns; a column begins with a heading."""
    figure = plt.figure(figsize=(11.69, 8.27))  # A4, in inches
    figure.text(0.03, 0.95, "rmtjax: cheat sheet", size=11, weight="bold")
    lines = _lines()
    x, y, half = 0.03, 0.92, sum(space for space, *_ in lines) / 2
    used = 0.0
    for space, indent, text, style in lines:
        used += space
        if style is _HEADING and used > 0.85 * half and x < 0.5:
            x, used = 0.515, 0.0
        if used * _LINE > 0.88:
            raise ValueError("The cheat sheet does not fit on a page any more.")
        figure.text(x + indent, y - used * _LINE, text, va="top", **style)
    figure.savefig(TARGET, format="pdf", metadata={"Title": "rmtjax: cheat sheet", "CreationDate": None})
    plt.close(figure)


def setup(app: Any) -> dict[str, bool]:
    """Write the sheet before anything is read."""
    app.connect("builder-inited", lambda app: write())
    return {"parallel_read_safe": True}
