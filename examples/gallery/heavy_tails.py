"""Heavy tails.

Levels of symmetric matrices whose entries have no variance: Lévy matrices. The
smaller the exponent of the tails, the farther the spectrum reaches beyond the
semicircle.
"""

import jax
import matplotlib.pyplot as plt
import numpy as np

import rmtjax as rmt

plt.style.use("rmtjax.plotting.style")
figure, ax = plt.subplots()
for alpha in (1.2, 1.6, 1.9):
    spectra = rmt.simulate(rmt.Levy(500, alpha).eigenvalues, jax.random.key(0), 20)
    heights, edges = np.histogram(spectra, np.linspace(-8, 8, 121))
    ax.stairs(
        heights / (spectra.size * (edges[1] - edges[0])),
        edges,
        label=f"α = {alpha}",
    )
ax.set(xlabel="level", ylabel="density", yscale="log", ylim=(1e-4, 1))
ax.legend()
plt.savefig("heavy_tails.png")
