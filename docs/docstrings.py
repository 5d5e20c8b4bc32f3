"""Sphinx extension: docstrings with Markdown math and backticks, turned into reStructuredText.

Docstrings are written for `help()`: formulas between dollar signs, code between backticks, and prose in which
|x| and X* mean what they say. reStructuredText takes those for references and emphasis, so they are escaped.
"""

import re

_BLOCK = re.compile(r"(\$\$.+?\$\$|^ *>>> .*?(?=^ *$|\Z))", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"(?P<code>``?[^`]+``?)|\$(?P<math>[^$]+)\$|(?P<special>[*|\\])")


def to_rst(text: str) -> str:
    """The docstring in reStructuredText, its doctests as they are."""
    done = ""
    # The odd pieces are displayed formulas, or doctests with their output up to the next blank line.
    for index, piece in enumerate(_BLOCK.split(text)):
        if index % 2 == 0:
            done += _SPAN.sub(_span, piece)
        elif piece.startswith("$$"):
            last_line = done.rpartition("\n")[2]
            margin = "" if last_line.strip() else last_line
            done += f"\n\n{margin}.. math:: {' '.join(piece[2:-2].split())}\n\n{margin}"
        else:
            done += piece
    return re.sub(r"^( *)(Convention|Notation):", r"\1**\2:**", done, flags=re.MULTILINE)


def _span(match: re.Match[str]) -> str:
    if match["code"]:
        return match["code"]
    return f":math:`{match['math']}`" if match["math"] else "\\" + match["special"]


def _convert(app, what, name, obj, options, lines: list[str]) -> None:
    lines[:] = to_rst("\n".join(lines)).split("\n")


def setup(app) -> dict[str, bool]:
    """Connect ahead of napoleon, whose priority is 500 and which turns the sections into fields."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", _convert, priority=400)
    return {"parallel_read_safe": True}
