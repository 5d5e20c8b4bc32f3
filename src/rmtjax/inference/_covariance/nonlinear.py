r"""Optimal levels from the Stieltjes transform of the sample levels.

Of all matrices with the vectors v_i of the sample, that with the levels $d_i = v_i^* \Sigma v_i$ is nearest to Σ. For
many variables $d_i = \operatorname{Im} e(\lambda_i) / \operatorname{Im} m(\lambda_i)$ with $m(z) = \frac1p
\operatorname{tr} (S - z)^{-1}$ and $e(z) = \frac1p \operatorname{tr} \Sigma (S - z)^{-1}$, and as $(S - z)^{-1} \simeq
(\varphi \Sigma - z)^{-1}$ with $\varphi = 1/(1 + ce)$, $c = p/n$,

$$\varphi e = 1 + z m, \qquad d(\lambda) = \frac{\lambda}{|1 - c - c \lambda m(\lambda)|^2}.$$

For p > n the p - n levels 0 belong to m. With the transform m₊ of the other levels $1 - c - c\lambda m = -\lambda m_+$,
and the level at 0 is $d_0 = 1/((c - 1)\, m_+(0))$.

Further levels that are 0 mean a lower rank r. For p ≤ n constant or repeated variables leave directions without
variance, so that r counts as the number of variables and c is r/n. For p > n repeated rows are the cause, so that r
counts as the number of observations and c is p/r.

References:
    Ledoit and Péché (2011), Probab. Theory Relat. Fields 151, 233, theorem 3 and proposition 1.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from rmtjax.inference._covariance.transforms import Transform, counted

Levels = tuple[Float[Array, "*batch k"], Float[Array, "*batch"]]


def optimal(
    levels: Float[Array, "*batch k"], transform: Transform, count: Bool[Array, "*batch k"], n: int, p: int
) -> Float[Array, "*batch k"]:
    """The levels d of the formula above; levels that do not count become 0."""
    u, v = transform
    c = _rank(levels, count)[..., None] / n
    squared = (1 - c + c * u) ** 2 + (c * v) ** 2 if p <= n else u**2 + v**2
    return jnp.where(count, levels, 0) / jnp.where(count, squared, 1)


def _rank(levels: Float[Array, "*batch k"], count: Bool[Array, "*batch k"]) -> Float[Array, "*batch"]:
    return jnp.sum(count, -1, dtype=levels.dtype)


def effective_sizes(
    levels: Float[Array, "*batch k"], n: int, p: int
) -> tuple[Bool[Array, "*batch k"], Float[Array, "*batch"], Float[Array, "*batch"]]:
    """Which levels count, and the numbers of observations and variables behind that rank, at least 1."""
    count = counted(levels, n, p)
    rank = jnp.maximum(_rank(levels, count), 1)
    return (count, jnp.full_like(rank, n), rank) if p <= n else (count, rank, jnp.full_like(rank, p))


def null_level(
    levels: Float[Array, "*batch k"],
    count: Bool[Array, "*batch k"],
    n: int,
    p: int,
    factor: Float[Array, "*batch"] | float = 1.0,
) -> Float[Array, "*batch"]:
    """The level d₀ of directions without data, 0 for p ≤ n; a kernel multiplies m₊(0) by the factor."""
    if p <= n:
        return jnp.zeros(levels.shape[:-1], levels.dtype)
    inverse = jnp.sum(jnp.where(count, 1 / jnp.where(count, levels, 1), 0), -1)
    rank = _rank(levels, count)
    # 1 / ((p/r - 1) inverse/r)
    return jnp.where(rank > 0, rank**2 / jnp.where(rank > 0, (p - rank) * inverse * factor, 1), 0)


def filled(levels: Float[Array, "*batch k"], null: Float[Array, "*batch"], count: Bool[Array, "*batch k"]) -> Levels:
    """The levels; those that do not count get the level of directions without data."""
    return jnp.where(count, levels, null[..., None]), null


def with_trace(levels: Float[Array, "*batch k"], null: Float[Array, "*batch"], p: int, like: Array) -> Levels:
    """The levels times the number that gives them the sum of the levels `like`."""
    total = jnp.sum(levels, -1) + (p - levels.shape[-1]) * null
    factor = jnp.where(total > 0, jnp.sum(like, -1) / jnp.where(total > 0, total, 1), 1)
    return levels * factor[..., None], null * factor
