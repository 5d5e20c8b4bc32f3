"""Which law an ensemble has, for type checkers: the one that its hook `_law` is annotated with."""

from typing import Any, Protocol, TypeVar

from rmtjax.laws import AbstractLaw, AbstractPlanarLaw

Law = TypeVar("Law", bound=AbstractLaw | AbstractPlanarLaw, covariant=True)


class WithLaw(Protocol[Law]):
    """An ensemble, as the public method `law` sees it."""

    def _law(self) -> Law: ...

    def _valid(self) -> Any: ...
