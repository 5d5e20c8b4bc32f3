"""Moments from free cumulants and back, against sums over partitions, exact numbers and fractions."""

import itertools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rmtjax as rmt
from rmtjax.laws import free_cumulants_of_moments, moments_of_free_cumulants

SINGLE = jnp.zeros(0).dtype == np.float32


def partitions(points):
    """All partitions of a list of points."""
    if not points:
        yield []
        return
    first, *rest = points
    for size in range(len(rest) + 1):
        for others in itertools.combinations(rest, size):
            left = [point for point in rest if point not in others]
            for smaller in partitions(left):
                yield [(first, *others), *smaller]


def crosses(one, other):
    return any(
        a < c < b < d or c < a < d < b
        for a, b in itertools.combinations(one, 2)
        for c, d in itertools.combinations(other, 2)
    )


def by_partitions(cumulants):
    """The moments as sums over all partitions without a crossing (Nica and Speicher 2006, definition 11.3)."""
    moments = []
    for k in range(1, len(cumulants) + 1):
        flat = [
            p for p in partitions(list(range(k))) if not any(crosses(*pair) for pair in itertools.combinations(p, 2))
        ]
        moments.append(sum(math.prod(cumulants[len(block) - 1] for block in p) for p in flat))
    return moments


def test_moments_are_sums_over_partitions():
    cumulants = [Fraction(1, 3), Fraction(2), Fraction(-1, 5), Fraction(7, 2), Fraction(1), Fraction(-3, 4)]
    moments = moments_of_free_cumulants(cumulants)
    assert list(moments) == by_partitions(cumulants)
    assert all(isinstance(moment, Fraction) for moment in moments)
    found, bounds = free_cumulants_of_moments(moments)
    assert list(found) == cumulants
    assert bounds == (0,) * 6
    np.testing.assert_allclose(
        moments_of_free_cumulants(np.array(cumulants, float)), np.array(moments, float), rtol=1e-5
    )


@given(st.lists(st.fractions(-3, 3, max_denominator=9), min_size=1, max_size=9))
def test_there_and_back_is_exact(cumulants):
    assert list(free_cumulants_of_moments(moments_of_free_cumulants(cumulants))[0]) == cumulants


@pytest.mark.float32
def test_known_laws():
    c = 0.5
    marchenko_pastur = [rmt.laws.MarchenkoPastur(c).moment(k) for k in range(1, 9)]
    cumulants, bounds = free_cumulants_of_moments(jnp.stack(marchenko_pastur))
    assert (abs(np.asarray(cumulants) - c ** np.arange(8.0)) <= bounds).all()
    connected = [0, 1, 0, 1, 0, 4, 0, 27, 0, 248, 0, 2830]  # of the normal law
    odd = [math.prod(range(1, k, 2)) * (k % 2 == 0) for k in range(1, 13)]
    assert list(free_cumulants_of_moments(odd)[0]) == connected
    assert list(moments_of_free_cumulants(connected)) == odd
    # Free cumulants add: the arcsine law is the sum of two coins.
    coin = free_cumulants_of_moments([0, 1] * 4)[0]
    assert list(moments_of_free_cumulants([2 * each for each in coin])) == [0, 2, 0, 6, 0, 20, 0, 70]


@pytest.mark.float32
@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_bounds_hold_and_are_no_larger_than_they_must_be(shift):
    """The moments are rounded; what fractions make of them before is the truth."""
    rng = np.random.default_rng(1)
    worst = 0
    for _ in range(8):
        points = [Fraction(round(64 * (x + shift)), 64) for x in rng.normal(size=4)]
        exact = [sum(x**k for x in points) / 4 for k in range(1, 13)]
        moments = jnp.asarray([float(m) for m in exact])
        found, bounds = map(np.asarray, free_cumulants_of_moments(moments))
        right = np.array([float(value) for value in free_cumulants_of_moments(exact)[0]])
        error = np.abs(found.astype(float) - right)
        assert (error <= bounds).all()
        worst = max(worst, (error / bounds)[3:].max())
    assert worst > 1e-4


@pytest.mark.float32
def test_units_batches_and_derivatives():
    base = rmt.laws.FreePoisson(2.0, 1.0)
    moments = jnp.stack([base.moment(k) for k in range(1, 6)])
    unit = 2.0 ** (-20 if SINGLE else -90)
    scaled = moments * unit ** jnp.arange(1.0, 6.0)
    plain, tiny = free_cumulants_of_moments(moments), free_cumulants_of_moments(scaled)
    for one, other in zip(plain, tiny, strict=True):
        np.testing.assert_allclose(np.asarray(other, float) / unit ** np.arange(1, 6), one, rtol=1e-5, atol=1e-5)
    batch = jnp.stack([moments, 2.0 ** jnp.arange(1.0, 6.0) * moments])
    np.testing.assert_allclose(free_cumulants_of_moments(batch)[0][1], 2.0 ** np.arange(1, 6) * plain[0], rtol=1e-4)
    assert moments_of_free_cumulants(batch).shape == (2, 5)
    slope = jax.jacobian(lambda m: free_cumulants_of_moments(m)[0])(moments)
    back = jax.jacobian(moments_of_free_cumulants)(plain[0])
    np.testing.assert_allclose(slope @ back, np.eye(5), rtol=0, atol=1e-2 if SINGLE else 1e-9)
    mapped = jax.jit(jax.vmap(moments_of_free_cumulants))(batch)
    np.testing.assert_allclose(mapped, moments_of_free_cumulants(batch), rtol=1e-5)


@pytest.mark.parametrize("fn", [moments_of_free_cumulants, free_cumulants_of_moments])
@pytest.mark.parametrize("wrong", [[], 1.0, np.zeros(101), np.zeros((3, 0)), [0] * 101])
def test_bad_input(fn, wrong):
    with pytest.raises(ValueError, match="have an axis of 1 to 100 numbers"):
        fn(wrong)


def test_mixed_lists_are_numbers():
    np.testing.assert_allclose(moments_of_free_cumulants([Fraction(1, 2), 0.5]), [0.5, 0.75])


def test_a_point_mass_has_one_cumulant():
    cumulants, bounds = free_cumulants_of_moments(3.0 ** jnp.arange(1.0, 7.0))
    assert cumulants[0] == 3
    assert (abs(cumulants[1:]) <= bounds[1:]).all()
    assert not np.isnan(free_cumulants_of_moments(jnp.zeros(4))[0]).any()
