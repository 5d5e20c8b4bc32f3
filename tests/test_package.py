"""What is shipped: the files of the source distribution, and public names that do not change by accident."""

import re
import textwrap
import tomllib

import rmtjax
from rmtjax.__main__ import FIRST_LINES
from tests.golden import public_names
from tests.processes import ROOT, printed

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# What tools leave beside the sources.
_MADE = {"build", "dist", "shared", "PKG-INFO"}


def test_the_source_distribution_has_all_that_its_tests_need():
    """Without `conftest.py` the suite would run in single precision."""
    shipped = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    there = {path.name for path in ROOT.iterdir() if path.name[0] not in "._" and path.suffix != ".png"}
    assert there - _MADE - {*shipped} == {"pyproject.toml"}  # which is always shipped


def test_extras_exist():
    extras = PROJECT["project"]["optional-dependencies"]
    (everything,) = extras["all"]
    named = everything.removeprefix("rmtjax[").removesuffix("]").split(",")
    assert extras.keys() - {"cuda12", "cuda13", "all", "test", "data", "docs", "lint", "bench", "peers"} == {*named}


def test_public_names_and_parameters_are_frozen():
    recorded = public_names.RECORD.read_text().splitlines()
    gone, new = sorted({*recorded} - {*public_names.current()}), sorted({*public_names.current()} - {*recorded})
    assert (gone, new) == ([], []), "a change of the interface: say so in the changelog, and write the record again"


def test_the_citation_names_this_version():
    assert f"\nversion: {rmtjax.__version__}\n" in (ROOT / "CITATION.cff").read_text()


def test_the_conda_package_requires_what_this_one_does():
    recipe = (ROOT / "scripts/conda/recipe.yaml").read_text()
    assert f'version: "{rmtjax.__version__}"' in recipe
    needed = re.findall(r"- (\S+ >=\S+)", recipe.split("  run:\n")[1].split("\n\n")[0])
    stated = [f"python {PROJECT['project']['requires-python']}", *PROJECT["project"]["dependencies"]]
    assert needed == [line.replace(">=", " >=").replace("  ", " ") for line in stated]


def test_the_first_lines_run_as_they_are_printed():
    assert textwrap.indent(FIRST_LINES, "    ") in printed("-m", "rmtjax")
    largest, end, ratio = map(float, re.findall(r"\d\.\d+", printed("-c", FIRST_LINES))[:3])
    assert abs(largest - end) < 0.05
    assert abs(ratio - 0.5307) < 0.03
