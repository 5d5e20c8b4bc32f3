"""Wigner's semicircle.

The levels of one symmetric Gaussian matrix of order 5000, and the limit of large
matrices. The matrix itself is never made: `eigenvalues` draws the levels from a
tridiagonal matrix with the same spectrum.
"""

import jax
import matplotlib.pyplot as plt

import rmtjax as rmt
from rmtjax import plotting

plt.style.use("rmtjax.plotting.style")
goe = rmt.GOE(5000)
plotting.spectral_density(
    goe.eigenvalues(jax.random.key(0)), law={"semicircle": goe.law()}
)
plt.savefig("semicircle.png")
