"""The Laplacian of a random graph.

Laplace matrices sum the degrees, which are normal, and the adjacency, which is a
semicircle. So the law of the levels is the free sum of both, with tails that
neither a semicircle nor the degrees have.
"""

import jax
import matplotlib.pyplot as plt

import rmtjax as rmt
from rmtjax import plotting

plt.style.use("rmtjax.plotting.style")
graph = rmt.ErdosRenyi(1500, 0.2, "laplacian")
levels = graph.eigenvalues(jax.random.key(0))[
    1:
]  # without the 0 of the constant vector
ax = plotting.spectral_density(
    levels, law={"normal ⊞ semicircle": graph.law()}, bins=60
)
plt.savefig("random_graph.png")
