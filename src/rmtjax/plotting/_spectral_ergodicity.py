"""The plot of how far single spectra are from the average over their ensemble."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from rmtjax import _checks, laws, statistics
from rmtjax._typing import DysonIndexOrZero, RealLike
from rmtjax.plotting import _estimates, _means
from rmtjax.spectra.internal import LevelsLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def spectral_ergodicity(
    levels: LevelsLike,
    edges: RealLike,
    *,
    betas: DysonIndexOrZero | Iterable[DysonIndexOrZero] = (0, 1, 2),
    label: str | None = None,
    ax: "Axes | None" = None,
    **style: Any,
) -> "Axes":
    r"""Draw the metric of Thirumalai and Mountain, bin by bin, with its error, and the curves of random matrices.

    Of n levels of a matrix N lie in a bin. With means over matrices the metric is

    $$\Omega = \langle N^2/n \rangle - \langle N \rangle^2/\langle n \rangle .$$

    It is `statistics.spectral_ergodicity` without the bias of few matrices, which the jackknife takes away. The axis is
    logarithmic. The curves are those of bins with the same mean numbers of levels $L = \langle N \rangle$. For
    independent levels the curve is $p(1 - p)$ with $p = L/\langle n \rangle$, which is exact. For the bulk of random
    matrices it is $\Sigma^2(L)/\langle n \rangle$ by `laws.number_variance`. `rmtjax.plotting` says what all plots have
    in common.

    Args:
        levels: ascending levels, `(..., n)`, or a `Spectrum`; the matrices on all leading axes are one ensemble.
        edges: edges of the bins, strictly ascending.
        betas: which curves: 0 for independent levels, 1, 2 or 4.
        label: name of the matrices in the legend; by default their number.
        ax: where to draw; by default a new figure.
        style: what matplotlib's `Axes.plot` takes, such as `color` and `linewidth`.

    Raises:
        ValueError: as for `statistics.level_density`, or fewer than two matrices have levels.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt, rmtjax.plotting
        >>> levels = rmt.simulate(rmt.GOE(40).eigenvalues, jax.random.key(0), 100)
        >>> ax = rmt.plotting.spectral_ergodicity(levels, jnp.linspace(-1.5, 1.5, 16), betas=[0, 1])
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['100 spectra', 'independent levels', 'β = 1']

    References:
        Thirumalai and Mountain (1990), Phys. Rev. A 42, 4574; Süzen, Weber and Cerdà (2017), arXiv:1704.08303.
    """
    density = np.asarray(statistics.level_density(levels, edges), np.float64)
    size = np.asarray(statistics.linear_statistic(levels, jnp.ones_like), np.float64).ravel()
    ends = np.asarray(edges, np.float64)
    some = size > 0
    if np.sum(some) < 2:
        raise _checks.refusal("levels", "be those of at least two matrices", density.shape[:-1])
    size = np.repeat(size[some, None], ends.size - 1, axis=1)
    number = np.round(_means.rows(density)[some] * size * np.diff(ends))
    middle, names = (ends[1:] + ends[:-1]) / 2, ("level", r"spectral ergodicity $\Omega$")
    each, reference = (number**2 / size, number, size), partial(_reference, number.mean(axis=0), size.mean())
    return _estimates.curve(
        middle, each, reference, betas, names, label, ax, style, combine=_ergodicity, grid=middle, log="y"
    )


def _ergodicity(means: tuple[Any, Any, Any]) -> Any:
    square, number, size = means
    return square - number**2 / size


def _reference(number: np.ndarray, size: float, _: np.ndarray, beta: Any) -> np.ndarray:
    return np.asarray(laws.number_variance(number, beta)) / size if beta else number / size * (1 - number / size)
