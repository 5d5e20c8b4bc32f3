"""How many programs of expression are in a table of counts? Biwhitening tells, and the counts themselves do not.

Cells mix a few programs of genes, and are sequenced at depths that differ by factors of ten. Their counts vary more
than Poisson counts do. In the right scales of rows and columns the noise follows the law of Marčenko and Pastur, and
the levels beyond it are the programs: Landa, Zhang and Kluger (2022), SIAM J. Math. Data Sci. 4, 1420.
"""

import argparse

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt
from rmtjax.inference import biwhiten, signal_rank


def cells(key: jax.Array, cells: int, genes: int, programs: int, overdispersion: float) -> jax.Array:
    """Negative binomial counts, without genes and cells of few counts."""
    keys = jax.random.split(key, 6)
    mixture = jax.random.gamma(keys[0], 0.5, (cells, programs)) @ jax.random.gamma(keys[1], 0.5, (programs, genes))
    depth, size = jnp.exp(jax.random.normal(keys[2], (cells, 1))), jnp.exp(jax.random.normal(keys[3], (genes,)))
    mean = mixture * depth * size
    mean = 3 * mean / mean.mean()
    rate = mean * jax.random.gamma(keys[4], 1 / overdispersion, mean.shape) * overdispersion
    counts = jax.random.poisson(keys[5], rate).astype(float)
    counts = counts[:, (counts > 0).sum(axis=0) > 10]
    return counts[(counts > 0).sum(axis=1) > 10]


def main(argv: list[str] | None = None) -> None:
    """Count the components of the table, as it is and in two scales, and draw their levels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=600, help="rows (default %(default)s)")
    parser.add_argument("--overdispersion", type=float, default=0.2, help="of the counts (default %(default)s)")
    parser.add_argument("--output", default="single_cell_counts.png", help="the picture (default %(default)s)")
    args = parser.parse_args(argv)
    counts, c = cells(jax.random.key(0), args.cells, args.cells // 2, 6, args.overdispersion), args.overdispersion
    tables = {
        "counts": counts,
        "in scales for Poisson counts": biwhiten(counts).scaled,
        "in scales for their overdispersion": biwhiten(counts, variances=(counts + c * counts**2) / (1 + c)).scaled,
    }
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.8), layout="constrained")
    for ax, (name, table) in zip(axes, tables.items(), strict=True):
        found = signal_rank(table, center=False)
        print(f"{name}: rank {found.rank} with the level {found.noise:.2f} of the noise; 6 programs")
        law = rmt.laws.MarchenkoPastur(found.p / found.n, found.noise)
        rmt.plotting.spectral_density(jnp.minimum(found.levels, 2 * law.support()[1])[None], law=law, ax=ax)
        ax.set(title=f"{name}: rank {found.rank}", xlabel="level (all beyond the end in the last bin)")
    figure.savefig(args.output, dpi=160)


if __name__ == "__main__":
    main()
