"""Between order and chaos.

The model of Rosenzweig and Porter: independent diagonal entries, and others of
variance n^(−γ). Below γ = 2 the levels repel like those of a full random matrix,
above they are independent. The larger the matrix, the sharper the change.
"""

from functools import partial

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt

plt.style.use("rmtjax.plotting.style")


def mean_ratio(n, key, gamma):
    levels = rmt.RosenzweigPorter(n, gamma).eigenvalues(key)
    return rmt.statistics.gap_ratios(levels[n // 4 : -n // 4]).mean()


gammas, key = jnp.linspace(0.5, 3.5, 16), jax.random.key(0)
for n, draws in ((50, 400), (200, 100)):
    ratio = partial(mean_ratio, n)
    means = [rmt.simulate(ratio, key, draws, args=(g,)).mean() for g in gammas]
    plt.plot(gammas, means, "o-", label=f"n = {n}")
for beta, name in ((1, "β = 1"), (0, "independent levels")):
    limit = rmt.laws.mean_gap_ratio(beta)
    plt.axhline(limit, color="black", linestyle=":", zorder=0)
    plt.text(0.5 + 2.2 * beta, limit + 0.002, name)
plt.gca().set(xlabel="γ", ylabel="mean gap ratio")
plt.legend()
plt.savefig("rosenzweig_porter.png")
