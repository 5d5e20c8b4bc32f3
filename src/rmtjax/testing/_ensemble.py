"""Check of an ensemble against the contract of ensembles with real eigenvalues."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from rmtjax._typing import KeyScalar
from rmtjax.linalg import PaddedMatrix, PaddedSpectrum
from rmtjax.testing._arguments import stacked
from rmtjax.testing._compare import ROUNDING_ULPS, fail, host, is_inexact, require, require_finite
from rmtjax.testing._transformations import check_jit, check_vmap, require_hashable

_CHECK = "check_ensemble"
_METHODS = ("sample", "eigenvalues", "counts")


def check_ensemble(ensemble: Any, key: KeyScalar, *, hermitian: bool = True) -> None:
    """Check the contract of an ensemble with real eigenvalues, on a few draws.

    Shapes; eigenvalues real, finite and ascending, padded with `+inf` if at all; samples finite, and
    Hermitian; counts equal to those of the eigenvalues; other keys give other draws; `sample`, `eigenvalues`
    and `counts` give the same as bound methods under `jit` and `vmap`; the ensemble can be passed into a
    compiled function, which is compiled once for all values of its continuous parameters; the spectrum has
    finite derivatives by them. Whether the distribution is right is not checked here: hold `simulate` against
    the exact moments or `law()` for that.

    Args:
        ensemble: an object with `n`, `sample(key)`, `eigenvalues(key)` and `counts(key, x)`, a pytree.
        key: a typed key.
        hermitian: whether samples are Hermitian matrices.

    Raises:
        AssertionError: the contract is broken; the message says where.

    Example:
        >>> import jax, rmtjax as rmt
        >>> check_ensemble(rmt.Wigner(3), jax.random.key(0))
    """
    _check_parameters(ensemble)
    draws = stacked(key)
    for i in range(draws.size):
        spectrum = ensemble.eigenvalues(draws[i])
        levels = _check_spectrum(spectrum, ensemble.n)
        _check_counts(ensemble, draws[i], levels, host(_values(spectrum)).dtype)
        _check_sample(ensemble.sample(draws[i]), ensemble.n, hermitian)
    _check_fresh(ensemble, draws)
    for name in _METHODS:
        require_hashable(getattr(ensemble, name), f"{_CHECK}, {name}")
    spectrum = ensemble.eigenvalues(key)
    between = _gaps(_check_spectrum(spectrum, ensemble.n)).astype(host(_values(spectrum)).dtype)
    check_jit(lambda k: _draw(ensemble, between, k), key)
    check_vmap(lambda k: _draw(ensemble, between, k), key)
    _check_compilations(ensemble, key)
    _check_gradient(ensemble, key)


def _draw(ensemble: Any, x: np.ndarray, key: KeyScalar) -> dict[str, Any]:
    """What the ensemble returns for a key, in one function: one compilation in the place of three."""
    counts = ensemble.counts(key, jnp.asarray(x))
    return {"sample": ensemble.sample(key), "eigenvalues": ensemble.eigenvalues(key), "counts": counts}


def _values(draw: Any) -> jax.Array:
    return draw.values if isinstance(draw, PaddedMatrix | PaddedSpectrum) else draw


def _check_spectrum(spectrum: Any, n: int) -> np.ndarray:
    """The levels without padding."""
    values = host(_values(spectrum))
    require(values.shape == (n,), _CHECK, f"eigenvalues have shape {values.shape}, not ({n},).")
    require(jnp.issubdtype(values.dtype, jnp.floating), _CHECK, f"eigenvalues are {values.dtype}, not real.")
    order = int(spectrum.order) if isinstance(spectrum, PaddedSpectrum) else n
    require(1 <= order <= n, _CHECK, f"the order is {order}, not between 1 and {n}.")
    levels, padding = values[:order], values[order:]
    require(np.isfinite(levels), _CHECK, f"eigenvalues are not finite: {levels}.")
    require(np.diff(levels) >= 0, _CHECK, f"eigenvalues do not ascend: {levels}.")
    require(np.isposinf(padding), _CHECK, f"the padding is {padding}, not +inf.")
    return levels


def _check_sample(sample: Any, n: int, hermitian: bool) -> None:
    matrix = host(_values(sample))
    # A quaternion self-dual matrix has 2n rows for n distinct eigenvalues.
    require(matrix.shape in [(n, n), (2 * n, 2 * n)], _CHECK, f"at n = {n} a sample is {matrix.shape}.")
    require(np.isfinite(matrix), _CHECK, "a sample is not finite.")
    if isinstance(sample, PaddedMatrix):
        require(matrix[~host(sample.mask)] == 0, _CHECK, "a padded sample is not zero outside its block.")
    if hermitian:
        allowed = ROUNDING_ULPS * np.finfo(matrix.dtype).eps * np.abs(matrix).max()
        skew = np.abs(matrix - matrix.conj().T).max()
        require(skew <= allowed, _CHECK, f"a sample differs from its adjoint by {skew:.3g}.")


def _gaps(levels: np.ndarray) -> np.ndarray:
    """A point in each gap of a spectrum that is wide enough, and one on either side.

    At a level rounding decides, and a compiled function may round otherwise. The points are not in the middle
    of the gaps, where matrices with discrete entries have other levels.
    """
    size = np.abs(levels).max()
    wide = np.diff(levels) > 1e-3 * size
    inner = levels[:-1] + 0.4321 * np.diff(levels)
    return np.concatenate([[-2 * size - 1], inner[wide], [2 * size + 1]])


def _check_counts(ensemble: Any, key: KeyScalar, levels: np.ndarray, dtype: np.dtype) -> None:
    x = _gaps(levels).astype(dtype)
    counts = host(ensemble.counts(key, jnp.asarray(x)))
    require(np.issubdtype(counts.dtype, np.integer), _CHECK, f"counts are {counts.dtype}, not integers.")
    expected = np.searchsorted(levels, x)
    require(
        counts.shape == x.shape and (counts == expected).all(),
        _CHECK,
        f"counts at {x} are {counts}; the eigenvalues of the same key give {expected}.",
    )


def _check_fresh(ensemble: Any, draws: jax.Array) -> None:
    matrices = [host(_values(ensemble.sample(draws[i]))) for i in range(draws.size)]
    # Discrete entries repeat now and then; all of them alike is another matter.
    same = all(np.array_equal(matrices[0], other) for other in matrices[1:])
    require(not same, _CHECK, f"{draws.size} keys give one and the same sample.")


def _check_parameters(module: Any, path: str = "ensemble") -> None:
    """A continuous parameter must be a leaf: as a static field it would cost a compilation for each value."""
    if not dataclasses.is_dataclass(module):
        return
    for field in dataclasses.fields(module):
        value, name = getattr(module, field.name), f"{path}.{field.name}"
        if field.metadata.get("static") and (is_inexact(value) or isinstance(value, float | complex)):
            fail(_CHECK, f"`{name}` = {value!r} is a static field: each value would be compiled anew.")
        _check_parameters(value, name)


def _check_compilations(ensemble: Any, key: KeyScalar) -> None:
    traces = []

    @jax.jit
    def eigenvalues(ensemble: Any, key: KeyScalar) -> Any:
        traces.append(None)
        return ensemble.eigenvalues(key)

    leaves, structure = jax.tree.flatten(ensemble)
    # A Python number as the factor leaves weak types weak, so that only the value changes.
    other = [leaf * (63 / 64) if is_inexact(leaf) or isinstance(leaf, float) else leaf for leaf in leaves]
    for values in (leaves, other):
        eigenvalues(structure.unflatten(values), key)
    require(len(traces) == 1, _CHECK, "a second value of the continuous parameters was compiled anew.")


def _check_gradient(ensemble: Any, key: KeyScalar) -> None:
    def energy(ensemble: Any) -> jax.Array:
        levels = _values(ensemble.eigenvalues(key))
        finite = jnp.isfinite(levels)
        return jnp.sum(jnp.where(finite, jnp.where(finite, levels, 0) ** 2, 0))

    parameters, rest = eqx.partition(ensemble, is_inexact)
    gradient = jax.jit(jax.grad(lambda p: energy(eqx.combine(p, rest))))(parameters)
    require_finite(_CHECK, "the derivative of Σ λ² by the parameters", gradient)
