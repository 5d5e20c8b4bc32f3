"""simulate compiles once for new parameters of any kind of function, and drops programs of functions that are freed."""

import functools
import gc

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax._compile import soon
from rmtjax.simulation._work import prepared
from tests.cases import daily

COMPILATIONS = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, seconds, **_: COMPILATIONS.append(event) if event.startswith("/jax/core/compile/") else None
)
TRACES = []


def scaled(scale, key, sign=1):
    TRACES.append(1)
    return sign * scale * jax.random.normal(key, (3,))


def with_key_first(key, scale):
    return scaled(scale, key)


def sum_of_sample(key, ensemble, shift):
    TRACES.append(1)
    return ensemble.sample(key).sum() + shift["by"]


class Walk(eqx.Module):
    """An equinox module, whose bound methods are pytrees."""

    scale: jax.Array

    def __call__(self, key):
        return scaled(self.scale, key)

    def step(self, key):
        return scaled(self.scale, key)


class Plain:
    """An object that is not a pytree."""

    @staticmethod
    def draw(key, scale):
        return scaled(scale, key)

    def method(self, key, scale):
        return scaled(scale, key)


PLAIN = Plain()
JITTED = jax.jit(scaled, static_argnames="sign")
FUNCTIONS = {
    "bound method": lambda s: (rmt.Wigner(4, s).sample,),
    "Mixed": lambda s: (rmt.Mixed(rmt.Wigner(4, s), 0.5).sample,),
    "partial": lambda s: (functools.partial(scaled, jnp.asarray(s)),),
    "partial with numpy": lambda s: (functools.partial(scaled, np.full(3, s), sign=-1),),
    "jax partial": lambda s: (jax.tree_util.Partial(scaled, jnp.asarray(s)),),
    "eqx partial": lambda s: (eqx.Partial(scaled, jnp.asarray(s)),),
    "nested partial": lambda s: (functools.partial(functools.partial(JITTED, sign=-1), jnp.asarray(s)),),
    "partial of a bound method": lambda s: (functools.partial(rmt.Wigner(4, s).leading_block, order=jnp.asarray(3)),),
    "module": lambda s: (Walk(jnp.asarray(s)),),
    "method of equinox": lambda s: (Walk(jnp.asarray(s)).step,),
    "jit of a bound method": lambda s: (jax.jit(rmt.Wigner(4, s).sample),),
    "filter_jit of a bound method": lambda s: (eqx.filter_jit(rmt.Wigner(4, s).sample),),
    "filter_vmap of a module": lambda s: (eqx.filter_vmap(Walk(jnp.asarray(s)), in_axes=None, axis_size=2),),
    "jitted function": lambda s: (jax.jit(with_key_first), s),
    "function": lambda s: (with_key_first, s),
    "static method": lambda s: (PLAIN.draw, np.float64(s)),
    "method of an object": lambda s: (PLAIN.method, s),
    "arguments of several kinds": lambda s: (sum_of_sample, rmt.Wigner(4, s), {"by": np.arange(2) * s}),
    "function among the arguments": lambda s: (lambda_of_a_function, rmt.Wigner(4, s).sample),
}
lambda_of_a_function = lambda key, fn: fn(key) + fn(key)
# The parameters of these are in pytrees that other cases have as well.
LIKE_OTHERS = ["Mixed", "jax partial", "partial of a bound method", "filter_jit of a bound method", "static method"]
REDUCERS = {
    "stacked": lambda s: None,
    "reduced": lambda s: {"histogram": rmt.Histogram([-s, 0.0, s]), "moments": rmt.Moments()},
}


def turn(made, key, scale, reducer):
    fn, *args = made(scale)
    # The last of three chunks is not full.
    return rmt.simulate(fn, key, 11, args=tuple(args), reduce=REDUCERS[reducer](scale), batch_size=4)


@pytest.mark.parametrize("kind", daily(FUNCTIONS, but=LIKE_OTHERS))
def test_new_parameters_neither_trace_nor_compile(getkey, kind):
    key, made = getkey(), FUNCTIONS[kind]
    first = turn(made, key, 1.0, "stacked")
    before = len(TRACES), len(COMPILATIONS)
    second, third = turn(made, getkey(), 2.0, "stacked"), turn(made, key, 3.0, "stacked")
    assert (len(TRACES), len(COMPILATIONS)) == before
    assert jax.tree.map(jnp.shape, second) == jax.tree.map(jnp.shape, first)
    # Every function here is proportional to its parameter.
    ones, threes = (getattr(drawn, "values", drawn) for drawn in (first, third))
    np.testing.assert_allclose(threes, 3 * ones, rtol=1e-5, atol=1e-6)


def test_new_reducers_neither_trace_nor_compile(getkey):
    key, made = getkey(), FUNCTIONS["bound method"]
    first = turn(made, key, 1.0, "reduced")
    before = len(COMPILATIONS)
    third = turn(made, key, 3.0, "reduced")
    assert len(COMPILATIONS) == before
    np.testing.assert_array_equal(third["histogram"].counts, first["histogram"].counts)
    np.testing.assert_allclose(third["moments"].variance, 9 * first["moments"].variance, rtol=1e-5)


def test_static_values_are_told_apart(getkey):
    key = getkey()
    kinds = {int: 0, float: 1, bool: 2, str: 3, set: 4}
    name = lambda value, key: jnp.float32(kinds[type(value)]) / float(value == value)
    drawn = [rmt.simulate(functools.partial(name, each), key, 1)[0] for each in (1, 1.0, True, "1", {1})]
    assert drawn == [0, 1, 2, 3, 4]
    inverse = lambda value, key: 1 / jnp.float32(value)
    signs = [rmt.simulate(functools.partial(inverse, each), key, 1)[0] for each in (0.0, -0.0)]
    assert signs == [np.inf, -np.inf]


def executables():
    gc.collect()
    return len(jax.devices()[0].client.live_executables())


def test_programs_go_with_their_functions(getkey):
    kinds = (
        lambda i: lambda key: i * jax.random.normal(key),
        lambda i: functools.partial(lambda scale, key: scale * jax.random.normal(key, (), jnp.float32), jnp.float32(i)),
    )
    kept = []
    for i in range(3):
        for made in kinds:
            rmt.simulate(made(i), getkey(), 3, reduce=rmt.Moments())
        kept.append(executables())
    assert kept[1:] == kept[:1] * 2


def test_programs_kept_are_bounded(getkey, monkeypatch):
    import rmtjax.simulation._structure as module

    monkeypatch.setattr(module, "_MOST_KEPT", 2)
    power = lambda exponent, key: jax.random.normal(key) ** exponent
    kept = []
    for exponent in range(4):
        rmt.simulate(functools.partial(power, exponent), getkey(), 3, reduce=rmt.Moments())
        kept.append(executables())
    assert kept[3:] == kept[2:3]


def test_memory_is_flat_over_many_turns(getkey):
    key, made = getkey(), FUNCTIONS["bound method"]
    turn(made, key, 1.0, "reduced")
    before = executables(), _live_bytes()
    for i in range(200):
        turn(made, key, 1.0 + i, "reduced")
    assert executables() == before[0]
    assert _live_bytes() <= before[1]


def _live_bytes():
    return sum(array.nbytes for array in jax.live_arrays())


def test_simulate_under_transformations(getkey):
    key = getkey()
    total = lambda scale: rmt.simulate(rmt.Wigner(3, scale).sample, key, 5).sum()
    np.testing.assert_allclose(jax.grad(total)(2.0), total(1.0), rtol=1e-5)
    np.testing.assert_allclose(jax.jit(total)(2.0), 2 * total(1.0), rtol=1e-5)


def test_a_refused_call_leaves_nothing_for_the_next(getkey):
    factor = 1.0
    draw = lambda key: factor * jnp.ones(())
    with pytest.raises(ValueError, match="batch_size"):
        rmt.simulate(draw, getkey(), 4, batch_size=0)
    factor = 2.0
    assert rmt.simulate(draw, getkey(), 4).tolist() == [2.0] * 4


@jax.tree_util.register_pytree_node_class
class Converted:
    """A pytree that turns its arguments into arrays."""

    def __init__(self, a):
        self.a = jnp.asarray(a)

    def tree_flatten(self):
        return (self.a,), None

    @classmethod
    def tree_unflatten(cls, _, leaves):
        return cls(*leaves)


def test_outputs_that_convert_their_leaves(getkey):
    draws = rmt.simulate(lambda key: Converted(jax.random.uniform(key)), getkey(), 3)
    assert draws.a.shape == (3,)


def test_short_runs_are_compiled_soon_where_that_is_asked_for(getkey):
    key = getkey()
    quick = lambda number: prepared(jax.random.normal, key, number, (), None, None, None).plan.quick
    assert not quick(8)
    with soon():
        assert quick(8)
        assert not quick(10**6)
        # The closure is traced, and JAX refuses options of the compiler in a program within a program.
        draws = jax.vmap(lambda by: rmt.simulate(lambda key: by * jax.random.normal(key), key, 2, progress=False))
        np.testing.assert_allclose(draws(jnp.array([1.0, 2.0]))[1], 2 * draws(jnp.array([1.0, 2.0]))[0], rtol=1e-6)
