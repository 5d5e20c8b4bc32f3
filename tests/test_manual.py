"""Pages of the manual, and its tools: manuals of several versions side by side, and pages as notebooks."""

import ast
import builtins
import importlib
import json
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[1] / "docs"


def test_manuals_of_several_versions_stand_side_by_side(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(DOCS)
    site = importlib.import_module("site_of_versions")
    html, folder = tmp_path / "html", tmp_path / "site"
    html.mkdir()
    folder.mkdir()
    (folder / "downloads").mkdir()  # something else
    for version in ("0.9.0", "0.10.0", "0.11.0rc1"):
        (html / "index.html").write_text(version)
        site.add(html, folder, version)
    (html / "index.html").write_text("corrected")
    site.add(html, folder, "0.9.0")
    assert json.loads((folder / "versions.json").read_text()) == ["0.11.0rc1", "0.10.0", "0.9.0"]
    assert "url=0.10.0/index.html" in (folder / "index.html").read_text()
    assert (folder / "0.9.0" / "index.html").read_text() == "corrected"
    assert (folder / "0.10.0" / "index.html").read_text() == "0.10.0"


def test_a_page_becomes_a_notebook(monkeypatch):
    pytest.importorskip("jupytext")
    monkeypatch.syspath_prepend(DOCS)
    notebook = importlib.import_module("notebooks").notebook
    page = """---
kernelspec:
  display_name: Python 3
  name: python3
---

# Title

```{figure} picture.png
:width: 3em

Caption.
```

{download}`Download the script <script.py>`

```{toctree}
other
```

```{warning}
By {eq}`one`.
```

```python
x = 1
```

After.
"""
    cells = notebook(page).cells
    assert [(cell.cell_type, cell.source) for cell in cells] == [
        ("markdown", "# Title\n\n\nCaption.\n\n\n\nBy (one)."),
        ("code", "x = 1"),
        ("markdown", "After."),
    ]
    table = "```{include} ../benchmarks/results/tables/free_laws.md\n```\n"
    assert notebook(f"{page}\n{table}").cells[-1].source.startswith("After.\n\n| law | here |")
    page = page.replace("```python\n", "```{code-cell} ipython3\n---\ntags: [hide-input]\n---\n")
    code = notebook(page + "\n```python\ny = 2\n```\n").cells[1:]
    assert code[0].source == "x = 1"
    assert code[0].metadata["tags"] == ["hide-input"]
    assert code[1].source == "After.\n\n```python\ny = 2\n```"  # of a page with cells only these are run
    with pytest.raises(ValueError, match=r"a notebook cannot show \{term\}`bulk`"):
        notebook(page + "\nThe {term}`bulk`.\n")


# Pages that are written by hand.
PAGES = [
    path
    for path in sorted(DOCS.rglob("*.md"))
    if not {"_build", "generated"} & set(path.parts)
    and not (path.parent.name == "gallery" and path.stem != "index")
    and not (path.parent.name == "laws" and (path.stem[0].isupper() or path.stem == "wigner_cat"))
]
# What is no cell of the page, so that the build does not run it.
BLOCK = re.compile(r"^```python\n((?:.*\n)*?)```\n", re.MULTILINE)
CODE = re.compile(r"^```(?:\{code-cell\} ipython3|python|sh|console)\n((?:.*\n)*?)```\n", re.MULTILINE)


def unbound(block):
    """Names that a piece of code uses and neither imports nor assigns."""
    tree = ast.parse(block)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    imported = {alias.asname or alias.name.split(".")[0] for alias in ast.walk(tree) if isinstance(alias, ast.alias)}
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    given = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    assigned = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return {node.id for node in names} - imported - defined - given - assigned - {*vars(builtins)}


of_each_page = pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(DOCS)))
of_pages_with_code = pytest.mark.parametrize(
    "path",
    [path for path in PAGES if path.stem != "design"],  # its outlines are no code
    ids=lambda path: str(path.relative_to(DOCS)),
)


@of_pages_with_code
def test_code_fits_into_its_box(path):
    lines = [line for block in CODE.findall(path.read_text()) for line in block.splitlines()]
    assert [line for line in lines if len(line) > 88 and "    caption: " not in line] == []


@of_pages_with_code
def test_blocks_of_code_run_when_pasted_alone(path):
    assert [name for block in BLOCK.findall(path.read_text()) for name in unbound(block)] == []


@of_each_page
def test_prose_begins_no_list(path):
    """In Markdown a line of a paragraph that begins with "1." is one."""
    text = CODE.sub("", path.read_text())
    assert re.findall(r"^[^\s|][^|\n]*\n1[.)] .*$", text, re.MULTILINE) == []
