"""Modules that are imported when they are first used, as they need packages that an extra brings."""

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NamedTuple


class Extra(NamedTuple):
    """What a module needs beyond the library's own requirements: an extra, and the package that it brings."""

    name: str
    package: str


def on_first_use(
    names: dict[str, Any], modules: Mapping[str, Extra | None]
) -> tuple[Callable[[str], ModuleType], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package, from its `globals()` and what each of these modules needs.

    A module whose package is missing is left out of `dir`: `help` and `inspect` import all that stands there.
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
        return extra is None or importlib.util.find_spec(extra.package) is not None

    return module, lambda: sorted({*names, *(name for name, extra in modules.items() if usable(extra))})
