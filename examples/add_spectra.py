"""Sums, products and corners of matrices: their spectra from the spectra of the parts, without the matrices.

Each histogram is one random matrix, and each line the law that free probability makes of the laws of its parts. In the
last panel a share of 0.3 of the levels is 0, because the kernels of both parts have to meet.
"""

import argparse
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import rmtjax as rmt
from rmtjax import laws


def main(argv: Sequence[str] | None = None) -> None:
    """Run the example with command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1000, help="order of the matrices (default %(default)s)")
    parser.add_argument("--output", default="add_spectra.png", help="a file (default %(default)s)")
    args = parser.parse_args(argv)
    n, keys = args.n, jax.random.split(jax.random.key(0), 4)
    rank = (jnp.arange(n) + 0.5) / n
    tall, taller, low = rmt.Wishart(n, 4 * n), rmt.Wishart(n, 10 * n), rmt.Wishart(n, 2 * n // 5)
    roots = jnp.sqrt(jnp.where(rank < 0.5, 1.0, 5.0))
    rotation = rmt.HaarOrthogonal(n).sample(keys[0])
    projection, a_projection = (rotation * (rank > 0.7)) @ rotation.T, laws.Empirical([0.0, 1.0], [0.7, 0.3])
    matrices = {
        "sum with levels at ±2": jnp.diag(jnp.where(rank < 0.5, -2.0, 2.0)) + tall.sample(keys[1]),
        "product with variances 1 and 5": roots[:, None] * taller.sample(keys[2]) * roots,
        "corner of a projection": projection[: n // 2, : n // 2],
        "atom that survives a sum": 2 * projection + low.sample(keys[3]),
    }
    theory = (
        laws.FreeSum(laws.Empirical([-2.0, 2.0]), tall.law()),
        laws.FreeProduct(laws.Empirical([1.0, 5.0]), taller.law()),
        laws.FreeCompression(a_projection, 0.5),
        laws.FreeSum(a_projection.scaled(2.0), low.law()),
    )
    _, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
    for (name, matrix), law, ax in zip(matrices.items(), theory, axes.flat, strict=True):
        levels = rmt.eigvalsh(matrix)
        levels = jnp.where(abs(levels) < 1e-4, 0, levels)  # rounding
        below = (jnp.arange(levels.size) + 1) / levels.size
        distance = abs(law.cdf(levels) - below)[jnp.append(levels[1:] > levels[:-1], True)].max()
        print(f"{name}: atoms {law.atoms()[1].sum():.2f}, distance of matrix and law {distance:.4f}")
        lowest, highest = float(levels[0]), float(levels[-1])
        width = (highest - lowest) / 50
        bins = np.arange(lowest - width / 2, highest + width, width)
        rmt.plotting.spectral_density(levels, law=law, bins=bins, ax=ax)
        ax.set(title=name, ylim=(0, 1.6 * float(jnp.quantile(law.pdf(levels[levels != 0]), 0.9))))
    plt.savefig(args.output, dpi=150)


if __name__ == "__main__":
    main()
