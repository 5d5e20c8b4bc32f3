import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.laws import AbstractLaw, MarchenkoPastur, Mixture, PeriodicPadding, Semicircle, Symmetrized
from tests.laws.reference import Uniform

pytestmark = pytest.mark.float32


@pytest.mark.parametrize(
    ("weights", "number", "message"),
    [
        ([], 0, "have the shape|be non-negative"),
        ([1.0], 2, r"have the shape \(2,\), got \(1,\)"),
        ([0.5, 0.5], 1, r"have the shape \(1,\), got \(2,\)"),
        ([[1.0]], 1, r"have the shape \(1,\), got \(1, 1\)"),
        *(([*weights], len(weights), "be non-negative and sum to 1, got") for weights in [(0.7, 0.7), (0.999,)]),
        *(([*weights], 2, "be non-negative and sum to 1, got") for weights in [(1.5, -0.5), (np.nan, 1.0)]),
    ],
)
def test_bad_weights_are_refused(weights, number, message):
    with pytest.raises(ValueError, match=f"`weights` must ({message})"):
        Mixture(weights, number * [Semicircle()])


def test_moments_of_components_with_different_means():
    law = Mixture([0.25, 0.75], [Uniform(-2.0, -1.0), Uniform(0.5, 1.5)])
    mean = 0.25 * -1.5 + 0.75 * 1.0
    second = 0.25 * (1.5**2 + 1 / 12) + 0.75 * (1 + 1 / 12)
    np.testing.assert_allclose(law.mean(), mean, rtol=1e-6)
    np.testing.assert_allclose(law.moment(2), second, rtol=1e-6)
    np.testing.assert_allclose(law.var(), second - mean**2, rtol=1e-6)
    np.testing.assert_allclose(law.support(), (-2.0, 1.5))


def test_single_precision_weights_decide_over_python_numbers():
    law = Mixture(jnp.array([0.25, 0.75], jnp.float32), [Semicircle(1.0), Semicircle(2.0)])
    assert law.sample(jax.random.key(0), (3,)).dtype == np.float32
    assert law.cdf(jnp.float32(0.3)).dtype == np.float32


def test_the_gradient_by_the_weights_is_the_components_density():
    density = lambda w: Mixture(w, [Semicircle(1.0), Semicircle(2.0)]).pdf(0.3)
    expected = Semicircle(1.0).pdf(0.3), Semicircle(2.0).pdf(0.3)
    np.testing.assert_allclose(jax.grad(density)(jnp.array([0.25, 0.75])), expected, rtol=1e-6)


def test_a_symmetrised_law_is_even():
    law = Symmetrized(Uniform(-0.5, 2.0))
    x = np.array([0.2, 0.7, 1.9, 2.5], np.float32)
    np.testing.assert_allclose(law.pdf(x), law.pdf(-x))
    np.testing.assert_allclose(law.pdf(x), [0.4, 0.2, 0.2, 0.0], rtol=1e-6)
    np.testing.assert_allclose(law.cdf(-x), law.sf(x), rtol=1e-6, atol=1e-6)
    assert law.mean() == law.moment(3) == 0
    np.testing.assert_allclose(law.var(), Uniform(-0.5, 2.0).moment(2), rtol=1e-6)
    draws = law.sample(jax.random.key(0), (500,))
    assert (draws < -0.5).sum() > 100
    assert (draws > 0.5).sum() > 100


class HalfAtZero(AbstractLaw):
    """Half a point mass at 0, half uniform; a law without parameters."""

    def _support(self):
        return jnp.asarray(-1.0), jnp.asarray(1.0)

    def _pdf(self, x):
        return jnp.full_like(x, 0.25)

    def _atoms(self):
        return jnp.zeros(1), jnp.full(1, 0.5)


def test_point_masses_are_refused_where_they_would_be_lost():
    for make in (Symmetrized, lambda law: PeriodicPadding(law, 0.7, "random")):
        with pytest.raises(ValueError, match="`base` must be a law without point masses"):
            make(HalfAtZero())


def test_listed_atoms_of_no_mass_are_none():
    # A Marčenko-Pastur law lists its atom at every ratio, with mass 0 up to 1.
    at = lambda ratio: Symmetrized(MarchenkoPastur(ratio)).cdf(0.5)
    assert at(0.4) == pytest.approx(0.5 + MarchenkoPastur(0.4).cdf(0.5) / 2)
    assert jax.jit(at)(0.4) == pytest.approx(at(0.4))
    with pytest.raises(ValueError, match="`base` must be a law without point masses"):
        at(1.4)
    assert jnp.all(jnp.isnan(jax.jit(at)(1.4)))


def test_a_law_without_parameters():
    law = HalfAtZero()
    np.testing.assert_allclose([law.mean(), law.var(), law.moment(0)], [0, 1 / 6, 1], rtol=0, atol=1e-6)
    assert law.pdf(np.float32(0.3)).dtype == np.float32
