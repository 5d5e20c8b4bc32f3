"""The pictures of all plots as they were last looked at: `python -m tests.plotting.pictures` writes them.

The pictures are small and have no text, because fonts and the library that draws them decide its pixels. What a plot
writes is in `words.json`. Where a change of a plot is meant, look at the new pictures before they go in.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.ticker import NullFormatter
from PIL import Image

import rmtjax as rmt
import tests.session  # noqa: F401 (precision and promotion of the suite, also for a script)
from rmtjax import plotting, statistics
from tests.plotting.given import GIVEN, PLANAR, PLOTS, POINTS, SPECTRA, VECTORS

FOLDER = Path(__file__).with_suffix("")
WORDS = FOLDER / "words.json"
CIRCLE = rmt.Spectrum(np.sort(SPECTRA % 20), domain=rmt.Circle(20), unfolded=True)


def again(plot: Any, first: Any, second: Any, *points: Any, **options: Any) -> Any:
    """Two sets of spectra on the same axes."""
    return plot(second, *points, **options, ax=plot(first, *points, **options))


# Every plot under its name, and further pictures under its name with what is special behind a dash. No level lies so
# near to the edge of a bin that rounding could move it: even single precision moves none.
PICTURES = {name: partial(PLOTS[name], *arguments) for name, arguments in GIVEN.items()} | {
    "complex_levels-law": lambda: plotting.complex_levels(PLANAR[:9] / 2, law=rmt.laws.EllipticLaw(0.5)),
    "complex_levels-ring": lambda: plotting.complex_levels(PLANAR[:3], law=rmt.laws.SingleRing([1.0, 2.0])),
    "complex_levels-plane": lambda: plotting.complex_levels(PLANAR[0], law=rmt.Spherical(8).law()),
    "complex_levels-two": lambda: again(plotting.complex_levels, PLANAR[:3], PLANAR[3:6] / 2),
    "complex_spacing_ratios-whole": lambda: plotting.complex_spacing_ratios(PLANAR, betas=[]),
    "form_factor-circle": lambda: plotting.form_factor(CIRCLE, np.arange(1, 31) / 20, connected=False),
    "form_factor-log": lambda: plotting.form_factor(SPECTRA, np.geomspace(0.02, 3, 12), log=True),
    "intensities-one": lambda: plotting.intensities(VECTORS[0] + 1j * VECTORS[1], bins=8),
    # Few bins, so that none has the levels of a single matrix, without which the quotient is 0/0 up to rounding.
    "inverse_participation_ratio": lambda: plotting.inverse_participation_ratio(SPECTRA[:, :8], VECTORS, bins=6),
    "inverse_participation_ratio-one": lambda: plotting.inverse_participation_ratio(
        SPECTRA[0, :8], VECTORS[0], q=3.0, bins=4
    ),
    "number_probabilities": lambda: plotting.number_probabilities(SPECTRA, POINTS, betas=[0, 2]),
    "number_variance-circle": lambda: plotting.number_variance(CIRCLE, np.linspace(0, 20, 9)),
    "number_variance-two": lambda: again(plotting.number_variance, SPECTRA, SPECTRA[:, ::2] / 2, POINTS),
    "pair_correlation-one": lambda: plotting.pair_correlation(SPECTRA[0], POINTS, betas=[1, 4]),
    "power_spectrum-circle": lambda: plotting.power_spectrum(CIRCLE, 2 * np.pi / 20 * np.arange(1, 20)),
    "spacings-one": lambda: plotting.spacings(SPECTRA[0], order=2, bins=10, betas=[0, 4]),
    "spacings-two": lambda: again(plotting.spacings, SPECTRA, SPECTRA**2 / 20, bins=10),
    "spectral_density-atom": lambda: plotting.spectral_density(
        SPECTRA[0], law=rmt.laws.MarchenkoPastur(2.0), errors="independent"
    ),
    "spectral_density-laws": lambda: plotting.spectral_density(
        SPECTRA / 5 - 2, law={"wide": rmt.laws.Semicircle(), "narrow": rmt.laws.Semicircle(1.5)}, bins=12
    ),
    "unfolding": lambda: plotting.unfolding(*GIVEN["unfolding"], bins=6),
    "unfolding-one": lambda: plotting.unfolding(statistics.unfold(SPECTRA[0], lambda x: x), bins=6),
}


def drawn(name: str) -> list[Any]:
    """All axes of a picture, whatever settings of matplotlib the user has."""
    with plt.style.context("default"):
        axes = PICTURES[name]()
    figure = axes[0].figure if isinstance(axes, tuple) else axes.figure
    figure.set(dpi=72, size_inches=figure.get_size_inches() / 2)
    return figure.axes


def words(axes: list[Any]) -> list[dict[str, Any]]:
    """What is written on each of the axes, without the numbers at the ticks."""
    texts = lambda artists: [text.get_text() for text in artists]
    return [
        {
            "labels": [ax.get_xlabel(), ax.get_ylabel()],
            "legend": texts(ax.get_legend().get_texts() if ax.get_legend() else []),
            "texts": texts(ax.texts),
        }
        for ax in axes
    ]


def pixels(axes: list[Any]) -> np.ndarray:
    """The picture as red, green and blue, from 0 to 255, after all text is taken off."""
    for ax in axes:
        for artist in [*ax.texts, *filter(None, [ax.get_legend()])]:
            artist.remove()
        ax.set(xlabel="", ylabel="")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set(major_formatter=NullFormatter(), minor_formatter=NullFormatter())
    canvas = FigureCanvasAgg(axes[0].figure)
    canvas.draw()
    return np.array(canvas.buffer_rgba())[..., :3]


def write(path: Path, picture: np.ndarray) -> None:
    Image.fromarray(picture).save(path, optimize=True)


def main() -> None:
    written = {}
    for name in sorted(PICTURES):
        axes = drawn(name)
        written[name] = words(axes)
        write(FOLDER / f"{name}.png", pixels(axes))
        plt.close("all")
    WORDS.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
