"""Is this a power law? Three spectra of covariance matrices, and a verdict on each.

If the variances of the variables follow a Pareto law, the levels of the sample covariance matrix have a power law in
the tail, with the same exponent. Log-normal variances give a tail that looks much the same in a double logarithmic
plot, but is not a power law. Equal variances give a Wishart matrix, which has no tail. The run takes some 20 s on two
cores.
"""

import argparse
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import rmtjax as rmt
from rmtjax.inference import fit_tail

VARIANCES = {
    "Pareto": lambda key, n: jax.random.pareto(key, 1.0, (n,)),
    "log-normal": lambda key, n: jnp.exp(1.5 * jax.random.normal(key, (n,))),
    "equal": lambda _, n: jnp.ones(n),
}


def levels(key: jax.Array, name: str, n: int = 400) -> jax.Array:
    """The spectrum of the sample covariance matrix of n variables, from 10n observations."""
    variances, noise = jax.random.split(key)
    data = jax.random.normal(noise, (10 * n, n)) * jnp.sqrt(VARIANCES[name](variances, n))
    return rmt.eigvalsh(data.T @ data / (10 * n))


def main(argv: list[str] | None = None) -> None:
    """Fit the upper quarter of the levels, print the verdicts and draw the distribution functions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matrices", type=int, default=10, help="of 400 levels each (default %(default)s)")
    parser.add_argument("--output", type=Path, default=Path("is_it_power_law.png"), help="the picture")
    args = parser.parse_args(argv)
    figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
    for ax, name in zip(axes, VARIANCES, strict=True):
        draws = rmt.simulate(partial(levels, name=name), jax.random.key(0), args.matrices)
        x = np.sort(np.ravel(draws))
        fit = fit_tail(x, minimum=np.quantile(x, 0.75), key=jax.random.key(1))
        print(f"{name}: {fit.verdict}; exponent {fit.exponent:.2f}, {fit.tail_size} levels")
        print(f"  p-values: distance {fit.p_value:.3f}, against a log-normal law {fit.log_normal.p_value:.2g}")
        ax.loglog(x, 1 - np.arange(x.size) / x.size, ".", markersize=3, label="levels")
        tail = x[-int(fit.tail_size) :]
        law = tail.size / x.size * (tail / fit.minimum) ** (1 - fit.exponent.value)
        ax.loglog(tail, law, color="black", label=f"density $\\propto x^{{-{fit.exponent.value:.2f}}}$")
        ax.set(title=f"{name} variances: {fit.verdict}", xlabel="level", ylim=(0.5 / x.size, 1.5))
        ax.set_xlim(min(x[0], x[-1] / 100), 2 * x[-1])
        ax.legend(frameon=False)
    axes[0].set_ylabel("share of levels above")
    figure.savefig(args.output, dpi=200)


if __name__ == "__main__":
    main()
