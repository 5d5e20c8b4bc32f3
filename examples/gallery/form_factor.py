"""Slope, ramp and plateau.

The spectral form factor of Hermitian matrices of order 100, averaged over 500 of
them, and its exact value: the slope comes from the ends of the semicircle, the ramp
from the repulsion of levels, and the plateau from each level by itself.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt

plt.style.use("rmtjax.plotting.style")
n, times = 100, jnp.geomspace(0.1, 1000, 400)
levels = rmt.simulate(rmt.GUE(n).eigenvalues, jax.random.key(0), 500)
waves = jnp.stack(
    [jnp.exp(1j * times * level).sum(0) for level in levels[:, :, None]]
)
figure, ax = plt.subplots()
ax.loglog(
    times, jnp.abs(waves[0]) ** 2, color="0.8", linewidth=0.8, label="one matrix"
)
ax.loglog(times, (jnp.abs(waves) ** 2).mean(0), color="C0", label="mean of 500")
exact = n * rmt.laws.gaussian_form_factor(times, n)
ax.loglog(times, exact, "k--", linewidth=1, label="exact")
ax.set(xlabel="time", ylabel="|Σ exp(itλ)|²", ylim=(0.5, 2e4))
ax.legend()
plt.savefig("form_factor.png")
