"""Levels repel each other.

Spacings between neighbours in the middle of the spectrum, for real symmetric and
for Hermitian matrices, with their exact laws and that of independent levels.
"""

import jax
import matplotlib.pyplot as plt

import rmtjax as rmt
from rmtjax import plotting

plt.style.use("rmtjax.plotting.style")
figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.8), sharey=True)
for ax, ensemble, beta in zip(
    axes, (rmt.GOE(200), rmt.GUE(200)), (1, 2), strict=True
):
    levels = rmt.simulate(ensemble.eigenvalues, jax.random.key(0), 200)
    unfolded = rmt.statistics.unfold(levels, ensemble.law()).bulk(50, 150)
    plotting.spacings(
        unfolded, betas=(0, beta), label=type(ensemble).__name__, ax=ax
    )
plt.savefig("spacings.png")
