"""Determinants of random matrices.

The logarithm of |det| of real matrices with independent normal entries becomes
normal, by the theorem of Girko. It does so slowly: 5000 matrices of order 50 still
lean to one side.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
from jax.scipy.special import digamma, polygamma

import rmtjax as rmt

plt.style.use("rmtjax.plotting.style")
n = 50
log_det = lambda key: jnp.linalg.slogdet(rmt.Ginibre(n, scale=n**0.5).sample(key))[
    1
]
draws = rmt.simulate(log_det, jax.random.key(0), 5000)
# det² is a product of independent variables, χ² with 1, 2, …, n degrees of freedom.
half = jnp.arange(1, n + 1) / 2
mean, variance = (
    (digamma(half) + jnp.log(2)).sum() / 2,
    polygamma(1, half).sum() / 4,
)
x = jnp.linspace(-5, 4, 200)
figure, ax = plt.subplots()
standardised = (draws - mean) / jnp.sqrt(variance)
ax.hist(
    standardised, 60, range=(-5, 4), density=True, alpha=0.35, label="simulation"
)
ax.plot(x, rmt.laws.Normal().pdf(x), "k", label="normal law")
ax.set(xlabel="log |det|, standardised", ylabel="density")
ax.legend()
plt.savefig("determinants.png")
