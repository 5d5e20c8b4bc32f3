r"""The tridiagonal matrices of the Gaussian β-ensembles, drawn as a whole or as a stream.

At s = 1 the entries are $d_i = \sqrt{2/(\beta n)}\, N(0, 1)$ and $e_i = \chi_{\beta (n - i)} / \sqrt{\beta n}$, i = 1
to n - 1 (Dumitriu and Edelman 2002, theorem 2.12). Rows are drawn in blocks of fixed size, each with its own key, so
that a stream has the same entries however many rows it draws at a time.
"""

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Float, Int

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._typing import KeyScalar
from rmtjax.linalg.internal import block_counts, counts_of_stream
from rmtjax.random.internal import log_ratio, normal_variates, random_words

# Two entries of each of some rows.
Rows = tuple[Float[Array, " rows"], Float[Array, " rows"]]
BLOCK = 1 << 9  # rows in a block, which has its own key
# Number of rows that a stream draws at a time by default.
_CHUNK = 1 << 16
# No normal variate of 32 or 64 random bits exceeds this, and no χ_k variate exceeds √k by more than this.
_LARGEST_VARIATE = 13.0
# A corner is sized for this β if β is traced. A smaller traced β needs an explicit size.
_SMALLEST_TRACED = 1.0
_TRACED = _checks.Rule(lambda beta: beta >= _SMALLEST_TRACED, "be given for a traced beta below 1")


class Block(NamedTuple):
    """Variates of a block of rows i: the diagonal entries, and logarithms for the entries to the right of them."""

    row: Int[Array, " size"]
    left: Float[Array, " size"]  # n - i; 0 from the last row on
    diagonal: Float[Array, " size"]
    log_square: Float[Array, " size"]  # log(χ²/k) with k = β (n - i); meaningless from the last row on


def variates(key: KeyScalar, block: Int[Array, ""] | int, size: int, n: int, beta: Float[Array, ""]) -> Block:
    """All random variates of a block of rows, drawn with the key of that block."""
    words, key = random_words(jax.random.fold_in(key, block), size, beta.dtype)
    row = block * BLOCK + 1 + jnp.arange(size)
    left = jnp.maximum(n - row, 0).astype(beta.dtype)
    half = jnp.where(left > 0, beta * left, 1) / 2
    log_square = log_ratio(key, jnp.maximum(half, jnp.finfo(beta.dtype).tiny))
    return Block(row, left, (2 / n) ** 0.5 * jax.lax.rsqrt(beta) * normal_variates(words, beta.dtype), log_square)


def _rows(key: KeyScalar, block: Int[Array, ""] | int, size: int, n: int, beta: Float[Array, ""]) -> Rows:
    """Diagonal entries of a block of rows, and the off-diagonal entries to their right, which are 0 from row n on."""
    row, left, diagonal, log_square = variates(key, block, size, n, beta)
    # √(left/n). The upper half uses 1 - row/n, because the rounding of left/n in float32 at n = 10⁹ shows at the edge.
    upper = row < n // 2
    part = jnp.where(upper, row, 0).astype(beta.dtype) / n
    root = jnp.where(upper, 1 - part / (1 + jnp.sqrt(1 - part)), jnp.sqrt(left / n))
    return diagonal, root * jnp.exp(log_square / 2)


def _blocks(key: KeyScalar, first: Int[Array, ""] | int, number: int, n: int, beta: Float[Array, ""]) -> Rows:
    """The rows of whole blocks, the last of which may run past n; only n rows if n is less than a block."""
    size = min(n, BLOCK)
    diagonal, right = jax.vmap(lambda block: _rows(key, block, size, n, beta))(first + jnp.arange(number))
    return diagonal.ravel(), right.ravel()


@partial(compiled, static_argnums=(1, 3))
def entries(
    key: KeyScalar, n: int, beta: Float[Array, ""], size: int
) -> tuple[Float[Array, " size"], Float[Array, " size-1"]]:
    """Diagonal and off-diagonal entries of the first `size` rows."""
    # One block without `vmap`, whose loops are longer programs.
    diagonal, right = _rows(key, 0, n, n, beta) if n <= BLOCK else _blocks(key, 0, -(-size // BLOCK), n, beta)
    return diagonal[:size], right[: size - 1]


def corner(n: int, beta: Float[Array, ""] | float, k: int) -> int:
    """The number of rows that the k largest levels need (see `AbstractGaussian._corner`); a traced β counts as 1."""
    smallest = _SMALLEST_TRACED if isinstance(beta, Tracer) else float(beta)
    reach = 10 + 1.5 * (1.5 * math.pi * k) ** (2 / 3) + 4 * (4 / smallest) ** (2 / 3)
    return max(k, min(n, math.ceil(reach * n ** (1 / 3))))


def is_reached(beta: Float[Array, ""] | float) -> Any:
    """Whether the size from `corner` is sufficient; it may be too small only if β is traced."""
    return _TRACED.kept("corner", beta) if isinstance(beta, Tracer) else True


@partial(compiled, static_argnums=(1, 4))
def streamed_counts(
    key: KeyScalar, n: int, beta: Float[Array, ""], x: Float[Array, "*shape"], chunk: int | None
) -> Int[Array, "*shape"]:
    """Number of levels below each x; the entries are drawn in chunks inside the sweep and never stored."""
    if n <= BLOCK:
        return block_counts(*entries(key, n, beta, n), jnp.int32(n), x)
    blocks = -(-n // BLOCK)
    group = min(-(-min(chunk or _CHUNK, 1 << 20) // BLOCK), blocks)
    steps = -(-blocks // group)
    beta = jax.lax.stop_gradient(beta)
    # A bound on the norm that holds before any entry is drawn.
    bound = 2 + _LARGEST_VARIATE * (2 + 2**0.5) * jax.lax.rsqrt(beta * n)

    def rows(step: Int[Array, ""]) -> tuple[Array, Array, Array]:
        diagonal, right = _blocks(key, group * step, group, n, beta)
        return diagonal, right, group * BLOCK * step + jnp.arange(diagonal.size) < n

    return counts_of_stream(rows, steps, bound, x)
