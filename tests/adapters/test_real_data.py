"""Real data that packages ship: the numbers that the manual states beside those of the rules of the field."""

import itertools
from collections.abc import Callable

import jax
import numpy as np
import pytest
import scipy.stats
from sklearn.covariance import OAS, EmpiricalCovariance, LedoitWolf
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

import rmtjax as rmt
from rmtjax.adapters import scipy_stats
from rmtjax.adapters.scikit_learn import RandomMatrixCovariance, RandomMatrixPCA
from rmtjax.inference import anderson_darling

pytestmark = pytest.mark.slow


def _varying(data: np.ndarray, least: int = 1) -> np.ndarray:
    """The columns that are not constant, or that are not 0 in at least this number of rows."""
    return data[:, (data.std(axis=0) > 0) & ((data != 0).sum(axis=0) >= least)]


def _kaiser(data: np.ndarray) -> int:
    """Levels above the mean."""
    levels = PCA().fit(data).explained_variance_
    return int((levels > levels.mean()).sum())


def _parallel_analysis(data: np.ndarray) -> int:
    """Levels above those of data permuted within the columns, at 95 %, as Horn's rule is used today."""
    rng, levels = np.random.default_rng(0), lambda data: np.linalg.eigvalsh(np.cov(data.T))[::-1]
    null = np.quantile([levels(rng.permuted(data, axis=0)) for _ in range(40)], 0.95, axis=0)
    return int(np.cumprod(levels(data) > null).sum())


def _macro() -> np.ndarray:
    """202 quarterly changes of 12 series of the economy: of the logarithm of an amount, of a rate itself."""
    series = pytest.importorskip("statsmodels.datasets").macrodata.load().data.drop(columns=["year", "quarter"])
    rates = ["tbilrate", "unemp", "infl", "realint"]
    return np.diff(np.column_stack([series[rates], np.log(series.drop(columns=rates))]), axis=0)


def _faces() -> np.ndarray:
    """100 faces of 25 × 25 pixels."""
    return pytest.importorskip("skimage.data").lfw_subset()[:100].reshape(100, -1)


def _bai_ng(data: np.ndarray) -> int:
    """The number of factors, at most 8, of least criterion IC2 of Bai and Ng (2002), Econometrica 70, 191."""
    pca = pytest.importorskip("statsmodels.multivariate.pca").PCA
    return int(pca(data, ncomp=8, standardize=False).ic[:, 1].argmin())


def _rank(method: str) -> Callable[[np.ndarray], int]:
    return lambda data: RandomMatrixPCA(method).fit(data).signal_rank_


# The numbers of components in the table of docs/inference/signal.md for tumours, wines, digits, series of the economy
# and faces, each in own units and standardised. Minka's estimate needs more rows than columns.
DECISIONS = {
    "tracy-widom": (lambda data: RandomMatrixPCA().fit(data).n_components_, [29, 29, 12, 12, 60, 60, 11, 11, 76, 75]),
    "hard-threshold": (_rank("hard-threshold"), [13, 13, 6, 3, 21, 18, 5, 2, 21, 20]),
    "parallel-analysis": (_rank("parallel-analysis"), [1, 5, 0, 2, 7, 12, 1, 2, 8, 8]),
    "deflated": (_rank("deflated-parallel-analysis"), [1, 7, 0, 3, 14, 19, 2, 2, 19, 20]),
    "permuted": (_parallel_analysis, [1, 5, 1, 3, 9, 16, 1, 2, 10, 11]),
    "Kaiser": (_kaiser, [1, 6, 1, 3, 14, 17, 1, 5, 17, 18]),
    "mle": (lambda data: PCA("mle").fit(data).n_components_, [29, 29, 12, 12, 60, 60, 11, 11]),
    "95 %": (lambda data: PCA(0.95).fit(data).n_components_, [1, 10, 1, 10, 29, 40, 2, 9, 58, 59]),
    "Bai-Ng": (_bai_ng, [8, 8, 8, 8, 8, 7, 8, 8, 8, 8]),
}


@pytest.mark.parametrize("rule", DECISIONS)
def test_numbers_of_components(rule):
    judge, expected = DECISIONS[rule]
    tables = (load_breast_cancer().data, load_wine().data, _varying(load_digits().data), _macro(), _faces())
    each = itertools.chain.from_iterable((data, StandardScaler().fit_transform(data)) for data in tables)
    assert [judge(data) for data, _ in zip(each, expected, strict=False)] == expected


# Estimates from n = 2p and 4p rows against the covariance of all other rows, in the table of
# docs/inference/covariance.md, for tumours, wines and digits: the squared error over that of the sample, and the
# variance of the minimum-variance weights in units of 1/p.
COVARIANCES = {
    "sample": (RandomMatrixCovariance("sample"), [1, 17.4, 1, 8.33, 1, 1.76, 1, 1.25, 1, 1.96, 1, 1.21]),
    "LedoitWolf": (LedoitWolf(), [0.93, 6.10, 0.92, 5.32, 0.93, 1.31, 0.98, 1.13, 0.83, 1.15, 0.90, 1.05]),
    "OAS": (OAS(), [0.94, 5.92, 0.94, 5.15, 0.97, 1.32, 1.00, 1.13, 0.83, 1.15, 0.90, 1.05]),
    "ledoit-wolf": (
        RandomMatrixCovariance("ledoit-wolf"),
        [0.92, 6.10, 0.92, 5.32, 0.90, 1.31, 0.97, 1.13, 0.83, 1.15, 0.90, 1.05],
    ),
    "qis": (RandomMatrixCovariance(), [0.98, 10.6, 0.98, 7.02, 0.99, 1.39, 1.00, 1.16, 0.83, 1.22, 0.92, 1.08]),
}


def _errors(estimator: EmpiricalCovariance, data: np.ndarray, n: int) -> list[float]:
    """Means over 20 divisions of the rows."""
    data = StandardScaler().fit_transform(data)
    found = []
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(data))
        known, others = data[order[:n]], data[order[n:]]
        truth, sample = np.cov(others.T), np.cov(known.T)
        estimate = estimator.fit(known).covariance_
        weights = np.linalg.solve(estimate, np.ones(len(truth)))
        weights /= weights.sum()
        loss = ((estimate - truth) ** 2).sum() / ((sample - truth) ** 2).sum()
        found.append([loss, len(truth) * weights @ truth @ weights])
    return [float(mean) for mean in np.mean(found, axis=0)]


def _tables() -> list[np.ndarray]:
    return [load_breast_cancer().data, load_wine().data, _varying(load_digits().data, 180)]


@pytest.mark.parametrize("name", COVARIANCES)
def test_covariances_of_rows_that_were_left_out(name):
    estimator, expected = COVARIANCES[name]
    found = [_errors(estimator, data, n * data.shape[1]) for data in _tables() for n in (2, 4)]
    np.testing.assert_allclose(np.ravel(found), expected, rtol=0.007)


def test_as_many_rows_as_columns():
    """The smallest levels of the nonlinear estimate are then too small for minimum-variance weights."""
    for data, linear, nonlinear in zip(_tables(), (7.42, 1.54, 1.24), (89.1, 3.57, 5.62), strict=True):
        found = [_errors(COVARIANCES[name][0], data, data.shape[1])[1] for name in ("ledoit-wolf", "qis")]
        np.testing.assert_allclose(found, (linear, nonlinear), rtol=0.005)


def _ratios(key):
    return rmt.statistics.gap_ratios(rmt.GOE(61).eigenvalues(key))


def test_the_law_of_the_gap_ratios():
    """As docs/inference/goodness_of_fit.md says of the correlations of digits."""
    ratios = rmt.statistics.gap_ratios(np.linalg.eigvalsh(np.corrcoef(_varying(load_digits().data).T)))
    goe, poisson = rmt.laws.GapRatio(1), rmt.laws.PoissonGapRatio()
    assert ratios.mean() == pytest.approx(0.595, abs=5e-4)
    assert scipy.stats.kstest(np.asarray(ratios), scipy_stats.frozen(goe).cdf).pvalue == pytest.approx(0.047, abs=5e-4)
    assert anderson_darling(ratios, poisson, calibration="independent").p_value == pytest.approx(5e-9, rel=0.1)
    assert anderson_darling(ratios, goe, calibration="independent").p_value == pytest.approx(0.053, abs=5e-4)
    drawn = anderson_darling(ratios, goe, calibration=_ratios, key=jax.random.key(0))
    assert drawn.p_value == pytest.approx(0.11, abs=0.03)
