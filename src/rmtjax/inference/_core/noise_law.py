r"""The levels of noise of unit variance, and of spikes in it, for large matrices of the ratio $\gamma = p/n$.

Noise alone follows the law of Marčenko and Pastur. A population level $\ell > 1 + \sqrt\gamma$ shows in the sample at
$\lambda = \ell\,(1 + \gamma/(\ell - 1))$. The vectors of sample and population have the squared cosine
$\frac{1 - \gamma/(\ell - 1)^2}{1 + \gamma/(\ell - 1)}$ (Baik and Silverstein 2006; Paul 2007).
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from rmtjax.laws import MarchenkoPastur


def median_level(ratio: Float[Array, "..."]) -> Float[Array, "..."]:
    """The median of the law for each ratio up to 1, where there is no atom at 0."""
    return jnp.vectorize(_median, signature="()->()")(ratio)


def _median(ratio: Float[Array, ""]) -> Float[Array, ""]:
    return MarchenkoPastur(ratio).median()


def spike(level: Float[Array, "..."], ratio: Float[Array, "..."]) -> tuple[Bool[Array, "..."], Float[Array, "..."]]:
    """Whether a level is above the noise, and the excess ℓ - 1 behind it, which is meaningless otherwise."""
    # The excess solves e² - (λ - 1 - γ) e + γ = 0.
    middle = level - 1 - ratio
    above = middle > 2 * jnp.sqrt(ratio)
    middle = jnp.where(above, middle, 3 * jnp.sqrt(ratio))
    return above, (middle + jnp.sqrt(middle**2 - 4 * ratio)) / 2


def squared_cosine(excess: Float[Array, "..."], ratio: Float[Array, "..."]) -> Float[Array, "..."]:
    """The squared cosine between the vectors of sample and population."""
    return (1 - ratio / excess**2) / (1 + ratio / excess)
