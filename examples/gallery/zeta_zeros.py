"""Zeros of Riemann's zeta function.

The first 5000 zeros on the critical line, from changes of sign of Hardy's function
by the formula of Riemann and Siegel. By Montgomery's conjecture their pair
correlation tends to that of Hermitian matrices. So low they repel a little more.
"""

import matplotlib.pyplot as plt
import numpy as np

import rmtjax as rmt
from rmtjax import plotting

plt.style.use("rmtjax.plotting.style")


def theta(t):
    return t / 2 * np.log(t / (2 * np.pi * np.e)) - np.pi / 8 + 1 / (48 * t)


def hardy(t):
    n = np.arange(1, 31)
    terms = np.cos(theta(t)[:, None] - t[:, None] * np.log(n)) / np.sqrt(n)
    a = np.sqrt(t / (2 * np.pi))
    whole, p = np.floor(a), a % 1
    rest = np.cos(2 * np.pi * (p * p - p - 1 / 16)) / np.cos(2 * np.pi * p)
    return (
        2 * np.where(n <= whole[:, None], terms, 0).sum(1)
        - (-1) ** whole * rest / a**0.5
    )


t = np.arange(10, 5450, 0.01)
z = hardy(t)
at = np.flatnonzero(z[:-1] * z[1:] < 0)
zeros = t[at] + 0.01 * z[at] / (z[at] - z[at + 1])
unfolded = rmt.statistics.unfold(zeros, lambda t: theta(t) / np.pi + 1)
r = np.linspace(0, 3, 41)
plotting.pair_correlation(unfolded, r, betas=(0, 2), label="zeros")
plt.savefig("zeta_zeros.png")
