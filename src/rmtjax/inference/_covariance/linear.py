r"""Linear shrinkage: $\hat\Sigma = (1 - \rho) S + \rho \mu I$ with $\mu = \operatorname{tr} S / p$.

Its levels are $(1 - \rho)\lambda + \rho\mu$; directions without data have the level $\rho\mu$.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from rmtjax.inference._covariance.nonlinear import Levels


def ledoit_wolf(levels: Float[Array, "*batch k"], n: int, p: int, fourth: Float[Array, "*batch"]) -> Levels:
    r"""Shrinkage with the intensity that is optimal for large n and p, whatever the distribution.

    $\rho = \min(b, d)/d$ with $d = \|S - \mu I\|^2$, the square of the Frobenius norm, and
    $b = \frac{1}{n^2}\sum_i \|x_i x_i^* - S\|^2$, which is (fourth - ‖S‖²)/n.

    References:
        Ledoit and Wolf (2004), J. Multivariate Anal. 88, 365, lemmas 3.2 to 3.5 and equation 14.
    """
    first, second = _traces(levels)
    return _shrunk(levels, first / p, (fourth - second) / n, second - first**2 / p)


def fourth_moment(data: Inexact[Array, "*batch n p"], *, center: bool) -> Float[Array, "*batch"]:
    r"""The mean of $|x_i|^4$; where the mean is unknown, $\sqrt{n/(n - 1)}\,(x_i - \bar x)$ stands for $x_i$.

    The n - 1 rows that `without_mean` gives would not do: their fourth moment depends on the order of the observations.
    """
    n = data.shape[-2]
    deviations = data - jnp.mean(data, axis=-2, keepdims=True) if center else data
    squares = jnp.sum(jnp.real(deviations * jnp.conj(deviations)), -1)
    return jnp.mean(squares**2, -1) * ((n / (n - 1)) ** 2 if center else 1)


def oas(levels: Float[Array, "*batch k"], n: int, p: int, *, real: bool) -> Levels:
    r"""Shrinkage with the oracle-approximating intensity for normal data.

    $\rho = \min\left(1, \frac{a \operatorname{tr} S^2 + \operatorname{tr}^2 S}{(n + a)(\operatorname{tr} S^2 -
    \operatorname{tr}^2 S / p)}\right)$ with $a = 1 - 2/p$ for real data. For complex data, where $E \operatorname{tr}
    S^2 = \operatorname{tr} \Sigma^2 + \operatorname{tr}^2 \Sigma / n$, the same iteration has $a = -1/p$.

    References:
        Chen, Wiesel, Eldar and Hero (2010), IEEE Trans. Signal Process. 58, 5016, equation 23.
    """
    first, second = _traces(levels)
    a = 1 - 2 / p if real else -1 / p
    return _shrunk(levels, first / p, a * second + first**2, (n + a) * (second - first**2 / p))


def _traces(levels: Float[Array, "*batch k"]) -> tuple[Float[Array, "*batch"], Float[Array, "*batch"]]:
    """Traces of S and of its square."""
    return jnp.sum(levels, -1), jnp.sum(levels**2, -1)


def _shrunk(
    levels: Float[Array, "*batch k"], mean: Float[Array, "*batch"], noise: Float[Array, "*batch"], spread: Array
) -> Levels:
    """Shrinkage with the intensity noise/spread, at most 1."""
    partial = (noise < spread) & (spread > 0)
    intensity = jnp.where(partial, jnp.maximum(noise, 0) / jnp.where(partial, spread, 1), 1)
    null = intensity * mean
    return (1 - intensity)[..., None] * levels + null[..., None], null
