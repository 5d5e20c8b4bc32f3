"""An object checks the rules of its parameters at every call, whoever set the values (design, decisions).

An optimiser's step, `tree_map` and `eqx.tree_at` make objects without calling the constructor.
"""

import dataclasses
import os
import subprocess
import sys
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

import rmtjax as rmt
from rmtjax import _checks
from rmtjax._module import AbstractModule, _declared
from tests.cases import further
from tests.methods import INSTANCES, KEY, NAMES, further_methods, joint_logpdf_arguments, methods, only_traced

# Values below, above and beyond all ranges; some rules allow some of them, but none allows NaN.
VALUES = (-9.0, 1.5, 2.5, 1e3, float("inf"), float("nan"))


def all_bad(instance, name):
    """Copies of the object with a parameter whose every entry breaks its rule, in several ways."""
    value = getattr(instance, name)
    rule, others = next((each.rule, each.others) for each in _declared(type(instance)) if each.name == name)
    related = [getattr(instance, other) for other in others]
    bad = [jnp.full_like(value, number) for number in VALUES]
    bad = [number for number in bad if not np.all(rule.holds(np.asarray(number), *related))]
    return [eqx.tree_at(lambda module: getattr(module, name), instance, number) for number in bad]


def with_bad(instance, name):
    """The first of the copies from `all_bad`."""
    return all_bad(instance, name)[0]


def parameters(instance):
    return [each.name for each in _declared(type(instance)) if isinstance(getattr(instance, each.name), jax.Array)]


CASES = [(name, parameter) for name in NAMES for parameter in parameters(INSTANCES[name])]


def test_continuous_parameters_are_declared():
    """Every number of an object has a rule, in the object itself or in an object that it holds."""

    def undeclared(instance):
        fields = {field.name for field in dataclasses.fields(instance) if not field.metadata.get("static")}
        fields -= {each.name for each in _declared(type(instance))}
        return [field for field in fields if isinstance(getattr(instance, field), jax.Array)]

    assert {name: undeclared(INSTANCES[name]) for name in NAMES if undeclared(INSTANCES[name])} == {}
    assert len(CASES) > 60


@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_a_parameter_out_of_range_is_refused_by_every_method(name, parameter):
    instance = INSTANCES[name]
    levels = joint_logpdf_arguments(instance)
    calls = methods(instance) | further_methods(instance) | ({"joint_logpdf": levels} if levels else {})
    for bad in all_bad(instance, parameter):
        for method, args in calls.items():
            with pytest.raises(ValueError, match="` must "):
                getattr(bad, method)(*args)


def assert_no_numbers(result):
    for leaf in jax.tree.leaves(result):
        if jnp.issubdtype(leaf.dtype, jnp.inexact):
            assert jnp.isnan(leaf).all(), result
        elif leaf.dtype == bool:  # the mask of a spectrum, and whether it is valid
            assert not leaf.any(), result
        else:
            assert (leaf == -1).all(), result


@pytest.mark.parametrize("name", [name for name in NAMES if parameters(INSTANCES[name])])
def test_a_traced_parameter_out_of_range_gives_nan(name, monkeypatch):
    only_traced(monkeypatch)
    method, args = next(iter(methods(INSTANCES[name]).items()))
    in_a_program = jax.jit(lambda instance: getattr(instance, method)(*args))
    for parameter in parameters(INSTANCES[name]):
        assert_no_numbers(in_a_program(with_bad(INSTANCES[name], parameter)))
    assert not any(jnp.any(leaf) for leaf in jax.tree.leaves(in_a_program(INSTANCES[name])))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_every_method_of_a_traced_parameter_out_of_range_gives_nan(name, parameter):
    bad = with_bad(INSTANCES[name], parameter)
    for method, args in methods(bad).items():
        assert_no_numbers(jax.jit(lambda module, args, method=method: getattr(module, method)(*args))(bad, args))


def test_an_optimiser_sees_the_end_of_the_range():
    def largest(goe):
        return goe.largest_eigenvalues(KEY, 1).sum()

    step = jax.jit(jax.value_and_grad(largest))
    value, slope = step(rmt.GOE(8, 1.0))
    assert value > 0
    assert slope.scale == pytest.approx(value)
    value, slope = step(eqx.tree_at(lambda goe: goe.scale, rmt.GOE(8), -9.0))
    assert jnp.isnan(value)
    assert jnp.isnan(slope.scale)


def test_parameters_of_parts_are_held_too():
    mixture = rmt.laws.Mixture([0.5, 0.5], [rmt.laws.Semicircle(1.0), rmt.laws.Semicircle(2.0)])
    bad = eqx.tree_at(lambda law: law.components[1].radius, mixture, -1.0)
    with pytest.raises(ValueError, match="`radius` must be positive and finite, got -1"):
        bad.cdf(0.1)
    assert jnp.isnan(jax.jit(lambda law: law.cdf(0.1))(bad))
    with pytest.raises(ValueError, match="`scale` must be positive and finite"):
        eqx.tree_at(lambda mixed: mixed.base.scale, rmt.Mixed(rmt.GOE(4), 0.7), -1.0).eigenvalues(KEY)


def test_a_batch_of_objects_asks_for_vmap():
    batch = jax.vmap(lambda scale: rmt.GOE(4, scale))(jnp.array([1.0, 2.0]))
    with pytest.raises(ValueError, match=r"`scale` must be a scalar .*`jax.vmap`.*\(2,\)"):
        batch.eigenvalues(KEY)
    levels = jax.vmap(lambda goe: goe.eigenvalues(KEY))(batch)
    np.testing.assert_allclose(levels[1], 2 * levels[0], rtol=1e-5)


@pytest.mark.parametrize("value", [2, jnp.int32(2), jnp.complex64(2), True, "2", None])
@pytest.mark.parametrize("made", [lambda: rmt.GOE(4), lambda: rmt.laws.Semicircle(1.0), lambda: rmt.laws.HardEdge(1.0)])
def test_a_parameter_keeps_its_type(made, value):
    instance = made()
    (field,) = (name for name in ("scale", "radius", "alpha") if hasattr(instance, name))
    other = eqx.tree_at(lambda each: getattr(each, field), instance, value)
    with pytest.raises(ValueError, match=f"`{field}` must be a scalar"):
        other.eigenvalues(KEY) if isinstance(instance, rmt.GOE) else other.pdf(0.1)


def test_a_float_of_python_is_a_parameter():
    doubled = eqx.tree_at(lambda goe: goe.scale, rmt.GOE(4), 2.0)
    np.testing.assert_allclose(doubled.sample(KEY), 2 * rmt.GOE(4).sample(KEY), rtol=1e-6)


def test_what_is_no_law():
    for law in (rmt.laws.Semicircle, rmt.GOE(3), 1.0):
        with pytest.raises(ValueError, match="`components` must be laws"):
            rmt.laws.Mixture([1.0], [law])
        with pytest.raises(ValueError, match="`base` must be an instance of AbstractLaw"):
            rmt.laws.Symmetrized(law)
        with pytest.raises(ValueError, match="`base` must be an instance of AbstractLaw"):
            rmt.laws.PeriodicPadding(law, 0.9, "ascending")


class Held(AbstractModule):
    """A toy with two related parameters."""

    lower: Annotated[Float[Array, ""], _checks.FINITE]
    upper: Annotated[Float[Array, ""], _checks.Rule(lambda b, a: b > a, lambda a: f"be above {a}"), "lower"]

    def __init__(self, lower, upper):
        self.lower, self.upper = _checks.scalar("lower", lower), _checks.scalar("upper", upper)

    def width(self):
        return self._run(self._width)

    def _width(self):
        return self.upper - self.lower


def test_a_rule_relates_parameters():
    assert Held(1.0, 3.0).width() == 2
    with pytest.raises(ValueError, match=r"`upper` must be above 4.0, got 3.0"):
        Held(4.0, 3.0)
    assert jnp.isnan(jax.jit(lambda a: Held(a, 3.0).width())(4.0))
    assert jax.jit(lambda a: Held(a, 3.0).width())(1.0) == 2


def test_values_at_hand_are_errors_where_one_differentiates():
    with pytest.raises(ValueError, match=r"`lower` must be finite, got nan"):
        jax.grad(lambda a: Held(a, 3.0).width())(jnp.nan)


RAISES = """
import jax, rmtjax as rmt
jax.block_until_ready(jax.jit(lambda r: rmt.laws.Semicircle(r).pdf(0.1))(-1.0))
"""


@pytest.mark.parametrize("asked", [True, *further(False)])
def test_errors_from_inside_of_programs_on_demand(asked):
    environment = {key: value for key, value in os.environ.items() if key != "EQX_ON_ERROR"}
    environment |= {"EQX_ON_ERROR": "raise"} if asked else {}
    run = subprocess.run([sys.executable, "-c", RAISES], env=environment, capture_output=True, text=True)
    assert (run.returncode != 0) == asked, run.stderr
    assert ("`radius` must be positive and finite" in run.stderr) == asked
