r"""Smoothed Stieltjes transforms of sample levels, at the levels themselves.

Convention: $m(z) = \frac1k \sum_j \frac{1}{\lambda_j - z}$ over the levels that count. What a shrinker needs is
$-\lambda_i\, m(\lambda_i + i0) = u_i - i v_i$, a number without unit; $v_i/\pi\lambda_i$ is the density at $\lambda_i$.
Each level is smeared over a width proportional to itself, about h times the level. Gaps between levels are also
proportional to the level where the density falls like its inverse, and the scale then changes nothing. For the p - k
directions without data $-\lambda m_0 = \frac1k \sum_j \lambda/\lambda_j$ at 0.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Inexact

from rmtjax._promotion import like

Transform = tuple[Float[Array, "*batch k"], Float[Array, "*batch k"]]


def squared_modulus(z: Inexact[Array, "..."]) -> Float[Array, "..."]:
    """|z|². This avoids the square root, which is not differentiable at 0."""
    return jnp.real(z) ** 2 + jnp.imag(z) ** 2


def counted(levels: Float[Array, "*batch k"], n: int, p: int) -> Bool[Array, "*batch k"]:
    """Which of the ascending levels come from the data and are not the rounding of a 0.

    With p = n some levels of data are as small as rounding. For p ≤ n levels below the rounding are therefore 0 only
    where a gap separates them from the others.
    """
    info, size = jnp.finfo(levels.dtype), max(n, p)
    top = levels[..., -1:]
    beyond_rounding = levels > size * info.eps * top
    if p > n:
        return beyond_rounding
    parted = ~jnp.any(beyond_rounding & (levels < 1000 * size * info.eps * top), -1, keepdims=True)
    # The squares of the smallest levels, in units of the largest, must not underflow.
    return jnp.where(parted, beyond_rounding, levels > 4 * info.tiny**0.5 * top)


def cauchy(
    levels: Float[Array, "*batch k"], width: Float[Array, "*batch 1"], count: Bool[Array, "*batch k"]
) -> Transform:
    r"""The transform by the Cauchy kernel: level j is seen from $\lambda_i (1 + ih)$.

    $u_i - i v_i = \frac1k\sum_j \frac{\lambda_i (\lambda_i - \lambda_j) - i h \lambda_i^2}{(\lambda_i - \lambda_j)^2 +
    h^2 \lambda_i^2}$.
    """
    own = jnp.where(count, levels, 1)[..., :, None]
    gaps = own - levels[..., None, :]
    weights = like(levels, count)[..., None, :] * own / (gaps**2 + (width[..., None] * own) ** 2)
    number = like(levels, jnp.maximum(jnp.sum(count, -1, keepdims=True), 1))
    return jnp.sum(weights * gaps, -1) / number, width * own[..., 0] * jnp.sum(weights, -1) / number


def epanechnikov(
    levels: Float[Array, "*batch k"], width: Float[Array, "*batch 1"], count: Bool[Array, "*batch k"]
) -> Transform:
    """The transform by Epanechnikov's kernel, of the width h λ_j around each level, and by its Hilbert transform."""
    own = levels[..., :, None]
    others = jnp.where(count, levels, 1)[..., None, :]
    reach = width[..., None] * others
    distance = (own - others) / reach
    height = like(levels, count)[..., None, :] * own / reach
    number = like(levels, jnp.maximum(jnp.sum(count, -1, keepdims=True), 1))
    density = jnp.maximum(1 - distance**2 / 5, 0) * (3 / (4 * 5**0.5)) * jnp.pi
    u = jnp.sum(height * kernel_hilbert(distance), -1) / number
    return u, jnp.sum(height * density, -1) / number


def kernel_hilbert(x: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""The principal value of $\int \kappa(t) / (x - t)\,dt$ with $\kappa(t) = \frac{3}{4\sqrt5}(1 - t^2/5)$."""
    root = 5**0.5
    # Far away the closed form loses x² eps. From 5√5 on, 3/√5 Σ u^(2m+1) / ((2m+1)(2m+3)) with u = √5/x replaces it.
    far = jnp.abs(x) > 5 * root
    inverse = root / jnp.where(far, x, 5 * root)
    series = jnp.zeros_like(x)
    for m in reversed(range(10)):
        series = series * inverse**2 + 1 / ((2 * m + 1) * (2 * m + 3))
    near = jnp.where(far, 0, x)
    below, above = jnp.abs(root - near), jnp.abs(root + near)
    end = (below == 0) | (above == 0)  # the product below is 0 there
    logarithm = jnp.log(jnp.where(end, 1, above) / jnp.where(end, 1, below))
    closed = 0.3 * near + 3 / (4 * root) * (1 - near**2 / 5) * logarithm
    return jnp.where(far, 3 / root * inverse * series, closed)
