r"""Sine and cosine integrals, in the combinations that number statistics need.

For x ≥ 4 all of them follow from the auxiliary functions (Abramowitz and Stegun 1964, equations 5.2.12 and 5.2.13)

$$f(x) = \int_0^\infty \frac{e^{-xt}}{1 + t^2}\,dt, \qquad g(x) = \int_0^\infty \frac{t\,e^{-xt}}{1 + t^2}\,dt,$$

where x f and x² g are Chebyshev series in 1/x. For smaller x, power series converge without much cancellation. The
relative error stays small where the functions tend to 0, at either end, but not near zeros in between.
"""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import scipy  # loads `scipy.fft` when it is first used
from jaxtyping import Array, Float

from rmtjax._promotion import like
from rmtjax.special._gauss import gauss_legendre

_SPLIT = 4.0  # Chebyshev series are used from here on, power series below.
# The numbers of terms of the Chebyshev series and of the power series, which leave errors below 1e-16.
_NUM_CHEBYSHEV, _NUM_TAYLOR = 34, 16


@jax.custom_jvp
def sine_integral(x: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""The sine integral $\mathrm{Si}(x) = \int_0^x \frac{\sin t}{t}\,dt$ for x ≥ 0."""
    near = jnp.minimum(x, _SPLIT)
    return jnp.where(x < _SPLIT, near * _taylor(near, 1), jnp.pi / 2 - _far_sine(x))


@jax.custom_jvp
def sine_tail(x: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""The integral $\int_x^\infty \frac{\sin t}{t}\,dt = \frac\pi2 - \mathrm{Si}(x)$ for x ≥ 0."""
    near = jnp.minimum(x, _SPLIT)
    return jnp.where(x < _SPLIT, jnp.pi / 2 - near * _taylor(near, 1), _far_sine(x))


@jax.custom_jvp
def cosine_integral(x: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""The entire function $\mathrm{Cin}(x) = \int_0^x \frac{1 - \cos t}{t}\,dt = γ + \log x - Ci(x)$ for x ≥ 0."""
    near, far = jnp.minimum(x, _SPLIT), jnp.maximum(x, _SPLIT)
    f, g = auxiliary(far)
    far_values = np.euler_gamma + jnp.log(far) - f / far * jnp.sin(far) + g / far**2 * jnp.cos(far)
    return jnp.where(x < _SPLIT, near**2 * _taylor(near, 2), far_values)


def auxiliary(x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """The functions x f and x² g for x ≥ 4, which tend to 1."""
    # Clenshaw's recurrence, for both series at once.
    t = (_SPLIT / x)[..., None]
    row_like = lambda row: jax.lax.broadcast_to_rank(like(x, row), t.ndim)
    series, later = jnp.zeros((*x.shape, 2), x.dtype), jnp.zeros((*x.shape, 2), x.dtype)
    coefficients = _coefficients()
    for row in coefficients[:0:-1]:
        series, later = row_like(row) + (4 * t - 2) * series - later, series
    both = row_like(coefficients[0]) + (2 * t - 1) * series - later
    return both[..., 0], both[..., 1]


def _far_sine(x: Float[Array, "..."]) -> Float[Array, "..."]:
    far = jnp.maximum(x, _SPLIT)
    f, g = auxiliary(far)
    return f / far * jnp.cos(far) + g / far**2 * jnp.sin(far)


def _taylor(x: Float[Array, "..."], first: int) -> Float[Array, "..."]:
    r"""The series $\sum_k \frac{(-1)^k x^{2k}}{m\,m!}$ with m = 2k + first."""
    total = jnp.zeros_like(x)
    for m in range(2 * _NUM_TAYLOR + first, 0, -2):
        total = 1 / (m * math.factorial(m)) - x**2 * total
    return total


@functools.cache
def _coefficients() -> np.ndarray:
    """Chebyshev coefficients of x f and x² g on 0 < 4/x ≤ 1, from the integrals in s = x t on panels up to s = 50."""
    nodes, weights = gauss_legendre(48)
    ends = np.array([0, 1, 2, 4, 8, 16, 32, 50])
    half = np.diff(ends)[:, None] / 2
    s, measure = (ends[:-1, None] + half * (nodes + 1)).ravel(), (half * weights).ravel()
    angles = np.pi * (np.arange(_NUM_CHEBYSHEV) + 0.5) / _NUM_CHEBYSHEV
    # The distance of the two functions from 1 is expanded, because it is small, and so are its errors.
    squares = np.outer((np.cos(angles) + 1) / (2 * _SPLIT), s) ** 2
    kernel = measure * np.exp(-s) * squares / (1 + squares)
    distances = np.stack([kernel.sum(1), kernel @ s], axis=1)
    coefficients = -np.asarray(scipy.fft.dct(distances, axis=0)) / _NUM_CHEBYSHEV
    coefficients[0] = coefficients[0] / 2 + 1
    return coefficients


def _sinc(x: Float[Array, "..."]) -> Float[Array, "..."]:
    return jnp.sinc(x / jnp.pi)


sine_integral.defjvps(lambda tangent, _, x: _sinc(x) * tangent)
sine_tail.defjvps(lambda tangent, _, x: -_sinc(x) * tangent)
cosine_integral.defjvps(lambda tangent, _, x: x / 2 * _sinc(x / 2) ** 2 * tangent)
