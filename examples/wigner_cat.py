"""Wigner's cat: how periodic padding changes the semicircle.

In the mixed-matrix ensemble every matrix has its own order, n ~ Bin(N, μ). To pool spectra of equal length, each is
repeated cyclically up to N levels, from the lowest level on. The repeated levels, pooled with their mirror image, put
two ears on a lowered semicircle: Wigner's cat (Süzen 2025, arXiv:2512.22169). The line is the exact law at this N.

The ears come from the padding, not from the matrices: `--arrangement random` gives the semicircle back, and
`--arrangement magnitude` draws an M.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import rmtjax as rmt
import rmtjax.plotting


def main(argv: Sequence[str] | None = None) -> None:
    """Run the example with command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=1000, help="N, the largest order (default %(default)s)")
    parser.add_argument("--matrices", type=int, default=100, help="how many matrices (default %(default)s)")
    parser.add_argument("--mixture", type=float, default=0.9, help="μ in (0, 1] (default %(default)s)")
    parser.add_argument("--arrangement", choices=("ascending", "magnitude", "random"), default="ascending")
    parser.add_argument("--bins", type=int, default=110, help="bins between -2.2 and 2.2 (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random key (default %(default)s)")
    parser.add_argument("--no-symmetrize", action="store_true", help="do not pool with the mirror image")
    parser.add_argument("--output", type=Path, default=Path("wigner_cat.png"), help="the picture")
    args = parser.parse_args(argv)

    cat = rmt.Mixed(rmt.GOE(args.n), args.mixture)
    symmetrize = not args.no_symmetrize
    edges = jnp.linspace(-2.2, 2.2, args.bins + 1)
    start = time.perf_counter()
    histogram = pooled(cat, args.arrangement, symmetrize, edges, args.matrices, jax.random.key(args.seed))
    print(f"{args.matrices} matrices, N = {args.n}: {time.perf_counter() - start:.1f} s, compilation included")

    ax = picture(histogram, cat, args.arrangement, symmetrize)
    ax.figure.savefig(args.output, dpi=200)
    print(f"picture: {args.output.resolve()}")


def pooled(
    cat: rmt.Mixed, arrangement: str, symmetrize: bool, edges: jax.Array, matrices: int, key: jax.Array
) -> rmt.simulation.HistogramResult:
    """Counts of the padded levels of many matrices, together with those of their mirror images if wanted."""

    def levels(key: jax.Array) -> jax.Array:
        padded = cat.periodic_eigenvalues(key, arrangement)
        return jnp.concatenate([padded, -padded]) if symmetrize else padded

    return rmt.simulate(levels, key, matrices, reduce=rmt.Histogram(edges))


def picture(histogram: rmt.simulation.HistogramResult, cat: rmt.Mixed, arrangement: str, symmetrize: bool) -> Any:
    """The histogram, the exact law at order N and the semicircle, as matplotlib axes."""
    matrices = histogram.total // (cat.n * (1 + symmetrize))
    ax = rmt.plotting.spectral_density(
        histogram,
        law={
            f"exact law, $N = {cat.n}$, $\\mu = {float(cat.mixture):.3g}$": cat.law(arrangement, symmetrize),
            r"semicircle $f(\lambda)$": cat.base.law(),
        },
        label=f"simulation, {matrices} matrices",
    )
    ax.margins(x=0.02)
    ax.set_ylim(0, 1.25 * ax.get_ylim()[1])  # room for the legend above the curves
    # The formulas hold for 2/3 < μ < 1. Above 0.95 the ears are too narrow for their formula.
    if arrangement == "ascending" and symmetrize and 2 / 3 < cat.mixture < 0.95:
        name_the_parts(ax, cat)
    return ax


def name_the_parts(ax: Any, cat: rmt.Mixed) -> None:
    """Write the limiting formulas of the ears and the body where they hold."""
    semicircle, excess = cat.base.law(), 1 / cat.mixture - 1
    ear, end_of_ear = (float(semicircle.ppf(p)) for p in (excess / 2, excess))
    for x, formula in ((ear, r"$\frac{3}{2}\,\mu f$"), (0.0, r"$\mu f$"), (-ear, r"$\frac{3}{2}\,\mu f$")):
        ax.text(x, 0.11, formula, ha="center", va="center", fontsize=14)
    height = 1.5 * float(cat.mixture * semicircle.pdf(end_of_ear))
    ax.vlines([end_of_ear, -end_of_ear], 0, height, colors="0.35", linestyles=":", linewidth=1)


if __name__ == "__main__":
    main()
