"""One draw of a user's function: its arguments as arrays, its output, and its cost."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jaxtyping import Array, PyTree

from rmtjax import _checks
from rmtjax._mesh import busy, inside_shard_map
from rmtjax._typing import KeyScalar
from rmtjax.simulation._digest import of_program
from rmtjax.simulation._memory import bytes_of_each, peak_bytes, uses_lapack
from rmtjax.simulation._structure import Structure, kept_for_structure

# JAX's errors where a shape or a branch depends on a traced value; `jnp.zeros(n)` raises a plain TypeError instead.
_SHAPE_ERRORS = (
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerIntegerConversionError,
)


def number_as_array(leaf: Any) -> Any:
    """A Python number as a weakly typed array, so that its value is not a part of the program."""
    return jnp.asarray(leaf) if isinstance(leaf, bool | int | float | complex | np.generic) else leaf


@dataclass(frozen=True)
class Trace:
    """What is known of a draw once it is traced."""

    peak: int  # bytes that a draw needs
    together: int | None  # bytes that each draw needs if all read a matrix together; None if they had better not
    leaves: list[jax.ShapeDtypeStruct]
    structure: Any
    lapack: bool
    uses_key: bool
    digest: str | None  # of the operations, only of a fresh trace
    waiting: list[Callable]

    @property
    def numbers(self) -> int:
        """How many numbers a draw has."""
        return sum(math.prod(leaf.shape) for leaf in self.leaves)

    @property
    def output(self) -> PyTree[jax.ShapeDtypeStruct]:
        """Shapes and dtypes of a draw, in the structure of the function's output."""
        return jax.tree.unflatten(self.structure, self.leaves)

    def taken(self) -> Callable | None:
        """The traced draw, for the first caller only, which need not trace it again."""
        return self.waiting.pop() if self.waiting else None


def traced(draw: Structure, operands: list[Array], key: KeyScalar, *, fresh: bool = False) -> Trace:
    """The draw traced; functions that cannot be traced are detected here.

    A trace is kept, as by `jax.jit`: a function keeps the globals that it saw at the first trace. A `fresh` trace looks
    again, and has a digest of the operations for a fingerprint.
    """
    shapes = tuple(map(_shape, operands)), _shape(key)
    if fresh:
        return _trace(draw, *shapes, fresh=True)
    # These settings of JAX change a program without changing its operands.
    settings = jax.config.jax_enable_x64, jax.config.jax_default_matmul_precision  # pyright: ignore
    return _traced(draw, *shapes, (*settings, jax.sharding.get_abstract_mesh()))


def one_draw(draw: Structure, operands: list[Array], key: KeyScalar) -> PyTree:
    """The output of the function for one draw, as arrays."""
    fn, args = draw.combine(operands)
    with busy():  # The draws share the devices out already.
        output = fn(key, *args)
    if not jax.tree.leaves(output):
        raise _checks.refusal("fn", "return at least one array", output)
    return jax.tree.map(_as_array, output)


def _as_array(leaf: Any) -> Array:
    _checks.passed_on("fn", leaf)
    try:
        array = jnp.asarray(leaf)
    except (TypeError, ValueError):
        raise _checks.refusal("fn", "return arrays or numbers", leaf) from None
    if jnp.issubdtype(array.dtype, jax.dtypes.prng_key):
        raise _checks.refusal("fn", "return numbers, for a key those of jax.random.key_data", array.dtype)
    return array


def _shape(array: Array) -> jax.ShapeDtypeStruct:
    aval = jax.typeof(array)
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False))


@kept_for_structure
def _traced(draw: Structure, operands: tuple, key: jax.ShapeDtypeStruct, settings: tuple) -> Trace:
    del settings
    return _trace(draw, operands, key, fresh=False)


def _trace(draw: Structure, operands: tuple, key: jax.ShapeDtypeStruct, *, fresh: bool) -> Trace:
    program, structure = _program(draw, operands, key)
    run = jaxpr_as_fun(program)
    leaves = [jax.ShapeDtypeStruct(out.shape, out.dtype) for out in program.out_avals]
    again = lambda operands, key: jax.tree.unflatten(structure, run(*operands, key))
    digest = of_program(program) if fresh else None
    jaxpr = program.jaxpr
    uses_key = any(jaxpr.invars[-1] in each for each in (jaxpr.outvars, *(eqn.invars for eqn in jaxpr.eqns)))
    lapack = uses_lapack(jaxpr)
    return Trace(
        peak=max(1, peak_bytes(jaxpr)),
        together=None if lapack else bytes_of_each(jaxpr),
        leaves=leaves,
        structure=structure,
        lapack=lapack,
        uses_key=uses_key,
        digest=digest,
        waiting=[again],
    )


def _program(
    draw: Structure, operands: tuple[jax.ShapeDtypeStruct, ...], key: jax.ShapeDtypeStruct
) -> tuple[ClosedJaxpr, Any]:
    structures = []

    def leaves(operands: list[Array], key: KeyScalar) -> list[Array]:
        output, structure = jax.tree.flatten(one_draw(draw, operands, key))
        structures.append(structure)
        return output

    try:
        with inside_shard_map():
            return jax.make_jaxpr(leaves)(list(operands), key), structures[0]
    except jax.errors.TracerArrayConversionError as error:
        raise ValueError("`fn` calls numpy on a traced value; use jax.numpy.") from error
    except NotImplementedError as error:
        if "Closing over" not in str(error):
            raise
        remedy = "pass them by `args`, or pass a bound method or `functools.partial` of one as `fn`"
        raise ValueError(
            f"`fn` closes over arrays with explicit axes, from inside of `jax.set_mesh`; {remedy}."
        ) from error
    except (TypeError, IndexError) as error:
        if not (isinstance(error, _SHAPE_ERRORS) or "concrete values" in str(error)):
            raise
        raise ValueError(
            "`fn` must have an output shape that does not depend on the key or on `args`, and no Python branch on its "
            "values or number made of them (return arrays of static size with a mask, like `rmt.Spectrum`; bind "
            "a size with `functools.partial`)."
        ) from error
