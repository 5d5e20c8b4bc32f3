"""Reducers on a part of what a function returns."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic

import jax
import jax.numpy as jnp
from typing_extensions import TypeVar

from rmtjax import _checks
from rmtjax._typing import PyTree, overload
from rmtjax.simulation import _reduction
from rmtjax.simulation._reducers.base import AbstractReducer, Draws
from rmtjax.simulation._results import Reducer

Select = str | int | Callable[[Any], PyTree]
T = TypeVar("T", default=Any)
A = TypeVar("A")
B = TypeVar("B")


class Part(AbstractReducer, Generic[T]):
    """Reduces a part of each draw, or a function of it.

    Args:
        select: the key, the position or the attribute of the part, such as `"levels"` or 0; or a JAX function of one
            draw.
        reducer: a reducer, or a tuple, list or dict of reducers.

    Raises:
        ValueError: the draws have no such part.

    Example:
        >>> import jax, jax.numpy as jnp, rmtjax as rmt
        >>> def fn(key):
        ...     return {"levels": jax.random.normal(key, (5,)), "width": jax.random.uniform(key)}
        >>> reduce = Part("levels", rmt.Histogram([-9.0, 9.0])), Part(lambda draw: draw["width"] ** 2, rmt.Moments())
        >>> histogram, square = rmt.simulate(fn, jax.random.key(0), 100, reduce=reduce)
        >>> print(histogram.total, bool(abs(square.mean - 1 / 3) < 4 * square.standard_error))
        500 True
    """

    select: Select
    reducer: PyTree

    @overload
    def __init__(self: "Part[A]", select: Select, reducer: Reducer[A]): ...
    @overload
    def __init__(self: "Part[tuple[A, B]]", select: Select, reducer: tuple[Reducer[A], Reducer[B]]): ...
    @overload
    def __init__(self: "Part[Any]", select: Select, reducer: Sequence[Any] | Mapping[Any, Any]): ...
    def __init__(self, select: Select, reducer: PyTree):
        if isinstance(select, bool) or not (isinstance(select, str | int) or callable(select)):
            raise _checks.refusal("select", "be a key, a position, an attribute or a function of a draw", select)
        _reduction.check_reducers(reducer, "reducer")
        self.select, self.reducer = select, reducer

    @property
    def keeps_draws(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether one of the reducers keeps draws."""
        return _reduction.keeps_draws(self.reducer)

    def init(self, draw: PyTree) -> list[PyTree]:
        part = jax.eval_shape(self._function, draw) if callable(self.select) else _named(draw, self.select)
        return _reduction.init(self.reducer, part)

    def update(self, state: list[PyTree], draws: Draws) -> list[PyTree]:
        each = jax.vmap(self._function) if callable(self.select) else lambda values: _named(values, self.select)
        return _reduction.update(self.reducer, state, Draws(each(draws.values), draws.index, draws.valid))

    def merge(self, left: list[PyTree], right: list[PyTree]) -> list[PyTree]:
        return _reduction.merge(self.reducer, left, right)

    def finish(self, state: list[PyTree]) -> T:
        return _reduction.finish(self.reducer, state)

    def _function(self, draw: PyTree) -> PyTree:
        assert callable(self.select)
        return jax.tree.map(jnp.asarray, self.select(draw))


def _named(draw: Any, name: Any) -> PyTree:
    """The part with this key, position or attribute."""
    try:
        if isinstance(name, str) and not isinstance(draw, Mapping):
            return getattr(draw, name)
        # A position in an array would be a draw of the batch.
        if isinstance(draw, Mapping | tuple | list):
            container: Any = draw
            return container[name]
    except (AttributeError, KeyError, IndexError, TypeError):
        pass
    parts = ", ".join(map(repr, _names(draw)))
    must = f"be one of the parts of a draw, {parts}" if parts else "be a function of the draw, which has no parts"
    raise _checks.refusal("select", must, name)


def _names(draw: Any) -> list:
    """The keys, attributes or positions of the parts of a draw."""
    if isinstance(draw, Mapping):
        return list(draw)
    if isinstance(draw, tuple | list):
        return list(getattr(draw, "_fields", range(len(draw))))
    return [field.name for field in dataclasses.fields(draw)] if dataclasses.is_dataclass(draw) else []
