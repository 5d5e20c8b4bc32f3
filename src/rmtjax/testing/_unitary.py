"""Check of an ensemble against the contract of unitary ensembles."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rmtjax._typing import KeyScalar
from rmtjax.testing._compare import ROUNDING_ULPS, host, require, require_close
from rmtjax.testing._draws import check_contract, require_finite_square

_CHECK = "check_unitary_ensemble"


def check_unitary_ensemble(ensemble: Any, key: KeyScalar) -> None:
    r"""Check the contract of an ensemble of unitary matrices, on a few draws.

    The check demands:

    - eigenphases θ of the right shape, real, ascending and in (-π, π]; eigenvalues $e^{i\theta}$;
    - samples of the right shape, unitary; other keys give other samples;
    - counts equal to those of the phases;
    - the same results of the bound methods `sample`, `eigenphases`, `eigenvalues` and `count_below` under `jit` and
      `vmap`;
    - one compilation of a function of the ensemble for all values of its continuous parameters, and finite derivatives
      of the phases by them.

    It does not check the distribution. For this, compare `simulate` with exact moments or with `law()`.

    Args:
        ensemble: a pytree with `n`, `sample(key)`, `eigenphases(key)`, `eigenvalues(key)` and `count_below(key, x)`.
        key: a typed key.

    Raises:
        AssertionError: the contract is broken; the message says where.

    Example:
        >>> import jax, rmtjax as rmt
        >>> check_unitary_ensemble(rmt.CUE(2), jax.random.key(0))
    """
    methods = ("sample", "eigenphases", "eigenvalues", "count_below")
    check_contract(_CHECK, ensemble, key, methods, _spectrum, _check_sample)


def _spectrum(ensemble: Any, key: KeyScalar) -> np.ndarray:
    """The phases, checked together with the eigenvalues."""
    phases, n = host(ensemble.eigenphases(key)), ensemble.n
    require(phases.shape == (n,), _CHECK, f"eigenphases have shape {phases.shape}, not ({n},).")
    require(jnp.issubdtype(phases.dtype, jnp.floating), _CHECK, f"eigenphases are {phases.dtype}, not real.")
    pi = np.asarray(np.pi, phases.dtype)
    require((phases > -pi) & (phases <= pi), _CHECK, f"eigenphases are not in (-π, π]: {phases}.")
    require(np.diff(phases) >= 0, _CHECK, f"eigenphases do not ascend: {phases}.")
    on_circle = jax.lax.complex(np.cos(phases), np.sin(phases))
    require_close(_CHECK, "eigenvalues against exp(i phases)", ensemble.eigenvalues(key), on_circle)
    return phases


def _check_sample(draw: Any, n: int) -> None:
    matrix = host(draw)
    require_finite_square(_CHECK, matrix, n)
    deviation = np.abs(matrix @ matrix.conj().T - np.eye(len(matrix))).max()
    allowed = ROUNDING_ULPS * np.finfo(matrix.dtype).eps
    require(deviation <= allowed, _CHECK, f"the product of a sample and its adjoint is off 1 by {deviation:.3g}.")
