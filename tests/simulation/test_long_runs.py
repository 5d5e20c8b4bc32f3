"""A billion draws: exact totals in constant memory, from interrupted runs as from undisturbed ones."""

import resource
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt

pytestmark = pytest.mark.slow


def index_again(key):
    """Half of the bits of the key: as cheap as a draw can be."""
    return jax.random.key_data(key)[0] >> 16


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


class Watched(rmt.simulation.AbstractReducer):
    """Counts the draws, and notes the memory of the process at each merge."""

    seen: list

    def init(self, draw):
        return 0

    def update(self, state, draws):
        return state + draws.valid.sum()

    def merge(self, left, right):
        self.seen.append(resident_bytes())
        return left + right

    def finish(self, state):
        return int(state)


def test_a_billion_draws(getkey, tmp_path):
    number, seen = 10**9, []
    reduce = {"histogram": rmt.Histogram(np.arange(0, 2**16 + 1, 2**12) - 0.5), "draws": Watched(seen)}
    result = rmt.simulate(index_again, getkey(), number, reduce=reduce, checkpoint=tmp_path / "run", every="5s")
    counts = result["histogram"].counts
    assert counts.sum() == result["histogram"].total == result["draws"] == number
    # Each count is binomial; five of its standard deviations.
    assert abs(counts - number / 16).max() < 5 * (number * 15 / 256) ** 0.5
    # The memory at ten points of the run, after the first tenth.
    points = [seen[i * len(seen) // 10] for i in range(1, 10)] + [seen[-1]]
    assert len(seen) >= 10
    assert max(points) - points[0] < 2**24


def test_moments_far_from_zero(getkey):
    """A mean of 10⁸ and a deviation of 1: sums of squares would have lost every digit."""
    number = 10**6
    draw = lambda key: 1e8 + jax.random.normal(key, dtype=jnp.float64)
    result = rmt.simulate(draw, getkey(), number, reduce=rmt.Moments())
    assert abs(result.mean - 1e8) < 5 / number**0.5
    assert abs(result.variance - 1) < 5 * (2 / number) ** 0.5
