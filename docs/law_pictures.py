"""Pictures of laws: density and tails of each, with a histogram of draws.

The curves are a committed record, `law_curves.npz`: to compute them compiles several programs for each law.
`python docs/law_pictures.py` computes all again, and with names those of some laws. A slow test of
`tests/test_law_pictures.py` holds the record to the laws.
"""

import functools
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # for the table of laws

import rmtjax as rmt  # noqa: E402
from rmtjax.plotting import _bins, _style  # noqa: E402
from tests.instances import LAWS, Law  # noqa: E402

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

RECORD = HERE / "law_curves.npz"
# One shape for all evaluations: a law is compiled once.
_NUM_POINTS = 256
_NUM_DRAWS = 20_000
_NUM_DOTS = 2000  # of the draws in the plane

Curves = dict[str, np.ndarray]


@functools.cache
def recorded() -> dict[str, Curves]:
    """The record, by law, which a process reads once."""
    laws: dict[str, Curves] = {}
    with np.load(RECORD) as archive:
        for key, values in archive.items():
            name, part = key.split("/")
            laws.setdefault(name, {})[part] = values
    return laws


def computed(page: Law) -> Curves:
    """The curves of a page."""
    names = vars(rmt) | vars(rmt.laws) | {"jax": jax, "jnp": jnp, "key": jax.random.key(7)}
    names["turned_signs"] = _turned_signs
    laws = [eval(expression, names) for expression in page.curves]
    draws = eval(page.draws, names) if page.draws else laws[0].sample(names["key"], (_NUM_DRAWS,))
    planar = isinstance(laws[0], rmt.laws.AbstractPlanarLaw)
    curves = (_planar if planar else _on_the_line)(laws, np.asarray(draws).ravel())
    return {"expressions": np.array(page.curves)} | {part: _short(values) for part, values in curves.items()}


def _short(values: np.ndarray) -> np.ndarray:
    """Numbers in single precision without their last 12 bits: more than a picture shows, and easy to compress."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return (bits & np.uint32(0xFFFFF000)).view(np.float32)


def _turned_signs(key: jax.Array) -> jax.Array:
    """A matrix of order 400 with the levels -1 and 1 and vectors in general position."""
    rotation = rmt.HaarOrthogonal(400).sample(key)
    return (rotation * jnp.repeat(jnp.array([-1.0, 1.0]), 200)[None]) @ rotation.T


def _on_the_line(laws: list[Any], draws: np.ndarray) -> Curves:
    far = np.array([_reach(law, 1e-9, np.asarray(law.breakpoints()), searches=4) for law in laws])
    near = np.array([_reach(law, 1e-3, ends, searches=2) for law, ends in zip(laws, far, strict=True)])
    low, high = near[:, 0].min(), near[:, 1].max()
    # The draws are those of the first law.
    bins = _bins.aligned(np.linspace(low, high, 61), laws[:1])
    counts, _ = np.histogram(draws, bins)
    atoms = [(i, *atom) for i, law in enumerate(laws) for atom in zip(*map(np.asarray, law.atoms()), strict=True)]
    return {
        "near": np.array([low, high]),
        "far": far,
        "bins": bins,
        "bars": counts / (draws.size * np.diff(bins)),
        "density": np.array([law.pdf(jnp.asarray(_points(low, high))) for law in laws]),
        "tail": np.array([_smaller_tail(law, _points(*ends)) for law, ends in zip(laws, far, strict=True)]),
        "atoms": np.array([atom for atom in atoms if atom[2] > 0]).reshape(-1, 3),  # curve, location, mass
    }


def _points(low: float, high: float) -> np.ndarray:
    return np.linspace(low, high, _NUM_POINTS)


def _smaller_tail(law: Any, x: np.ndarray) -> np.ndarray:
    """The smaller of both tails, from one program for a kind of law."""
    return np.minimum(*law._run(law._promised, jnp.asarray(x), quantity="tails"))


def _reach(law: Any, tail: float, panels: np.ndarray, *, searches: int) -> np.ndarray:
    """The support, where it is finite; otherwise up to a tail, by a few searches on grids of one size."""
    if isinstance(law, rmt.laws.AbstractSpectralLaw) and not law._has_moments():
        tail, panels = 0.2, panels[:4]  # smaller tails lie so far out that nothing else could be seen
    low, high = panels[[0, -1]]
    support = np.array(law.support())
    if np.isfinite(support).all():
        return support
    for _ in range(searches):
        x = _points(low, high)
        inside = _smaller_tail(law, x) > tail
        first, last = np.flatnonzero(inside)[[0, -1]] if inside.any() else (0, 1)
        low, high = x[max(first - 1, 0)], x[min(last + 1, x.size - 1)]
    return np.where(np.isfinite(support), support, (low, high))


def _planar(laws: list[Any], draws: np.ndarray) -> Curves:
    radii = np.sort(np.abs(draws))
    reach = np.quantile(radii, 0.98) * 1.15
    radius = _points(0.0, reach)
    return {
        "dots": np.stack([draws.real, draws.imag])[:, :_NUM_DOTS],
        "reach": reach,
        "below": np.searchsorted(radii, radius) / radii.size,
        "radial_cdf": np.array([law.radial_cdf(jnp.asarray(radius)) for law in laws]),
    }


def draw(curves: Curves, quantity: str, target: Path) -> None:
    """The picture of a page."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.6), layout="constrained")
    if "dots" in curves:
        _draw_planar(left, right, curves)
    else:
        _draw_on_the_line(left, right, curves, quantity)
    figure.savefig(target, dpi=110)
    plt.close(figure)


def _draw_on_the_line(left: Any, right: Any, curves: Curves, quantity: str) -> None:
    left.stairs(curves["bars"], curves["bins"], fill=True, color=_style.FILLS[0], alpha=0.35, label="draws")
    top = curves["bars"].max()
    for i, (name, style) in enumerate(zip(curves["expressions"], _style.LAW_LINES, strict=False)):
        density = curves["density"][i]
        left.plot(_points(*curves["near"]), density, **style, label=name)
        # A density that diverges would hide the others.
        top = max(top, np.quantile(density, 0.97))
        atoms = curves["atoms"][curves["atoms"][:, 0] == i]
        left.vlines(atoms[:, 1], 0, atoms[:, 2], color=style["color"], linewidth=3)
        right.semilogy(_points(*curves["far"][i]), curves["tail"][i], **style)
    left.set(xlabel=quantity, ylabel="density", ylim=(0, 1.15 * top))
    left.figure.legend(loc="outside upper center", ncols=2, frameon=False)
    right.set(xlabel=quantity, ylabel="smaller of P(X ≤ x) and P(X > x)")


def _draw_planar(left: Any, right: Any, curves: Curves) -> None:
    radius = _points(0.0, curves["reach"])
    left.plot(*curves["dots"], ".", color=_style.LAW_LINES[2]["color"], markersize=1.5)
    ends = (-curves["reach"], curves["reach"])
    left.set(xlim=ends, ylim=ends, aspect="equal", xlabel="Re z", ylabel="Im z")
    right.plot(radius, curves["below"], color=_style.FILLS[0], linewidth=4, label="draws")
    for name, below, style in zip(curves["expressions"], curves["radial_cdf"], _style.LAW_LINES, strict=False):
        right.plot(radius, below, **style, label=name)
    right.set(xlabel="r", ylabel="P(|Z| ≤ r)")
    right.legend(frameon=False)


def main(names: list[str]) -> None:
    """Compute the curves of these laws again, or of all, and forget laws that are gone."""
    old = recorded() if RECORD.exists() else {}
    again = lambda name: not names or name in names or name not in old
    new = {name: computed(law) if again(name) else old[name] for name, law in LAWS.items()}
    np.savez_compressed(RECORD, **{f"{name}/{part}": a for name, curves in new.items() for part, a in curves.items()})


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    main(sys.argv[1:])
