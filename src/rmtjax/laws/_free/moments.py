r"""Moments from free cumulants and back.

With $M(z) = \sum_k m_k z^k$ and $C(w) = 1 + \sum_k \kappa_k w^k$, $C(z M(z)) = M(z)$. Lagrange's inversion gives

$$m_k = \frac1{k + 1} [w^k]\,C(w)^{k + 1}, \qquad \kappa_k = -\frac1{k - 1} [z^k]\,M(z)^{1 - k} \quad (k \ge 2).$$

A shift changes the first cumulant alone, so the others are those of the moments about the mean, $c_k$. These are
sums of products of moments, and each cumulant is a polynomial in them. With all signs made positive the polynomial is
$[z^k] (1 - \sum_{j \ge 2} \bar c_j z^j)^{1 - k}/(k - 1)$ with $\bar c_j = \sum_i \binom ji |m_1|^{j - i} |m_i|$. A
relative error of ε in each moment and in each operation moves the cumulant by at most a few kε times that number.
"""

import math
import numbers
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import like
from rmtjax._typing import RealLike, overload
from rmtjax._units import unit_of
from rmtjax.laws._core.free_cumulants import free_cumulant_of_moments, moment_of_free_cumulants
from rmtjax.laws._core.power_series import diagonal_of_powers

_MOST = 100


@overload
def moments_of_free_cumulants(  # pyright: ignore[reportOverlappingOverload]
    cumulants: Sequence[Fraction | int],
) -> tuple[Fraction, ...]: ...
@overload
def moments_of_free_cumulants(cumulants: Annotated[RealLike, "*batch k"]) -> Float[Array, "*batch k"]: ...
def moments_of_free_cumulants(cumulants: Any) -> Any:
    r"""The moments $m_1, \dots, m_k$ of the law with these free cumulants.

    $m_k$ is the sum over all non-crossing partitions of k points of the products of cumulants of the sizes of the
    blocks: $m_1 = \kappa_1$, $m_2 = \kappa_2 + \kappa_1^2$, $m_3 = \kappa_3 + 3 \kappa_1 \kappa_2 + \kappa_1^3$.
    Fractions and whole numbers give fractions, which are exact.

    Args:
        cumulants: $\kappa_1, \dots, \kappa_k$ with k from 1 to 100: a list of fractions and whole numbers, or an array
            with the cumulants on its last axis.

    Returns:
        As many moments, which are fractions or an array.

    Raises:
        ValueError: there is no cumulant, or more than 100.

    Example:
        >>> print(*moments_of_free_cumulants([0, 1, 0, 0, 0, 0]))  # the semicircle: Catalan numbers
        0 1 0 2 0 5

    References:
        Nica and Speicher (2006), Lectures on the Combinatorics of Free Probability, lectures 11 and 16.
    """
    exact = _exact("cumulants", cumulants)
    if exact is not None:
        return tuple(moment_of_free_cumulants(exact[:k]) for k in range(1, len(exact) + 1))
    return _moments(_orders("cumulants", cumulants))


@overload
def free_cumulants_of_moments(  # pyright: ignore[reportOverlappingOverload]
    moments: Sequence[Fraction | int],
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]: ...
@overload
def free_cumulants_of_moments(
    moments: Annotated[RealLike, "*batch k"],
) -> tuple[Float[Array, "*batch k"], Float[Array, "*batch k"]]: ...
def free_cumulants_of_moments(moments: Any) -> Any:
    r"""The free cumulants $\kappa_1, \dots, \kappa_k$ of a law with these moments, and bounds on their errors.

    The free cumulants of a free sum are the sums of those of its parts. Digits cancel as k grows: from the moments of
    `MarchenkoPastur(0.5)` in double precision the twelfth cumulant, 5e-4, is known to 2e-6, and nothing of the
    twentieth. The bounds say so. They hold for moments that are right to rounding, and come from the sum of all terms
    with positive signs. Fractions and whole numbers give fractions, which are exact.

    Args:
        moments: $m_1, \dots, m_k$ about 0 with k from 1 to 100: a list of fractions and whole numbers, or an array
            with the moments on its last axis.

    Returns:
        As many cumulants, and as many bounds on their errors, which are 0 for fractions.

    Raises:
        ValueError: there is no moment, or more than 100.

    Example:
        >>> import numpy as np
        >>> cumulants, bounds = free_cumulants_of_moments([0, 1, 0, 2, 0, 5])
        >>> print(*cumulants)
        0 1 0 0 0 0
        >>> cumulants, bounds = free_cumulants_of_moments(np.array([0.0, 1.0, 0.0, 2.0]))
        >>> print(f"{abs(cumulants[3]):.3f} {bounds[3]:.3f}")
        0.000 0.000

    References:
        Nica and Speicher (2006), Lectures on the Combinatorics of Free Probability, lecture 16.
    """
    exact = _exact("moments", moments)
    if exact is not None:
        with_one = (Fraction(1), *exact)
        found = tuple(free_cumulant_of_moments(with_one[: k + 1]) for k in range(1, len(with_one)))
        return found, (Fraction(0),) * len(found)
    return _cumulants(_orders("moments", moments))


def _exact(name: str, values: Any) -> tuple[Fraction, ...] | None:
    """The numbers as fractions, if they are a sequence of rational numbers of Python."""
    rational = lambda value: isinstance(value, numbers.Rational) and not isinstance(value, bool | np.generic)
    if not isinstance(values, list | tuple) or not values or not all(map(rational, values)):
        return None
    if len(values) > _MOST:
        raise _checks.refusal(name, f"have an axis of 1 to {_MOST} numbers", (len(values),))
    return tuple(map(Fraction, values))


def _orders(name: str, values: Any) -> Float[Array, "*batch k"]:
    if isinstance(values, list | tuple):
        values = [float(value) if isinstance(value, Fraction) else value for value in values]
    array = _checks.real(name, values)
    if array.ndim == 0 or not 1 <= array.shape[-1] <= _MOST:
        raise _checks.refusal(name, f"have an axis of 1 to {_MOST} numbers", array.shape)
    return array


@compiled
def _moments(cumulants: Float[Array, "*batch k"]) -> Float[Array, "*batch k"]:
    return jnp.vectorize(_moments_of_one, signature="(k)->(k)")(cumulants)


def _moments_of_one(cumulants: Float[Array, " k"]) -> Float[Array, " k"]:
    units = _powers_of_unit(cumulants)
    series = jnp.append(jnp.ones_like(cumulants, shape=1), cumulants / units)
    orders = np.arange(series.size)
    return (diagonal_of_powers(series, jnp.asarray(orders + 1)) / like(series, orders + 1))[1:] * units


@compiled
def _cumulants(moments: Float[Array, "*batch k"]) -> tuple[Float[Array, "*batch k"], Float[Array, "*batch k"]]:
    return jnp.vectorize(_cumulants_of_one, signature="(k)->(k),(k)")(moments)


def _cumulants_of_one(moments: Float[Array, " k"]) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
    units, eps = _powers_of_unit(moments), float(jnp.finfo(moments.dtype).eps)
    scaled = moments / units
    number = moments.size
    orders = np.arange(number + 1)
    central = _about(scaled, -scaled[0])
    positive = _about(jnp.abs(scaled), jnp.abs(scaled[0]))
    of_each = lambda series: diagonal_of_powers(series, jnp.asarray(1 - orders))[2:] / like(scaled, orders[1:-1])
    start = jnp.asarray([1.0, 0.0], scaled.dtype)
    cumulants = -of_each(jnp.concatenate([start, central[1:]]))
    terms = of_each(jnp.concatenate([start, -positive[1:]])) * like(scaled, (4 * orders[2:] + 8) * eps)
    first = scaled[:1]
    return jnp.append(first, cumulants) * units, jnp.append(jnp.abs(first) * eps, terms) * units


def _about(moments: Float[Array, " k"], shift: Float[Array, ""]) -> Float[Array, " k"]:
    """The moments of X + shift of the orders from 1 on."""
    number = moments.size
    with_one = jnp.append(jnp.ones_like(moments, shape=1), moments)
    powers = jnp.append(jnp.ones_like(moments, shape=1), jnp.cumprod(jnp.broadcast_to(shift, (number,))))
    i, j = np.indices((number + 1, number + 1))
    binomials = np.array([[math.comb(k, m) for m in range(number + 1)] for k in range(number + 1)], float)
    terms = like(moments, binomials) * powers[np.maximum(i - j, 0)] * with_one[None]
    return jnp.sum(terms, axis=1)[1:]


def _powers_of_unit(values: Float[Array, " k"]) -> Float[Array, " k"]:
    """The powers of a unit in which a number of order k has the unit of X^k, and all are of the order of one."""
    orders = like(values, np.arange(1, values.size + 1))
    unit = unit_of(jnp.max(jnp.abs(values) ** (1 / orders)))
    largest = float(jnp.finfo(values.dtype).max)
    return jnp.clip(jnp.cumprod(jnp.broadcast_to(unit, values.shape)), 1 / largest, largest)
