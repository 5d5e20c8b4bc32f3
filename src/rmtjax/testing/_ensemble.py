"""Check of an ensemble against the contract of ensembles with real eigenvalues."""

from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from rmtjax._typing import KeyScalar
from rmtjax.linalg import PaddedMatrix
from rmtjax.spectra import Spectrum
from rmtjax.testing._compare import ROUNDING_ULPS, host, require
from rmtjax.testing._draws import array_of, check_contract, require_finite_square

_CHECK = "check_ensemble"


def check_ensemble(ensemble: Any, key: KeyScalar, *, hermitian: bool = True) -> None:
    """Check the contract of an ensemble with real eigenvalues, on a few draws.

    The check demands:

    - eigenvalues of the right shape, real, finite, ascending, and padded only with `+inf`;
    - samples of the right shape, finite and Hermitian; other keys give other samples;
    - counts equal to those of the eigenvalues;
    - the same results of the bound methods `sample`, `eigenvalues` and `count_below` under `jit` and `vmap`;
    - one compilation of a function of the ensemble for all values of its continuous parameters, and finite derivatives
      of the spectrum by them.

    It does not check the distribution. For this, compare `simulate` with exact moments or with `law()`.

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
    methods = ("sample", "eigenvalues", "count_below")
    check_contract(_CHECK, ensemble, key, methods, _spectrum, partial(_check_sample, hermitian=hermitian))


def _spectrum(ensemble: Any, key: KeyScalar) -> np.ndarray:
    """The levels without padding, checked."""
    spectrum, n = ensemble.eigenvalues(key), ensemble.n
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
