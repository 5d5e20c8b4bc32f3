"""Regular graphs.

Adjacency matrices of random graphs in which each node has 3 or 4 neighbours, with
the law of Kesten and McKay. With many neighbours it becomes the semicircle.
"""

import jax
import matplotlib.pyplot as plt

import rmtjax as rmt
from rmtjax import plotting

plt.style.use("rmtjax.plotting.style")
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6))
for ax, degree in zip(axes, (3, 4), strict=True):
    graph = rmt.RandomRegular(1000, degree)
    levels = graph.eigenvalues(jax.random.key(0))[:-1]  # without the degree itself
    plotting.spectral_density(
        levels, law={"Kesten–McKay": graph.law()}, bins=40, ax=ax
    )
    ax.set_title(f"{degree} neighbours")
plt.savefig("regular_graphs.png")
