"""From a disc to a line.

Each entry of these matrices is correlated with its mirror image. With the
correlation the disc becomes an ellipse, and a fully symmetric matrix has real
levels only.
"""

import jax
import matplotlib.pyplot as plt

import rmtjax as rmt
from rmtjax import plotting

plt.style.use("rmtjax.plotting.style")
figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharex=True, sharey=True)
for ax, correlation in zip(axes, (-0.6, 0.3, 0.9), strict=True):
    ensemble = rmt.Elliptic(500, correlation)
    plotting.complex_levels(
        ensemble.eigenvalues(jax.random.key(0)),
        law=ensemble.law(),
        ax=ax,
        markersize=2,
    )
    ax.set(title=f"correlation {correlation}", xlim=(-2, 2), ylim=(-2, 2))
    ax.get_legend().remove()
plt.savefig("elliptic_law.png")
