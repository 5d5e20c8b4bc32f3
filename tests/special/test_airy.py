"""Airy functions: against mpmath on the whole line, limits, derivatives, the table against its builder."""

import importlib.util
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import scipy.special

from rmtjax.special import airy
from rmtjax.special._double import pair_product, pair_root, two_thirds
from tests.cases import every_dtype

ZEROS = [float(mpmath.airyaizero(1)), float(mpmath.airybizero(2)), float(mpmath.airyaizero(30))]
# Joints of the panels, neighbourhoods of zeros, extremes.
JOINTS = [sign * x for x in (0.0, 0.5, 2.0, 3.5, 3.999999, 4.0, 4.000001, 4.85, 6.35, 16.0) for sign in (-1, 1)]
POINTS = [*JOINTS, *ZEROS, *(zero * (1 + 1e-7) for zero in ZEROS), *np.linspace(-13.3, 12.7, 30), 1e-30, -1e-9, 1e-4]
EXTREMES = {np.float32: [17.0, 24.0, -100.0, -1e4, -8e4], np.float64: [50.0, 100.0, 103.0, -100.0, -1e4, -1e6, -7e9]}


def reference(x):
    """The four functions and the scale of their errors: the value, or the envelope on the negative axis."""
    x = mpmath.mpf(float(x))
    values = [f(x, derivative=order) for f in (mpmath.airyai, mpmath.airybi) for order in (0, 1)]
    if x >= 0:
        return values, list(map(abs, values))
    envelopes = [mpmath.hypot(values[k], values[k + 2]) for k in (0, 1)]
    return values, 2 * envelopes


@pytest.mark.parametrize("compile_", [lambda f: f, jax.jit], ids=["eager", "jit"])
@every_dtype
def test_four_ulp_on_the_whole_line(dtype, compile_):
    x = np.array(POINTS + EXTREMES[dtype], dtype)
    got = compile_(airy)(jnp.asarray(x))
    assert all(values.dtype == dtype for values in got)
    with mpmath.workdps(50):
        for k, point in enumerate(x):
            values, scales = reference(point)
            errors = [abs(float(f[k]) - v) / s for f, v, s in zip(got, values, scales, strict=True)]
            assert max(errors) <= 4 * np.finfo(dtype).eps, (point, list(map(float, errors)))


def test_scipy_agrees():
    x = np.linspace(-9.7, 9.9, 200)
    for ours, theirs in zip(airy(x), scipy.special.airy(x), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13)


@every_dtype
def test_limits(dtype):
    huge = -(np.finfo(dtype).eps ** -1.5)
    limits = [[0, 0, 0], [0, 0, np.nan], [np.inf, np.inf, 0], [np.inf, np.inf, np.nan]]
    got = airy(jnp.asarray([np.inf, 120.0, -np.inf, np.nan, huge], dtype))
    np.testing.assert_array_equal(got, np.pad(limits, ((0, 0), (0, 2)), constant_values=np.nan))
    assert jax.grad(lambda x: airy(x).ai)(jnp.asarray(np.inf, dtype)) == 0


def test_derivatives_of_three_orders():
    x = np.array([-30.0, -4.0, -2.3, 0.0, 1.7, 4.0, 9.0])
    ai, ai_prime, *_ = airy(x)
    first = jax.grad(lambda x: airy(x).ai)
    second = jax.grad(first)
    third = jax.jacfwd(second)
    for derivative, expected in ((first, ai_prime), (second, x * ai), (third, ai + x * ai_prime)):
        np.testing.assert_allclose(jax.jit(jax.vmap(derivative))(x), expected, rtol=1e-14, atol=1e-300)


@pytest.mark.float32
def test_numbers_and_refusals():
    assert airy(1).ai.dtype == jnp.result_type(float)
    with pytest.raises(ValueError, match="`x` must be real"):
        airy(1j)
    with pytest.raises(ValueError, match="`x` must be of single or double precision"):
        airy(jnp.ones(2, jnp.bfloat16))


@every_dtype
def test_pairs_have_twice_the_precision_when_compiled(dtype):
    x = np.random.default_rng(5).uniform(4, 100, 300).astype(dtype)

    @jax.jit
    def three_halves(x):
        root, error = pair_root(x)
        product, rounding = pair_product(x, root)
        return two_thirds(product, rounding + x * error)

    rtol = 8 * float(np.finfo(dtype).eps) ** 2
    with mpmath.workdps(50):
        for point, hi, lo in zip(x, *map(np.asarray, three_halves(jnp.asarray(x))), strict=True):
            exact = 2 * mpmath.mpf(float(point)) ** 1.5 / 3
            assert abs(mpmath.mpf(float(hi)) + mpmath.mpf(float(lo)) - exact) < rtol * exact


def test_the_table_is_what_its_builder_makes():
    root = Path(__file__).parents[2]
    spec = importlib.util.spec_from_file_location("airy_table", root / "scripts" / "airy_table.py")
    builder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(builder)
    table = json.loads(builder.TARGET.read_text())
    with mpmath.workdps(50):
        for name, number in (("left", 3), ("centre", 11), ("right", 0)):
            made = builder.panel(getattr(builder, name), *builder.panels(name)[number])
            stored = table[name][number]
            assert len(table[name]) == len(builder.panels(name))
            for row, expected in zip(stored, made, strict=True):
                np.testing.assert_array_equal(row, expected[: len(row)])
                assert not any(expected[len(row) :])
