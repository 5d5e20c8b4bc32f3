"""Form factors against the sum itself, independent levels, and the exact curves of random matrices at finite n."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.statistics import form_factor, over_samples, unfold_phases
from rmtjax.testing import check_derivatives
from tests.cases import further

LEVELS = np.sort(np.random.default_rng(0).uniform(0, 12, (2, 3, 9)), axis=-1)
# Equally spaced times are a matrix product.
TIMES = [np.linspace(-0.3, 2.1, 21), np.append(np.linspace(0, 2, 20), 2.3)]
BOTH = pytest.mark.parametrize("times", TIMES, ids=["equally spaced", "other"])


def by_definition(levels, times, weights=1.0):
    waves = weights * np.exp(2j * np.pi * levels * times[:, None])
    return waves.sum(-1) / np.sqrt(np.sum(np.ones_like(levels) * weights**2))


@pytest.mark.float32
@BOTH
def test_definition(times):
    eps = float(jnp.finfo(jnp.result_type(float)).eps)
    levels = jnp.asarray(LEVELS)
    found = form_factor(levels, jnp.asarray(times))
    assert found.amplitude.shape == (2, 3, 21)
    exact = np.array([[by_definition(x, np.asarray(jnp.asarray(times))) for x in row] for row in np.asarray(levels)])
    np.testing.assert_allclose(found.amplitude / 3, exact, rtol=0, atol=500 * eps)
    np.testing.assert_allclose(found.raw, np.abs(exact) ** 2, rtol=0, atol=2000 * eps)
    with pytest.raises(ValueError, match="`form_factor` must be averaged over spectra first"):
        _ = found.connected
    again = jax.tree.map(lambda leaf: leaf, found)
    np.testing.assert_allclose(again.disconnected, found.raw, rtol=0, atol=100 * eps)


@BOTH
def test_weights_and_masks(times):
    mask = np.random.default_rng(1).uniform(size=LEVELS.shape) < 0.6
    mask[1, 2] = False
    found = form_factor(rmt.Spectrum(LEVELS, mask), times, window=(6.0, 1.5))
    amplitudes = found.amplitude / jnp.sqrt(found.norm).astype(complex)  # NaN where no level counts
    for x, some, amplitude in zip(LEVELS.reshape(6, 9), mask.reshape(6, 9), amplitudes.reshape(6, 21), strict=True):
        kept = x[some]
        expected = by_definition(kept, times, np.exp(-((kept - 6.0) ** 2) / 4.5)) if kept.size else np.nan + times
        np.testing.assert_allclose(amplitude, expected, rtol=0, atol=1e-13)


def test_shapes_and_times_that_are_traced():
    times = TIMES[0]
    whole = form_factor(LEVELS, times)
    np.testing.assert_allclose(jax.jit(form_factor)(LEVELS, times).raw, whole.raw, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        form_factor(LEVELS, times.reshape(3, 7)).raw, whole.raw.reshape(2, 3, 3, 7), rtol=0, atol=1e-12
    )
    assert form_factor(LEVELS[0, 0], 0.0).raw == 9
    assert np.isnan(form_factor(jnp.zeros((2, 0)), times).raw).all()


@pytest.mark.parametrize("grid", [True, False])
def test_digits_of_long_spectra(grid):
    # Rounded products of levels and times would leave an error of 0.01.
    n = 20_000
    levels = jnp.asarray(np.sort(np.random.default_rng(2).uniform(0, n, n)), jnp.float32)
    times = np.linspace(0, 2, 400) if grid else np.asarray(np.random.default_rng(3).uniform(0, 2, 30), np.float32)
    found, exact = form_factor(levels, jnp.asarray(times, jnp.float32)), form_factor(levels.astype(float), times)
    assert found.amplitude.dtype == jnp.complex64
    np.testing.assert_allclose(found.amplitude / n**0.5, exact.amplitude / n**0.5, rtol=0, atol=3e-5)


@pytest.mark.parametrize("times", [np.linspace(0, 1, 400), np.linspace(0, 1, 400) ** 2], ids=["grid", "other"])
def test_memory(times):
    batch, n = 20, 400
    mean = lambda x: form_factor(x, times).raw.mean()
    for f in (mean, jax.grad(mean)):
        memory = jax.jit(f).lower(jnp.zeros((batch, n))).compile().memory_analysis()
        # Amplitudes and powers of all spectra, tiles of 2¹⁵ numbers, and the temporary arrays of one spectrum.
        assert memory.temp_size_in_bytes / 8 < 4 * batch * (n + times.size) + 10 * 2**15


@BOTH
def test_derivatives(times):
    check_derivatives(lambda x, window: form_factor(x, times, window=window), LEVELS[0, 0] - 6, (0.0, 2.0))


def test_independent_levels():
    n, times = 30, np.linspace(0, 1.5, 16)
    levels = jnp.sort(jax.random.uniform(jax.random.key(0), (4000, n), maxval=float(n)), axis=-1)
    found = over_samples(lambda x: form_factor(x, times), levels, combine=lambda k: (k.raw, k.connected))
    mean = np.sinc(n * times)
    exact = 1 + (n - 1) * mean**2, 1 - mean**2
    for z, value, expected in zip(found.z_score(exact), found.value, exact, strict=True):
        # At τ = 0 there is no randomness.
        assert abs(z[1:]).max() < 5
        np.testing.assert_allclose(value[0], expected[0], rtol=0, atol=1e-10)


@pytest.mark.parametrize(("ensemble", "beta"), [(rmt.CUE, 2), *further((rmt.COE, 1), (rmt.CSE, 4))])
def test_ramp_and_plateau_on_the_circle(ensemble, beta):
    # Errors of 2 %: another β is off by a factor of 2 on the ramp.
    n = 24
    phases = rmt.simulate(ensemble(n).eigenphases, jax.random.key(beta), 3000)
    k = jnp.arange(1, 3 * n)
    found = over_samples(lambda x: form_factor(x, k / n).raw, unfold_phases(phases))
    assert abs(found.z_score(rmt.laws.circular_form_factor(k, n, beta))).max() < 5.3


@pytest.mark.slow
def test_a_narrow_window_has_no_bias():
    # K of the infinite CUE, smoothed by the window. By the norm of each spectrum it would be a half too small.
    n, width, tau = 40, 2.5, jnp.array([0.05, 0.1, 0.3])
    phases = rmt.simulate(rmt.CUE(n).eigenphases, jax.random.key(8), 4000)
    levels = unfold_phases(phases)
    window = lambda x: form_factor(x, tau, window=(0.0, width))
    found = over_samples(window, levels, combine=lambda k: k.connected)
    t = np.linspace(-2, 2, 4001)
    spread = 1 / (2 * 2**0.5 * np.pi * width)
    weight = np.exp(-(((t - np.asarray(tau)[:, None]) / spread) ** 2) / 2)
    exact = (weight * np.minimum(np.abs(t), 1)).sum(-1) / weight.sum(-1)
    # The ramp of finitely many levels is the same, with steps of 1/n.
    assert abs(found.z_score(exact)).max() < 5
    assert (found.standard_error / exact).max() < 0.04


def test_known_times_are_a_product_in_a_compiled_function():
    times = np.linspace(0, 1, 20)
    text = str(jax.make_jaxpr(jax.jit(lambda x: form_factor(x, times).raw))(LEVELS))
    assert "_on_grid" in text
    assert "_on_grid" not in str(jax.make_jaxpr(lambda x: form_factor(x, times**2).raw)(LEVELS))
    assert form_factor(LEVELS, jnp.zeros(0)).raw.shape == (2, 3, 0)


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 100])
def test_slope_dip_ramp_and_plateau_of_the_gue(n):
    levels = rmt.simulate(rmt.GUE(n).eigenvalues, jax.random.key(n), 4000)
    t = jnp.concatenate([jnp.linspace(0.05, 8, 40), jnp.linspace(9, 3 * n, 40)])
    parts = lambda k: (k.raw, k.connected)
    found = over_samples(lambda x: form_factor(x, t / (2 * jnp.pi)), levels, combine=parts)
    exact = tuple(rmt.laws.gaussian_form_factor(t, n, connected=connected) for connected in (False, True))
    assert all(abs(z).max() < 5.3 for z in found.z_score(exact))
    assert found.value[0].min() < 0.1 * found.value[0][-1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: form_factor([2.0, 1.0], 0.5), "`levels` must be ascending numbers"),
        (lambda: form_factor([1.0, 2.0], jnp.array([0.5, jnp.inf])), "`times` must be finite"),
        (lambda: form_factor([1.0, 2.0], 0.5, window=(0.0, -1.0)), "`window` must have a positive and finite width"),
        (lambda: form_factor([1.0, 2.0], 0.5, window=(jnp.nan, 1.0)), "`window` must have a finite centre"),
        (lambda: form_factor([1.0, 2.0], 0.5, window="gauss"), "`window` must be a pair of numbers, centre and width"),
        (lambda: form_factor([1.0, 2.0], 0.5, window=2.0), "`window` must be a pair of numbers, centre and width"),
        (lambda: form_factor([1.0, 2.0], 0.5, window=(jnp.ones(3), 1.0)), "`window` must broadcast to the shape"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
