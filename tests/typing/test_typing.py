"""What type checkers, and so editors, say of a user's script: no error in right calls, the right ones in wrong calls.

mypy runs with `--strict`, basedpyright in its mode "strict", which is the strictest of VS Code's Pylance.
"""

import json
import os
import re
import runpy
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path

import jax
import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CHECKERS = ("mypy", "basedpyright")
# What follows from an error that is reported in the same line.
FOLLOWS = "reportUnknown"

Errors = set[tuple[int, str]]


def _run(*command: str, cwd: Path = ROOT) -> str:
    paths = {"MYPYPATH": str(ROOT / "src"), "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{sysconfig.get_path('purelib')}"}
    environment = os.environ | paths
    run = subprocess.run([sys.executable, "-m", *command], cwd=cwd, env=environment, capture_output=True, text=True)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return run.stdout


@cache
def errors(checker: str) -> dict[str, Errors]:
    """Line and rule of each error, by the name of the script."""
    if checker == "mypy":
        strict = ("--strict", "--follow-imports=silent", "--output=json")
        lines = _run("mypy", *strict, *(str(HERE / name) for name in ("usage.py", "mistakes.py"))).splitlines()
        found = [(each["file"], each["line"], each["code"]) for each in map(json.loads, lines)]
    else:
        output = _run("basedpyright", "-p", str(HERE), "--pythonpath", sys.executable, "--outputjson")
        each_one = json.loads(output)["generalDiagnostics"]
        found = [(each["file"], each["range"]["start"]["line"] + 1, each["rule"]) for each in each_one]
    by_script: dict[str, Errors] = {"usage.py": set(), "mistakes.py": set()}
    for file, line, rule in found:
        by_script[Path(file).name].add((line, rule))
    return by_script


def planted(checker: str) -> Errors:
    """The errors that the comments in the script name; the rules of basedpyright begin with `report`."""
    mine = lambda rule: rule.startswith("report") == (checker == "basedpyright")
    comments = [re.search(r"  # (.*)$", line) for line in (HERE / "mistakes.py").read_text().splitlines()]
    rules = {number: comment[1].split(", ") for number, comment in enumerate(comments, 1) if comment}
    return {(number, rule) for number, names in rules.items() for rule in names if mine(rule)}


@pytest.mark.parametrize("checker", CHECKERS)
def test_typical_calls_have_no_error(checker):
    assert errors(checker)["usage.py"] == set()


@pytest.mark.parametrize("checker", CHECKERS)
def test_mistakes_are_found(checker):
    found = {(line, rule) for line, rule in errors(checker)["mistakes.py"] if not rule.startswith(FOLLOWS)}
    assert found == planted(checker)
    assert len(found) > 50


def test_no_type_of_a_public_name_is_unknown(tmp_path):
    """But for adapters, whose base classes have no types."""
    report = json.loads(
        _run("basedpyright", "--verifytypes", "rmtjax", "--ignoreexternal", "--outputjson", cwd=tmp_path)
    )
    symbols = report["typeCompleteness"]["symbols"]
    public = [
        each for each in symbols if each["isExported"] and not re.search(r"\.(adapters|internal)\.", each["name"])
    ]
    assert len(public) > 300
    assert [each["name"] for each in public if not each["isTypeKnown"]] == []


@pytest.mark.slow
def test_typical_calls_run():
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        runpy.run_path(str(HERE / "usage.py"))
