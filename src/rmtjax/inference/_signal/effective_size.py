"""The effective number of observations of rows that depend on one another."""

import functools
from typing import Annotated

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact, Int

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._typing import ArrayLike
from rmtjax.inference._core.data import in_unit, observations, without_mean


def effective_sample_size(data: Annotated[ArrayLike, "*batch n p"], *, center: bool = True) -> Float[Array, "*batch"]:
    r"""The number of independent observations with the same spectrum as dependent rows of a data matrix.

    Let the columns be independent, each with its own variance and all with the covariance T between the rows, as in a
    stationary time series. Then, for distinct columns x and y,

    $$n_{\mathrm{eff}} = \frac{(\operatorname{tr} T)^2}{\operatorname{tr} T^2}, \qquad
    E\,|x^* y|^2 = \frac{1}{n_{\mathrm{eff}}}\,E\,|x|^2\,E\,|y|^2 ,$$

    so that the ratio of the sums over all pairs of columns is an estimate of $1/n_{\mathrm{eff}}$. A first-order
    autoregression with the coefficient r has $n_{\mathrm{eff}} \approx n\,(1 - r^2)/(1 + r^2)$. Take it for data
    without signal, or for residuals after the components were removed, because columns that depend on each other lower
    it as rows do: 500 independent rows with one factor that is half of the variance of each column give 4.

    `signal_rank(data, n=…)` takes it. The variance of the levels is then right, and their edge to the order
    $\sqrt{p/n}$. Beyond that order the spectrum depends on all of T, so tests are calibrated for few variables only. At
    the nominal 5 %, n = 2000 and r = 0.3, they alarm in 4 % of the matrices for p = 5 and in 10 % for p = 50; with the
    number of rows instead, in 10 % and 67 %.

    Args:
        data: observations × variables, batched over leading axes, of at least two variables.
        center: whether the mean of each column is unknown and is taken away; static.

    Returns:
        One number for each matrix, at most the number of rows, or one less with `center`.

    Raises:
        ValueError: `data` are not a finite matrix of at least two rows and columns, or fewer than two columns vary.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> rows = jax.random.normal(jax.random.key(0), (100, 50))
        >>> print(round(float(effective_sample_size(jnp.repeat(rows, 3, axis=0))), -1))  # each row thrice
        100.0

    References:
        Bai and Saranadasa (1996), Stat. Sin. 6, 311, for such estimates of the trace of a squared covariance.
    """
    array, valid = observations(data)
    if array.shape[-1] < 2:
        raise _checks.refusal("data", "have at least 2 columns", array.shape)
    size, varying = _effective(array, bool(center))
    return _checks.masked(_checks.all_kept(valid, _VARYING.kept("data", varying)), size)


_VARYING = _checks.Rule(
    lambda varying: varying >= 2,
    "have at least 2 columns that vary (that are not 0, without `center`)",
    lambda varying: f"a matrix with {varying.min()}",
)


@functools.partial(compiled, static_argnums=(1,))
def _effective(data: Inexact[Array, "*batch n p"], center: bool) -> tuple[Float[Array, "*batch"], Int[Array, "*batch"]]:
    """The effective number, and how many columns vary."""
    rows, _ = in_unit(data)
    if center:
        rows, _ = in_unit(without_mean(rows))
    squares = jnp.sum(jnp.abs(rows) ** 2, axis=-2)
    # The products of all pairs of columns, from the smaller of the two Gram matrices.
    other = jnp.conj(jnp.swapaxes(rows, -1, -2))
    if rows.shape[-1] > rows.shape[-2]:
        products = jnp.sum(jnp.abs(rows @ other) ** 2, axis=(-2, -1)) - jnp.sum(squares**2, axis=-1)
        lengths = jnp.sum(squares, axis=-1) ** 2 - jnp.sum(squares**2, axis=-1)
    else:
        # Sum pair by pair: with one column of large variance the difference of two sums would cancel.
        pairs = jax.lax.broadcast_to_rank(1 - jnp.eye(rows.shape[-1], dtype=squares.dtype), rows.ndim)
        products = jnp.sum(pairs * jnp.abs(other @ rows) ** 2, axis=(-2, -1))
        lengths = jnp.sum(pairs * squares[..., :, None] * squares[..., None, :], axis=(-2, -1))
    first = data[..., :1, :] if center else 0
    varying = jnp.sum(jnp.any(data != first, axis=-2), axis=-1)
    return jnp.minimum(lengths / products, rows.shape[-2]), varying
