"""A billion draws: exact totals in constant memory, from interrupted runs as from undisturbed ones."""

import jax
import numpy as np
import pytest

import rmtjax as rmt
from tests.session import resident_bytes
from tests.simulation.reducers.draws import Counted

pytestmark = pytest.mark.slow


def index_again(key):
    """Half of the bits of the key: as cheap as a draw can be."""
    return jax.random.key_data(key)[0] >> 16


class Watched(Counted):
    """Counts the draws, and notes the memory of the process at each merge."""

    seen: list

    def merge(self, left, right):
        self.seen.append(resident_bytes())
        return left + right


def test_a_billion_draws(getkey, tmp_path):
    number, seen = 10**9, []
    reduce = {"histogram": rmt.Histogram(np.arange(0, 2**16 + 1, 2**12) - 0.5), "draws": Watched(seen)}
    result = rmt.simulate(index_again, getkey(), number, reduce=reduce, checkpoint=tmp_path / "run", every="5s")
    counts = result["histogram"].counts
    assert counts.sum() == result["histogram"].total == result["draws"] == number
    # Each count is binomial; the limit is five standard deviations.
    assert abs(counts - number / 16).max() < 5 * (number * 15 / 256) ** 0.5
    # The memory at ten points of the run, after the first tenth.
    points = [seen[i * len(seen) // 10] for i in range(1, 10)] + [seen[-1]]
    assert len(seen) >= 10
    assert max(points) - points[0] < 2**24
