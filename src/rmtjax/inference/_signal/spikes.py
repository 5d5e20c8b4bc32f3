"""What levels above the noise tell about the population, by the formulas of Baik, Ben Arous and Péché."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._promotion import aligned
from rmtjax._typing import RealLike, RealOrComplex
from rmtjax.inference._core.noise_law import spike, squared_cosine
from rmtjax.statistics import Estimate


class SpikeEstimates(AbstractModule):
    """What levels above the noise tell about the population, as `spike_estimates` returns it; NaN for noise.

    Args:
        population: the level ℓσ² of the population covariance, with its standard error for independent normal
            observations.
        singular: the singular value of the signal matrix, if data are a fixed signal plus noise.
        variable_cosine: squared cosine between the vectors of sample and population, of p entries.
        observation_cosine: squared cosine between the scores with and without noise, vectors of n entries.

    Example:
        >>> found = spike_estimates([1.5, 9.0], n=100, p=50, noise=1.0)  # the first is within the noise
        >>> print([f"{cosine:.2f}" for cosine in found.variable_cosine])
        ['nan', '0.93']
    """

    population: Estimate[Float[Array, "..."]]
    singular: Float[Array, "..."]
    variable_cosine: Float[Array, "..."]
    observation_cosine: Float[Array, "..."]


def spike_estimates(
    levels: RealLike, n: RealLike, p: RealLike, noise: RealLike, *, beta: RealOrComplex = 1
) -> SpikeEstimates:
    r"""Population levels and angles behind the levels of a sample covariance matrix that are above the noise.

    With $\gamma = p/n$, a population level $\ell\sigma^2$ with $\ell > 1 + \sqrt\gamma$ shows in the sample at

    $$\lambda = \sigma^2\,\ell\,\Big(1 + \frac{\gamma}{\ell - 1}\Big), \qquad
    \cos^2 = \frac{1 - \gamma/(\ell - 1)^2}{1 + \gamma/(\ell - 1)}, \qquad
    \operatorname{var} \lambda = \frac{2}{\beta n}\,\ell^2 \sigma^4 \Big(1 - \frac{\gamma}{(\ell - 1)^2}\Big) .$$

    The estimate solves the first equation for ℓ, and the slope of this map gives its standard error
    $\ell\sigma^2 \sqrt{2/\beta n}\,/\sqrt{1 - \gamma/(\ell - 1)^2}$. A fixed signal of rank 1 with the singular value θ
    in noise gives the same with $\ell = 1 + \theta^2/n\sigma^2$; the scores then have
    $\cos^2 = (1 - \gamma/(\ell - 1)^2)/(1 + 1/(\ell - 1))$. A level up to the edge $\sigma^2 (1 + \sqrt\gamma)^2$
    says nothing about the population, and everything is NaN.

    Convention: levels of $S = X^*X/n$, $E|x|^2 = \sigma^2$ for the noise, of both parts together where it is complex.

    Args:
        levels: levels of S, of any shape and order.
        n: number of observations behind S, n - 1 where their mean was taken away; may be an effective number.
        p: number of variables.
        noise: σ > 0; broadcasts with the levels.
        beta: 1 for real and 2 for complex data; static.

    Returns:
        A record of arrays in the shape of the levels.

    Raises:
        ValueError: n, p or `noise` is not positive and finite, or `beta` is outside its range.

    Example:
        >>> spike = spike_estimates(6.0, n=100, p=100, noise=1.0)
        >>> print(f"{spike.population:.3f}, cos² {spike.variable_cosine:.3f}")
        4.732 ± 0.695, cos² 0.732

    References:
        Baik and Silverstein (2006), J. Multivariate Anal. 97, 1382, theorem 1.1; Paul (2007), Stat. Sin. 17, 1617,
        theorems 3 and 4; Benaych-Georges and Nadakuditi (2012), J. Multivariate Anal. 111, 120, section 3.1.
    """
    beta = _checks.dyson_index(beta, RealOrComplex)
    given = {"levels": levels, "n": n, "p": p, "noise": noise}
    values, n, p, noise = aligned(*(_checks.real(name, each) for name, each in given.items()))
    positive = (_checks.POSITIVE.kept(name, size) for name, size in (("n", n), ("p", p), ("noise", noise)))
    return _checks.masked(_checks.all_kept(*positive), _estimates(values, n, p, noise, beta))


def estimates(
    levels: Float[Array, "..."],
    n: Float[Array, "..."],
    p: Float[Array, "..."] | int,
    noise: Float[Array, "..."],
    beta: int,
) -> SpikeEstimates:
    """Same as `spike_estimates`, without its checks."""
    ratio = p / n
    unit = noise**2
    above, excess = spike(levels / unit, ratio)
    kept = 1 - ratio / excess**2
    shown = lambda value: jnp.where(above, value, jnp.nan)
    return SpikeEstimates(
        Estimate(shown(unit * (1 + excess)), shown(unit * (1 + excess) * jnp.sqrt(2 / (beta * n * kept)))),
        shown(noise * jnp.sqrt(n * excess)),
        shown(squared_cosine(excess, ratio)),
        shown(kept / (1 + 1 / excess)),
    )


_estimates = compiled(estimates, static_argnums=(4,), nan_is_an_answer=True)
