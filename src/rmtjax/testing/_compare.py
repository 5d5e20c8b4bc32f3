"""Comparison of pytrees, with a failure that names the check, the place and the worst deviation."""

from typing import NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from rmtjax._checks import is_key

# Two compilations of one formula differ by reassociation and fusion: a few ulp for each of a handful of operations.
ROUNDING_ULPS = 100


def fail(check: str, complaint: str) -> NoReturn:
    raise AssertionError(f"{check}: {complaint}")


def require(holds: object, check: str, complaint: str) -> None:
    """End a check unless `holds` is everywhere true."""
    if not np.all(np.asarray(holds)):
        fail(check, complaint)


def host(leaf: Array) -> np.ndarray:
    """A leaf as a NumPy array; a key as the words of which it consists."""
    return np.asarray(jax.random.key_data(leaf) if is_key(leaf) else leaf)


def is_inexact(leaf: object) -> bool:
    """Whether a leaf is a floating-point or complex array."""
    return isinstance(leaf, jax.Array | np.ndarray) and jnp.issubdtype(leaf.dtype, jnp.inexact)


def magnitude(values: np.ndarray) -> float:
    """The largest finite absolute value; 0 if there is none."""
    size = np.abs(values)
    return float(np.max(size, initial=0, where=np.isfinite(size)))


def require_finite(check: str, what: str, tree: PyTree) -> None:
    """End a check unless every floating-point leaf is finite."""
    for path, leaf in jax.tree.leaves_with_path(tree):
        values = host(leaf)
        bad = ~np.isfinite(values)
        if bad.any():
            place = _place(path, np.argmax(bad), values.shape)
            fail(check, f"{what} is not finite: {values[bad][0]} at {place}.")


def require_close(
    check: str, what: str, got: PyTree, expected: PyTree, *, rtol: float | None = None, atol: float = 0.0
) -> None:
    """End a check unless two pytrees agree: structure, shapes, dtypes and integers exactly, numbers nearly.

    Args:
        check: name of the check, for the message.
        what: what is compared with what, for the message.
        got: the pytree under test.
        expected: the pytree that it is compared with.
        rtol: allowed deviation relative to the largest entry of a leaf; 100 ulp of the leaf's dtype if None.
        atol: absolute deviation allowed in addition.
    """
    if jax.tree.structure(got) != jax.tree.structure(expected):
        fail(check, f"{what}: the structure is {jax.tree.structure(got)}, not {jax.tree.structure(expected)}.")
    pairs = zip(jax.tree.leaves_with_path(got), jax.tree.leaves(expected), strict=True)
    for (path, got_leaf), expected_leaf in pairs:
        a, b = host(got_leaf), host(expected_leaf)
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            fail(check, f"{what}: {_place(path)} is {a.dtype}{list(a.shape)}, not {b.dtype}{list(b.shape)}.")
        if a.size == 0:
            continue
        if jnp.issubdtype(b.dtype, jnp.inexact):
            relative = ROUNDING_ULPS * float(jnp.finfo(b.dtype).eps) if rtol is None else rtol
            allowed = relative * magnitude(b) + atol
        else:
            allowed = 0.0
        deviation = _deviation(a, b)
        worst = np.argmax(deviation)
        if deviation.flat[worst] > allowed:
            values = f"{a.flat[worst]} against {b.flat[worst]} at {_place(path, worst, a.shape)}"
            sizes = f"the worst deviation is {deviation.flat[worst]:.3g}, allowed is {allowed:.3g}"
            fail(check, f"{what}: {values}; {sizes}.")


def _deviation(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """|a - b|; NaN agrees with NaN, and an infinity only with itself."""
    if not jnp.issubdtype(b.dtype, jnp.inexact):
        return (a != b).astype(float)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        distance = np.abs(np.where(same, 0, a) - np.where(same, 0, b))
    return np.where(np.isnan(distance), np.inf, distance)


def _place(path: tuple, index: int | np.integer = 0, shape: tuple[int, ...] = ()) -> str:
    where = ", ".join(str(i) for i in np.unravel_index(int(index), shape)) if shape else ""
    return f"`output{jax.tree_util.keystr(path)}{f'[{where}]' if where else ''}`"
