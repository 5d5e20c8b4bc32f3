"""Laws as frozen distributions, against SciPy's own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
import scipy.stats

import rmtjax as rmt
from rmtjax.adapters.scipy_stats import FrozenLaw, frozen

# Wigner's semicircle is SciPy's, and a law with a point mass has its numbers in closed form.
SEMICIRCLE, ITS_LAW = scipy.stats.semicircular(scale=1.5), frozen(rmt.laws.Semicircle(1.5))
X, P = np.array([-2.0, -0.7, 0.0, 1.4, 3.0]), np.array([0.0, 0.1, 0.5, 0.99, 1.0])


@pytest.mark.parametrize("method", ["pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf"])
def test_methods_are_those_of_scipy(method):
    points = P if method in ("ppf", "isf") else X
    with np.errstate(divide="ignore"):
        expected = getattr(SEMICIRCLE, method)(points)
    found = getattr(ITS_LAW, method)(points)
    assert type(found) is np.ndarray
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert isinstance(getattr(ITS_LAW, method)(0.4), np.float64)


def test_numbers_are_those_of_scipy():
    for name in ("mean", "median", "var", "std", "support", "entropy"):
        np.testing.assert_allclose(getattr(ITS_LAW, name)(), getattr(SEMICIRCLE, name)(), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ITS_LAW.stats("mvsk"), SEMICIRCLE.stats("mvsk"), rtol=0, atol=1e-9)
    np.testing.assert_allclose(ITS_LAW.moment(4), SEMICIRCLE.moment(4), rtol=1e-9)
    np.testing.assert_allclose(ITS_LAW.interval(0.9), SEMICIRCLE.interval(0.9), rtol=1e-9)
    options = {"lb": -0.3, "ub": 0.9, "conditional": True}
    np.testing.assert_allclose(ITS_LAW.expect(np.exp, **options), SEMICIRCLE.expect(np.exp, **options), rtol=1e-8)
    assert isinstance(ITS_LAW.stats("v"), np.float64)
    assert ITS_LAW.stats("vm") == pytest.approx(SEMICIRCLE.stats("vm"), abs=1e-9)


@pytest.mark.parametrize("ends", [(-9.0, 9.0), (-9.0, 0.3), (0.9, -0.3), (5.0, 6.0), (0.2, np.inf)])
@pytest.mark.parametrize("conditional", [False, True])
def test_expectations_over_intervals_are_those_of_scipy(ends, conditional):
    options = {"lb": ends[0], "ub": ends[1], "conditional": conditional}
    with np.errstate(invalid="ignore"):
        expected = SEMICIRCLE.expect(np.exp, **options)
    np.testing.assert_allclose(ITS_LAW.expect(np.exp, **options), expected, rtol=1e-8)
    np.testing.assert_allclose(ITS_LAW.expect(np.exp, epsabs=1e-3, limit=20, **options), expected, rtol=1e-2)


def test_location_and_scale_are_those_of_scipy():
    """The semicircle of radius 1.5 scaled by s is SciPy's of scale 1.5 s."""
    data = SEMICIRCLE.rvs(200, random_state=3) * 2 + 7
    for options, others in (({}, {}), ({"floc": 7.0}, {"floc": 7.0}), ({"fscale": 2.0}, {"fscale": 3.0})):
        location, scale = ITS_LAW.fit(data, **options)
        expected = scipy.stats.semicircular.fit(data, **others)
        np.testing.assert_allclose((location, 1.5 * scale), expected, rtol=1e-3)
    levels = frozen(rmt.laws.TracyWidom(1))
    draws = 0.3 + 2 * levels.rvs(500, random_state=1)
    loss = lambda x: -np.sum(levels.logpdf((draws - x[0]) / x[1]) - np.log(x[1]))
    best = scipy.optimize.minimize(loss, (0.0, 1.5), method="Nelder-Mead")
    np.testing.assert_allclose(levels.fit(draws), best.x, rtol=1e-3)
    np.testing.assert_allclose(levels.fit(draws, method="MM"), (0.3, 2.0), rtol=0, atol=0.3)
    for wrong in ([], [1.0, 1.0, 1.0], [0.0, np.nan]):
        with pytest.raises(ValueError, match="be finite numbers, of which at least two differ"):
            ITS_LAW.fit(wrong)
    with pytest.raises(ValueError, match="have a density, without masses at points"):
        frozen(rmt.laws.MarchenkoPastur(2.0)).fit(draws)


def test_every_name_of_a_frozen_distribution_is_here():
    others = {"args", "dist", "kwds"}  # the family, which a law does not have
    assert {name for name in dir(SEMICIRCLE) if not name.startswith("_")} - others <= set(dir(ITS_LAW))
    assert (ITS_LAW.a, ITS_LAW.b) == (-1.5, 1.5) == SEMICIRCLE.support()


def test_point_masses_are_in_expectations():
    law = frozen(rmt.laws.MarchenkoPastur(2.0))
    assert law.entropy() == -np.inf
    np.testing.assert_allclose(
        [law.expect(), law.expect(lambda x: x**2), law.expect(lambda x: 1.0)], [1, 3, 1], rtol=1e-8
    )
    # Half of the mass is at 0, and an interval that begins there has it.
    np.testing.assert_allclose(law.expect(lambda x: x == 0, ub=1.0, conditional=True), 0.5 / law.cdf(1.0), rtol=1e-8)
    assert 400 < (law.rvs(1000, random_state=3) == 0).sum() < 600


def test_draws_come_from_a_random_state():
    assert isinstance(ITS_LAW.rvs(), np.float64)
    assert ITS_LAW.rvs((2, 3), random_state=np.random.default_rng(0)).shape == (2, 3)
    np.testing.assert_array_equal(ITS_LAW.rvs(4, random_state=1), ITS_LAW.rvs(4, random_state=1))
    state = np.random.default_rng(0)
    assert (ITS_LAW.rvs(4, random_state=state) != ITS_LAW.rvs(4, random_state=state)).all()
    old = np.random.RandomState(0)
    assert (ITS_LAW.rvs(4, random_state=old) != ITS_LAW.rvs(4, random_state=old)).all()


def test_the_state_belongs_to_the_object():
    law = frozen(rmt.laws.Semicircle(1.5))
    assert law.random_state is np.random
    law.random_state = 3
    first, second = law.rvs(4), law.rvs(4)
    assert (first != second).all()
    law.random_state = 3
    # A state of a single call leaves that of the object where it is.
    np.testing.assert_array_equal(law.rvs(4, random_state=3), first)
    np.testing.assert_array_equal(np.stack([law.rvs(4), law.rvs(4)]), [first, second])
    law.random_state = state = np.random.default_rng(0)
    assert law.random_state is state
    law.random_state = None
    np.random.seed(0)  # noqa: NPY002
    drawn = law.rvs()
    np.random.seed(0)  # noqa: NPY002
    assert law.rvs() == drawn
    with pytest.raises(ValueError, match="`random_state` must be None, an integer"):
        law.random_state = "zero"


def test_scipy_takes_it():
    levels = ITS_LAW.rvs(50, random_state=2)
    assert scipy.stats.kstest(levels, ITS_LAW) == scipy.stats.kstest(levels, SEMICIRCLE.cdf)
    assert scipy.stats.cramervonmises(levels, ITS_LAW).pvalue > 1e-6
    ordered, _ = scipy.stats.probplot(levels, dist=ITS_LAW)  # pyright: ignore[reportArgumentType]
    expected, _ = scipy.stats.probplot(levels, dist=SEMICIRCLE)  # pyright: ignore[reportArgumentType]
    np.testing.assert_allclose(ordered, expected, rtol=1e-9)
    by_simulation = scipy.stats.monte_carlo_test(levels, ITS_LAW.rvs, np.mean, n_resamples=99, vectorized=True)
    assert 0.001 < by_simulation.pvalue <= 1


def test_it_is_double_precision_without_64_bit_types():
    with jax.enable_x64(False):
        law = frozen(rmt.laws.MarchenkoPastur(2.0))
        assert jnp.zeros(3).dtype == jnp.float32
        np.testing.assert_allclose(law.mean(), 1, rtol=1e-14)
        np.testing.assert_allclose(law.support(), [0, (1 + 2**0.5) ** 2], rtol=1e-15)
        assert law.rvs(3, random_state=0).dtype == np.float64


def test_what_is_no_law_is_refused():
    with pytest.raises(ValueError, match=r"`law` must be a law of `rmtjax.laws`, got GOE"):
        frozen(rmt.GOE(3))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="`order` must be an integer of at least 0"):
        ITS_LAW.moment(-1)
    with pytest.raises(ValueError, match="`moments` must be one of"):
        ITS_LAW.stats("mx")
    for state in ("zero", -1, 0.5):
        with pytest.raises(ValueError, match="`random_state` must be None, an integer"):
            ITS_LAW.rvs(random_state=state)
    with pytest.raises(ValueError, match=r"`confidence` must lie in \[0, 1\], got 95"):
        ITS_LAW.interval(95)
    assert repr(FrozenLaw(rmt.laws.Semicircle(1.5))) == "FrozenLaw(Semicircle(radius=1.5))"
    assert jax.numpy.ndim(ITS_LAW(0.3)) == 0
