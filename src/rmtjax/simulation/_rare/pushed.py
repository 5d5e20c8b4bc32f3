r"""All levels of a Gaussian ensemble pushed below a threshold: P(λ_max < t) by sequential Monte Carlo on pivots.

With $a_i \sim N(0, 1)$ on the diagonal of T and $g_i \sim \Gamma(k_i)$, $k_i = (n - i)\beta/2$, for the squares beside
it, all levels lie below t if and only if all pivots $d_i = t - a_i - u_{i-1}$, $u_i = g_i/d_i$, are positive
(Sylvester). In the variables $d_1, u_1, d_2, \dots, d_n$ the density of the entries on that event is

$$\prod_i \frac{e^{-(t - d_i - u_{i-1})^2/2}}{\sqrt{2\pi}}
\prod_{i<n} \frac{d_i^{k_i} u_i^{k_i - 1} e^{-d_i u_i}}{\Gamma(k_i)}, \qquad d, u > 0, \quad u_0 = 0,$$

so P is an integral over the positive orthant, without any further condition, of a chain in which each variable meets
only its two neighbours. For t = 0 its maximum gives the known rate: at $d_i = u_i = \sqrt{k_i/3}$ each row contributes
$-k_i \log 3$, which adds up to $-\beta n^2 (\log 3)/4$ (Dean and Majumdar 2006, Phys. Rev. Lett. 97, 160201).

Particles go through the rows. Their proposals follow the Gaussian approximation at the maximum in log d and log u, by a
backward elimination:

- Given the row before, $u_i$ is a gamma variate with rate $d_i + \theta_i$. This is the exact conditional law if the
  later rows are replaced by a factor $u^{\tau_i - k_i} e^{-\theta_i u}$.
- $d_i$ comes from an even mixture of a truncated normal and a gamma law with the same mode and curvature. The normal
  law is right for $d_i \gg 1$ and bounds the weights near 0. The gamma law bounds them near infinity.
- The last row is integrated.

A group of particles whose weights become uneven is resampled. The weight of a particle times the integral over the
later rows, summed over the group, is a martingale: neither resampling nor a new row changes its conditional
expectation. The mean weight of a group is therefore an unbiased estimate of P for all proposals (Del Moral 2004,
Feynman-Kac Formulae, chapter 7, for multinomial resampling in every step; systematic resampling copies each particle
the same number of times on average, and the argument needs no more). Groups are independent of each other.
"""

import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln, ndtr, ndtri
from jaxtyping import Array, Float

from rmtjax._typing import KeyScalar
from rmtjax.linalg.internal import HermiteEntries
from rmtjax.random.internal import log_ratio
from rmtjax.special.internal import log_normal_cdf

# Particles in a group. Estimates of groups of 64 lie within a factor of 2 to 3 of their mean, so that normal confidence
# intervals hold for the mean of 30 groups. Larger groups would leave fewer of them to estimate the error from.
GROUP = 64
# Steps of Newton's method. Eight steps reach rounding for β from 0.1 to 100 and t from -10 to 10 edges.
_STEPS = 15
# A truncated normal is not cut farther than this from its mode, where the quantile function has lost its digits.
_FARTHEST_CUT = 3.0


class _Row(NamedTuple):
    """Parameters of the proposals, one number for each row but the last."""

    shape: Float[Array, " m"]  # k
    pivot: Float[Array, " m"]  # d at the maximum
    ratio: Float[Array, " m"]  # u at the maximum
    tau: Float[Array, " m"]  # shape of the law of u
    theta: Float[Array, " m"]  # its rate is d + θ


def log_weights(
    entries: HermiteEntries, threshold: Float[Array, ""], key: KeyScalar, num_groups: int
) -> Float[Array, " m"]:
    """Logarithms of independent unbiased estimates of P(λ_max < threshold), one from each group of particles."""
    t = threshold / entries.unit
    rows = _rows(entries, t)
    before = jax.tree.map(lambda column: jnp.pad(column, (1, 0))[:-1], rows)
    index = jnp.arange(entries.n - 1, dtype=jnp.uint32)
    zeros = jnp.zeros((num_groups, GROUP), t.dtype)
    step = partial(_step, t, key)
    (u, weights), _ = jax.lax.scan(step, (zeros, zeros), (index, before, rows))
    last = jax.tree.map(lambda column: column[-1] if entries.n > 1 else jnp.zeros((), t.dtype), rows)
    weights += log_normal_cdf(t - u) - _future(last, u)
    constant = jnp.sum(_log_normalisations(t, before, rows))
    return constant + jax.nn.logsumexp(weights, axis=1) - math.log(GROUP)


def _step(t: Float[Array, ""], key: KeyScalar, state: tuple, rows: tuple) -> tuple[tuple, None]:
    """One row for all particles: the pivot, the weight, and the ratio u."""
    u, weights = state
    index, before, row = rows
    key_normal, key_choice, key_gamma, key_resample = jax.random.split(jax.random.fold_in(key, index), 4)
    u, weights = _resampled(key_resample, u, weights)

    slope = row.shape / row.pivot - row.tau / (row.pivot + row.theta)
    curvature = 1 + jnp.maximum(row.shape / row.pivot**2 - row.tau / (row.pivot + row.theta) ** 2, 0)
    deviation = jax.lax.rsqrt(curvature)
    mode = row.pivot + (slope - (row.pivot + u - t)) / curvature
    centre = jnp.maximum(mode, -_FARTHEST_CUT * deviation)
    shape = 1 + curvature * row.pivot**2
    rate = (shape - 1) / jnp.maximum(mode, row.pivot / 20)

    uniform = jax.random.uniform(key_normal, u.shape, u.dtype, minval=jnp.finfo(u.dtype).tiny)
    from_normal = centre - deviation * ndtri(uniform * ndtr(centre / deviation))
    shapes = jnp.broadcast_to(jnp.stack([shape, row.tau])[:, None, None], (2, *u.shape))
    gammas = jnp.stack([shape, row.tau])[:, None, None] * jnp.exp(log_ratio(key_gamma, shapes))
    d = jnp.where(jax.random.bernoulli(key_choice, shape=u.shape), from_normal, gammas[0] / rate)
    d = jnp.maximum(d, jnp.finfo(u.dtype).tiny)

    normal_density = (
        jnp.log(curvature / (2 * jnp.pi)) / 2 - curvature * (d - centre) ** 2 / 2 - log_normal_cdf(centre / deviation)
    )
    gamma_density = shape * jnp.log(rate) - gammaln(shape) + (shape - 1) * jnp.log(d) - rate * d
    proposal = jnp.logaddexp(normal_density, gamma_density) - math.log(2)
    weights += _row_weight(t, row, d, u) - proposal - _future(before, u)
    return (gammas[1] / (d + row.theta), weights), None


def _row_weight(t: Float[Array, ""], row: _Row, d: Float[Array, "..."], u: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""The logarithm of $e^{-(t - d - u)^2/2}\,d^k (d + θ)^{-τ}$, with the powers relative to the maximum."""
    return (
        -((t - d - u) ** 2) / 2
        + row.shape * jnp.log(d / row.pivot)
        - row.tau * jnp.log((d + row.theta) / (row.pivot + row.theta))
    )


def _future(row: _Row, u: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""The logarithm of $u^{τ - k} e^{-θ u}$, relative to its value at the maximum; 0 before the first row."""
    present = row.ratio > 0
    ratio = jnp.where(present, u, 1) / jnp.where(present, row.ratio, 1)
    return jnp.where(present, (row.tau - row.shape) * jnp.log(ratio) - row.theta * (u - row.ratio), 0)


def _log_normalisations(t: Float[Array, ""], before: _Row, row: _Row) -> Float[Array, " m"]:
    """The factors of the weights of the rows that are the same for all particles."""
    future = (row.tau - row.shape) * jnp.log(row.ratio) - row.theta * row.ratio
    here = row.shape * jnp.log(row.pivot) - row.tau * jnp.log(row.pivot + row.theta)
    return here - future + gammaln(row.tau) - gammaln(row.shape) - math.log(2 * math.pi) / 2


def _resampled(
    key: KeyScalar, u: Float[Array, "groups size"], weights: Float[Array, "groups size"]
) -> tuple[Float[Array, "groups size"], Float[Array, "groups size"]]:
    """Groups of an effective size below a half, drawn anew in proportion to the weights, by systematic resampling."""
    largest = jnp.max(weights, axis=1, keepdims=True)
    relative = jnp.exp(weights - largest)
    total = jnp.sum(relative, axis=1, keepdims=True)
    uneven = 2 * total**2 < GROUP * jnp.sum(relative**2, axis=1, keepdims=True)
    places = (jax.random.uniform(key, (len(u), 1), u.dtype) + jnp.arange(GROUP, dtype=u.dtype)[None]) / GROUP
    below = jnp.cumsum(relative, axis=1) / total
    chosen = jnp.sum(below[:, None, :-1] <= places[:, :, None], axis=2)
    mean = largest + jnp.log(total / GROUP)
    return (jnp.where(uneven, jnp.take_along_axis(u, chosen, axis=1), u), jnp.where(uneven, mean, weights))


def _rows(entries: HermiteEntries, t: Float[Array, ""]) -> _Row:
    """The maximum of the density in log d and log u, and the curvature after eliminating all later variables."""
    k = entries.shapes()[1]
    others = k[:-1]
    # The start assumes that rows change slowly: d = u in pushed rows, and the unconstrained matrix beyond its edge.
    free = t > 2 * jnp.sqrt(k)
    pushed = (t + jnp.sqrt(t**2 + 12 * k)) / 6
    d = jnp.where(free, (t + jnp.sqrt(jnp.where(free, t**2 - 4 * k, 0))) / 2, pushed)
    d = jnp.maximum(d, 0.3)
    u = jnp.where(free[:-1], others / d[:-1], d[:-1])
    log_values = jax.lax.fori_loop(0, _STEPS, lambda _, x: _newton(k, t, *x), (jnp.log(d), jnp.log(u)))
    d, u = map(jnp.exp, log_values)
    _, curvature, coupling = _derivatives(k, t, d, u, convex=False)
    _, left_over = _eliminated(curvature, coupling, jnp.zeros_like(curvature))
    theta = jnp.maximum(left_over[1::2] / u - d[:-1], 0)
    return _Row(others, d[:-1], u, u * (d[:-1] + theta), theta)


def _newton(
    k: Float[Array, " n"], t: Float[Array, ""], log_d: Float[Array, " n"], log_u: Float[Array, " n-1"]
) -> tuple[Float[Array, " n"], Float[Array, " n-1"]]:
    """A step of Newton's method, of at most a factor e in any variable."""
    gradient, curvature, coupling = _derivatives(k, t, jnp.exp(log_d), jnp.exp(log_u), convex=True)
    right, pivots = _eliminated(curvature, coupling, gradient)

    def substitute(before: Float[Array, ""], row: tuple) -> tuple[Float[Array, ""], Float[Array, ""]]:
        rest, pivot, beside = row
        value = (rest - beside * before) / pivot
        return value, value

    rows = (right, pivots, jnp.pad(coupling, (1, 0)))
    _, move = jax.lax.scan(substitute, jnp.zeros((), t.dtype), rows)
    move = move / jnp.maximum(1, jnp.max(jnp.abs(move)))
    return log_d + move[0::2], log_u + move[1::2]


def _derivatives(
    k: Float[Array, " n"], t: Float[Array, ""], d: Float[Array, " n"], u: Float[Array, " n-1"], *, convex: bool
) -> tuple[Float[Array, " v"], Float[Array, " v"], Float[Array, " v-1"]]:
    """Gradient, and diagonal and off-diagonal of minus the Hessian, of the log density in log d and log u, in turns.

    If `convex`, the part of the diagonal that a positive diagonal entry of T makes negative is left out.
    """
    before, after = jnp.pad(u, (1, 0)), jnp.pad(u, (0, 1))
    excess = d + before - t  # minus the diagonal entry
    kept = jnp.maximum(excess, 0) if convex else excess
    of_d = k + 1 - excess * d - d * after
    of_u = k[:-1] - d[:-1] * u - excess[1:] * u
    on_d = d**2 + kept * d + d * after
    on_u = d[:-1] * u + u**2 + kept[1:] * u
    return _in_turns(of_d, of_u), _in_turns(on_d, on_u), _in_turns(d[:-1] * u, u * d[1:])


def _in_turns(a: Float[Array, " n"], b: Float[Array, " m"]) -> Float[Array, " v"]:
    """The entries of a and b in turns, beginning with a."""
    return jnp.stack([a, jnp.pad(b, (0, a.size - b.size))], axis=1).ravel()[: a.size + b.size]


def _eliminated(
    curvature: Float[Array, " v"], coupling: Float[Array, " v-1"], right: Float[Array, " v"]
) -> tuple[Float[Array, " v"], Float[Array, " v"]]:
    """The right-hand side and the pivots of a positive tridiagonal matrix, eliminated from the last variable."""

    def step(after: tuple, row: tuple) -> tuple[tuple, tuple]:
        value, pivot = after
        diagonal, beside, entry = row
        found = entry - beside / pivot * value, diagonal - beside**2 / pivot
        return found, found

    start = (jnp.zeros((), right.dtype), jnp.ones((), right.dtype))
    rows = (curvature, jnp.pad(coupling, (0, 1)), right)
    return jax.lax.scan(step, start, rows, reverse=True)[1]
