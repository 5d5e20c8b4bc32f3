"""The records of `benchmarks/results` as tables in Markdown, and a picture, which pages of the manual include.

    python benchmarks/tables.py

writes them to `benchmarks/results/tables`; `peers.py` does so at its end. A test holds them to the records.
"""

import json
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"
TABLES = RESULTS / "tables"
_EXPONENT = re.compile(r"(?<=\de)-")


def _record(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text())


def _time(seconds: float) -> str:
    """In milliseconds, or in seconds from a tenth of one on; the unit stays on the line of the number."""
    return f"{seconds:.2g}\u00a0s" if seconds > 0.1 else f"{1000 * seconds:.2g}\u00a0ms"


def _table(head: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """With hyphens in numbers at which no line is broken."""
    lines = [head, ["---"] * len(head), *([_EXPONENT.sub("\u2011", str(cell)) for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def peers_work() -> str:
    """The same work in several packages; rows in which another one is faster stand first."""
    rows = []
    for part in _record("peers").values():
        for work, found in part.get("rows", {}).items():
            ours, of = found.pop("rmtjax"), found.pop("error of")
            here = f"{ours['error']:.2g}", f"{_time(ours['seconds'])} ({_time(ours['first call'])})"
            for name, theirs in found.items():
                ratio = theirs["seconds"] / ours["seconds"]
                there = f"{theirs['error']:.2g}", f"{_time(theirs['seconds'])}, {ratio:.1f}×"
                rows.append((ratio, (work, of, *here, name, *there)))
    head = ["work", "error of", "error here", "time here (first call)", "package", "its error", "its time"]
    return _table(head, [cells for _, cells in sorted(rows)])


def peers_wrong() -> str:
    """Wrong answers of other packages."""
    claims = _record("peers")["claims"]["claims"]
    rows = [(c["package"], c["of"], f"{c['found']:.4g}", f"{c['right']:.4g}", c["source"]) for c in claims]
    return _table(["package", "what", "found", "right", "because"], rows)


def peers_lines() -> str:
    """The lines that give these answers."""
    claims = _record("peers")["claims"]["claims"]
    title = lambda claim: textwrap.wrap(f"{claim['package']}: {claim['of']}", 86)
    blocks = ["\n".join([*(f"# {line}" for line in title(claim)), claim["lines"], ""]) for claim in claims]
    return "```python\n" + "\n".join(blocks) + "```\n"


def peers_sizes() -> str:
    """Every size at which another package is faster, and the largest that both did."""
    rows = []
    for work, curves in _record("peers")["costs"]["curves"].items():
        own = curves.pop("rmtjax")
        ours = _by_size(own)
        for name, curve in curves.items():
            theirs = {n: point for n, point in _by_size(curve).items() if n in ours}
            for n, (seconds, _, memory) in theirs.items():
                here, first, peak = ours[n]
                if seconds < here or n == max(theirs):
                    mine = f"{_time(here)} ({_time(first)}), {peak:.0f}\u00a0MB", f"{own['exponent']:.1f}"
                    its = f"{_time(seconds)}, {seconds / here:.1f}×, {memory:.0f}\u00a0MB", f"{curve['exponent']:.1f}"
                    rows.append((seconds / here, (work, f"{n:,}", *mine, name, *its)))
    head = ["work", "n", "here (first call), memory", "exponent", "package", "its time, memory", "its exponent"]
    return _table(head, [cells for _, cells in sorted(rows)])


def _by_size(curve: dict[str, Any]) -> dict[int, tuple[float, float, float]]:
    """The seconds of a call and of the first one, and the memory."""
    return dict(zip(curve["n"], zip(curve["seconds"], curve["first call"], curve["peak MB"], strict=True), strict=True))


def peers_routes() -> str:
    """Time and memory of the routes to levels, by size."""
    curves = _record("peers")["costs"]["curves"]
    names = {"levels": "all levels", "histogram": "histogram, 100 bins", "largest": "largest level"}
    sizes = sorted({n for curve in curves.values() for n in curve["rmtjax"]["n"]})
    rows = []
    for work, of_work in curves.items():
        for package in sorted(of_work, reverse=True):
            if package == "rmtjax" or package.startswith("numpy"):
                known = {
                    n: f"{_time(seconds)} ({_time(first)}), {memory:.0f}\u00a0MB"
                    for n, (seconds, first, memory) in _by_size(of_work[package]).items()
                }
                what = names[work] + ("" if package == "rmtjax" else ", from the matrix with NumPy")
                rows.append((what, *(known.get(n, "") for n in sizes)))
    return _table(["", *(f"n = {n:,}" for n in sizes)], rows)


def peers_environments() -> str:
    """What has an environment of its own."""
    packages = _record("peers")["environments"]["packages"]
    return _table(["package", "why", "measured with"], [(n, p["why"], p["environment"]) for n, p in packages.items()])


def free_laws() -> str:
    """Densities of free sums and products, beside freealg."""
    routes = ("ours", "freealg, eta=0", "freealg")
    rows = []
    for name, found in _record("free_laws").items():
        pairs = [(found[route]["error"], found[route]["seconds of processor time"]) for route in routes]
        rows.append((name, *(f"{error:.0e}, {_time(seconds)}" for error, seconds in pairs)))
    return _table(["law", "here", *routes[1:]], rows)


def free_contours() -> str:
    """Densities of free sums and products, beside contour integrals."""
    rows = []
    for name, found in _record("free_contours").items():
        ours, other = found["ours"], found["contour integrals"]
        seconds = "seconds of processor time"
        here = f"{ours['error']:.0e}", _time(ours[seconds]), _time(ours["first call"])
        rows.append((name, *here, f"{other['error']:.0e}", _time(other[seconds])))
    return _table(["law", "error here", "time here", "first call", "error of contours", "their time"], rows)


def tridiagonal() -> str:
    """The engine beside other packages, from two machines."""
    text = []
    for file in sorted(RESULTS.glob("tridiagonal*.json")):
        record = _record(file.stem)
        rows = []
        for row in record["rows"]:
            ratio = f"{row['ratio']:.3g}" if row["ratio"] < 1000 else f"{row['ratio']:.0f}"
            against = row["reference"] + (f" ({row['note']})" if row["note"] else "")
            rows.append((row["name"], f"{row['seconds']:.3g}", against, ratio, f"{row['target']:g}"))
        where = f"{record['cpu']}, {record['device']}; {record['date']}; {_versions(record)}"
        text += [where, _table(["work", "seconds", "against", "times faster", "wanted"], rows)]
    return "\n\n".join(text)


def gpu() -> str:
    """What a GPU was asked."""
    text = []
    for file in sorted(RESULTS.glob("gpu-*.json")):
        record = _record(file.stem)
        rows = []
        for row in (row for part in record["sections"].values() for row in part["rows"]):
            parts = "trace_seconds", "compile_seconds", "first_call_seconds"
            first = f"{sum(row.get(part) or 0 for part in parts):.2g}"
            busy = "" if row.get("busy") is None else f"{row['busy']:.0%}"
            answer = "right" if row["right"] else "see below"
            times = first, f"{row['median_seconds']:.3g}", row.get("launches", ""), busy
            rows.append((row["name"], row["dtype"], *times, answer))
        head = ["work", "dtype", "first call, s", "seconds", "launches", "busy", "answer"]
        text += [f"{record['device']}; {_versions(record)}", _table(head, rows)]
    return "\n\n".join(text)


def _versions(record: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in record["versions"].items())


OF_PEERS = (peers_work, peers_wrong, peers_lines, peers_sizes, peers_routes, peers_environments)
WRITERS: tuple[Callable[[], str], ...] = (*OF_PEERS, free_laws, free_contours, tridiagonal, gpu)


def drawn_costs() -> Any:
    """How costs grow with n: a panel for each work, a line for each package, and first calls here dashed."""
    import matplotlib.pyplot as plt

    curves = _record("peers")["costs"]["curves"]
    packages = list(curves["levels"])
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True, layout="constrained")
    for axis, (work, of_work) in zip(axes, curves.items(), strict=True):
        for name, curve in of_work.items():
            color = f"C{packages.index(name)}"
            axis.loglog(curve["n"], curve["seconds"], "o-", ms=3, color=color, label=name)
            if name == "rmtjax":
                axis.loglog(curve["n"], curve["first call"], "--", color=color)
        axis.set(title=work, xlabel="n")
    axes[0].set_ylabel("seconds")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper", fontsize="small")
    return figure


def write() -> None:
    """All tables and the picture."""
    import matplotlib.pyplot as plt

    TABLES.mkdir(exist_ok=True)
    for writer in WRITERS:
        (TABLES / f"{writer.__name__}.md").write_text(writer())
    with plt.style.context("rmtjax.plotting.style"):
        drawn_costs().savefig(TABLES / "peers_costs.png", dpi=110)
    plt.close()


if __name__ == "__main__":
    write()
