"""What all statistics share: batches, transformations, degenerate spectra, and what they say to bad levels."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax import Circle, Spectrum
from rmtjax import statistics as s
from rmtjax.spectra import MaskedValues
from tests.test_compile_once import COMPILATIONS

EDGES = np.array([-1.0, 1.0, 3.0])
NAN = np.nan
# For each statistic: the function and its values without levels, with all of them masked, for
# one level, for two, and for three equal ones.
OF_LEVELS = {
    "spacings": (lambda x: s.spacings(x).mean(), (NAN, NAN, NAN, 1.5, 0)),
    "gap_ratios": (lambda x: s.gap_ratios(x).mean(), (NAN, NAN, NAN, NAN, NAN)),
    "complex_spacing_ratios": (lambda x: s.complex_spacing_ratios(x).mean(), (NAN, NAN, NAN, NAN, NAN)),
    "level_repulsion": (lambda x: s.level_repulsion(x, 2.0).exponent, (NAN, NAN, NAN, 1 / np.log(2 / 1.5) - 1, NAN)),
    "level_density": (lambda x: s.level_density(x, EDGES), ([NAN] * 2, [NAN] * 2, [0, 0.5], [0.25, 0.25], [0, 0.5])),
    "spectral_ergodicity": (
        lambda x: s.spectral_ergodicity(jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), x), EDGES),
        ([NAN] * 2, [NAN] * 2, [0, 0], [0, 0], [0, 0]),
    ),
    "linear_statistic": (lambda x: s.linear_statistic(x, jnp.square), (0, 0, 4, 4.25, 3)),
    "log_determinant": (s.log_determinant, (0, 0, np.log(2), 0, 0)),
    "condition_number": (s.condition_number, (NAN, NAN, 1, 4, 1)),
}
DEGENERATE = [([], None), ([1.0, 2.0], False), ([2.0], None), ([0.5, 2.0], None), ([1.0, 1.0, 1.0], None)]


@pytest.mark.float32
@pytest.mark.parametrize("name", OF_LEVELS)
def test_degenerate_spectra(name):
    statistic, expected = OF_LEVELS[name]
    for (levels, mask), value in zip(DEGENERATE, expected, strict=True):
        levels = jnp.asarray(levels, float)
        of = lambda x, mask=mask: statistic(x if mask is None else Spectrum(x, mask, unfolded=True))
        np.testing.assert_allclose(of(levels), value, rtol=1e-5, err_msg=f"{levels}")
        slope = jax.grad(lambda x, of=of: jnp.nansum(of(x)))(levels)
        assert np.isfinite(slope).all(), levels


ORTHOGONAL = lambda v: jnp.eye(v.shape[-2], 2)
OF_VECTORS = {
    "inverse_participation_ratio": lambda v: s.inverse_participation_ratio(v, jnp.array([0.5, 2.0])),
    "participation_entropy": lambda v: s.participation_entropy(v, jnp.array([1.0, 2.0])),
    "multifractal_dimension": lambda v: s.multifractal_dimension(v, 2.0),
    "porter_thomas_intensities": s.porter_thomas_intensities,
    "subspace_overlap": lambda v: s.subspace_overlap(v, ORTHOGONAL(v)),
}
FURTHER = {
    "spacings": lambda x: s.spacings(x, 2).values,
    "gap_ratios": lambda x: s.gap_ratios(x, 2).values,
    "complex_spacing_ratios": lambda x: s.complex_spacing_ratios(x, block=4).values,
    "level_repulsion": lambda x: s.level_repulsion(x, jnp.array([0.3, 0.6])).logarithms,
    "linear_statistic": lambda x: s.linear_statistic(x, lambda x: jnp.cos(jnp.stack([0 * x, x, 2 * x], -1))),
    "spectral_ergodicity": lambda x: s.spectral_ergodicity(x, EDGES),
}
ALL = {name: entry[0] for name, entry in OF_LEVELS.items()} | FURTHER | OF_VECTORS


@pytest.mark.parametrize("name", ALL)
def test_a_batch_is_vmap_is_jit_is_one_by_one(getkey, name):
    statistic = ALL[name]
    values = jnp.sort(jax.random.normal(getkey(), (2, 3, 4, 6)), axis=-1)
    axes = 2 if name in OF_VECTORS or name == "spectral_ergodicity" else 1
    flat = values.reshape(-1, *values.shape[-axes:])
    whole = statistic(values)
    mapped = statistic
    for _ in range(values.ndim - axes):
        mapped = jax.vmap(mapped)
    np.testing.assert_allclose(mapped(values), whole, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(jax.jit(statistic)(values), whole, rtol=1e-12, atol=1e-13)
    single = [statistic(each) for each in flat[:3]]
    batched = np.asarray(whole).reshape(len(flat), *np.shape(whole)[values.ndim - axes :])
    np.testing.assert_allclose(single, batched[:3], rtol=1e-12, atol=1e-13)


def test_an_unfolding_is_taken_whole(getkey):
    phases = jnp.sort(jax.random.uniform(getkey(), (5, 8), maxval=6.0), axis=-1)
    unfolded = s.unfold_phases(phases)
    around = np.diff(phases, append=phases[:, :1] + 2 * np.pi)
    np.testing.assert_allclose(s.spacings(unfolded).values, around * 8 / (2 * np.pi), rtol=1e-6, atol=1e-6)
    found = s.over_samples(lambda each: s.gap_ratios(each).mean(), unfolded)
    on_circle = s.gap_ratios(Spectrum(phases, domain=Circle(2 * np.pi))).mean()
    np.testing.assert_allclose(found.value, on_circle.mean(), rtol=1e-6)


def test_the_two_sides_of_a_masked_level_are_not_neighbours():
    levels, mask = np.array([0.0, 1.0, 2.5, 3.0, 4.0]), np.array([True, True, False, True, True])
    missing = np.where(mask, levels, np.nan)
    for spectrum in (Spectrum(missing, mask, unfolded=True), MaskedValues(missing, mask)):
        np.testing.assert_array_equal(s.spacings(spectrum).mask, [True, False, False, True])
        assert s.spacings(spectrum, 2).count == s.gap_ratios(spectrum).count == 0
        assert s.level_repulsion(spectrum, 2.5).count == 2
        # In the plane there is no other order than that of the distances.
        np.testing.assert_allclose(s.complex_spacing_ratios(spectrum).values[0], 1 / 3)


def message(call, *args):
    with pytest.raises(ValueError, match=r"^`") as error:
        call(*args)
    return str(error.value)


def test_what_is_wrong_with_levels():
    levels = np.sort(np.random.default_rng(0).normal(size=(3, 50)), axis=-1)
    swapped = levels.copy()
    swapped[1, [7, 8]] = swapped[1, [8, 7]]
    said = message(lambda: s.gap_ratios(swapped))
    assert said.startswith("`levels` must be ascending numbers, finite where they count, got a smaller one after")
    assert f"{swapped[1, 8]} at [1, 8]; `jnp.sort` puts levels in order" in said
    missing = np.where(levels > 2, np.nan, levels)
    said = message(lambda: s.gap_ratios(missing))
    first = [int(place) for place in np.argwhere(levels > 2)[0]]
    assert f"got {(levels > 2).sum()} that are not finite, the first nan at {first}" in said
    matrix = levels[:, :3] + levels[:, :3].T
    assert "the levels of a matrix are `rmt.eigvalsh(matrix)`" in message(lambda: s.spacings(matrix))
    assert "got complex128 of shape (3, 50)." in message(lambda: s.spacings(1j * levels))
    assert max(map(len, (said, message(lambda: s.level_repulsion(levels, levels))))) < 200
    # Under `grad` alone the numbers are known, too.
    assert "at [1, 8]" in message(jax.grad(lambda x: s.spacings(Spectrum(x, x < 9)).mean().sum()), swapped)
    assert np.isnan(jax.jit(lambda x: s.gap_ratios(x).mean())(swapped))[1]


def test_masked_arrays_and_lists_of_numpy():
    values = np.array([[0.0, 1.0, 99.0, 2.5], [0.0, 2.0, 5.0, 7.0]])
    expected = s.spacings(Spectrum(jnp.asarray(values), values != 99))
    for masked in (np.ma.masked_equal(values, 99), Spectrum(np.ma.masked_equal(values, 99))):
        np.testing.assert_array_equal(s.spacings(masked).values, expected.values)
    np.testing.assert_array_equal(s.spacings([[0.0, 1.0], [2.0, 4.0]]).values, [[1], [2]])
    assert "as `rmt.Spectrum.of(spectra)` makes" in message(lambda: s.spacings([values[0], values[1, :2]]))


@pytest.mark.parametrize(("values", "number"), [([1, 2, np.inf], 3), ([1, np.nan], 2), ([-np.inf], 1), ([2.0, 1], 2)])
def test_what_counts_without_being_a_number(values, number):
    mask = jnp.arange(len(values)) < number
    assert "`values` must be ascending numbers, finite where they count" in message(Spectrum, values, mask)
    both = jnp.array([values, np.sort(np.nan_to_num(values, posinf=9, neginf=-9))])
    made = jax.jit(lambda values: Spectrum(values, mask))(both)
    assert message(s.gap_ratios, made) == (
        "`levels` must be spectra of ascending numbers in their domain, got 1 of 2 that are not, the first at [0]."
    )
    found = jax.jit(lambda spectra: s.spacings(spectra).values)(made)
    np.testing.assert_array_equal(np.isnan(found).all(-1), [True, number == 1])


@pytest.mark.float32
def test_spacings_that_single_precision_loses():
    levels = 1e6 + np.cumsum(np.random.default_rng(1).uniform(size=(2, 40)), axis=-1) / 10
    centred = levels - levels[:, :1]
    if jax.config.read("jax_enable_x64"):
        np.testing.assert_allclose(s.gap_ratios(levels).mean(), s.gap_ratios(centred).mean(), rtol=1e-6)
        return
    whole = 10**8 + np.arange(0, 40, 3)
    for lost in (levels, levels.tolist(), whole, whole.astype(np.int32), jnp.asarray(whole)):
        assert "`levels` must keep their spacings in float32 (set `jax_enable_x64`" in message(s.spacings, lost)
        assert "`values` must keep their spacings in float32 (set `jax_enable_x64`" in message(Spectrum, lost)
    # Numbers of that precision from the start, an origin within the spectrum, and a single level lose nothing.
    s.spacings(np.float32(levels)), s.spacings(centred), s.spacings(Spectrum(levels, np.arange(40) < 1))
    s.spacings(np.array([0.3, 0.1 + 0.2]))  # equal but for their rounding
    np.testing.assert_allclose(s.log_determinant(levels), 40 * np.log(1e6), rtol=1e-6)
    np.testing.assert_allclose(s.gap_ratios(Spectrum([0.0, 1.0, 3.0, np.inf], np.arange(4) < 3)).mean(), 0.5)


def test_few_compilations(getkey):
    # A shape that no other test has. Every operation outside of a compiled function costs a compilation.
    levels = jnp.sort(jax.random.normal(getkey(), (7, 23)), axis=-1)
    for call, most in (
        (lambda: s.spacings(levels), 2),
        (lambda: s.gap_ratios(levels), 1),
        (lambda: s.log_determinant(levels), 1),
        (lambda: s.over_samples(lambda x: x, levels), 1),
        (lambda: s.over_samples(lambda x: x, levels, combine=lambda mean: mean), 2),
    ):
        before = len(COMPILATIONS)
        jax.block_until_ready(call())
        assert len(COMPILATIONS) - before <= most
