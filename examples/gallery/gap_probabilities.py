"""How many levels are in an interval?

Probabilities that an interval holds 0, 1, 2, … levels, over its length in mean
spacings. Independent levels are Poisson distributed. Levels of random matrices keep
their number close to the mean, and the closer the larger β is.
"""

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import poisson

import rmtjax as rmt

plt.style.use("rmtjax.plotting.style")
s = jnp.linspace(0.02, 4, 100)
figure, axes = plt.subplots(1, 4, figsize=(12, 3.5), sharey=True)
axes[0].plot(s, poisson.pmf(np.arange(5)[None], np.asarray(s)[:, None]))
axes[0].set_title("independent levels")
for ax, beta in zip(axes[1:], (1, 2, 4), strict=True):
    ax.plot(s, rmt.laws.bulk_gap_probabilities(s, beta, 4))
    ax.set_title(f"β = {beta}")
for ax in axes:
    ax.set_xlabel("length of the interval")
axes[0].set_ylabel("probability")
figure.legend(axes[-1].lines, ["0 levels", "1", "2", "3", "4"], loc="outside right")
plt.savefig("gap_probabilities.png")
