"""The common base of ensembles, laws and the other small immutable objects."""

import contextlib
import dataclasses
import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self, TypeVar, get_args, get_origin

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import PyTree

from rmtjax import _checks
from rmtjax._compile import is_small, programs
from rmtjax._promotion import in_one_precision
from rmtjax._threefry import looped

R = TypeVar("R")
M = TypeVar("M", bound="AbstractModule")

# The words for a parameter with 0, 1 and 2 axes in error messages.
_KINDS = ("a scalar", "a vector", "a matrix")
# The repr shows vectors longer than this by their shapes.
_MOST_SHOWN = 8


class AbstractModule(eqx.Module):
    """An immutable pytree whose bound methods are ordinary functions to JAX.

    Equinox turns bound methods into pytrees, which makes `jax.jit(module.method)` raise "unhashable type" as soon as a
    field is an array. Plain attribute access gives Python's own bound methods, hashable by identity, which `jit`,
    `vmap`, `grad`, `checkpoint`, `lax.map`, `lax.scan` and `shard_map` take. The module itself stays a pytree.

    A field of the type `Annotated[type, rule, *names of related fields]` must satisfy the rule. It is checked when the
    object is made and again by every public method, because an optimiser's step or `eqx.tree_at` makes objects without
    calling the constructor.

    The repr shows numbers and short vectors with their values, e.g. `Semicircle(radius=2.0)`, and the properties named
    in `_derived`.
    """

    _derived = tuple[str, ...]()

    # A type checker would take every attribute for `Any`.
    if not TYPE_CHECKING:
        __getattribute__ = object.__getattribute__

    def __check_init__(self) -> None:
        self._valid()

    def _valid(self) -> Any:
        """Whether all parameters satisfy their rules: True if all are known, a traced boolean under a transformation.

        A known parameter that breaks its rule, or a parameter with batch axes, raises a `ValueError`.
        """
        return self._examined()[1]

    def _examined(self) -> tuple[Self, Any]:
        """The object with what a long check has found out for the hooks, and whether its parameters are valid."""
        module = self
        valid: Any = True
        for each in _declared(type(self)):
            value = getattr(self, each.name)
            each.check_kind(value)
            others = (getattr(self, name) for name in each.others)
            valid = _checks.all_kept(valid, each.rule.kept(each.name, value, *others))
        for name in _modules(type(self)):
            parts = getattr(self, name)
            for i, part in enumerate(parts if isinstance(parts, tuple) else (parts,)):
                if isinstance(part, AbstractModule):
                    examined, kept = part._examined()
                    valid = _checks.all_kept(valid, kept)
                    if examined is not part:
                        module = _with_part(module, name, i, examined)
        return module, valid

    def _run(
        self, hook: Callable[..., R], *operands: PyTree, valid: Any = True, order: int | None = None, **options: Any
    ) -> R:
        """The result of a hook, from one compiled program for all values of parameters and operands.

        Repeated calls outside of `jit` neither trace the hook nor run it operation by operation, for any loops and
        closures in it. In a larger program it is traced once.

        Args:
            hook: a method of this object.
            operands: its positional arguments, pytrees of arrays.
            valid: whether the operands are valid; where they or the parameters are not, the result is NaN.
            order: the largest static size that the hook works with, by default the largest of the fields. If it is
                small, the program is compiled with little effort.
            options: its static keyword arguments; a `shape` counts as a number of points.
        """
        module, kept = self._examined()
        valid = _checks.all_kept(valid, kept)
        points = math.prod(options.get("shape", ()))
        leaves, structure = jax.tree.flatten((module, operands))
        small = is_small(leaves, self._largest_size() if order is None else order, points=points)
        function, static = _function(hook, self), tuple(options.items())
        if all(map(_is_number, leaves)):
            return _checks.masked(valid, _program(small)(module, operands, function, static))
        numbers, others = eqx.partition(leaves, _is_number)
        return _checks.masked(valid, _program_of_parts(small)(numbers, tuple(others), structure, function, static))

    def _largest_size(self) -> int:
        """The largest static size of the object, e.g. the larger of n and m for a Wishart matrix."""
        sizes = (getattr(self, name) for name in ("n", *_static(type(self))) if hasattr(self, name))
        return max((size for size in sizes if isinstance(size, int)), default=0)

    def __repr__(self) -> str:
        # A half-built object, which a debugger may show, lacks fields.
        names = [field.name for field in dataclasses.fields(self) if field.repr and hasattr(self, field.name)]
        shown = [f"{name}={_shown(getattr(self, name))}" for name in names]
        for name in self._derived:
            # Properties that cannot be derived, for instance from leaves that a transformation removed, are left out.
            with contextlib.suppress(Exception):
                shown.append(f"{name}={_shown(getattr(self, name))}")
        return f"{type(self).__name__}({', '.join(shown)})"


def _with_part(module: M, name: str, i: int, part: AbstractModule) -> M:
    """The object with another one in a field, or in the tuple there."""
    is_tuple = isinstance(getattr(module, name), tuple)
    return eqx.tree_at(lambda module: getattr(module, name)[i] if is_tuple else getattr(module, name), module, part)


class _Function(NamedTuple):
    """A hook without its object, which is the same for all instances of a class, so that they share programs."""

    function: Callable
    takes_module: bool


def _function(hook: Any, module: AbstractModule) -> _Function:
    if getattr(hook, "__self__", None) is module:
        return _Function(hook.__func__, True)
    if isinstance(hook, eqx.Partial):  # Equinox's `filter_jit` binds a method in this way.
        return _Function(hook.func, True)
    return _Function(hook, False)  # A static method, or one of the class.


def _call(module: AbstractModule, operands: tuple, hook: _Function, options: tuple[tuple[str, Any], ...]) -> Any:
    # The hooks of a user's own class get JAX's ordinary keys, as the user passed them.
    if not type(module).__module__.startswith("rmtjax."):
        operands = looped(operands)
    # A draw depends on the parameters alone: points that it is compared with do not change its precision.
    apart = any(map(_checks.is_key, operands))
    module, operands = (in_one_precision(module), operands) if apart else in_one_precision((module, operands))
    bound = (module,) if hook.takes_module else ()
    return hook.function(*bound, *operands, **dict(options))


def _call_parts(numbers: list, others: tuple, structure: Any, hook: _Function, options: tuple) -> Any:
    """Same as `_call`, for an object with leaves that are not numbers, which a user's own class may have."""
    module, operands = jax.tree.unflatten(structure, eqx.combine(numbers, list(others)))
    return _call(module, operands, hook, options)


_program = programs(_call, static_argnums=(2, 3))
_program_of_parts = programs(_call_parts, static_argnums=(1, 2, 3, 4))


def _is_number(leaf: object) -> bool:
    """Whether a leaf is an input of a program; integers, names and functions decide which program is used."""
    return isinstance(leaf, jax.Array | np.ndarray | np.generic | float | complex)


class _Declared(NamedTuple):
    """A field with a rule, and the names of the other parameters that the rule depends on."""

    name: str
    kind: Any
    rule: _checks.Rule
    others: tuple[str, ...]

    def check_kind(self, value: object) -> None:
        """Refuse a value of another class, number of axes or dtype than the field is declared with."""
        is_tuple = get_origin(self.kind) is tuple
        kind, parts = (get_args(self.kind)[0], value) if is_tuple else (self.kind, (value,))
        if isinstance(kind, type) and issubclass(kind, AbstractModule):
            if not (isinstance(parts, tuple) and all(isinstance(part, kind) for part in parts)):
                raise _checks.refusal(self.name, f"be an instance of {kind.__name__}", value)
            return
        axes = len(getattr(self.kind, "dims", ()))
        if not isinstance(value, jax.Array | np.ndarray | np.generic | int | float):
            raise _checks.refusal(self.name, f"be {_KINDS[axes]}", value)
        if np.ndim(value) != axes:
            must = f"be {_KINDS[axes]} (use `jax.vmap` for a batch of objects)"
            raise _checks.refusal(self.name, must, np.shape(value))
        dtypes = getattr(self.kind, "dtypes", None)
        if isinstance(dtypes, tuple) and getattr(value, "dtype", np.dtype(type(value))).name not in dtypes:
            must = f"be {_KINDS[axes]} of floating-point numbers{'' if 'complex64' in dtypes else ', not complex'}"
            raise _checks.refusal(self.name, must, value)


@cache
def _declared(cls: type) -> tuple[_Declared, ...]:
    """The fields of the type `Annotated[type, rule, *names of related fields]`."""
    found = []
    for field in dataclasses.fields(cls):
        kind, *declared = get_args(field.type) if get_origin(field.type) is Annotated else (field.type,)
        if declared:
            found.append(_Declared(field.name, kind, declared[0], tuple(declared[1:])))
    # Rules that depend on other parameters come last, so that an error names the parameter that is wrong.
    return tuple(sorted(found, key=lambda each: bool(each.others)))


@cache
def _static(cls: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(cls) if field.metadata.get("static"))


@cache
def _modules(cls: type) -> tuple[str, ...]:
    """Names of the fields that may hold other objects with parameters."""
    return tuple(field.name for field in dataclasses.fields(cls) if not field.metadata.get("static"))


def _shown(value: object) -> str:
    """The value of a field as text, on one line if it is short."""
    if isinstance(value, AbstractModule):
        return repr(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))}{',' * (len(value) == 1)})"
    if isinstance(value, jax.Array | np.ndarray) and value.ndim < 2 and value.size <= _MOST_SHOWN and _at_hand(value):
        numbers = np.asarray(value)
        return str(numbers[()]) if numbers.ndim == 0 else f"[{', '.join(map(str, numbers))}]"
    return str(value) if isinstance(value, np.generic) else eqx.tree_pformat(value)


def _at_hand(value: jax.Array | np.ndarray) -> bool:
    """Whether an array holds numbers or booleans that can be read now."""
    if isinstance(value, Tracer) or not (value.dtype == bool or jnp.issubdtype(value.dtype, jnp.number)):
        return False
    return isinstance(value, np.ndarray) or (not value.is_deleted() and value.is_fully_addressable)
