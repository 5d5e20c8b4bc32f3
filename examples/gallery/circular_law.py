"""The circular law.

Eigenvalues of one real matrix with 1000 × 1000 independent normal entries. They
fill the unit disc evenly, but for a share of them that is real.
"""

import jax
import matplotlib.pyplot as plt

import rmtjax as rmt
from rmtjax import plotting

plt.style.use("rmtjax.plotting.style")
ginibre = rmt.Ginibre(1000)
plotting.complex_levels(ginibre.eigenvalues(jax.random.key(0)), law=ginibre.law())
plt.savefig("circular_law.png")
