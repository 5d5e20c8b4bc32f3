"""Levels avoid crossing.

The levels of cos(φ) A + sin(φ) B for two random symmetric matrices, over the angle.
Neighbours come close but never meet. One call of `vmap` does all angles at once.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt

plt.style.use("rmtjax.plotting.style")
goe = rmt.GOE(30)
a, b = map(goe.sample, jax.random.split(jax.random.key(3)))


def levels(angle):
    return rmt.eigvalsh(jnp.cos(angle) * a + jnp.sin(angle) * b)


angles = jnp.linspace(0, jnp.pi, 500)
figure, ax = plt.subplots(figsize=(6.4, 4.4))
ax.plot(angles, jax.vmap(levels)(angles), linewidth=1)
ax.set(xlabel="angle", ylabel="level", xlim=(0, jnp.pi))
plt.savefig("avoided_crossings.png")
