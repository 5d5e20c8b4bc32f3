"""Covariance matrices and principal components as estimators of scikit-learn, which pass its `check_estimator`."""

from numbers import Integral, Real
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.covariance import EmpiricalCovariance
from sklearn.utils.validation import check_is_fitted, validate_data

from rmtjax import _checks
from rmtjax._typing import Missing, RankMethodWithoutKey, ShrinkageMethod, ShrinkageTarget, SpikedLoss
from rmtjax.inference import shrink_covariance, signal_rank


class RandomMatrixCovariance(EmpiricalCovariance):
    """A covariance matrix by `rmtjax.inference.shrink_covariance`, with the interface of scikit-learn's estimators.

    `score`, `error_norm` and `mahalanobis` come from `sklearn.covariance.EmpiricalCovariance`. All computations are in
    double precision, whatever JAX's default is.

    Args:
        method: a method of `shrink_covariance`.
        assume_centered: whether the mean is known to be 0.
        store_precision: whether `fit` computes the inverse as well.
        half_life: the number of rows after which a weight is halved; the last row is the newest.
        target: the target for `method="ledoit-wolf"`.
        loss: the loss for `method="spiked"`.
        noise: for `method="spiked"`, the standard deviation of variables without spikes.
        standardize: whether correlations are shrunk and variances restored, as is right for features in several units.
        missing: what `fit` does with NaN, as in `shrink_covariance`; `score` and its relatives need complete samples.

    Attributes after `fit`: `covariance_`, `precision_`, `location_`, `n_features_in_` and `feature_names_in_`.

    Example:
        >>> import numpy as np
        >>> data = np.random.default_rng(0).normal(size=(60, 40))
        >>> found = RandomMatrixCovariance().fit(data)
        >>> print(found.covariance_.shape, f"{found.error_norm(np.eye(40), scaling=True):.2f}")
        (40, 40) 0.05
    """

    # Scikit-learn validates the parameters by this table; the base class has the entries of its own parameters.
    _parameter_constraints = {  # noqa: RUF012
        **EmpiricalCovariance._parameter_constraints,
        "method": [str],
        "half_life": [Real, None],
        "target": [str, None],
        "loss": [str, None],
        "noise": [Real, None],
        "standardize": ["boolean"],
        "missing": [str, None],
    }

    location_: np.ndarray

    def __init__(
        self,
        method: ShrinkageMethod = "qis",
        *,
        assume_centered: bool = False,
        store_precision: bool = True,
        half_life: float | None = None,
        target: ShrinkageTarget | None = None,
        loss: SpikedLoss | None = None,
        noise: float | None = None,
        standardize: bool = False,
        missing: Missing | None = None,
    ):
        super().__init__(store_precision=store_precision, assume_centered=assume_centered)
        self.method: ShrinkageMethod = method
        self.half_life = half_life
        self.target: ShrinkageTarget | None = target
        self.loss: SpikedLoss | None = loss
        self.noise = noise
        self.standardize = standardize
        self.missing: Missing | None = missing

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn may expect; NaN only with `missing`."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing is not None
        return tags

    def fit(self, X: Any, y: Any = None) -> "RandomMatrixCovariance":
        """Estimate the matrix.

        Args:
            X: samples × features, at least two samples.
            y: not used.
        """
        self._validate_params()
        finite = True if self.missing is None else "allow-nan"
        data = np.asarray(validate_data(self, X, ensure_min_samples=2, ensure_all_finite=finite), np.float64)
        if self.assume_centered:
            self.location_ = np.zeros(data.shape[1])
        else:
            age = np.arange(len(data))[::-1]
            weights = np.ones(len(data)) if self.half_life is None else 0.5 ** (age / self.half_life)
            there = ~np.isnan(data)
            if self.missing == "drop":
                there &= there.all(axis=1, keepdims=True)
            shares = weights[:, None] * there
            total = shares.sum(axis=0)  # a column without numbers is refused below, with the reason
            self.location_ = np.where(there, data * shares, 0).sum(axis=0) / np.where(total > 0, total, 1)
        with jax.enable_x64(True):
            covariance = shrink_covariance(
                jnp.asarray(data),
                method=self.method,
                center=not self.assume_centered,
                half_life=self.half_life,
                target=self.target,
                loss=self.loss,
                noise=self.noise,
                standardize=self.standardize,
                missing=self.missing,
            )
        self._set_covariance(np.array(covariance))
        return self


class RandomMatrixPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Principal components that are signal; `rmtjax.inference.signal_rank` gives their number.

    `transform` gives the scores along the components, and `inverse_transform` the data of these scores. Together they
    leave out what noise explains. Columns that are constant in the data of `fit` are not tested; their loadings are 0.

    *Columns of different units or different noise.* The default method takes the noise for equally strong in all
    columns. Where it is not, nearly all components are real but worthless: the breast cancer data of scikit-learn have
    29 of 30, in their own units and also after `StandardScaler`, because a column that holds much signal is left with
    little noise. `make_pipeline(StandardScaler(), RandomMatrixPCA("deflated-parallel-analysis"))` finds 7: this method
    compares with one noise level for each column. It needs the scaling too. In their own units two columns have 99 %
    of the variance, and it finds 1.

    `score` is the mean log-likelihood under the model of probabilistic principal components: normal data with the
    covariance matrix $\sum_k (\lambda_k - \sigma^2)_+ v_k v_k^T + \sigma^2$, for the levels $\lambda_k$ and directions
    $v_k$ that are kept. It differs from that of `sklearn.decomposition.PCA` in σ² alone, the noise of the test.

    Args:
        method: a method of `signal_rank` without draws, by default the one that it takes by default.
        alpha: significance level of each test, between 0 and 1.
        noise: σ, if it is known.
        min_components: how many components are kept even if none is signal, as the next step of a pipeline needs data.

    Attributes after `fit`: `n_components_`, `components_` (rows), `explained_variance_`,
    `explained_variance_ratio_`, `singular_values_`, `mean_`, `noise_variance_`, `n_samples_`, and `signal_rank_`, the
    number without `min_components`.

    Example:
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> data = rng.normal(size=(200, 30)) + 3 * rng.normal(size=(200, 2)) @ np.eye(2, 30)
        >>> found = RandomMatrixPCA().fit(data)
        >>> print(found.n_components_, found.transform(data).shape)
        2 (200, 2)
        >>> print(f"{found.score(data):.2f}", found.get_covariance().shape)
        -44.52 (30, 30)

    References:
        Tipping and Bishop (1999), J. R. Stat. Soc. B 61, 611, eqs (3) to (8), for the model and its likelihood.
    """

    mean_: np.ndarray
    signal_rank_: int
    noise_variance_: float
    n_components_: int
    components_: np.ndarray
    explained_variance_: np.ndarray
    explained_variance_ratio_: np.ndarray
    singular_values_: np.ndarray
    n_samples_: int

    def __init__(
        self,
        method: RankMethodWithoutKey | None = None,
        *,
        alpha: float = 0.05,
        noise: float | None = None,
        min_components: int = 1,
    ):
        self.method: RankMethodWithoutKey | None = method
        self.alpha = alpha
        self.noise = noise
        self.min_components = min_components

    def fit(self, X: Any, y: Any = None) -> "RandomMatrixPCA":
        """Find the components.

        Args:
            X: samples × features, at least three samples.
            y: not used.
        """
        least = self.min_components
        if not isinstance(least, Integral) or least < 0:
            raise _checks.refusal("min_components", "be an integer of at least 0", least)
        if self.method is not None:
            _checks.choice("method", self.method, RankMethodWithoutKey)
        data = np.asarray(validate_data(self, X, ensure_min_samples=3), np.float64)
        self.mean_ = data.mean(axis=0)
        varies = (data != data[0]).any(axis=0)
        if not varies.any():
            varies[:] = True  # refused below, with the reason
        _, values, directions = np.linalg.svd((data - self.mean_)[:, varies], full_matrices=False)
        with jax.enable_x64(True):
            found = signal_rank(jnp.asarray(data[:, varies]), method=self.method, alpha=self.alpha, noise=self.noise)
            self.signal_rank_, self.noise_variance_ = int(found.rank), float(found.noise) ** 2
        self.n_components_ = min(max(self.signal_rank_, int(least)), len(values))
        # The largest entry of each component is positive, so that its sign does not depend on the LAPACK.
        largest = np.argmax(np.abs(directions), axis=1)
        directions = directions * np.sign(directions[np.arange(len(directions)), largest])[:, None]
        self.components_ = np.zeros((self.n_components_, data.shape[1]))
        self.components_[:, varies] = directions[: self.n_components_]
        self.n_samples_ = len(data)
        self.singular_values_ = values[: self.n_components_]
        variances = values**2 / (len(data) - 1)
        self.explained_variance_ = variances[: self.n_components_]
        self.explained_variance_ratio_ = self.explained_variance_ / variances.sum()
        self._n_features_out = self.n_components_
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The scores of samples along the components."""
        check_is_fitted(self)
        data = validate_data(self, X, reset=False)
        return (data - self.mean_) @ self.components_.T

    def inverse_transform(self, X: Any) -> np.ndarray:
        """The data of scores along the components."""
        check_is_fitted(self)
        return np.asarray(X) @ self.components_ + self.mean_

    def get_covariance(self) -> np.ndarray:
        """The covariance matrix of the model, features × features."""
        check_is_fitted(self)
        excess = self._levels() - self.noise_variance_
        return (self.components_.T * excess) @ self.components_ + self.noise_variance_ * np.eye(self.mean_.size)

    def get_precision(self) -> np.ndarray:
        """The inverse of the covariance matrix of the model."""
        check_is_fitted(self)
        return np.eye(self.mean_.size) / self.noise_variance_ - (self.components_.T * self._lost()) @ self.components_

    def score_samples(self, X: Any) -> np.ndarray:
        """The log-likelihood of each sample under the model."""
        scores = self.transform(X)
        deviations = validate_data(self, X, reset=False) - self.mean_
        # Without a matrix of features × features.
        distances = (deviations**2).sum(axis=1) / self.noise_variance_ - scores**2 @ self._lost()
        others = self.mean_.size - self.n_components_
        log_determinant = np.log(self._levels()).sum() + others * np.log(self.noise_variance_)
        return -0.5 * (distances + log_determinant + self.mean_.size * np.log(2 * np.pi))

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log-likelihood of the samples under the model, as cross-validation needs it.

        Args:
            X: samples × features.
            y: not used.
        """
        return float(self.score_samples(X).mean())

    def _levels(self) -> np.ndarray:
        """The variances of the model along the components, none below the noise."""
        return np.maximum(self.explained_variance_, self.noise_variance_)

    def _lost(self) -> np.ndarray:
        """What the precision along each component lacks to that of the noise."""
        return 1 / self.noise_variance_ - 1 / self._levels()
