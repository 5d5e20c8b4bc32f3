"""Modules that are imported when they are first used, because they need packages of an extra."""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NamedTuple


class Extra(NamedTuple):
    """An extra that a module needs, and the package that it brings."""

    name: str
    package: str


def on_first_use(
    names: dict[str, Any], modules: Mapping[str, Extra | None]
) -> tuple[Callable[[str], ModuleType], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package, from its `globals()` and the extra that each module needs.

    `dir` leaves out modules whose package is missing, because `help` and `inspect` import everything in it.
    """
    package = names["__name__"]

    def module(name: str) -> ModuleType:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return importlib.import_module(f"{package}.{name}")
        except ModuleNotFoundError as error:
            extra = modules[name]
            if extra is None:
                raise
            missing = str(error.name).partition(".")[0]
            raise ImportError(f'`{package}.{name}` needs {missing}: pip install "rmtjax[{extra.name}]"') from error

    def usable(extra: Extra | None) -> bool:
        if extra is None or sys.modules.get(extra.package) is not None:  # also a stand-in, which has no specification
            return True
        return importlib.util.find_spec(extra.package) is not None

    return module, lambda: sorted({*names, *(name for name, extra in modules.items() if usable(extra))})
