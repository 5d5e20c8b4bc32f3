"""Multiplying spectra.

Sample covariances of variables whose true variances are 1, 3 and 8. As the
observations grow fewer, the three peaks of the truth run together: each law is a
free product of the truth and of noise.
"""

import jax.numpy as jnp
import matplotlib.pyplot as plt

from rmtjax import laws

plt.style.use("rmtjax.plotting.style")
truth = laws.Empirical([1.0, 3.0, 8.0])
x = jnp.linspace(0.01, 16, 800)
figure, ax = plt.subplots()
for observations in (50, 20, 5, 2):
    law = laws.FreeProduct(truth, laws.MarchenkoPastur(1 / observations))
    ax.plot(x, law.pdf(x), label=f"{observations} observations a variable")
ax.set(xlabel="level", ylabel="density", ylim=(0, 0.9))
ax.legend()
plt.savefig("free_product.png")
