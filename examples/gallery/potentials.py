"""From one well to two.

Levels in a quartic potential fill one interval or two. At a = 2 the interval is
about to split.
"""

import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt

plt.style.use("rmtjax.plotting.style")
x = jnp.linspace(-2.6, 2.6, 600)
figure, ax = plt.subplots()
for a, cuts in ((-1.0, 1), (1.0, 1), (2.0, 1), (3.0, 2), (4.0, 2)):
    law = rmt.laws.EquilibriumMeasure(
        [0.0, -a / 2, 0.0, 0.25], cuts
    )  # of x, x², x³, x⁴
    ax.plot(x, law.pdf(x), color=plt.cm.viridis((a + 1) / 6), label=f"a = {a:g}")
ax.set(xlabel="level", ylabel="density", title="potential x⁴/4 − a x²/2")
ax.legend()
plt.savefig("potentials.png")
