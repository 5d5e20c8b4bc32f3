"""How good is Wigner's surmise?

The surmise is the exact law of spacings for matrices of order 2. Its difference
from the exact law for large matrices, magnified here, stays below two per cent of
the density at its peak.
"""

import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt

plt.style.use("rmtjax.plotting.style")
s = jnp.linspace(0, 4, 400)
figure, (above, below) = plt.subplots(2, 1, figsize=(6.4, 5), sharex=True)
for beta in (1, 2, 4):
    exact, surmise = (
        rmt.laws.Spacing(beta).pdf(s),
        rmt.laws.WignerSurmise(beta).pdf(s),
    )
    above.plot(s, exact, color=f"C{beta // 2}", label=f"β = {beta}")
    below.plot(s, surmise - exact, color=f"C{beta // 2}")
above.set(ylabel="exact density")
above.legend()
below.axhline(0, color="black", linewidth=0.8)
below.set(xlabel="spacing", ylabel="surmise − exact")
plt.savefig("surmise.png")
