"""Entanglement of random states.

The entropy of a part of eight qubits in a random pure state, over the size of the
part. It follows Page's curve: almost as large as possible up to one half.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt

plt.style.use("rmtjax.plotting.style")
qubits, sizes = 8, range(1, 5)
figure, ax = plt.subplots()
for size in sizes:
    n, m = 2**size, 2 ** (qubits - size)
    levels = rmt.simulate(
        rmt.HilbertSchmidt(n, m).eigenvalues, jax.random.key(0), 50
    )
    entropy = -jax.scipy.special.xlogy(levels, levels).sum(1)
    page = (1 / jnp.arange(m + 1, m * n + 1)).sum() - (n - 1) / (2 * m)
    for place in {size, qubits - size}:  # both parts have the same entropy
        ax.plot(
            jnp.full(50, place),
            entropy / jnp.log(2),
            ".",
            color="C0",
            label="states",
        )
        ax.plot(place, page / jnp.log(2), "k_", markersize=20, label="Page (1993)")
ax.set(xlabel="qubits in the part", ylabel="entropy in bits")
ax.legend(*(each[:2] for each in ax.get_legend_handles_labels()))
plt.savefig("entanglement.png")
