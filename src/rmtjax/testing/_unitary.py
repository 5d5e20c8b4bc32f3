"""Check of an ensemble against the contract of unitary ensembles."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rmtjax._typing import KeyScalar
from rmtjax.testing._arguments import stacked
from rmtjax.testing._compare import ROUNDING_ULPS, host, require, require_close
from rmtjax.testing._draws import (
    gaps,
    require_composable,
    require_counts,
    require_finite_square,
    require_fresh,
    require_gradient,
    require_leaves,
    require_one_compilation,
)

_CHECK = "check_unitary_ensemble"
_METHODS = ("sample", "eigenphases", "eigenvalues", "count_below")


def check_unitary_ensemble(ensemble: Any, key: KeyScalar) -> None:
    r"""Check the contract of an ensemble of unitary matrices, on a few draws.

    The shapes must be right; eigenphases θ must be real, ascending and in (-π, π], eigenvalues $e^{i\theta}$, samples
    unitary, counts equal to those of the phases. Other keys must give other draws. `sample`, `eigenphases`,
    `eigenvalues` and `count_below` must give the same as bound methods under `jit` and `vmap`. A function of the
    ensemble must compile once for all values of its continuous parameters, and the phases must have finite derivatives
    by them. The distribution is not checked: compare `simulate` with the exact moments or `law()` for that.

    Args:
        ensemble: a pytree with `n`, `sample(key)`, `eigenphases(key)`, `eigenvalues(key)` and `count_below(key, x)`.
        key: a typed key.

    Raises:
        AssertionError: the contract is broken; the message says where.

    Example:
        >>> import jax, rmtjax as rmt
        >>> check_unitary_ensemble(rmt.CUE(2), jax.random.key(0))
    """
    require_leaves(_CHECK, ensemble)
    draws = stacked(key)
    for i in range(draws.size):
        phases = _check_phases(ensemble.eigenphases(draws[i]), ensemble.n)
        _check_eigenvalues(ensemble.eigenvalues(draws[i]), phases)
        require_counts(_CHECK, ensemble, draws[i], phases)
        _check_sample(ensemble.sample(draws[i]), ensemble.n)
    require_fresh(_CHECK, ensemble, draws)
    require_composable(_CHECK, _METHODS, ensemble, gaps(host(ensemble.eigenphases(key))), key)
    require_one_compilation(_CHECK, "eigenphases", ensemble, key)
    require_gradient(_CHECK, "eigenphases", ensemble, key)


def _check_phases(draw: Any, n: int) -> np.ndarray:
    phases = host(draw)
    require(phases.shape == (n,), _CHECK, f"eigenphases have shape {phases.shape}, not ({n},).")
    require(jnp.issubdtype(phases.dtype, jnp.floating), _CHECK, f"eigenphases are {phases.dtype}, not real.")
    pi = np.asarray(np.pi, phases.dtype)
    require((phases > -pi) & (phases <= pi), _CHECK, f"eigenphases are not in (-π, π]: {phases}.")
    require(np.diff(phases) >= 0, _CHECK, f"eigenphases do not ascend: {phases}.")
    return phases


def _check_eigenvalues(draw: Any, phases: np.ndarray) -> None:
    require_close(_CHECK, "eigenvalues against exp(i phases)", draw, jax.lax.complex(np.cos(phases), np.sin(phases)))


def _check_sample(draw: Any, n: int) -> None:
    matrix = host(draw)
    require_finite_square(_CHECK, matrix, n)
    deviation = np.abs(matrix @ matrix.conj().T - np.eye(len(matrix))).max()
    allowed = ROUNDING_ULPS * np.finfo(matrix.dtype).eps
    require(deviation <= allowed, _CHECK, f"the product of a sample and its adjoint is off 1 by {deviation:.3g}.")
