"""Quadratic-inverse shrinkage."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax.inference._covariance.nonlinear import Levels, with_trace
from rmtjax.inference._covariance.transforms import cauchy, counted
from rmtjax.inference._covariance.weighted import effective_number, levels_from


def qis(levels: Float[Array, "*batch k"], n: int, p: int, weights: Float[Array, " n"] | None = None) -> Levels:
    r"""Optimal levels by the Cauchy kernel on inverse levels, with the trace of the sample.

    The width is $h = \min(c, 1/c)^{0.7}\, p^{-0.35}$ with $c = p/n$ for the effective number of rows.

    References:
        Ledoit and Wolf (2022), Bernoulli 28, 1519, section 4.5. What they write for inverse levels is here multiplied
        by the squares of both levels, so that a level 0 is a limit and no pole.
    """
    count = counted(levels, max(n, p), full=p <= n)
    number = effective_number(n, weights)
    width = jnp.minimum(p / number, number / p) ** 0.7 / p**0.35
    return with_trace(*levels_from(levels, cauchy(levels, width, count), count, n, p, weights, width), p, levels)
