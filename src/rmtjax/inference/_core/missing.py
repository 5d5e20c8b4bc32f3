r"""Data with missing entries, which are NaN: which rows or pairs of entries are taken, and moments of the pairs.

With $m_{ij} = 1$ where $x_{ij}$ is there and 0 where it is not, weights $w_i$ of the rows, and the sums

$$c_j = \sum_i w_i m_{ij}, \qquad c_{jk} = \sum_i w_i m_{ij} m_{ik}, \qquad e_{jk} = \sum_i w_i^2 m_{ij} m_{ik},$$

the mean of a column is that of what is there, $\bar x_j = \sum_i w_i m_{ij} x_{ij} / c_j$, and

$$S_{jk} = \frac{1}{a_{jk}} \sum_i w_i m_{ij} m_{ik} (x_{ij} - \bar x_j)\overline{(x_{ik} - \bar x_k)}, \qquad
a_{jk} = c_{jk} - e_{jk} \left(\frac1{c_j} + \frac1{c_k} - \frac{c_{jk}}{c_j c_k}\right),$$

or $a_{jk} = c_{jk}$ where the mean is known. S has no bias if what is missing does not depend on the values: the terms
of $a_{jk}$ are $c_{jk}$ and the covariances of $x_{ij}$ with $\bar x_k$, of $\bar x_j$ with $x_{ik}$, and of
$\bar x_j$ with $\bar x_k$. With nothing missing and equal weights $a_{jk} = n - 1$.

The variance of $S_{jk}$ is $(e_{jk}/c_{jk}^2)(\Sigma_{jj} \Sigma_{kk} + |\Sigma_{jk}|^2)$ for real normal data. So it
is $R_{jk} = (e_{jk}/c_{jk}^2) / (\sum_i w_i^2/(\sum_i w_i)^2)$ times as large as with nothing missing. For equal
weights R is $n/n_{jk}$ with the number $n_{jk}$ of rows in which both are there.

References:
    Lounici (2014), Bernoulli 20, 1029; Little and Rubin (2019), Statistical Analysis with Missing Data, section 3.4.
"""

from typing import Any, NamedTuple, get_args

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import aligned, like
from rmtjax._typing import Missing
from rmtjax.inference._core.data import observations, to_leave_out
from rmtjax.linalg.internal import adjoint


def _pairs(data: Any) -> Any:
    """In how many rows both entries of each pair of columns are there."""
    present = (data == data).astype(np.float32)
    return present.swapaxes(-1, -2) @ present


def _alone(data: np.ndarray) -> str:
    """Which columns have too few rows in common, and what to do about it."""
    pairs = _pairs(data).reshape(-1, data.shape[-1], data.shape[-1]).min(0)
    few = np.flatnonzero(np.diagonal(pairs) < 2)
    if few.size:
        return to_leave_out("column", few)
    j, k = np.argwhere(pairs < 2)[0]
    number = (pairs < 2).any(0).sum()
    common = f"columns {j} and {k}, which have {pairs[j, k]:.0f} in common; leave one of them out"
    return common if number == 2 else f"{common} ({number} columns are in such pairs)"


# For the rows that count: those without a weight are no observations.
TOGETHER = _checks.Rule(
    lambda data: (_pairs(data) >= 2).all((-2, -1)), "have at least 2 rows for each pair of columns", _alone
)


def with_gaps(
    data: Any, missing: Missing | None, choices: Any = Missing
) -> tuple[Inexact[Array, "*batch n p"], Any, np.ndarray | None]:
    """Data matrices, whether each is valid, and which rows were kept if some were left out; NaN remains for pairs.

    For pairs the caller checks `TOGETHER`, when it knows which rows have a weight.

    Raises:
        ValueError: as `observations`; or rows would have to be left out that are not known, or of a batch.
        ValueError: fewer than 2 rows are left.
    """
    if missing is None:
        return *observations(data, choices=get_args(choices)), None
    missing = _checks.choice("missing", missing, choices)
    array, valid = observations(data, gaps=True)
    # Under `grad` alone the array is a tracer, but what is missing is known.
    gaps = jnp.isnan(array) if isinstance(array, Tracer) else np.isnan(np.asarray(array))
    if isinstance(gaps, Tracer):
        if missing == "drop":
            must = 'not be "drop" under a transformation, where it is not known which rows to leave out'
            raise _checks.refusal("missing", must, missing)
        return array, valid, None
    gaps = np.asarray(gaps)
    kept: Any = ~(gaps.any(-1) if missing == "drop" else gaps.all(-1))
    if array.ndim > 2:
        if missing == "drop":
            must = 'not be "drop" for a batch, whose matrices may lose different rows'
            raise _checks.refusal("missing", must, missing)
        kept = kept.reshape(-1, kept.shape[-1]).any(0)
    if not kept.all():
        if kept.sum() < 2:
            raise _checks.refusal("data", "have at least 2 rows without NaN", _checks.Words(f"{kept.sum()} such rows"))
        # On the host, where nothing is compiled.
        array = array[..., kept, :] if isinstance(array, Tracer) else jnp.asarray(np.asarray(array)[..., kept, :])
    return array, valid, None if kept.all() else kept


def filled(data: Inexact[Array, "*batch n p"]) -> Any:
    """The data with 0 for missing entries, on the host where they are known, as nothing is compiled there."""
    return jnp.where(data == data, data, 0) if isinstance(data, Tracer) else np.nan_to_num(np.asarray(data), nan=0.0)


def entries(data: Inexact[Array, "*batch n p"], *, center: bool) -> tuple[Inexact[Array, "*batch n p"], Array]:
    """The entries with 0 for missing ones, and which are there; with `center` in departures from the first of each."""
    present = data == data
    data = jnp.where(present, data, 0)  # derivatives never meet a NaN
    if center:
        # Constant columns become 0 exactly; the rounding of a mean would leave levels of its square.
        first = jnp.take_along_axis(data, jnp.argmax(present, axis=-2, keepdims=True), axis=-2)
        data = jnp.where(present, data - first, 0)
    return data, present


class PairwiseMoments(NamedTuple):
    """Moments of the pairs, in the notation at the top of the file."""

    matrix: Inexact[Array, "*batch p p"]  # S
    noise: Float[Array, "*batch p p"]  # R
    counts: Float[Array, "*batch p p"]  # c
    divisors: Float[Array, "*batch p p"]  # a
    deviations: Inexact[Array, "*batch n p"]  # from the means, and 0 where entries are missing


def pairwise_moments(
    data: Inexact[Array, "*batch n p"],
    present: Bool[Array, "*batch n p"],
    weights: Float[Array, " n"] | None,
    *,
    center: bool,
) -> PairwiseMoments:
    """The moments of data that are 0 where they are missing."""
    real = data.real.dtype
    there = present.astype(real)
    over = lambda each: adjoint(there) @ each
    weighted = lambda each: each if weights is None else jnp.multiply(*aligned(weights[:, None], each))
    counts = over(weighted(there))
    squares = counts if weights is None else over(weighted(weighted(there)))
    known = jnp.where(counts > 0, counts, 1)
    of_column = jnp.diagonal(known, axis1=-2, axis2=-1)
    divisors = known
    if center:
        mean = jnp.sum(weighted(data), -2, keepdims=True) / like(data, of_column)[..., None, :]
        data = jnp.where(present, data - mean, 0)
        inverse = 1 / of_column
        lost = inverse[..., :, None] + inverse[..., None, :] - counts * inverse[..., :, None] * inverse[..., None, :]
        divisors = jnp.maximum(known - squares * lost, jnp.finfo(real).eps)
    products = jnp.swapaxes(data, -1, -2) @ jnp.conj(weighted(data))
    share = 1 / data.shape[-2] if weights is None else jnp.sum(weights**2) / jnp.sum(weights) ** 2
    return PairwiseMoments(products / like(data, divisors), squares / known**2 / share, known, divisors, data)
