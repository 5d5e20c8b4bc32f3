"""Plots of eigenvectors: the histogram of their components, and over how many they are spread."""

import math
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import jax.numpy as jnp
import numpy as np

from rmtjax import _checks, laws, statistics
from rmtjax._typing import ArrayLike, RealLike, RealOrComplex, RealScalarLike
from rmtjax.plotting import _bins, _estimates, _means
from rmtjax.spectra import MaskedValues

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# β = 4 has no reference. Levels of quaternion matrices in complex form are degenerate, and the solver chooses the two
# vectors of a pair.


def intensities(
    vectors: Annotated[ArrayLike, "*batch n k"],
    *,
    betas: RealOrComplex | Iterable[RealOrComplex] = (1, 2),
    bins: RealLike = 40,
    label: str | None = None,
    ax: "Axes | None" = None,
    **style: Any,
) -> "Axes":
    r"""Draw the histogram of $\log_{10} n|v_i|^2$ over the components of eigenvectors, with its error, and exact laws.

    The intensities of all vectors are pooled; a component 0 counts in the total. The logarithm shows the many small
    components, where real and complex vectors differ most. The laws are `laws.EigenvectorIntensity` for vectors of n
    components that are uniform on the sphere. For large n they tend to `laws.PorterThomas`. `rmtjax.plotting` says what
    all plots have in common.

    Args:
        vectors: real or complex, the columns of `(..., n, k)`, as from `rmt.eigh`; n ≥ 2; the matrices are independent.
        betas: which laws: 1 for real vectors, 2 for complex ones.
        bins: a number of bins between -4 and $\log_{10} n$, or their edges.
        label: name of the vectors in the legend; by default the number of matrices.
        ax: where to draw; by default a new figure.
        style: what matplotlib's `Axes.stairs` takes, such as `color`.

    Raises:
        ValueError: an argument is outside its range, there are no vectors, or a vector is 0 or not finite.

    Example:
        >>> import jax, rmtjax as rmt, rmtjax.plotting
        >>> matrices = rmt.simulate(rmt.GOE(20).sample, jax.random.key(0), 50)
        >>> ax = rmt.plotting.intensities(rmt.eigh(matrices)[1])
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['50 matrices', 'β = 1', 'β = 2']

    References:
        Porter and Thomas (1956), Phys. Rev. 104, 483; Haake (2010), Quantum signatures of chaos, chapter 4.
    """
    values = np.asarray(statistics.porter_thomas_intensities(vectors), np.float64)
    n = values.shape[-2]
    if n < 2 or values.size == 0:
        raise _checks.refusal("vectors", "be at least one, of two or more components", values.shape)
    if not np.isfinite(values).all():
        raise _checks.refusal("vectors", "be finite, and none of them 0", vectors)
    edges = _bins.chosen(bins, -4.0, math.log10(n))
    density = lambda beta: partial(_of_logarithm, laws.EigenvectorIntensity(n, beta))
    references = _estimates.of_each(density, betas, RealOrComplex)
    each = values.reshape(*values.shape[:-2], -1)
    with np.errstate(divide="ignore"):
        decades = MaskedValues(jnp.asarray(np.log10(each)), jnp.ones(each.shape, bool))
    label = _matrices(math.prod(each.shape[:-1]), label)
    name = r"$\log_{10}\, n|v_i|^2$"
    return _estimates.histogram(decades, edges, references, name=name, label=label, ax=ax, style=style)


def inverse_participation_ratio(
    levels: Annotated[RealLike, "*batch k"],
    vectors: Annotated[ArrayLike, "*batch n k"],
    *,
    q: RealScalarLike = 2.0,
    betas: RealOrComplex | Iterable[RealOrComplex] = (1, 2),
    bins: RealLike = 20,
    label: str | None = None,
    ax: "Axes | None" = None,
    **style: Any,
) -> "Axes":
    r"""Draw the inverse participation ratio $I_q = \sum_i |v_i|^{2q}$ of eigenvectors over their levels.

    The line is the mean of `statistics.inverse_participation_ratio` over all vectors whose levels lie in a bin. The
    axis is logarithmic. The reference lines are `laws.mean_inverse_participation_ratio`, the exact mean for vectors
    that are uniform on the sphere. A localised state is far above them, and a mobility edge is a step.
    `rmtjax.plotting` says what all plots have in common.

    Args:
        levels: the level of each vector, `(..., k)`, as `rmt.eigh` returns them; the matrices are independent.
        vectors: real or complex, the columns of `(..., n, k)`.
        q: exponent, above -β/2.
        betas: which references: 1 for real vectors, 2 for complex ones.
        bins: a number of bins between the lowest and the highest level, or their edges. Where a bin has
            no levels, or those of only one of several matrices, the line has a gap.
        label: name of the vectors in the legend; by default the number of matrices.
        ax: where to draw; by default a new figure.
        style: what matplotlib's `Axes.plot` takes, such as `color` and `linewidth`.

    Raises:
        ValueError: an argument is outside its range, levels and vectors do not fit together, there are no vectors, or a
            vector is 0 or not finite.

    Example:
        >>> import jax, rmtjax as rmt, rmtjax.plotting
        >>> matrices = rmt.simulate(rmt.GOE(20).sample, jax.random.key(0), 50)
        >>> ax = rmt.plotting.inverse_participation_ratio(*rmt.eigh(matrices), betas=[1])
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['50 matrices', 'β = 1']

    References:
        Evers and Mirlin (2008), Rev. Mod. Phys. 80, 1355.
    """
    exponent = _checks.scalar("q", q)
    ratios = np.asarray(statistics.inverse_participation_ratio(vectors, exponent), np.float64)
    energies = np.asarray(_checks.real("levels", levels), np.float64)
    if energies.shape != ratios.shape or energies.size == 0:
        raise _checks.refusal("levels", f"be one for each vector, of the shape {ratios.shape}", energies.shape)
    if not (np.isfinite(energies).all() and np.isfinite(ratios).all()):
        raise _checks.refusal("vectors", "be finite and none of them 0, with finite levels", vectors)
    edges, everything = _bins.over(energies, bins), np.ones(energies.shape, bool)
    each = _means.binned(energies, everything, edges, ratios), _means.binned(energies, everything, edges)
    middle, names = (edges[1:] + edges[:-1]) / 2, ("level", rf"$I_{{{float(exponent):g}}}$")
    n, label = np.shape(np.asarray(vectors))[-2], _matrices(len(each[0]), label)
    reference = lambda grid, beta: np.full_like(grid, laws.mean_inverse_participation_ratio(n, beta, exponent))
    options: dict[str, Any] = {"combine": _means.quotient, "log": "y", "allowed": RealOrComplex}
    return _estimates.curve(middle, each, reference, betas, names, label, ax, style, **options)


def _matrices(number: int, label: str | None) -> str:
    return _estimates.counted(number, "matrix", "matrices") if label is None else label


def _of_logarithm(law: laws.AbstractLaw, decades: np.ndarray) -> np.ndarray:
    """The density of the decimal logarithm of an intensity that follows a law."""
    intensity = 10.0**decades
    return intensity * math.log(10) * np.asarray(law.pdf(intensity), np.float64)
