"""Gap ratios need no unfolding.

The ratio of neighbouring gaps, the smaller to the larger, of the levels of
symmetric matrices, and of levels with nothing in common. It tells chaos from order
in data whose mean density of levels nobody knows.
"""

import jax
import matplotlib.pyplot as plt

import rmtjax as rmt
from rmtjax import plotting

plt.style.use("rmtjax.plotting.style")
key = jax.random.key(0)
chaotic = rmt.simulate(rmt.GOE(200).eigenvalues, key, 100)
independent = jax.random.normal(key, (100, 200)).sort(1)
ax = plotting.gap_ratios(chaotic, betas=1, label="GOE")
plotting.gap_ratios(independent, betas=0, label="independent levels", ax=ax)
plt.savefig("gap_ratios.png")
