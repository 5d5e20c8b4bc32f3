"""A signal appears.

The largest level of a Hermitian Gaussian matrix to which a matrix of rank one was
added. Below the strength 1 nothing happens. Above it the level leaves the bulk: the
transition of Baik, Ben Arous and Péché.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt

plt.style.use("rmtjax.plotting.style")


def largest(key, strength):
    return rmt.Spiked(rmt.GUE(300), strength[None]).eigenvalues(key)[-1]


strengths = jnp.linspace(0, 2.5, 26)
figure, ax = plt.subplots()
for strength in strengths:
    draws = rmt.simulate(largest, jax.random.key(0), 20, args=(strength,))
    ax.plot(jnp.full(20, strength), draws, ".", color="C0", markersize=3)
limit = jnp.where(strengths > 1, strengths + 1 / jnp.maximum(strengths, 1), 2)
ax.plot(strengths, limit, "k", label="limit of large matrices")
ax.set(xlabel="strength of the signal", ylabel="largest level")
ax.legend()
plt.savefig("bbp_transition.png")
