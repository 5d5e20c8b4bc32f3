r"""The rank of a signal in noise of an unknown covariance, from data and observations of noise alone.

Let $H = X^*X$ with n rows and $E = Z^*Z$ with m rows of noise alone, of the same covariance Σ. Without a signal, H and
E are independent Wishart matrices, and the roots f of $\det(H - fE) = 0$ do not depend on Σ. The largest one follows
the law of Roy's test. The logarithm of f is the logit of the root $\theta = f/(1 + f)$ of $\det(H - \theta(H + E))$, in
which Johnstone (2008) has the constants of the second order.

*Behind k signals.* Let the signals span k directions. By Courant and Fischer, root k + 1 is at most the largest root of
H and E in the p - k directions at right angles to them, where both are noise of n and m rows.
"""

from functools import partial
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact, Int

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._promotion import aligned, in_one_precision
from rmtjax._typing import ArrayLike, RealScalarLike
from rmtjax._units import largest_part
from rmtjax.ensembles.internal import largest_jacobi_level
from rmtjax.inference._core.data import masked_each, observations, without_mean
from rmtjax.inference._signal.largest_root import smallest_pivot
from rmtjax.laws import TracyWidom


class RankAboveNoise(AbstractModule):
    r"""The number of components that noise alone does not have, as `signal_rank_above_noise` returns it.

    Args:
        rank: how many levels are signal; -1 where the data are not valid.
        p_values: p-value of each level as noise behind all larger ones, largest level first.
        edge: the level around which the largest one of the noise fluctuates.
        levels: the levels of $\hat\Sigma^{-1} S$ that were judged, largest first; around 1 for noise alone.
        n: degrees of freedom of the data; static.
        m: degrees of freedom of the noise; static.
        p: number of variables; static.

    Example:
        >>> import jax
        >>> noise, data = jax.random.normal(jax.random.key(0), (2, 50, 8))
        >>> found = signal_rank_above_noise(data, noise)
        >>> print(found.rank, found.n, found.m, found.p)
        0 49 49 8
    """

    rank: Int[Array, "*batch"]
    p_values: Float[Array, "*batch k"]
    edge: Float[Array, "*batch"]
    levels: Float[Array, "*batch k"]
    n: int = eqx.field(static=True)
    m: int = eqx.field(static=True)
    p: int = eqx.field(static=True)


def signal_rank_above_noise(
    data: Annotated[ArrayLike, "*batch n p"],
    noise: Annotated[ArrayLike, "*batch m p"],
    *,
    alpha: RealScalarLike = 0.05,
    center: bool = True,
) -> RankAboveNoise:
    r"""The number of components of a data matrix that are not in observations of noise alone, of any covariance.

    The noise may be correlated over the columns and have other levels in each, as long as it is the same in the data
    and in the observations of noise, such as scans without a signal. The levels are those of $\hat\Sigma^{-1} S$, with
    the sample covariance matrices $\hat\Sigma$ of the noise and S of the data. Level k is compared with the largest one
    of noise behind k - 1 signals, by the law of Tracy and Widom for the logarithm of Roy's largest root. The rank is
    the number of levels before the first one that noise explains.

    The observations of noise are few, and so $\hat\Sigma^{-1} S$ has much larger levels than white noise has:
    `signal_rank` with `noise_covariance` takes $\hat\Sigma$ for the truth. At the nominal 5 % and without any signal in
    100 × 20 it finds one in all matrices for m = 2 p and 4 p, in 66 % for m = 20 p, and in 13 % for m = 100 p. This
    function finds one in 4 to 5 % from m = 2 p on, and in 2 to 3 % for m = p + 1; behind signals it finds a further one
    in at most 5 %.

    Convention: rows are independent observations, and the noise is normal. With `center` each of the two matrices has
    one degree of freedom less.

    Args:
        data: real or (circular) complex, observations in rows, batched over leading axes.
        noise: observations of noise alone in the same columns, more than p (p + 1 with `center`); one matrix for all
            data, or one for each.
        alpha: significance level of each test, between 0 and 1.
        center: whether the mean of each column is unknown and is taken away, in both matrices; static.

    Returns:
        A record with `rank`, `p_values`, `edge` and `levels`, and n, m and p as they were taken.

    Raises:
        ValueError: `data` or `noise` are not a matrix of at least two rows of finite numbers, or differ in columns.
        ValueError: `noise` has too few rows, or columns that are constant or depend on each other.
        ValueError: `alpha` is not between 0 and 1.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> noise, other = jax.random.normal(jax.random.key(0), (2, 100, 10)) @ jnp.tril(jnp.ones((10, 10)))
        >>> data = other + jnp.outer(jax.random.normal(jax.random.key(1), (100,)), jnp.linspace(-2, 2, 10))
        >>> print(signal_rank_above_noise(other, noise).rank, signal_rank_above_noise(data, noise).rank)
        0 1

    References:
        Johnstone (2008), Ann. Statist. 36, 2638, theorem 1; Nadakuditi and Silverstein (2010), IEEE J. Sel. Top. Signal
        Process. 4, 468, for the smallest signal that can be found.
    """
    (array, valid), (scans, fit) = observations(data), observations(noise, name="noise")
    if scans.shape[-1] != array.shape[-1] or scans.shape[:-2] not in ((), array.shape[:-2]):
        must = f"have the {array.shape[-1]} columns of the data, and one matrix or one for each"
        raise _checks.refusal("noise", must, scans.shape)
    center, p = bool(center), array.shape[-1]
    if scans.shape[-2] - center <= p:
        raise _checks.refusal("noise", f"have at least {p + 1 + center} rows for {p} columns", scans.shape)
    level = _checks.scalar("alpha", alpha)
    array, scans = in_one_precision((array, scans))
    fit = _checks.all_kept(fit, valid, _checks.PROPER_FRACTION.kept("alpha", level))
    result, smallest = _judged(array, scans, level.astype(jnp.finfo(array.dtype).dtype), center)
    return masked_each(_checks.all_kept(fit, _SPREAD.kept("noise", smallest)), array.ndim - 2, result)


_SPREAD = _checks.Rule(
    lambda smallest: smallest > 0,
    "have columns that vary and do not follow from each other",
    lambda smallest: "columns of lower rank (constant, repeated, or a sum of others)",
)


@partial(compiled, static_argnums=3, nan_is_an_answer=True)
def _judged(
    data: Inexact[Array, "*batch n p"], noise: Inexact[Array, "..."], alpha: Float[Array, ""], center: bool
) -> tuple[RankAboveNoise, Float[Array, "..."]]:
    """The result, and 0 where the columns of the noise are of lower rank."""
    # Levels do not depend on the unit of a column, but rounding does.
    size = largest_part(noise, -2)
    size = jnp.where(size > 0, size, 1)
    data, noise = (jnp.divide(*aligned(rows, size)) for rows in (data, noise))
    data, noise = (without_mean(data), without_mean(noise)) if center else (data, noise)
    n, p, m = *data.shape[-2:], noise.shape[-2]
    root = jnp.linalg.qr(noise, mode="r")
    smallest = smallest_pivot(root, m)
    # The singular values of X R⁻¹ are the roots; the levels themselves would lose half of the digits.
    data = jnp.swapaxes(data, -1, -2)
    root = jnp.broadcast_to(jnp.swapaxes(root, -1, -2), (*data.shape[:-2], p, p))
    white = jax.scipy.linalg.solve_triangular(root, data, lower=True)
    roots = jnp.linalg.svd(white, compute_uv=False)
    beta = 2 if jnp.iscomplexobj(data) else 1
    before = jnp.arange(roots.shape[-1], dtype=roots.dtype)
    centre, scale = largest_jacobi_level(p - before, n, m, beta)
    logarithms, centres, scales = aligned(2 * jnp.log(roots), centre, scale)
    p_values = TracyWidom(beta).sf((logarithms - centres) / scales)
    signal = p_values < alpha
    rank = jnp.sum(jnp.cumprod(signal, axis=-1), axis=-1)
    edge = jnp.exp(centre)[jnp.minimum(rank, centre.size - 1)] * (m / n)
    return RankAboveNoise(rank, p_values, edge, roots**2 * (m / n), n, m, p), smallest
