"""Moments of every order are right, infinite where they overflow, or refused by name, in either precision."""

import math
from fractions import Fraction

import jax
import numpy as np
import pytest

from rmtjax.laws import AbstractLaw, MarchenkoPastur
from tests.cases import daily
from tests.instances import LAWS, made

EXAMPLES = {name: law.example for name, law in LAWS.items() if isinstance(made(law.example), AbstractLaw)}
FURTHER = ["LevelDensity(Wishart(100, 200))", "LevelDensity(GOE(100))", "MarchenkoPastur(1e20)"]
EXAMPLES |= dict(zip(FURTHER, FURTHER, strict=True))
ORDERS = (2, 5, 9, 20, 40, 100)
# The largest of single precision, with room for its rounding.
LARGEST = 0.99 * float(np.finfo(np.float32).max)


def moments(example: str, x64: bool) -> dict[int, float]:
    """The moments by order, without those that are refused."""
    found = {}
    with jax.enable_x64(x64):
        law = made(example)
        for k in ORDERS:
            if k <= law._highest_order or type(law)._moment is not AbstractLaw._moment:
                found[k] = float(law.moment(k))
                continue
            with pytest.raises(ValueError, match="`k` must be at most"):
                law.moment(k)
    return found


@pytest.mark.parametrize("name", daily(EXAMPLES, only=("BerryRobnik", *FURTHER)))
def test_single_precision_is_double_precision(name):
    single, double = moments(EXAMPLES[name], False), moments(EXAMPLES[name], True)
    assert single.keys() == double.keys() >= {2, 5, 9, 20}
    for k, true in double.items():
        expected = true if abs(true) < LARGEST else math.copysign(math.inf, true)
        # Odd moments of laws that are nearly symmetric cancel.
        even = double.get(k + k % 2, math.inf) ** (k / (k + k % 2))
        assert single[k] == expected or abs(single[k] - expected) <= 1e-5 * k * min(even, LARGEST), k


@pytest.mark.parametrize("k", [5, 9, 20, 100])
def test_a_shift_that_centres_a_law_costs_no_digits(k):
    # The terms of the binomial sum are up to 3^k times as large as the moment.
    narayana = lambda j: sum(Fraction(math.comb(j, i) * math.comb(j, i - 1), j * 4 ** (i - 1)) for i in range(1, j + 1))
    expected = sum(math.comb(k, j) * (-1) ** (k - j) * (narayana(j) if j else 1) for j in range(k + 1))
    law = MarchenkoPastur(0.25).shifted(-1.0)
    np.testing.assert_allclose(law.moment(k), float(expected), rtol=1e-12)
