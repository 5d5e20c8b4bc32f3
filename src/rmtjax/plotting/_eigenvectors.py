"""Histograms of the components of eigenvectors."""

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Inexact

from rmtjax import _checks, laws, statistics
from rmtjax._typing import RealLike
from rmtjax.linalg import MaskedValues
from rmtjax.plotting import _bins, _estimates

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def intensities(
    vectors: Inexact[Array, "*batch n k"],
    *,
    betas: Iterable[int] = (1, 2),
    bins: int | RealLike = 40,
    label: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    r"""Draw the histogram of $\log_{10} n|v_i|^2$ over the components of eigenvectors, with its error, and exact laws.

    The intensities of all vectors are pooled; a component 0 counts in the total. The logarithm shows the many small
    components, where real and complex vectors differ most. The bars of error hold the true height with 95 % confidence.
    They come from the spread over the matrices, as the components of one matrix depend on one another; a single matrix
    has none. The laws are `laws.EigenvectorIntensity` for this n, of vectors that are uniform on the sphere, and tend
    to `laws.PorterThomas`.

    Args:
        vectors: real or complex, the columns of `(..., n, k)`, as `rmt.eigh` returns them; the matrices on the leading
            axes are independent.
        betas: which laws: 1 for real, 2 for complex vectors, those of quaternion matrices in complex form too. A law
            that is on the axes is not drawn again.
        bins: a number of bins between -4 and $\log_{10} n$, or their edges.
        label: name of the vectors in the legend; by default the number of matrices.
        ax: where to draw, by default a new figure. Further vectors on the same axes have another colour.

    Returns:
        The axes.

    Raises:
        ValueError: the vectors have fewer than two axes, less than two components, or one of them is 0 or no number;
            there are none; `bins` are neither a whole number nor ascending edges; or a β is none of these.
        ImportError: matplotlib is not installed.

    Example:
        >>> import jax, rmtjax as rmt, rmtjax.plotting
        >>> matrices = rmt.simulate(rmt.GOE(20).sample, jax.random.key(0), 50)
        >>> ax = rmt.plotting.intensities(rmt.eigh(matrices)[1])
        >>> print([text.get_text() for text in ax.get_legend().get_texts()])
        ['50 matrices', 'β = 1', 'β = 2']

    References:
        Porter and Thomas (1956), Phys. Rev. 104, 483; Haake (2010), Quantum signatures of chaos, section 4.9.
    """
    values = np.asarray(statistics.porter_thomas_intensities(vectors), np.float64)
    n = values.shape[-2]
    if n < 2 or values.size == 0:
        raise _checks.refusal("vectors", "be at least one, of two or more components", values.shape)
    if not np.isfinite(values).all():
        raise _checks.refusal("vectors", "be finite, and none of them 0", vectors)
    edges = _bins.chosen(bins, -4.0, math.log10(n))
    references = {beta: _density(n, _checks.dyson_index(beta, (1, 2))) for beta in betas}
    each = values.reshape(*values.shape[:-2], -1)
    with np.errstate(divide="ignore"):
        decades = MaskedValues(jnp.asarray(np.log10(each)), jnp.ones(each.shape, bool))
    number = math.prod(each.shape[:-1])
    label = ("1 matrix" if number == 1 else f"{number:,} matrices") if label is None else label
    name = r"$\log_{10}\, n|v_i|^2$"
    return _estimates.histogram(decades, edges, references, name=name, label=label, ax=ax)


def _density(n: int, beta: int) -> Callable[[np.ndarray], np.ndarray]:
    return partial(_of_logarithm, laws.EigenvectorIntensity(n, beta))


def _of_logarithm(law: laws.AbstractLaw, decades: np.ndarray) -> np.ndarray:
    intensity = 10.0**decades
    return intensity * math.log(10) * np.asarray(law.pdf(intensity), np.float64)
