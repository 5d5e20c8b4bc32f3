"""The risk that portfolios really have when their weights come from estimates of the covariance of few returns.

Returns of 200 assets follow three factors and have noise of different size. Portfolios of least variance are computed
from the last 250 days. Their real risk comes from the true covariance matrix: Ledoit and Wolf (2017), Rev. Financ.
Stud. 30.
"""

import argparse

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt


def population(key: jax.Array, p: int) -> jax.Array:
    """Loadings of three factors, the first of which moves all assets, and noise of volatilities of 10 to 40 %."""
    loadings_key, noise_key = jax.random.split(key)
    loadings = jax.random.normal(loadings_key, (p, 3)) * jnp.array([0.05, 0.08, 0.05]) + jnp.array([0.15, 0, 0])
    return loadings @ loadings.T + jnp.diag(jax.random.uniform(noise_key, (p,), minval=0.1, maxval=0.4) ** 2)


def risks(covariance: jax.Array, truth: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The annual volatility of the portfolio of least variance in percent, as estimated and as it really is."""
    weights = jnp.linalg.solve(covariance, jnp.ones(len(truth)))
    weights = weights / weights.sum()
    return 100 * jnp.sqrt(weights @ covariance @ weights), 100 * jnp.sqrt(weights @ truth @ weights)


def main(argv: list[str] | None = None) -> None:
    """Simulate returns, compare four estimates, and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--assets", type=int, default=200, help="default %(default)s")
    parser.add_argument("--days", type=int, default=250, help="default %(default)s")
    parser.add_argument("--output", default="portfolio_covariance.png", help="default %(default)s")
    args = parser.parse_args(argv)
    truth = population(jax.random.key(0), args.assets)
    draw = lambda key: jax.random.normal(key, (args.days, args.assets)) @ jnp.linalg.cholesky(truth).T
    returns = rmt.simulate(draw, jax.random.key(1), 20)
    methods = {"sample": "sample", "Ledoit-Wolf": "ledoit-wolf", "QIS": "qis"}
    estimates = {name: rmt.inference.shrink_covariance(returns, method=method) for name, method in methods.items()}
    estimates["oracle"] = rmt.inference.oracle_covariance(returns, truth)
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    for place, (name, found) in enumerate(estimates.items()):
        thought, realised = (float(each.mean()) for each in jax.vmap(risks, (0, None))(found, truth))
        print(f"{name:12} risk as it is thought to be {thought:4.1f} %, as it is {realised:4.1f} %")
        axes[0].bar([place - 0.2, place + 0.2], [thought, realised], 0.4, color=["lightgray", "C0"])
        axes[1].semilogy(jnp.linalg.eigvalsh(found[0])[:-3], label=name)
    best = float(risks(truth, truth)[1])
    axes[0].axhline(best, color="black", linestyle=":")
    axes[0].set(xticks=range(4), xticklabels=estimates, ylabel="annual volatility, %")
    axes[0].set(title="as thought (gray), as it is (blue), best possible (dotted)")
    axes[1].set(title="one estimate, without its three largest levels", xlabel="rank of the level", ylabel="level")
    axes[1].legend()
    figure.savefig(args.output, dpi=150)
    print(f"best possible {best:.1f} %; drawn in {args.output}")


if __name__ == "__main__":
    main()
