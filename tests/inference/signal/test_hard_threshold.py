"""The optimal hard threshold against the published table, a quadrature by mpmath, and what makes it optimal."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.inference import optimal_hard_threshold

# Gavish and Donoho (2014), the table of ω for β = 0.10, 0.15, …, 1.
PUBLISHED = (
    *(1.6089, 1.6896, 1.7650, 1.8371, 1.9061, 1.9741, 2.0403, 2.1060, 2.1711),
    *(2.2365, 2.3021, 2.3679, 2.4339, 2.5011, 2.5697, 2.6399, 2.7099, 2.7832, 2.8582),
)


def median_level(beta: float) -> float:
    """The median of the law of Marčenko and Pastur, by quadrature in an angle and a root, with mpmath."""
    middle, half = mpmath.mpf(1 + beta), 2 * mpmath.sqrt(beta)
    # At β = 1 the denominator vanishes with the numerator, in the form 4 sin²(t/2).
    below = lambda t: middle - half + 2 * half * mpmath.sin(t / 2) ** 2
    density = lambda t: half**2 * mpmath.sin(t) ** 2 / (2 * mpmath.pi * beta * below(t))
    angle = mpmath.findroot(lambda t: mpmath.quad(density, [1e-20, t]) - 0.5, (1.0, 2.0))
    return float(below(angle))


def test_table_of_the_paper():
    """The table is right to a few units of its fourth digit."""
    beta = np.arange(2, 21) / 20
    np.testing.assert_allclose(optimal_hard_threshold(beta * 1000, 1000.0).median_rule, PUBLISHED, rtol=0, atol=8e-4)


@pytest.mark.parametrize("dtype", [pytest.param("float32", marks=pytest.mark.float32), "float64"])
def test_median_is_exact(dtype):
    sizes = np.array([[1.0, 500.0], [30.0, 100.0], [270.0, 300.0], [64.0, 64.0]])
    threshold = optimal_hard_threshold(*jnp.asarray(sizes.T, dtype))
    assert threshold.median_rule.dtype == dtype
    known = np.asarray(threshold.known_noise)
    expected = [known[i] / np.sqrt(median_level(n / p)) for i, (n, p) in enumerate(sizes)]
    np.testing.assert_allclose(threshold.median_rule, expected, rtol=30 * jnp.finfo(dtype).eps)


def test_a_matrix_and_its_transpose_have_one_threshold():
    n, p = jnp.arange(1.0, 6), 3.0
    one, other = optimal_hard_threshold(n, p), optimal_hard_threshold(p, n)
    assert jax.tree.all(jax.tree.map(jnp.array_equal, one, other))


def test_known_noise_is_where_keeping_costs_as_much_as_dropping():
    """A spike x costs x² if it is dropped, and x² + y² - 2 x y c c̃ if it is kept: the same at the threshold y."""
    beta = np.array([0.1, 0.5, 1.0])
    y = np.asarray(optimal_hard_threshold(100 * beta, 100.0).known_noise, float)
    x = np.sqrt((y**2 - beta - 1 + np.sqrt((y**2 - beta - 1) ** 2 - 4 * beta)) / 2)
    left, right = np.sqrt((x**4 - beta) / (x**4 + beta * x**2)), np.sqrt((x**4 - beta) / (x**4 + x**2))
    np.testing.assert_allclose(y, 2 * x * left * right, rtol=1e-6)


def test_shows_its_numbers_and_refuses_sizes_below_one():
    assert repr(optimal_hard_threshold(2, 2)).startswith("HardThreshold(known_noise=2.309")
    for n, p, name in ((0, 3, "n"), (3, -1, "p"), (np.inf, 2, "n")):
        with pytest.raises(ValueError, match=f"`{name}` must be a finite size of at least 1"):
            optimal_hard_threshold(n, p)
    assert np.isnan(jax.jit(optimal_hard_threshold)(0.0, 3.0).median_rule)
