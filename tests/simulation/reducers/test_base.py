"""Reducers that users write, several reducers in one pass, and values that no reducer pools."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt

EDGES = np.array([-1.0, -0.5, 0.0, 0.25, 1.0])
QUANTILES = rmt.simulation.Quantiles()


def normals(key):
    return jax.random.normal(key, (3,))


class Largest(rmt.simulation.AbstractReducer):
    """A reducer as a user would write it."""

    def init(self, draw):
        return np.float64(-np.inf)

    def update(self, state, draws):
        return jnp.maximum(state, jnp.max(jnp.where(draws.valid[:, None], draws.values, -jnp.inf)))

    def merge(self, left, right):
        return np.maximum(left, right)

    def finish(self, state):
        return float(state)


def test_a_reducer_of_the_users(getkey):
    key = getkey()
    expected = float(rmt.simulate(normals, key, 11).max())
    assert rmt.simulate(normals, key, 11, reduce=Largest(), batch_size=4) == expected


def test_several_reducers_in_one_pass(getkey):
    key, histogram, moments = getkey(), rmt.Histogram(EDGES), rmt.Moments()
    run = lambda reduce: rmt.simulate(normals, key, 11, reduce=reduce, batch_size=4)
    alone = [run(histogram), run(moments), run(Largest())]
    nested = run([{"b": (histogram, {"x": moments})}, Largest()])
    assert type(nested) is list
    assert eqx.tree_equal(nested, [{"b": (alone[0], {"x": alone[1]})}, alone[2]])


class Count(rmt.simulation.AbstractReducer):
    """A reducer whose first state is Python numbers, and which depends on a parameter."""

    above: jax.Array

    def init(self, draw):
        return {"draws": 0, "above": 0, "last": 0}

    def update(self, state, draws):
        return {
            "draws": state["draws"] + draws.valid.sum(),
            "above": state["above"] + jnp.sum(draws.valid & (draws.values > self.above)),
            "last": jnp.maximum(state["last"], jnp.max(jnp.where(draws.valid, draws.index, 0)).astype(int)),
        }

    def merge(self, left, right):
        added = {name: left[name] + right[name] for name in ("draws", "above")}
        return added | {"last": max(left["last"], right["last"])}

    def finish(self, state):
        return {name: int(number) for name, number in state.items()}


def test_a_state_may_begin_with_python_numbers(getkey):
    key = getkey()
    drawn = np.asarray(rmt.simulate(jax.random.normal, key, 11))
    for above in (-0.5, 0.5):
        result = rmt.simulate(jax.random.normal, key, 11, reduce=Count(jnp.asarray(above)), batch_size=4)
        assert result == {"draws": 11, "above": (drawn > above).sum(), "last": 10}


@pytest.mark.parametrize(
    ("reducer", "what"),
    [(rmt.Histogram(EDGES), "a histogram"), (rmt.simulation.Extremes(1), "extremes"), (QUANTILES, "quantiles")],
    ids=["histogram", "extremes", "quantiles"],
)
def test_values_without_an_order_are_not_pooled(getkey, reducer, what):
    with pytest.raises(ValueError, match=r"`fn` must return no NaN, got 3 of 6 values.*EQX_ON_ERROR"):
        rmt.simulate(lambda key: jnp.array([0.5, jnp.nan]), getkey(), 3, reduce=reducer)
    with pytest.raises(ValueError, match=f"`fn` must return real values for {what}, got 'complex"):
        rmt.simulate(lambda key: jnp.array(1j), getkey(), 3, reduce=reducer)


class Forgetful(Largest):
    """A reducer whose state changes its dtype."""

    def update(self, state, draws):
        return draws.valid.sum()


def test_a_state_that_changes_is_refused(getkey):
    with pytest.raises(ValueError, match=r"`Forgetful.update` must keep the structure, .* of the state, .*float.*int"):
        rmt.simulate(normals, getkey(), 11, reduce=Forgetful())
