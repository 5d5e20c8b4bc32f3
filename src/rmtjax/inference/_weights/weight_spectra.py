r"""Spectra of the weights of networks: noise, signal and tail of every matrix in a pytree, as a table.

A matrix with independent entries of the variance σ², n on its longer side and p on the other, has levels $s^2/n$ of its
singular values s that fill the law of Marčenko and Pastur of ratio p/n. What training adds lies above.

*p-values behind signals.* A level is compared with the largest level of noise by its share in the sum of itself and of
all noise, as in `signal_rank`. The sum leaves out the other ones of the r levels that `fit_marchenko_pastur` finds
outside, so that many equal signals do not hide each other: of more than $np/(\sqrt n + \sqrt p)^2$ such signals, 25 in
a matrix of order 100, each would have a smaller share than the largest level of noise alone.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact, Int

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._typing import KeyScalar, PyTree, RealOrComplex
from rmtjax.inference._fits.marchenko_pastur import fit_marchenko_pastur
from rmtjax.inference._fits.tail import fit_tail
from rmtjax.inference._signal.largest_level import ratio_p_values
from rmtjax.inference._weights.matrices import FEWEST, Leaf, Unfolding, leaves

# A level below this share of the largest one is 0 to the rounding of single precision.
_ZERO = 1e-12
# Levels this near to each other, in units of the largest, are equal to the rounding of single precision.
_EQUAL = 1e-5
# Levels within this share of the width of noise are nearly equal, as for orthogonal initial weights in half precision.
# Noise of 10 singular values fills a third of the width or more.
_NARROW = 0.05
# How many values are tried as the beginning of a tail.
_CANDIDATES = 64


class WeightSpectra(NamedTuple):
    r"""The spectra of the weights of a network, as `weight_spectra` returns them, in columns.

    All columns are NumPy arrays with one entry for each leaf of the tree. `pandas.DataFrame(found._asdict())` makes a
    data frame. Where `note` says why numbers are missing, they are NaN and the verdict is empty.

    Args:
        name: path of the leaf.
        rows: number of rows of the matrix, into which kernels of convolutions are unfolded.
        columns: number of columns of the matrix.
        variance: σ² of the entries of the noise, by `fit_marchenko_pastur`.
        variance_error: standard error of the variance.
        ratio: p/n, the shorter side over the longer one, without rows and columns of zeros, as of pruned units.
        edge: the largest singular value of the noise, $\sigma(\sqrt n + \sqrt p)$.
        distance: distance of the noise from the law of Marčenko and Pastur.
        outliers: number of singular values beyond the noise.
        p_value: p-value of the largest singular value as noise.
        outlier_p_values: the p-values of all outliers, an array for each matrix.
        tail_exponent: exponent of a power law for the density of squared singular values, by `fit_tail`.
        tail_error: standard error of the exponent.
        tail_p_value: p-value of the power law; NaN without a key.
        tail_verdict: whether the tail is a power law.
        spectral_norm: the largest singular value.
        stable_rank: $\lVert W \rVert_F^2/\lVert W \rVert^2$.
        note: why the numbers are missing, or empty.

    Example:
        >>> import jax.numpy as jnp
        >>> print(weight_spectra({"bias": jnp.zeros(40)}).note)
        ['no matrix']
    """

    name: np.ndarray
    rows: Int[np.ndarray, " k"]
    columns: Int[np.ndarray, " k"]
    variance: Float[np.ndarray, " k"]
    variance_error: Float[np.ndarray, " k"]
    ratio: Float[np.ndarray, " k"]
    edge: Float[np.ndarray, " k"]
    distance: Float[np.ndarray, " k"]
    outliers: Float[np.ndarray, " k"]
    p_value: Float[np.ndarray, " k"]
    outlier_p_values: np.ndarray
    tail_exponent: Float[np.ndarray, " k"]
    tail_error: Float[np.ndarray, " k"]
    tail_p_value: Float[np.ndarray, " k"]
    tail_verdict: np.ndarray
    spectral_norm: Float[np.ndarray, " k"]
    stable_rank: Float[np.ndarray, " k"]
    note: np.ndarray


def weight_spectra(
    tree: PyTree,
    *,
    unfolding: Unfolding = "channels-first",
    alpha: float = 0.05,
    key: KeyScalar | None = None,
    resamples: int = 100,
) -> WeightSpectra:
    r"""Noise, signal and tail of the spectra of the matrices of a network.

    There is an entry for each leaf of the tree that is an array of numbers, in the order of the tree. A leaf has no
    numbers, and a `note`, if

    - it is no matrix, such as a bias, or holds integers, such as quantised weights without their scale;
    - it has fewer than 10 singular values, or fewer than 3 different ones;
    - two thirds of the singular values are 0;
    - all singular values are nearly equal, as in orthogonal initial weights.

    A matrix as it was initialised, with independent normal entries, has outliers with the probability `alpha`, 2 of 40
    matrices by default; with uniform entries, the default of most libraries, with half of it (2.2 % at 100 × 60).

    Args:
        tree: weights, such as an Equinox module or a dict of arrays. Leaves that are not arrays of numbers (functions)
            and vectors of integers (counts) are left out. Half precision becomes single precision.
        unfolding: how an array with more than two axes becomes a matrix. "channels-first", as in Equinox and PyTorch:
            (out, in, \*kernel) to out × (in · kernel). "channels-last", as in Flax and Keras: (\*kernel, in, out) to
            out × (kernel · in). "stacked": each matrix on the last two axes has an entry of its own, with its index in
            the name, as for layers of `jax.lax.scan`.
        alpha: the p-value below which a singular value is an outlier, in (0, 1).
        key: a typed key for the p-values of the tails; without one they are NaN, and no verdict is "power law".
        resamples: number of simulated samples for each p-value of a tail.

    Returns:
        A `WeightSpectra`, whose columns have one entry for each leaf.

    Raises:
        ValueError: `tree` has no array of numbers, or one that is traced, masked, deleted or not finite.
        ValueError: another argument is outside its range.

    Example:
        >>> import jax
        >>> weights = {"bias": jax.numpy.zeros(40), "kernel": jax.random.normal(jax.random.key(0), (40, 90)) / 90**0.5}
        >>> found = weight_spectra(weights)
        >>> print(found.name, found.outliers, (90 * found.variance).round(1))
        ['bias' 'kernel'] [nan  0.] [nan  1.]

    References:
        Martin and Mahoney (2021), J. Mach. Learn. Res. 22, 165, for spectra of trained weights and the exponent of
        their tails; Nadler (2011), J. Multivariate Anal. 102, 363, for the p-values.
    """
    _checks.choice("unfolding", unfolding, Unfolding)
    alpha = _checks.PROPER_FRACTION("alpha", _checks.static_real("alpha", alpha))
    resamples = _checks.integer("resamples", resamples, at_least=1)
    found = leaves(tree, unfolding)
    if key is not None:
        key = _checks.typed_key(key)
    table = _empty(found)
    groups: dict[tuple, list[int]] = {}
    for place, leaf in enumerate(found):
        if leaf.matrix is not None:
            shape = *sorted(leaf.matrix.shape), 2 if np.iscomplexobj(leaf.matrix) else 1
            groups.setdefault(shape, []).append(place)
    for number, ((p, n, beta), places) in enumerate(groups.items()):
        levels = np.stack([_levels(found[place].matrix) for place in places])
        here = None if key is None else jax.random.fold_in(key, number)
        _fill(table, np.asarray(places), levels, (n, p, beta), alpha, here, resamples)
    return table


def _empty(found: list[Leaf]) -> WeightSpectra:
    """The table with names, sizes and notes, and no numbers."""
    table = WeightSpectra(*(np.full(len(found), np.nan) for _ in WeightSpectra._fields))
    p_values = np.empty(len(found), object)
    p_values[:] = [np.zeros(0) for _ in found]
    rows, columns = np.array([leaf.shape for leaf in found]).T
    return table._replace(
        name=np.array([leaf.name for leaf in found], object),
        rows=rows,
        columns=columns,
        outlier_p_values=p_values,
        tail_verdict=np.full(len(found), "", object),
        note=np.array([leaf.note for leaf in found], object),
    )


def _fill(
    table: WeightSpectra,
    places: Int[np.ndarray, " m"],
    levels: Float[np.ndarray, "m p"],
    sizes: tuple[int, int, RealOrComplex],
    alpha: float,
    key: KeyScalar | None,
    resamples: int,
) -> None:
    """Write the rows of matrices of one shape."""
    n, p, beta = sizes
    top = levels[:, -1]
    table.ratio[places] = p / n
    table.spectral_norm[places] = np.sqrt(n * top)
    table.stable_rank[places] = np.where(top > 0, levels.sum(-1) / np.where(top > 0, top, 1), 0)
    if p < FEWEST:
        return
    notes = np.array([_without_bulk(each, n) for each in levels], object)
    table.note[places] = notes
    places, levels = places[notes == ""], levels[notes == ""]
    if not len(places):
        return
    # In units of the largest level nothing under- or overflows, not even in single precision.
    unit = levels[:, -1]
    known = jnp.asarray(levels / unit[:, None])
    fit = fit_marchenko_pastur(known, n, p, beta=beta)
    p_values = np.asarray(_p_values(known, fit.outliers, n, p, beta))
    count = np.cumprod(p_values < alpha, axis=-1).sum(-1)
    tail = fit_tail(known, discrete=False, candidates=_CANDIDATES, key=key, resamples=resamples)
    variance = np.asarray(fit.variance.value) * unit
    columns: dict[str, Any] = {
        "variance": variance,
        "variance_error": np.asarray(fit.variance.standard_error) * unit,
        "edge": np.sqrt(variance) * (n**0.5 + p**0.5),
        "distance": fit.distance,
        "outliers": count,
        "p_value": p_values[:, 0],
        "tail_exponent": tail.exponent.value,
        "tail_error": tail.exponent.standard_error,
        "tail_p_value": tail.p_value,
        "tail_verdict": tail.verdict,
    }
    for name, values in columns.items():
        getattr(table, name)[places] = np.asarray(values)
    for place, each, number in zip(places, p_values, count, strict=True):
        table.outlier_p_values[place] = each[:number]


def _without_bulk(levels: Float[np.ndarray, " p"], n: int) -> str:
    """Why ascending levels have no noise and no tail; empty if they have."""
    p, top = len(levels), levels[-1]
    if levels[-1 - p // 3] <= _ZERO * top:
        return "two thirds of the singular values are 0"
    width = 4 * (p / n) ** 0.5 / (1 + (p / n) ** 0.5) ** 2
    if top - levels[0] <= _NARROW * width * top:
        return "the singular values are nearly equal"
    different = (np.diff(levels) > _EQUAL * top) & (levels[:-1] > _ZERO * top)
    return "fewer than 3 different singular values" if different.sum() < 2 else ""


def _levels(matrix: Inexact[np.ndarray, "rows columns"]) -> Float[np.ndarray, " p"]:
    """The ascending squares of the singular values over the longer side, from LAPACK and in double precision.

    A program for each shape would take a second or two to compile before the first number.
    """
    wide = matrix.astype(np.result_type(matrix, np.float64))
    if wide.shape[0] < wide.shape[1]:
        wide = wide.T
    # In units of the largest entry no square under- or overflows.
    unit = np.abs(wide).max() or 1.0
    wide = wide / unit
    return np.maximum(np.linalg.eigvalsh(wide.conj().T @ wide), 0) / len(wide) * unit**2


@partial(compiled, static_argnums=(2, 3, 4))
def _p_values(
    levels: Float[Array, "m p"], outliers: Int[Array, " m"], n: int, p: int, beta: RealOrComplex
) -> Float[Array, "m p"]:
    """p-values of the levels, largest first, by the rule at the top of the file."""
    descending = levels[:, ::-1]
    place, r = jnp.arange(p)[None], outliers[:, None]
    behind = jnp.cumsum(levels, axis=-1)[:, ::-1]
    noise = jnp.sum(jnp.where(place < r, 0, descending), axis=-1, keepdims=True)
    rest = jnp.where(place < r, noise, behind - descending)
    before = jnp.maximum(place, r - 1).astype(levels.dtype)[..., None]
    columns: Any = p - before
    return ratio_p_values(descending[..., None], rest, n - before, columns, beta)[..., 0]
