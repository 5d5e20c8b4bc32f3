"""How many components?

Singular values of data with four weak components of different strength, and the end
of the noise. Three of the components are above it. `signal_rank` decides with a
test whose error is known.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt

plt.style.use("rmtjax.plotting.style")
key_signal, key_noise = jax.random.split(jax.random.key(1))
n, p, strengths = 300, 100, jnp.array([4.0, 2.5, 1.6, 0.4])
scores = jax.random.normal(key_signal, (n, 4)) * jnp.sqrt(strengths)
directions = rmt.HaarOrthogonal(p).sample(key_signal)[:4]
data = scores @ directions + jax.random.normal(key_noise, (n, p))
levels = rmt.eigvalsh(data.T @ data / n)[::-1]
found = rmt.inference.signal_rank(data).rank
figure, ax = plt.subplots()
ax.plot(jnp.arange(1, 31), levels[:30], "o", color="0.6", label="noise")
ax.plot(
    jnp.arange(1, found + 1),
    levels[:found],
    "o",
    label=f"signal: {found} components",
)
ax.axhline(
    rmt.laws.MarchenkoPastur(p / n).support()[1], color="black", linestyle=":"
)
ax.set(xlabel="component", ylabel="variance")
ax.legend()
plt.savefig("components.png")
