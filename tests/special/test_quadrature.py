import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.special import integrate
from rmtjax.testing import check_derivatives, check_dtypes, check_jit

DTYPES = [pytest.param(np.float32, 2e-6, marks=pytest.mark.float32), (np.float64, 1e-13)]
INTEGRALS = {
    "square-root edges": (lambda x: jnp.sqrt(1 - x**2), [-1.0, 1.0], np.pi / 2),
    "inverse square-root edges": (lambda x: 1 / jnp.sqrt((1 - x) * (1 + x)), [-1.0, 1.0], np.pi),
    "one edge": (lambda x: 1 / jnp.sqrt(x), [0.0, 2.0], 2 * np.sqrt(2.0)),
    "smooth": (jnp.exp, [-1.0, 0.5, 2.0], np.exp(2) - np.exp(-1)),
    "a kink on a panel end": (jnp.abs, [-1.0, 0.0, 3.0], 5.0),
    "a jump on a panel end": (lambda x: jnp.where(x < 0.3, 1.0, 5.0), [-1.0, 0.3, 1.0], 1.3 + 3.5),
    "empty panels": (lambda x: 1 / jnp.sqrt(x), [0.0, 0.0, 1.0, 1.0], 2.0),
    "a pole of the square root in an empty panel": (lambda x: 1 / jnp.sqrt(jnp.abs(x)), [-1.0, 0.0, 0.0, 1.0], 4.0),
    "only empty panels": (lambda x: 1 / x, [2.0, 2.0], 0.0),
    "a narrow panel far from 0": (lambda x: x, [1e3, 1e3 + 1.0], 1000.5),
}


@pytest.mark.parametrize(("dtype", "rtol"), DTYPES)
@pytest.mark.parametrize(("fn", "panels", "expected"), INTEGRALS.values(), ids=INTEGRALS)
def test_integrals_in_closed_form(fn, panels, expected, dtype, rtol):
    def weakly_typed(x):
        assert x.dtype == dtype
        return fn(x).astype(dtype)

    got = integrate(weakly_typed, jnp.asarray(panels, dtype))
    assert got.dtype == dtype
    np.testing.assert_allclose(got, expected, rtol=rtol)


@pytest.mark.parametrize("num_nodes", [4, 8])
def test_the_number_of_nodes_is_that_of_the_rule(num_nodes):
    sizes = []
    integrate(lambda x: sizes.append(x.size) or x, jnp.array([0.0, 1.0]), num_nodes=num_nodes)
    assert set(sizes) == {num_nodes}
    # With u = cos θ the integrand of ∫ (1-x²)^(-1/2) dx is constant: any rule is exact.
    circle = integrate(lambda x: 1 / jnp.sqrt((1 - x) * (1 + x)), jnp.array([-1.0, 1.0]), num_nodes=num_nodes)
    np.testing.assert_allclose(circle, np.pi, rtol=1e-13)


def test_the_function_never_sees_an_end():
    seen = []
    integrate(lambda x: seen.append(x) or x, jnp.array([-1.0, 1.0]))  # the scan body is traced, not run
    with jax.disable_jit():
        integrate(lambda x: seen.append(np.asarray(x)) or x, jnp.array([-1.0, 0.5, 0.5, 1.0]))
    points = np.concatenate([x for x in seen if isinstance(x, np.ndarray)])
    assert points.size
    assert not np.isin(points, [-1.0, 0.5, 1.0]).any()


def test_gradient_by_the_ends_is_the_integrand_there():
    gradient = jax.grad(lambda panels: integrate(jnp.exp, panels))(jnp.array([-1.0, 0.5, 2.0]))
    np.testing.assert_allclose(gradient, [-np.exp(-1), 0, np.exp(2)], rtol=0, atol=1e-13)


def test_gradient_is_finite_with_empty_panels_at_a_singularity():
    by_scale = jax.grad(lambda s: integrate(lambda x: s / jnp.sqrt(x), jnp.array([0.0, 0.0, 1.0])))
    np.testing.assert_allclose(by_scale(1.5), 2.0, rtol=1e-13)


def test_composability():
    fn = lambda scale, panels: integrate(lambda x: jnp.sqrt(scale * x), panels)
    for check in (check_jit, check_derivatives, check_dtypes):
        check(fn, jnp.array(2.0), jnp.array([0.5, 1.0, 3.0]))


def test_memory_does_not_go_with_the_number_of_panels():
    program = jax.jit(lambda panels: integrate(jnp.exp, panels)).lower(jnp.linspace(0.0, 1.0, 100_001)).compile()
    assert program.memory_analysis().temp_size_in_bytes < 10e6


@pytest.mark.parametrize("panels", [[0, 2], np.array([0, 1, 2]), jnp.array([0, 2])])
def test_panels_of_whole_numbers(panels):
    np.testing.assert_allclose(integrate(lambda x: x, panels), 2.0, rtol=1e-6)


@pytest.mark.parametrize("panels", [1.0, np.ones((2, 2)), [1j, 2j], "ends"])
def test_panels_that_are_no_vector(panels):
    with pytest.raises(ValueError, match="`panels` must"):
        integrate(jnp.cos, panels)
