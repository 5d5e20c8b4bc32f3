"""Discs, rings and a sphere.

Eigenvalues of four ensembles without symmetry, with their laws: a corner of a
unitary matrix, a ring, a product of three matrices, and a quotient of two, whose
eigenvalues are uniform on the sphere.
"""

import jax
import matplotlib.pyplot as plt

import rmtjax as rmt
from rmtjax import plotting

plt.style.use("rmtjax.plotting.style")
ensembles = [
    rmt.TruncatedUnitary(300, 100),
    rmt.InducedGinibre(300, 450, beta=2),
    rmt.GinibreProduct(300, 3, beta=2),
    rmt.Spherical(300, beta=2),
]
figure, axes = plt.subplots(1, 4, figsize=(12, 3.5))
for ax, ensemble in zip(axes, ensembles, strict=True):
    levels = ensemble.eigenvalues(jax.random.key(0))
    plotting.complex_levels(levels, law=ensemble.law(), ax=ax, markersize=2)
    ax.set_title(type(ensemble).__name__)
    ax.get_legend().remove()
axes[-1].set(xlim=(-4, 4), ylim=(-4, 4))
plt.savefig("rings.png")
