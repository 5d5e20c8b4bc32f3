"""Wigner's semicircle: the eigenvalues of random symmetric matrices fill a half circle.

The example draws matrices of the Gaussian orthogonal ensemble, pools their eigenvalues into a histogram and compares it
with the limiting law. One matrix of order 15,000 takes seconds, mostly for compilation, and only a few megabytes,
because only its tridiagonal form is drawn:

    python examples/wigner_semicircle.py --n 15000 --matrices 1 --bins 200
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp

import rmtjax as rmt
import rmtjax.plotting


def main(argv: Sequence[str] | None = None) -> None:
    """Run the example with command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1000, help="order of the matrices (default %(default)s)")
    parser.add_argument("--matrices", type=int, default=10, help="how many of them (default %(default)s)")
    parser.add_argument("--bins", type=int, default=84, help="bins between -2.1 and 2.1 (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random key (default %(default)s)")
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument("--output", type=Path, default=Path("wigner_semicircle.png"), help="the picture")
    args = parser.parse_args(argv)

    with jax.enable_x64(args.dtype == "float64"):
        draw_semicircle(rmt.GOE(args.n), args.matrices, args.bins, args.seed, args.output)


def draw_semicircle(goe: rmt.GOE, matrices: int, bins: int, seed: int, output: Path) -> None:
    """Draw the pooled eigenvalues and the law, and print how far apart they are."""
    edges = jnp.linspace(-2.1, 2.1, bins + 1)
    start = time.perf_counter()
    histogram = rmt.simulate(goe.eigenvalues, jax.random.key(seed), matrices, reduce=rmt.Histogram(edges))
    seconds = time.perf_counter() - start

    law = goe.law()
    expected = jnp.diff(law.cdf(edges)) / jnp.diff(edges)
    furthest = abs(histogram.density() - expected).max()
    print(f"{matrices} matrices of order {goe.n}: {seconds:.1f} s, compilation included")
    print(f"furthest of {bins} bins from the semicircle: {furthest:.4f}, of a peak of {law.pdf(0.0):.4f}")

    ax = rmt.plotting.spectral_density(
        histogram,
        law={r"semicircle, $\frac{1}{2\pi}\sqrt{4-\lambda^2}$": law},
        label=f"GOE, {matrices} × order {goe.n:,}",
    )
    ax.margins(x=0.02)
    ax.set_ylim(0, 0.42)  # room for the legend above the curve
    ax.figure.savefig(output, dpi=200)
    print(f"picture: {output.resolve()}")


if __name__ == "__main__":
    main()
