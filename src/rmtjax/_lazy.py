"""Modules that are imported when they are first used, as they need packages that an extra brings."""

import importlib
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any


def on_first_use(
    names: dict[str, Any], extras: Mapping[str, str | None]
) -> tuple[Callable[[str], ModuleType], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package, for its `globals()` and the extra that each of these modules needs."""
    package = names["__name__"]

    def module(name: str) -> ModuleType:
        if name not in extras:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return importlib.import_module(f"{package}.{name}")
        except ModuleNotFoundError as error:
            if extras[name] is None:
                raise
            missing = str(error.name).partition(".")[0]
            raise ImportError(f'`{package}.{name}` needs {missing}: pip install "rmtjax[{extras[name]}]"') from error

    return module, lambda: sorted({*names, *extras})
