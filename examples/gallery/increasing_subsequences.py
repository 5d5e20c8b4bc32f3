"""Shuffled cards know random matrices.

The longest increasing subsequence of a random permutation has the length 2√n, and
fluctuates like the largest level of a Hermitian matrix: the theorem of Baik, Deift
and Johansson. Here are 3000 permutations of 3000 cards.
"""

from bisect import bisect

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import rmtjax as rmt

plt.style.use("rmtjax.plotting.style")


def longest(permutation):
    piles = []  # of patience sorting: their number is the length
    for card in permutation:
        place = bisect(piles, card)
        piles[place : place + 1] = [card]
    return len(piles)


n, random = 3000, np.random.default_rng(0)
lengths = np.array([longest(random.permutation(n).tolist()) for _ in range(3000)])
standardised = lambda length: (length - 2 * n**0.5) / n ** (1 / 6)
edges = standardised(np.arange(lengths.min() - 1, lengths.max() + 1))
x = jnp.linspace(-5, 3, 200)
figure, ax = plt.subplots()
draws = standardised(lengths - 0.5)
ax.hist(draws, edges, density=True, alpha=0.35, label="permutations")
ax.plot(x, rmt.laws.TracyWidom(2).pdf(x), "k", label="Tracy–Widom, β = 2")
ax.set(xlabel="longest increasing subsequence, standardised", ylabel="density")
ax.legend()
plt.savefig("increasing_subsequences.png")
