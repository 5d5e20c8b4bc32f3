"""Small computations outside of `jit` are compiled with little effort, and give the same numbers."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax import _compile
from rmtjax._compile import compiled, is_small, quick_options
from tests.cases import further
from tests.processes import printed


def test_what_counts_as_small():
    assert is_small((jnp.ones(100), 100, "pdf", None), order=256)
    assert is_small((rmt.laws.Semicircle(), jnp.ones((3, 4))))
    assert not is_small(jnp.ones(1 << 15))
    assert not is_small(jnp.ones(3), order=1000)
    assert not is_small((jnp.ones(3), 1000))
    assert not jax.jit(lambda x: jnp.asarray(is_small(1.0)))(1.0)
    assert not jax.vmap(lambda x: jnp.asarray(is_small(x)))(jnp.ones(2)).any()


def test_options_are_known_to_this_version():
    if jax.default_backend() == "cpu":
        assert quick_options() in _compile._QUICK
    else:
        assert quick_options() == {}


@pytest.mark.parametrize("off", [False, True])
def test_options_that_no_version_knows_are_left_out(monkeypatch, off):
    monkeypatch.setattr(_compile, "_QUICK", ({"xla_no_such_option": True}, {"xla_backend_optimization_level": 0}))
    quick_options.cache_clear()
    try:
        with jax.disable_jit(off):
            assert quick_options() in ({"xla_backend_optimization_level": 0}, {})
    finally:
        quick_options.cache_clear()


def _powers(x, count, *, shift=0.0):
    return x**count + shift


def test_static_arguments_keywords_and_transformations():
    powers = compiled(_powers, static_argnums=(1,))
    x = jnp.array([2.0, 3.0])
    np.testing.assert_array_equal(powers(x, 2), [4, 9])
    np.testing.assert_array_equal(powers(x, 2, shift=1.0), [5, 10])
    np.testing.assert_array_equal(jax.jit(lambda y: powers(y, 3))(x), [8, 27])
    np.testing.assert_array_equal(jax.vmap(lambda y: powers(y, 2))(x), [4, 9])
    assert jax.grad(lambda y: powers(y, 3).sum())(x)[1] == pytest.approx(27)
    assert powers.__name__ == "_powers"


CONSTANTS = jnp.linspace(-1.5, 1.5, 5)


@pytest.mark.parametrize(
    "call",
    [
        lambda: rmt.laws.Semicircle().cdf(CONSTANTS),
        lambda: rmt.laws.Semicircle().mean(),
        lambda: rmt.laws.PorterThomas(1).support()[0],
        lambda: rmt.special.sine_kernel(CONSTANTS, CONSTANTS),
        lambda: rmt.random.chi(jax.random.key(0), CONSTANTS + 2),
        *further(
            lambda: rmt.GOE(3).eigenvalues(jax.random.key(0)),
            lambda: rmt.SymTridiagonal(CONSTANTS, CONSTANTS[1:]).eigenvalues(),
        ),
    ],
    ids=["law", "moment", "no parameter", "kernel", "variates", "ensemble", "matrix"],
)
def test_constants_inside_of_larger_programs(call):
    """JAX refuses compiler options of a program within a program, and constants do not tell where they are."""
    alone = call()
    np.testing.assert_allclose(jax.jit(lambda s: s * call())(2.0), 2 * alone, rtol=1e-5)
    carry, _ = jax.lax.scan(lambda total, _: (total + call(), None), jnp.zeros_like(alone), None, length=2)
    np.testing.assert_allclose(carry, 2 * alone, rtol=1e-5)
    draws = rmt.simulate(lambda key: jax.random.uniform(key) * call(), jax.random.key(1), 2)
    assert draws.shape == (2, *alone.shape)
    np.testing.assert_allclose(jax.vmap(lambda s: s * call())(jnp.ones(2))[1], alone, rtol=1e-5)
    assert jnp.all(jnp.isfinite(jax.jacfwd(lambda s: s * call())(1.0)))


def _padded_levels(scale, key):
    """A result that contains integers."""
    spectrum = rmt.Mixed(rmt.Wigner(6, scale), 0.7).eigenvalues(key)
    return jnp.where(spectrum.mask, spectrum.values, 0)


DIFFERENTIATED = {
    "law": lambda x, key: rmt.laws.Semicircle(x).cdf(jnp.array([-0.3, 0.8])),
    "ensemble": lambda x, key: rmt.GOE(5, x).eigenvalues(key),
    "padded": _padded_levels,
    "matrix": lambda x, key: rmt.SymTridiagonal(x * jnp.arange(4.0), jnp.ones(3)).eigenvalues(),
    "variates": lambda x, key: rmt.LaguerreBeta(4, 5 * x, x).eigenvalues(key),
}


# Only a law is tested every day.
@pytest.mark.parametrize(
    "fn",
    [
        pytest.param(DIFFERENTIATED["law"], marks=pytest.mark.float32),
        *further(*(DIFFERENTIATED[name] for name in ("padded", "ensemble", "matrix", "variates"))),
    ],
    ids=["law", "padded", "ensemble", "matrix", "variates"],
)
def test_derivatives_outside_of_programs(fn, getkey):
    """The options of a small program do not get into the programs that JAX derives from it."""
    key, x = getkey(), jnp.asarray(1.3)
    values, rates = jax.jit(lambda x: jax.jvp(lambda y: fn(y, key), (x,), (jnp.ones_like(x),)))(x)
    close = partial(np.testing.assert_allclose, rtol=2000 * float(jnp.finfo(x.dtype).eps), atol=1e-5)
    for got, expected in zip(jax.jvp(lambda y: fn(y, key), (x,), (jnp.ones_like(x),)), (values, rates), strict=True):
        close(got, expected)
    close(jax.grad(lambda y: fn(y, key).sum())(x), rates.sum())
    close(jax.jacfwd(lambda y: fn(y, key))(x), rates)
    close(jax.jacrev(lambda y: fn(y, key))(x), rates)
    # Their results go into programs of the user.
    at_x, along = jax.linearize(lambda y: fn(y, key), x)
    _, back = jax.vjp(lambda y: fn(y, key), x)
    close(at_x, values)
    close(jax.jit(along)(x), x * rates)
    close(jax.lax.map(along, jnp.array([1.0, 2.0])), jnp.outer(jnp.array([1.0, 2.0]), rates))
    close(jax.jit(back)(jnp.ones_like(values))[0], rates.sum())
    close(jax.vmap(back)(jnp.eye(values.size, dtype=values.dtype))[0], rates)
    if fn is DIFFERENTIATED["variates"]:  # Variates have a first derivative only.
        return
    second = lambda y: jax.grad(lambda z: fn(z, key).sum())(y)
    close(jax.grad(second)(x), jax.jit(jax.grad(second))(x))


FIRST_IN_JIT = """
import jax, rmtjax as rmt
from rmtjax._compile import _QUICK, quick_options
jax.jit(lambda s: s * rmt.laws.Semicircle().cdf(jax.numpy.ones(3)))(1.0)
rmt.laws.Semicircle().cdf(jax.numpy.ones(3))
assert jax.default_backend() != "cpu" or quick_options() in _QUICK
"""


def test_a_first_call_inside_of_a_program_leaves_the_options_alone():
    printed("-c", FIRST_IN_JIT)


def test_all_sizes_of_an_object_count():
    assert rmt.Wishart(100, 200)._largest_size() == 200
    assert rmt.Mixed(rmt.GOE(70), 0.5)._largest_size() == 70
    assert rmt.laws.Semicircle()._largest_size() == 0


@pytest.mark.parametrize("n", [50, *further(300)])
def test_levels_are_those_of_a_larger_program(n, getkey):
    key, goe = getkey(), rmt.GOE(n)
    levels = goe.eigenvalues(key)
    # Entries from another program may differ in the last bits, levels by 4 eps of the norm, 2; 26 eps were seen.
    rounding = 100 * float(jnp.finfo(levels.dtype).eps)
    np.testing.assert_allclose(levels, jax.jit(goe.eigenvalues)(key), rtol=0, atol=rounding)
    spectrum = np.linalg.eigvalsh(np.asarray(goe.tridiagonal(key).todense(), float))
    np.testing.assert_allclose(levels, spectrum, rtol=0, atol=rounding)


@pytest.mark.float32
@pytest.mark.parametrize("options", [{}, *_compile._QUICK], ids=["in full", *map(str, range(len(_compile._QUICK)))])
def test_levels_of_one_step_hold_however_minors_are_rounded(options):
    """With one step in a sweep, XLA computes minors again for each array of the search, with other roundings.

    If such arrays held separate decisions, a twelfth of these spectra would keep a level half way to its neighbour.
    """
    options = options if jax.default_backend() == "cpu" and options.items() <= quick_options().items() else {}
    states = rmt.HilbertSchmidt(2, 5)
    keys = jax.random.split(jax.random.key(1), 2000)
    levels = jax.jit(jax.vmap(states.eigenvalues), compiler_options=options)(keys)
    np.testing.assert_allclose(levels.sum(axis=1), 1, rtol=0, atol=10 * float(jnp.finfo(levels.dtype).eps))


def test_derivatives_by_different_variables():
    score = jax.grad(lambda ratio, x: rmt.laws.MarchenkoPastur(ratio).logpdf(x), 1)
    expected = jax.jit(jax.grad(score))(0.5, 1.1)
    assert jax.grad(score)(0.5, 1.1) == pytest.approx(float(expected), rel=1e-5)
    assert jax.grad(lambda ratio: jax.grad(lambda x: rmt.laws.MarchenkoPastur(ratio).logpdf(x))(1.1))(
        0.5
    ) == pytest.approx(float(expected), rel=1e-5)


def test_hooks_with_python_numbers_and_closures_have_derivatives(getkey):
    key = getkey()
    levels = lambda s: rmt.Wigner(3, s, entries=lambda k, shape: s * jax.random.normal(k, shape)).eigenvalues(key)
    np.testing.assert_allclose(jax.jacfwd(levels)(2.0), jax.jit(jax.jacfwd(levels))(2.0), rtol=1e-4)

    class Ramp(rmt.laws.AbstractLaw):
        scale: jax.Array

        def _support(self):
            return 0.0, self.scale

        def _pdf(self, x):
            return 2 * x / self.scale**2

    assert jax.grad(lambda s: Ramp(s).support()[1])(jnp.asarray(2.0)) == 1
