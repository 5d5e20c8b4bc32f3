"""The edge of the spectrum: largest eigenvalues of huge matrices follow the laws of Tracy and Widom.

The example draws the largest eigenvalue of 100,000 matrices of order 1,000,000 for each of the three Gaussian
ensembles, in the variable of `soft_edge`, and compares their histogram with the exact law. No such matrix would fit
into memory, but its largest eigenvalue depends only on a corner of the tridiagonal form, of the order of n^(1/3) rows.

    python examples/tracy_widom.py --n 1000000 --matrices 100000
"""

import argparse
import math
import time
from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import rmtjax as rmt

ENSEMBLES = {1: rmt.GOE, 2: rmt.GUE, 4: rmt.GSE}


def main(argv: Sequence[str] | None = None) -> None:
    """Run the example with command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1_000_000, help="order of the matrices (default %(default)s)")
    parser.add_argument("--matrices", type=int, default=100_000, help="how many of them (default %(default)s)")
    parser.add_argument("--bins", type=int, default=80, help="bins of the histograms (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random key (default %(default)s)")
    parser.add_argument("--output", type=Path, default=Path("tracy_widom.png"), help="the picture")
    args = parser.parse_args(argv)

    with jax.enable_x64(True):  # the edge variable magnifies the rounding of an eigenvalue by n^(2/3)
        draw_edges(args.n, args.matrices, args.bins, args.seed, args.output)


def draw_edges(n: int, matrices: int, bins: int, seed: int, output: Path) -> None:
    """Draw the three histograms with their laws, and print how far apart the distributions are."""
    figure, ax = plt.subplots(figsize=(8, 4.5))
    grid = jnp.linspace(-6, 4, 400)
    for beta, make in ENSEMBLES.items():
        start = time.perf_counter()
        edges = largest_in_edge_variable(make(n), jax.random.key(seed + beta), matrices)
        seconds = time.perf_counter() - start
        law = rmt.laws.TracyWidom(beta, "stochastic-airy")
        distance, scale = furthest_from(law, edges), 1.36 / matrices**0.5
        print(f"beta = {beta}: {matrices} matrices of order {n}: {seconds:.1f} s, compilation included")
        print(f"  furthest of the distribution from the law: {distance:.4f}; by chance 95 % stay below {scale:.4f}")
        ax.hist(edges, bins, range=(-6, 4), density=True, alpha=0.35, color=f"C{beta // 2}")
        ax.plot(grid, law.pdf(grid), color=f"C{beta // 2}", label=rf"$\beta = {beta}$")
    ax.set_xlabel("largest eigenvalue, standardised by `soft_edge`")
    ax.set_ylabel("density")
    ax.set_title(f"Largest eigenvalues of {matrices:,} matrices of order {n:,}")
    ax.legend()
    figure.savefig(output, dpi=200)
    print(f"picture: {output.resolve()}")


def largest_in_edge_variable(ensemble: rmt.GOE | rmt.GUE | rmt.GSE, key: jax.Array, matrices: int) -> np.ndarray:
    """Independent largest eigenvalues, in the variable of the edge.

    Half of the rows needed for full precision take half of the time. They give errors of about 1e-8 in rare cases, far
    too small for the histogram.
    """
    corner = math.ceil(12 * ensemble.n ** (1 / 3))
    largest = lambda key: ensemble.soft_edge().standardize(ensemble.largest_eigenvalues(key, corner=corner)[0])
    return np.sort(rmt.simulate(largest, key, matrices, batch_size=256))


def furthest_from(law: rmt.laws.TracyWidom, ascending: np.ndarray) -> float:
    """The Kolmogorov-Smirnov distance."""
    cdf, steps = np.asarray(law.cdf(ascending)), np.arange(ascending.size + 1) / ascending.size
    return max((steps[1:] - cdf).max(), (cdf - steps[:-1]).max())


if __name__ == "__main__":
    main()
