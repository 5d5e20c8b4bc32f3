import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
import scipy.special
import scipy.stats

from rmtjax.random import chi, gamma
from rmtjax.random._gamma import unit_chi
from rmtjax.random._gamma_derivative import with_derivative
from tests.differences import by_differences
from tests.statistical import assert_counts, assert_law, assert_mean

DTYPES = [pytest.param(np.float32, marks=pytest.mark.float32), np.float64]
PARAMETERS = [1e-2, 0.3, 1.0, 2.5, 50.0, 1e6]
# Parameters next to where the derivative changes its formula (1; 3 in float32, 10 in float64), and far beyond.
SMOOTH = np.array([1e-2, 0.3, 0.99, 1.0, 2.9, 3.1, 9.9, 10.1, 60.0, 1e3, 1e6])


@jax.jit
def value_and_slopes(key, a):
    """Variates and their derivatives, in forward mode and in reverse mode."""
    x, forward = jax.jvp(lambda a: gamma(key, a), (a,), (jnp.ones_like(a),))
    return x, forward, jax.grad(lambda a: gamma(key, a).sum())(a)


@pytest.mark.parametrize("dtype", DTYPES)
def test_law(getkey, dtype):
    a = np.array(PARAMETERS, dtype)
    draws = np.asarray(gamma(getkey(), a[:, None], (len(a), 20_000)))
    assert draws.dtype == dtype
    tiny = np.finfo(dtype).tiny
    for parameter, x in zip(a.astype(float), draws.astype(float), strict=True):
        law = scipy.stats.gamma(parameter)
        below = law.cdf(tiny)  # underflow: 0.41 at a = 0.01 in float32
        seen = x[x >= tiny]
        assert_counts([x.size - seen.size, seen.size], [below, 1 - below])
        assert_law(seen, lambda t, law=law, below=below: (law.cdf(t) - below) / (1 - below))


@pytest.mark.parametrize("dtype", DTYPES)
def test_chi_has_its_mean_and_variance(getkey, dtype):
    df = np.array([0.3, 1.0, 2.0, 3.0, 7.0, 1e9], dtype)
    draws = np.asarray(chi(getkey(), df[:, None], (len(df), 20_000)))
    assert draws.dtype == dtype
    for k, x in zip(df.astype(float), draws.astype(float), strict=True):
        # At 1e9 the difference of two large numbers is replaced by its terms in 1/k.
        large = k > 1e6
        mean = k**0.5 - 0.25 * k**-0.5 if large else np.sqrt(2) * scipy.special.poch(k / 2, 0.5)
        assert_mean(x, mean)
        assert_mean((x - mean) ** 2, 0.5 if large else k - mean**2)


def test_chi_keeps_what_gamma_would_lose_by_underflow(getkey):
    # At df = 1e-3 half of the variates are below the smallest number, and 70 per cent of their squares.
    x = np.asarray(chi(getkey(), 1e-3, (4000,)))
    log_tiny = np.log(np.finfo(float).tiny)
    log_probability = lambda log_x: 5e-4 * (2 * log_x - np.log(2)) - scipy.special.gammaln(1 + 5e-4)
    log_edges = np.array([1.0, 0.5, 0.1]) * log_tiny
    counts = np.histogram(x, [-1, *np.exp(log_edges), np.inf])[0]
    assert_counts(counts, np.diff([0, *np.exp(log_probability(log_edges)), 1]))


def test_elements_are_independent(getkey):
    # At a = 1 proposals are rejected most often. Redrawn elements share a column, n/8 elements apart.
    n = 40_000
    x = np.asarray(gamma(getkey(), 1.0, (n,))) - 1
    for lag in (1, 2, n // 16, n // 8):
        assert_mean(x[lag:] * x[:-lag], 0.0)
        assert_mean((x[lag:] ** 2 - 1) * (x[:-lag] ** 2 - 1), 0.0)
    y = np.asarray(gamma(getkey(), 1.0, (n,))) - 1
    assert_mean(x * y, 0.0)


def test_a_draw_is_a_function_of_key_parameter_and_shape(getkey):
    keys, a = jax.random.split(getkey(), 3), jnp.geomspace(0.05, 1e4, 60).reshape(3, 20)
    one_by_one = jnp.stack([gamma(key, row) for key, row in zip(keys, a, strict=True)])
    np.testing.assert_array_equal(gamma(keys[0], a[0]), one_by_one[0])
    assert not np.isin(gamma(keys[1], a[0]), one_by_one[0]).any()
    np.testing.assert_allclose(jax.jit(jax.vmap(gamma))(keys, a), one_by_one, rtol=1e-13)
    np.testing.assert_allclose(chi(keys[0], 2 * a[0]) ** 2 / 2, one_by_one[0], rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_derivative_is_that_of_the_quantile(getkey, dtype):
    key, a = getkey(), np.repeat(SMOOTH.astype(dtype)[:, None], 20, 1)
    x, forward, reverse = value_and_slopes(key, a)
    assert forward.dtype == dtype
    # Close to underflow the two modes round differently.
    np.testing.assert_allclose(reverse, forward, rtol=10 * np.finfo(dtype).eps, atol=1e-30)
    a, x, forward = (np.asarray(v, float) for v in (a, x, forward))
    # Far in the lower tail, at small a, differences of the quantile function have no digits.
    kept = x > 1e-30
    probability = scipy.special.gammainc(a, x)
    step = np.minimum(1e-4 * a, 1e-3 * np.sqrt(a))
    difference = by_differences(lambda a: scipy.special.gammaincinv(a, probability), a, step)
    rtol = 3e-5 if dtype == np.float32 else 3e-10
    np.testing.assert_allclose(forward[kept], difference[kept], rtol=rtol)


@pytest.mark.parametrize("dtype", DTYPES)
def test_derivative_against_many_digits(dtype):
    """The reference is a difference of the incomplete gamma function in 60 digits, near the mode and in both tails."""
    a, deviations = (v.astype(dtype).ravel() for v in np.meshgrid(SMOOTH[:-2], [-3.0, -0.5, 0.0, 0.2, 2.0, 5.0]))
    w = deviations / np.sqrt(np.maximum(a, dtype(0.1)))
    slope = jax.jvp(with_derivative, (a, w), (jnp.ones_like(a), jnp.zeros_like(w)))[1]
    exact = np.array([slope_in_many_digits(*pair) for pair in zip(a.tolist(), w.tolist(), strict=True)])
    typical = np.minimum(1 / a, a**-1.5)
    error = np.abs(np.asarray(slope) - exact) / (np.abs(exact) + typical)
    assert error.max() < (5e-6 if dtype == np.float32 else 5e-14), error.reshape(6, -1)


def slope_in_many_digits(a, w):
    with mpmath.workdps(60):
        a, w = mpmath.mpf(a), mpmath.mpf(w)
        x = a * mpmath.exp(w)
        # The smaller tail is used; a central difference with step 1e-20 is right to 40 digits.
        tail = (x, mpmath.inf) if x > a else (0, x)
        mass = lambda b: mpmath.gammainc(b, *tail, regularized=True)
        step = mpmath.mpf(10) ** -20
        by_a = (mass(a + step) - mass(a - step)) / (2 * step) * (-1 if x > a else 1)
        density = mpmath.exp((a - 1) * mpmath.log(x) - x - mpmath.loggamma(a))
        return float(-by_a / density / x - 1 / a)


def test_derivative_at_underflow(getkey):
    # log x = [log U + log Γ(a + 1)] / a, with x = 0 in float32 nearly always.
    key, df = getkey(), jnp.array([1e-3, 1e-30], jnp.float32)
    slope = jax.jit(jax.grad(lambda df: chi(key, df).sum()))(df)
    assert np.isfinite(slope).all()


def test_expected_derivative_is_one(getkey):
    # This follows from E x = a.
    for a in (0.3, 4.0, 200.0):
        value = np.full((SMOOTH.size, 20), a)
        slopes = [np.ravel(value_and_slopes(getkey(), value)[1]) for _ in range(20)]
        assert_mean(np.concatenate(slopes), 1.0)


def test_second_derivative_forward_over_reverse(getkey):
    key, a = getkey(), jnp.array([0.3, 2.5, 20.0, 100.0])
    slope = jax.grad(lambda a: gamma(key, a).sum())
    x, second = gamma(key, a), jax.jit(lambda a: jax.jvp(slope, (a,), (jnp.ones_like(a),))[1])(a)
    probability, step = scipy.special.gammainc(a, x), 1e-3 * a
    quantile = lambda k: scipy.special.gammaincinv(a + k * step, probability)
    np.testing.assert_allclose(second, (quantile(1) - 2 * quantile(0) + quantile(-1)) / step**2, rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize("dtype", DTYPES)
def test_unit_chi_from_nothing_to_infinity(getkey, dtype):
    key, df = getkey(), np.array([0.0, 1e9, 1e9, 1e9, 3e38, np.inf], dtype)
    value, slope = jax.jvp(lambda df: unit_chi(key, df), (df,), (jnp.ones_like(df),))
    assert value.dtype == slope.dtype == dtype
    assert value[0] == slope[0] == 0
    assert value[-1] == 1
    assert slope[-1] == 0
    # At a fixed quantile z the value is 1 + z / sqrt(2 df): its distance from 1 halves as df quadruples.
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(-2e9 * slope[1:4], value[1:4] - 1, rtol=1e-4, atol=eps + 1e-9)
    assert (np.abs(value[1:4] - 1) > 10 * eps).any()


def test_shapes_and_dtypes(getkey):
    made = lambda draw, *args: jax.eval_shape(lambda key: draw(key, *args), getkey())
    assert made(gamma, jnp.ones((3, 1)), (2, 3, 4)).shape == (2, 3, 4)
    assert made(gamma, jnp.ones((3, 0))).shape == (3, 0)
    assert made(chi, [1, 2]).dtype == jnp.zeros(()).dtype


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_smallest_parameters(getkey, dtype):
    # Halves of these parameters are subnormal.
    df = np.array([1.0, 1.5, 2.0], dtype) * np.finfo(dtype).tiny
    np.testing.assert_array_equal(chi(getkey(), df), 0)
    np.testing.assert_array_equal(unit_chi(getkey(), df), 0)


@pytest.mark.parametrize(("draw", "name"), [(gamma, "a"), (chi, "df")])
def test_wrong_arguments(draw, name):
    key = jax.random.key(0)
    for value in (0.0, -1.0, np.nan, np.inf, np.array([1.0, 0.0])):
        with pytest.raises(ValueError, match=f"`{name}` must be positive and finite"):
            draw(key, value)
    with pytest.raises(ValueError, match=rf"`{name}` must broadcast to the shape \(3,\)"):
        draw(key, jnp.ones(2), (3,))
    with pytest.raises(ValueError, match="`shape` must be an integer"):
        draw(key, 1.0, (-1,))
    assert jnp.all(jnp.isnan(jax.jit(draw)(key, -1.0)))
