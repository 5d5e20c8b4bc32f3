"""Vectors of an operator: plain vectors of length n, or pytrees such as the parameters of a network."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Inexact, PyTree

from rmtjax import _checks
from rmtjax._promotion import common_dtype


@dataclass(frozen=True)
class VectorKind:
    """Structure of the vectors of an operator as a pytree, shapes of its leaves, and their dtype; hashable.

    The dtype None stands for the one that products with the operator keep.
    """

    structure: Any
    shapes: tuple[tuple[int, ...], ...]
    dtype: Any

    @property
    def n(self) -> int:
        """The number of components."""
        return sum(map(math.prod, self.shapes))

    def _made(self, make: Callable[[tuple[int, ...]], Any]) -> PyTree:
        """A vector with leaves that are functions of their shapes."""
        return jax.tree.unflatten(self.structure, map(make, self.shapes))

    def flat_product(
        self, matvec: Callable[..., PyTree], args: tuple
    ) -> tuple[Callable[[Inexact[Array, " n"]], Inexact[Array, " n"]], Any]:
        """The operator on flat vectors, and their dtype; it is traced here to be checked."""
        dtype = self.dtype
        if dtype is None:
            # A weakly typed vector takes the dtype of the numbers in the operator.
            image = self._image(matvec, args, jnp.zeros(()).dtype, weak_type=True)
            dtype = common_dtype(*(leaf.dtype for leaf in jax.tree.leaves(image)))
        image = self._image(matvec, args, dtype)
        returned = sorted({leaf.dtype.name for leaf in jax.tree.leaves(image)})
        if returned != [np.dtype(dtype).name]:
            must = f"return numbers of the dtype that it takes, {np.dtype(dtype).name} (or give another `dtype`)"
            raise _checks.refusal("matvec", must, _checks.Words(", ".join(returned)))
        _checks.full_precision("matvec", jax.tree.leaves(image)[0])
        _, restored = ravel_pytree(self._made(lambda shape: jnp.zeros(shape, dtype)))
        return lambda v: ravel_pytree(matvec(restored(v), *args))[0], dtype

    def _image(
        self, matvec: Callable[..., PyTree], args: tuple, dtype: Any, weak_type: bool = False
    ) -> PyTree[jax.ShapeDtypeStruct]:
        vector = self._made(lambda shape: jax.ShapeDtypeStruct(shape, dtype, weak_type=weak_type))
        taken = _shapes(vector)
        try:
            image = jax.eval_shape(matvec, vector, *args)
        except (TypeError, ValueError, IndexError) as error:
            must = f"be a function of JAX of a vector of shape {taken} and of `args`"
            raise _checks.refusal("matvec", must, _checks.Words(str(error).partition("\n")[0])) from error
        if jax.tree.structure(image) != self.structure or _shapes(image) != taken:
            raise _checks.refusal("matvec", f"return a vector of shape {taken}", _checks.Words(_shapes(image)))
        return image


def _shapes(tree: PyTree) -> str:
    return str(jax.tree.map(lambda leaf: _checks.Words(leaf.shape), tree))


def vector_kind(n: Any, dtype: Any) -> VectorKind:
    """The kind of vectors for an order, or for an example of them.

    Raises:
        ValueError: `n` is neither an integer of at least 1 nor a pytree of arrays of one inexact dtype.
    """
    if isinstance(n, int | np.integer):
        length = _checks.integer("n", n, at_least=1)
        if dtype is not None:
            dtype = _checks.full_precision("dtype", jnp.zeros(0, _inexact("dtype", dtype))).dtype
        return VectorKind(jax.tree.structure(0), ((length,),), dtype)
    leaves, structure = jax.tree.flatten(n)
    arrays = [leaf for leaf in leaves if hasattr(leaf, "shape") and hasattr(leaf, "dtype")]
    if not leaves or len(arrays) < len(leaves) or sum(math.prod(leaf.shape) for leaf in arrays) == 0:
        must = "be an order, or a pytree of arrays such as `equinox.filter(network, equinox.is_inexact_array)`"
        raise _checks.refusal("n", must, n)
    dtypes = {np.dtype(_inexact("n", leaf.dtype)) for leaf in arrays}
    if len(dtypes) > 1 or (dtype is not None and dtypes != {np.dtype(dtype)}):
        must = "have leaves of one dtype" + ("" if dtype is None else f", {np.dtype(dtype).name} as `dtype` says")
        raise _checks.refusal("n", must, _checks.Words(", ".join(sorted(each.name for each in dtypes))))
    dtype = _checks.full_precision("n", jnp.zeros(0, dtypes.pop())).dtype
    return VectorKind(structure, tuple(leaf.shape for leaf in arrays), dtype)


def _inexact(name: str, dtype: Any) -> Any:
    if not jnp.issubdtype(dtype, jnp.inexact):
        raise _checks.refusal(name, "be real or complex", dtype)
    return dtype
