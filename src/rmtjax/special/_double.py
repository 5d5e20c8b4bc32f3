r"""Sums and products with their rounding errors, as pairs hi + lo of twice the precision (Dekker 1971).

A compiler may contract a multiplication and an addition into one operation, which rounds once. Every product here is
therefore between numbers with half the digits: it is exact, and the result is the same with and without contraction.
Every compiler rounds `reduce_precision` in the same way.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Pair = tuple[Float[Array, "..."], Float[Array, "..."]]


def halved(x: Float[Array, "..."]) -> Pair:
    """Two numbers with half the digits whose sum is x; the product of two such halves is exact."""
    info = jnp.finfo(x.dtype)
    hi = jax.lax.reduce_precision(x, exponent_bits=info.nexp, mantissa_bits=(info.nmant - 1) // 2)
    return hi, x - hi


def pair_sum(a: Float[Array, "..."], b: Float[Array, "..."]) -> Pair:
    """The exact sum a + b = hi + lo (Knuth)."""
    hi = a + b
    from_b = hi - a
    return hi, (a - (hi - from_b)) + (b - from_b)


def pair_product(a: Float[Array, "..."], b: Float[Array, "..."]) -> Pair:
    """The product a b = hi + lo in twice the precision."""
    (a_hi, a_lo), (b_hi, b_lo) = halved(a), halved(b)
    middle, below = pair_sum(a_hi * b_lo, a_lo * b_hi)
    hi, lo = pair_sum(a_hi * b_hi, middle)
    return hi, lo + (below + a_lo * b_lo)


def pair_root(x: Float[Array, "..."]) -> Pair:
    """The square root of x > 0 in twice the precision, by one step of Newton's method."""
    root = jnp.sqrt(x)
    hi, lo = halved(root)
    return root, ((x - hi * hi) - 2 * hi * lo - lo * lo) / (2 * root)


def two_thirds(hi: Float[Array, "..."], lo: Float[Array, "..."]) -> Pair:
    """Two thirds of a pair, by long division into two digits of half the precision each."""
    first, _ = halved(2 * hi / 3)
    remainder = 2 * hi - 3 * first
    second, _ = halved(remainder / 3)
    above, below = pair_sum(first, second)
    return above, below + (remainder - 3 * second + 2 * lo) / 3
