"""Sphinx extension: a page for each script of examples/gallery, with its picture, and thumbnails for the index.

Before Sphinx reads the manual this file runs as a script of its own. It runs all scripts, which write
`gallery/<name>.png`, and writes `gallery/<name>.md` and a small picture next to it. In `gallery/index.md` a block

    ```{thumbnails}
    semicircle
    ```

names scripts in their order.
"""

import ast
import os
import re
import runpy
from pathlib import Path
from typing import Any

import workers

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE.parent / "examples" / "gallery"
PAGES = HERE / "gallery"
# In the index: names of scripts.
BLOCK = re.compile(r"^```{thumbnails}\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def title_caption_code(name: str) -> tuple[str, str, str]:
    """The first line of a script's docstring, its paragraph, and what follows."""
    text = (SCRIPTS / f"{name}.py").read_text()
    title, caption = (ast.get_docstring(ast.parse(text)) or "").split("\n\n")
    return title.removesuffix("."), " ".join(caption.split()), text.split('"""\n', 2)[1].lstrip()


def _write(name: str) -> None:
    import jax
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.image
    import matplotlib.pyplot as plt

    import rmtjax as rmt

    os.chdir(PAGES)
    rmt.enable_compilation_cache(workers.PROGRAMS / "gallery" / name)
    jax.config.update("jax_enable_x64", False)  # as for a user, whatever the script before has set
    with plt.rc_context():
        runpy.run_path(str(SCRIPTS / f"{name}.py"), run_name="__main__")
    plt.close("all")
    matplotlib.image.thumbnail(f"{name}.png", f"small_{name}.png", scale=0.4)
    title, caption, code = title_caption_code(name)
    text = f"""# {title}

```{{figure}} {name}.png
{caption}
```

{{download}}`Download the script <../../examples/gallery/{name}.py>`

```python
{code}```
"""
    workers.update(PAGES / f"{name}.md", text)


def write() -> None:
    """All pages, and none of scripts that are gone."""
    names = sorted(path.stem for path in SCRIPTS.glob("*.py"))
    for path in PAGES.iterdir():
        if path.name != "index.md" and path.stem.removeprefix("small_") not in names:
            path.unlink()
    workers.for_each(_write, names, "gallery")


def _run(app: Any) -> None:
    workers.run(__file__)


def _thumbnails(block: re.Match[str]) -> str:
    names = block[1].split()
    figures = [
        f"```{{figure}} small_{name}.png\n:target: {name}.html\n\n[{title_caption_code(name)[0]}]({name}.md)\n```\n"
        for name in names
    ]
    contents = ["```{toctree}", ":hidden:", "", *names, "```"]
    return "\n".join(["````{container} thumbnails", *figures, "````", "", *contents, ""])


def _add_thumbnails(app: Any, docname: str, source: list[str]) -> None:
    if docname == "gallery/index":
        source[0] = BLOCK.sub(_thumbnails, source[0])


def setup(app: Any) -> dict[str, bool]:
    """Make the pages before anything is read."""
    app.connect("builder-inited", _run)
    app.connect("source-read", _add_thumbnails)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    write()
