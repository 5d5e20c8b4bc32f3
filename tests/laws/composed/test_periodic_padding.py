"""The padded law against the definition: every order, every copy, and simulation."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from rmtjax.laws import PeriodicPadding, Semicircle, Symmetrized, wigner_cat
from tests.cases import further
from tests.laws.reference import SEMICIRCLE, clipped_binomial, padded_cdf

U = (np.arange(40) + np.pi / 4) / 40.2


def law(mixture, arrangement, order=None):
    return PeriodicPadding(Semicircle(), mixture, arrangement, order=order)


# The limit N → ∞


@pytest.mark.parametrize(("mixture", "copies", "rho"), [(0.9, 1, 1 / 9), (0.6, 1, 2 / 3), (0.3, 3, 1 / 3), (0.5, 2, 0)])
def test_the_limit_by_hand(mixture, copies, rho):
    x = SEMICIRCLE.ppf(U)
    f = SEMICIRCLE.pdf(x)
    ascending = mixture * f * (copies + (rho > U))
    np.testing.assert_allclose(law(mixture, "ascending").pdf(x), ascending, rtol=1e-12)
    # The largest |λ|: u < ρ/2 on the left, u > 1 - ρ/2 on the right.
    magnitude = mixture * f * (copies + (U < rho / 2) + (U > 1 - rho / 2))
    np.testing.assert_allclose(law(mixture, "magnitude").pdf(x), magnitude, rtol=1e-12)
    np.testing.assert_allclose(law(mixture, "random").pdf(x), f, rtol=1e-12)


def test_the_cat_by_hand():
    x = SEMICIRCLE.ppf(U)
    expected = 0.9 * SEMICIRCLE.pdf(x) * (1 + 0.5 * (1 / 9 > U) + 0.5 * (8 / 9 < U))
    np.testing.assert_allclose(wigner_cat(0.9).pdf(x), expected, rtol=1e-12)
    assert isinstance(wigner_cat(0.9), Symmetrized)
    np.testing.assert_allclose(wigner_cat(0.9, radius=1.0).pdf(x / 2), 2 * expected, rtol=1e-12)


@pytest.mark.parametrize("arrangement", ["ascending", "magnitude", "random"])
@pytest.mark.parametrize("order", [None, 8])
def test_mixture_one_is_the_base_law(order, arrangement):
    x = SEMICIRCLE.ppf(U)
    np.testing.assert_allclose(law(1.0, arrangement, order).pdf(x), SEMICIRCLE.pdf(x), rtol=1e-12)


# Finite order


@pytest.mark.parametrize(("order", "mixture"), [(8, 0.9), (50, 0.7), (1000, 0.9), (1000, 0.55)])
def test_the_explicit_formula_above_one_half(order, mixture):
    x = SEMICIRCLE.ppf(U)
    largest = np.ceil(order / (1 + U)) - 1  # the largest k with k (1 + F) < N
    formula = mixture * SEMICIRCLE.pdf(x) * (1 + stats.binom.cdf(largest - 1, order - 1, mixture))
    # The formula leaves out orders below N/2, where a level has a third copy.
    neglected = stats.binom.cdf(order / 2, order, mixture)
    got = law(mixture, "ascending", order).pdf(x)
    np.testing.assert_allclose(got, formula, rtol=1e-11, atol=2 * neglected)


def enumerated_mass(u, order, mixture):
    """Pooled mass of the padded levels before u, in the measure of the arrangement.

    Copy j of an order-n spectrum is its level of rank j mod n, which lies uniformly in the rank's quantile cell.
    """
    total = np.zeros_like(u)
    for n, probability in zip(*clipped_binomial(order, mixture), strict=True):
        for copy in range(order):
            total += probability / order * np.clip(n * u - copy % n, 0, 1)
    return total


@pytest.mark.parametrize(
    ("order", "mixture"), [(1, 0.3), (6, 0.3), *further((2, 0.9), (3, 0.2), (6, 0.05), (6, 1.0), (12, 0.5), (25, 0.8))]
)
def test_every_order_and_every_copy(order, mixture):
    x = SEMICIRCLE.ppf(U)
    ascending = enumerated_mass(U, order, mixture)
    np.testing.assert_allclose(law(mixture, "ascending", order).cdf(x), ascending, rtol=0, atol=1e-13)
    tail = enumerated_mass(2 * np.minimum(U, 1 - U), order, mixture) / 2
    expected = np.where(U < 0.5, tail, 1 - tail)
    np.testing.assert_allclose(law(mixture, "magnitude", order).cdf(x), expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(law(mixture, "random", order).cdf(x), U, rtol=0, atol=1e-13)
    cat = (ascending + 1 - enumerated_mass(1 - U, order, mixture)) / 2
    np.testing.assert_allclose(wigner_cat(mixture, order=order).cdf(x), cat, rtol=0, atol=1e-13)


@pytest.mark.parametrize("arrangement", ["ascending", *further("magnitude")])
@pytest.mark.parametrize("mixture", [0.9, *further(0.45)])
def test_finite_order_tends_to_the_limit(mixture, arrangement):
    x = SEMICIRCLE.ppf(U)
    limit = law(mixture, arrangement).cdf(x)
    # The jump moves by the fluctuation of the order, N^(-1/2).
    for order in (100, 1000):
        np.testing.assert_allclose(law(mixture, arrangement, order).cdf(x), limit, rtol=0, atol=1 / np.sqrt(order))
    assert np.abs(law(mixture, arrangement, 1000).cdf(x) - limit).max() > 1e-4


# Simulation of the padding in numpy, without random matrices, because rigid levels are better


def padded_levels(n, order, arrangement):
    """Levels at the middle of their quantile cells, arranged and repeated."""
    levels = SEMICIRCLE.ppf((np.arange(n) + 0.5) / n)
    if arrangement == "magnitude":
        # Mirror images tie; the two sides come first in turn, as they do on average for the levels of matrices.
        pair = np.minimum(np.arange(n), np.arange(n)[::-1])
        second = (pair + (np.arange(n) >= n / 2)) % 2
        levels = levels[np.argsort(-np.abs(levels) + 1e-9 * second, kind="stable")]
    return np.resize(levels, order)


@functools.cache
def simulated_shares(mixture, arrangement):
    """Mean share of each bin in the levels of a padded spectrum, and its limits at 1e-6.

    The spectra are independent but their levels are not, so the limits come from the variance over spectra.
    """
    drawn = np.clip(np.random.default_rng(1).binomial(ORDER, mixture, DRAWS), 2, ORDER)
    orders, inverse = np.unique(drawn, return_inverse=True)
    counts = [np.histogram(padded_levels(n, ORDER, arrangement), EDGES)[0] for n in orders]
    shares = np.stack(counts)[inverse] / ORDER
    return shares.mean(0), stats.norm.isf(5e-7) * shares.std(0) / np.sqrt(DRAWS)


def is_simulated(probability, mixture, arrangement):
    mean, limit = simulated_shares(mixture, arrangement)
    return bool((np.abs(probability - mean) <= limit).all())


def within_limits(counts, probability):
    low, high = stats.binom.interval(1 - 1e-6, int(counts.sum()), np.clip(probability, 0, 1))
    return bool(((counts >= low) & (counts <= high)).all())


ORDER, DRAWS = 1000, 2000
EDGES = SEMICIRCLE.ppf(np.linspace(0, 1, 12))


@pytest.mark.parametrize("arrangement", ["ascending", "magnitude"])
@pytest.mark.parametrize("mixture", [0.9, 0.6, 0.3])
def test_simulated_padding(mixture, arrangement):
    masses = np.diff(law(mixture, arrangement, ORDER).cdf(EDGES))
    assert is_simulated(masses, mixture, arrangement), masses - simulated_shares(mixture, arrangement)[0]


def wrong_law(name, mixture, arrangement):
    """Masses of bins by formulas with the classic mistakes, normalised so that only their shape is wrong."""
    copies = int(1 / mixture)
    rho = 1 / mixture - copies
    copies, rho, arrangement = {
        "one copy too many": (copies + 1, rho, arrangement),
        "one copy too few": (copies - 1, rho, arrangement),
        "rho for 1 - rho": (copies, 1 - rho, arrangement),
        "the other arrangement": (copies, rho, {"ascending": "magnitude", "magnitude": "ascending"}[arrangement]),
        "no padding": (1, 0.0, arrangement),
    }[name]
    u = SEMICIRCLE.cdf(EDGES)
    mass = lambda u: (copies * u + np.minimum(u, rho)) / (copies + rho)
    if arrangement == "magnitude":
        tail = mass(2 * np.minimum(u, 1 - u)) / 2
        return np.diff(np.where(u < 0.5, tail, 1 - tail))
    return np.diff(mass(u))


@pytest.mark.parametrize(
    "mistake", ["one copy too many", "one copy too few", "rho for 1 - rho", "the other arrangement", "no padding"]
)
@pytest.mark.parametrize("arrangement", ["ascending", "magnitude"])
@pytest.mark.parametrize("mixture", [0.9, 0.6, 0.3])
def test_the_simulation_refuses_wrong_laws(mixture, arrangement, mistake):
    assert not is_simulated(wrong_law(mistake, mixture, arrangement), mixture, arrangement)


@pytest.mark.parametrize("mixture", [0.6, 0.3])
def test_small_orders_are_weighted_by_their_levels(mixture):
    """At N = 10 the order fluctuates much; each order counts by its number of levels, n P(n)."""
    order, draws = 10, 4_000_000
    random = np.random.default_rng(2)
    drawn = np.clip(random.binomial(order, mixture, draws), 2, order)
    # One random copy of each spectrum, at a random place of its quantile cell: an independent sample.
    u = (random.integers(order, size=draws) % drawn + random.random(draws)) / drawn
    counts, edges = np.histogram(u, np.linspace(0, 1, 11))
    assert within_limits(counts, np.diff(law(mixture, "ascending", order).cdf(SEMICIRCLE.ppf(edges))))

    orders, probabilities = clipped_binomial(order, mixture)
    mass = lambda n: order // n * edges + np.minimum(edges, order % n / n)
    unweighted = np.diff(sum(p * mass(n) for n, p in zip(orders, probabilities, strict=True)))
    assert not within_limits(counts, unweighted / unweighted.sum())


# Derivatives and arguments


@functools.partial(jax.jit, static_argnums=(2, 3))
def slopes_by_the_mixture(mixture, x, arrangement, order):
    return jax.jacfwd(lambda m: law(m, arrangement, order).cdf(x))(mixture)


@pytest.mark.parametrize("arrangement", ["ascending", "magnitude"])
@pytest.mark.parametrize("order", [None, 10])
@pytest.mark.parametrize("mixture", [0.9, 0.37])
def test_gradient_by_the_mixture(mixture, order, arrangement):
    x = SEMICIRCLE.ppf(U[::4])
    gradient = slopes_by_the_mixture(mixture, jnp.asarray(x), arrangement, order)
    step = 1e-6
    reference = lambda m: padded_cdf(m, arrangement, order)(x)
    difference = (reference(mixture + step) - reference(mixture - step)) / (2 * step)
    np.testing.assert_allclose(gradient, difference, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("arrangement", ["ascending", *further("magnitude")])
@pytest.mark.parametrize("order", [None, *further(8)])
def test_single_precision_and_python_parameters_together(order, arrangement):
    mixed = [
        PeriodicPadding(Semicircle(jnp.float32(2)), 0.7, arrangement, order=order),
        PeriodicPadding(Semicircle(2.0), jnp.float32(0.7), arrangement, order=order),
    ]
    for padded in mixed:
        for method in ("pdf", "cdf", "sf", "ppf"):
            got = jax.eval_shape(getattr(padded, method), jax.ShapeDtypeStruct((3,), np.float32))
            assert got.dtype == np.float32, method
        assert jax.eval_shape(padded.var).dtype == np.float32


@pytest.mark.float32
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, "ascending"), r"`mixture` must lie in \(0, 1\], got .*0"),
        ((1.1, "ascending"), r"`mixture` must lie in \(0, 1\], got .*1\.1"),
        ((np.nan, "ascending"), r"`mixture` must lie in \(0, 1\], got .*nan"),
        ((np.array([0.5, 0.9]), "ascending"), r"`mixture` must be a real scalar, got .*0\.5, 0\.9"),
        ((0.9, "descending"), "`arrangement` must be one of 'ascending', 'magnitude', 'random', got 'descending'"),
        ((0.9, None), "`arrangement` must be one of .*, got None"),
        ((0.9, "ascending", 0), "`order` must be an integer of at least 1, got 0"),
        ((0.9, "ascending", 1.5), r"`order` must be an integer of at least 1, got 1\.5"),
        ((0.9, "ascending", True), "`order` must be an integer of at least 1, got True"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        PeriodicPadding(Semicircle(), *arguments)
