"""What is on the axes, read back."""

import numpy as np


def names(ax):
    """The entries of the legend."""
    return [text.get_text() for text in ax.get_legend().get_texts()]


def band(ax):
    """Abscissas, lower and upper ends of the band."""
    (area,) = ax.collections
    vertices = area.get_paths()[0].vertices
    x = np.unique(vertices[:, 0])
    ends = [vertices[np.isclose(vertices[:, 0], each), 1] for each in x]
    return x, np.array([end.min() for end in ends]), np.array([end.max() for end in ends])
