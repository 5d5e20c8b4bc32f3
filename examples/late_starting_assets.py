"""Covariances of assets of which a third has started late: what to do with the days before.

Leaving out the days on which an asset is missing throws half of the data away, and leaving out the assets throws them
away. Pairwise moments take every pair of returns that is there, and shrinkage then knows the noise of each pair.
"""

import argparse

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import rmtjax as rmt
from rmtjax.inference import shrink_covariance


def population(key: jax.Array, p: int) -> jax.Array:
    """Correlations by three factors, the first of which moves all assets."""
    loadings = jax.random.normal(key, (p, 3)) * jnp.array([0.25, 0.4, 0.25]) + jnp.array([0.8, 0, 0])
    covariance = loadings @ loadings.T + jnp.eye(p)
    return covariance / jnp.sqrt(jnp.outer(covariance.diagonal(), covariance.diagonal()))


def main(argv: list[str] | None = None) -> None:
    """Simulate returns, compare three estimates with the one from complete returns, and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--assets", type=int, default=100, help="default %(default)s")
    parser.add_argument("--days", type=int, default=200, help="default %(default)s")
    parser.add_argument("--output", default="late_starting_assets.png", help="default %(default)s")
    args = parser.parse_args(argv)
    truth = population(jax.random.key(0), args.assets)
    draw = lambda key: jax.random.normal(key, (args.days, args.assets)) @ jnp.linalg.cholesky(truth).T
    complete = rmt.simulate(draw, jax.random.key(1), 10)
    late = jnp.arange(args.assets) % 3 == 0
    returns = complete.at[:, : args.days // 2].set(jnp.where(late, jnp.nan, complete[:, : args.days // 2]))
    estimates = {
        "all days there": shrink_covariance(complete),
        "pairwise": shrink_covariance(returns, missing="pairwise"),
        "days dropped": jnp.stack([shrink_covariance(each, missing="drop") for each in returns]),
        "pairwise, sample": shrink_covariance(returns, method="sample", missing="pairwise"),
    }
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    axes[0].imshow(~np.isnan(returns[0]), aspect="auto", cmap="Blues", vmin=-0.5, vmax=1.5, interpolation="none")
    axes[0].set(title="returns that are there", xlabel="asset", ylabel="day")
    for name, found in estimates.items():
        error = float(jnp.linalg.norm(found - truth, axis=(-2, -1)).mean())
        print(f"{name:17} distance to the truth {error:4.1f}")
        axes[1].semilogy(np.linalg.eigvalsh(found[0]).clip(1e-3), label=f"{name}, distance {error:.1f}")
    axes[1].semilogy(np.linalg.eigvalsh(truth), color="black", linestyle=":", label="truth")
    axes[1].set(title="one estimate of each kind", xlabel="rank of the level", ylabel="level")
    axes[1].legend()
    figure.savefig(args.output, dpi=150)
    print(f"drawn in {args.output}")


if __name__ == "__main__":
    main()
