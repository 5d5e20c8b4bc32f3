"""Shrinkers of spiked covariance matrices: the minima of the losses that they are named for, and the estimate."""

from typing import get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.optimize import minimize_scalar

import rmtjax as rmt
from rmtjax._typing import SpikedLoss
from rmtjax.inference._covariance.spiked import spiked
from tests.cases import further


def _loss(name: str, a: np.ndarray, b: np.ndarray) -> float:
    """The loss of the estimate b where the truth is a."""
    singular = np.abs(np.linalg.eigvalsh(a - b))
    ratio = np.linalg.solve(a, b)
    inverse = np.linalg.inv(ratio)
    log_det = np.log(np.linalg.det(ratio))
    roots = sqrtm(a) - sqrtm(b)
    return {
        "frobenius": np.sum(singular**2),
        "operator": singular.max(),
        "nuclear": singular.sum(),
        "stein": np.trace(ratio) - log_det,
        "entropy": np.trace(inverse) + log_det,
        "divergence": np.trace(ratio) + np.trace(inverse),
        "frechet": np.sum(np.abs(roots) ** 2),
    }[name]


@pytest.mark.parametrize("loss", get_args(SpikedLoss))
@pytest.mark.parametrize("gamma", [2.0, *further(0.25)])
def test_levels_minimise_the_loss(loss, gamma):
    spikes = np.array([1.1, 1.6, 4.0]) + np.sqrt(gamma)
    sample = spikes + gamma * spikes / (spikes - 1)
    p = int(100 * gamma)
    by = jax.jit(lambda levels: spiked(levels, 100, p, jnp.ones(()), loss=loss))
    found, null = by(np.append(np.ones(min(100, p) - 3), sample))
    np.testing.assert_array_equal(np.append(found[:-3], null if p > 100 else 1), 1)
    for spike, level in zip(spikes, np.asarray(found[-3:]), strict=True):
        squared = (1 - gamma / (spike - 1) ** 2) / (1 + gamma / (spike - 1))
        u = np.sqrt([squared, 1 - squared])
        total = lambda x, spike=spike, u=u: _loss(loss, np.diag([spike, 1]), np.eye(2) + (x - 1) * np.outer(u, u))
        best = minimize_scalar(total, bounds=(1.0, 2 * spike), method="bounded", options={"xatol": 1e-10})
        assert total(level) <= best.fun + 1e-9 * abs(best.fun)
        if loss != "nuclear":  # which is flat below a spike that cannot be told from noise
            assert level == pytest.approx(best.x, abs=2e-4)


@pytest.mark.parametrize(("n", "p"), [(50, 200), *further((200, 50))])
def test_noise_and_spikes_are_found(n, p):
    rng = np.random.default_rng(3)
    data = 2 * rng.normal(size=(n, p))
    data[:, 0] *= 8
    estimate = np.asarray(rmt.inference.shrink_covariance(data, method="spiked"))
    levels = np.linalg.eigvalsh(estimate)
    # The noise level has an error of some 1/n, a spike one of √(2/n); levels of noise may lie above the edge.
    np.testing.assert_allclose(levels[:-4], 4, rtol=0.1)
    known = np.linalg.eigvalsh(rmt.inference.shrink_covariance(data, method="spiked", noise=2.0))
    np.testing.assert_allclose(known[:-4], 4, rtol=1e-10)
    assert known[-1] == pytest.approx(256, rel=5 * np.sqrt(2 / n))
    assert levels[-1] == pytest.approx(known[-1], rel=0.05)
