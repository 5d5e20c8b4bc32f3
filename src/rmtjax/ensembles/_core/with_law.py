"""The law of an ensemble, for type checkers: the type with which its hook `_law` is annotated."""

from typing import Any, Protocol, TypeVar

from rmtjax.laws import AbstractLaw, AbstractPlanarLaw

Law = TypeVar("Law", bound=AbstractLaw | AbstractPlanarLaw, covariant=True)


class WithLaw(Protocol[Law]):
    """An ensemble, as the public method `law` sees it."""

    def _law(self) -> Law: ...

    def _valid(self) -> Any: ...
