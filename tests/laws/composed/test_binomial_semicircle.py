import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from rmtjax.laws import BinomialSemicircle, Semicircle
from tests.laws.reference import clipped_binomial
from tests.statistical import assert_counts


def test_the_largest_order_alone_is_a_semicircle():
    x = np.linspace(-1.6, 1.6, 9)
    np.testing.assert_allclose(BinomialSemicircle(50, 1.0, 1.5).pdf(x), Semicircle(1.5).pdf(x), rtol=1e-13)
    np.testing.assert_allclose(BinomialSemicircle(1, 0.4, 1.5).cdf(x), Semicircle(1.5).cdf(x), rtol=1e-13)


@pytest.mark.parametrize(("order", "mixture"), [(8, 0.3), (100, 0.9)])
def test_moments_weigh_each_order_by_its_levels(order, mixture):
    orders, p = clipped_binomial(order, mixture)
    law = BinomialSemicircle(order, mixture, 2.0)
    mean_order = np.sum(orders * p)
    np.testing.assert_allclose(law.var(), np.sum(orders**2 * p) / order / mean_order, rtol=1e-12)
    np.testing.assert_allclose(law.moment(4), 2 * np.sum(orders**3 * p) / order**2 / mean_order, rtol=1e-12)


def test_against_blocks_of_deterministic_levels():
    """Pooled levels of semicircles of all drawn orders, each at the middle of its quantile cell."""
    order, mixture, draws = 400, 0.7, 1000
    drawn = np.clip(np.random.default_rng(0).binomial(order, mixture, draws), 2, order)
    scaled = lambda n: 2 * np.sqrt(n / order) * stats.semicircular.ppf((np.arange(n) + 0.5) / n)
    edges = np.linspace(-2, 2, 21)
    counts, _ = np.histogram(np.concatenate(list(map(scaled, drawn))), edges)
    assert_counts(counts, np.diff(BinomialSemicircle(order, mixture).cdf(edges)))


def test_gradient_by_the_mixture_up_to_one():
    variance = lambda mixture: BinomialSemicircle(10, mixture).var()
    np.testing.assert_allclose(jax.grad(variance)(1.0), (variance(1.0) - variance(1 - 1e-7)) / 1e-7, rtol=1e-5)


@pytest.mark.float32
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 0.9), "`order` must be an integer of at least 1, got 0"),
        ((1.5, 0.9), "`order` must be an integer of at least 1, got 1.5"),
        ((True, 0.9), "`order` must be an integer of at least 1, got True"),
        ((8, 0.0), r"`mixture` must lie in \(0, 1\], got .*0"),
        ((8, 1.1), r"`mixture` must lie in \(0, 1\], got .*1\.1"),
        ((8, np.nan), r"`mixture` must lie in \(0, 1\], got .*nan"),
        ((8, 0.9, -2.0), r"`radius` must be positive and finite, got .*-2"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        BinomialSemicircle(*arguments)


@pytest.mark.float32
def test_single_precision_parameters_decide():
    law = BinomialSemicircle(8, jnp.float32(0.9), jnp.float32(2.0))
    assert law.cdf(jnp.float32(0.3)).dtype == law.sample(jax.random.key(0)).dtype == np.float32
