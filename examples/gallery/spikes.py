"""Three factors in a covariance matrix.

Of 300 variables with 900 observations, three combinations vary more than the
others. Two of them leave the bulk, at places that the theory of spiked matrices
knows. The third is too weak to be seen in the levels.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt
from rmtjax import plotting

plt.style.use("rmtjax.plotting.style")
factors = jnp.array([5.0, 2.5, 1.4])  # their variances; that of the rest is 1
spiked = rmt.Spiked(rmt.Wishart(300, 900), factors)
levels = spiked.eigenvalues(jax.random.key(1))
ax = plotting.spectral_density(levels, law=rmt.laws.MarchenkoPastur(1 / 3), bins=80)
for place in spiked.outliers()[:2]:
    ax.axvline(place, color="C3", linestyle=":", zorder=0)
ax.plot([], [], ":", color="C3", label="outliers, in theory")
ax.legend()
plt.savefig("spikes.png")
