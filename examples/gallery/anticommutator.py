"""A polynomial of matrices.

The levels of XY + YX for two Gaussian matrices of order 1000. The law, named after
a cheese from Galicia, the tetilla, is computed from the polynomial alone.
"""

import jax
import matplotlib.pyplot as plt

import rmtjax as rmt
from rmtjax import laws, plotting

plt.style.use("rmtjax.plotting.style")
x, y = map(rmt.GUE(1000).sample, jax.random.split(jax.random.key(0)))
law = laws.FreePolynomial({"xy": 1.0, "yx": 1.0})
plotting.spectral_density(
    rmt.eigvalsh(x @ y + y @ x), law={"free law": law}, bins=80
)
plt.savefig("anticommutator.png")
