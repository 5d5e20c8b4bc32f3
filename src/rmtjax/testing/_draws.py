"""Parts of the checks of all kinds of ensembles: counts, fresh draws, transformations, continuous parameters."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from rmtjax._typing import KeyScalar
from rmtjax.linalg import PaddedMatrix
from rmtjax.spectra import Spectrum
from rmtjax.testing._compare import fail, host, is_inexact, require, require_finite
from rmtjax.testing._transformations import check_vmap, require_hashable


def array_of(draw: Any) -> jax.Array:
    """The array of a draw, padded or not."""
    return draw.values if isinstance(draw, PaddedMatrix | Spectrum) else draw


def gaps(levels: np.ndarray) -> np.ndarray:
    """A point in each gap of a spectrum that is wide enough, and one on either side of the spectrum.

    At a level itself rounding would decide, and a compiled function may round differently. The points are not in the
    middle of the gaps, where matrices with discrete entries have other levels.
    """
    size = np.abs(levels).max()
    wide = np.diff(levels) > 1e-3 * size
    inner = levels[:-1] + 0.4321 * np.diff(levels)
    return np.concatenate([[-2 * size - 1], inner[wide], [2 * size + 1]]).astype(levels.dtype)


def require_counts(check: str, ensemble: Any, key: KeyScalar, levels: np.ndarray) -> None:
    """End a check unless `count_below` counts the ascending levels."""
    x = gaps(levels)
    counts = host(ensemble.count_below(key, jnp.asarray(x)))
    require(np.issubdtype(counts.dtype, np.integer), check, f"counts are {counts.dtype}, not integers.")
    expected = np.searchsorted(levels, x)
    require(
        counts.shape == x.shape and (counts == expected).all(),
        check,
        f"counts at {x} are {counts}; the spectrum of the same key gives {expected}.",
    )


def require_fresh(check: str, ensemble: Any, draws: jax.Array) -> None:
    """End a check if all keys give the same sample."""
    matrices = [host(array_of(ensemble.sample(draws[i]))) for i in range(draws.size)]
    # With discrete entries two samples may be equal by chance, but hardly all of them.
    same = all(np.array_equal(matrices[0], other) for other in matrices[1:])
    require(not same, check, f"{draws.size} keys give one and the same sample.")


def require_finite_square(check: str, matrix: np.ndarray, n: int) -> None:
    """End a check unless a sample is finite, of n rows or of 2n: a quaternion matrix has n distinct eigenvalues."""
    require(matrix.shape in [(n, n), (2 * n, 2 * n)], check, f"at n = {n} a sample is {matrix.shape}.")
    require(np.isfinite(matrix), check, "a sample is not finite.")


def require_composable(check: str, methods: tuple[str, ...], ensemble: Any, x: np.ndarray, key: KeyScalar) -> None:
    """End a check unless JAX can transform the methods; `count_below` gets the points x, the others the key only."""
    for name in methods:
        require_hashable(getattr(ensemble, name), f"{check}, {name}")

    # All methods are in one function, compiled and mapped at once: one compilation instead of several.
    def draw(key: KeyScalar) -> dict[str, Any]:
        points = {"count_below": (jnp.asarray(x),)}
        return {name: getattr(ensemble, name)(key, *points.get(name, ())) for name in methods}

    check_vmap(draw, key)


def require_leaves(check: str, module: Any, path: str = "ensemble") -> None:
    """End a check if a continuous parameter is a static field, which would cost a compilation for each value."""
    if not dataclasses.is_dataclass(module):
        return
    for field in dataclasses.fields(module):
        value, name = getattr(module, field.name), f"{path}.{field.name}"
        if field.metadata.get("static") and (is_inexact(value) or isinstance(value, float | complex)):
            fail(check, f"`{name}` = {value!r} is a static field: each value would be compiled anew.")
        require_leaves(check, value, name)


def require_one_compilation(check: str, method: str, ensemble: Any, key: KeyScalar) -> None:
    """End a check if other values of the continuous parameters compile the spectrum again."""
    traces = []

    @jax.jit
    def spectrum(ensemble: Any, key: KeyScalar) -> Any:
        traces.append(None)
        return getattr(ensemble, method)(key)

    leaves, structure = jax.tree.flatten(ensemble)
    # A Python number as the factor leaves weak types weak, so that only the value changes.
    other = [leaf * (63 / 64) if is_inexact(leaf) or isinstance(leaf, float) else leaf for leaf in leaves]
    for parameters in (leaves, other):
        spectrum.trace(structure.unflatten(parameters), key)
    require(len(traces) == 1, check, "a second value of the continuous parameters was compiled anew.")


def require_gradient(check: str, method: str, ensemble: Any, key: KeyScalar) -> None:
    """End a check unless the derivatives of the spectrum by the continuous parameters are finite."""

    def energy(ensemble: Any) -> jax.Array:
        levels = array_of(getattr(ensemble, method)(key))
        finite = jnp.isfinite(levels)
        return jnp.sum(jnp.where(finite, jnp.where(finite, levels, 0) ** 2, 0))

    parameters, rest = eqx.partition(ensemble, is_inexact)
    gradient = jax.jit(jax.grad(lambda p: energy(eqx.combine(p, rest))))(parameters)
    require_finite(check, f"the derivative of the sum of squares of `{method}` by the parameters", gradient)
