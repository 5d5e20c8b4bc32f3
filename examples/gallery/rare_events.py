"""One in a googol.

The probability that the largest level of a Hermitian matrix of order 50 is far too
large, by importance sampling. The law of Tracy and Widom, which is the limit of
large matrices, is wrong there by ten orders of magnitude.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt

plt.style.use("rmtjax.plotting.style")
gue, s = rmt.GUE(50), jnp.linspace(0.5, 27, 10)
edge, key = gue.soft_edge(), jax.random.key(0)
tail = [
    rmt.simulate_rare(gue, key, "largest", level, 1000).log10_probability
    for level in edge.levels(s)
]
figure, ax = plt.subplots()
ax.plot(s, tail, "o-", label="GUE(50), simulated")
ax.plot(s, edge.law.logsf(s) / jnp.log(10), "k--", label="Tracy–Widom")
ax.set(
    xlabel="largest level, standardised", ylabel="log₁₀ of the probability beyond"
)
ax.legend()
plt.savefig("rare_events.png")
