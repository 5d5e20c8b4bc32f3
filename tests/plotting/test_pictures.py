"""Every plot gives the picture and the words that were last looked at; `pictures.py` makes them."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from tests.plotting.given import PLOTS
from tests.plotting.pictures import FOLDER, PICTURES, WORDS, drawn, pixels, words, write

# The largest difference of a colour between 0 and 1, as an average over a spot of about five pixels. What may differ is
# below 0.001: no pixel differs between matplotlib 3.9, 3.10 and 3.11, nor without the instructions of newer processors,
# and single precision moves some by 0.0009. What must not is above 0.06: a law that is not drawn, even where little of
# it is seen, or has the colour of another β. One of the thin lines of `unfolding` is 0.02.
TOLERANCE = 0.03


def difference(one, other):
    """The largest difference of two pictures of the same size, after a blur."""
    if one.shape != other.shape:
        return 1.0
    return abs(gaussian_filter((one.astype(float) - other) / 255, (2, 2, 0))).max()


def kept(name):
    return np.round(255 * plt.imread(FOLDER / f"{name}.png"))


def test_every_plot_has_a_picture():
    made = {path.stem for path in FOLDER.glob("*.png")}
    assert {name.partition("-")[0] for name in PICTURES} == PLOTS.keys()
    assert (PICTURES.keys() - made, made - PICTURES.keys()) == (set(), set()), "python -m tests.plotting.pictures"


@pytest.mark.parametrize("name", PICTURES)
def test_picture_and_words_are_as_they_were(name, tmp_path):
    axes = drawn(name)
    assert words(axes) == json.loads(WORDS.read_text())[name]
    picture = pixels(axes)
    found = difference(picture, kept(name))
    if found > TOLERANCE:
        write(tmp_path / f"{name}.png", picture)
        pytest.fail(f"{tmp_path / name}.png differs by {found:.3f} from {FOLDER / name}.png")


def shifted(ax):
    (bars,) = ax.patches
    bars.set_data(np.roll(bars.get_data().values, 1))


MISTAKES = {
    "no law": ("number_variance", lambda ax: ax.lines[2].remove()),
    "no law, where little of it is seen": ("form_factor", lambda ax: ax.lines[1].remove()),
    "law of another scale": ("spacings", lambda ax: ax.lines[1].set_xdata(1.1 * ax.lines[1].get_xdata())),
    "no band": ("number_variance", lambda ax: ax.collections[0].remove()),
    "no error bars": ("spectral_density", lambda ax: ax.collections[0].remove()),
    "bars one bin to the right": ("spacings-one", shifted),
    "linear axis": ("power_spectrum", lambda ax: ax.set_yscale("linear")),
    "colour of a line": ("number_variance", lambda ax: ax.lines[0].set_color("#009E73")),
    "colour of bars": ("spacings-one", lambda ax: ax.patches[0].set_facecolor(("#009E73", 0.35))),
    "another view": ("complex_levels-law", lambda ax: ax.set_xlim(1.1 * np.array(ax.get_xlim()))),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_another_picture(mistake):
    name, spoil = MISTAKES[mistake]
    axes = drawn(name)
    spoil(axes[0])
    assert difference(pixels(axes), kept(name)) > 1.5 * TOLERANCE
