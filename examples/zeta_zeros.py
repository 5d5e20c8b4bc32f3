"""The zeros of Riemann's zeta function: random matrices at short distances, prime numbers at long ones.

The example computes the first 100,000 zeros 1/2 + it, nearly all of them to ten digits, and unfolds them by their
smooth counting function. Spacings and ratios follow the GUE, as Montgomery and Odlyzko found, and the remaining
difference falls with the height. The number variance of the GUE grows for ever. The number variance of the zeros soon
oscillates about a constant, by Berry's formula, in which primes replace the periodic orbits of a chaotic system.

    python examples/zeta_zeros.py --zeros 100000    # a quarter of a minute; nothing is downloaded

Berry (1988), Nonlinearity 1, 399; Odlyzko (1987), Math. Comp. 48, 273; for the zeros Edwards (1974), Riemann's zeta
function, chapters 7 and 8.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import rmtjax as rmt
from rmtjax import plotting, statistics


def main(argv: Sequence[str] | None = None) -> None:
    """Run the example with command-line arguments."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zeros", type=int, default=100_000, help="how many, in thousands (default %(default)s)")
    parser.add_argument("--output", type=Path, default=Path("zeta_zeros.png"), help="the picture")
    args = parser.parse_args(argv)
    with jax.enable_x64(True):  # the phase at the last zero is 300,000
        show_zeros(args.zeros, args.output)


def show_zeros(number: int, output: Path) -> None:
    """Print and draw where the zeros agree with random matrices, and where they differ."""
    start = time.perf_counter()
    zeros = first_zeros(number)
    print(f"{number:,} zeros up to t = {zeros[-1]:.6f}: {time.perf_counter() - start:.1f} s")
    # Turing's method: the two counts differ by 0 on average, and by 2 beyond a missing pair.
    unfolded = statistics.unfold(zeros, smooth_count)
    lead = unfolded.report.deviation[-number // 10 :]
    print(f"their number less the smooth one, at the last tenth: {-lead.mean():.4f} on average")

    # The hundred stretches are taken as independent samples.
    for name, part in (("first tenth", zeros[: number // 10]), ("second half", zeros[number // 2 :])):
        ratio = statistics.over_samples(lambda t: statistics.gap_ratios(t).mean(), part.reshape(100, -1))
        print(f"mean gap ratio of the {name}: {ratio.value:.4f} ± {ratio.standard_error:.4f}")
    means = {beta: rmt.laws.mean_gap_ratio(beta) for beta in (0, 1, 2, 4)}
    nearest = min(means, key=lambda beta: abs(means[beta] - ratio.value))
    print("  " + ", ".join(f"β = {beta}: {mean:.4f}" for beta, mean in means.items()) + f"; nearest: β = {nearest}")

    stretches, height = unfolded.values[number // 2 :].reshape(100, -1), zeros[3 * number // 4]
    lengths = jnp.linspace(0.25, min(40, stretches.shape[1] // 4), 80)
    variance = statistics.over_samples(partial(statistics.number_variance, lengths=lengths), stretches)
    for name, curve in (("the GUE", rmt.laws.number_variance(lengths, 2)), ("Berry", berry(lengths, height))):
        print(f"furthest of the number variance from {name}: {abs(variance.value - curve).max():.3f}")

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    plotting.spacings(stretches, betas=[1, 2], bins=30, label=f"zeros from {number // 2:,} on", ax=left)
    plotting.number_variance(stretches, lengths, betas=[1, 2], label="zeros", ax=right)
    right.plot(lengths, berry(lengths, height), color="#009E73", linewidth=1, label="Berry's formula", zorder=4)
    right.set_ylim(0, 1)
    right.legend(frameon=False, ncols=2)
    figure.savefig(output, dpi=200)
    print(f"picture: {output.resolve()}")


def first_zeros(number: int) -> jax.Array:
    """The first zeros of Z, by its changes of sign.

    Between two zeros |Z| has one maximum and no minimum. So if |Z| has a minimum on the grid, there is a pair of zeros
    between its neighbours, with an extremum of the other sign in the middle.
    """
    fine = jnp.linspace(10, 30 + 2.4 * number, number + 1000)  # far enough for all zeros
    t = jnp.interp(jnp.arange(0, number + 2, 1 / 6), smooth_count(fine), fine)  # six points for each zero
    z = riemann_siegel(t)
    closer = lambda here, there: (here / there > 0) & (here / there < 1)
    minimum = 1 + jnp.flatnonzero(closer(z[1:-1], z[:-2]) & closer(z[1:-1], z[2:]))
    t = jnp.sort(jnp.append(t, root_between(slope, t[minimum - 1], t[minimum + 1])))
    z = riemann_siegel(t)
    change = jnp.flatnonzero(z[1:] * z[:-1] < 0)[:number]
    return root_between(riemann_siegel, t[change], t[change + 1])


@partial(jax.jit, static_argnums=0)
def root_between(fn: Callable[[jax.Array], jax.Array], lower: jax.Array, upper: jax.Array) -> jax.Array:
    """The point in each bracket where a function changes its sign."""
    sign = jnp.sign(fn(upper))

    def halve(_: int, bracket: tuple) -> tuple:
        middle = sum(bracket) / 2
        above = sign * fn(middle) > 0
        return jnp.where(above, bracket[0], middle), jnp.where(above, middle, bracket[1])

    return sum(jax.lax.fori_loop(0, 60, halve, (lower, upper))) / 2


def smooth_count(t: jax.Array) -> jax.Array:
    """The mean number of zeros below t, 1 + θ(t)/π."""
    return 1 + phase(t) / jnp.pi


def phase(t: jax.Array) -> jax.Array:
    """The theta function of Riemann and Siegel, whose error is below 1e-8 from t = 10 on."""
    return t / 2 * jnp.log(t / (2 * jnp.pi * jnp.e)) - jnp.pi / 8 + 1 / (48 * t) + 7 / (5760 * t**3)


# The terms of the remainder, as series on [0, 1]. The quotient of cosines is an entire function.
PSI = np.polynomial.Chebyshev.interpolate(
    lambda p: np.cos(2 * np.pi * (p**2 - p - 1 / 16)) / np.cos(2 * np.pi * p), 26, [0, 1]
)
REMAINDER = (PSI, -PSI.deriv(3) / (96 * np.pi**2), PSI.deriv(6) / (18432 * np.pi**4) + PSI.deriv(2) / (64 * np.pi**2))


@jax.jit
def riemann_siegel(t: jax.Array) -> jax.Array:
    """The function Z(t), real with |Z(t)| = |ζ(1/2 + it)|, by the formula of Riemann and Siegel."""
    a = jnp.sqrt(t / (2 * jnp.pi))
    n, theta = jnp.floor(a), phase(t)
    term = lambda k, total: total + jnp.where(k <= n, jnp.cos(theta - t * jnp.log(k)) / jnp.sqrt(k), 0)
    main_sum = jax.lax.fori_loop(1, jnp.max(n).astype(int) + 1, term, jnp.zeros_like(t))
    place = 2 * (a - n) - 1
    remainder = sum(np.polynomial.chebyshev.chebval(place, c.coef) / a**k for k, c in enumerate(REMAINDER))
    return 2 * main_sum - (-1) ** n * remainder / jnp.sqrt(a)


def slope(t: jax.Array) -> jax.Array:
    """The derivative of Z."""
    return jax.jvp(riemann_siegel, (t,), (jnp.ones_like(t),))[1]


def berry(lengths: jax.Array, height: float, switch: float = 0.5) -> jax.Array:
    """Berry's number variance of zeros about a height t, with the primes themselves for times below the switch.

    The time of p^r is r log p/log(t/2π). For later times the density of the primes gives the form factor τ of the GUE.
    """
    log_scale = float(np.log(height / (2 * np.pi)))
    numbers = range(2, int(np.exp(switch * log_scale)) + 1)
    primes = [p for p in numbers if all(p % q for q in range(2, int(p**0.5) + 1))]
    powers = [(p, r) for p in primes for r in range(1, int(switch * log_scale / np.log(p)) + 1)]
    wave = lambda time: jnp.sin(jnp.pi * lengths * time) ** 2
    as_they_are = sum(wave(r * np.log(p) / log_scale) / (r**2 * p**r) for p, r in powers)
    times = (np.arange(2000) + 0.5) / 2000 * switch
    by_density = jnp.mean(jax.vmap(lambda time: wave(time) / time)(jnp.asarray(times)), axis=0) * switch
    return rmt.laws.number_variance(lengths, 2) + 2 / jnp.pi**2 * (as_they_are - by_density)


if __name__ == "__main__":
    main()
