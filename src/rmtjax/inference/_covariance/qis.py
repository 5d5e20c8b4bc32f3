"""Quadratic-inverse shrinkage."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax.inference._covariance.nonlinear import Levels, effective_sizes, with_trace
from rmtjax.inference._covariance.transforms import cauchy
from rmtjax.inference._covariance.weighted import levels_from, relative_spread


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
    count, observations, variables = effective_sizes(levels, n, p)
    unequal = relative_spread(weights)
    number = observations / (1 + unequal)
    spread = variables / number if p <= n else unequal + observations / variables
    width = (jnp.minimum(spread, 1) ** 0.7 * (jnp.maximum(spread, 1) / variables) ** 0.35)[..., None]
    # For equal weights the source takes the value of the kernel, which is at a height h, for the transform on the axis.
    # The more unequal the weights are, the nearer to this height the equation is solved.
    height = width * jnp.minimum(unequal, 1)
    found = levels_from(levels, cauchy(levels, width, count), count, n, p, weights, width, height=height)
    return with_trace(*found, p, levels)
