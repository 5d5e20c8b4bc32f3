"""The spectral rigidity Δ₃.

The mean squared distance of the staircase of levels from its best straight line,
over the length of the stretch, as Dyson and Mehta defined it for nuclear data.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt
from rmtjax import plotting

plt.style.use("rmtjax.plotting.style")
phases = rmt.simulate(rmt.CUE(200).eigenphases, jax.random.key(0), 50)
circle = rmt.statistics.unfold_phases(phases)
ax = plotting.rigidity(circle, jnp.linspace(1, 40, 40), betas=(0, 1, 2))
ax.set_ylim(0, 0.6)
plt.savefig("rigidity.png")
