"""Names of the documented objects, and how pages and docstrings write them."""

import importlib
import inspect
import re
from collections import defaultdict
from functools import cache
from types import ModuleType
from typing import Any

_PACKAGE = "rmtjax"
NAME = re.compile(r"(?P<dotted>[A-Za-z]\w*(?:\.[A-Za-z_]\w*)*)(?P<call>\(.*\))?", re.DOTALL | re.ASCII)
# What the variables of the manual's examples hold.
_VARIABLES = {
    "law": ("laws.AbstractLaw", "laws.AbstractSpectralLaw"),
    "ensemble": ("ensembles.AbstractEnsemble", "ensembles.AbstractNestedEnsemble"),
    "goe": ("GOE",),
}
# A method that all kinds have, each with a definition of its own, is that of the first kind.
_KINDS = (
    ("laws.AbstractLaw", "laws.AbstractSpectralLaw", "laws.AbstractPlanarLaw"),
    ("ensembles.AbstractEnsemble", "ensembles.AbstractUnitaryEnsemble", "ensembles.AbstractNonHermitianEnsemble"),
)


class Names:
    """The documented objects, by every name that a reader may use for them."""

    def __init__(self, documented: set[str]):
        self.objects = {name: found for name in documented if (found := _object(name)) is not None}
        self._names_of = defaultdict(list)
        for name in sorted(self.objects, key=lambda name: (not self._is_definition(name), name.count("."), name)):
            self._names_of[id(self.objects[name])].append(name)
        self._ending = defaultdict(set)
        for name in self.objects:
            parts = name.split(".")
            for start in range(len(parts)):
                self._ending[".".join(parts[start:])].add(name)
        self._packages = {name for name, found in self.objects.items() if isinstance(found, ModuleType)}
        for package in self._packages:
            # The package in which an object of the top level lives.
            for name, found in vars(self.objects[package]).items():
                if id(found) in self._names_of and not isinstance(found, ModuleType):
                    full = f"{package}.{name}"
                    for ending in {name, full, full.removeprefix(f"{_PACKAGE}.")}:
                        self._ending[ending].add(self._names_of[id(found)][0])

    def find(self, text: str, owner: str = "", packages: tuple[str, ...] = ()) -> str | None:
        """The documented name of what is called so in the docstring of `owner`, on a page about some packages."""
        dotted, call = NAME.fullmatch(text).groups()
        if owner in self.objects and "." not in dotted:
            if not call and dotted in _parameters(self.objects[owner]):
                return None
            cls = owner if inspect.isclass(self.objects[owner]) else owner.rpartition(".")[0]
            if f"{cls}.{dotted}" in self.objects:
                return f"{cls}.{dotted}"
        first, _, rest = dotted.partition(".")
        if rest and first in _VARIABLES:
            methods = (f"{_PACKAGE}.{cls}.{rest}" for cls in _VARIABLES[first])
            return next((name for name in methods if name in self.objects), None)
        names = self._ending.get(_full(dotted), set())
        fitting = {name for name in names if _takes(self.objects[name], call or "")} or names
        near = {name for name in fitting if name.startswith(tuple(f"{_PACKAGE}.{package}." for package in packages))}
        return self._chosen(near or fitting)

    def is_claimed(self, text: str) -> bool:
        """Whether a name begins with a package or a class of ours, and says that it is public."""
        first, _, rest = _full(NAME.fullmatch(text)["dotted"]).partition(".")
        if not rest or re.search(r"\b_", rest):
            return False
        # The modules of `adapters` have the names of the packages that they are for.
        ours = (name for name in self._packages if not name.startswith(f"{_PACKAGE}.adapters."))
        beginnings = {name.rpartition(".")[2] for name in ours} | _VARIABLES.keys()
        return first in beginnings or any(map(inspect.isclass, map(self.objects.get, self._ending.get(first, ()))))

    def of_source(self, path: str) -> str | None:
        """The documented name of an object, given where its source is, as in signatures."""
        return next(iter(self._names_of.get(id(_object(path)), ())), None)

    def _chosen(self, names: set[str]) -> str | None:
        """The one that is meant: of one definition that itself, of one in each kind of class that of the first."""
        if len(names) < 2:
            return next(iter(names), None)
        definitions = {self._names_of[id(self.objects[name])][0] for name in names}
        if len(definitions) == 1:
            return definitions.pop()
        owners = {name.rpartition(".")[0] for name in definitions}
        for kinds in _KINDS:
            of_kinds = [f"{_PACKAGE}.{kind}" for kind in kinds]
            bases = tuple(self.objects[kind] for kind in of_kinds if kind in self.objects)
            if all(inspect.isclass(cls := self.objects.get(owner)) and issubclass(cls, bases) for owner in owners):
                method = next(iter(definitions)).rpartition(".")[2]
                return next((f"{kind}.{method}" for kind in of_kinds if f"{kind}.{method}" in definitions), None)
        return None

    def _is_definition(self, name: str) -> bool:
        owner, _, attribute = name.rpartition(".")
        return attribute in vars(_object(owner)) if owner else True


def _full(dotted: str) -> str:
    return re.sub(r"^rmt(?=\.)", _PACKAGE, dotted)


@cache
def _object(path: str) -> Any:
    """What a dotted path leads to, as it stands in its module or class; None where it leads nowhere."""
    owner, _, attribute = path.rpartition(".")
    if path.split(".")[0] != _PACKAGE:
        return None
    try:
        return importlib.import_module(path)
    except ImportError:
        return inspect.getattr_static(_object(owner), attribute, None) if owner else None


@cache
def _parameters(found: Any) -> tuple[str, ...]:
    try:
        return tuple(name for name in inspect.signature(found).parameters if name != "self")
    except (TypeError, ValueError):
        return ()


def _takes(found: Any, call: str) -> bool:
    """Whether the names that a call begins with are those of the parameters; so `stieltjes(z)` is that of a law."""
    given = re.match(r"\((\w+(?:, \w+)*)(?:, \w+=|\))", call)
    return given is not None and ", ".join(_parameters(found)).startswith(given[1])
