"""Is a spin chain chaotic?

The mean gap ratio of the Heisenberg ring of ten spins in random fields. In weak
fields it is that of symmetric random matrices, in strong fields that of independent
levels. The script `examples/spin_chain.py` has errors and larger chains.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import rmtjax as rmt

plt.style.use("rmtjax.plotting.style")
length, sites = 10, np.arange(10)
states = np.array([s for s in range(2**length) if s.bit_count() == length // 2])
up = states[:, None] >> sites & 1
exchange = np.zeros(2 * states.shape)
for site in sites:  # S·S of neighbours is half of what lets them change places
    order = np.where(sites == site, (site + 1) % length, sites)
    order[(site + 1) % length] = site
    swapped = np.searchsorted(states, up[:, order] @ 2**sites)
    exchange[np.arange(states.size), swapped] += 0.5


def mean_ratio(key, strength):
    fields = jax.random.uniform(key, (length,), minval=-strength, maxval=strength)
    levels = rmt.Spectrum(rmt.eigvalsh(exchange + jnp.diag((up - 0.5) @ fields)))
    return rmt.statistics.gap_ratios(levels.middle(1 / 3)).mean()


key, strengths = jax.random.key(0), np.array([0.5, 1, 1.5, 2, 2.5, 3, 4, 6, 8])
means = [rmt.simulate(mean_ratio, key, 60, args=(h,)).mean() for h in strengths]
plt.plot(strengths, means, "o-")
for beta in (0, 1):
    plt.axhline(rmt.laws.mean_gap_ratio(beta), color="black", zorder=0)
plt.gca().set(xlabel="strength of the fields", ylabel="mean gap ratio")
plt.savefig("spin_chain.png")
