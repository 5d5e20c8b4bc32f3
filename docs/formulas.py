"""Sphinx extension: MathJax, which typesets the formulas, comes with the pages instead of from a server.

The package `sphinx-mathjax-offline` holds the files. It is not used as the extension that it is too, because that
copies 18 MB, and does not say that pages may be read side by side, which is a warning.
"""

import importlib.util
from pathlib import Path
from typing import Any

from sphinx.util.fileutil import copy_asset

_SCRIPT = "tex-chtml.js"
# The script, its fonts, rarer commands of TeX, and what speaks formulas.
_PARTS = (_SCRIPT, "output/chtml/fonts", "input/tex/extensions", "a11y", "sre")


def _copy(app: Any, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        spec = importlib.util.find_spec("sphinx-mathjax-offline")
        source, target = Path(spec.origin).parent / "static" / "mathjax", Path(app.outdir) / "_static" / "mathjax"
        for part in _PARTS:
            copy_asset(source / part, (target / part).parent if part == _SCRIPT else target / part)


def _set_path(app: Any, config: Any) -> None:
    config.mathjax_path = f"mathjax/{_SCRIPT}"


def setup(app: Any) -> dict[str, bool]:
    """Point to the files, and copy them when the pages are written."""
    app.setup_extension("sphinx.ext.mathjax")
    app.connect("config-inited", _set_path)
    app.connect("build-finished", _copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
