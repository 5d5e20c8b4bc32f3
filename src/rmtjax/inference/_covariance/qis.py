"""Linear-, geometric- and quadratic-inverse shrinkage: one kernel for three losses."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from rmtjax.inference._covariance.nonlinear import Levels, effective_sizes, filled, optimal, with_trace
from rmtjax.inference._covariance.transforms import Transform, cauchy
from rmtjax.inference._covariance.weighted import levels_from, relative_spread

# Stein's loss needs the inverse of the estimate, and levels in all directions.
POSITIVE_ONLY = ("lis", "gis")


def qis(levels: Float[Array, "*batch k"], n: int, p: int, weights: Float[Array, " n"] | None = None) -> Levels:
    r"""Optimal levels by the Cauchy kernel on inverse levels, with the trace of the sample.

    The width is $h = \min(c, 1/c)^{0.7}\, p^{-0.35}$ with $c = p/n$. Here $\min(c, 1/c)$ is the variance of the levels
    for Σ = 1, relative to the square of their mean. With weights of mean 1 this variance is $v = c\,\overline{w^2}$ for
    p ≤ n and $\overline{w^2} - 1 + 1/c$ for p > n. Where v > 1, levels are spread over powers of ten and only about p/v
    of them lie within a factor of e, so $h = (v/p)^{0.35}$. For unequal weights the equation is solved at the height h
    times $\min(\overline{w^2} - 1, 1)$. This height and the width for v > 1 are chosen and not derived;
    `shrink_covariance` has the errors that they lead to. Levels of 0 mean fewer variables or observations, as in
    `nonlinear`.

    References:
        Ledoit and Wolf (2022), Bernoulli 28, 1519, section 4.5. Their formulas for inverse levels are here multiplied
        by the squares of both levels, so that a level 0 is a limit and no pole.
    """
    unequal = relative_spread(weights)
    count, width, transform = _smoothed(levels, n, p, unequal)
    # For equal weights the source takes the value of the kernel, which is at a height h, for the transform on the axis.
    # The more unequal the weights are, the nearer to this height the equation is solved.
    height = width * jnp.minimum(unequal, 1)
    found = levels_from(levels, transform, count, n, p, weights, width, height=height)
    return with_trace(*found, p, levels)


def lis(levels: Float[Array, "*batch k"], n: int, p: int) -> Levels:
    r"""The best levels for Stein's loss, $1/(v_i^* \Sigma^{-1} v_i) \simeq \lambda_i / (1 - c + 2cu_i)$, for p ≤ n.

    In the notation of `nonlinear`, $f(z) = \frac1p \operatorname{tr} \Sigma^{-1} (S - z)^{-1}$ obeys $zf = \varphi m -
    \frac1p \operatorname{tr} \Sigma^{-1}$ with $\varphi = 1 - c - czm$, and the inverse of the new level is
    $\operatorname{Im} f / \operatorname{Im} m$. The trace is not kept. For p > n nothing like this is known for the
    directions without data.

    The kernel leaves some inverses too small or negative. As $1/(v^* \Sigma^{-1} v) \le v^* \Sigma v$, new levels are
    here at most $d_i$ of `nonlinear`. The source has the largest sample level for this bound; with n = 1.1p the loss is
    then 2.4 to 38 times as large. From n = 3p on the two losses differ by at most 9 %.

    References:
        Ledoit and Wolf (2022), Bernoulli 28, 1519; Ledoit and Péché (2011), Probab. Theory Relat. Fields 151, 233.
    """
    return _towards_stein(levels, n, p, 1.0)


def gis(levels: Float[Array, "*batch k"], n: int, p: int) -> Levels:
    r"""The best levels for the symmetrized divergence, $\sqrt{v_i^* \Sigma v_i / v_i^* \Sigma^{-1} v_i}$, for p ≤ n.

    They are the geometric means of the levels of `lis` and of $d_i$ of `nonlinear`. The trace is not kept.
    """
    return _towards_stein(levels, n, p, 0.5)


def _towards_stein(levels: Float[Array, "*batch k"], n: int, p: int, power: float) -> Levels:
    """The levels d times a power of the quotient of the best levels for Stein's loss and d, which is at most 1."""
    count, _, transform = _smoothed(levels, n, p)
    c = jnp.sum(count, -1, keepdims=True, dtype=levels.dtype) / n
    squared = optimal(levels, transform, count, n, p)
    inverse = (1 - c + 2 * c * transform[0]) / jnp.where(count, levels, 1)
    new = squared / jnp.maximum(inverse * squared, 1) ** power
    return filled(new, jnp.zeros(levels.shape[:-1], levels.dtype), count)


def _smoothed(
    levels: Float[Array, "*batch k"], n: int, p: int, unequal: Float[Array, ""] | float = 0.0
) -> tuple[Bool[Array, "*batch k"], Float[Array, "*batch 1"], Transform]:
    """Which levels count, the width of the kernel, and the smoothed transform."""
    count, observations, variables = effective_sizes(levels, n, p)
    number = observations / (1 + unequal)
    spread = variables / number if p <= n else unequal + observations / variables
    width = (jnp.minimum(spread, 1) ** 0.7 * (jnp.maximum(spread, 1) / variables) ** 0.35)[..., None]
    return count, width, cauchy(levels, width, count)
