"""Roy's test against beta laws, integrals of the joint density, linear models in NumPy, and simulation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.stats

import rmtjax as rmt
from rmtjax.inference import largest_root_test, largest_root_test_of_groups


@pytest.mark.parametrize("beta", [1, 2])
def test_one_variable_has_a_beta_law(beta):
    roots = np.array([0.0, 0.05, 0.3, 0.8, 0.999, 1.0])
    found = largest_root_test(roots, 1, 3, 7, beta=beta).p_value
    np.testing.assert_allclose(found, scipy.stats.beta.sf(roots, 1.5 * beta, 3.5 * beta), rtol=0, atol=1e-13)
    # One degree of freedom of the hypothesis: Hotelling's test of several variables.
    found = largest_root_test(roots[1:4], 4, 1, 9, beta=beta).p_value
    np.testing.assert_allclose(found, scipy.stats.beta.sf(roots[1:4], 2 * beta, 3 * beta), rtol=1e-10)


@pytest.mark.parametrize("beta", [1, 2])
def test_two_roots_by_integration(beta):
    p, hypothesis, error = 2, 4, 5
    power = lambda m: beta / 2 * (m - p + 1) - 1
    density = lambda b, a: (a - b) ** beta * (a * b) ** power(hypothesis) * ((1 - a) * (1 - b)) ** power(error)
    mass = lambda x: scipy.integrate.dblquad(density, 0, x, 0, lambda a: a, epsabs=1e-13, epsrel=1e-11)[0]
    found = largest_root_test(jnp.array([0.5, 0.85]), p, hypothesis, error, beta=beta).p_value
    np.testing.assert_allclose(found, [1 - mass(x) / mass(1.0) for x in (0.5, 0.85)], rtol=0, atol=1e-9)


def test_tracy_and_widom_for_large_sizes():
    edge = rmt.Jacobi(20, 60, 90).soft_edge()
    roots = edge.levels(edge.law.isf(jnp.array([0.5, 0.05, 0.01])))
    approximate = largest_root_test(roots, 20, 60, 90, method="tracy-widom").p_value
    np.testing.assert_allclose(approximate, [0.5, 0.05, 0.01], rtol=1e-9)
    np.testing.assert_allclose(largest_root_test(roots, 20, 60, 90).p_value, approximate, rtol=0.1)


def test_groups_are_a_linear_model():
    rng = np.random.default_rng(1)
    groups = [rng.normal(size=(size, 4)) + 0.3 * size for size in (7, 9, 12)]
    every = np.concatenate(groups)
    between = sum(len(g) * np.outer(g.mean(0) - every.mean(0), g.mean(0) - every.mean(0)) for g in groups)
    within = sum((g - g.mean(0)).T @ (g - g.mean(0)) for g in groups)
    found = largest_root_test_of_groups(*groups)
    assert (found.p, found.hypothesis, found.error) == (4, 2, 25)
    np.testing.assert_allclose(found.root, np.linalg.eigvals(np.linalg.solve(between + within, between)).real.max())


def test_what_is_no_root_is_refused():
    for arguments, message in (
        ((1.2, 2, 3, 4), r"`root` must lie in \[0, 1\]; of a root of H/E it is root/\(1 \+ root\)"),
        ((0.5, 3, 2, 2), "`error` must be an integer of at least 3"),
    ):
        with pytest.raises(ValueError, match=message):
            largest_root_test(*arguments)
    with pytest.raises(ValueError, match="`groups` must be at least two"):
        largest_root_test_of_groups(np.ones((3, 2)))
    with pytest.raises(ValueError, match="the same number of columns"):
        largest_root_test_of_groups(np.eye(4, 3), np.eye(3, 2))


@pytest.mark.slow
@pytest.mark.parametrize("beta", [1, 2])
@pytest.mark.parametrize(("p", "hypothesis", "error"), [(5, 6, 5), (6, 3, 9), (30, 40, 60)])
def test_p_values_are_uniform(p, hypothesis, error, beta, getkey):
    roots = rmt.simulate(rmt.Jacobi(p, hypothesis, error, beta).eigenvalues, getkey(), 5000)[:, -1]
    values = largest_root_test(roots, p, hypothesis, error, beta=beta).p_value
    assert scipy.stats.kstest(np.asarray(values), "uniform").pvalue > 1e-4


@pytest.mark.parametrize("column", [lambda x: 0 * x[:, 0] + 1, lambda x: x[:, 0], lambda x: x.sum(1)])
def test_columns_that_say_nothing_of_their_own_are_refused(getkey, column):
    groups = [jax.random.normal(jax.random.fold_in(getkey(), i), (9, 3)) for i in range(2)]
    with_column = [jnp.append(each, column(each)[:, None], axis=1) for each in groups]
    with pytest.raises(ValueError, match="vary inside of the groups"):
        largest_root_test_of_groups(*with_column)
    assert jnp.isnan(jax.jit(lambda *of: largest_root_test_of_groups(*of).p_value)(*with_column))
    units = jnp.array([1.0, 1e-4, 1e5])
    root = largest_root_test_of_groups(*groups).root
    np.testing.assert_allclose(
        largest_root_test_of_groups(*(each * units[None] for each in groups)).root, root, rtol=1e-4
    )
