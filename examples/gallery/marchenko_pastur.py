"""Sample covariances of pure noise.

The variables are independent and have variance 1, yet the levels of the sample
covariance matrix spread around 1: the fewer observations there are for each
variable, the farther. These are the laws of Marčenko and Pastur.
"""

import jax
import matplotlib.pyplot as plt
import numpy as np

import rmtjax as rmt
from rmtjax import plotting

plt.style.use("rmtjax.plotting.style")
figure, ax = plt.subplots()
for observations in (1250, 2000, 10000):
    noise = rmt.Wishart(1000, observations)
    levels = noise.eigenvalues(jax.random.key(0))
    name = f"{observations / 1000:g} observations a variable"
    bins = np.linspace(0, 3.7, 75)
    plotting.spectral_density(levels, law={name: noise.law()}, bins=bins, ax=ax)
handles, names = ax.get_legend_handles_labels()
ax.legend(handles[1::2], names[1::2])
plt.savefig("marchenko_pastur.png")
