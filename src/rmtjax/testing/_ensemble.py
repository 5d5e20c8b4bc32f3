"""Check of an ensemble against the contract of ensembles with real eigenvalues."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from rmtjax._typing import KeyScalar
from rmtjax.linalg import PaddedMatrix
from rmtjax.spectra import Spectrum
from rmtjax.testing._arguments import stacked
from rmtjax.testing._compare import ROUNDING_ULPS, host, require
from rmtjax.testing._draws import (
    array_of,
    gaps,
    require_composable,
    require_counts,
    require_finite_square,
    require_fresh,
    require_gradient,
    require_leaves,
    require_one_compilation,
)

_CHECK = "check_ensemble"
_METHODS = ("sample", "eigenvalues", "count_below")


def check_ensemble(ensemble: Any, key: KeyScalar, *, hermitian: bool = True) -> None:
    """Check the contract of an ensemble with real eigenvalues, on a few draws.

    The shapes must be right; eigenvalues must be real, finite and ascending, padded with `+inf` if at all, samples
    finite and Hermitian, counts equal to those of the eigenvalues. Other keys must give other draws. `sample`,
    `eigenvalues` and `count_below` must give the same as bound methods under `jit` and `vmap`. A function of the
    ensemble must compile once for all values of its continuous parameters, and the spectrum must have finite
    derivatives by them. The distribution is not checked: compare `simulate` with the exact moments or `law()` for that.

    Args:
        ensemble: a pytree with `n`, `sample(key)`, `eigenvalues(key)` and `count_below(key, x)`.
        key: a typed key.
        hermitian: whether samples are Hermitian matrices.

    Raises:
        AssertionError: the contract is broken; the message says where.

    Example:
        >>> import jax, rmtjax as rmt
        >>> check_ensemble(rmt.Wigner(3), jax.random.key(0))
    """
    require_leaves(_CHECK, ensemble)
    draws = stacked(key)
    for i in range(draws.size):
        levels = _check_spectrum(ensemble.eigenvalues(draws[i]), ensemble.n)
        require_counts(_CHECK, ensemble, draws[i], levels)
        _check_sample(ensemble.sample(draws[i]), ensemble.n, hermitian)
    require_fresh(_CHECK, ensemble, draws)
    require_composable(_CHECK, _METHODS, ensemble, gaps(_check_spectrum(ensemble.eigenvalues(key), ensemble.n)), key)
    require_one_compilation(_CHECK, "eigenvalues", ensemble, key)
    require_gradient(_CHECK, "eigenvalues", ensemble, key)


def _check_spectrum(spectrum: Any, n: int) -> np.ndarray:
    """The levels without padding."""
    values = host(array_of(spectrum))
    require(values.shape == (n,), _CHECK, f"eigenvalues have shape {values.shape}, not ({n},).")
    require(jnp.issubdtype(values.dtype, jnp.floating), _CHECK, f"eigenvalues are {values.dtype}, not real.")
    order = int(spectrum.count) if isinstance(spectrum, Spectrum) else n
    require(1 <= order <= n, _CHECK, f"the order is {order}, not between 1 and {n}.")
    levels, padding = values[:order], values[order:]
    require(np.isfinite(levels), _CHECK, f"eigenvalues are not finite: {levels}.")
    require(np.diff(levels) >= 0, _CHECK, f"eigenvalues do not ascend: {levels}.")
    require(np.isposinf(padding), _CHECK, f"the padding is {padding}, not +inf.")
    return levels


def _check_sample(sample: Any, n: int, hermitian: bool) -> None:
    matrix = host(array_of(sample))
    require_finite_square(_CHECK, matrix, n)
    if isinstance(sample, PaddedMatrix):
        require(matrix[~host(sample.mask)] == 0, _CHECK, "a padded sample is not zero outside its block.")
    if hermitian:
        allowed = ROUNDING_ULPS * np.finfo(matrix.dtype).eps * np.abs(matrix).max()
        skew = np.abs(matrix - matrix.conj().T).max()
        require(skew <= allowed, _CHECK, f"a sample differs from its adjoint by {skew:.3g}.")
