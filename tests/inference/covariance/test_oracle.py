"""The oracle, the loss of portfolios, and the improvement over the sample on the designs of the papers."""

import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.inference import minimum_variance_loss, oracle_covariance, shrink_covariance


def _truth(design: str, p: int) -> np.ndarray:
    if design == "three levels":
        return np.diag(np.repeat([1.0, 3.0, 10.0], [p // 5, 2 * p // 5, 2 * p // 5]))
    return 0.5 ** np.abs(np.subtract.outer(range(p), range(p))) if design == "autoregressive" else np.eye(p)


@pytest.mark.parametrize(("n", "p"), [(30, 10), (8, 10)])
def test_oracle_is_the_nearest_of_its_kind(n, p):
    truth = _truth("autoregressive", p)
    data = np.random.default_rng(0).normal(size=(n, p)) @ np.linalg.cholesky(truth).T
    vectors = np.linalg.eigh(np.cov(data, rowvar=False))[1]
    best = np.sum(vectors * (truth @ vectors), axis=0)
    nulls = max(p - n + 1, 0)
    best[:nulls] = np.sum(best[:nulls]) / max(nulls, 1)
    np.testing.assert_allclose(oracle_covariance(data, truth), (vectors * best) @ vectors.T, rtol=0, atol=1e-10)
    distance = lambda matrix: np.linalg.norm(np.asarray(matrix) - truth)
    assert distance(oracle_covariance(data, truth)) < min(
        distance(shrink_covariance(data)), distance(np.cov(data, rowvar=False))
    )


def test_loss_is_that_of_portfolios():
    """The variance of the portfolio that the estimate thinks least, over constraints in random directions."""
    p, rng = 4, np.random.default_rng(1)
    truth, estimate = _truth("autoregressive", p), _truth("three levels", 5)[:p, :p] + 0.3
    inverse = np.linalg.inv(estimate)
    numerator, denominator = [], []
    for _ in range(20000):
        a = rng.normal(size=p)
        numerator.append(a @ inverse @ truth @ inverse @ a)
        denominator.append(a @ inverse @ a)
    mean = np.mean(numerator) / np.mean(denominator) ** 2 * p
    expected = mean - p / np.trace(np.linalg.inv(truth))
    assert float(minimum_variance_loss(estimate, truth)) == pytest.approx(expected, rel=0.05)
    assert float(minimum_variance_loss(3 * truth, truth)) == pytest.approx(0, abs=1e-12)


def test_other_orders_are_refused():
    with pytest.raises(ValueError, match=r"`population` must have the shape \(3, 3\)"):
        oracle_covariance(np.random.default_rng(0).normal(size=(5, 3)), np.eye(4))
    with pytest.raises(ValueError, match=r"`population` must have the shape \(3, 3\)"):
        minimum_variance_loss(np.eye(3), np.eye(4))


# Percentage of the improvement of the oracle over the sample for p = 100, on other draws; 100 of them give ±0.3.
IMPROVEMENT = {
    ("three levels", 300): {"qis": 95.1, "analytical": 96.1, "rie": 94.2, "ledoit-wolf": 68.2, "oas": 68.2},
    ("three levels", 101): {"qis": 94.5, "analytical": 95.6, "rie": 94.5, "ledoit-wolf": 94.7, "oas": 94.7},
    ("three levels", 34): {"qis": 98.2, "analytical": 98.0, "rie": 95.1, "ledoit-wolf": 99.2, "oas": 99.5},
    ("autoregressive", 300): {"qis": 93.2, "analytical": 93.5, "rie": 90.9, "ledoit-wolf": 88.1, "oas": 88.1},
    ("autoregressive", 101): {"qis": 93.6, "analytical": 94.3, "rie": 92.1, "ledoit-wolf": 97.5, "oas": 97.5},
    ("autoregressive", 34): {"qis": 97.9, "analytical": 97.9, "rie": 93.9, "ledoit-wolf": 99.2, "oas": 99.6},
    ("identity", 300): {"qis": 98.3, "analytical": 99.0, "rie": 99.3, "ledoit-wolf": 100.0, "oas": 100.0},
    ("identity", 101): {"qis": 93.7, "analytical": 94.7, "rie": 98.4, "ledoit-wolf": 99.9, "oas": 100.0},
    ("identity", 34): {"qis": 99.1, "analytical": 98.7, "rie": 98.4, "ledoit-wolf": 99.6, "oas": 100.0},
}


@pytest.mark.slow
@pytest.mark.parametrize(("design", "n"), IMPROVEMENT)
def test_improvement_over_the_sample_is_nearly_that_of_the_oracle(design, n):
    p, draws = 100, 100
    truth = _truth(design, p)
    data = jnp.asarray(np.random.default_rng(n + 1).normal(size=(draws, n, p)) @ np.linalg.cholesky(truth).T)
    loss = lambda estimates: float(np.mean(np.sum((np.asarray(estimates) - truth) ** 2, axis=(-2, -1))))
    sample, oracle = loss(shrink_covariance(data, method="sample")), loss(oracle_covariance(data, truth))
    found = {}
    for method in IMPROVEMENT[design, n]:
        found[method] = 100 * (sample - loss(shrink_covariance(data, method=method))) / (sample - oracle)
    for method, expected in IMPROVEMENT[design, n].items():
        assert found[method] == pytest.approx(expected, abs=1.5), found
        assert found[method] <= 100
