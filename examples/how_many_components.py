"""How many principal components are real? Tests of random-matrix theory against rules of thumb.

A data matrix of pure noise has components too, and the largest of them looks like signal. Here 200 observations of 100
variables hold four components. Their population levels are 0.9, 1.5, 2 and 3 times as far above the noise as the
threshold of Baik, Ben Arous and Péché, below which no method can see a component. The example prints how many
components each method finds, and draws one spectrum with its p-values.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import rmtjax as rmt
import rmtjax.plotting

N, P = 200, 100
EXCESS = np.array([3.0, 2.0, 1.5, 0.9]) * (P / N) ** 0.5


def draw(key: jax.Array) -> jax.Array:
    """One data matrix of unit noise, with the components along random directions."""
    rotation = rmt.HaarOrthogonal(P).sample(jax.random.fold_in(key, 1))
    scales = jnp.ones(P).at[: EXCESS.size].set(jnp.sqrt(1 + EXCESS))
    return jax.random.normal(key, (N, P)) * scales @ rotation


def main(argv: Sequence[str] | None = None) -> None:
    """Run the example with command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matrices", type=int, default=200, help="how many data matrices (default %(default)s)")
    parser.add_argument("--output", type=Path, default=Path("how_many_components.png"), help="the picture")
    args = parser.parse_args(argv)
    data = rmt.simulate(draw, jax.random.key(0), args.matrices)
    found = rmt.inference.signal_rank(data)
    counts = {"Tracy-Widom tests": found.rank}
    for method in ("hard-threshold", "parallel-analysis", "deflated-parallel-analysis"):
        counts[method.replace("-", " ")] = rmt.inference.signal_rank(data, method=method, max_rank=20).rank
    counts["Kaiser: above the mean"] = (found.levels > found.levels.mean(-1, keepdims=True)).sum(-1)
    counts["elbow: the largest drop"] = jnp.argmax(-jnp.diff(found.levels, axis=-1), axis=-1) + 1
    for name, ranks in counts.items():
        print(f"{name:27} {np.mean(ranks):5.1f} components, 3 in {np.mean(np.asarray(ranks) == 3):4.0%}")
    n, p = found.n - found.rank[0], P - found.rank[0]  # without the components that are signal
    noise = rmt.laws.MarchenkoPastur(p / n, found.noise[0] * (n / found.n) ** 0.5)
    axes = rmt.plotting.spectral_density(found.levels[:1], law=noise, bins=np.linspace(0, 4, 17))
    axes.axvline(found.edge[0], color="grey", linestyle=":", label="edge of the noise")
    for level, p_value in zip(found.levels[0][:4], found.p_values[0], strict=False):
        axes.annotate(f"p = {p_value:.1g}", (level, 0), (level, 0.2), arrowprops={"arrowstyle": "->"}, rotation=90)
    axes.set(xlabel="level of the sample covariance matrix", title="p-values: as noise behind the larger levels")
    axes.legend()
    plt.savefig(args.output, dpi=200)
    print(f"picture: {args.output.resolve()}")


if __name__ == "__main__":
    main()
