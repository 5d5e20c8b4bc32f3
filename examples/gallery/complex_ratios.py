"""Repulsion in the plane.

Ratios of the distance to the nearest and to the second nearest neighbour, with
their direction, for eigenvalues of matrices without symmetry. They avoid 0, and
rarely point where the second neighbour is.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt
from rmtjax import plotting

plt.style.use("rmtjax.plotting.style")
levels = rmt.simulate(rmt.Ginibre(200, beta=2).eigenvalues, jax.random.key(0), 100)
plotting.complex_spacing_ratios(levels, centres=jnp.abs(levels) < 0.75)
plt.savefig("complex_ratios.png")
