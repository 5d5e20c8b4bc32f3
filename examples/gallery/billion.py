"""A matrix of order a billion.

The four largest levels of 500 matrices of order 10⁹, in the variable of the edge,
with the laws of Tracy and Widom for each. One such matrix would fill four million
terabytes. Its top levels need a corner of a few thousand rows.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt

plt.style.use("rmtjax.plotting.style")
jax.config.update(
    "jax_enable_x64", True
)  # neighbouring levels agree in nine digits
goe = rmt.GOE(10**9)
top = rmt.simulate(
    lambda key: goe.largest_eigenvalues(key, 4), jax.random.key(0), 500
)
top = goe.soft_edge().standardize(top)
x = jnp.linspace(-10, 4, 300)
figure, ax = plt.subplots()
for order in range(1, 5):
    law = rmt.laws.TracyWidom(1, order=order)
    ax.plot(x, law.pdf(x), color=f"C{order}", label=f"level {order} from the top")
    ax.hist(
        top[:, -order],
        70,
        range=(-10, 4),
        density=True,
        color=f"C{order}",
        alpha=0.3,
    )
ax.set(xlabel="level, standardised", ylabel="density")
ax.legend()
plt.savefig("billion.png")
