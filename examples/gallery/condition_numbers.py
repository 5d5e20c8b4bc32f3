"""Condition numbers.

The condition number of a square matrix with normal entries is of the order n and
has a heavy tail: it exceeds x·n with a probability of about 2/x. The line is the
limiting law that Edelman found.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt

plt.style.use("rmtjax.plotting.style")
jax.config.update(
    "jax_enable_x64", True
)  # the levels are squares of singular values
n = 100
condition = lambda key: jnp.sqrt(
    rmt.statistics.condition_number(wishart.eigenvalues(key))
)
wishart = rmt.Wishart(n, n)
draws = jnp.sort(rmt.simulate(condition, jax.random.key(0), 4000)) / n
x = jnp.geomspace(0.3, 300, 300)
figure, ax = plt.subplots()
ax.loglog(draws, 1 - jnp.arange(4000) / 4000, label="4000 matrices of order 100")
ax.loglog(x, 1 - jnp.exp(-2 / x - 2 / x**2), "k--", label="Edelman (1988)")
ax.set(
    xlabel="x",
    ylabel="probability of a condition number above x·n",
    xlim=(0.3, 300),
    ylim=(5e-3, 1.3),
)
ax.legend()
plt.savefig("condition_numbers.png")
