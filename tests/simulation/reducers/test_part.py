"""Reducers on a part of the draws against reducers on functions that return the part alone."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rmtjax as rmt
from tests.simulation.reducers.draws import check_monoid, close, cuts, numbers, padded_spectrum

EDGES = np.array([-1.0, 0.0, 1.0])
Part = rmt.simulation.Part


class Pair(NamedTuple):
    """A draw with attributes and positions."""

    levels: rmt.Spectrum
    rest: dict


def pair(key):
    return Pair(padded_spectrum(key), {"a": jax.random.normal(key, (2,)), "b": jax.random.uniform(key)})


@pytest.mark.float32
@pytest.mark.parametrize(
    ("select", "part"),
    [
        ("levels", lambda draw: draw.levels),
        (0, lambda draw: draw.levels),
        (-1, lambda draw: draw.rest),
        (lambda draw: draw.levels, lambda draw: draw.levels),
        (lambda draw: (draw.rest["a"][0], 2), lambda draw: (draw.rest["a"][0], 2)),
    ],
    ids=["attribute", "position", "last", "function", "numbers"],
)
def test_a_part_is_reduced_as_if_it_were_returned_alone(getkey, select, part):
    key, reduce = getkey(), (rmt.Histogram(EDGES), {"m": rmt.Moments(), "all": rmt.simulation.Collect()})
    result = rmt.simulate(
        pair, key, 20, reduce=[Part(select, reduce), Part("rest", Part("b", rmt.Moments()))], batch_size=6
    )
    close(result[0], rmt.simulate(lambda k: part(pair(k)), key, 20, reduce=reduce), rtol=1e-5, atol=1e-6)
    close(result[1], rmt.simulate(lambda k: pair(k).rest["b"], key, 20, reduce=rmt.Moments()), rtol=1e-5)


@given(numbers((3,), st.floats(-2, 2)), cuts)
def test_any_division_of_the_draws_gives_the_same(values, ends):
    reduce = Part("x", (rmt.Histogram(EDGES), Part(first, rmt.Moments())))
    result = check_monoid(reduce, {"x": values, "y": values[:, 0]}, ends, lambda a, b: close(a, b, atol=1e-12))
    np.testing.assert_allclose(result[1].mean, values[:, 0].mean(), rtol=1e-12, atol=1e-14)


def first(draw):
    return draw[0]


def test_arrays_in_functions_are_operands(getkey):
    key, traces = getkey(), []

    class Scaled(eqx.Module):
        by: jax.Array

        def __call__(self, draw):
            traces.append(1)
            return self.by * draw

    run = lambda by: rmt.simulate(jax.random.normal, key, 5, reduce=Part(Scaled(jnp.asarray(by)), rmt.Moments())).mean
    one = run(1.0)
    before = len(traces)
    assert abs(run(3.0) - 3 * one) < 1e-6
    assert len(traces) - before <= 1  # `init` may trace, but runs no program.


@pytest.mark.parametrize(
    ("select", "message"),
    [
        ("c", "`select` must be one of the parts of a draw, 'levels', 'rest', got 'c'"),
        (7, "`select` must be one of the parts of a draw, 'levels', 'rest', got 7"),
        (True, "`select` must be a key, a position, an attribute or a function of a draw, got True"),
        (1.5, "`select` must be a key, a position, an attribute or a function of a draw, got 1.5"),
    ],
)
def test_bad_parts(getkey, select, message):
    with pytest.raises(ValueError, match=message):
        rmt.simulate(pair, getkey(), 3, reduce=Part(select, rmt.Moments()))


def test_a_position_in_an_array_is_no_part(getkey):
    # The position would be a draw of the batch.
    with pytest.raises(ValueError, match="`select` must be a function of the draw, which has no parts, got 0"):
        rmt.simulate(lambda key: jax.random.normal(key, (3,)), getkey(), 3, reduce=Part(0, rmt.Moments()))


def test_anything_but_reducers_is_refused():
    with pytest.raises(ValueError, match="`reducer` must be a reducer"):
        Part("a", (rmt.Moments(), None))
