"""Variances that differ.

A symmetric matrix whose entries are large in one corner, and the law that follows
from its profile of variances. It is far from a semicircle.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt
from rmtjax import plotting

plt.style.use("rmtjax.plotting.style")
place = jnp.linspace(0, 1, 30)
coupling = jnp.exp(
    3 * (place[:, None] + place[None]) - 6 - 8 * abs(place[:, None] - place[None])
)
matrix = rmt.VarianceProfile(jnp.kron(coupling, jnp.ones((30, 30))) / 900)
law = {"law of the profile": rmt.laws.VarianceProfileLaw(coupling)}
levels = matrix.eigenvalues(jax.random.key(0))
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8))
left.imshow(jnp.abs(matrix.sample(jax.random.key(0))), cmap="Blues", vmax=0.04)
left.set_title("|entries|")
plotting.spectral_density(levels, law=law, bins=60, ax=right)
plt.savefig("variance_profile.png")
