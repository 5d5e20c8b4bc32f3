"""A law is differentiable.

Eight hundred levels of a sample covariance matrix, of which neither the number of
observations nor the noise is known. The gradient of the distance to the law of
Marčenko and Pastur finds both.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
from jax.scipy.optimize import minimize

import rmtjax as rmt
from rmtjax import plotting

plt.style.use("rmtjax.plotting.style")
jax.config.update("jax_enable_x64", True)
levels = rmt.Wishart(800, 2400, scale=1.3).eigenvalues(jax.random.key(0))


def misfit(parameters):  # squared distance of the distribution functions
    ratio, scale = jnp.exp(parameters)
    law = rmt.laws.MarchenkoPastur(ratio, scale)
    return jnp.mean((law.cdf(levels) - (jnp.arange(800) + 0.5) / 800) ** 2)


start = jnp.log(jnp.array([0.8, 1.0]))
ratio, scale = jnp.exp(minimize(misfit, start, method="BFGS").x)
fitted = {
    f"fit: ratio {ratio:.3f}, scale {scale:.3f}": rmt.laws.MarchenkoPastur(
        ratio, scale
    )
}
plotting.spectral_density(levels, law=fitted, bins=50)
plt.savefig("fit_by_gradient.png")
