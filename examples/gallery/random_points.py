"""Random or too regular?

Sixty points on the circle: independent ones, and the eigenvalues of random unitary
matrices for three β. Independent points cluster and leave gaps. Eigenvalues keep
their distance.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt

plt.style.use("rmtjax.plotting.style")
n, key = 60, jax.random.key(0)
circles = {
    "independent": jax.random.uniform(key, (n,)) * 2 * jnp.pi,
    "β = 1": rmt.COE(n).eigenphases(key),
    "β = 2": rmt.CUE(n).eigenphases(key),
    "β = 100": rmt.CircularBeta(n, 100).eigenphases(key),
}
figure, axes = plt.subplots(1, 4, figsize=(12, 3.5))
for ax, (name, phases) in zip(axes, circles.items(), strict=True):
    ax.add_artist(plt.Circle((0, 0), 1, fill=False, color="0.8"))
    ax.plot(jnp.cos(phases), jnp.sin(phases), "o", markersize=4)
    ax.set(title=name, aspect="equal", xlim=(-1.1, 1.1), ylim=(-1.1, 1.1))
    ax.axis("off")
plt.savefig("random_points.png")
