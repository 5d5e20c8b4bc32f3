r"""p-values of the largest level of white noise, by the laws of Tracy and Widom with constants of the second order.

Let X be n × p with independent normal entries, $E|x|^2 = \sigma^2$, and let $l_1$ be the largest level of $X^*X$. With
the centre μ and the scale s of Johnstone (2001), El Karoui (2006) and Ma (2012), which are symmetric in n and p,
$(l_1/\sigma^2 - \mu)/s$ has the distribution function F up to an error $O(n^{-2/3})$.

*Unknown noise.* The trace T, with mean $np\,\sigma^2$ and variance $\frac2\beta np\,\sigma^4$, is independent of the
ratio $U = np\,l_1/T$, because it is a complete sufficient statistic for the scale (Basu). As $l_1 = U\,T/np$, F is the
law of U, smeared out by $d = \frac1{\beta np}(\mu/s)^2$ to $F_U + d\,F_U''$, so that to the first order (Nadler 2011)

$$P(U > \mu + s x) = 1 - F(x) + d\,F''(x) .$$

So the smaller tail t, 1 - F or F, becomes $t\,(1 + y)$, $y = -d\,t''/t$. Far out this would be below 0. Below
$y = -\tfrac12$ the factor $1 + y$ is therefore $\tfrac12 e^{2y + 1}$, which has the same value and slope there.

*Behind k signals.* By interlacing, level k + 1 of n observations with k spikes is stochastically below the largest
level of noise of p - k variables (Johnstone 2001, proposition 1.2). The ratio also takes n - k observations: very
strong signals use up k degrees of freedom of both sides, and the rest of the matrix is noise of size (n - k) × (p - k).
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax._promotion import aligned
from rmtjax._typing import RealOrComplex
from rmtjax.ensembles.internal import largest_laguerre_level
from rmtjax.laws import TracyWidom
from rmtjax.laws.internal import smaller_tail


def known_noise_p_values(
    levels: Float[Array, "*batch k"], n: Float[Array, ""], p: int, beta: RealOrComplex
) -> Float[Array, "*batch k"]:
    """The p-value of each level of X*X, descending and in units of σ², as noise behind all larger ones."""
    before = jnp.arange(levels.shape[-1], dtype=levels.dtype)
    centre, scale = largest_laguerre_level(n, p - before, beta)
    levels, centre, scale = aligned(levels, centre, scale)
    return TracyWidom(beta).sf((levels - centre) / scale)


def ratio_p_values(
    levels: Float[Array, "*batch k"], rest: Float[Array, "*batch"], n: Float[Array, ""], p: int, beta: RealOrComplex
) -> Float[Array, "*batch k"]:
    """The p-value of the ratio of each level, descending, to the sum of itself, all later levels and the rest.

    The last level, and a level with no noise behind it, have the p-value 1.
    """
    before = jax.lax.broadcast_to_rank(jnp.arange(levels.shape[-1], dtype=levels.dtype), levels.ndim)
    rows, columns = n - before, p - before
    testable = (rows > 1) & (columns > 1)
    rows, columns = jnp.where(testable, rows, 2), jnp.where(testable, columns, 2)
    total = remaining(levels, rest)
    some = total > 0
    ratio = rows * columns * levels / jnp.where(some, total, 1)
    centre, scale = largest_laguerre_level(rows, columns, beta)
    smear = (centre / scale) ** 2 / (beta * rows * columns)
    values = _sharpened(TracyWidom(beta), (ratio - centre) / scale, smear)
    return jnp.where(testable, jnp.where(some, values, jnp.nan), 1)


def remaining(levels: Float[Array, "*batch k"], rest: Float[Array, "*batch"]) -> Float[Array, "*batch k"]:
    """For each of the descending levels the sum of itself, all later levels and the rest, without cancellation."""
    return rest[..., None] + jnp.cumsum(levels[..., ::-1], axis=-1)[..., ::-1]


def _sharpened(law: TracyWidom, x: Float[Array, "..."], smear: Float[Array, "..."]) -> Float[Array, "..."]:
    """The tail 1 - F + d F'' of the formula at the top of the file, between 0 and 1."""
    below, tail, bend = smaller_tail(law, x)
    y = -smear * bend
    far = y < -0.5
    factor = jnp.where(far, 0.5 * jnp.exp(2 * jnp.where(far, y, 0) + 1), 1 + y)
    return jnp.where(below, 1 - jnp.exp(tail) * factor, jnp.exp(tail) * factor)
