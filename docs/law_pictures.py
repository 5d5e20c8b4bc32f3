"""Pictures of laws: density and tails of each, with a histogram of draws."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import rmtjax as rmt
from rmtjax.plotting import _bins, _style

# One shape for all evaluations: a law is compiled once.
_NUM_POINTS = 256
_NUM_DRAWS = 20_000


def draw(page: Any, target: Path) -> None:
    """The picture of a page."""
    names = vars(rmt) | vars(rmt.laws) | {"jax": jax, "jnp": jnp, "key": jax.random.key(7)}
    names["turned_signs"] = _turned_signs
    laws = {expression: eval(expression, names) for expression in page.curves}
    first = next(iter(laws.values()))
    draws = eval(page.draws, names) if page.draws else first.sample(names["key"], (_NUM_DRAWS,))
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.6), layout="constrained")
    draws = np.asarray(draws).ravel()
    if isinstance(first, rmt.laws.AbstractPlanarLaw):
        _planar(left, right, laws, draws)
    else:
        _on_the_line(left, right, laws, draws, page.quantity)
    figure.savefig(target, dpi=110)
    plt.close(figure)


def _turned_signs(key: jax.Array) -> jax.Array:
    """A matrix of order 400 with the levels -1 and 1 and vectors in general position."""
    rotation = rmt.HaarOrthogonal(400).sample(key)
    return (rotation * jnp.repeat(jnp.array([-1.0, 1.0]), 200)[None]) @ rotation.T


def _on_the_line(left: Any, right: Any, laws: dict[str, Any], draws: np.ndarray, quantity: str) -> None:
    far = {name: _reach(law, 1e-9, np.asarray(law.breakpoints()), searches=4) for name, law in laws.items()}
    near = {name: _reach(law, 1e-3, far[name], searches=2) for name, law in laws.items()}
    low, high = min(ends[0] for ends in near.values()), max(ends[1] for ends in near.values())
    # The draws are those of the first law.
    bins = _bins.aligned(np.linspace(low, high, 61), [next(iter(laws.values()))])
    counts, _ = np.histogram(draws, bins)
    bars = counts / (draws.size * np.diff(bins))
    left.stairs(bars, bins, fill=True, color=_style.FILLS[0], alpha=0.35, label="draws")
    top = bars.max()
    for style, (name, law) in zip(_style.LAW_LINES, laws.items(), strict=False):
        x = np.linspace(low, high, _NUM_POINTS)
        density = np.asarray(law.pdf(jnp.asarray(x)))
        left.plot(x, density, **style, label=name)
        # A density that diverges would hide the others.
        top = max(top, np.quantile(density, 0.97))
        locations, masses = map(np.asarray, law.atoms())
        left.vlines(locations[masses > 0], 0, masses[masses > 0], color=style["color"], linewidth=3)
        x = np.linspace(*far[name], _NUM_POINTS)
        right.semilogy(x, _smaller_tail(law, jnp.asarray(x)), **style)
    left.set(xlabel=quantity, ylabel="density", ylim=(0, 1.15 * top))
    left.figure.legend(loc="outside upper center", ncols=2, frameon=False)
    right.set(xlabel=quantity, ylabel="smaller of P(X ≤ x) and P(X > x)")


def _smaller_tail(law: Any, x: jax.Array) -> np.ndarray:
    """The smaller of both tails, from one program for a kind of law."""
    return np.minimum(*law._run(law._promised, x, quantity="tails"))


def _reach(law: Any, tail: float, panels: np.ndarray, *, searches: int) -> np.ndarray:
    """The support, where it is finite; otherwise up to a tail, by a few searches on grids of one size."""
    if isinstance(law, rmt.laws.AbstractSpectralLaw) and not law._has_moments():
        tail, panels = 0.2, panels[:4]  # smaller tails lie so far out that nothing else could be seen
    low, high = panels[[0, -1]]
    for _ in range(searches):
        x = np.linspace(low, high, _NUM_POINTS)
        inside = _smaller_tail(law, jnp.asarray(x)) > tail
        first, last = np.flatnonzero(inside)[[0, -1]] if inside.any() else (0, 1)
        low, high = x[max(first - 1, 0)], x[min(last + 1, x.size - 1)]
    support = np.array(law.support())
    return np.where(np.isfinite(support), support, (low, high))


def _planar(left: Any, right: Any, laws: dict[str, Any], draws: np.ndarray) -> None:
    radii = np.sort(np.abs(draws))
    reach = np.quantile(radii, 0.98) * 1.15
    some = draws[:3000]
    left.plot(some.real, some.imag, ".", color=_style.LAW_LINES[2]["color"], markersize=1.5)
    left.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xlabel="Re z", ylabel="Im z")
    x = np.linspace(0, reach, _NUM_POINTS)
    right.plot(x, np.searchsorted(radii, x) / radii.size, color=_style.FILLS[0], linewidth=4, label="draws")
    for style, (name, law) in zip(_style.LAW_LINES, laws.items(), strict=False):
        right.plot(x, law.radial_cdf(jnp.asarray(x)), **style, label=name)
    right.set(xlabel="r", ylabel="P(|Z| ≤ r)")
    right.legend(frameon=False)
