"""Adding spectra.

A matrix with the levels ±2, half of each, plus noise that is a sample covariance
matrix. The law of the sum follows from the two laws alone. The histogram is one
matrix of order 1000.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt
from rmtjax import laws, plotting

plt.style.use("rmtjax.plotting.style")
noise = rmt.Wishart(1000, 4000)
matrix = jnp.diag(jnp.tile(jnp.array([-2.0, 2.0]), 500)) + noise.sample(
    jax.random.key(0)
)
law = laws.FreeSum(laws.Empirical([-2.0, 2.0]), noise.law())
plotting.spectral_density(rmt.eigvalsh(matrix), law={"free sum": law}, bins=60)
plt.savefig("free_sum.png")
