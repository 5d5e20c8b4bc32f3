"""The spectral radius of a general matrix: value, gradient, descent, and a network that learns it.

The first part descends along the gradient. JAX's gradient of a real function of complex z = x + iy is ∂f/∂x - i ∂f/∂y.
So steepest descent goes along minus its *conjugate*. Without the conjugate a step may lead upwards.

The second part trains a multilayer perceptron on random matrices and their spectral radii, data-parallel: the matrices
are spread over all devices, and each device has all parameters. To see several devices on a CPU, run it with

    XLA_FLAGS=--xla_force_host_platform_device_count=2 python examples/spectral_radius.py
"""

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import rmtjax as rmt


def main(argv: Sequence[str] | None = None) -> None:
    """Run the example with command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=3, help="order of the matrices (default %(default)s)")
    parser.add_argument("--matrices", type=int, default=4096, help="to learn from (default %(default)s)")
    parser.add_argument("--steps", type=int, default=1500, help="of training (default %(default)s)")
    parser.add_argument("--seed", type=int, default=4, help="seed of the random key (default %(default)s)")
    args = parser.parse_args(argv)

    key_descent, key_learning = jax.random.split(jax.random.key(args.seed))
    for dtype in (jnp.float32, jnp.complex64):
        show_descent(jax.random.normal(key_descent, (args.n, args.n), dtype))
    show_learning(key_learning, args.n, args.matrices, args.steps)


def descend(
    a: jax.Array, direction: Callable[[jax.Array], jax.Array] = jnp.conj, step: float = 0.1, steps: int = 5
) -> jax.Array:
    """Steepest descent of the spectral radius: its value at the start and after each step."""

    def one_step(a: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
        radius, gradient = jax.value_and_grad(rmt.spectral_radius)(a)
        return a - step * direction(gradient), radius

    a, radii = jax.lax.scan(one_step, a, length=steps)
    return jnp.append(radii, rmt.spectral_radius(a))


def show_descent(a: jax.Array) -> None:
    """Print value and gradient at a matrix, and a few steps of descent."""
    radius, gradient = jax.value_and_grad(rmt.spectral_radius)(a)
    print(f"{a.dtype.name}: spectral radius {radius:.4f}, gradient")
    print("  " + np.array2string(np.asarray(gradient), precision=3, suppress_small=True, prefix="  "))
    show = lambda radii: " ".join(f"{radius:.4f}" for radius in radii)
    print(f"  steps along -conj(gradient): {show(descend(a))}")
    if jnp.iscomplexobj(a):
        print(f"  the conjugate forgotten:     {show(descend(a, direction=lambda gradient: gradient))}")


def show_learning(key: jax.Array, n: int, matrices: int, steps: int) -> None:
    """Train on some matrices, and print the error on others."""
    mesh = Mesh(np.asarray(jax.devices()), ("draws",))
    matrices = mesh.size * max(1, matrices // mesh.size)  # the same number for each device
    key_data, key_test, key_model = jax.random.split(key, 3)
    data, test = (rmt.simulate(partial(example, n=n), k, matrices, mesh=mesh) for k in (key_data, key_test))
    model = eqx.nn.MLP(n * n, "scalar", width_size=64, depth=2, activation=jax.nn.gelu, key=key_model)
    model = eqx.filter_shard(model, NamedSharding(mesh, PartitionSpec()))

    print(f"learning from {matrices} matrices {n}×{n} on {mesh.size} device(s), {data[0].sharding.spec}")
    start = time.perf_counter()
    model, losses = train(model, data, steps)
    seconds = time.perf_counter() - start
    for step in np.unique(np.geomspace(1, steps, 8).astype(int)):
        print(f"  step {step:5d}: root-mean-square error {jnp.sqrt(losses[step - 1]):.4f}")
    error, spread = jnp.sqrt(mean_squared_error(model, test)), jnp.std(test[1])
    print(f"  on new matrices: {error:.4f}; a constant guess: {spread:.4f}; {seconds:.1f} s of training")


def example(key: jax.Array, n: int) -> tuple[jax.Array, jax.Array]:
    """A matrix with independent normal entries of variance 1/n, and its spectral radius."""
    a = jax.random.normal(key, (n, n)) / jnp.sqrt(n)
    return a, rmt.spectral_radius(a)


def mean_squared_error(model: eqx.nn.MLP, data: tuple[jax.Array, jax.Array]) -> jax.Array:
    """The error of the model's guesses. The mean over all devices is their only communication."""
    matrices, radii = data
    guesses = jax.vmap(model)(matrices.reshape(len(radii), -1))
    return jnp.mean((guesses - radii) ** 2)


@eqx.filter_jit
def train(
    model: eqx.nn.MLP, data: tuple[jax.Array, jax.Array], steps: int, rate: float = 3e-3
) -> tuple[eqx.nn.MLP, jax.Array]:
    """Train with Adam on all matrices, in one compiled loop. Return the model and the loss before each step."""
    parameters, static = eqx.partition(model, eqx.is_array)

    def one_step(state: tuple, t: jax.Array) -> tuple[tuple, jax.Array]:
        parameters, mean, square = state
        loss_of = lambda parameters: mean_squared_error(eqx.combine(parameters, static), data)
        loss, gradient = jax.value_and_grad(loss_of)(parameters)
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
        square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g**2, square, gradient)
        size = rate * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        update = lambda p, m, s: p - size * m / (jnp.sqrt(s) + 1e-8)
        return (jax.tree.map(update, parameters, mean, square), mean, square), loss

    zeros = jax.tree.map(jnp.zeros_like, parameters)
    (parameters, _, _), losses = jax.lax.scan(one_step, (parameters, zeros, zeros), jnp.arange(1.0, steps + 1))
    return eqx.combine(parameters, static), losses


if __name__ == "__main__":
    main()
