"""Calls outside of `jit` compile once for all values, and no program calls back to Python."""

import gc
import inspect
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from jax.extend.core import Jaxpr

import rmtjax as rmt
from rmtjax._module import AbstractModule
from rmtjax.simulation._memory import inner_programs
from rmtjax.special.internal import bracketed_root
from tests.cases import daily, further
from tests.methods import INSTANCES, NAMES, X, joint_logpdf_arguments, methods, only_traced
from tests.registry import PUBLIC, Call
from tests.session import resident_bytes

COMPILATIONS: list[str] = []


def _listen(event: str, *_: object, **__: object) -> None:
    if event == "/jax/core/compile/backend_compile_duration":
        COMPILATIONS.append(event)


jax.monitoring.register_event_duration_secs_listener(_listen)


@contextmanager
def no_compilation() -> Iterator[None]:
    before = len(COMPILATIONS)
    yield
    assert len(COMPILATIONS) == before


def with_new_values(tree, turn):
    """The tree with other keys, and with other numbers close to the old ones."""

    def new(leaf):
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.fold_in(leaf, turn)
        if jnp.issubdtype(leaf.dtype, jnp.inexact):
            return leaf * (1 - 1e-7 * turn)
        return leaf

    return jax.tree.map(new, tree)


def call_three_times(instance, method, args):
    turns = [with_new_values((instance, args), turn) for turn in range(3)]
    jax.block_until_ready(getattr(instance, method)(*args))
    for one, values in turns:
        with no_compilation():
            jax.block_until_ready(getattr(one, method)(*values))


def test_a_compilation_is_noticed():
    with pytest.raises(AssertionError), no_compilation():
        jax.jit(lambda x: 3 * x - 7)(jnp.arange(5))


@pytest.mark.parametrize(
    "differentiate",
    [
        jax.grad(lambda scale, key: jnp.sum(rmt.GOE(6, scale).eigenvalues(key) ** 4)),
        jax.jacfwd(lambda scale, key: rmt.laws.MarchenkoPastur(0.5, scale).cdf(1 + jax.random.uniform(key))),
    ],
    ids=["grad", "jacfwd"],
)
def test_derivatives_compile_once(differentiate):
    differentiate(1.0, jax.random.key(0))
    with no_compilation():
        again = [differentiate(scale, jax.random.key(1)) for scale in (1.5, 1.5)]
    assert again[0] == again[1] != 0


# One of each kind.
KINDS = {"rmtjax.laws.MarchenkoPastur", "rmtjax.GOE", "rmtjax.Mixed", "rmtjax.laws.CircularLaw", "rmtjax.CUE"}


def of_the_day(name):
    """Every method of one object of each kind, and the first method of the others."""
    return dict([*methods(INSTANCES[name]).items()][: None if name in KINDS else 1])


@pytest.mark.parametrize("name", NAMES)
def test_methods_are_traced_once(name, monkeypatch):
    only_traced(monkeypatch)
    for method, args in of_the_day(name).items():
        call_three_times(INSTANCES[name], method, args)


@pytest.mark.parametrize(
    ("name", "number"), [*((name, 1) for name in sorted(KINDS)), *further(*((name, None) for name in NAMES))]
)
def test_methods_compile_once(name, number):
    for method, args in islice(methods(INSTANCES[name]).items(), number):
        call_three_times(INSTANCES[name], method, args)


class Hooks(AbstractModule):
    """Hooks of every kind that Python, JAX and Equinox have."""

    scale: jax.Array

    def _plain(self, x):
        return self.scale * x

    @jax.jit
    def _jitted(self, x):
        return self.scale * x

    @eqx.filter_jit
    def _filtered(self, x):
        return self.scale * x

    @staticmethod
    def _static(x):
        return 2 * x

    @classmethod
    def _of_class(cls, x):
        return len(cls.__name__) * x


FACTORS = {"_plain": 3, "_jitted": 3, "_filtered": 3, "_static": 2, "_of_class": 5}


@pytest.mark.parametrize("name", FACTORS)
def test_hooks_of_every_kind_compile_once_and_hold_no_object(name):
    other, instance = Hooks(jnp.asarray(1.0)), Hooks(jnp.asarray(3.0))
    other._run(getattr(other, name), X)
    with no_compilation():
        found = instance._run(getattr(instance, name), X)
    assert found == FACTORS[name] * X
    held = weakref.ref(instance)
    del instance
    gc.collect()
    assert held() is None


def test_joint_densities_compile_once(monkeypatch):
    only_traced(monkeypatch)
    arguments = {name: joint_logpdf_arguments(INSTANCES[name]) for name in NAMES}
    known = [name for name, args in arguments.items() if args]
    assert len(known) > 12
    for name in known:
        call_three_times(INSTANCES[name], "joint_logpdf", arguments[name])


CALLS = {name: call for name, call in PUBLIC.items() if isinstance(call, Call) and not inspect.isbuiltin(call.fn)}
# These have longer programs than their neighbours, which are made in the same way.
LONG = ["rmtjax.laws.hard_edge_gap_probabilities", "rmtjax.laws.rigidity", "rmtjax.special.bessel_kernel"]


@pytest.mark.parametrize("name", daily(list(CALLS), but=LONG))
def test_functions_compile_once(name):
    call = CALLS[name]
    jax.block_until_ready(call.fn(*call.args))
    for turn in range(1, 3):
        args = with_new_values(jax.tree.map(jnp.asarray, call.args), turn)
        with no_compilation():
            jax.block_until_ready(call.fn(*args))


DATA = jnp.sin(jnp.arange(120.0).reshape(20, 6) ** 2)
# Functions and methods that the registry leaves to their own tests, or calls otherwise.
OF_DATA = {
    "population_spectrum": lambda data, key: rmt.inference.population_spectrum(jnp.linalg.eigvalsh(data.T @ data), 20),
    "permutation": lambda data, key: rmt.inference.signal_rank(
        data, method="permutation", key=key, max_rank=1, resamples=19
    ),
    "pairwise": lambda data, key: rmt.inference.shrink_covariance(data.at[3, 2].set(jnp.nan), missing="pairwise"),
    "noise_covariance": lambda data, key: rmt.inference.denoise(data, noise_covariance=jnp.cov(data.T)),
}


@pytest.mark.parametrize("name", OF_DATA)
def test_decisions_on_data_compile_once(name, getkey):
    jax.block_until_ready(OF_DATA[name](DATA, getkey()))
    for turn in range(1, 3):
        data = with_new_values(DATA, turn)
        key = getkey()
        with no_compilation():
            jax.block_until_ready(OF_DATA[name](data, key))


# The function is made for the call, inside a transformation but not inside a program.
@pytest.mark.parametrize("transform", [jax.vmap, lambda fn: jax.grad(lambda x: fn(x).sum())], ids=["vmap", "grad"])
@pytest.mark.parametrize(
    "solve",
    [
        lambda y: bracketed_root(lambda x: x**3 - y, 0 * y, 9 + 0 * y),
        lambda end: rmt.special.integrate(lambda x: x * end, jnp.stack([0 * end, end])),
        lambda a: rmt.linalg.matrix_function(lambda x: jnp.exp(a * x), jnp.eye(3)),
    ],
    ids=["bracketed_root", "integrate", "matrix_function"],
)
def test_functions_of_functions_compile_once(transform, solve):
    for turn in range(3):
        point = jnp.array([2.0, 3.0]) + turn / 8
        call = lambda point: transform(solve)(point if transform is jax.vmap else point[0])
        if turn == 0:
            jax.block_until_ready(call(point))
            continue
        with no_compilation():
            jax.block_until_ready(call(point))


def test_what_a_function_closes_over_is_not_kept():
    def call(size):
        closed_over = jnp.ones(size)
        rmt.linalg.matrix_function(lambda x: x * closed_over[0], jnp.eye(2))
        bracketed_root(lambda x: x - closed_over[0], 0.0, 2.0)
        rmt.special.integrate(lambda x: x * closed_over[0], jnp.array([0.0, 1.0]))
        rmt.special.fredholm_det(lambda x, y: x * y * closed_over[0], (0.0, 1.0), num_nodes=6)

    call(12_345)
    gc.collect()
    assert not [array for array in jax.live_arrays() if array.shape == (12_345,)]


def resident() -> int:
    gc.collect()
    return resident_bytes()


# With a new program at every call a GOE draw would keep 1.7 MB.
@pytest.mark.skipif(not resident_bytes(), reason="memory of the process is not told here")
@pytest.mark.parametrize(
    "ensemble",
    [rmt.GOE(4), *further(rmt.GUE(4), rmt.Levy(4, 1.4), rmt.RandomRegular(6, 3), rmt.AltlandZirnbauer("C", 4))],
    ids=lambda ensemble: type(ensemble).__name__,
)
def test_eager_loops_keep_no_memory(ensemble, getkey):
    for _ in range(20):
        jax.block_until_ready((ensemble.sample(getkey()), ensemble.eigenvalues(getkey())))
    before = resident()
    for _ in range(200):
        jax.block_until_ready((ensemble.sample(getkey()), ensemble.eigenvalues(getkey())))
    assert resident() - before < 20_000_000


def primitives(jaxpr: Jaxpr) -> Iterator[str]:
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for inner, _ in inner_programs(equation):
            yield from primitives(inner)


def calls_back(fn, *args):
    return any("callback" in name for name in primitives(jax.make_jaxpr(fn)(*args).jaxpr))


def test_a_call_back_is_noticed():
    assert calls_back(jax.jit(lambda x: jax.pure_callback(lambda y: y, x, x)), jnp.ones(2))


def call_all(instance, given):
    return [getattr(instance, method)(*args) for method, args in given.items()]


@pytest.mark.parametrize("chosen", [of_the_day, *further(lambda name: methods(INSTANCES[name]))], ids=["daily", "all"])
@pytest.mark.parametrize("name", NAMES)
def test_no_program_calls_back(name, chosen):
    assert not calls_back(call_all, INSTANCES[name], chosen(name))


@pytest.mark.parametrize("name", CALLS)
def test_no_function_calls_back(name):
    assert not calls_back(CALLS[name].fn, *jax.tree.map(jnp.asarray, CALLS[name].args))
