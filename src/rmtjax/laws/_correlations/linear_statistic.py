r"""Mean and variance of the sum of a function over the levels, for every β.

On a support of one interval let $f = \sum_k A_k T_k$ with Chebyshev polynomials of a variable from -1 to 1. The kernel
of the limiting variance is diagonal in them: the levels behave as independent normal modes, and the kth mode has the
variance $k/(2\beta)$. On the circle the modes are the powers of $e^{i\theta}$, at every n.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Inexact

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import aligned, in_one_precision
from rmtjax._typing import DysonIndexOrZero, IntervalLike, RealScalarLike
from rmtjax.laws._correlations.circular import circular_form_factor
from rmtjax.special.internal import chebyshev_coefficients

Function = Callable[[Float[Array, " q"]], Inexact[Array, " q"]]


def linear_statistic_variance(
    f: Function, beta: RealScalarLike, support: IntervalLike = (-2.0, 2.0), *, num_nodes: int = 128
) -> Float[Array, ""]:
    r"""Limiting variance of $\sum_i f(x_i)$ for large matrices whose spectrum fills one interval.

    $$\sigma^2 = \frac1{2\beta} \sum_{k=1}^\infty k\,|A_k|^2, \qquad f = \sum_k A_k T_k \text{ on the support.}$$

    It does not grow with n. It depends only on β and the support, for the Gaussian, Laguerre and Jacobi ensembles and
    for all others of one interval with joint density $\prod_{j<k} |x_j - x_k|^\beta \prod_j w(x_j)$. (Wigner matrices
    have further terms with the variance of the diagonal and the fourth moment of the entries.)

    The coefficients belong to the polynomial through `num_nodes` points. They are exact for polynomials of lower
    degree, and right to rounding for functions that are analytic near the support. For a kink, as in |x|, the relative
    error is of order `num_nodes`⁻². For a jump or a logarithm on the support or at its ends there is no limit: the
    variance grows as log n, and the result as the logarithm of `num_nodes`.

    Convention: `support` holds the levels, [-2, 2] for Gaussian ensembles of scale 1. Each level counts once, also at
    β = 4.

    Args:
        f: elementwise on an array of points inside the support. For complex values the variance is $E|X - EX|^2$.
        beta: β > 0.
        support: the two ends, finite.
        num_nodes: number of points at which f is taken, at least 2; static.

    Returns:
        The variance; differentiable in β, the support, and what f closes over.

    Raises:
        ValueError: an argument is outside its range, or f does not return one value for each point.

    Example:
        >>> variance = linear_statistic_variance(lambda x: x**2, beta=1.0)
        >>> print(f"{variance:.4f}")  # tr H² of the GOE
        4.0000

    References:
        Johansson (1998), Duke Math. J. 91, 151; Lytova and Pastur (2009), Ann. Probab. 37, 1778; Cunden, Mezzadri and
        Vivo (2015), J. Phys. A 48, 315204, for its dependence on the support only.
    """
    beta = _checks.positive("beta", beta)
    ends = _checks.interval("support", support)
    lower, upper = (_checks.FINITE("support", end) for end in ends)
    return _variance(_coefficients(f, lower, upper, beta, num_nodes), beta)


def linear_statistic_mean(f: Function, n: int, beta: RealScalarLike, *, num_nodes: int = 128) -> Inexact[Array, ""]:
    r"""Mean of $\sum_i f(x_i)$ for Gaussian ensembles, up to terms of order 1/n.

    $$E \sum_i f(x_i) = n \int f\,d\mu + \Big(\frac2\beta - 1\Big) \Big[\frac{f(2) + f(-2)}4
    - \frac1{2\pi} \int_{-2}^2 \frac{f(x)\,dx}{\sqrt{4 - x^2}}\Big] + O(1/n)$$

    with the semicircle μ. In Chebyshev coefficients it is $n (A_0 - \frac12 A_2) + (\frac1\beta - \frac12)(A_2 + A_4 +
    \dots)$. The function must have no singularity on [-2, 2]: it is taken as the polynomial through `num_nodes` points.

    Convention: `scale=1`, the semicircle on [-2, 2]; each level counts once, also at β = 4.

    Args:
        f: elementwise on an array of points of (-2, 2); real or complex.
        n: number of levels, at least 1.
        beta: β > 0.
        num_nodes: number of points at which f is taken, at least 3; static.

    Returns:
        The mean; differentiable in β and what f closes over.

    Raises:
        ValueError: an argument is outside its range, or f does not return one value for each point.

    Example:
        >>> mean = linear_statistic_mean(lambda x: x**2, n=10, beta=1.0)
        >>> print(f"{mean:.4f}")  # tr H² of the GOE, n + 1
        11.0000

    References:
        Johansson (1998), Duke Math. J. 91, 151; Dumitriu and Edelman (2006), J. Math. Phys. 47, 063302.
    """
    n, beta = _checks.integer("n", n, at_least=1), _checks.positive("beta", beta)
    num_nodes = _checks.integer("num_nodes", num_nodes, at_least=3)
    return _mean(_coefficients(f, -2.0, 2.0, beta, num_nodes), n, beta)


def circular_linear_statistic_variance(
    f: Function, beta: RealScalarLike, n: int | None = None, *, num_nodes: int = 256
) -> Float[Array, ""]:
    r"""Variance of $\sum_j f(\theta_j)$ for levels on the circle: exactly at n, or as n → ∞.

    $$\sigma^2 = \sum_{k \ne 0} |f_k|^2\,n K(k) \to \frac2\beta \sum_{k \ne 0} |k|\,|f_k|^2, \qquad
    f(\theta) = \sum_k f_k e^{i k \theta}$$

    with the form factor K of `circular_form_factor`, for which $n K(k) = \min(|k|, n)$ at β = 2. The coefficients
    belong to the trigonometric polynomial through `num_nodes` points. They are exact for a degree below `num_nodes`/2,
    and right to rounding if f is analytic and periodic. For a function with a jump the limit is infinite, and at finite
    n the error is of order n/`num_nodes`. For a count in an arc `circular_number_variance` is exact.

    Convention: density $\propto \prod_{j<k} |e^{i\theta_j} - e^{i\theta_k}|^\beta$, as for `COE`, `CUE`, `CSE` and
    `CircularBeta`; at β = 4 each pair of equal levels counts as one.

    Args:
        f: elementwise on an array of angles of [-π, π); real or complex.
        beta: β > 0 in the limit; with n, 0, 1, 2 or 4 and static.
        n: number of levels, at least 1, static; None for the limit.
        num_nodes: number of points at which f is taken, at least 2; static.

    Returns:
        The variance; differentiable in what f closes over, and in β in the limit.

    Raises:
        ValueError: an argument is outside its range, or f does not return one value for each angle.

    Example:
        >>> import jax.numpy as jnp
        >>> wave = lambda theta: 2 * jnp.cos(5 * theta)
        >>> print(*(f"{circular_linear_statistic_variance(wave, 2, n):.4f}" for n in (3, 8, None)))
        6.0000 10.0000 10.0000

    References:
        Diaconis and Evans (2001), Trans. Amer. Math. Soc. 353, 2615; Johansson (1998), Duke Math. J. 91, 151.
    """
    num_nodes = _checks.integer("num_nodes", num_nodes, at_least=2)
    if n is not None:
        n = _checks.integer("n", n, at_least=1)
    index: Any = _checks.positive("beta", beta) if n is None else _checks.dyson_index(beta, DysonIndexOrZero)
    values = _values(f, _angles(index, num_nodes))
    times = np.abs(np.fft.fftfreq(num_nodes, 1 / num_nodes))
    # Through an even number of points the fastest wave is a cosine, half of which turns either way.
    shares = np.where(2 * times == num_nodes, 0.5, 1)
    times, shares = (jnp.asarray(each, jnp.finfo(values.dtype).dtype) for each in (times, shares))
    weights = shares * (times * 2 / index if n is None else n * circular_form_factor(times, n, index))
    return _circular_variance(values, weights)


def _values(f: Function, points: Float[Array, " q"]) -> Inexact[Array, " q"]:
    """The function at the points; a constant function may return a single value."""
    values = _checks.numbers("f", f(points))
    if values.shape not in ((), points.shape):
        raise _checks.refusal("f", f"return an array of the shape {points.shape}", values.shape)
    return jnp.broadcast_to(values, points.shape)


def _coefficients(
    f: Function, lower: Array | float, upper: Array | float, beta: Array, num_nodes: int
) -> Inexact[Array, " q"]:
    """Chebyshev coefficients of the function on an interval."""
    num_nodes = _checks.integer("num_nodes", num_nodes, at_least=2)
    lower, upper, beta = in_one_precision((lower, upper, beta))
    return chebyshev_coefficients(_values(f, _points(lower, upper, beta, num_nodes)))


def _counting(number: int) -> Float[Array, " q"]:
    """The numbers from 0, weakly typed like Python's."""
    return jax.lax.cumsum(jnp.full(number, 1.0)) - 1


# Points have the precision of the ends and of β. If these are Python numbers, the points are weakly typed, and the
# function decides.
@partial(compiled, static_argnums=3)
def _points(lower: Array | float, upper: Array | float, beta: Array, num_nodes: int) -> Float[Array, " q"]:
    nodes = jnp.sin((num_nodes - 1 - 2 * _counting(num_nodes)) * (math.pi / (2 * num_nodes)))
    return (lower + upper) / 2 + (upper - lower) / 2 * nodes + jnp.zeros_like(beta)


@partial(compiled, static_argnums=1)
def _angles(beta: Array | int, num_nodes: int) -> Float[Array, " q"]:
    return _counting(num_nodes) * (2 * math.pi / num_nodes) - math.pi + jnp.zeros_like(beta)


@compiled
def _variance(coefficients: Inexact[Array, " q"], beta: Float[Array, ""]) -> Float[Array, ""]:
    coefficients, beta = in_one_precision((coefficients, beta))
    modes = jnp.arange(coefficients.size, dtype=jnp.finfo(coefficients.dtype).dtype)
    return jnp.sum(modes * (coefficients.real**2 + coefficients.imag**2)) / (2 * beta)


@compiled
def _mean(coefficients: Inexact[Array, " q"], n: int, beta: Float[Array, ""]) -> Inexact[Array, ""]:
    main, rest = n * (coefficients[0] - coefficients[2] / 2), jnp.sum(coefficients[2::2])
    return jnp.add(*aligned(main, jnp.multiply(*aligned(1 / beta - 0.5, rest))))


@compiled
def _circular_variance(values: Inexact[Array, " q"], weights: Float[Array, " q"]) -> Float[Array, ""]:
    coefficients = jnp.fft.fft(values) / values.size
    power = coefficients.real**2 + coefficients.imag**2
    return jnp.sum(weights[1:] * power[1:])
