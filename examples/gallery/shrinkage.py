"""Cleaning a covariance matrix.

The true variances of 200 variables lie between 1 and 4. The levels of the sample
covariance matrix of 400 observations spread much farther. `shrink_levels` brings
them back, close to the best values that anybody could choose.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt

plt.style.use("rmtjax.plotting.style")
truth = jnp.linspace(1, 4, 200)
data = jnp.sqrt(truth) * jax.random.normal(jax.random.key(0), (400, 200))
levels, vectors = rmt.eigh(data.T @ data / 400)
best = (vectors**2 * truth[:, None]).sum(
    0
)  # of all matrices with these eigenvectors
shrunk = rmt.inference.shrink_levels(levels, 400)
figure, ax = plt.subplots()
ax.plot(truth, levels, ".", markersize=3, label="sample")
ax.plot(truth, best, ".", color="0.6", markersize=3, label="best possible")
ax.plot(truth, shrunk, color="C3", label="cleaned")
ax.plot(truth, truth, "k:", label="true")
ax.set(xlabel="true level", ylabel="level")
ax.legend()
plt.savefig("shrinkage.png")
