"""The plot of eigenvalues in the complex plane, with the density and the boundary of their law."""

from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from rmtjax import _checks
from rmtjax.laws import AbstractPlanarLaw
from rmtjax.plotting import _estimates, _style
from rmtjax.special.internal import bracketed_root
from rmtjax.spectra.internal import PlanarLevelsLike, checked_in_plane

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Points on each side of the density, and directions of the boundary.
_FINE, _DIRECTIONS = 241, 721
# On the shade of a law, the dark colours are seen best.
_COLORS = tuple(_style.LAW_LINES[i]["color"] for i in (2, 1, 3))
# Of a law that fills the plane, the part that is drawn holds this mass.
_SHOWN = 0.99


def complex_levels(
    levels: PlanarLevelsLike,
    *,
    law: AbstractPlanarLaw | None = None,
    label: str | None = None,
    ax: "Axes | None" = None,
    **style: Any,
) -> "Axes":
    r"""Draw eigenvalues as points in the complex plane, over the density and the boundary of their law.

    The shade is the density of the law, `law.pdf`, on a scale from 0. The line is the boundary of its support: in each
    direction from 0 the farthest point where the density is positive, and also the nearest one where a disc around 0
    is empty. A law that fills the plane has no boundary. Of such a law the view holds 99 %.

    Args:
        levels: real or complex levels in any order, `(..., n)`, or `MaskedValues`; all spectra are drawn.
        law: a law of complex levels, such as `laws.CircularLaw()` or the `law()` of a non-Hermitian ensemble.
        label: name of the levels in the legend; by default their number.
        ax: where to draw; by default a new figure. Further levels on the same axes have another colour.
        style: what matplotlib's `Axes.plot` takes, such as `color` and `markersize`.

    Raises:
        ValueError: there are no levels, a level is not finite, or `law` is not a law of complex levels.

    Example:
        >>> import jax, rmtjax as rmt, rmtjax.plotting
        >>> ginibre = rmt.Ginibre(100, beta=2)
        >>> ax = rmt.plotting.complex_levels(ginibre.eigenvalues(jax.random.key(0)), law=ginibre.law())
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['boundary of the law', '100 levels']

    References:
        Bordenave and Chafaï (2012), Probab. Surveys 9, 1, sections 1 and 2.
    """
    if law is not None and not isinstance(law, AbstractPlanarLaw):
        raise _checks.refusal("law", "be a law of complex levels, such as `rmt.laws.CircularLaw()`", law)
    style = _style.checked(ax, style, "Line2D")
    found = checked_in_plane(levels)
    points = np.asarray(found.values)[np.asarray(found.mask)]
    if points.size == 0:
        raise _checks.refusal("levels", "hold at least one level", found.values.shape)
    axes: Any = _style.new_axes() if ax is None else ax
    if law is not None:
        _draw_law(axes, law)
    label = _estimates.counted(points.size, "level", "levels") if label is None else label
    # Some thousands of points still look like points.
    size = float(np.clip(100 / np.sqrt(points.size), 0.6, 5))
    defaults = {
        "color": _style.next_color(axes, _COLORS),
        "marker": ".",
        "linestyle": "",
        "markersize": size,
        "zorder": 2,
    }
    look = defaults | {"rasterized": points.size > 5000} | style
    axes.plot(np.real(points), np.imag(points), **look, label=label, gid=_style.MARK)
    axes.set_aspect("equal")
    return _style.finished(axes, r"$\mathrm{Re}\,z$", r"$\mathrm{Im}\,z$", room=False)


def _draw_law(axes: Any, law: AbstractPlanarLaw) -> None:
    """Draw the density and the boundary."""
    farthest = float(law.radial_ppf(1.0))
    bounded = np.isfinite(farthest)
    outer, inner = _boundary(law, farthest if bounded else float(law.radial_ppf(_SHOWN)))
    width, height = 1.05 * abs(np.real(outer)).max(), 1.05 * abs(np.imag(outer)).max()
    x, y = (np.linspace(-reach, reach, _FINE + 1) for reach in (width, height))
    # The middles of the cells, but not 0, where a density may be infinite.
    middles = [(ends[1:] + ends[:-1]) / 2 + 1e-6 * ends[-1] for ends in (x, y)]
    density = np.asarray(law.pdf(middles[0][None, :] + 1j * middles[1][:, None]), np.float64)
    # Few cells may be darker than all others.
    top = 4 * np.quantile(density[density > 0], 0.99)
    axes.pcolormesh(x, y, density, cmap="Greys", vmin=0, vmax=top, zorder=0, rasterized=True)
    if bounded:
        line = {"color": _style.LAW_LINES[0]["color"], "linewidth": 1.2, "zorder": 3}
        axes.plot(np.real(outer), np.imag(outer), **line, label="boundary of the law")
        if inner is not None:
            axes.plot(np.real(inner), np.imag(inner), **line)


def _boundary(
    law: AbstractPlanarLaw, farthest: float
) -> tuple[Complex[np.ndarray, " k"], Complex[np.ndarray, " k"] | None]:
    """The outer end of the support in each direction from 0, and the inner end where there is a hole."""
    direction = np.exp(2j * np.pi * np.linspace(0, 1, _DIRECTIONS))
    hole = float(law.radial_ppf(0.0))
    inside, outside = jnp.full(_DIRECTIONS, max(1.001 * hole, 1e-3 * farthest)), 1.001 * farthest
    radius = bracketed_root(partial(_is_outside, law, jnp.asarray(direction)), inside, outside)
    return direction * np.asarray(radius), direction * hole if hole > 0 else None


def _is_outside(
    law: AbstractPlanarLaw, direction: Complex[Array, " k"], radius: Float[Array, " k"]
) -> Float[Array, " k"]:
    """1 beyond the support and -1 before; along a ray it has no gaps."""
    points = jax.lax.complex(radius * direction.real, radius * direction.imag)
    return jnp.where(law.pdf(points) > 0, -1.0, 1.0)
