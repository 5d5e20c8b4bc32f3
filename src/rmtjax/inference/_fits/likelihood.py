"""The likelihood of any law, for optimisers and samplers."""

from typing import Annotated, Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._typing import RealLike
from rmtjax.laws import AbstractLaw
from rmtjax.spectra import MaskedValues, Spectrum
from rmtjax.spectra.internal import checked, first_for_rest


def log_likelihood(
    law: AbstractLaw, values: Annotated[RealLike, "*batch n"] | MaskedValues | Spectrum
) -> Float[Array, "*batch"]:
    r"""The sum of $\log p(x_i)$ over the values that count.

    It is a pure function of the law's parameters and of the values, for any optimiser or sampler. Levels, spacings or
    ratios of one matrix are not independent. For them it is a composite likelihood: its maximum is right for many
    values, but its curvature gives no error.

    Args:
        law: any law.
        values: the values on the last axis, or `MaskedValues`, such as `statistics.gap_ratios` returns.

    Returns:
        One number for each vector; -inf with a value outside of the support, and 0 without any value.

    Raises:
        ValueError: `law` is no law, but perhaps a class of laws.
        ValueError: `values` are not real, or a value that counts is NaN.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt
        >>> ratios = jnp.array([0.3, 0.5, 0.9])
        >>> slope = jax.grad(lambda beta: log_likelihood(rmt.laws.InterpolatedGapRatio(beta), ratios))
        >>> print(f"{log_likelihood(rmt.laws.GapRatio(1), ratios):.3f} {slope(1.0):.3f}")
        0.313 0.294
    """
    if not isinstance(law, AbstractLaw):
        raise _checks.refusal("law", "be a law of `rmtjax.laws` with its parameters", law)
    known: Any = True
    if isinstance(values, Spectrum):
        spectra = checked(values, name="values")
        array, mask, known = spectra.values, spectra.mask, spectra.valid
    else:
        array, mask = (values.values, values.mask) if isinstance(values, MaskedValues) else (values, True)
    array = _checks.real("values", array)
    if array.ndim == 0:
        raise _checks.refusal("values", "have an axis of values", array.shape)
    mask = jnp.broadcast_to(jnp.asarray(mask), array.shape)
    array, valid = _checks.points("values", first_for_rest(array, mask))
    valid = _checks.all_kept(known, valid if valid is True else valid.all(-1))
    return _checks.masked(valid, _total(law.logpdf(array), mask))


@compiled
def _total(logpdf: Float[Array, "*batch n"], mask: Bool[Array, "*batch n"]) -> Float[Array, "*batch"]:
    return jnp.sum(jnp.where(mask, logpdf, 0), axis=-1)
