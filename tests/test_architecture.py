"""The rules of the code as tests: layers, classes, file length, documentation, imports, registry."""

import ast
import builtins
import importlib
import inspect
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import equinox as eqx
import pytest

import rmtjax as rmt
from tests.processes import printed

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "rmtjax"
INFERENCE_PAGES = [
    f"inference/{path.stem}"
    for path in sorted((ROOT / "docs" / "inference").glob("*.md"))
    if path.stem not in ("index", "coming_from")
]


def _modules() -> list[str]:
    """Every module of the package, except the scripts that `python -m` runs."""
    found = pkgutil.walk_packages(rmt.__path__, "rmtjax.")
    return ["rmtjax", *(module.name for module in found if not module.name.endswith("__main__"))]


def _public_names() -> dict[str, object]:
    """Every `X as X` of a public package, under its shortest dotted name, without the packages themselves.

    The modules of `adapters` are public as they stand: what they define counts.
    """
    shortest: dict[int, tuple[str, object]] = {}
    public = [name for name in _modules() if "._" not in name and not name.endswith(".internal")]
    for package in sorted(public, key=lambda name: name.count(".")):
        module = importlib.import_module(package)
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                value = getattr(module, alias.name, None)
                if alias.asname == alias.name and not inspect.ismodule(value):
                    shortest.setdefault(id(value), (f"{package}.{alias.name}", value))
        for name, value in vars(module).items() if package.startswith("rmtjax.adapters.") else ():
            if getattr(value, "__module__", None) == package and not name.startswith("_"):
                shortest.setdefault(id(value), (f"{package}.{name}", value))
    return dict(sorted(shortest.values(), key=lambda entry: entry[0]))


PUBLIC_NAMES = _public_names()


def test_public_names_are_found():
    expected = {"rmtjax.GOE", "rmtjax.simulate", "rmtjax.laws.Semicircle", "rmtjax.adapters.scipy_stats.frozen"}
    assert expected <= PUBLIC_NAMES.keys()
    assert "rmtjax.ensembles.GOE" not in PUBLIC_NAMES
    assert "rmtjax.laws" not in PUBLIC_NAMES


# Layers


def _lint_imports(directory: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).parent / "lint-imports", "--no-cache", ROOT / "pyproject.toml"]
    return subprocess.run(command, cwd=directory, env=os.environ | environment, capture_output=True, text=True)


def test_layers_are_kept():
    result = _lint_imports(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("layer", "forbidden"), [("linalg", "rmtjax.ensembles"), ("simulation", "rmtjax.laws"), ("laws", "rmtjax.testing")]
)
def test_an_import_against_the_layers_is_caught(tmp_path, layer, forbidden):
    shutil.copytree(PACKAGE, tmp_path / "rmtjax", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "rmtjax" / layer / "_planted.py").write_text(f"import {forbidden}\n")
    result = _lint_imports(tmp_path, PYTHONPATH=str(tmp_path))
    assert result.returncode == 1, result.stdout + result.stderr
    assert f"rmtjax.{layer}._planted" in result.stdout


# Doors


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("ensembles", "rmtjax.linalg._sturm"),
        ("laws", "rmtjax.special._bessel"),
        ("simulation", "rmtjax.linalg._padded"),
    ],
)
def test_a_private_import_across_packages_is_caught(tmp_path, package, name):
    shutil.copytree(PACKAGE, tmp_path / "rmtjax", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "rmtjax" / package / "_planted.py").write_text(f"import {name}\n")
    result = _lint_imports(tmp_path, PYTHONPATH=str(tmp_path))
    assert result.returncode == 1, result.stdout + result.stderr
    assert f"rmtjax.{package}._planted -> {name}" in result.stdout


def _imports() -> Iterator[tuple[Path, ast.ImportFrom, ast.alias]]:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rmtjax"):
                yield from ((path, node, alias) for alias in node.names)


def test_nothing_is_renamed_on_import():
    renamed = [(str(path), alias.name) for path, _, alias in _imports() if alias.asname not in (None, alias.name)]
    assert renamed == []


def test_doors_lead_to_documented_names_that_are_used():
    taken = {(node.module, alias.name) for _, node, alias in _imports() if str(node.module).endswith(".internal")}
    doors = [name for name in _modules() if name.endswith(".internal")]
    offered = {(door, name): value for door in doors for name, value in _exports(door).items()}
    assert offered.keys() == taken
    assert [name for name, value in offered.items() if not getattr(value, "__doc__", None)] == []


def _exports(module: str) -> dict[str, object]:
    return {name: value for name, value in vars(importlib.import_module(module)).items() if not name.startswith("_")}


# Classes are abstract or final


def _own_fields(cls: type) -> set[str]:
    """The fields that a class itself declares, without abstract ones."""
    abstract = getattr(cls, "__abstractvars__", frozenset())
    fields = getattr(cls, "__dataclass_fields__", {})
    return {name for name in vars(cls).get("__annotations__", {}) if name in fields and name not in abstract}


def _writes_init(cls: type) -> bool:
    """Whether `__init__` was written by hand; the one a dataclass generates has no file."""
    init = vars(cls).get("__init__")
    return init is not None and not inspect.unwrap(init).__code__.co_filename.startswith("<")


def _is_concrete_method(cls: type, name: str) -> bool:
    value = vars(cls).get(name)
    is_method = callable(value) or isinstance(value, property | classmethod | staticmethod)
    return is_method and name not in getattr(cls, "__abstractmethods__", frozenset())


def _class_violations(cls: type[eqx.Module]) -> list[str]:
    """Breaches of the rules: abstract or final, methods written once, fields and `__init__` together."""
    name = f"{cls.__module__}.{cls.__qualname__}"
    found = []
    ancestors = [base for base in cls.__mro__[1:] if issubclass(base, eqx.Module) and base is not eqx.Module]
    if not cls.__name__.lstrip("_").startswith("Abstract"):
        missing = cls.__abstractmethods__ | getattr(cls, "__abstractvars__", frozenset())
        found += [f"{name} is final and leaves open: {sorted(missing)}"] if missing else []
        found += [f"{name} is final and has a subclass: {child}" for child in cls.__subclasses__()]
    # Underscore hooks may be replaced: they carry the numerical fall-backs.
    found += [
        f"{name} overrides {base.__qualname__}.{method}"
        for method in vars(cls)
        for base in ancestors
        if not method.startswith("_") and _is_concrete_method(base, method)
    ]
    definers = [base for base in (cls, *ancestors) if _own_fields(base) or _writes_init(base)]
    if len(definers) > 1:
        found.append(f"{name} has its fields and `__init__` in several classes: {definers}")
    return found


def _descendants(cls: type) -> Iterator[type]:
    for child in cls.__subclasses__():
        yield child
        yield from _descendants(child)


def test_classes_are_abstract_or_final():
    for module in _modules():
        importlib.import_module(module)
    ours = {cls for cls in _descendants(eqx.Module) if cls.__module__.split(".")[0] == "rmtjax"}
    assert rmt.GOE in ours
    assert [violation for cls in ours for violation in _class_violations(cls)] == []


def test_planted_class_violations_are_caught():
    class AbstractBase(eqx.Module):
        size: eqx.AbstractVar[int]

        def formula(self):
            return self._hook()

        def _hook(self):
            return 0

    class Good(AbstractBase):
        size: int

        def __init__(self):
            self.size = 1

        def _hook(self):
            return 1

    class Overrides(AbstractBase):
        size: int

        def formula(self):
            return 2

    class Unfinished(AbstractBase):
        pass

    class Extended(AbstractBase):
        size: int

    class Child(Extended):
        more: int

        def __init__(self):
            self.size, self.more = 1, 2

    def verdicts(cls):
        return [violation.split(".<locals>.", 1)[1] for violation in _class_violations(cls)]

    assert verdicts(AbstractBase) == []
    assert verdicts(Good) == []
    assert [v for v in verdicts(Overrides) if "overrides" in v and "formula" in v]
    assert [v for v in verdicts(Unfinished) if "leaves open: ['size']" in v]
    assert [v for v in verdicts(Extended) if "has a subclass" in v]
    assert [v for v in verdicts(Child) if "in several classes" in v]


# Files


def test_no_file_is_long():
    lengths = {str(path.relative_to(ROOT)): path.read_text().count("\n") for path in PACKAGE.rglob("*.py")}
    assert {path: length for path, length in lengths.items() if length > 400} == {}


def test_nothing_private_of_jax_is_used():
    private = "jax." + "_src"
    rooms = ("src", "tests", "docs", "examples", "benchmarks")
    files = [path for room in rooms for path in (ROOT / room).rglob("*.py")]
    assert [str(path) for path in files if private in path.read_text()] == []


def test_nothing_calls_back():
    """No file of the package names a call back to Python; `test_compile_once.py` looks for them in programs."""
    named = {
        (path.name, name)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (getattr(node, "attr", None), getattr(node, "id", None), getattr(node, "name", None))
        if isinstance(name, str) and ("callback" in name or name == "debug")
    }
    assert named == set()


def test_comparisons_state_their_bound():
    """`atol` alone keeps NumPy's `rtol` of 1e-7, beside which a finer bound tests nothing."""
    lax = []
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in {
                "assert_allclose",
                "allclose",
            }:
                named = {keyword.arg for keyword in node.keywords}
                if "atol" in named and "rtol" not in named and len(node.args) < 3:
                    lax.append(f"{path.name}, {node.lineno}")
    assert lax == []


# Documentation


@pytest.mark.parametrize("name", PUBLIC_NAMES)
def test_public_name_has_an_example(name):
    text = inspect.getdoc(PUBLIC_NAMES[name]) or ""
    assert text, f"{name} has no docstring"
    if not name.rsplit(".", 1)[-1].startswith("Abstract"):
        assert "Example:" in text, f"the docstring of {name} has no `Example:`"
        assert ">>>" in text.split("Example:")[1], f"the example of {name} is not tested"


def test_no_sentence_is_taken_for_a_type():
    # The manual reads "type: description" in the summary of a property and in the first line of `Returns`.
    taken = []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and (text := ast.get_docstring(node)):
                is_property = any(ast.unparse(each) == "property" for each in node.decorator_list)
                lines = [text.partition("\n")[0]] if is_property else []
                lines += re.findall(r"^Returns:\n +(.*)", text, re.MULTILINE)
                taken += [f"{path.name}, {node.name}: {line}" for line in lines if re.match(r"[^`$]*: ", line)]
    assert taken == []


def test_public_names_are_in_the_manual(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    docs = ROOT / "docs"
    # What a page describes, and what has a page of its own, made from its line in a table.
    functions = (docs / "laws" / "functions.md").read_text()
    described = set(re.findall(r"^\.\. autofunction:: (\S+)", functions, re.MULTILINE))
    tables = "\n".join(path.read_text() for path in (docs / "api").glob("*.md"))
    summarised = set(re.findall(r"^   ~(\S+)", tables, re.MULTILINE))
    assert described & summarised == set(), "twice in the manual"
    listed = described | summarised
    made = {f"rmtjax.laws.{name}" for name in importlib.import_module("tests.instances").LAWS}
    assert listed & made == set(), "twice in the manual"
    assert PUBLIC_NAMES.keys() - (listed | made) == set(), "not in docs/api, nor in tests/instances.py"
    assert (listed | made) - PUBLIC_NAMES.keys() == set(), "in the manual, but not public"


def test_words_of_the_search_belong_to_pages(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    search_words = importlib.import_module("search_words")
    assert search_words.without_accents("Marčenko–Pastur, Erdős, β, naïve, π²") == {"Marcenko", "Erdos", "naive"}
    made = {f"laws/{name}" for name in importlib.import_module("tests.instances").LAWS}
    written = {str(path.relative_to(ROOT / "docs").with_suffix("")) for path in (ROOT / "docs").rglob("*.md")}
    assert search_words.FURTHER.keys() - made - written == set()


@pytest.mark.parametrize("page", [*INFERENCE_PAGES, "statistics/unfolding"])
def test_pages_of_inference_say_what_could_go_wrong_and_what_the_record_says(page):
    text = (ROOT / "docs" / f"{page}.md").read_text()
    headings = re.findall(r"^## (.*)", text, re.MULTILINE)
    assert any(each.startswith("What could go wrong with your ") for each in headings[:2])
    assert headings[-1] == "What the record says"
    # The cell of the last section can be run by itself.
    (cell,) = re.findall(r"^```{code-cell} ipython3\n(.*?)^```", text.rpartition("\n## ")[2], re.MULTILINE | re.DOTALL)
    nodes = [*ast.walk(ast.parse(cell))]
    bound = {node.asname or node.name for node in nodes if isinstance(node, ast.alias)}
    bound |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)} | {*dir(builtins)}
    assert {node.id for node in nodes if isinstance(node, ast.Name)} - bound == set()


def test_markup_of_docstrings_reaches_the_manual(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    to_rst = importlib.import_module("docstrings").to_rst
    assert to_rst("`V*` of |x| is $|x|$, X* too") == r"`V*` of \|x\| is :math:`|x|`, X\* too"
    assert to_rst("Is\n\n    $$a\n    = b*$$ .") == "Is\n\n    \n\n    .. math:: a = b*\n\n     ."
    assert to_rst("Example:\n    >>> 2 * 3 | 1\n    7\n\nX*") == "Example:\n    >>> 2 * 3 | 1\n    7\n\nX\\*"


def test_names_in_the_manual_lead_to_what_they_name(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    packages = ("laws", "ensembles", "linalg", "statistics")
    classes = (
        "GOE",
        "CUE",
        "laws.AbstractLaw",
        "laws.AbstractPlanarLaw",
        "laws.Semicircle",
        "ensembles.AbstractEnsemble",
    )
    methods = ("GOE.law", "laws.AbstractLaw.pdf", "laws.AbstractPlanarLaw.pdf", "laws.Semicircle.pdf")
    transforms = ("statistics.stieltjes", "laws.AbstractSpectralLaw.stieltjes")
    documented = {f"rmtjax.{name}" for name in ("adapters.numpyro", *packages, *classes, *methods, *transforms)}
    names = importlib.import_module("public_names").Names({"rmtjax"} | documented)
    for text, expected in {
        "GOE(100, scale=2.0)": "GOE",
        "rmt.laws.Semicircle": "laws.Semicircle",
        "laws.Semicircle": "laws.Semicircle",
        "rmtjax.linalg": "linalg",
        "law.pdf": "laws.AbstractLaw.pdf",
        "pdf": "laws.AbstractLaw.pdf",
        "Semicircle.pdf": "laws.Semicircle.pdf",
        "AbstractPlanarLaw.pdf": "laws.AbstractPlanarLaw.pdf",
        "stieltjes(z)": "laws.AbstractSpectralLaw.stieltjes",
        "stieltjes(levels, z)": "statistics.stieltjes",
        "stieltjes": None,
        "jax.vmap": None,
        "rmt.laws.Poisson": None,
    }.items():
        assert names.find(text) == (expected and f"rmtjax.{expected}"), text
    assert names.find("pdf", owner="rmtjax.laws.Semicircle") == "rmtjax.laws.Semicircle.pdf"
    assert names.find("scale", owner="rmtjax.GOE") is None, "a parameter"
    assert names.find("stieltjes", packages=("statistics",)) == "rmtjax.statistics.stieltjes"
    for text in ("rmt.laws.Poisson", "law.quantile", "GOE.counts", "rmtjax.Wigners(3)"):
        assert names.is_claimed(text), text
    for text in (
        "jax.vmap",
        "scipy.stats",
        "numpyro.sample",
        "linalg._decompose.decompose",
        "Mapping",
        "wishart(df, scale)",
    ):
        assert not names.is_claimed(text), text


# Imports


def _run(code: str) -> str:
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_import_leaves_optional_packages_alone_and_starts_no_device():
    optional = {"matplotlib", "hypothesis", "tqdm", "pytest", "sphinx", "scipy.special", "scipy.stats"}
    optional |= {"numpyro", "pandas", "sklearn", "rmtjax.adapters", "rmtjax.testing", "jax.experimental.pallas"}
    imported = f"import sys, rmtjax; print(sorted({optional!r} & set(sys.modules)))"
    # The number of devices can be set only before JAX starts its backend.
    devices = "import jax; jax.config.update('jax_num_cpu_devices', 3); print(jax.device_count('cpu'))"
    assert _run(f"{imported}\n{devices}").splitlines() == ["[]", "3"]


def test_modules_of_extras_complete_and_name_their_extra():
    listed = "import sys, rmtjax as rmt; print({'adapters', 'benchmark', 'plotting', 'testing'} <= {*dir(rmt)})"
    assert _run(f"{listed}; print(rmt.plotting.spacings.__name__)").split() == ["True", "spacings"]
    for module, package in {
        "adapters.pandas": "pandas",
        "adapters.scikit_learn": "sklearn",
        "testing": "hypothesis",
    }.items():
        refused = f"import sys, rmtjax as rmt\nsys.modules[{package!r}] = None\ntry:\n    rmt.{module}\n"
        words = _run(f"{refused}except ImportError as error:\n    print(error)")
        extra = {"sklearn": "scikit-learn", "hypothesis": "test"}.get(package, package)
        assert words == f'`rmtjax.{module}` needs {package}: pip install "rmtjax[{extra}]"'
    missing = "import inspect, sys, rmtjax as rmt\nsys.modules['hypothesis'] = None\n"
    assert _run(f"{missing}print('testing' in dict(inspect.getmembers(rmt)))") == "False"
    with pytest.raises(AttributeError, match="module 'rmtjax' has no attribute 'ploting'"):
        rmt.ploting  # noqa: B018


# The registry


def test_every_public_name_is_registered():
    registered = importlib.import_module("tests.registry").PUBLIC.keys()
    assert PUBLIC_NAMES.keys() - registered == set(), "public, but not in tests/registry.py"
    assert registered - PUBLIC_NAMES.keys() == set(), "in tests/registry.py, but not public"


# Signatures

# A parameter is this long at most as `help()` shows it. All of JAX's and NumPy's arrays and numbers have names.
_LONGEST = 125


def public_signatures() -> Iterator[tuple[str, inspect.Signature]]:
    """The signatures of public functions, classes and methods."""
    for name, value in PUBLIC_NAMES.items():
        owners = [cls for cls in value.__mro__ if cls.__module__.startswith("rmtjax")] if inspect.isclass(value) else []
        members = {key: each for owner in reversed(owners) for key, each in vars(owner).items() if key[0] != "_"}
        methods = {f"{name}.{key}": each for key, each in members.items()}
        for key, function in ({name: value} | methods).items():
            if inspect.isfunction(function) or (inspect.isclass(function) and "__init__" in vars(function)):
                yield key, inspect.signature(function)


def test_parameters_are_short_in_help():
    signatures = dict(public_signatures())
    assert str(signatures["rmtjax.laws.Semicircle.pdf"]).startswith("(self, x: RealLike) -> ")
    shown = {
        f"{name}({parameter.name})": inspect.formatannotation(parameter.annotation)
        for name, signature in signatures.items()
        for parameter in signature.parameters.values()
    }
    assert {where: text for where, text in shown.items() if len(text) > _LONGEST or "ndarray |" in text} == {}


def test_arrays_may_be_lists():
    """No parameter asks for an array of JAX but for those of functions and records; see `test_array_likes.py`."""
    arrays = {
        f"{name}({parameter.name})"
        for name, signature in public_signatures()
        if not inspect.isclass(PUBLIC_NAMES.get(name)) or _writes_init(PUBLIC_NAMES[name])
        for parameter in signature.parameters.values()
        if re.search(r"\b(Bool|Complex|Float|Inexact|Int|Real)\[(?!ndarray)", str(parameter.annotation))
        and "Callable" not in str(parameter.annotation)
    }
    assert arrays == set()


# What is named by the user or by another package, or is text.
_FREE = {"calibration", "checkpoint", "device", "dtype", "every", "jax_version", "label", "law", "moments", "parameter"}
_FREE |= {"path", "bins", "laws", "quantity", "select", "source", "terms"}


def test_choices_are_literals():
    """A parameter that is text is free, and β is a literal or a parameter that varies continuously."""
    plain = {
        f"{name}({parameter.name})"
        for name, signature in public_signatures()
        for parameter in signature.parameters.values()
        if parameter.name not in _FREE
        and re.search(r"\bstr\b" if "beta" not in parameter.name else r"\bint\b", str(parameter.annotation))
    }
    # The name of a user's function, for one of the tests.
    assert plain == {"rmtjax.inference.SpectraComparison(test)"}


def test_it_runs_from_its_source():
    """A machine without a network may have the packages that it needs, and the library only as a folder."""
    hidden = """
from importlib import metadata
real = metadata.Distribution.from_name
def from_name(name):
    if name == "rmtjax":
        raise metadata.PackageNotFoundError(name)
    return real(name)
metadata.Distribution.from_name = from_name
import rmtjax
from rmtjax.doctor import _parts
print(rmtjax.__version__, _parts.packages()[0].split(",")[0], len(_parts.packages()[1]))
"""
    assert printed("-c", hidden) == f"{rmt.__version__} rmtjax {rmt.__version__} 0\n"
