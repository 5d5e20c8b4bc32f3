r"""Two-point functions of levels in the bulk of large spectra.

Derivation. With $x = \pi r$, $s(x) = \sin x/x$ and unit density, the cluster functions $Y_2 = 1 - R_2$ are
(Mehta 2004, equations 6.1.18, 7.2.3 and 8.1.3)

    β = 2: s(πr)²;  β = 1: s(πr)² + s'(πr) [π/2 - Si(πr)];  β = 4: s(2πr)² - s'(2πr) Si(2πr),

where s' is the derivative of s in its argument. Hence, with $H(x) = 1 - s^2 + s' \mathrm{Si}$, $R_2$ is H(2πr) at β = 4
and $H(\pi r) - \frac\pi2 s'(\pi r)$ at β = 1. H is of order x⁴ but a difference of terms of order 1. So below x = 3 it
is a power series in x² about the middle of this range, where the terms of the series do not cancel.
"""

import functools
import math
from fractions import Fraction

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._typing import DysonIndexOrZero, RealLike
from rmtjax.special.internal import sine_integral

_SPLIT = 3.0  # the power series are used below this x
# Number of terms in x² of the exact series, and of the series about the middle of 0 < x² < 9.
_NUM_TERMS, _NUM_SHIFTED = 40, 24


def pair_correlation(r: RealLike, beta: DysonIndexOrZero) -> Float[Array, "..."]:
    r"""Pair correlation function $R_2(r)$: the density of levels at distance r from a level, in the bulk.

    With $s(r) = \frac{\sin \pi r}{\pi r}$

    $$R_2 = \begin{cases}
    1 - s(r)^2 - s'(r) \int_r^\infty s(t)\,dt & \beta = 1, \\
    1 - s(r)^2 & \beta = 2, \\
    1 - s(2r)^2 + \frac{d s(2r)}{dr} \int_0^r s(2t)\,dt & \beta = 4,
    \end{cases}$$

    and 1 for independent levels, β = 0. It is even in r. Near 0 it is $\frac{\pi^2}6 r$, $\frac{\pi^2}3 r^2$ and
    $\frac{16 \pi^4}{135} r^4$, and the relative error is small there too.

    Convention: unit density of the levels; at β = 4 each pair of equal levels counts as one.

    Args:
        r: distances, any real numbers.
        beta: 0, 1, 2 or 4; static.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> print(f"{pair_correlation(1.0, beta=1):.5f} {pair_correlation(0.5, beta=2):.5f}")
        0.91051 0.59472

    References:
        Dyson (1962), J. Math. Phys. 3, 166; Mehta (2004), Random Matrices, sections 6.1, 7.2 and 8.1.
    """
    return _pair_correlation(_checks.real("r", r), _checks.dyson_index(beta, DysonIndexOrZero))


def form_factor(times: RealLike, beta: DysonIndexOrZero) -> Float[Array, "..."]:
    r"""Spectral form factor $K(\tau) = 1 - \int Y_2(r)\,e^{2\pi i r \tau}\,dr$ in the bulk.

    $$K = \begin{cases}
    2\tau - \tau\log(1 + 2\tau) \text{ for } \tau \le 1, \quad 2 - \tau \log\frac{2\tau + 1}{2\tau - 1}
    \text{ for } \tau \ge 1 & \beta = 1, \\
    \min(\tau, 1) & \beta = 2, \\
    \frac\tau2 - \frac\tau4 \log|1 - \tau| \text{ for } \tau \le 2, \quad 1 \text{ for } \tau \ge 2 & \beta = 4,
    \end{cases}$$

    for τ ≥ 0, and 1 for independent levels, β = 0. K is even in τ. At β = 4 and τ = 1 it is infinite, with slope 0.

    Convention: τ is in units of the Heisenberg time, 2π times the density of the levels (ħ = 1); K ~ 2τ/β as τ → 0.

    Args:
        times: τ, any real numbers.
        beta: 0, 1, 2 or 4; static.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> print(f"{form_factor(0.5, beta=1):.5f} {form_factor(0.5, beta=2):.5f}")
        0.65343 0.50000

    References:
        Mehta (2004), Random Matrices, equations 6.2.17, 7.2.46 and 8.1.14; Haake (2010), Quantum
        signatures of chaos, chapter 4.
    """
    return _form_factor(_checks.real("times", times), _checks.dyson_index(beta, DysonIndexOrZero))


@functools.partial(compiled, static_argnums=1)
def _pair_correlation(r: Float[Array, "..."], beta: int) -> Float[Array, "..."]:
    # Beyond 1e18 the correlation is 1. The cap is needed because a sine has no value at infinity.
    x = jnp.minimum(jnp.where(r < 0, -r, r), 1e18) * jnp.pi
    if beta == 0:
        return jnp.where(jnp.isnan(r), r, jnp.ones_like(x))
    if beta == 2:
        near, far = _near_and_far(x)
        return jnp.where(x < _SPLIT, near**2 * _series("square", near), 1 - (jnp.sin(far) / far) ** 2)
    if beta == 4:
        return _hole(2 * x)
    near, far = _near_and_far(x)
    slope = jnp.where(x < _SPLIT, near * _series("slope", near), (jnp.sin(far) / far - jnp.cos(far)) / far)
    return _hole(x) + jnp.pi / 2 * slope


@functools.partial(compiled, static_argnums=1)
def _form_factor(tau: Float[Array, "..."], beta: int) -> Float[Array, "..."]:
    tau = jnp.where(tau < 0, -tau, tau)
    if beta == 0:
        return jnp.where(jnp.isnan(tau), tau, jnp.ones_like(tau))
    if beta == 2:
        return jnp.where(tau > 1, 1, tau)
    if beta == 4:
        early = ~(tau > 2)
        near = jnp.where(early, tau, 0)
        singular = near == 1
        logarithm = jnp.log(jnp.abs(1 - jnp.where(singular, 0, near)))
        return jnp.where(singular, jnp.inf, jnp.where(early, near / 2 - near / 4 * logarithm, 1))
    late = tau > 1
    near, t = jnp.where(late, 1, tau), 1 / (2 * jnp.minimum(jnp.where(late, tau, 1), 1e12))
    return jnp.where(late, 2 - jnp.arctanh(t) / t, near * (2 - jnp.log1p(2 * near)))


def _hole(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The function H of the module's docstring."""
    near, far = _near_and_far(x)
    sinc = jnp.sin(far) / far
    formula = 1 - sinc**2 + (jnp.cos(far) - sinc) / far * sine_integral(far)
    return jnp.where(x < _SPLIT, near**4 * _series("hole", near), formula)


def _near_and_far(x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """The arguments of the series and of the formula: x, or a number inside the range if x is outside."""
    near = x < _SPLIT
    return jnp.where(near, x, 1), jnp.where(near, _SPLIT, x)


def _series(name: str, x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The power series in x² of the given name."""
    total = jnp.zeros_like(x)
    for coefficient in _coefficients(name)[::-1]:
        total = total * (x**2 - _SPLIT**2 / 2) + coefficient
    return total


@functools.cache
def _coefficients(name: str) -> list[float]:
    """Coefficients of H/x⁴, (1 - s²)/x² or -s'/x in powers of x² - 9/2."""
    count = _NUM_TERMS + 2
    sign = [Fraction((-1) ** k) for k in range(count)]
    sinc = [sign[k] / math.factorial(2 * k + 1) for k in range(count)]
    square = [sum(sinc[i] * sinc[k - i] for i in range(k + 1)) for k in range(count)]
    # The series of s'/x and Si/x, whose product is s' Si/x².
    slope = [2 * (k + 1) * sinc[k + 1] for k in range(count - 1)]
    integral = [sinc[k] / (2 * k + 1) for k in range(count)]
    product = [sum(slope[i] * integral[k - i] for i in range(k + 1)) for k in range(count - 1)]
    exact = {
        "square": [-square[k + 1] for k in range(_NUM_TERMS)],
        "slope": [-slope[k] for k in range(_NUM_TERMS)],
        "hole": [product[k + 1] - square[k + 2] for k in range(_NUM_TERMS)],
    }[name]
    middle = Fraction(9, 2)
    shift = lambda j: sum(math.comb(k, j) * exact[k] * middle ** (k - j) for k in range(j, _NUM_TERMS))
    return [float(shift(j)) for j in range(_NUM_SHIFTED)]
