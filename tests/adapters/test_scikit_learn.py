"""Estimators of scikit-learn: its own checks, and the functions that they stand for."""

import numpy as np
import pytest
import scipy.stats
from sklearn.covariance import EmpiricalCovariance
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import rmtjax as rmt
from rmtjax.adapters.scikit_learn import RandomMatrixCovariance, RandomMatrixPCA


def _data(n: int = 60, p: int = 20) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, p)) * np.geomspace(1, 3, p) + 4


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [RandomMatrixCovariance(), RandomMatrixPCA()], ids=lambda e: type(e).__name__)
def test_scikit_learn_finds_no_fault(estimator):
    results = check_estimator(estimator, on_skip=None, on_fail=None)
    assert [each for each in results if each["status"] not in ("passed", "skipped")] == []
    assert len(results) > 30


def test_covariance_is_that_of_the_function():
    data = _data()
    found = RandomMatrixCovariance().fit(data)
    np.testing.assert_allclose(found.covariance_, rmt.inference.shrink_covariance(data), rtol=1e-10)
    np.testing.assert_allclose(found.precision_ @ found.covariance_, np.eye(20), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.location_, data.mean(axis=0))
    assert isinstance(found, EmpiricalCovariance)
    truth = np.diag(np.geomspace(1, 9, 20))
    assert found.error_norm(truth) < EmpiricalCovariance().fit(data).error_norm(truth)
    test = np.random.default_rng(1).normal(size=(500, 20)) * np.geomspace(1, 3, 20) + 4
    assert found.score(test) > EmpiricalCovariance().fit(data).score(test)
    assert found.mahalanobis(test).mean() == pytest.approx(20, rel=0.2)


def test_options_reach_the_function():
    data = _data()
    found = RandomMatrixCovariance("analytical", assume_centered=True, half_life=30.0, standardize=True).fit(data)
    options = {"method": "analytical", "center": False, "half_life": 30.0, "standardize": True}
    np.testing.assert_allclose(found.covariance_, rmt.inference.shrink_covariance(data, **options), rtol=1e-10)
    np.testing.assert_allclose(
        np.diagonal(found.covariance_), np.average(data**2, axis=0, weights=0.5 ** (np.arange(60)[::-1] / 30))
    )
    found = RandomMatrixCovariance("ledoit-wolf", target="one-factor").fit(data)
    expected = rmt.inference.shrink_covariance(data, method="ledoit-wolf", target="one-factor")
    np.testing.assert_allclose(found.covariance_, expected, rtol=1e-10)
    with pytest.raises(ValueError, match="`method` must be one of"):
        RandomMatrixCovariance("best").fit(data)


@pytest.mark.slow
def test_methods_compete_in_a_grid():
    search = GridSearchCV(RandomMatrixCovariance(), {"method": ["qis", "sample"]}, cv=3).fit(_data(45, 20))
    assert search.best_params_ == {"method": "qis"}


def test_components_are_those_of_pca_and_as_many_as_are_signal():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(60, 20)) + 4 * rng.normal(size=(60, 2)) @ np.eye(2, 20) + 1
    found = RandomMatrixPCA().fit(data)
    assert (found.n_components_, found.signal_rank_) == (2, 2)
    theirs = PCA(2).fit(data)
    np.testing.assert_allclose(found.explained_variance_, theirs.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(np.abs(found.components_ @ theirs.components_.T), np.eye(2), rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-10)
    assert found.noise_variance_ == pytest.approx(1, rel=0.15)
    scores = found.fit_transform(data)
    np.testing.assert_allclose(found.inverse_transform(scores), theirs.inverse_transform(theirs.transform(data)))
    assert list(found.get_feature_names_out()) == ["randommatrixpca0", "randommatrixpca1"]


def test_the_model_is_that_of_pca():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(60, 20)) + 4 * rng.normal(size=(60, 2)) @ np.eye(2, 20) + 1
    found, theirs = RandomMatrixPCA().fit(data), PCA(2).fit(data)
    # PCA divides what is left by the number of levels; all else is the same.
    left = np.linalg.eigvalsh(np.cov(data.T))[:-2].mean()
    assert theirs.noise_variance_ == pytest.approx(left)
    assert found.noise_variance_ != pytest.approx(left, rel=1e-3)
    theirs.noise_variance_ = found.noise_variance_
    np.testing.assert_allclose(found.singular_values_, theirs.singular_values_, rtol=1e-10)
    assert (found.n_samples_, found.n_features_in_) == (theirs.n_samples_, theirs.n_features_in_)
    for method in ("get_covariance", "get_precision"):
        np.testing.assert_allclose(getattr(found, method)(), getattr(theirs, method)(), rtol=1e-9, atol=1e-12)
    new = rng.normal(size=(7, 20)) + 1
    np.testing.assert_allclose(found.score_samples(new), theirs.score_samples(new), rtol=1e-10)
    assert found.score(new) == pytest.approx(theirs.score(new), rel=1e-10)
    expected = scipy.stats.multivariate_normal(found.mean_, found.get_covariance()).logpdf(new)
    np.testing.assert_allclose(found.score_samples(new), expected, rtol=1e-10)
    # The truth is likelier than PCA with all but one component, which takes noise for structure.
    test = rng.normal(size=(500, 20)) + 4 * rng.normal(size=(500, 2)) @ np.eye(2, 20) + 1
    assert found.score(test) > PCA(19).fit(data).score(test)


def test_the_model_of_a_component_below_the_noise_is_noise():
    noise = np.random.default_rng(5).normal(size=(60, 20))
    found = RandomMatrixPCA(noise=3.0).fit(noise)
    assert found.n_components_ == 1
    assert found.explained_variance_[0] < found.noise_variance_ == pytest.approx(9)
    np.testing.assert_allclose(found.get_covariance(), 9 * np.eye(20), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.get_precision(), np.eye(20) / 9, rtol=0, atol=1e-12)
    expected = scipy.stats.multivariate_normal(found.mean_, 9 * np.eye(20)).logpdf(noise)
    np.testing.assert_allclose(found.score_samples(noise), expected, rtol=1e-10)
    none = RandomMatrixPCA(noise=3.0, min_components=0).fit(noise)
    np.testing.assert_allclose(none.score_samples(noise), expected, rtol=1e-10)
    assert none.get_covariance().shape == (20, 20)


def test_standardised_features_and_one_noise_level_for_each():
    data = load_breast_cancer().data
    variances = data.var(axis=0)
    assert np.sort(variances)[-2:].sum() / variances.sum() == pytest.approx(0.991, abs=5e-4)
    found = make_pipeline(StandardScaler(), RandomMatrixPCA("deflated-parallel-analysis")).fit(data)
    assert found[-1].n_components_ == 7
    assert found.transform(data).shape == (569, 7)
    search = GridSearchCV(found, {"randommatrixpca__alpha": [0.01, 0.05]}, cv=2).fit(data)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_the_default_method_is_that_of_the_test():
    # Of three columns the default is exact, with a p-value of 0.0008 here and of 0.06 by the other law.
    data = np.random.default_rng(0).normal(size=(5, 3)) + 5 * np.linspace(-1, 1, 5)[:, None]
    ranks = [RandomMatrixPCA(method).fit(data).signal_rank_ for method in (None, "exact", "tracy-widom")]
    assert ranks == [1, 1, 0]


def test_methods_with_draws_are_refused():
    with pytest.raises(ValueError, match="`method` must be one of 'tracy-widom'"):
        RandomMatrixPCA(method="permutation").fit(_data(45, 20))


def test_constant_columns_are_no_variables_of_the_test():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(60, 20)) + 4 * rng.normal(size=(60, 2)) @ np.eye(2, 20) + 1
    constant = np.insert(data, [3, 20], 0.1, axis=1)
    expected, found = RandomMatrixPCA().fit(data), RandomMatrixPCA().fit(constant)
    assert found.noise_variance_ == expected.noise_variance_
    np.testing.assert_array_equal(found.components_, np.insert(expected.components_, [3, 20], 0.0, axis=1))
    # A column that was constant in the fold of the fit need not be so in another one.
    constant[0, 3] = 7.0
    np.testing.assert_allclose(found.transform(constant), expected.transform(data), rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="`data` must"):
        RandomMatrixPCA().fit(np.full((9, 3), 0.1))


def test_noise_keeps_the_least_number_of_components():
    noise = np.random.default_rng(5).normal(size=(60, 20))
    assert RandomMatrixPCA().fit(noise).n_components_ == 1
    found = RandomMatrixPCA(min_components=0).fit(noise)
    assert found.transform(noise).shape == (60, 0)
    with pytest.raises(ValueError, match="`min_components` must be an integer"):
        RandomMatrixPCA(min_components=-1).fit(noise)


def test_samples_with_gaps():
    data = np.random.default_rng(0).normal(size=(30, 4)) + 5
    gaps = np.where(np.arange(120).reshape(30, 4) % 11 == 3, np.nan, data)
    found = RandomMatrixCovariance(missing="pairwise").fit(gaps)
    np.testing.assert_allclose(found.location_, np.nanmean(gaps, axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.covariance_, rmt.inference.shrink_covariance(gaps, missing="pairwise"), rtol=1e-6)
    complete = gaps[~np.isnan(gaps).any(axis=1)]
    dropped, expected = RandomMatrixCovariance(missing="drop").fit(gaps), RandomMatrixCovariance().fit(complete)
    np.testing.assert_allclose(dropped.location_, expected.location_, rtol=1e-12)
    np.testing.assert_allclose(dropped.covariance_, expected.covariance_, rtol=1e-12)
    with pytest.raises(ValueError, match="contains NaN"):
        RandomMatrixCovariance().fit(gaps)
