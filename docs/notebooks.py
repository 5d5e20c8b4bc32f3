"""Sphinx extension: every page with code can be downloaded as a notebook.

The notebook holds the text of the page, and its code without results. Its links to other pages lead nowhere.
"""

import re
from pathlib import Path
from typing import Any

import jupytext

HERE = Path(__file__).resolve().parent
FOLDER = "_notebooks"
# A page includes a table of measurements, by its path from this folder.
INCLUDED = re.compile(r"^```{include} (.*)\n```\n", re.MULTILINE)
# A notebook has only the caption of a picture that is a file, and no other download.
FIGURE = re.compile(r"^```{figure} .*\n(?::.*\n)*((?:.*\n)*?)```\n", re.MULTILINE)
# Lists of pages lead nowhere, and a box is a paragraph.
LISTS = re.compile(r"^```{(?:toctree|eval-rst)}\n(?:.*\n)*?```\n", re.MULTILINE)
BOX = re.compile(r"^```{(?:note|warning|tip)}\n((?:.*\n)*?)```\n", re.MULTILINE)
EQUATION = re.compile(r"{eq}`(.*?)`")
UNKNOWN = re.compile(r"^```{(?!code-cell}).*|(?<!`){[a-z:]+}`.*?`", re.MULTILINE)
DOWNLOAD = re.compile(r"^.*{download}.*\n", re.MULTILINE)
LINK = '<p class="notebook"><a href="{href}" download>Download this page as a notebook</a></p>'


def notebook(text: str) -> Any:
    """The notebook of a page with code cells, or of a page of the gallery, whose code is a block."""
    if "{code-cell}" not in text:
        text = text.replace("```python\n", "```{code-cell} ipython3\n")
    text = INCLUDED.sub(lambda block: (HERE / block[1]).read_text(), text)
    for pattern, instead in ((FIGURE, r"\1"), (LISTS, ""), (BOX, r"\1"), (EQUATION, r"(\1)"), (DOWNLOAD, "")):
        text = pattern.sub(instead, text)
    if unknown := UNKNOWN.search(text):
        raise ValueError(f"a notebook cannot show {unknown[0]}")
    found = jupytext.reads(text, fmt="md:myst")
    found.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return found


def _has_cells(app: Any, docname: str) -> bool:
    text = Path(app.env.doc2path(docname)).read_text()
    return "```{code-cell}" in text or (docname.startswith("gallery/") and "```python\n" in text)


def _add_link(app: Any, docname: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    if docname in app.env.found_docs and _has_cells(app, docname):
        href = context["pathto"](f"{FOLDER}/{docname}.ipynb", resource=True)
        context["body"] = context["body"].replace("</h1>", "</h1>\n" + LINK.format(href=href), 1)


def _write(app: Any, exception: Exception | None) -> None:
    if exception or app.builder.format != "html":
        return
    for docname in sorted(app.env.found_docs):
        if _has_cells(app, docname):
            target = Path(app.outdir, FOLDER, f"{docname}.ipynb")
            target.parent.mkdir(parents=True, exist_ok=True)
            text = Path(app.env.doc2path(docname)).read_text()
            target.write_text(jupytext.writes(notebook(text), fmt="ipynb"))


def setup(app: Any) -> dict[str, bool]:
    """Links as pages are written, notebooks at the end."""
    app.connect("html-page-context", _add_link)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
