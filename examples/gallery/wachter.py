"""Canonical correlations of pure noise.

Squared canonical correlations of two groups of 100 and 150 independent variables,
each observed 400 times. None of the variables are related, but the correlations
reach from almost 0 to above 0.8. Their law is that of Wachter.
"""

import jax
import matplotlib.pyplot as plt
import numpy as np

import rmtjax as rmt
from rmtjax import plotting

plt.style.use("rmtjax.plotting.style")
jacobi = rmt.Jacobi(100, 150, 250)
spectra = rmt.simulate(jacobi.eigenvalues, jax.random.key(0), 50)
law = {"Wachter's law": jacobi.law()}
bins = np.linspace(0, 1, 51)
ax = plotting.spectral_density(
    spectra, law=law, bins=bins, quantity="squared correlations"
)
plt.savefig("wachter.png")
