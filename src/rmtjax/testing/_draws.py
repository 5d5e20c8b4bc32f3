"""The common part of the checks of ensembles: counts, fresh draws, transformations, continuous parameters."""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from rmtjax._typing import KeyScalar
from rmtjax.linalg import PaddedMatrix
from rmtjax.spectra import Spectrum
from rmtjax.testing._arguments import stacked
from rmtjax.testing._compare import fail, host, is_inexact, require, require_finite
from rmtjax.testing._transformations import check_vmap, require_hashable


def check_contract(
    check: str,
    ensemble: Any,
    key: KeyScalar,
    methods: tuple[str, ...],
    spectrum: Callable[[Any, KeyScalar], np.ndarray],
    sample: Callable[[Any, int], None],
) -> None:
    """Check an ensemble on a few draws.

    Args:
        check: name of the check, for messages.
        ensemble: the ensemble.
        key: a typed key.
        methods: names of the methods that must be composable. The second is that of the spectrum.
        spectrum: a function that checks the spectrum of an ensemble and a key, and returns its levels without padding.
        sample: a function that checks a sample of a given size.
    """
    _require_leaves(check, ensemble)
    keys = stacked(key)
    for i in range(keys.size):
        _require_counts(check, ensemble, keys[i], spectrum(ensemble, keys[i]))
        sample(ensemble.sample(keys[i]), ensemble.n)
    _require_fresh(check, ensemble, keys)
    _require_composable(check, methods, ensemble, _gaps(spectrum(ensemble, key)), key)
    _require_one_compilation(check, methods[1], ensemble, key)
    _require_gradient(check, methods[1], ensemble, key)


def array_of(draw: Any) -> jax.Array:
    """The array of a draw, padded or not."""
    return draw.values if isinstance(draw, PaddedMatrix | Spectrum) else draw


def _gaps(levels: np.ndarray) -> np.ndarray:
    """A point in each wide gap of a spectrum, and one on either side of the spectrum.

    At a level itself rounding would decide, and a compiled function may round differently. The points are not in the
    middle of the gaps, where matrices with discrete entries may have other levels.
    """
    size = np.abs(levels).max()
    wide = np.diff(levels) > 1e-3 * size
    inner = levels[:-1] + 0.4321 * np.diff(levels)
    return np.concatenate([[-2 * size - 1], inner[wide], [2 * size + 1]]).astype(levels.dtype)


def _require_counts(check: str, ensemble: Any, key: KeyScalar, levels: np.ndarray) -> None:
    """End a check unless `count_below` counts the ascending levels."""
    x = _gaps(levels)
    counts = host(ensemble.count_below(key, jnp.asarray(x)))
    require(np.issubdtype(counts.dtype, np.integer), check, f"counts are {counts.dtype}, not integers.")
    expected = np.searchsorted(levels, x)
    message = f"counts at {x} are {counts}; the spectrum of the same key gives {expected}."
    require(np.array_equal(counts, expected), check, message)


def _require_fresh(check: str, ensemble: Any, keys: jax.Array) -> None:
    """End a check if all keys give the same sample."""
    matrices = [host(array_of(ensemble.sample(keys[i]))) for i in range(keys.size)]
    # With discrete entries two samples may be equal by chance, but hardly all of them.
    same = all(np.array_equal(matrices[0], other) for other in matrices[1:])
    require(not same, check, f"{keys.size} keys give one and the same sample.")


def require_finite_square(check: str, matrix: np.ndarray, n: int) -> None:
    """End a check unless a sample is finite, with n rows, or 2n for a quaternion matrix of n distinct eigenvalues."""
    require(matrix.shape in [(n, n), (2 * n, 2 * n)], check, f"at n = {n} a sample is {matrix.shape}.")
    require(np.isfinite(matrix), check, "a sample is not finite.")


def _require_composable(check: str, methods: tuple[str, ...], ensemble: Any, x: np.ndarray, key: KeyScalar) -> None:
    """End a check unless JAX can transform the methods; `count_below` gets the points x, the others the key only."""
    for name in methods:
        require_hashable(getattr(ensemble, name), f"{check}, {name}")

    # One function of all methods takes one compilation instead of several.
    def draw(key: KeyScalar) -> dict[str, Any]:
        points = {"count_below": (jnp.asarray(x),)}
        return {name: getattr(ensemble, name)(key, *points.get(name, ())) for name in methods}

    check_vmap(draw, key)


def _require_leaves(check: str, module: Any, path: str = "ensemble") -> None:
    """End a check if a continuous parameter is a static field, which would cost a compilation for each value."""
    if not dataclasses.is_dataclass(module):
        return
    for field in dataclasses.fields(module):
        value, name = getattr(module, field.name), f"{path}.{field.name}"
        if field.metadata.get("static") and (is_inexact(value) or isinstance(value, float | complex)):
            fail(check, f"`{name}` = {value!r} is a static field: each value would be compiled anew.")
        _require_leaves(check, value, name)


def _require_one_compilation(check: str, method: str, ensemble: Any, key: KeyScalar) -> None:
    """End a check if other values of the continuous parameters compile the spectrum again."""
    traces = []

    @jax.jit
    def spectrum(ensemble: Any, key: KeyScalar) -> Any:
        traces.append(None)
        return getattr(ensemble, method)(key)

    leaves, structure = jax.tree.flatten(ensemble)
    # A Python number as the factor keeps weak types weak, so that only the value changes.
    other = [leaf * (63 / 64) if is_inexact(leaf) or isinstance(leaf, float) else leaf for leaf in leaves]
    for parameters in (leaves, other):
        spectrum.trace(structure.unflatten(parameters), key)
    require(len(traces) == 1, check, "a second value of the continuous parameters was compiled anew.")


def _require_gradient(check: str, method: str, ensemble: Any, key: KeyScalar) -> None:
    """End a check unless the derivatives of the spectrum by the continuous parameters are finite."""

    def energy(ensemble: Any) -> jax.Array:
        levels = array_of(getattr(ensemble, method)(key))
        finite = jnp.isfinite(levels)
        return jnp.sum(jnp.where(finite, jnp.where(finite, levels, 0) ** 2, 0))

    parameters, rest = eqx.partition(ensemble, is_inexact)
    gradient = jax.jit(jax.grad(lambda p: energy(eqx.combine(p, rest))))(parameters)
    require_finite(check, f"the derivative of the sum of squares of `{method}` by the parameters", gradient)
