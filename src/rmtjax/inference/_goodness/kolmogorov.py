r"""The upper tail of Kolmogorov's statistic for n independent values, with relative digits however small it is.

*Far out*, $P(D_n \ge d) = 2 S - P(\text{both})$. Smirnov, and Birnbaum and Tingey, give the tail of one side,

$$S = P(D_n^+ \ge d) = \sum_{j=0}^{\lfloor n (1 - d) \rfloor} \frac{d}{q_j} \binom nj q_j^j (1 - q_j)^{n-j},
\qquad q_j = d + \frac jn,$$

a sum of positive terms. The probability of both sides is of the order of $S^4$, as in the limit, where
$S = e^{-2z^2}$ and $P = 2 \sum_k (-1)^{k-1} S^{k^2}$. *Elsewhere* the distribution function is subtracted from 1. It
comes from Durbin's matrix, exactly, for few values, and from the expansion of Pelz and Good for many.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax._varying import varies
from rmtjax.special.internal import log_one_plus

# Up to this number of values the distribution function is computed exactly, with matrices of twice this order.
MOST_EXACT = 50
# From this z = √n d on, Kolmogorov's series with the exact S is better than the expansion: at n = 51 and P = 0.1 its
# relative error is 3e-5, and 2e-4 by the expansion.
_BODY_ENDS = 1.1
# If S is below this number, 2 S is better than 1 minus an exact distribution function, which is known to 1e-14 and
# 1e-6. For a tail of 0.1 both sides have up to 8e-5 of it.
_ONE_SIDE = {jnp.float64: 1e-4, jnp.float32: 0.02}
# Errors of Stirling's formula for log j!, j = 0, …, 15; beyond, three terms of its series have all digits.
_STIRLING = np.array([0.0, *(math.lgamma(j + 1) - (j + 0.5) * math.log(j) + j for j in range(1, 16))])
_STIRLING[1:] -= math.log(2 * math.pi) / 2


def kolmogorov_tail(d: Float[Array, ""], n: Float[Array, ""], most: int) -> Float[Array, ""]:
    """P(D_n ≥ d) for n values out of an array of `most`.

    For n ≤ 50 the relative error is 1e-10, and 1e-4 in single precision. For more values the error is 2e-5 at n = 51
    and 3e-7 at n = 1000 in the body. In the tail it is 3e-5 of a tail of 0.1 and falls with its third power.
    """
    inside = (n * d > 0.5) & (d < 1)
    safe = jnp.where(inside, d, 0.5)
    if most <= MOST_EXACT or varies(safe) or varies(n):  # `vmap` of `cond` fails inside of `shard_map`
        side = _one_sided(safe, n, most)
    else:  # The expansion does without the sum, which takes as long as the distance of many values.
        needed = (n <= MOST_EXACT) | (safe * jnp.sqrt(n) >= _BODY_ENDS)
        side = jax.lax.cond(needed, lambda: _one_sided(safe, n, most), lambda: jnp.zeros_like(safe))
    few, many = (lambda: _few(safe, n, side, min(most, MOST_EXACT))), (lambda: _many(safe, n, side))
    found = few() if most <= MOST_EXACT else jax.lax.cond(n <= MOST_EXACT, few, many)
    return jnp.where(inside, jnp.clip(found, 0, 1), jnp.where(d < 1, 1.0, 0.0))


def _few(d: Float[Array, ""], n: Float[Array, ""], side: Float[Array, ""], most: int) -> Float[Array, ""]:
    return jnp.where(side < _ONE_SIDE[d.dtype.type], 2 * side, 1 - _durbin(d, n, most))


def _many(d: Float[Array, ""], n: Float[Array, ""], side: Float[Array, ""]) -> Float[Array, ""]:
    z = d * jnp.sqrt(n)
    body = 1 - _pelz_good(jnp.clip(z, 0.2, _BODY_ENDS), 1 / jnp.sqrt(n))
    return jnp.where(z < _BODY_ENDS, body, 2 * (side - side**4 + side**9 - side**16))


def _one_sided(d: Float[Array, ""], n: Float[Array, ""], most: int) -> Float[Array, ""]:
    """The sum S. The logarithms of its terms are deviances, sums of u - log(1 + u), without large parts."""
    j = jnp.arange(most, dtype=d.dtype)
    rest = n * (1 - d) - j
    counts = (j > 0) & (rest > 0)
    ones, others = jnp.where(counts, j, 1), jnp.where(counts, n - j, 2 * n)
    # The numbers 1 + u of the two sides, for u that are not small.
    quotients = jnp.stack([(j + n * d) / ones, jnp.where(counts, rest, 2 * n) / others])
    sizes = jnp.stack([ones, others])
    deviance = sizes * _excess(jnp.stack([n * d / ones, -jnp.where(counts, n * d, 0) / others]), quotients)
    exponent = _stirling(n) - jnp.sum(_stirling(sizes) + deviance, axis=0)
    terms = jnp.exp(exponent) * jnp.sqrt(n / (2 * np.pi * ones * others)) * (n * d / (n * d + j))
    return jnp.exp(n * log_one_plus(-d)) + jnp.sum(jnp.where(counts, terms, 0))


def _excess(u: Float[Array, "..."], quotient: Float[Array, "..."]) -> Float[Array, "..."]:
    """The function u - log(1 + u), by the series of the area tangent in r = u/(2 + u) where it is small."""
    near = jnp.abs(u) < 0.5
    small = jnp.where(near, u, 0)
    r = small / (2 + small)
    series = jnp.zeros_like(u)
    for k in range(12, -1, -1):
        series = 1 / (2 * k + 3) + r**2 * series
    return jnp.where(near, r * (small - 2 * r**2 * series), u - jnp.log(jnp.where(near, 1, quotient)))


def _stirling(size: Float[Array, "..."]) -> Float[Array, "..."]:
    """The logarithm of size! over Stirling's formula."""
    table = jnp.asarray(_STIRLING, size.dtype)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - 1 / 1680 / size**2) / size**2) / size**2) / size
    last = table.size - 1
    return jnp.where(size <= last, table[jnp.clip(size, 0, last).astype(int)], series)


def _durbin(d: Float[Array, ""], n: Float[Array, ""], most: int) -> Float[Array, ""]:
    """P(D_n < d) as an entry of a power of Durbin's matrix. Its order 2k - 1 depends on d, so zeros surround it."""
    k = jnp.floor(n * d) + 1
    h, order = k - n * d, 2 * k - 1
    index = np.arange(2 * most - 1)
    row, column = index[:, None], index[None, :]
    inverse = np.array([1 / math.factorial(j) for j in range(2 * most + 1)])
    matrix = jnp.asarray(np.where(row - column >= -1, inverse[np.maximum(row - column + 1, 0)], 0), d.dtype)
    inverse, index, row, column = (jnp.asarray(each, d.dtype) for each in (inverse, index, row, column))
    powers = lambda exponent: h**exponent * inverse[jnp.asarray(exponent, int)]
    matrix = matrix - jnp.where(column == 0, powers(row + 1), 0)
    matrix = matrix - jnp.where(row == order - 1, powers(jnp.maximum(order - column, 1)), 0)
    corner = jnp.where(h > 0.5, jnp.where(h > 0.5, 2 * h - 1, 1) ** order, 0) * inverse[order.astype(int)]
    matrix = matrix + jnp.where((row == order - 1) & (column == 0), corner, 0)
    matrix = jnp.where((row < order) & (column < order), matrix, 0)

    def step(vector: Array, i: Array) -> tuple[Array, None]:
        # The factors of n!/n^n come in one by one, so that nothing overflows.
        return jnp.where(i <= n, matrix @ vector * (i / n), vector), None

    start = jnp.where(index == k - 1, 1.0, 0.0).astype(d.dtype)
    power, _ = jax.lax.scan(step, start, jnp.arange(1, most + 1, dtype=d.dtype))
    return jnp.sum(power * start)


def _pelz_good(z: Float[Array, ""], r: Float[Array, ""]) -> Float[Array, ""]:
    """The distribution function of √n D up to n^(-3/2), by theta series that converge for small z; r is 1/√n."""
    a = (np.pi * (jnp.arange(4, dtype=z.dtype) + 0.5)) ** 2
    b = (np.pi * jnp.arange(1, 4, dtype=z.dtype)) ** 2
    of_a, of_b = jnp.exp(-a / (2 * z**2)), jnp.exp(-b / (2 * z**2))
    second = 6 * z**6 + 2 * z**4 + a * (2 * z**4 - 5 * z**2) + a**2 * (1 - 2 * z**2)
    third = (
        a**3 * (5 - 30 * z**2) + a**2 * (212 * z**4 - 60 * z**2) + a * (135 * z**4 - 96 * z**6) - 30 * z**6 - 90 * z**8
    )
    terms = (
        jnp.sum(of_a) / z,
        jnp.sum((a - z**2) * of_a) / (6 * z**4),
        jnp.sum(second * of_a) / (72 * z**7) - jnp.sum(b * of_b) / (36 * z**3),
        jnp.sum(third * of_a) / (6480 * z**10) + jnp.sum((3 * b * z**2 - b**2) * of_b) / (108 * z**6),
    )
    return (2 * np.pi) ** 0.5 * sum(term * r**power for power, term in enumerate(terms))
