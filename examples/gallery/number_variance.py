"""Rigid spectra.

The variance of the number of levels in an interval. It grows like the logarithm of
the length, where independent levels would have the length itself.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt
from rmtjax import plotting

plt.style.use("rmtjax.plotting.style")
goe = rmt.GOE(400)
levels = rmt.simulate(goe.eigenvalues, jax.random.key(0), 100)
bulk = rmt.statistics.unfold(levels, goe.law()).bulk(100, 300)
plotting.number_variance(bulk, jnp.linspace(0.5, 30, 40), betas=(1, 2, 4))
plt.savefig("number_variance.png")
