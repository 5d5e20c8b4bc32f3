r"""Upper tails of the statistics that are sums of squares, for independent values, as functions of the sample size.

The statistics of Cramér-von Mises and Anderson-Darling tend to $\sum_k Z_k^2/\lambda_k$ with independent normal $Z_k$,
where $\lambda_k = \pi^2 k^2$ and $k(k + 1)$. Their Laplace transform at $-\lambda/2$ is
$f(\lambda) = \prod_k (1 - \lambda/\lambda_k)^{-1/2}$, with a cut on each $[\lambda_{2k-1}, \lambda_{2k}]$. The path of
Bromwich's integral becomes a parabola around all cuts that crosses the axis between 0 and $\lambda_1$:

$$P(T > x) = \frac1\pi \operatorname{Im} \int e^{-\lambda x/2} f(\lambda) \frac{d\lambda}\lambda$$

on its upper half. The trapezoidal rule turns this into a sum of exponentials with nodes that do not depend on x. The
far tail keeps its digits, because all terms decay like $e^{-\lambda x/2}$ from the crossing on.
"""

from functools import cache

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from rmtjax._promotion import complex_dtype

# Below these values the distribution functions are less than 1e-10, and the sums of exponentials are too short.
_LEAST = {"cramer-von-mises": 0.005, "anderson-darling": 0.02}


def cramer_von_mises_tail(w: Float[Array, ""], n: Float[Array, ""], most: int) -> Float[Array, ""]:
    """P(W² ≥ w) up to the term in 1/n: right to 5e-4 at n = 5 and 2e-5 at n = 50."""
    nodes, limit, correction = _cramer_von_mises_rule()
    found = _sum_of_exponentials(nodes, limit, w) + _sum_of_exponentials(nodes, correction, w) / n
    # The statistic always lies between 1/(12 n) and n/3.
    possible = w > jnp.maximum(1 / (12 * n), _LEAST["cramer-von-mises"])
    return jnp.where(w >= n / 3, 0.0, jnp.where(possible, jnp.clip(found, 0, 1), 1.0))


def anderson_darling_tail(a: Float[Array, ""], n: Float[Array, ""], most: int) -> Float[Array, ""]:
    """P(A² ≥ a), with Marsaglia and Marsaglia's term in 1/n, which is fitted to simulations."""
    nodes, limit = _anderson_darling_rule()
    finite = a < jnp.inf
    upper = _sum_of_exponentials(nodes, limit, jnp.where(finite, a, 1))
    found = jnp.clip(upper - _marsaglia(1 - upper, n), 0, 1)
    return jnp.where(finite, jnp.where(a > _LEAST["anderson-darling"], found, 1.0), 0.0)


def _marsaglia(x: Float[Array, ""], n: Float[Array, ""]) -> Float[Array, ""]:
    """The summand to the limiting distribution function x; a line in the last part makes it 0 at 1."""
    corner = 0.01265 + 0.1757 / n
    left = jnp.clip(x / corner, 1e-12, 1)
    low = jnp.sqrt(left) * (1 - left) * (49 * left - 102) * (0.0037 / n**2 + 0.00078 / n + 0.00006) / n
    t = jnp.clip((x - corner) / (0.8 - corner), 0, 1)
    middle = -0.00022633 + t * (6.54034 + t * (-14.6538 + t * (14.458 + t * (-8.259 + t * 1.91864))))
    upper = -130.2137 + x * (745.2337 + x * (-1705.091 + x * (1950.646 + x * (-1116.360 + x * 255.7844))))
    upper = upper + 0.0006 * (x - 0.8) / 0.2
    middle, upper = middle * (0.04213 + 0.01365 / n) / n, upper / n
    return jnp.where(x < corner, low, jnp.where(x < 0.8, middle, upper))


def _sum_of_exponentials(
    nodes: Complex[np.ndarray, " k"], weights: Complex[np.ndarray, " k"], x: Float[Array, ""]
) -> Float[Array, ""]:
    dtype = complex_dtype(x.dtype)
    return jnp.sum(jnp.asarray(weights, dtype) * jnp.exp(jnp.asarray(-nodes / 2, dtype) * jnp.asarray(x, dtype))).imag


def _parabola(crossing: float, height: float, step: float, top: float) -> tuple[np.ndarray, np.ndarray]:
    """The nodes on the upper half of the path, and their weights; half a weight for the first, on the axis."""
    u = np.arange(0, top, step)
    weights = (2 * u + 2j * height) * step / np.pi
    weights[0] /= 2
    return crossing + u**2 + 2j * height * u, weights


@cache
def _cramer_von_mises_rule() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Nodes, weights of the limit and of the coefficient of 1/n.

    With $z = i\theta$, $\theta^2 = \lambda$, the transform of the limit is $f = \sqrt{z/\sinh z}$. The transform of the
    next term is a sum of $f$ times 1, $z/\sinh z$, $z\coth z$, $z^2$ and $z^2/\sinh^2 z$; their coefficients follow
    from Csörgő and Faraway (1996), (1.10), and give the exact mean and variance at every n.
    """
    nodes, weights = _parabola(crossing=8.0, height=1.0, step=0.12, top=90.0)
    theta = np.sqrt(nodes)
    f = np.sqrt(2 * theta / (1 - np.exp(2j * theta))) * np.exp(1j * (theta / 2 - np.pi / 4))
    quotient = theta / np.sin(theta)
    correction = (24 - 8 * quotient - 7 * quotient * np.cos(theta) + 2 * nodes - 9 * quotient**2) / 288
    return nodes, weights * f / nodes, weights * f * correction / nodes


@cache
def _anderson_darling_rule() -> tuple[np.ndarray, np.ndarray]:
    r"""Nodes and weights: $f = \sqrt{-\pi\lambda/\cos(\pi\sqrt{1 + 4\lambda}/2)}$."""
    nodes, weights = _parabola(crossing=1.6, height=0.4, step=0.05, top=50.0)
    angle = np.pi * np.sqrt(1 + 4 * nodes) / 2
    f = -1j * np.sqrt(2 * np.pi * nodes) * np.exp(1j * angle / 2) / np.sqrt(1 + np.exp(2j * angle))
    return nodes, weights * f / nodes
