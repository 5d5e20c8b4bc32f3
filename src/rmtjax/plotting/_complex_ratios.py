"""The plot of complex spacing ratios: their density in the unit disc, and the histogram of their moduli."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Complex, Float

from rmtjax import _checks, laws, statistics
from rmtjax._typing import MaskLike, RealLike
from rmtjax.laws import AbstractPlanarLaw
from rmtjax.plotting import _bins, _estimates, _style
from rmtjax.spectra import MaskedValues
from rmtjax.spectra.internal import PlanarLevelsLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Edges of radii and of angles, and the density between them.
_Part = tuple[Float[np.ndarray, " r+1"], Float[np.ndarray, " a+1"], Float[np.ndarray, "r a"]]


def complex_spacing_ratios(
    levels: PlanarLevelsLike,
    *,
    betas: Literal[0, 2] | Iterable[Literal[0, 2]] = (0, 2),
    bins: RealLike = 25,
    centres: Annotated[MaskLike, "*batch n"] | None = None,
    label: str | None = None,
    axes: "tuple[Axes, Axes] | None" = None,
    **style: Any,
) -> "tuple[Axes, Axes]":
    r"""Draw the density of complex spacing ratios in the unit disc, and the histogram of their moduli, with exact laws.

    Both laws are the same for z and its conjugate, so each picture needs only half of the disc. The upper half shows
    the ratios of all spectra; those with Im z < 0 are reflected. Its cells have equal areas. The lower half shows the
    law of the last β in the same colours. Beside the disc is the histogram of the moduli |z|, with the laws of all β.
    Compare the mean in the legend with `laws.mean_complex_spacing_ratio`.

    The laws are those of complex matrices. Real matrices have conjugate pairs of levels and real levels; for them,
    choose as `centres` levels of the upper half plane that are not near the axis. `rmtjax.plotting` says what all plots
    have in common.

    Args:
        levels: complex levels in any order, `(..., n)`, or `MaskedValues`; the spectra are independent.
        betas: which laws: 0 for independent levels, whose ratios are uniform, `laws.CircularLaw`, or 2 for complex
            Ginibre matrices, `laws.ComplexSpacingRatio`. With `[]` the ratios fill the whole disc.
        bins: a number of bins of the moduli between 0 and 1, or their edges.
        centres: which levels are centres of ratios, such as those of the bulk; by default all.
        label: name of the spectra in the legend; by default their number and the mean |z| with its standard error.
        axes: where to draw the disc and the histogram; by default a new figure.
        style: what matplotlib's `Axes.stairs` takes for the histogram, such as `color`.

    Returns:
        The axes of the disc and the axes of the histogram.

    Raises:
        ValueError: as for `statistics.complex_spacing_ratios`, `bins` are outside their range, or there are no ratios.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt, rmtjax.plotting
        >>> levels = rmt.simulate(rmt.Ginibre(40, beta=2).eigenvalues, jax.random.key(0), 50)
        >>> disc, moduli = rmt.plotting.complex_spacing_ratios(levels, centres=jnp.abs(levels) < 0.7)
        >>> print([text.get_text() for text in moduli.get_legend().get_texts()][1:])
        ['independent levels', 'β = 2']

    References:
        Sá, Ribeiro and Prosen (2020), Phys. Rev. X 10, 021019.
    """
    for ax in (None,) if axes is None else axes:
        style = _style.checked(ax, style, "StepPatch")
    edges = _bins.chosen(bins, 0.0, 1.0)
    law = lambda beta: laws.ComplexSpacingRatio() if beta else laws.CircularLaw()
    references: dict[int, AbstractPlanarLaw] = _estimates.of_each(law, betas, Literal[0, 2])
    found = statistics.complex_spacing_ratios(levels, centres=centres)
    if not jnp.iscomplexobj(found.values):
        raise _checks.refusal("levels", "be complex", found.values.dtype.name)
    ratios = np.asarray(found.values)[np.asarray(found.mask)]
    if ratios.size == 0:
        raise _checks.refusal("levels", "have ratios", found.values.shape)
    disc, histogram = _style.new_axes(2) if axes is None else axes
    densities = {beta: partial(_of_modulus, law) for beta, law in references.items()}
    moduli = MaskedValues(jnp.abs(found.values), found.mask)
    _estimates.histogram(moduli, edges, densities, name="ratios", label=label, ax=histogram, style=style)
    histogram.set_xlabel("$|z|$")
    _draw_disc(disc, ratios, references)
    return disc, histogram


def _of_modulus(law: AbstractPlanarLaw, r: Float[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
    """The density of |z|."""
    # The density is smooth in the angle, so a mean over a few angles is the mean over all.
    circle = np.exp(2j * np.pi * (np.arange(64) + 0.5) / 64)
    inside = np.minimum(r, 1 - 1e-5)[:, None] * circle
    return np.where(r <= 1, 2 * np.pi * r * np.asarray(law.pdf(inside)).mean(axis=1), 0)


def _draw_disc(axes: Any, ratios: Complex[np.ndarray, " m"], references: Mapping[int, AbstractPlanarLaw]) -> None:
    """Draw the ratios in the upper half and the last law in the lower half, or the ratios alone."""
    parts = [_density_in_cells(ratios, whole=not references)]
    for beta in list(references)[-1:]:
        parts.append(_density_of(references[beta]))
        axes.text(0.02, 0.02, _style.REFERENCE_NAMES[beta], transform=axes.transAxes)
    highest = max(density.max() for _, _, density in parts)
    look = {"vmin": 0, "vmax": highest, "cmap": "viridis", "rasterized": True}
    for radii, angles, density in parts:
        axes.pcolormesh(radii[:, None] * np.cos(angles), radii[:, None] * np.sin(angles), density, **look)
    axes.figure.colorbar(axes.collections[-1], ax=axes, label="density")
    ticks = [-1, 0, 1]
    axes.set(aspect="equal", xlabel=r"$\mathrm{Re}\,z$", ylabel=r"$\mathrm{Im}\,z$", xticks=ticks, yticks=ticks)


def _density_in_cells(ratios: Complex[np.ndarray, " m"], *, whole: bool) -> _Part:
    """Density of ratios in cells of equal area, in the whole disc or with the lower half reflected."""
    rings = int(np.clip(np.sqrt(ratios.size / 100), 3, 20))
    radii, angle = np.sqrt(np.linspace(0, 1, rings + 1)), np.angle(ratios)
    angles = np.linspace(-np.pi, np.pi, 4 * rings + 1) if whole else np.linspace(0, np.pi, 2 * rings + 1)
    modulus = np.minimum(abs(ratios), 1)
    counts, _, _ = np.histogram2d(modulus, angle if whole else abs(angle), [radii, angles])
    # Each cell is drawn in eight pieces, because a piece has straight sides.
    pieces = np.interp(np.arange(8 * angles.size - 7) / 8, np.arange(angles.size), angles)
    return radii, pieces, np.repeat(counts * (counts.size / (ratios.size * np.pi)), 8, axis=1)


def _density_of(law: AbstractPlanarLaw) -> _Part:
    """Density of a law in the lower half of the disc."""
    radii, angles = np.linspace(0, 1, 101), np.linspace(-np.pi, 0, 201)
    middle = (radii[1:, None] + radii[:-1, None]) / 2 * np.exp(1j * (angles[1:] + angles[:-1]) / 2)
    return radii, angles, np.asarray(law.pdf(middle))
