"""Complex spacing ratios against loops over levels, independent levels, and Ginibre matrices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.statistics import complex_spacing_ratios, over_samples


def by_hand(levels, mask):
    """Numerator and denominator of each ratio, by sorting the distances; None without two neighbours."""
    pairs = []
    for i, level in enumerate(levels):
        others = [j for j in range(len(levels)) if j != i and mask[j]]
        others.sort(key=lambda j: abs(levels[j] - level))  # the sort is stable
        pairs.append([levels[j] - level for j in others[:2]] if mask[i] and len(others) > 1 else None)
    return pairs


# Equal distances and equal levels are exact: the coordinates are small whole numbers.
PLANE = np.array([0, 1j, -1, 2 + 1j, 2 + 1j, 2 + 1j, 5, 5.5 - 3j, -4])


@pytest.mark.float32
@pytest.mark.parametrize("levels", [PLANE, PLANE.real.copy()], ids=["plane", "line"])
def test_definition(levels):
    for mask in (np.ones(9, bool), np.arange(9) < 6, np.arange(9) != 3, np.arange(9) < 2, np.zeros(9, bool)):
        pairs = by_hand(levels, mask)
        masked = rmt.spectra.MaskedValues(jnp.where(mask, levels, jnp.nan), mask)
        for ties, tie in (("drop", None), ("nan", np.nan), ("zero", 0.0)):
            each = [tie if pair and pair[1] == 0 else pair[0] / pair[1] if pair else None for pair in pairs]
            found = complex_spacing_ratios(masked, ties=ties, block=4)
            np.testing.assert_array_equal(found.mask, [z is not None for z in each])
            np.testing.assert_allclose(found.values, [np.nan if z is None else z for z in each], rtol=1e-6)
            assert jnp.iscomplexobj(found.values) == np.iscomplexobj(levels)


@pytest.mark.float32
def test_tiny_distances_have_their_digits():
    # The square of such a distance is 0 in this precision.
    tiny = jnp.finfo(jnp.zeros(0).dtype).tiny ** 0.75
    found = complex_spacing_ratios(jnp.array([0.0, 3.0, -4.0j, 4.0]) * float(tiny))
    np.testing.assert_allclose(found.values[0], 0.75j, rtol=1e-6)


def test_batches_and_blocks(getkey):
    levels = jax.random.normal(getkey(), (2, 3, 17, 2)).astype(float)
    levels = jax.lax.complex(levels[..., 0], levels[..., 1])
    each = [[complex_spacing_ratios(row).values for row in rows] for rows in levels]
    for block in (1, 7, 1000):
        np.testing.assert_allclose(complex_spacing_ratios(levels, block=block).values, each, rtol=1e-12)
    near = jnp.abs(levels) < 1
    found = complex_spacing_ratios(levels, centres=near)
    np.testing.assert_array_equal(found.mask, near)
    np.testing.assert_allclose(found.values[near], np.asarray(each)[near], rtol=1e-12)
    # Moving, turning and stretching the plane does not change the ratios.
    np.testing.assert_allclose(complex_spacing_ratios((2 - 1j) * levels + 3).values, each, rtol=1e-9)


@pytest.mark.parametrize(("n", "block"), [(500, 16), (2000, 16), (2000, 64)])
def test_memory(n, block):
    program = jax.jit(lambda levels: complex_spacing_ratios(levels, block=block).values)
    memory = program.lower(jax.ShapeDtypeStruct((n,), complex)).compile().memory_analysis()
    # A row of the block holds distances, and which of them count.
    assert memory.temp_size_in_bytes < 16 * n * block


def test_few_levels():
    for n in range(3):
        found = complex_spacing_ratios(jnp.arange(n, dtype=complex) * 1j)
        assert found.values.shape == (n,)
        assert found.count == 0
        assert np.isnan(found.mean())


def test_derivative_is_0_at_a_tie():
    total = lambda x: jnp.nansum(complex_spacing_ratios(jax.lax.complex(x, x**2), ties="zero").values.real)
    assert (jax.grad(total)(jnp.zeros(4)) == 0).all()


def means(ratios):
    """The means of |z| and of cos arg z for each spectrum."""
    return ratios.mean(jnp.abs), ratios.mean(lambda z: jnp.cos(jnp.angle(z)))


def check(levels, centres, beta, errors):
    """Compare the two means with theory, at standard errors that tell Ginibre from independent levels."""
    found = over_samples(lambda x: means(complex_spacing_ratios(x, centres=centres)), levels)
    assert (np.array(found.standard_error) < errors).all()
    assert all(abs(z) < 5 for z in found.z_score(rmt.laws.mean_complex_spacing_ratio(beta)))


def test_independent_levels(getkey):
    levels = rmt.laws.CircularLaw().sample(getkey(), (200, 100))
    check(levels, jnp.abs(levels) < 0.6, 0, (0.004, 0.012))


def test_ginibre(getkey):
    levels = rmt.simulate(rmt.Ginibre(100).eigenvalues, getkey(), 200)
    check(levels, jnp.abs(levels) < 0.7, 2, (0.004, 0.012))
    # All levels, edge included, have another mean.
    everywhere = over_samples(lambda x: means(complex_spacing_ratios(x)), levels)
    assert everywhere.value[1] > -0.2


@pytest.mark.slow
@pytest.mark.parametrize("beta", [1, 2])
def test_ginibre_bins(getkey, beta):
    # Real matrices have the same law away from the axis on which some of their levels lie.
    levels = rmt.simulate(rmt.Ginibre(200, beta).eigenvalues, getkey(), 1000)
    centres = (jnp.abs(levels) < 0.75) & (jnp.abs(levels.imag) > (0.3 if beta == 1 else 0))
    check(levels, centres, 2, (0.0015, 0.005))
    law, cells = rmt.laws.ComplexSpacingRatio(), 6
    nodes, weights = np.polynomial.legendre.leggauss(12)
    radius = (np.arange(cells)[:, None] + (nodes + 1) / 2) / cells
    angle = (np.arange(cells)[:, None] + (nodes + 1) / 2) * np.pi / cells
    density = law.pdf(radius[:, :, None, None] * np.exp(1j * angle))
    shares = 2 * np.einsum("ri,rias,i,s->ra", radius, density, weights, weights) * np.pi / (2 * cells) ** 2
    np.testing.assert_allclose(shares.sum(), 1, rtol=1e-8)
    z = complex_spacing_ratios(levels, centres=centres)
    place = lambda x: jnp.clip((x * cells).astype(int), 0, cells - 1)
    cell = place(jnp.abs(z.values)) * cells + place(jnp.abs(jnp.angle(z.values)) / jnp.pi)
    inside = lambda each: np.where(each.mask, each.values, -1)[..., None] == np.arange(cells**2)
    found = over_samples(lambda x: inside(x).mean(-2), rmt.spectra.MaskedValues(cell.astype(float), z.mask))
    share, error = found.value / found.value.sum(), found.standard_error / found.value.sum()
    deviations = np.asarray((share - shares.ravel()) / np.maximum(error, 1e-5))
    assert np.abs(deviations).max() < 5.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: complex_spacing_ratios(jnp.arange(3.0), ties="skip"), "`ties` must be one of 'drop', 'nan', 'zero'"),
        (lambda: complex_spacing_ratios(jnp.arange(3.0), block=0), "`block` must be an integer of at least 1"),
        (lambda: complex_spacing_ratios(jnp.array([0, jnp.nan, 1j])), "`levels` must be finite numbers"),
        (lambda: complex_spacing_ratios(1.0j), "`levels` must have an axis of levels"),
        (
            lambda: complex_spacing_ratios(jnp.arange(3.0), centres=jnp.ones(4, bool)),
            r"`centres` must broadcast to the shape \(3,\) of the levels",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
