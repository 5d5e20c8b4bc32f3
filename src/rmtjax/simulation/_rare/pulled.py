r"""The largest level pulled out of the bulk: P(λ_max > t) by importance sampling with bounded cost at any depth.

Integrating the joint density of n levels over its largest one gives, with the weight w and the normalisation Z_n of
the density without a unit,

$$P(\lambda_{\max} > t) = n\,\frac{Z_{n-1}}{Z_n} \int_t^\infty w(x)\; E_{n-1}\big[\det(x - T)^\beta;\
\lambda_{\max}(T) < x\big]\,dx,$$

where T is the tridiagonal model of the other n - 1 levels, of the same weight. The estimator of Jiang, Leder and Xu
(2017, Annals of Statistics 45, 1609) for white Wishart matrices uses this identity. The determinant and the condition
come from the pivots of x - T, one recurrence of n - 1 rows. Here x is exponential beyond t, with the rate of decay of
the integrand. The entries of T come from a tilted law: the linear part of $\beta \log\det(x - T)$ at the mean of the
tilted law itself shifts a normal entry and changes the rate of a gamma entry. The rest of the weights is of second
order and falls with the depth of the tail. Without the tilt the relative variance at the edge grows like
$n^{2\beta/3}$.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln
from jaxtyping import Array, Float

from rmtjax._typing import KeyScalar
from rmtjax.linalg.internal import AbstractEntries
from rmtjax.random.internal import log_ratio
from rmtjax.special.internal import log_one_plus

# Rounds of the search for a tilt that agrees with its own mean. Each round at least halves the distance. The estimate
# is unbiased for any tilt.
_ROUNDS = 8


class _Rows(NamedTuple):
    """The entries of the model of the other n - 1 levels: the shapes of their laws, and their tilt."""

    shapes: tuple[Float[Array, " m"], Float[Array, " m"]]
    tilts: tuple[Float[Array, " m"], Float[Array, " m"]]  # slopes of β log det in each entry
    pivots: Float[Array, " m"]  # at the tilted means


def log_weights(
    entries: AbstractEntries, threshold: Float[Array, ""], key: KeyScalar, num_samples: int
) -> Float[Array, " m"]:
    """Logarithms of independent unbiased estimates of P(λ_max > threshold)."""
    t = threshold / entries.unit
    edge, least_rate = entries.soft_edge()
    # The tilt is taken at the threshold, or at the edge of the bulk for a threshold inside the bulk.
    base = jnp.maximum(t, edge)
    rows = _tilted(entries, base)
    slope = jax.grad(lambda x: _log_last_level(entries, x) + _log_determinant(entries, x, _means(entries, rows)))(base)
    rate = jnp.hypot(jnp.maximum(-slope, 0), least_rate)
    key_x, key_rows = jax.random.split(key)
    excess = jax.random.exponential(key_x, (num_samples,), t.dtype)
    x = t + excess / rate
    return _log_last_level(entries, x) + excess - jnp.log(rate) + _log_tilted_determinants(entries, x, rows, key_rows)


def _log_last_level(entries: AbstractEntries, x: Float[Array, "*m"]) -> Float[Array, "*m"]:
    """The logarithm of n (Z_{n-1}/Z_n) w(x)."""
    n, beta = entries.n, entries.beta
    common = jnp.log(jnp.asarray(n, beta.dtype)) + gammaln(1 + beta / 2) - gammaln(1 + n * beta / 2)
    return common + entries.log_weight(x)


def _start(entries: AbstractEntries, x: Float[Array, "*m"]) -> Float[Array, "*m"]:
    return jnp.zeros_like(x) if entries.normal_diagonal else -x


def _step(
    entries: AbstractEntries,
    x: Float[Array, "*m"],
    state: Float[Array, "*m"],
    first: Float[Array, "*m"],
    second: Float[Array, "*m"],
) -> tuple[Float[Array, "*m"], Float[Array, "*m"]]:
    r"""The next state and the pivot of x - T in a row, from the variates of that row.

    For the tridiagonal model the state is $e_{i-1}^2 / d_{i-1}$. For $T = BB^T$ it is the state of the stationary
    differential qd algorithm, in which $-d_i$ is the square of an entry plus the state (Parlett 1995, Acta Numerica 4,
    459; Dhillon 1997, thesis, Berkeley).
    """
    if entries.normal_diagonal:
        pivot = x - first - state
        return second / _nonzero(pivot), pivot
    pivot = -(first + state)
    return -second * state / _nonzero(pivot) - x, pivot


def _nonzero(x: Float[Array, "*m"]) -> Float[Array, "*m"]:
    return jnp.where(x == 0, jnp.finfo(x.dtype).tiny, x)


def _pivots(entries: AbstractEntries, x: Float[Array, ""], means: tuple) -> Float[Array, " m"]:
    """The pivots of x minus the matrix of the means."""
    step = lambda state, row: _step(entries, x, state, *row)
    return jax.lax.scan(step, _start(entries, x), means)[1]


def _log_determinant(entries: AbstractEntries, x: Float[Array, ""], means: tuple) -> Float[Array, ""]:
    return entries.beta * jnp.sum(jnp.log(jnp.abs(_nonzero(_pivots(entries, x, means)))))


def _means(entries: AbstractEntries, rows: _Rows) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
    """The means of the tilted entries."""
    (first, second), (tilt, other_tilt) = rows.shapes, rows.tilts
    return tilt if entries.normal_diagonal else first / (1 - tilt), second / (1 - other_tilt)


def _tilted(entries: AbstractEntries, x: Float[Array, ""]) -> _Rows:
    """The tilt that equals the slope of β log det(x - T) at the means of the tilted entries."""
    shapes = entries.without_one().shapes()
    zeros = jnp.zeros_like(shapes[0])
    slopes = jax.grad(lambda means: _log_determinant(entries, x, means))

    def refine(_: int, tilts: tuple) -> tuple:
        # Rates must be positive. Beyond the edge all slopes are negative, as a larger entry lowers the determinant.
        halfway = lambda old, new: (old + jnp.where(jnp.isfinite(new), jnp.minimum(new, 0), old)) / 2
        return jax.tree.map(halfway, tilts, slopes(_means(entries, _Rows(shapes, tilts, zeros))))

    tilts = jax.lax.fori_loop(0, _ROUNDS, refine, (zeros, zeros))
    rows = _Rows(shapes, tilts, zeros)
    return rows._replace(pivots=_pivots(entries, x, _means(entries, rows)))


def _log_tilted_determinants(
    entries: AbstractEntries, x: Float[Array, " m"], rows: _Rows, key: KeyScalar
) -> Float[Array, " m"]:
    r"""Unbiased estimates of $E[\det(x - T)^\beta;\ \lambda_{\max}(T) < x]$, one for each x.

    Each factor is divided by its value at the tilted means, and the logarithms of these values are added once: in
    single precision a sum over n rows of terms of order log n would lose the differences between draws.
    """
    beta = entries.beta

    def step(state: tuple, row: tuple) -> tuple[tuple, None]:
        carry, total, inside = state
        index, shapes, tilts, reference = row
        first, second, change = _row_draw(entries, jax.random.fold_in(key, index), shapes, tilts, x)
        carry, pivot = _step(entries, x, carry, first, second)
        inside &= pivot > 0
        total += change + beta * jnp.log(jnp.where(inside, pivot / reference, 1))
        return (carry, total, inside), None

    index = jnp.arange(entries.n - 1, dtype=jnp.uint32)
    start = (_start(entries, x), jnp.zeros_like(x), jnp.full(x.shape, True))
    references = jnp.maximum(rows.pivots, jnp.finfo(x.dtype).eps)
    (_, total, inside), _ = jax.lax.scan(step, start, (index, rows.shapes, rows.tilts, references))
    constant = jnp.sum(beta * jnp.log(references) + _log_normalisations(entries, rows))
    return jnp.where(inside, total + constant, -jnp.inf)


def _log_normalisations(entries: AbstractEntries, rows: _Rows) -> Float[Array, " m"]:
    """The logarithms of the likelihood ratios at the tilted means."""
    (first, second), (tilt, other_tilt) = rows.shapes, rows.tilts
    gamma = lambda shape, tilt: -shape * (log_one_plus(-tilt) + tilt / (1 - tilt))
    return (-(tilt**2) / 2 if entries.normal_diagonal else gamma(first, tilt)) + gamma(second, other_tilt)


def _row_draw(
    entries: AbstractEntries, key: KeyScalar, shapes: tuple, tilts: tuple, like: Float[Array, " m"]
) -> tuple[Float[Array, " m"], Float[Array, " m"], Float[Array, " m"]]:
    """The tilted variates of a row, and the logarithm of the likelihood ratio less its value at their means."""
    key_gamma, key_normal = jax.random.split(key)
    means = [shape / (1 - tilt) for shape, tilt in zip(shapes, tilts, strict=True)]
    if entries.normal_diagonal:
        noise = jax.random.normal(key_normal, like.shape, like.dtype)
        second = means[1] * jnp.exp(_log_ratios(key_gamma, shapes[1:], like)[0])
        return tilts[0] + noise, second, -tilts[0] * noise - tilts[1] * (second - means[1])
    ratios = _log_ratios(key_gamma, shapes, like)
    first, second = (mean * jnp.exp(ratio) for mean, ratio in zip(means, ratios, strict=True))
    return first, second, -tilts[0] * (first - means[0]) - tilts[1] * (second - means[1])


def _log_ratios(key: KeyScalar, shapes: tuple, like: Float[Array, " m"]) -> Float[Array, "k m"]:
    """Logarithms of gamma variates over their shapes, from one call; a shape 0, whose mean is 0, counts as 1."""
    column = jnp.stack(shapes)[:, None]
    return log_ratio(key, jnp.broadcast_to(jnp.where(column > 0, column, 1), (len(shapes), *like.shape)))
