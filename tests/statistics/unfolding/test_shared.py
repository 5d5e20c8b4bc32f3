"""Whether spectra share one density: waves by numpy, the F distribution of SciPy, and ensembles with differences."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import rmtjax as rmt
from rmtjax.statistics import SharedDensity, number_variance, over_samples, shared_density, unfold, unfold_polynomial


def by_numpy(spectra):
    """The variances of the waves, and the p-values of the first 8, by loops over spectra of their own length."""
    amplitudes = []
    for y in spectra:
        excess, size = np.diff(y) - 1, len(y) - 1
        waves = np.cos(np.pi * np.arange(19)[:, None] * (np.arange(size) + 0.5) / size)
        amplitudes.append(waves @ excess * np.where(np.arange(19), 2, 1) ** 0.5 / size**0.5)
    variances = np.var(amplitudes, axis=0, ddof=1)
    freedom = len(spectra) - 1
    quotients = [variances[k] / variances[k + 1 : 2 * k + 5].mean() for k in range(8)]
    tails = [scipy.stats.f.sf(f, freedom, (k + 4) * freedom) for k, f in enumerate(quotients)]
    spread = np.std([np.diff(y).mean() for y in spectra], ddof=1)
    return variances, np.minimum(8 * np.array(tails), 1), spread


@pytest.mark.float32
def test_waves_are_numpys(getkey):
    levels = np.cumsum(np.asarray(jax.random.exponential(getkey(), (12, 40))), axis=-1)
    levels[:, :20] *= np.linspace(0.6, 1.4, 12)[:, None]  # some p-values are small
    levels = np.sort(levels, axis=-1)
    number = np.array([40, 40, 33, 20, 40, 38, 40, 40, 40, 40, 25, 40])
    mask = np.arange(40) < number[:, None]
    found = shared_density(rmt.Spectrum(np.where(mask, levels, np.nan), mask, unfolded=True))
    spectra = [row[:n].astype(float) for row, n in zip(levels, number, strict=True)]
    variances, p_values, spread = by_numpy(spectra)
    eps = float(np.finfo(levels.dtype).eps)
    np.testing.assert_allclose(found.variances, variances, rtol=1e4 * eps)
    np.testing.assert_allclose(found.p_values, p_values, rtol=1e6 * eps)
    np.testing.assert_allclose(found.spread, spread, rtol=1e4 * eps)
    assert p_values.min() < 0.9
    assert found.degree == max((k + 1 for k in range(8) if p_values[k] < 0.01), default=0)


def test_alarms_without_cause_are_as_rare_as_alpha(getkey):
    # Independent levels are the worst case. A fit of the pool takes nothing from it.
    draws = jax.random.uniform(getkey(), (400, 30, 60))
    spectra = jax.vmap(lambda x: rmt.Spectrum(60 * jnp.sort(x, axis=-1), unfolded=True))(draws)
    degrees = jax.jit(jax.vmap(lambda x: shared_density(x, alpha=0.1).degree))(spectra)
    alarms = int((degrees > 0).sum())
    assert 0 < alarms <= scipy.stats.binom.isf(1e-6, 400, 0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("m", "n", "batch"), [(2, 20, 2000), (30, 20, 1000), (300, 60, 100)])
def test_alarms_of_short_and_of_many_spectra(getkey, m, n, batch):
    degree = jax.jit(jax.vmap(lambda x: shared_density(rmt.Spectrum(x, unfolded=True), alpha=0.01).degree))
    uniform = lambda key: n * jnp.sort(jax.random.uniform(key, (batch, m, n)), axis=-1)
    degrees = jnp.concatenate([degree(uniform(getkey())) for _ in range(4000 // batch)])
    assert 0 < (degrees > 0).mean() <= 0.015
    assert (degrees >= 0).all()


@pytest.fixture(scope="module")
def goe():
    return rmt.simulate(rmt.GOE(120).eigenvalues, jax.random.key(3), 100)


def test_levels_that_repel_give_no_alarm(goe):
    for unfolded in (unfold(goe, rmt.GOE(120).law()), unfold_polynomial(goe, 9, drop=0.2)):
        found = shared_density(unfolded)
        assert found.degree == 0
        assert found.p_values.min() > 0.9
        # The variance of wave k is 2τ at τ = k/2K.
        size = float(unfolded.count.mean()) - 1
        np.testing.assert_allclose(found.variances[4:].mean() / (np.arange(4, 19).mean() / size), 1, rtol=0, atol=0.25)


@pytest.mark.parametrize(("width", "mean", "least"), [(0.1, 0.0, 1), (0.0, 0.5, 2)])
def test_differing_spectra_are_seen_and_mended(goe, width, mean, least):
    # A width is a mean spacing, wave 0. A mean is a slope of the density, wave 1.
    draws = np.random.default_rng(0).standard_normal((2, 100, 1))
    levels = (1 + width * draws[0]) * goe + mean * draws[1]
    pool = unfold_polynomial(levels, 9, drop=0.2)
    found = shared_density(pool)
    assert least <= found.degree <= 4
    assert found.p_values[least - 1] < 1e-6
    assert "unfold each by itself" in str(found)
    mended = unfold_polynomial(pool, int(found.degree), pooled=False)
    assert shared_density(mended).p_values[:least].min() > 0.5
    exact = rmt.laws.number_variance(8.0, 1)
    before, after = (over_samples(lambda x: number_variance(x, 8.0), each) for each in (pool, mended))
    if width:
        assert before.value - after.value == pytest.approx(float(found.spread) ** 2 * 64, rel=0.2)
        assert before.z_score(exact) > 4
    assert abs(after.value / exact - 1) < 0.1


@pytest.mark.slow
def test_what_a_polynomial_of_its_own_takes_away(getkey):
    # The formula of the docstring, on levels whose density is known: (dL)²/2βK², or dL²/K if they are independent.
    size, length = 200, 12.0
    repelling = rmt.simulate(rmt.COE(2 * size).eigenphases, getkey(), 150)[:, :size] * 2 * size / (2 * jnp.pi)
    independent = jnp.cumsum(jax.random.exponential(getkey(), (2000, size)), axis=-1)
    for levels, degrees, taken in (
        (repelling, (3, 6), lambda d: (d * length) ** 2 / (2 * size**2)),
        (independent, (1, 2), lambda d: d * length**2 / size),
    ):
        spectra = rmt.Spectrum(levels, unfolded=True)
        for degree in degrees:
            each = unfold_polynomial(spectra, degree, pooled=False)
            lost = over_samples(lambda x, y: number_variance(x, length) - number_variance(y, length), spectra, each)
            assert abs(lost.value - taken(degree)) < 0.15 * taken(degree) + 4 * lost.standard_error


@pytest.mark.float32
def test_equal_spectra_do_not_differ():
    found = shared_density(jnp.arange(40.0)[None] + jnp.zeros((3, 1)))
    assert found.degree == 0
    assert found.spread == 0
    np.testing.assert_array_equal(found.p_values, 1)
    assert str(found) == "No difference between the densities is seen (p = 1)."


def test_under_jit():
    fences = jnp.linspace(0.8, 1.2, 6)[:, None] * jnp.arange(40.0)[None]
    found = jax.jit(lambda x: shared_density(rmt.Spectrum(x, unfolded=True)))
    here = shared_density(rmt.Spectrum(fences, unfolded=True))
    np.testing.assert_allclose(found(fences).variances, here.variances, rtol=1e-9, atol=1e-12)
    assert found(fences).degree == here.degree == 1
    wrong = found(-fences)
    assert wrong.degree == -1
    assert jnp.isnan(wrong.spread)
    assert str(wrong) == "No answer: the levels were refused."
    texts = []
    jax.jit(lambda x: texts.append(str(shared_density(x))))(fences[:, :30] * 0 + jnp.arange(30.0)[None])
    assert texts[0].startswith("SharedDensity(")


def test_bad_arguments_are_refused():
    fences = jnp.arange(30.0)[None] + jnp.zeros((3, 1))
    mask = np.arange(30) < np.array([30, 19, 30])[:, None]
    for refused, words in (
        (lambda: shared_density(fences[0]), r"`levels` must be at least two spectra, \(m, n\), got \(30,\)"),
        (lambda: shared_density(fences[:1]), r"`levels` must be at least two spectra"),
        (lambda: shared_density(fences[:, :19]), "`levels` must be spectra of at least 20 levels each"),
        (lambda: shared_density(rmt.Spectrum(fences, mask, unfolded=True)), "`levels` must be spectra of at least 20"),
        (lambda: shared_density(rmt.Spectrum(fences)), "`levels` must be unfolded"),
        (lambda: shared_density(100 * fences), "`levels` must have a mean spacing of 1"),
        (lambda: shared_density(fences, alpha=0.0), "`alpha` must"),
    ):
        with pytest.raises(ValueError, match=words):
            refused()


def test_record():
    found = SharedDensity(jnp.array(2), jnp.array(0.0123), jnp.ones(3), jnp.array([1e-9, 1e-3]))
    wave = "Wave 1 of the densities differs from spectrum to spectrum"
    spacings = "mean spacings of the spectra differ by"
    advice = ": unfold each by itself after the pool, of degree"
    assert str(found) == f"{wave} (p = 0.001), and the {spacings} 1.2 % (p < 1e-06){advice} 2."
    only_wave_1 = dataclasses.replace(found, p_values=jnp.array([0.3, 1e-9]))
    assert str(only_wave_1) == f"{wave} (p < 1e-06){advice} 2."
    only_wave_0 = dataclasses.replace(found, degree=jnp.array(1))
    assert str(only_wave_0) == f"The {spacings} 1.2 % (p < 1e-06){advice} 1."
    batch = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), found)
    assert str(batch) == repr(batch)
