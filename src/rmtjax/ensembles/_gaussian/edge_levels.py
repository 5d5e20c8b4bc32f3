r"""The largest levels of a Gaussian β-ensemble in the variable μ of the soft edge, computed in that variable.

With $h = n^{-1/3}$ a level of T at s = 1 is $2 + h^2 \mu$. At n = 10⁹ the fluctuation of μ changes the level by a
millionth, which float32 loses by rounding. The pivots of $2 + h^2 \mu - T$, which are near 1, lose it too, but their
differences δ from 1 do not. For diagonal entries d and squared off-diagonal entries $1 - \varepsilon$ these are

$$\delta_i = (h^2 \mu - d_i) + \frac{\delta_{i-1} + \varepsilon_{i-1}}{1 + \delta_{i-1}},$$

where d and ε, of order $h^{3/2}$, are drawn as such, and δ is of order h except at the nodes of an eigenvector. This is
the Riccati equation of the stochastic Airy operator, discretised. The number of negative pivots is the number of levels
above the shift. Rounding acts in each row as a change of d by eps h, so the error of μ is at most eps/h, 6e-5 in
float32 at n = 10⁹; 1e-6 was measured.
"""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from rmtjax._compile import compiled
from rmtjax._promotion import like
from rmtjax._typing import KeyScalar
from rmtjax._varying import varying_like
from rmtjax.ensembles._gaussian.tridiagonal import BLOCK, Rows, variates

# Each round cuts the bracket of every level into this many parts, which are equal in asinh μ.
_PARTS = 128
# Rounds by bits of the dtype. They narrow a bracket from a width of about 35 in asinh μ to the rounding of asinh μ.
_ROUNDS = {32: 5, 64: 9}
_UNROLLED = 4  # rows in each turn of the compiled loops over rows


@partial(compiled, static_argnums=(1, 3))
def shifted_entries(key: KeyScalar, n: int, beta: Float[Array, ""], size: int) -> Rows:
    """The first `size` rows of the matrix of `tridiagonal.entries`: d, and to its right ε, which is 1 in row n."""
    draw = partial(_block, key, min(n, BLOCK), n, beta)
    d, epsilon = jax.vmap(draw)(jnp.arange(-(-size // BLOCK)))
    return d.ravel()[:size], epsilon.ravel()[:size]


def _block(key: KeyScalar, size: int, n: int, beta: Float[Array, ""], block: Int[Array, ""]) -> Rows:
    row, left, diagonal, log_square = variates(key, block, size, n, beta)
    epsilon = row.astype(beta.dtype) / n - left / n * jnp.expm1(log_square)
    return diagonal, jnp.where(left == 0, 1, epsilon)


def largest(d: Float[Array, " rows"], epsilon: Float[Array, " rows"], n: int, k: int) -> Float[Array, " k"]:
    """The k largest μ, ascending, of the matrix with these rows; the last ε is ignored."""
    return _largest(n, k, d, epsilon[:-1])


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
@partial(compiled, static_argnums=(0, 1))
def _largest(n: int, k: int, d: Float[Array, " rows"], epsilon: Float[Array, " rows-1"]) -> Float[Array, " k"]:
    h = n ** (-1 / 3)
    left = jnp.concatenate([jnp.ones(1, d.dtype), epsilon])
    wanted = jnp.arange(k, 0, -1, dtype=jnp.int32)[:, None]
    # 2 plus the largest row sum of |T| bounds |λ - 2| = h² |μ|.
    bound = jnp.arcsinh((2 + jnp.max(jnp.abs(d)) + 2 * jnp.sqrt(jnp.max(1 - left))) / h**2)

    def narrow(_: int, bracket: tuple[Array, Array]) -> tuple[Array, Array]:
        lower, width = bracket
        step = width / _PARTS
        mu = jnp.sinh(lower[:, None] + step * jnp.arange(1, _PARTS, dtype=d.dtype)[None])
        below = jnp.sum(_count_above(d, left, h**2 * mu) >= wanted, axis=1)
        return lower + step * like(lower, below), step

    bracket = jnp.full(k, -bound), 2 * bound
    lower, width = jax.lax.fori_loop(0, _ROUNDS[jnp.finfo(d.dtype).bits], narrow, bracket)
    return jnp.sinh(lower + width / 2)


@_largest.defjvp
def _largest_jvp(n: int, k: int, primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    (d, epsilon), (d_change, epsilon_change) = primals, tangents
    mu = _largest(n, k, d, epsilon)
    of_d, of_epsilon = _slopes(d, epsilon, n ** (-2 / 3) * mu)
    return mu, n ** (2 / 3) * (of_d @ d_change + of_epsilon @ epsilon_change)


@compiled
def _slopes(
    d: Float[Array, " rows"], epsilon: Float[Array, " rows-1"], shift: Float[Array, " k"]
) -> tuple[Float[Array, "k rows"], Float[Array, "k rows-1"]]:
    """Derivatives of the levels with respect to d and ε: squares of eigenvector entries, and products of neighbours.

    The pivots from both ends give the ratios of neighbouring entries. They meet in the row where the sum of both pivots
    minus the diagonal is smallest.
    """
    one = jnp.ones(1, d.dtype)
    down = _pivots(d, jnp.concatenate([one, epsilon]), shift)
    up = _pivots(d[::-1], jnp.concatenate([one, epsilon[::-1]]), shift)[:, ::-1]
    row = jnp.arange(d.size)[None]
    twist = jnp.argmin(jnp.abs(down + up - shift[:, None] + d[None]), axis=1)[:, None]
    square = lambda delta: 2 * jnp.log(jnp.abs(_pivot(delta)))
    bond = jnp.log1p(-epsilon)[None]
    # log v² follows from v_i = e_i v_{i+1} / pivot_i left of the twist, v_{i+1} = e_i v_i / pivot_{i+1} right of it.
    falling = jnp.where(row[:, :-1] < twist, bond - square(down[:, :-1]), 0)
    rising = jnp.where(row[:, :-1] >= twist, bond - square(up[:, 1:]), 0)
    pad = lambda terms, before: jnp.pad(terms, ((0, 0), (before, 1 - before)))
    logarithm = jnp.cumsum(pad(falling, 0)[:, ::-1], axis=1)[:, ::-1] + jnp.cumsum(pad(rising, 1), axis=1)
    weights = jax.nn.softmax(logarithm, axis=1)
    products = jnp.where(
        row[:, :-1] < twist, weights[:, 1:] / _pivot(down[:, :-1]), weights[:, :-1] / _pivot(up[:, 1:])
    )
    return weights, -products


def _pivot(delta: Array) -> Array:
    """The pivot 1 + δ, or eps if that is 0."""
    pivot = 1 + delta
    return jnp.where(pivot == 0, jnp.finfo(pivot.dtype).eps, pivot)


def _next(delta: Array, shift: Array, row: tuple[Array, Array]) -> Array:
    d, epsilon = row
    return (shift - d) + (delta + epsilon) / _pivot(delta)


def _count_above(
    d: Float[Array, " rows"], left: Float[Array, " rows"], shift: Float[Array, "k m"]
) -> Int[Array, "k m"]:
    """Number of levels above each shift; `left` holds ε with a 1 in front."""

    def step(state: tuple[Array, Array], row: tuple[Array, Array]) -> tuple[tuple[Array, Array], None]:
        delta = _next(state[0], shift, row)
        return (delta, state[1] + like(state[1], delta < -1)), None

    start = varying_like((jnp.zeros_like(shift), jnp.zeros_like(shift, jnp.int32)), d, left)
    return jax.lax.scan(step, start, (d, left), unroll=_UNROLLED)[0][1]


def _pivots(d: Float[Array, " rows"], left: Float[Array, " rows"], shift: Float[Array, " k"]) -> Float[Array, "k rows"]:
    """The differences δ of the pivots from 1."""

    def step(delta: Array, row: tuple[Array, Array]) -> tuple[Array, Array]:
        delta = _next(delta, shift, row)
        return delta, delta

    return jax.lax.scan(step, jnp.zeros_like(shift), (d, left), unroll=_UNROLLED)[1].T
