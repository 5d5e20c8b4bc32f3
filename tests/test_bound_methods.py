"""A bound method of an ensemble or a law is an ordinary function to JAX (`docs/design.md`, Contracts).

Equinox's own bound methods are pytrees, which `jit` and `checkpoint` refuse as unhashable before anything is compiled.
(`vmap`, `lax.map` and `shard_map` would take them.) The composability battery checks that the transformed methods give
the right numbers.
"""

import inspect

import equinox as eqx
import jax
import pytest

import rmtjax as rmt
from tests.cases import daily
from tests.methods import INSTANCES, NAMES, OF, X, methods

TRANSFORMS = {
    "jit": lambda method, args: jax.jit(method)(*args),
    "checkpoint": lambda method, args: jax.checkpoint(method)(*args),
}


# Each method takes long to compile: `check_law` in its own file transforms all of them.
SLOW = {rmt.laws.HardEdge}


def test_every_law_and_ensemble_is_here():
    named = [*vars(rmt.laws).values(), *vars(rmt.ensembles).values()]
    classes = {cls for cls in named if inspect.isclass(cls) and issubclass(cls, tuple(OF))}
    final = {cls for cls in classes if not cls.__name__.startswith("Abstract")}
    assert final - {type(instance) for instance in INSTANCES.values()} == SLOW


@pytest.mark.parametrize("name", NAMES)
def test_bound_methods_are_hashable_and_no_pytrees(name):
    def bind(module):
        for method in methods(module):
            bound = getattr(module, method)
            assert hash(bound) == hash(getattr(module, method)), method
            assert jax.tree.leaves(bound) == [bound], method

    bind(INSTANCES[name])
    jax.eval_shape(bind, INSTANCES[name])  # with tracers in the fields


# The test only traces; every day it runs for one object of each kind.
KINDS = ["rmtjax.laws.Semicircle", "rmtjax.GOE", "rmtjax.Mixed", "rmtjax.laws.CircularLaw"]


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", daily(NAMES, only=KINDS))
def test_transformations_take_bound_methods(name, transform):
    def shapes(module):
        return [TRANSFORMS[transform](getattr(module, method), args) for method, args in methods(module).items()]

    with_arrays = jax.eval_shape(lambda: shapes(INSTANCES[name]))
    with_tracers = jax.eval_shape(shapes, INSTANCES[name])
    assert jax.tree.leaves(with_tracers) == jax.tree.leaves(with_arrays)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_a_bound_method_of_equinox_is_refused(transform):
    class Plain(eqx.Module):
        value: jax.Array

        def pdf(self, x):
            return self.value * x

    with pytest.raises((TypeError, ValueError), match="hashable"):
        TRANSFORMS[transform](Plain(X).pdf, (X,))
