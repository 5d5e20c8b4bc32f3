"""Sphinx extension: a page for each law, with its picture and its recorded accuracy, in docs/laws.

Before Sphinx reads the manual this file runs as a script of its own. It writes `laws/<Name>.md` and `laws/<Name>.png`
for every law of `tests/instances.py`, from records of curves and of errors. The pages of the rooms, such as
`laws/spectra.md`, are written by hand; their tables are added here, so that they name no file that a plain checkout
lacks.
"""

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # for the table of laws and their golden values

import workers  # noqa: E402

import rmtjax as rmt  # noqa: E402
from tests.instances import LAWS, Law  # noqa: E402

PAGES_FOLDER = HERE / "laws"


# In the order of the margin.
HEADINGS = ("spectra", "finite_n", "extremes", "spacings", "eigenvectors", "plane", "free", "composed")


def rooms() -> dict[str, dict[str, Law]]:
    """The laws of the table by the page of the manual under which they stand: that of their room in the package."""
    grouped = {room: {} for room in HEADINGS}
    for name, law in LAWS.items():
        room = getattr(rmt.laws, name).__module__.split(".")[2].lstrip("_")
        # Every spectral law can be moved, so its image stands beside the base.
        grouped["composed" if room == "core" else room][name] = law
    return grouped


def write() -> None:
    """All pages."""
    for path in PAGES_FOLDER.glob("[A-Z]*.*"):
        if path.stem not in LAWS:  # a law that has another name by now
            path.unlink()
    workers.for_each(_write, LAWS, "laws")


def _write(name: str) -> None:
    import law_pictures

    page = LAWS[name]
    law_pictures.draw(law_pictures.recorded()[name], page.quantity, PAGES_FOLDER / f"{name}.png")
    workers.update(PAGES_FOLDER / f"{name}.md", _text(name, page))


def _text(name: str, page: Law) -> str:
    import inspect

    directive = "autoclass" if inspect.isclass(getattr(rmt.laws, name)) else "autofunction"
    caption = f"Histogram: {page.caption or f'draws of `{page.curves[0]}`'}."
    return f"""# {page.title}

```{{eval-rst}}
.. {directive}:: rmtjax.laws.{name}
```

```{{figure}} {name}.png
{caption}
```

## Accuracy

{_accuracy(name)}
{_methods(name)}"""


def _methods(name: str) -> str:
    """The public methods, inherited ones too, each with its docstring, in the order in which their bases write them."""
    import inspect

    law = getattr(rmt.laws, name)
    if not inspect.isclass(law):
        return ""
    bases = [cls for cls in reversed(law.__mro__) if cls.__module__.startswith("rmtjax.")]
    public = dict.fromkeys(
        method for cls in bases for method, value in vars(cls).items() if not method.startswith("_") and callable(value)
    )
    directives = "\n\n".join(f".. automethod:: rmtjax.laws.{name}.{method}" for method in public)
    return f"\n## Methods\n\n```{{eval-rst}}\n{directives}\n```\n"


def _accuracy(name: str) -> str:
    """The largest relative errors against the golden values, from the record."""
    from tests.golden import accuracy

    record = {e: row for e, row in accuracy.recorded().items() if e.split("(")[0] == name}
    if not record:
        return "The values are sums of the weights; there is no density to compare."
    methods = list(next(iter(record.values())))[:-1]
    lines = [
        "Largest relative errors over points of the bulk, both tails and the edges, against values of 25 digits:",
        "quadratures of the density with mpmath, or Fredholm determinants in ball arithmetic. A slow test measures",
        "them again. On another processor a last digit can be another.",
        "",
        "| law | points | source | " + " | ".join(f"`{m}`" for m in methods) + " | in float32 |",
        "|---|---|---|" + "---|" * (len(methods) + 1),
    ]
    for expression, errors in record.items():
        entry = accuracy.ENTRIES[expression]
        # With hyphens at which no line is broken.
        cells = [f"{error:.0e}".replace("-", "\u2011") for error in errors.values()]
        row = [f"`{expression}`", str(len(entry["points"])), entry["source"], *cells]
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def _run(app: Any) -> None:
    workers.run(__file__)


def _add_contents(app: Any, docname: str, source: list[str]) -> None:
    room = docname.removeprefix("laws/")
    if room in HEADINGS:
        app.env.note_dependency(HERE.parent / "tests" / "instances.py")  # a new law changes the list
        laws = rooms()[room]
        rows = [f"| `{name}` | {law.of} |" for name, law in laws.items()]
        contents = ["", "```{toctree}", ":hidden:", "", *laws, "```", ""]
        source[0] += "\n".join(["", "| law | of |", "|---|---|", *rows, *contents])


def setup(app: Any) -> dict[str, bool]:
    """Make the pages before anything is read."""
    app.connect("builder-inited", _run)
    app.connect("source-read", _add_contents)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    write()
