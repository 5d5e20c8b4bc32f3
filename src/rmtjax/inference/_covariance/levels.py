"""Shrinkage where only the levels of a sample covariance matrix are known."""

from functools import partial
from typing import Annotated

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks, _units
from rmtjax._compile import compiled
from rmtjax._typing import RealLike, RealScalarLike, ShrinkageMethodOfLevels, SpikedLoss
from rmtjax.inference._core.data import LEVELS, masked_each
from rmtjax.inference._covariance.shrink import METHODS, check_sizes, static_options


def shrink_levels(
    levels: Annotated[RealLike, "*batch k"],
    n: int,
    p: int | None = None,
    *,
    method: ShrinkageMethodOfLevels = "qis",
    loss: SpikedLoss | None = None,
    noise: RealScalarLike | None = None,
) -> Float[Array, "*batch p"]:
    r"""Same as `shrink_covariance`, from the levels of a sample covariance matrix to the levels of the estimate.

    The estimate is $\sum_i d_i v_i v_i^*$ with the vectors of the sample, which this function does not need. So it also
    serves where a spectrum comes from an experiment, a table or another program.

    Args:
        levels: ascending levels of $S = X^*X/n$, either the $\min(n, p)$ largest or all p; shrunk in their precision.
        n: number of observations behind S, n - 1 where their mean was taken away; static.
        p: number of variables; static; by default the number of levels.
        method: as for `shrink_covariance`, except `"ledoit-wolf"`, whose intensity depends on the data. `"oas"` has
            the intensity for real data.
        loss: as for `shrink_covariance`.
        noise: as for `shrink_covariance`.

    Returns:
        The p levels $d_i$ in the order of the levels of S. If p > n, the first p - n belong to the directions without
        data. `"qis"` and others do not promise that they ascend.

    Raises:
        ValueError: `levels` are not ascending, are negative, or are more than p or fewer than $\min(n, p)$.
        ValueError: `n` is too small for the method, or a name or an option is wrong, as for `shrink_covariance`.

    Example:
        >>> import jax, rmtjax as rmt
        >>> levels = rmt.Wishart(30, 40).eigenvalues(jax.random.key(0))
        >>> found = shrink_levels(levels, 40)
        >>> print(f"from {levels[0]:.2f} ... {levels[-1]:.2f} to {found.min():.1f} ... {found.max():.1f}")
        from 0.05 ... 3.25 to 0.6 ... 1.5
    """
    array = _checks.real("levels", levels)
    if array.ndim == 0 or array.shape[-1] < 1:
        raise _checks.refusal("levels", "have an axis of at least one level", array.shape)
    n = _checks.integer("n", n, at_least=1)
    p = array.shape[-1] if p is None else _checks.integer("p", p, at_least=1)
    method = _checks.choice("method", method, ShrinkageMethodOfLevels)
    if not min(n, p) <= array.shape[-1] <= p:
        raise _checks.refusal("levels", f"be all p = {p} or the min(n, p) = {min(n, p)} largest levels", array.shape)
    check_sizes("n", n, method, n, p)
    for name, value in (("loss", loss), ("noise", noise)):
        if value is not None and method != "spiked":
            raise _checks.refusal(name, "be left out unless `method` is 'spiked'", value)
    sigma = None if noise is None else _checks.positive("noise", noise).astype(array.dtype)
    loss = "frobenius" if loss is None else _checks.choice("loss", loss, SpikedLoss)
    found = _shrunk_levels(array, sigma, n, p, method, loss)
    return masked_each(LEVELS.kept("levels", array), array.ndim - 1, found)


@partial(compiled, static_argnums=(2, 3, 4, 5))
def _shrunk_levels(
    levels: Float[Array, "*batch k"],
    noise: Float[Array, ""] | None,
    n: int,
    p: int,
    method: ShrinkageMethodOfLevels,
    loss: SpikedLoss,
) -> Float[Array, "*batch p"]:
    # What rounding makes negative is 0.
    levels, unit = _units.in_unit(jnp.maximum(levels[..., -min(n, p) :], 0), -1)
    shrink = partial(METHODS[method], **static_options(method, levels, loss))
    operands = () if noise is None else (noise / jnp.sqrt(unit[..., 0]),)
    new, null = shrink(levels, n, p, *operands)
    without_data = jnp.broadcast_to(null[..., None], (*null.shape, p - levels.shape[-1]))
    return jnp.concatenate([without_data, new], -1) * unit
