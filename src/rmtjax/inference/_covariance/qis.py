"""Quadratic-inverse shrinkage."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax.inference._covariance.nonlinear import Levels, with_trace
from rmtjax.inference._covariance.transforms import cauchy, counted
from rmtjax.inference._covariance.weighted import effective_number, levels_from


def qis(levels: Float[Array, "*batch k"], n: int, p: int, weights: Float[Array, " n"] | None = None) -> Levels:
    r"""Optimal levels by the Cauchy kernel on inverse levels, with the trace of the sample.

    The width is $h = \min(c, 1/c)^{0.7}\, p^{-0.35}$ with $c = p/n$, where $\min(c, 1/c)$ is the variance of the levels
    of data whose Σ is the identity, relative to the square of their mean. With weights of mean 1 that is
    $v = c\,\overline{w^2}$ for p ≤ n and $\overline{w^2} - 1 + 1/c$ for p > n. Where v > 1 levels are spread over
    powers of ten, and only some p/v of them lie within a factor of e: $h = (v/p)^{0.35}$. That, and the height at which
    the equation of unequal weights is solved, h times $\min(\overline{w^2} - 1, 1)$, are chosen and not derived; what
    they lead to is measured at `shrink_covariance`.

    References:
        Ledoit and Wolf (2022), Bernoulli 28, 1519, section 4.5. What they write for inverse levels is here multiplied
        by the squares of both levels, so that a level 0 is a limit and no pole.
    """
    count = counted(levels, max(n, p), full=p <= n)
    number = effective_number(n, weights)
    spread = p / number if p <= n else n / number - 1 + n / p
    width = jnp.minimum(spread, 1) ** 0.7 * (jnp.maximum(spread, 1) / p) ** 0.35
    # The formula of the source takes the kernel for the transform on the axis. It stands for equal weights; the more
    # unequal they are, the nearer to where the kernel is the equation is solved.
    height = width * jnp.minimum(n / number - 1, 1)
    transform = cauchy(levels, width, count)
    found = levels_from(levels, transform, count, n, p, weights, width, height=height)
    return with_trace(*found, p, levels)
