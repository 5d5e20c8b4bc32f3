"""The exact law of the largest level, parallel analysis and hard thresholds, against independent computations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
import scipy.stats

import rmtjax as rmt
from rmtjax.inference import optimal_hard_threshold, signal_rank, signal_rank_of_levels
from rmtjax.inference._signal.exact import wishart_p_values


def two_levels(x: float, n: int, beta: int) -> float:
    """The probability that both levels of n observations of two variables are below x, from their density."""
    power, rate = (n - 2 + 1) * beta / 2 - 1, 1 / 2 if beta == 1 else 1.0
    density = lambda b, a: abs(a - b) ** beta * (a * b) ** power * np.exp(-rate * (a + b))
    mass = lambda upper: scipy.integrate.dblquad(density, 0, upper, 0, lambda a: a, epsabs=1e-13, epsrel=1e-11)[0]
    return mass(x) / mass(90.0)


@pytest.mark.parametrize("beta", [1, 2])
def test_exact_p_values_are_integrals_of_the_density(beta):
    levels = jnp.array([[9.0, 4.0], [25.0, 0.5]])
    values = wishart_p_values(levels, 5, 2, beta)
    expected = [1 - two_levels(x, 5, beta) for x in (9.0, 25.0)]
    np.testing.assert_allclose(values[:, 0], expected, rtol=0, atol=1e-10)
    # Behind one signal there is one variable left.
    np.testing.assert_allclose(values[:, 1], scipy.stats.chi2.sf(beta * np.array([4.0, 0.5]), 5 * beta), rtol=1e-10)


@pytest.mark.parametrize("beta", [1, 2])
def test_exact_p_values_tend_to_tracy_and_widom(beta):
    edge = rmt.Wishart(40, 60, beta, np.sqrt(60.0)).soft_edge()
    points = jnp.array([-12.0, -3.0, -1.0, 1.0, 3.0, 15.0, 40.0])
    values = wishart_p_values(edge.levels(points)[:, None], 60, 40, beta)[:, 0]
    assert values[0] == pytest.approx(1, abs=1e-13)
    np.testing.assert_allclose(values[1:5], edge.law.sf(points[1:5]), rtol=0, atol=0.02)
    assert (values[5:] > 0).all()
    assert (values[5:] < jnp.array([1e-15, 1e-50])).all()
    # Sizes enter symmetrically.
    other = wishart_p_values(edge.levels(points)[:, None], 40, 60, beta)[:, 0]
    np.testing.assert_allclose(other, values, rtol=1e-10)


@pytest.mark.float32
def test_exact_p_values_in_single_precision():
    points = np.array([[20.0, 16.0, 5.0], [31.0, 9.0, 4.0]])
    single = wishart_p_values(jnp.asarray(points, jnp.float32), 12, 3, 1)
    with jax.enable_x64(True):
        double = wishart_p_values(jnp.asarray(points), 12, 3, 1)
    np.testing.assert_allclose(single, double, rtol=0, atol=2e-5)


def rotated(n: int, p: int, sizes: np.ndarray) -> np.ndarray:
    """Noise with columns of several levels and signals of these sizes, spread over all columns."""
    rng = np.random.default_rng(5)
    left, right = (np.linalg.qr(rng.normal(size=(m, sizes.size)))[0] for m in (n, p))
    noise = rng.normal(size=(n, p)) * np.linspace(0.8, 1.3, p)
    return noise + np.sqrt(n) * (left * sizes) @ right.T


def edge_of_columns(squares: np.ndarray, ratio: float) -> float:
    """The upper edge as the minimum of Silverstein's map, by SciPy."""
    image = lambda omega: omega * (1 + ratio * np.mean(squares / (omega - squares)))
    top = squares.max()
    return scipy.optimize.minimize_scalar(image, bounds=(top * 1.0001, top * 50), options={"xatol": 1e-12}).fun


def test_parallel_analysis_step_by_step():
    n, p = 150, 60
    # The strong component hides the weak one unless it is taken away.
    data = rotated(n, p, np.array([8.0, 2.2]))
    _, y, v = np.linalg.svd(data, full_matrices=False)
    left, edges = (data**2).mean(0), []
    for level, share in zip(y[:4] ** 2 / n, v[:4] ** 2, strict=True):
        edges.append(edge_of_columns(left, p / n))
        if level > edges[-1]:  # what it has above the edge without it is signal
            left = left - (level - edge_of_columns(left - level * share, p / n)) * share
    plain = signal_rank(data, method="parallel-analysis", center=False, max_rank=4)
    deflated = signal_rank(data, method="deflated-parallel-analysis", center=False, max_rank=4)
    levels = y**2 / n
    assert (levels[1] > edges[1], levels[1] > edges[0]) == (True, False)
    assert (plain.rank, deflated.rank) == (1, 2)
    np.testing.assert_allclose([plain.edge, deflated.edge], [edges[0], edges[2]], rtol=1e-7)
    assert plain.p_values is None
    np.testing.assert_allclose(plain.noise, np.sqrt(n * levels[1:].sum() / (n - 1) / (p - 1)), rtol=1e-10)


def test_hard_thresholds_are_those_for_singular_values():
    data = rotated(20, 30, np.array([9.0]))
    y = np.linalg.svd(data, compute_uv=False)
    rule = optimal_hard_threshold(20, 30)
    known = signal_rank(data, method="hard-threshold", noise=1.1, center=False)
    unknown = signal_rank(data, method="hard-threshold", center=False)
    np.testing.assert_allclose(np.sqrt(20 * known.edge), rule.known_noise * np.sqrt(30) * 1.1, rtol=1e-12)
    np.testing.assert_allclose(np.sqrt(20 * unknown.edge), rule.median_rule * np.median(y), rtol=1e-12)
    assert known.rank == (y > rule.known_noise * np.sqrt(30) * 1.1).sum() == 1
    assert unknown.rank == (y > rule.median_rule * np.median(y)).sum() > 0


def test_levels_are_not_enough_for_parallel_analysis():
    with pytest.raises(ValueError, match="`method` must be one of 'tracy-widom', 'exact', 'hard-threshold'"):
        signal_rank_of_levels(np.ones(4), 9, 4, method="parallel-analysis")


@pytest.mark.slow
@pytest.mark.parametrize("beta", [1, 2])
@pytest.mark.parametrize(("n", "p"), [(50, 20), (9, 15), (3, 2)])
def test_exact_p_values_are_uniform(n, p, beta, getkey):
    levels = rmt.simulate(rmt.Wishart(p, n, beta).eigenvalues, getkey(), 10_000)[:, -min(n, p) :]
    values = signal_rank_of_levels(levels, n, p, beta=beta, noise=1.0, method="exact", max_rank=1).p_values
    assert scipy.stats.kstest(np.ravel(values), "uniform").pvalue > 1e-4


def spiked(key, level):
    """Data of unit noise with one component along a random direction."""
    rotation = rmt.HaarOrthogonal(60).sample(jax.random.fold_in(key, 1))
    return jax.random.normal(key, (150, 60)) * jnp.ones((1, 60)).at[0, 0].set(level**0.5) @ rotation


@pytest.mark.slow
def test_deflation_ends(getkey):
    """Three components of five hide the others; noise that passes by chance may not lower the edge of all that follows.

    When whole levels were taken away, all 60 of them passed in 153 of 400 matrices.
    """
    deviations = jnp.sqrt(jnp.linspace(0.2, 3, 60))

    def data(key):
        of_noise, of_scores, of_directions = jax.random.split(key, 3)
        directions = jnp.linalg.qr(jax.random.normal(of_directions, (60, 5)))[0]
        scores = jax.random.normal(of_scores, (300, 5)) * jnp.array([[10, 6, 4, 3, 2.5]])
        return jax.random.normal(of_noise, (300, 60)) * deviations[None] + scores @ directions.T

    samples = rmt.simulate(data, getkey(), 400)
    rank = lambda method: np.asarray(signal_rank(samples, method=method, max_rank=12).rank)
    plain, deflated = rank("parallel-analysis"), rank("deflated-parallel-analysis")
    assert (plain < 5).mean() > 0.9
    assert (deflated == 5).mean() > 0.96
    assert deflated.max() <= 7


# In units of the threshold of Baik, Ben Arous and Péché: what is found, by the tests and by rules of thumb.
@pytest.mark.slow
def test_ranks_of_planted_spikes(getkey):
    found, key = {}, getkey()
    for strength in (0.9, 1.1, 1.5, 3.0):
        data = rmt.simulate(spiked, key, 300, args=(1 + strength * (60 / 150) ** 0.5,))
        tests = signal_rank(data)
        every = {
            "tests": tests.rank,
            "parallel": signal_rank(data, method="deflated-parallel-analysis", max_rank=10).rank,
            "kaiser": (tests.levels > tests.levels.mean(-1, keepdims=True)).sum(-1),
            "elbow": jnp.argmax(-jnp.diff(tests.levels, axis=-1), axis=-1) + 1,
        }
        found[strength] = {name: float(jnp.mean(rank == 1)) for name, rank in every.items()}
        # More than what is there is found about as rarely as the level of the tests says.
        assert float(jnp.mean(tests.rank > 1)) < 0.1
    assert found[0.9]["tests"] < 0.35
    assert found[0.9]["tests"] < found[1.1]["tests"] < found[1.5]["tests"] < found[3.0]["tests"]
    assert found[3.0]["tests"] > 0.85
    assert found[3.0]["parallel"] > 0.7
    assert all(each["kaiser"] == 0 for each in found.values())
    assert found[3.0]["elbow"] > found[0.9]["elbow"]


def test_levels_of_0_of_fewer_rows_than_columns_change_nothing():
    data = np.random.default_rng(3).normal(size=(20, 50)) + 4 * np.random.default_rng(4).normal(size=(20, 1))
    levels = np.linalg.eigvalsh(data.T @ data / 20)
    for method in ("hard-threshold", "tracy-widom"):
        all_levels, others = (signal_rank_of_levels(each, 20, 50, method=method) for each in (levels, levels[-20:]))
        assert all_levels.rank == others.rank == 1
        np.testing.assert_allclose(all_levels.edge, others.edge)
