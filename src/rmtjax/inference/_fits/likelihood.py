"""The likelihood of any law, for optimisers and samplers."""

from typing import Annotated, Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._typing import MaskLike, RealLike
from rmtjax.laws import AbstractLaw
from rmtjax.linalg import MaskedValues
from rmtjax.linalg.internal import first_for_rest


def log_likelihood(
    law: AbstractLaw,
    values: Annotated[RealLike, "*batch n"] | MaskedValues,
    *,
    where: Annotated[MaskLike, "*batch n"] | None = None,
) -> Float[Array, "*batch"]:
    r"""The sum of $\log p(x_i)$ over the values that count.

    A pure function of the law's parameters and of the values, to be maximised or sampled by any optimiser or sampler.
    For levels, spacings or ratios of one matrix it is a composite likelihood, as they are not independent: its maximum
    is right for many of them, its curvature is no error.

    Args:
        law: any law.
        values: the values on the last axis, or `linalg.MaskedValues`, such as `statistics.gap_ratios` returns.
        where: which of them count.

    Returns:
        One number for each vector; -inf with a value outside of the support, and 0 without any value.

    Raises:
        ValueError: `law` is no law, but a class of them, say; the values are not real, or `where` does not broadcast to
            them; a value that counts is NaN.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt
        >>> ratios = jnp.array([0.3, 0.5, 0.9])
        >>> slope = jax.grad(lambda beta: log_likelihood(rmt.laws.InterpolatedGapRatio(beta), ratios))
        >>> print(f"{log_likelihood(rmt.laws.GapRatio(1), ratios):.3f} {slope(1.0):.3f}")
        0.313 0.294
    """
    if not isinstance(law, AbstractLaw):
        raise _checks.refusal("law", "be a law of `rmtjax.laws` with its parameters", law)
    counts: Any = True if where is None else _checks.booleans("where", where)
    if isinstance(values, MaskedValues):
        values, given = values.values, values.mask
    else:
        given = True
    array = _checks.real("values", values)
    if array.ndim == 0:
        raise _checks.refusal("values", "have an axis of values", array.shape)
    try:
        mask = jnp.broadcast_to(counts & given, array.shape)
    except ValueError:
        raise _checks.refusal("where", f"broadcast to the shape {array.shape}", jnp.shape(counts)) from None
    array, valid = _checks.points("values", first_for_rest(array, mask))
    return _checks.masked(valid if valid is True else valid.all(-1), _total(law.logpdf(array), mask))


@compiled
def _total(logpdf: Float[Array, "*batch n"], mask: Bool[Array, "*batch n"]) -> Float[Array, "*batch"]:
    return jnp.sum(jnp.where(mask, logpdf, 0), axis=-1)
