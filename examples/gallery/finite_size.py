"""Small matrices are not semicircles.

The exact density of the levels of Hermitian Gaussian matrices has one hump for each
level. The humps shrink as the order grows, and the semicircle remains.
"""

import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt

plt.style.use("rmtjax.plotting.style")
x = jnp.linspace(-3, 3, 600)
figure, ax = plt.subplots()
for n, color in ((1, "C0"), (2, "C1"), (4, "C2"), (16, "C3")):
    ax.plot(
        x, rmt.laws.LevelDensity(rmt.GUE(n)).pdf(x), color=color, label=f"GUE({n})"
    )
ax.plot(x, rmt.laws.Semicircle().pdf(x), "k--", label="semicircle")
ax.set(xlabel="level", ylabel="density")
ax.legend()
plt.savefig("finite_size.png")
