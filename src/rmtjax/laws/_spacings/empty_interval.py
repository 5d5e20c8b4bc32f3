r"""Probability that an interval in the bulk holds no level, with all digits of its logarithm however long it is.

With the law F of spacings, $E(s) = \int_s^\infty (1 - F)$ and $E(0) = 1$. From the table of `Spacing` the host makes
two Chebyshev series: $-\log E(s)/s$ on the panels of the table, and $g(1/s) = s\,E(s)/(1 - F(s))$ beyond them. All
integrands are positive, so both series have the digits of the table.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax._typing import DysonIndex
from rmtjax.laws._spacings.spacing import REACH, WIDTH, Spacing, table, variable_beyond
from rmtjax.special.internal import chebyshev_series, gauss_legendre, piecewise_chebyshev

# Coefficients of the series on each panel, and of the series beyond the panels.
_ON_PANEL, _BEYOND = 18, 16


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def log_empty(law: Spacing, x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The logarithm of the probability that an interval of length x > 0 is empty, for a nearest-neighbour law."""
    rates, beyond = _tables(law.beta)
    s = law._stretch() * x
    right = s > REACH
    near, far = jnp.where(right, REACH, s), jnp.where(right, s, REACH)
    inside = -near * piecewise_chebyshev(rates, 0.0, WIDTH, near)
    outside = law._logsf(far / law._stretch()) - jnp.log(law._stretch() * far)
    return jnp.where(right, outside + jnp.log(chebyshev_series(beyond, 2 * REACH / far - 1)), inside)


@log_empty.defjvp
def _(law: Spacing, primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    value = log_empty(law, *primals)
    return value, -jnp.exp(law._logsf(*primals) - value) * tangents[0]


def distance_to_level(law: Spacing, logarithm: Float[Array, "..."]) -> Float[Array, "..."]:
    """The length x > 0 with log E(x) = `logarithm` < 0: the distance to the next level if E is a uniform variate."""
    rate = law._growth()[2] * law._stretch() ** 2
    # As -log E is convex with slope 1 at 0, -logarithm is an upper bound. The square root lies near the solution far
    # out. Newton's method overshoots at most once, and the smaller of the two is so near that six steps reach rounding.
    start = jnp.minimum(-logarithm, jnp.sqrt(-logarithm / rate))

    def step(_: int, x: Float[Array, "..."]) -> Float[Array, "..."]:
        value = log_empty(law, x)
        return x + (value - logarithm) * jnp.exp(value - law._logsf(x))

    return jax.lax.fori_loop(0, 6, step, start)


@functools.cache
def _tables(beta: DysonIndex) -> tuple[np.ndarray, list[float]]:
    """Coefficients of -log E/s for each panel, and of g in 2 REACH/s - 1, with s in the unit of the table."""
    law = Spacing(beta)
    (point, mass), total = gauss_legendre(60), law._stretch()
    u, mass = (point + 1) / 2, mass / 2

    def survival(s: np.ndarray) -> np.ndarray:
        """The tail 1 - F on the panels."""
        panel = np.clip((s / WIDTH).astype(int), 0, round(REACH / WIDTH) - 1)
        series = np.moveaxis(table().tail[law._row()][panel], -1, 0)
        tail = np.polynomial.chebyshev.chebval(2 * (s / WIDTH - panel) - 1, series, tensor=False)
        below = s < law._inside() + 1
        return np.where(below, -np.expm1(tail + law._power() * np.log(np.where(below, s, 1))), np.exp(tail))

    def beyond(inverse: np.ndarray) -> np.ndarray:
        """The function g, an integral over w: the quotient of 1 - F at s + w/s and at s decays as exp(-2 square w)."""
        power, linear, square = law._growth()
        w = 25 / square * u
        step = w * inverse[:, None] ** 2
        series = lambda v: np.polynomial.chebyshev.chebval(variable_beyond(v), table().right[law._row()])
        slow = series(inverse[:, None] / (1 + step)) - series(inverse[:, None])
        growth = slow + power * np.log1p(step) + linear * w * inverse[:, None] - square * w * (2 + step)
        return 25 / square * (np.exp(growth) @ mass)

    ends = WIDTH * np.arange(1, round(REACH / WIDTH) + 1)
    # The integrals of 1 - F over the panels, and from their upper ends to infinity.
    panels = WIDTH * (survival(ends[:, None] - WIDTH * u) @ mass)
    last = np.exp(table().tail[law._row(), -1].sum()) * beyond(np.array([1 / REACH]))[0] / REACH
    above = np.cumsum(np.append(last, panels[:0:-1]))[::-1]

    t = np.cos(np.pi * (np.arange(_ON_PANEL) + 0.5) / _ON_PANEL)
    s = ends[:, None] - WIDTH * (1 - t) / 2
    rest = (ends[:, None] - s) * (survival(s[..., None] + (ends[:, None] - s)[..., None] * u) @ mass) + above[:, None]
    # Near 0 the integral below s is the smaller one and has the digits.
    start = s * (survival(s[..., None] * u) @ mass) / total
    logarithm = np.where(s < total, np.log1p(-np.minimum(start, 0.9)), np.log(rest / total))
    inverse = (np.cos(np.pi * (np.arange(_BEYOND) + 0.5) / _BEYOND) + 1) / (2 * REACH)
    return _coefficients(-logarithm / s), _coefficients(beyond(inverse)[None])[0].tolist()


def _coefficients(values: np.ndarray) -> np.ndarray:
    """Coefficients of Chebyshev series from values at the Chebyshev nodes."""
    n = values.shape[-1]
    k = np.arange(n)
    return values @ np.cos(np.pi * np.outer(k + 0.5, k) / n) * np.where(k, 2, 1) / n
