"""The law of covariances with a profile of variances: closed forms, the axis, atoms, gaps, derivatives, draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.laws import CovarianceProfileLaw, FreeSum, GeneralMarchenkoPastur, MarchenkoPastur
from rmtjax.laws._core.half_plane import in_plane
from rmtjax.laws._free.dyson_equation import dyson_solution
from tests.cases import DTYPES

EXACT = {np.float32: 5e-6, np.float64: 1e-14}
PROFILE = np.array([[0.6, 0.2, 1.3], [0.3, 0.9, 0.1]])
ROWS, COLUMNS = np.array([0.6, 0.4]), np.array([0.5, 0.3, 0.2])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ratio", [0.3, 1.0, 1.001, 4.0])
def test_equal_variances_are_marchenko_and_pastur(ratio, dtype):
    law = CovarianceProfileLaw(np.full((2, 3), 0.7, dtype), np.asarray(ratio, dtype))
    closed = MarchenkoPastur(np.asarray(ratio, dtype), np.sqrt(np.asarray(0.7, dtype)))
    # Within the rounding of an end nothing is compared.
    x = np.concatenate([np.linspace(-0.3, 0.98 * float(closed.support()[1]), 90), np.logspace(-5, -3, 9)]).astype(dtype)
    x = x[np.abs(x - 0.7 * (1 - np.sqrt(ratio)) ** 2) > 1e-6]
    assert law.pdf(x).dtype == dtype
    np.testing.assert_allclose(law.pdf(x), closed.pdf(x), rtol=200 * EXACT[dtype], atol=EXACT[dtype])
    np.testing.assert_allclose(law.cdf(x), closed.cdf(x), rtol=0, atol=EXACT[dtype])
    np.testing.assert_allclose(law.sf(x), closed.sf(x), rtol=0, atol=EXACT[dtype])
    np.testing.assert_allclose(law.support(), closed.support(), rtol=10 * EXACT[dtype], atol=EXACT[dtype])
    np.testing.assert_allclose(law.atoms()[1], closed.atoms()[1], rtol=EXACT[dtype])
    assert law.atoms()[0] == 0
    ours, exact = (np.stack([a.moment(5), a.var(), a.kurtosis()]) for a in (law, closed))
    np.testing.assert_allclose(ours, exact, rtol=50 * EXACT[dtype], atol=50 * EXACT[dtype])


@pytest.mark.parametrize("ratio", [0.2, 1.0, 3.0])
def test_types_of_rows_are_a_population(ratio):
    population, weights = np.array([1.0, 5.0, 40.0]), np.array([0.2, 0.5, 0.3])
    law, closed = (
        CovarianceProfileLaw(population[:, None], ratio, weights),
        GeneralMarchenkoPastur(ratio, population, weights),
    )
    lower, upper = closed.support()
    x = np.concatenate([np.linspace(lower, upper, 150)[1:-1], np.logspace(-6, 0, 20)])
    np.testing.assert_allclose(law.pdf(x), closed.pdf(x), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(law.cdf(x), closed.cdf(x), rtol=0, atol=1e-14)
    ours, exact = law.bands(), closed.bands()
    np.testing.assert_allclose(ours[1][-1], exact[1][-1], rtol=1e-14)
    gaps = lambda bands: np.asarray([(a, b) for a, b in zip(bands[1][:-1], bands[0][1:], strict=True) if b - a > 1e-9])
    np.testing.assert_allclose(gaps(ours), gaps(exact), rtol=1e-12)
    np.testing.assert_allclose(law.moment(7), closed.moment(7), rtol=1e-13)


@pytest.mark.parametrize("ratio", [0.4, 1.0, 2.5])
def test_the_transposed_data_have_the_same_levels_but_0(ratio):
    """The n levels of XX*/m are those of the m levels of X*X/n, n/m times as large, and 0."""
    law, other = (
        CovarianceProfileLaw(PROFILE, ratio, ROWS, COLUMNS),
        CovarianceProfileLaw(PROFILE.T, 1 / ratio, COLUMNS, ROWS),
    )
    x = np.linspace(*law.support(), 60)[1:-1]
    np.testing.assert_allclose(law.pdf(x), other.pdf(x / ratio) / ratio**2, rtol=0, atol=1e-13)
    np.testing.assert_allclose(law.sf(x), other.sf(x / ratio) / ratio, rtol=0, atol=1e-14)
    np.testing.assert_allclose(law.mean(), ROWS @ PROFILE @ COLUMNS, rtol=1e-14)


def test_the_solution_on_the_axis_is_the_right_one_for_variances_of_many_sizes():
    """Elsewhere there are other real solutions. In the upper half plane the roots of a polynomial decide."""
    rng = np.random.default_rng(0)
    for _ in range(4):
        variances, columns = np.exp(4 * rng.normal(size=(1, 3))), rng.dirichlet(np.ones(3))
        law = CovarianceProfileLaw(variances, np.exp(rng.normal()), None, columns / columns.sum())
        upper, c, v = float(law.support()[1]), float(law.ratio), variances[0]
        x = upper * np.concatenate([np.linspace(0.01, 1.2, 30), np.logspace(-6, -2, 15), -np.logspace(-6, 0, 8)])
        g = np.asarray(dyson_solution(law, in_plane(jnp.asarray(x))))[:, 0]
        residual = g * (x - (np.asarray(law.column_weights) * v / (1 - c * v * g[:, None])).sum(axis=1)) - 1
        np.testing.assert_allclose(np.abs(residual), 0, rtol=0, atol=1e-11)
        # The derivative of the map attracts where the solution is real; else it is in the lower half plane.
        attracts = (
            np.abs(g**2 * (np.asarray(law.column_weights) * c * v**2 / (1 - c * v * g[:, None]) ** 2).sum(axis=1)) < 1
        )
        assert (attracts | (g.imag < 0)).all()
        mass = law.cdf(x)
        assert (np.diff(mass[np.argsort(x)]) >= -1e-13).all()
        np.testing.assert_allclose(law.cdf(1.2 * upper), 1, rtol=1e-14)


def test_variances_far_from_a_product_with_a_hard_edge():
    """The components of g are 1e4 and 0.3 at once, and a real solution that is wrong is near."""
    law = CovarianceProfileLaw([[7e-4, 39.0], [42.0, 0.05]], 1.0, [0.42, 0.58], [0.79, 0.21])
    x = np.asarray(law.support()[1]) * np.logspace(-9, -7, 9)
    # The density is a/√x + O(√x), so that the mass below x is 2x times it.
    np.testing.assert_allclose(law.pdf(x) * np.sqrt(x), law.pdf(x[0]) * np.sqrt(x[0]), rtol=1e-2)
    np.testing.assert_allclose(law.cdf(x), 2 * x * law.pdf(x), rtol=1e-2)


def test_derivatives_are_those_of_differences():
    x = jnp.array([0.2, 0.9])

    def quantities(t):
        law = CovarianceProfileLaw(PROFILE * (1 + t * jnp.asarray(PROFILE.T @ PROFILE)[:2]), 0.3 + t, ROWS, COLUMNS)
        return jnp.concatenate([law.pdf(x), law.cdf(x), jnp.stack([*law.support(), law.moment(4), law.var()])])

    slope = jax.jit(jax.jacfwd(quantities))(0.0)
    np.testing.assert_allclose(slope, (quantities(1e-5) - quantities(-1e-5)) / 2e-5, rtol=2e-7, atol=1e-8)


def test_as_a_part_of_a_sum():
    # Further observations of the same types are a free summand: the means of both, weighted by their numbers.
    both = CovarianceProfileLaw([[0.5, 2.0]], 0.5, None, [0.25, 0.75])
    first, second = MarchenkoPastur(2.0, np.sqrt(0.125)), MarchenkoPastur(2 / 3, np.sqrt(1.5))
    law = FreeSum(first, second)
    x = np.linspace(0.1, 7.0, 25)
    np.testing.assert_allclose(both.pdf(x), law.pdf(x), rtol=0, atol=1e-13)
    wide = FreeSum(both, MarchenkoPastur(1.0))
    np.testing.assert_allclose(wide.pdf(x), FreeSum(law, MarchenkoPastur(1.0)).pdf(x), rtol=0, atol=1e-13)


def test_levels_of_drawn_data():
    # Two kinds of variables, each measured well by other observations.
    variances, n, m, weights, columns = np.array([[1.25, 0.02], [0.02, 5.0]]), 240, 600, [0.2, 0.8], [0.8, 0.2]
    sizes = np.repeat(np.repeat(variances, [48, 192], axis=0), [480, 120], axis=1)
    # Signs are not normal.
    data = np.sqrt(sizes) * np.random.default_rng(3).choice([-1.0, 1.0], size=(12, n, m))
    levels = np.linalg.eigvalsh(data @ np.swapaxes(data, 1, 2) / m)
    law, shares = CovarianceProfileLaw(variances, n / m, weights, columns), np.linspace(0.05, 0.95, 19)
    x = np.quantile(levels, shares)
    np.testing.assert_allclose(law.cdf(x), shares, rtol=0, atol=5e-3)
    # The law of a separable covariance with the same means is elsewhere.
    separable = np.outer(variances @ columns, weights @ variances) / law.mean()
    assert np.abs(CovarianceProfileLaw(separable, n / m, weights, columns).cdf(x) - shares).max() > 0.05


def test_refusals():
    for arguments, message in (
        (([1.0], 0.5), "`variances` must be one matrix"),
        (([[0.0, 1.0]], 0.5), "`variances` must be positive and finite"),
        (([[1.0]], 0.0), "`ratio`"),
        (([[1.0]], 0.5, [0.5]), "`weights`"),
        (([[1.0]], 0.5, None, [0.5, 0.5]), "`column_weights`"),
    ):
        with pytest.raises(ValueError, match=message):
            CovarianceProfileLaw(*arguments)


@pytest.mark.parametrize("small", [1e-3, 1e-6])
def test_blocks_that_are_almost_independent(small):
    """Rows beyond the columns of their block have levels of the size of the small variances."""
    law = CovarianceProfileLaw([[1.0, small], [small, 100.0]], 1.0, [0.5, 0.5], [0.3, 0.7])
    # What both blocks leave over is square, with a fifth of all rows and of all columns.
    left = MarchenkoPastur(1.0, np.sqrt(0.2 * small))
    x = small * np.logspace(-8, -0.2, 9)
    np.testing.assert_allclose(law.cdf(x), 0.2 * left.cdf(x), rtol=40 * small)
    np.testing.assert_allclose(law.pdf(x), 0.2 * left.pdf(x), rtol=100 * small)
