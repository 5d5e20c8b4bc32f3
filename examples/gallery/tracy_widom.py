"""The largest level.

Largest levels of 4000 Gaussian matrices of order 10,000 for each β, in the variable
of the edge, and the laws of Tracy and Widom. Only a corner of the tridiagonal
matrix decides on the level, so that a draw takes a fraction of a millisecond.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt

plt.style.use("rmtjax.plotting.style")
x = jnp.linspace(-6, 4, 300)
figure, ax = plt.subplots()
for beta, ensemble in (
    (1, rmt.GOE(10_000)),
    (2, rmt.GUE(10_000)),
    (4, rmt.GSE(10_000)),
):
    edge = ensemble.soft_edge()
    largest = lambda key, ensemble=ensemble: ensemble.largest_eigenvalues(key)[0]
    draws = edge.standardize(rmt.simulate(largest, jax.random.key(beta), 4000))
    ax.hist(
        draws, 60, range=(-6, 4), density=True, alpha=0.3, color=f"C{beta // 2}"
    )
    ax.plot(x, edge.law.pdf(x), color=f"C{beta // 2}", label=f"β = {beta}")
ax.set(xlabel="largest level, standardised", ylabel="density")
ax.legend()
plt.savefig("tracy_widom.png")
