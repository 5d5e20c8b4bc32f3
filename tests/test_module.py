"""The repr of the library's objects."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax._module import AbstractModule


@pytest.mark.float32
def test_parameters_are_shown_with_their_values():
    assert repr(rmt.laws.Semicircle()) == "Semicircle(radius=2.0)"
    assert repr(rmt.laws.Semicircle(np.float32(0.3))) == "Semicircle(radius=0.3)"
    assert repr(rmt.laws.TracyWidom(2)) == "TracyWidom(beta=2, convention='tracy-widom', order=1)"
    assert repr(rmt.GUE(5)) == "GUE(n=5, scale=1.0)"
    mixture = rmt.laws.Mixture([0.5, 0.5], [rmt.laws.Semicircle(), rmt.laws.Semicircle(1.0)])
    shown = "(Semicircle(radius=2.0), Semicircle(radius=1.0))"
    assert repr(mixture) == f"Mixture(weights=[0.5, 0.5], components={shown})"


def test_long_vectors_are_shown_by_their_shapes():
    law = rmt.laws.GeneralMarchenkoPastur(0.5, jnp.arange(1, 20.0))
    assert repr(law) == "GeneralMarchenkoPastur(ratio=0.5, population=f64[19], weights=f64[19])"


def test_traced_parameters_are_shown_by_their_types():
    seen = []

    @jax.jit
    def trace(law):
        seen.append(repr(law))
        return law.radius

    trace(rmt.laws.Semicircle(jnp.float32(2)))
    assert seen == ["Semicircle(radius=f32[])"]


class Holder(AbstractModule):
    value: jax.Array


@pytest.mark.float32
def test_what_cannot_be_read_is_shown_all_the_same():
    assert repr(Holder(jax.random.key(0))).startswith("Holder(value=key<")
    gone = jnp.float32(1)
    holder = Holder(gone)
    gone.delete()
    assert repr(holder) == "Holder(value=f32[])"
    assert repr(object.__new__(Holder)) == "Holder()"


def test_results_show_what_follows_from_them():
    moments = rmt.simulation.MomentsResult(np.int64(100), np.float64(0.5), np.float64(4.0), draws=100)
    fields = "count=100, mean=0.5, variance=4.0, skewness=None, kurtosis=None, draws=100"
    assert repr(moments) == f"MomentsResult({fields}, standard_error=0.2)"
    without = eqx.tree_at(lambda result: result.count, moments, None)
    assert repr(without) == f"MomentsResult({fields.replace('count=100', 'count=None')})"
    assert repr(object.__new__(rmt.simulation.MomentsResult)).startswith("MomentsResult(")


@pytest.mark.float32
def test_vectors_are_shown_with_all_digits():
    assert repr(Holder(jnp.asarray([0.1, 1e-9], jnp.float32))) == "Holder(value=[0.1, 1e-09])"
