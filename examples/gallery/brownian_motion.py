"""Dyson's Brownian motion.

Sixty levels start at three places and move as the entries of their matrix do. The
shades are the density of large matrices, a free sum of the starting levels and a
growing semicircle.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt

plt.style.use("rmtjax.plotting.style")
motion = rmt.DysonBrownianMotion(jnp.repeat(jnp.array([-1.5, 0.0, 2.0]), 20))
times, x = jnp.linspace(0, 1.2, 300), jnp.linspace(-4, 4, 200)
levels = motion.eigenvalues(jax.random.key(0), times)
some = jnp.linspace(0.02, 1.2, 40)
density = jnp.stack([motion.law(time).pdf(x) for time in some])
figure, ax = plt.subplots(figsize=(7, 4.2))
ax.pcolormesh(some, x, density.T, cmap="Blues", vmax=0.6, shading="gouraud")
ax.plot(times, levels, color="black", linewidth=0.5)
ax.set(xlabel="time", ylabel="level", ylim=(-4, 4))
plt.savefig("brownian_motion.png")
