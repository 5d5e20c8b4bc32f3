"""How many directions has a network learned? The Hessian of its loss, by products with vectors only.

The Hessian of a network that tells k classes apart has k - 1 levels far outside the bulk of all others. The matrix is
never stored: `jax.jvp` of `jax.grad` multiplies a vector by it. The end of the bulk is taken from the law of Marčenko
and Pastur with the mean and the variance of all levels. This is on the safe side, because the outliers widen the law.
The Gauss-Newton matrix leaves out the curvature of the network itself. It has the outliers too, and no level below 0.
"""

import argparse
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import rmtjax as rmt


def main(argv: Sequence[str] | None = None) -> None:
    """Run the example with command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classes", type=int, default=5, help="how many (default %(default)s)")
    parser.add_argument("--output", default="hessian_outliers.png", help="a file (default %(default)s)")
    args = parser.parse_args(argv)
    k, keys = args.classes, jax.random.split(jax.random.key(0), 4)
    x, y = jax.random.normal(keys[0], (1000, 20)) / 20**0.5, jnp.arange(1000) % k
    x += jnp.linalg.qr(jax.random.normal(keys[1], (20, 20)))[0][y]
    network, static = eqx.partition(eqx.nn.MLP(20, k, 32, 1, jnp.tanh, key=keys[2]), eqx.is_inexact_array)
    logits = lambda network: jax.vmap(eqx.combine(network, static))(x)
    entropy = lambda logits: -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(len(y)), y])
    slope = jax.grad(lambda network: entropy(logits(network)))
    descend = lambda network, _: (jax.tree.map(lambda w, d: w - 0.5 * d, network, slope(network)), None)
    network, _ = jax.jit(lambda network: jax.lax.scan(descend, network, length=300))(network)

    def gauss_newton(v, network):
        outputs, change = jax.jvp(logits, (network,), (v,))
        return jax.vjp(logits, network)[1](jax.jvp(jax.grad(entropy), (outputs,), (change,))[1])[0]

    hessian = lambda v, network: jax.jvp(slope, (network,), (v,))[1]
    _, ax = plt.subplots(layout="constrained")
    for name, matvec in (("Hessian", hessian), ("Gauss-Newton", gauss_newton)):
        found = rmt.inference.spectral_density_of(matvec, keys[3], network, args=(network,), probes=4)
        mean, square = found.moment(1).value, found.moment(2).value
        bulk = rmt.laws.MarchenkoPastur(square / mean**2 - 1, mean**0.5)
        outliers = rmt.inference.spectral_outliers(found, bulk)
        outside = outliers.levels[: int(outliers.count)]
        print(f"{name}: {len(outside)} outliers of {found.n},", *(f"{level:.3f}" for level in outside))
        grid = jnp.linspace(found.nodes.min() - 0.01, found.nodes.max() + 0.01, 1000)
        (line,) = ax.semilogy(grid, found.density(grid, 0.002).value, label=name)
        ax.plot(outside, jnp.full(len(outside), 0.02), "v", color=line.get_color(), label=f"{name}: outliers")
    ax.set(
        xlabel="level", ylabel="density of levels", ylim=(0.01, None), title=f"{k} classes, {k - 1} outliers expected"
    )
    ax.legend()
    plt.savefig(args.output, dpi=150)


if __name__ == "__main__":
    main()
