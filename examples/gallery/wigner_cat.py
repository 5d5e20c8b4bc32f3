"""Wigner's cat.

Spectra of 100 matrices of random order, each repeated periodically to 1000 levels
and pooled with its mirror image. The line through the ears is their exact law at
that size.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt
from rmtjax import plotting

plt.style.use("rmtjax.plotting.style")
cat = rmt.Mixed(rmt.GOE(1000), 0.9)


def levels(key):
    padded = cat.periodic_eigenvalues(key, "ascending")
    return jnp.concatenate([padded, -padded])


counts = rmt.Histogram(jnp.linspace(-2.2, 2.2, 111))
histogram = rmt.simulate(levels, jax.random.key(0), 100, reduce=counts)
laws = {
    "exact law": cat.law("ascending", symmetrized=True),
    "semicircle": cat.base.law(),
}
ax = plotting.spectral_density(histogram, law=laws)
ax.set_ylim(0, 0.45)
plt.savefig("wigner_cat.png")
