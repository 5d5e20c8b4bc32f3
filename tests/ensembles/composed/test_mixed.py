"""The mixed-matrix ensemble: orders, scales, padding, counts and laws."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import rmtjax as rmt
from tests.cases import daily, further
from tests.statistical import assert_counts, assert_mean

SIZES = [(12, 0.7), (1, 0.5), (2, 0.3), (6, 0.15), (5, 1.0)]
ORDERS = daily(
    [(method, *size) for method in ("sample", "eigenvalues") for size in SIZES],
    only=[("eigenvalues", 12, 0.7), *(("sample", *size) for size in SIZES[:3])],
)


@functools.partial(jax.jit, static_argnums=2)
def spectra(mixed, key, number):
    return jax.vmap(mixed.eigenvalues)(jax.random.split(key, number))


def order_of(draw):
    return draw.order if isinstance(draw, rmt.PaddedMatrix) else draw.count


@pytest.mark.parametrize(("method", "n", "mixture"), ORDERS)
def test_orders_are_binomial_clipped_at_two(getkey, method, n, mixture):
    mixed = rmt.Mixed(rmt.GOE(n), mixture)
    orders = jax.jit(jax.vmap(lambda key: order_of(getattr(mixed, method)(key))))(jax.random.split(getkey(), 20_000))
    probabilities = scipy.stats.binom.pmf(np.arange(n + 1), n, mixture)
    smallest = min(2, n)
    probabilities[smallest] += probabilities[:smallest].sum()
    probabilities[:smallest] = 0
    assert_counts(np.bincount(orders, minlength=n + 1), probabilities)


@pytest.mark.heavy
@pytest.mark.parametrize("base", [rmt.GOE(6, 0.8), *further(rmt.Wigner(6, 0.8))], ids=["goe", "wigner"])
@pytest.mark.parametrize("normalize", ["order", *further("reference")])
@pytest.mark.parametrize("method", [*further("sample"), "eigenvalues"])
def test_scale_of_each_order(getkey, base, normalize, method):
    mixed, number = rmt.Mixed(base, 0.6, normalize), 40_000
    if method == "eigenvalues":
        draws = spectra(mixed, getkey(), number)
    else:
        draws = jax.vmap(mixed.sample)(jax.random.split(getkey(), number))
    axes = (-2, -1) if method == "sample" else -1
    trace_of_square = np.where(draws.mask, draws.values, 0) ** 2
    trace_of_square = trace_of_square.sum(axes)
    diagonal = 2 if isinstance(base, rmt.GOE) else 1
    for order in (2, 3, 5):
        size = order if normalize == "order" else base.n
        chosen = trace_of_square[np.asarray(order_of(draws)) == order]
        assert_mean(chosen, 0.8**2 * (order * (order - 1) + diagonal * order) / size)


def test_sizes_of_the_reference_are_those_of_the_whole_matrix(getkey):
    key = getkey()
    by_order, by_reference = (rmt.Mixed(rmt.GOE(6), 0.5, normalize).sample(key) for normalize in ("order", "reference"))
    assert by_order.order < 6
    expected = np.asarray(by_order.values) * np.sqrt(int(by_order.order) / 6)
    np.testing.assert_allclose(by_reference.values, expected, rtol=1e-12)


def test_sample_is_zero_outside_its_block(getkey):
    draw = rmt.Mixed(rmt.GOE(6), 0.5).sample(getkey())
    outside = np.asarray(draw.values)[~np.asarray(draw.mask)]
    assert outside.size > 0
    np.testing.assert_array_equal(outside, 0)
    assert np.all(np.asarray(draw.values)[np.asarray(draw.mask)] != 0)


def test_eigenvalues_are_padded_and_ascending(getkey):
    draws = spectra(rmt.Mixed(rmt.GOE(6, 0.8), 0.6), getkey(), 40_000)
    values, order = np.asarray(draws.values), np.asarray(draws.count)
    np.testing.assert_array_equal(np.isposinf(values), ~np.asarray(draws.mask))
    assert all((np.diff(v[:k]) > 0).all() for v, k in zip(values[:200], order[:200], strict=True))


@pytest.mark.parametrize("arrangement", ["magnitude", *further(None, "ascending", "random")])
def test_counts_are_those_of_the_levels(getkey, arrangement):
    mixed, key = rmt.Mixed(rmt.GOE(9), 0.6), getkey()
    if arrangement is None:
        spectrum = mixed.eigenvalues(key)
        levels = spectrum.compressed()
    else:
        levels = np.asarray(mixed.periodic_eigenvalues(key, arrangement))
        assert levels.shape == (9,)
        unpadded = mixed.eigenvalues(key).compressed()
        # Each program rounds the levels in its own way, but copies them exactly.
        np.testing.assert_allclose(np.unique(levels), unpadded, rtol=0, atol=1e-13)
    # Points stay away from the levels, because either answer is right within the rounding error.
    x = np.concatenate([levels - 1e-12, levels + 1e-12, [-9.0, 0.0, 9.0]])
    np.testing.assert_array_equal(mixed.count_below(key, x, arrangement), np.less(levels[None], x[:, None]).sum(-1))


@pytest.mark.slow
def test_ascending_counts_follow_from_the_base_counts(getkey):
    # One copy and a remainder give the count N(x) + min(N(x), N - n).
    mixed, key = rmt.Mixed(rmt.GOE(9), 0.8), getkey()
    order = int(mixed.eigenvalues(key).count)
    assert 9 / 2 < order < 9
    x = jnp.linspace(-2.5, 2.5, 101)
    below = mixed.count_below(key, x)
    np.testing.assert_array_equal(mixed.count_below(key, x, "ascending"), below + jnp.minimum(below, 9 - order))


def test_one_compilation_serves_orders_and_mixtures(getkey):
    traces = []

    @jax.jit
    def spectrum(mixed, key):
        traces.append(1)
        return mixed.eigenvalues(key)

    orders = {int(spectrum(rmt.Mixed(rmt.GOE(9), mixture), getkey()).count) for mixture in (0.3, 0.5, 0.7, 0.9, 1.0)}
    assert len(traces) == 1
    assert len(orders) > 1


def test_order_block_and_arrangement_are_independent(getkey):
    # One key must not serve two purposes: the smallest uniform of the arrangement would then sit at a fixed entry.
    padded = np.asarray(padded_spectra(jax.random.split(getkey(), 4000), 3, "random", 0.9))
    # In draws of order 3 no level is repeated.
    lowest, repeated, of_two = padded[:, 0], padded[:, 0] == padded[:, 1], (np.diff(padded) == 0).any(-1)
    assert_mean(repeated[of_two], 1 / 2)
    assert_mean((lowest[of_two] - lowest[of_two].mean()) * (repeated[of_two] - 1 / 2), 0)


def test_laws_by_option():
    goe = rmt.GOE(50, 1.5)
    assert rmt.Mixed(goe, 0.8).law().radius == 3.0
    reference = rmt.Mixed(goe, 0.8, "reference")
    assert isinstance(reference.law(), rmt.laws.BinomialSemicircle)
    assert (reference.law().order, float(reference.law().radius)) == (50, 3.0)
    padded = rmt.Mixed(goe, 0.8).law("magnitude")
    assert (padded.order, padded.arrangement, float(padded.base.radius)) == (50, "magnitude", 3.0)
    limit = reference.law("ascending")
    assert limit.order is None
    np.testing.assert_allclose(limit.base.radius, 3.0 * 0.8**0.5, rtol=1e-12)
    assert isinstance(rmt.Mixed(goe, 0.8).law("ascending", symmetrized=True), rmt.laws.Symmetrized)


def goe_distribution(x, n):
    """GOE(n) level density, integrated: the semicircle and its 1/n correction (Johansson 1998).

    The density is f(x) + (1/n)[δ(x-2)/4 + δ(x+2)/4 - 1/(2π√(4-x²))], so F gains -arcsin(x/2)/(2πn) for |x| < 2.
    """
    return rmt.laws.Semicircle().cdf(x) - np.arcsin(x / 2) / (2 * np.pi * n)


def padded_distribution(x, size, mixture, arrangement):
    """Distribution function of padded levels with the 1/n correction, by a plain sum over the orders."""
    total = np.zeros_like(x)
    for n in range(2, size + 1):
        weight = scipy.stats.binom.pmf(n, size, mixture)
        if weight > 1e-14:
            below, excess = goe_distribution(x, n), (size % n) / n
            if arrangement == "ascending":
                extra = np.minimum(below, excess)
            elif arrangement == "magnitude":
                extra = np.minimum(below, excess / 2) + np.maximum(below - (1 - excess / 2), 0)
            else:
                extra = excess * below
            total += weight * n / size * (size // n * below + extra)
    return total


def pooled(mixed, key, num_samples, edges, arrangement):
    """Counts per bin over all draws; levels outside ±2 are counted in the outermost bins."""
    outer = jnp.concatenate([jnp.array([-9.0]), jnp.asarray(edges), jnp.array([9.0])])
    fn = lambda k: mixed.periodic_eigenvalues(k, arrangement)
    result = rmt.simulate(fn, key, num_samples, reduce=rmt.Histogram(outer))
    assert result.total == num_samples * mixed.n
    return result.counts


@functools.partial(jax.jit, static_argnums=(1, 2))
def padded_spectra(keys, size, arrangement, mixture):
    mixed = rmt.Mixed(rmt.GOE(size), mixture)
    return jax.vmap(lambda key: mixed.periodic_eigenvalues(key, arrangement))(keys)


@pytest.mark.slow
@pytest.mark.parametrize("arrangement", ["ascending", "random", "magnitude"])
@pytest.mark.parametrize("mixture", [0.9, 0.4])
def test_pooled_padded_spectra(getkey, mixture, arrangement):
    # The bins are coarse, because at this size the edge is smeared over n^(-2/3), which the 1/n correction neglects.
    size, edges = 100, np.linspace(-1.6, 1.6, 17)
    levels = padded_spectra(jax.random.split(getkey(), 400), size, arrangement, mixture)
    counts, _ = np.histogram(levels, np.concatenate([[-np.inf], edges, [np.inf]]))
    assert counts.sum() == 400 * size
    expected = padded_distribution(edges, size, mixture, arrangement)
    assert_counts(counts, np.diff(expected, prepend=0, append=1))


@pytest.mark.slow
@pytest.mark.parametrize(("arrangement", "num_samples"), [("ascending", 4000), ("magnitude", 500)])
def test_cat_against_the_exact_law(getkey, arrangement, num_samples):
    # N = 1000, μ = 0.9. The law of the library, plus the known edge correction.
    size, mixture, edges = 1000, 0.9, np.linspace(-1.92, 1.92, 49)
    mixed = rmt.Mixed(rmt.GOE(size, jnp.float32(1)), mixture)
    counts = pooled(mixed, getkey(), num_samples, edges, arrangement)
    law = mixed.law(arrangement).cdf(edges)
    corrected = padded_distribution(edges, size, mixture, arrangement)
    assert np.abs(law - corrected).max() < 1 / size
    with_correction = np.diff(corrected, prepend=0, append=1)
    assert_counts(counts, with_correction)
    # In the interior the law of the library alone is good enough; the bins at ±2 need the correction.
    inside = np.diff(np.asarray(law, np.float64))
    assert_counts(counts, np.concatenate([with_correction[:1], inside, with_correction[-1:]]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rmt.Mixed(rmt.GOE(4), 0.0), r"`mixture` must lie in \(0, 1\], got .*0"),
        (lambda: rmt.Mixed(rmt.GOE(4), 0.5, "both"), "`normalize` must be one of 'order', 'reference', got 'both'"),
        (
            lambda: jax.jit(lambda key: rmt.Mixed(rmt.GOE(4), 1.1).sample(key))(jax.random.key(0)),
            "`mixture` .* got 1.1",
        ),
        (lambda: rmt.Mixed(4, 0.5), "`base` must be a nested ensemble .* got 4"),
        (lambda: rmt.Mixed(rmt.GOE(4), 0.5).law("descending"), "`arrangement` must be one of .* got 'descending'"),
        (lambda: rmt.Mixed(rmt.GOE(4), 0.5).count_below(jax.random.key(0), 0.0, "cat"), "`arrangement` must .* 'cat'"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
