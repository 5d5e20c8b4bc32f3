"""What is on the axes, read back, and errors that are computed without the library."""

import numpy as np

# Student's quantiles of 97.5 % for some degrees of freedom, by table.
STUDENT = {4: 2.7764451, 29: 2.0452, 39: 2.0227, 59: 2.0010, 297: 1.9680}


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


def error_bars(ax):
    """Abscissas, lower and upper ends of the error bars."""
    (container,) = ax.containers
    (lines,) = container.lines[2]
    segments = np.array(lines.get_segments())
    return segments[:, 0, 0], *segments[:, :, 1].T


def ratio(numerators, denominators):
    """The ratio of two sums over samples."""
    return numerators.sum(axis=0) / denominators.sum(axis=0)


def jackknife(of, *samples):
    """A function of samples without its bias, and its standard error, by leaving each sample out."""
    m, samples = len(samples[0]), list(map(np.asarray, samples))
    without = np.array([of(*(np.delete(each, i, axis=0) for each in samples)) for i in range(m)])
    error = np.sqrt((m - 1) / m * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    return m * of(*samples) - (m - 1) * without.mean(axis=0), error
