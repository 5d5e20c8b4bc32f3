"""The smallest level.

The smallest level of a square Wishart matrix is as close to 0 as 1/n². Multiplied
by n², it has the laws of the hard edge, here for real and complex data.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt

plt.style.use("rmtjax.plotting.style")
jax.config.update("jax_enable_x64", True)
figure, ax = plt.subplots()
for beta in (1, 2):
    edge = rmt.Wishart(100, 101, beta=beta).hard_edge()
    smallest = lambda key, beta=beta: rmt.Wishart(100, 101, beta=beta).eigenvalues(
        key
    )[0]
    draws = edge.standardize(rmt.simulate(smallest, jax.random.key(0), 4000))
    x = jnp.linspace(0.01, jnp.quantile(draws, 0.99), 200)
    ax.hist(
        draws,
        50,
        range=(0, float(x[-1])),
        density=True,
        color=f"C{beta}",
        alpha=0.3,
    )
    ax.plot(x, edge.law.pdf(x), color=f"C{beta}", label=f"β = {beta}")
ax.set(xlabel="smallest level, standardised", ylabel="density")
ax.legend()
plt.savefig("hard_edge.png")
