"""A disordered chain of spins: chaotic or not? The mean gap ratio answers this, and needs no unfolding.

The Heisenberg ring at magnetisation 0 has levels like the GOE in weak random fields, and independent levels in strong
fields: Pal and Huse (2010), Phys. Rev. B 82, 174411; Luitz, Laflorencie and Alet (2015), Phys. Rev. B 91, 081103. The
verdict names the limit within three standard errors. Short chains are between the two limits at most strengths. The run
takes some 40 s on two cores.
"""

import argparse
from itertools import combinations

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import rmtjax as rmt
from rmtjax import statistics


def ring(length: int) -> tuple[np.ndarray, np.ndarray]:
    """The matrix of Σ S_i·S_{i+1} between the states with half of the spins up, and the spins ±1/2 of each state."""
    states = [sum(1 << site for site in up) for up in combinations(range(length), length // 2)]
    place = {state: i for i, state in enumerate(states)}
    spins = (np.array(states)[:, None] >> np.arange(length)) % 2 - 0.5
    exchange = np.diag((spins * np.roll(spins, -1, axis=1)).sum(axis=1))
    for pair in ((1 << site) | (1 << (site + 1) % length) for site in range(length)):
        for state in (state for state in states if 0 < state & pair < pair):  # two antiparallel spins change places
            exchange[place[state], place[state ^ pair]] += 0.5
    return exchange, spins


def middle_levels(key: jax.Array, disorder: jax.Array, exchange: jax.Array, spins: jax.Array) -> rmt.Spectrum:
    """The middle third of the spectrum, for independent fields that are uniform in (-h, h)."""
    fields = jax.random.uniform(key, spins.shape[1:], spins.dtype, -disorder, disorder)
    return rmt.Spectrum(rmt.eigvalsh(exchange + jnp.diag(spins @ fields))).middle(1 / 3)


def main(argv: list[str] | None = None) -> None:
    """Compare the ratio with both limits, over the strength of the disorder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--realisations", type=int, default=24, help="of 12 spins; more of fewer (default %(default)s)")
    parser.add_argument("--output", default="spin_chain.png", help="the picture (default %(default)s)")
    args = parser.parse_args(argv)
    if args.realisations < 2:
        parser.error("--realisations must be at least 2, as errors come from their spread")
    limits = {"chaotic": rmt.laws.mean_gap_ratio(1), "localised": rmt.laws.mean_gap_ratio(0)}
    strengths, mean_ratio = np.array([0.5, 1, 1.5, 2, 2.5, 3, 4, 6, 10]), lambda x: statistics.gap_ratios(x).mean()
    figure, ax = plt.subplots(layout="constrained")
    for length in (8, 10, 12):
        matrices, number = ring(length), args.realisations * 2 ** (12 - length)
        draws = [rmt.simulate(middle_levels, jax.random.key(0), number, args=(h, *matrices)) for h in strengths]
        estimates = [statistics.over_samples(mean_ratio, levels) for levels in draws]
        ratios, errors = np.array([(each.value, each.standard_error) for each in estimates]).T
        ax.errorbar(strengths, ratios, 2 * errors, fmt=".-", capsize=2, label=f"{length} spins, ± 2 errors")
        for h, ratio, error in zip(strengths, ratios, errors, strict=True):
            near = [name for name, limit in limits.items() if abs(ratio - limit) < 3 * error]
            print(f"{length:2} spins, h = {h:4}: {ratio:.4f} ± {error:.4f}, {' or '.join(near) or 'between'}")
    ax.axhline(limits["chaotic"], color="black", label="GOE, exact", zorder=0)
    ax.axhline(limits["localised"], color="black", linestyle=":", label="independent levels", zorder=0)
    ax.set(xlabel="strength of the disorder h", ylabel="mean gap ratio")
    ax.legend(frameon=False)
    figure.savefig(args.output, dpi=200)


if __name__ == "__main__":
    main()
