r"""Number variance and rigidity of levels in the bulk of large spectra.

Derivation. $\Sigma^2(L) = L - 2\int_0^L (L - r)\,Y_2(r)\,dr$. With $x = 2\pi L$, $A(x) = \frac\pi2 - \mathrm{Si}(x)$
and the cluster functions of `two_point`, two integrations by parts give $\pi^2 \Sigma^2_{\beta=2}(L) = S(x)$,

$$S(x) = \mathrm{Cin}(x) + 1 - \cos x + x A(x), \qquad S'(x) = \frac{1 - \cos x}x + A(x),$$

and the formulas of `number_variance` for β = 1 and 4. The rigidity
$\Delta_3 = \frac2{L^4} \int_0^L (L^3 - 2L^2 r + r^3)\,\Sigma^2(r)\,dr$ then consists of the means of S, A and A² under
this weight. Each mean is integrated by parts, with $A' = -\sin(x)/x$ and

    s_k(z) = ∫_0^z y^k sin y dy,  J_k = ∫_0^z y^k A dy = [z^{k+1} A + s_k]/(k + 1),
    N_k = ∫_0^z y^k A² dy = [z^{k+1} A² + 2 s_k A + 2 ∫_0^z s_k(y) sin(y)/y dy]/(k + 1).

Below L = 2 these terms cancel down to order L. There Gauss-Legendre quadrature evaluates the formula

$$\Delta_3 = \frac L{15} + \frac{L^2}{15} \int_0^1 (1 - u)^3 (2 - 9u - 3u^2)\,R_2(L u)\,du,$$

whose integrand is analytic.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import aligned, like
from rmtjax._typing import DysonIndexOrZero, RealLike
from rmtjax.laws._core.running_integrals import unit_rule
from rmtjax.laws._correlations.two_point import pair_correlation
from rmtjax.special.internal import auxiliary, cosine_integral, sine_integral, sine_tail

# Up to this length the rigidity is computed by quadrature, for which 24 nodes reach 1e-16.
_SHORT, _NUM_NODES = 2.0, 24
# From this x on S is computed from the auxiliary functions f and g.
_SPLIT = 4.0


def number_variance(lengths: RealLike, beta: DysonIndexOrZero) -> Float[Array, "..."]:
    r"""Variance $\Sigma^2(L)$ of the number of levels in an interval that holds L on average, in the bulk.

    With $A(x) = \int_x^\infty \frac{\sin t}t\,dt$ and $\mathrm{Cin}(x) = \gamma + \log x - \mathrm{Ci}(x)$

    $$\Sigma^2 = \begin{cases}
    2\,\Sigma^2_{\beta=2}(L) + \frac1{\pi^2} A(\pi L)^2 - \frac14 & \beta = 1, \\
    \frac1{\pi^2} [\mathrm{Cin}(2\pi L) + 1 - \cos 2\pi L + 2\pi L\,A(2\pi L)] & \beta = 2, \\
    \frac12 \Sigma^2_{\beta=2}(2L) + \frac1{4\pi^2} \left[\frac\pi2 - A(2\pi L)\right]^2 & \beta = 4,
    \end{cases}$$

    and L for independent levels, β = 0. The formulas are exact at every L, and tend to L near 0. The relative error is
    a few ulp up to L = 10⁶ and beyond.

    Convention: unit density of the levels; at β = 4 each pair of equal levels counts as one.

    Args:
        lengths: L ≥ 0; negative lengths give NaN.
        beta: 0, 1, 2 or 4; static.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> print(f"{number_variance(1.0, beta=1):.5f} {number_variance(100.0, beta=2):.5f}")
        0.44633 0.81262

    References:
        Dyson and Mehta (1963), J. Math. Phys. 4, 701; Mehta (2004), Random Matrices, section 16.1.
    """
    return _number_variance(_checks.real("lengths", lengths), _checks.dyson_index(beta, DysonIndexOrZero))


def rigidity(lengths: RealLike, beta: DysonIndexOrZero) -> Float[Array, "..."]:
    r"""Spectral rigidity $\Delta_3(L)$ of Dyson and Mehta in the bulk.

    The mean squared deviation of the counting function from its best straight line, over L mean spacings, is

    $$\Delta_3(L) = \frac2{L^4} \int_0^L (L^3 - 2L^2 r + r^3)\,\Sigma^2(r)\,dr .$$

    It is L/15 for independent levels, β = 0, and tends to L/15 near 0. The formula is exact at every L, with a relative
    error of a few ulp up to L = 10⁶ and beyond.

    Convention: unit density of the levels; at β = 4 each pair of equal levels counts as one.

    Args:
        lengths: L ≥ 0; negative lengths give NaN.
        beta: 0, 1, 2 or 4; static.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> print(f"{rigidity(10.0, beta=1):.5f} {rigidity(10.0, beta=2):.5f}")
        0.23570 0.17569

    References:
        Dyson and Mehta (1963), J. Math. Phys. 4, 701; Mehta (2004), Random Matrices, section 16.2; Pandey (1979),
        Ann. Phys. 119, 170, for the integral.
    """
    return _rigidity(_checks.real("lengths", lengths), _checks.dyson_index(beta, DysonIndexOrZero))


@functools.partial(compiled, static_argnums=1)
def _number_variance(length: Float[Array, "..."], beta: int) -> Float[Array, "..."]:
    inside = (length >= 0) & (length < jnp.inf)
    x = _finite_phase(jnp.where(inside, length, 1)) * jnp.pi
    if beta == 0:
        values = jnp.where(inside, length, 1)
    elif beta == 1:
        half = sine_integral(x) / jnp.pi
        values = 2 / jnp.pi**2 * _var(2 * x) - half * (1 - half)
    elif beta == 2:
        values = _var(2 * x) / jnp.pi**2
    else:
        values = _var(4 * x) / (2 * jnp.pi**2) + (sine_integral(2 * x) / (2 * jnp.pi)) ** 2
    return jnp.where(inside, values, jnp.where(length > 0, jnp.inf, jnp.nan))


@functools.partial(compiled, static_argnums=1)
def _rigidity(length: Float[Array, "..."], beta: DysonIndexOrZero) -> Float[Array, "..."]:
    inside = (length >= 0) & (length < jnp.inf)
    if beta == 0:
        values = jnp.where(inside, length, 1) / 15
    else:
        short = inside & (length <= _SHORT)
        long = _long_rigidity(_finite_phase(jnp.where(inside & ~short, length, _SHORT)), beta)
        values = jnp.where(short, _short_rigidity(jnp.where(short, length, 1), beta), long)
    return jnp.where(inside, values, jnp.where(length > 0, jnp.inf, jnp.nan))


def _finite_phase(length: Float[Array, "..."]) -> Float[Array, "..."]:
    """The length, capped so that its phase does not overflow."""
    return jnp.minimum(length, float(jnp.finfo(length.dtype).max) / 64)


@jax.custom_jvp
def _var(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The function S of the module's docstring."""
    near, far = jnp.minimum(x, _SPLIT), jnp.maximum(x, _SPLIT)
    f, g = auxiliary(far)
    # The growing terms are cancelled by hand, so that at large x the rounding error of A(x) is of order 1/x, not 1.
    waves = (f - 1 + g / far**2) * jnp.cos(far) + (g - f) / far * jnp.sin(far)
    short = cosine_integral(near) + 2 * jnp.sin(near / 2) ** 2 + near * sine_tail(near)
    return jnp.where(x < _SPLIT, short, np.euler_gamma + 1 + jnp.log(far) + waves)


_var.defjvps(lambda tangent, _, x: (x / 2 * jnp.sinc(x / (2 * jnp.pi)) ** 2 + sine_tail(x)) * tangent)


def _short_rigidity(length: Float[Array, "..."], beta: DysonIndexOrZero) -> Float[Array, "..."]:
    u, weights = unit_rule(_NUM_NODES)
    kernel = jnp.asarray(weights * (1 - u) ** 3 * (2 - 9 * u - 3 * u**2), length.dtype)
    correlation = pair_correlation(jnp.multiply(*aligned(length[..., None], like(length, u))), beta)
    return length / 15 + length**2 / 15 * (correlation @ kernel)


def _long_rigidity(length: Float[Array, "..."], beta: DysonIndexOrZero) -> Float[Array, "..."]:
    if beta == 2:
        return _mean_variance(2 * jnp.pi * length) / jnp.pi**2
    if beta == 1:
        mean_of_square, _ = _mean_tails(jnp.pi * length)
        return (2 * _mean_variance(2 * jnp.pi * length) + mean_of_square) / jnp.pi**2 - 1 / 8
    mean_of_square, mean = _mean_tails(2 * jnp.pi * length)
    mean_of_si_squared = jnp.pi**2 / 8 - jnp.pi * mean + mean_of_square
    return (2 * _mean_variance(4 * jnp.pi * length) + mean_of_si_squared) / (4 * jnp.pi**2)


def _mean_variance(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The mean of S under the weight of the rigidity, for x ≥ 4."""
    f, g = auxiliary(x)
    # Powers of 1/x underflow harmlessly where powers of x would overflow.
    r = 1 / x
    cosine = (f - 1) / 15 + (g / 2 - 11 / 30) * r**2 - 3 / 5 * r**4
    sine = (13 / 30 + g / 15 - f / 2) * r - 3 / 5 * r**3
    smooth = (np.euler_gamma + jnp.log(x)) / 2 - 5 / 8 + 2 / 3 * r**2 + 3 / 5 * r**4
    return smooth + cosine * jnp.cos(x) + sine * jnp.sin(x)


def _mean_tails(z: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """The means of A² and of A under the weight of the rigidity, written without large powers of z."""
    a, c, s = sine_tail(z), jnp.cos(z), jnp.sin(z)
    # Each sk is s_k/z^k, and each tk is the integral ∫ s_k(y) sin(y)/y dy divided by z^k.
    r = 1 / z
    s0, s1 = 1 - c, s * r - c
    s3 = -c + 3 * s * r + 6 * c * r**2 - 6 * s * r**3
    t0 = sine_integral(z) - sine_integral(2 * z) / 2
    t1 = (cosine_integral(2 * z) - s**2) / 2 * r
    t3 = ((2 - s**2) / 2 - 2 * s * c * r + (4 * s**2 - 3 * cosine_integral(2 * z)) * r**2) * r
    mean = a / 2 + 2 * (s0 - s1 + s3 / 4) * r
    mean_of_square = a**2 / 2 + 4 * ((s0 - s1 + s3 / 4) * a + t0 - t1 + t3 / 4) * r
    return mean_of_square, mean
