r"""Optimal levels of a weighted sample covariance matrix.

For $S = \frac1n \sum_i w_i x_i x_i^*$ with weights of mean 1 the equation of `nonlinear` becomes one with the law of
the weights: $(S - z)^{-1} \simeq (\varphi \Sigma - z)^{-1}$ with $\varphi = \frac1n \sum_i \frac{w_i}{1 + c w_i e}$,
and from its trace

$$F(e) = \frac1n \sum_i \frac{w_i e}{1 + c w_i e} = y, \qquad y(z) = 1 + z m(z), \qquad
d(\lambda) = \frac{\operatorname{Im} e(\lambda)}{\operatorname{Im} m(\lambda)}.$$

So the smoothed transform of the sample levels gives the optimal levels by one scalar equation for each, without the law
of the population. F takes a value y in the upper half plane at n points e; the right one is the continuation of
$e \simeq y$ from $z = i\infty$. Where a handful of rows has most of the weight, the smoothed transform may lie outside
of the range of F; there $1/e = 1/y - c\,\overline{w^2}$, right up to the second order in e and exact for equal weights.
At 0, for p > n, $d_0 = \overline{1/w}\,/ ((c - 1)\,\overline{1/\lambda})$.

References:
    Paul and Silverstein (2009), J. Multivariate Anal. 100, 37, theorem 1, for the equations; Oriol (2024), WeSpeR,
    arXiv:2410.14413, for weights in nonlinear shrinkage, computed otherwise.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Complex, Float, Inexact

from rmtjax._ordering import in_order
from rmtjax._promotion import aligned, like
from rmtjax.inference._covariance.nonlinear import Levels, filled, null_level, optimal
from rmtjax.inference._covariance.transforms import Transform

# The number of distances from the axis on the way down, and of Newton's steps at each distance and at the end. With
# half-lives from p/5 on, eight times as many change no level by more than its rounding.
_STAGES, _STEPS, _LAST = 12, 2, 9


def weighted_rows(
    data: Inexact[Array, "*batch n p"], weights: Float[Array, " n"], *, center: bool
) -> tuple[Inexact[Array, "*batch n p"], Float[Array, " n"], Float[Array, " m"]]:
    r"""Rows, weights with which their covariance matrix has no bias, and weights of mean 1 of independent rows.

    Without the weighted mean, $\sum_i w_i (x_i - \bar x)(x_i - \bar x)^* = X^* A (1 - uu^*) A X$ for weights of sum 1,
    where A and u hold their square roots. These are n - 1 independent rows, each with a weight between two neighbouring
    ones of the original weights. The harmonic mean of the two, taken here, is exact for two rows and for equal
    weights.
    """
    n = data.shape[-2]
    shares, independent = weights / jnp.sum(weights), of_independent_rows(weights, center=center)
    if not center:
        return data, n * shares, independent
    deviations = data - jnp.sum(jnp.multiply(*aligned(shares[:, None], data)), axis=-2, keepdims=True)
    return deviations, n * shares / (1 - jnp.sum(shares**2)), independent


def of_independent_rows(weights: Float[Array, " n"], *, center: bool) -> Float[Array, " m"]:
    """The weights of independent rows in `weighted_rows`, descending and of mean 1."""
    ordered = in_order(weights / jnp.sum(weights))[::-1]
    if not center:
        return weights.shape[0] * ordered
    upper, lower = ordered[:-1], ordered[1:]
    between = 2 * upper * lower / jnp.where(upper > 0, upper + lower, 1)
    return between / jnp.mean(between)


def relative_spread(weights: Float[Array, " n"] | None) -> Float[Array, ""] | float:
    r"""The variance $\overline{w^2} - 1$ of weights of mean 1.

    n rows count like $n/\overline{w^2}$ rows of equal weight, so that old rows narrow no kernel.
    """
    return 0.0 if weights is None else jnp.mean(weights**2) - 1


def levels_from(
    levels: Float[Array, "*batch k"],
    transform: Transform,
    count: Bool[Array, "*batch k"],
    n: int,
    p: int,
    weights: Float[Array, " n"] | None,
    width: Float[Array, "*batch 1"],
    factor: Float[Array, "*batch"] | float = 1.0,
    height: Float[Array, "*batch 1"] | float = 0.0,
) -> Levels:
    r"""Optimal levels, and the level of the directions without data.

    Args:
        levels: sample levels, ascending.
        transform: their smoothed transform.
        count: which of them are not 0.
        n: number of independent rows.
        p: number of variables.
        weights: weights of the rows, descending and of mean 1; None if all are 1.
        width: width of the kernel, relative to a level.
        factor: by which the kernel multiplies the transform at 0.
        height: h for the target $1 + zm$ with $z = \lambda(1 + ih)$. If a kernel takes the transform at this z, F has
            this value, while $1 + \lambda m$ is outside of its range for levels spread over powers of ten.
    """
    if weights is None:
        return filled(optimal(levels, transform, count, n, p), null_level(levels, count, n, p, factor), count)
    rank = jnp.sum(count, -1, keepdims=True, dtype=levels.dtype)
    # For p > n rows of next to no weight leave no level above the rounding. All others have a derivative, also at 0.
    leaves_a_level = (p <= n) | jnp.less(*aligned(jnp.arange(n, dtype=rank.dtype), rank))
    kept = jnp.where(leaves_a_level, weights, 0)
    present = kept > 0
    # For p ≤ n levels 0 mean fewer variables.
    variables = rank if p <= n else jnp.full_like(rank, p)
    fraction = rank / jnp.maximum(variables, 1)
    u, v = transform
    y = jnp.where(count, jax.lax.complex(fraction * (1 - u - height * v), fraction * (v - height * u)), 1j)
    e = _companion(levels, y, count, kept, width, variables / n, fraction)
    # λ Im m over all levels, those of 0 included.
    below = fraction * v + (1 - fraction) * height / (1 + height**2)
    new = jnp.where(count, levels, 0) * jnp.imag(e) / jnp.where(count, below, 1)
    number = jnp.maximum(jnp.sum(present, -1, dtype=levels.dtype), 1)
    rarity = jnp.sum(jnp.where(present, 1 / jnp.where(present, weights, 1), 0), -1) * n / number**2
    return filled(new, rarity * null_level(levels, count, n, p, factor), count)


def _companion(
    levels: Float[Array, "*batch k"],
    y: Complex[Array, "*batch k"],
    count: Bool[Array, "*batch k"],
    weights: Float[Array, "*batch n"],
    width: Float[Array, "*batch 1"],
    c: Float[Array, "*batch 1"],
    fraction: Float[Array, "*batch 1"],
) -> Complex[Array, "*batch k"]:
    """The solution e of the equation."""
    # The largest level stands for levels that do not count.
    place = jnp.where(count, levels, levels[..., -1:])
    top = jnp.where(levels[..., -1:] > 0, levels[..., -1:], 1)
    end = width * jnp.maximum(place / top, jnp.finfo(levels.dtype).eps)
    number = like(y, jnp.maximum(jnp.sum(count, -1, keepdims=True), 1))
    complex_levels, c, fraction, weights = (like(y, each) for each in (levels, c, fraction, weights))

    def stage(s: Complex[Array, "*batch k"], share: Float[Array, ""]) -> tuple[Complex[Array, "*batch k"], None]:
        # The distance from the axis falls geometrically from 4 times the largest level to the width of the kernel.
        z = jax.lax.complex(place, top * 4 ** (1 - share) * end**share)
        terms = jnp.where(
            count[..., None, :], complex_levels[..., None, :] / (complex_levels[..., None, :] - z[..., :, None]), 0
        )
        target = jnp.where(count, fraction * jnp.sum(terms, -1) / number, 1j)
        s = jnp.where(share == 0, 1 / target - c, s)
        for _ in range(_STEPS):
            s = _newton(s, target, weights, c)
        return s, None

    s, _ = jax.lax.scan(stage, jnp.ones_like(y), jnp.linspace(0, 1, _STAGES, dtype=levels.dtype))
    for _ in range(_LAST):
        s = _newton(s, y, weights, c)
    # The last step carries the derivative of the implicit function.
    s = jax.lax.stop_gradient(s)
    last = _newton(s, y, weights, c)
    simple = 1 / y - c * jnp.mean(weights**2, -1, keepdims=True)
    found = (jnp.abs(last - s) < 1e-4 * jnp.abs(last)) & (jnp.imag(last) < 0)
    return 1 / jnp.where(found, last, simple)


def _newton(
    s: Complex[Array, "*batch k"],
    target: Complex[Array, "*batch k"],
    weights: Float[Array, "*batch n"],
    c: Float[Array, "*batch 1"],
) -> Complex[Array, "*batch k"]:
    """One step of Newton towards the s = 1/e with 1/F = 1/y, an equation that is linear for equal weights."""
    w = weights[..., None, :]
    factor = 1 / (s[..., :, None] + c[..., None] * w)
    value = jnp.mean(w * factor, -1)
    slope = jnp.mean(w * factor**2, -1)
    return s - (value - value**2 / target) / slope
