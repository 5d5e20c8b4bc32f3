r"""A data matrix as the functions of this package take it: rows are observations, columns are variables.

A known mean costs nothing; an unknown mean costs an observation. With $d_i = x_i - \bar x$ the $n - 1$ rows

$$y_i = d_i - \frac{d_0}{\sqrt n + 1}, \qquad i = 1, \dots, n - 1,$$

are the data after a reflection that takes $(1, \dots, 1)/\sqrt n$ to the first axis, without that axis. So
$\sum_i y_i y_i^* = \sum_i d_i d_i^*$, and rows of independent normal observations stay independent and normal. Every
formula for observations of mean 0 then holds for the rows y, and none needs to know about the mean.
"""

from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Inexact

from rmtjax import _checks, _units

T = TypeVar("T")


def _missing(data: np.ndarray, *, choices: tuple[str, ...] = ()) -> str:
    """What is wrong with a matrix that is not finite, and what to do about it, by a choice of `missing` if any."""
    missing = np.isnan(data)
    if missing.any():
        rows, columns = int(missing.any(-1).sum()), int(missing.any(-2).sum())
        number, word = (rows, "row") if rows <= columns else (columns, "column")
        fewer = f"this {word}" if number == 1 else f"these {number} {word}s"
        found = f"{missing.sum()} NaN, first {_checks.entry(data, missing)}"
        if choices:
            pairs = '`missing="pairwise"` takes what is there, ' if "pairwise" in choices else ""
            return f'{found}; {pairs}`missing="drop"` leaves {rows} of {data.shape[-2]} rows out'
        return f"{found}; leave {fewer} out, or impute what is missing"
    return f"{np.isinf(data).sum()} infinite numbers, first {_checks.entry(data, np.isinf(data))}"


_COMPLETE = _checks.Rule(lambda data: (abs(data) < jnp.inf).all((-2, -1)), "be finite", _missing)
_NOT_INFINITE = _checks.Rule(lambda data: ~(abs(data) == jnp.inf).any((-2, -1)), "not be infinite", _missing)


def _asymmetry(matrix: Any) -> Any:
    return abs(matrix - matrix.conj().swapaxes(-1, -2)).max((-2, -1))


def _is_hermitian(matrix: Any) -> Any:
    """Whether each matrix is Hermitian up to rounding, as products and inverses are."""
    return _asymmetry(matrix) <= matrix.shape[-1] * jnp.finfo(matrix.dtype).eps * _largest(matrix)


def in_batch(index: tuple[Any, ...]) -> str:
    """Which matrix of a batch it is, for the end of a refusal."""
    return f" in matrix {', '.join(map(str, index))} of the batch" if index else ""


def _across(matrix: np.ndarray) -> str:
    asymmetry = _asymmetry(matrix)
    worst = np.unravel_index(np.argmax(asymmetry), asymmetry.shape)
    return f"entries that differ by up to {asymmetry[worst]:.3g} from those across the diagonal{in_batch(worst)}"


HERMITIAN = _checks.Rule(_is_hermitian, "be Hermitian (of a factor L write `L @ L.conj().T`)", _across)


def _covariance_passed(array: Array) -> bool:
    """Whether this is a covariance or correlation matrix: continuous data are never Hermitian by chance."""
    if isinstance(array, Tracer) or not array.shape[-1] == array.shape[-2] > 2:
        return False
    data = np.asarray(array)
    return bool(0 < np.abs(data).max(initial=0) < np.inf and _is_hermitian(data).all())


def observations(
    data: Any, *, name: str = "data", hermitian: bool = False, gaps: bool = False, choices: tuple[str, ...] = ()
) -> tuple[Inexact[Array, "*batch n p"], Any]:
    """Data matrices of at least two rows, and whether each is finite.

    With `gaps` they may have NaN or masked entries, which become NaN; `choices` are those of an argument `missing`.

    Raises:
        ValueError: `data` are not matrices of numbers, have fewer than two rows, or are Hermitian without leave.
        ValueError: `data` lose how a column varies in single precision, or are known to hold NaN or infinity.
    """
    if gaps and isinstance(data, np.ma.MaskedArray):
        data = np.ma.filled(data.astype(np.result_type(data.dtype, np.float32)), np.nan)
    array = _checks.numbers(name, data)
    if array.ndim < 2 or array.shape[-2] < 2 or array.shape[-1] < 1:
        must = "have at least 2 rows (observations) and 1 column (variables; `x[:, None]` makes one)"
        raise _checks.refusal(name, must, array.shape)
    _checks.in_range(name, data, array)
    rule = _NOT_INFINITE if gaps else _COMPLETE._replace(fault=partial(_missing, choices=choices))
    valid = rule.kept(name, array)
    there = ~np.isnan(np.asarray(array)) if gaps and not isinstance(array, Tracer) else True
    _checks.deviations_kept(name, data, array, -2, there)
    if not hermitian and _covariance_passed(array):
        kind = _checks.Words(f"a Hermitian matrix of shape {array.shape}, such as a covariance or correlation matrix")
        raise _checks.refusal(name, "be observations × variables", kind)
    return array, valid


def to_leave_out(kind: str, numbers: np.ndarray) -> str:
    """What a refusal says of columns or rows by their numbers, of which there is at least one."""
    shown = ", ".join(map(str, numbers[:5])) + (f" and {numbers.size - 5} more" if numbers.size > 5 else "")
    return f"{kind}s {shown}; leave them out" if numbers.size > 1 else f"{kind} {shown}; leave it out"


def rounding(levels: Any) -> Any:
    """The largest size, of either sign, of a level of 0 after the rounding of the largest level of its spectrum."""
    eps = jnp.finfo(levels.dtype).eps
    return 8 * levels.shape[-1] * eps * abs(levels).max(-1, keepdims=True)


def _ascending(levels: Any) -> Any:
    steps = (levels[..., 1:] >= levels[..., :-1]).all(-1)
    return steps & ((levels >= -rounding(levels)) & (levels < jnp.inf)).all(-1)


LEVELS = _checks.Rule(_ascending, "be ascending, finite and not negative (`jnp.sort` puts levels in order)")


def range_of_squares(dtype: Any) -> tuple[float, float]:
    """The range in which squares lose no digits to underflow and up to 64 of them can be added without overflow."""
    info = jnp.finfo(dtype)
    return float(info.tiny / info.eps), float(info.max) / 64


def _largest(data: Any) -> Any:
    """The largest entry of each matrix."""
    return abs(data).max((-2, -1))


def _squares_fit(data: Any) -> Any:
    """Whether the square of the largest entry is in this range, or all entries are 0."""
    lowest, highest = range_of_squares(data.dtype)
    largest = _largest(data)
    return ((largest > lowest**0.5) & (largest < highest**0.5)) | (largest == 0)


SQUARES = _checks.Rule(
    _squares_fit,
    "have squares within the range of its precision (scale it, or set `jax_enable_x64`)",
    lambda data: f"{data.dtype.name} with the largest entry {float(_largest(data).max()):.3g}",
)


def in_unit(data: Inexact[Array, "*batch n p"]) -> tuple[Inexact[Array, "*batch n p"], Float[Array, "*batch 1 1"]]:
    """The data in a unit near the largest entry of each matrix, and this unit: fourth powers are in range too."""
    return _units.in_unit(data, (-2, -1))


def rounding_of_zero(size: int, dtype: Any) -> float:
    """The largest rounding of a singular value or level of 0, over the largest one of a matrix of this size.

    Measured on matrices of low rank up to 1000 × 600, it is about √size eps for singular values, with the larger side
    as the size, and half of that for the levels of a Gram matrix, with its order as the size.
    """
    return 2 * size**0.5 * float(jnp.finfo(dtype).eps)


def departures(data: Inexact[Array, "*batch n p"]) -> Inexact[Array, "*batch n p"]:
    """The rows minus the first row, which is exact where rows are near each other, unlike the departures from a mean.

    The first row is a constant to derivatives, because results without a mean do not depend on it.
    """
    return data - jax.lax.stop_gradient(data[..., :1, :])


def mean_row(data: Inexact[Array, "*batch n p"]) -> Inexact[Array, "*batch 1 p"]:
    """The mean of the rows."""
    return jax.lax.stop_gradient(data[..., :1, :]) + jnp.mean(departures(data), axis=-2, keepdims=True)


def without_mean(data: Inexact[Array, "*batch n p"]) -> Inexact[Array, "*batch n-1 p"]:
    """The n - 1 rows of mean 0 that the formula at the top of the file gives."""
    data = departures(data)
    deviations = data - jnp.mean(data, axis=-2, keepdims=True)
    return deviations[..., 1:, :] - deviations[..., :1, :] / (data.shape[-2] ** 0.5 + 1)


def of_mean_zero(rows: Inexact[Array, "*batch n-1 p"]) -> Inexact[Array, "*batch n p"]:
    """The n deviations from the mean, from the rows of `without_mean`, whose reflection is its own inverse."""
    n = rows.shape[-2] + 1
    total = jnp.sum(rows, axis=-2, keepdims=True)
    return jnp.concatenate([-total / n**0.5, rows - total / (n + n**0.5)], axis=-2)


def masked_each(valid: Any, batch: int, tree: T) -> T:
    """NaN, or -1, for the matrices of a batch that are not valid, in arrays that begin with these axes."""
    if valid is True:
        return tree
    # The axes of the arrays behind the axes of the batch.
    behind = lambda leaf: tuple(range(valid.ndim, valid.ndim + leaf.ndim - batch))
    return jax.tree.map(lambda leaf: _checks.masked(jnp.expand_dims(valid, behind(leaf)), leaf), tree)
