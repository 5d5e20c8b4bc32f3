"""Sums and extremes over the levels of each spectrum."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Inexact

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import like
from rmtjax._units import quotient
from rmtjax.spectra.internal import LevelsLike, checked


def linear_statistic(levels: LevelsLike, f: Callable[[Array], Array]) -> Inexact[Array, "..."]:
    r"""The sum of a function over the levels of each spectrum, $\sum_i f(x_i)$.

    For a smooth function it becomes normal as n → ∞. Its variance does not grow, unlike for independent levels, but
    tends to `laws.linear_statistic_variance`; for Gaussian ensembles the mean is `laws.linear_statistic_mean`. On the
    circle `laws.circular_linear_statistic_variance` is exact at every n.

    Args:
        levels: ascending levels, `(..., n)`, or a `Spectrum`.
        f: a real or complex function, elementwise on an array of levels. Several values for each level stand on
            further axes, as in `lambda x: jnp.exp(1j * times * x[..., None])`. It sees only levels that count, and
            may close over traced values.

    Returns:
        A sum for each spectrum, followed by the further axes of f; 0 where no level counts. As differentiable as f.

    Raises:
        ValueError: the levels are not ascending numbers, or f returns another shape.

    Example:
        >>> import jax.numpy as jnp
        >>> print(linear_statistic(jnp.array([-1.0, 0.5, 2.0]), jnp.square))
        5.25

    References:
        Johansson (1998), Duke Math. J. 91, 151; Lytova and Pastur (2009), Ann. Probab. 37, 1778.
    """
    spectra = checked(levels, spaced=False)
    points = spectra.filled
    result = f(points)
    # Only a Python number is taken as a constant: an array without axes comes from a function that sums by itself.
    if not isinstance(result, jax.Array):
        result = jnp.broadcast_to(_checks.numbers("f", result), points.shape)
    if result.shape[: points.ndim] != points.shape:
        raise _checks.refusal("f", f"return an array whose shape begins with {points.shape}", result.shape)
    return spectra.masked(_total(result, spectra.mask), result.ndim - points.ndim)


def log_determinant(levels: LevelsLike) -> Float[Array, "*batch"]:
    r"""Logarithm of the absolute determinant, $\sum_i \log|x_i|$.

    Its variance grows with the logarithm of n where 0 lies within the spectrum, as for Gaussian ensembles.
    `linalg.log_determinant` takes matrices instead of levels.

    Args:
        levels: ascending levels, `(..., n)`, or a `Spectrum`.

    Returns:
        One number for each spectrum; -inf with a level 0, in which the derivative is 0, and 0 where no level counts.

    Raises:
        ValueError: the levels are not ascending numbers.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{log_determinant(jnp.array([-1.0, 2.0, 3.0])):.4f}")
        1.7918

    References:
        Goodman (1963), Ann. Math. Stat. 34, 178, for Wishart matrices; Edelman and La Croix (2015), Random Matrices
        Theory Appl. 4, 1550021, for the GUE; Tao and Vu (2012), Adv. Math. 231, 74, for the limit.
    """
    spectra = checked(levels, spaced=False)
    return spectra.masked(_log_determinant(spectra.values, spectra.mask), 0)


def condition_number(levels: LevelsLike) -> Float[Array, "*batch"]:
    r"""The largest absolute value of a level over the smallest, $\max|x_i| / \min|x_i|$.

    Args:
        levels: ascending levels, `(..., n)`, or a `Spectrum`. For a rectangular matrix take its singular values.

    Returns:
        One number ≥ 1 for each spectrum; infinite, with derivative 0, where a level is 0; NaN where no level counts.

    Raises:
        ValueError: the levels are not ascending numbers.

    Example:
        >>> import jax.numpy as jnp
        >>> print(condition_number(jnp.array([[-6.0, 2.0, 3.0], [0.0, 1.0, 2.0]])))
        [ 3. inf]

    References:
        Edelman (1988), SIAM J. Matrix Anal. Appl. 9, 543; the law of the smallest level is `laws.HardEdge`.
    """
    spectra = checked(levels, spaced=False)
    return spectra.masked(_condition_number(spectra.values, spectra.mask), 0)


@compiled
def _total(heights: Inexact[Array, "..."], mask: Bool[Array, "*batch n"]) -> Inexact[Array, "..."]:
    further = (1,) * (heights.ndim - mask.ndim)
    return jnp.sum(jnp.where(mask.reshape(*mask.shape, *further), heights, like(heights, 0)), axis=mask.ndim - 1)


@compiled
def _log_determinant(values: Float[Array, "*batch n"], mask: Bool[Array, "*batch n"]) -> Float[Array, "*batch"]:
    singular = values == 0
    logarithms = jnp.where(singular, -jnp.inf, jnp.log(jnp.abs(jnp.where(singular, 1, values))))
    return jnp.sum(jnp.where(mask, logarithms, 0), axis=-1)


@compiled
def _condition_number(values: Float[Array, "*batch n"], mask: Bool[Array, "*batch n"]) -> Float[Array, "*batch"]:
    size = jnp.abs(values)
    largest = jnp.max(jnp.where(mask, size, 0), axis=-1, initial=0)
    smallest = jnp.min(jnp.where(mask, size, jnp.inf), axis=-1, initial=jnp.inf)
    regular = mask.any(-1) & (smallest > 0)
    number = quotient(jnp.where(regular, largest, 1), jnp.where(regular, smallest, 1))
    return jnp.where(regular, number, jnp.where(mask.any(-1), jnp.inf, jnp.nan))
