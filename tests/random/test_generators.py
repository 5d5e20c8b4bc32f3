"""Keys of JAX's other generators, and other settings of its default one, wherever a key is taken."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from tests.arguments import CALLS
from tests.cases import daily
from tests.methods import INSTANCES, further_methods, methods
from tests.methods import KEY as OF_METHODS

CASES = {name: call.call for name, call in CALLS.items() if call.keys()}


def _drawn(instance, name, args):
    return lambda key: getattr(instance, name)(*(key if each is OF_METHODS else each for each in args))


METHODS = {
    f"{name}.{method}": _drawn(instance, method, args)
    for name, instance in INSTANCES.items()
    for method, args in (methods(instance) | further_methods(instance)).items()
    if any(each is OF_METHODS for each in args)
}
DAILY = [
    "rmtjax.random.gamma",
    "rmtjax.simulate",
    "Semicircle.sample",
    "GOE.eigenvalues",
    "GOE.leading_block",
    "CUE.eigenphases",
    "Ginibre.moduli",
    "rmtjax.RandomRegular.sample",
    "rmtjax.GaussianBeta.edge_levels",
]


def _accepted(name, key):
    draw = METHODS[name] if name in METHODS else lambda key: CASES[name](key=key)
    try:
        found = jax.tree.leaves(draw(key))
    except NotImplementedError:  # no such method for this object
        return
    assert all(leaf is None or leaf.size for leaf in found if hasattr(leaf, "size"))


@pytest.mark.parametrize("implementation", ["rbg", pytest.param("unsafe_rbg", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", daily([*CASES, *METHODS], only=DAILY))
def test_keys_of_other_generators_are_accepted(name, implementation):
    _accepted(name, jax.random.key(3, impl=implementation))


@pytest.mark.parametrize("name", daily([*CASES, *METHODS], only=["GOE.eigenvalues", "rmtjax.random.gamma"]))
def test_threefry_keys_are_accepted_under_another_default(name):
    key = jax.random.key(3, impl="threefry2x32")
    with jax.default_prng_impl("rbg"):
        _accepted(name, key)


@pytest.mark.parametrize("implementation", ["rbg", "unsafe_rbg"])
def test_draws_of_other_generators_follow_their_law(implementation):
    keys = jax.random.split(jax.random.key(5, impl=implementation), 400)
    traces = jnp.stack([jnp.sum(rmt.GOE(4).eigenvalues(key) ** 2) for key in keys[:200]])
    expected = 4 + 1  # the mean of tr H² is n + 1, with the variance 1/n of the entries and 2/n on the diagonal
    assert abs(np.mean(traces) - expected) < 5 * np.std(traces) / 200**0.5
    draws = rmt.laws.Semicircle().sample(keys[-1], 4000)
    assert abs(np.mean(draws**2) - 1) < 5 * np.std(draws**2) / 4000**0.5
