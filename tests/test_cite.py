"""`rmt.cite`, and the form of the sources in docstrings that it reads."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import rmtjax as rmt
from rmtjax import _cite
from tests.test_architecture import PUBLIC_NAMES

PACKAGE = Path(rmt.__file__).parent
# What a section may say besides: where else to look.
BESIDES = re.compile(r"(the )?(theory|law|convention|derived)\b.*(`|in the manual).*")


def sections():
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node) or ""
                if "\nReferences:\n" in text:
                    yield f"{path.name}, {node.name}", text


def test_every_source_has_authors_year_and_place():
    named = dict(sections())
    assert len(named) > 200
    kinds = []
    for name, text in named.items():
        chunks = " ".join(_cite._SECTION.search(text)[1].split()).removesuffix(".").split("; ")
        sources = [*_cite._sources(text)]
        assert len(sources) + sum(bool(BESIDES.fullmatch(chunk)) for chunk in chunks) == len(chunks), name
        for kind, fields in sources:
            kinds.append(kind)
            assert re.match(r"[A-ZÉŠŻ]|(de|del|van|von|der) ", fields["author"]), name
            assert not re.search(r"[:;(\d]| for ", fields["author"]), name
            assert {"journal", "eprint", "title"} & fields.keys(), f"{name}: no place of {fields}"
            # A source that begins in the middle of a note would be lost.
            assert not re.search(r"\(\d{4}\)", "".join(fields.values())), name
    assert len(kinds) > 400
    assert kinds.count("article") > 300


def test_entries():
    law = rmt.laws.FreeSum(rmt.laws.MarchenkoPastur(0.5), rmt.laws.Semicircle())
    written = rmt.cite(law, rmt.laws.TracyWidom(1), rmt.laws.MarchenkoPastur, rmt.inference.shrink_covariance)
    keys = re.findall(r"^@\w+{(\w+),", written, re.MULTILINE)
    assert keys[0] == "rmtjax"
    assert len(keys) == len({*keys})
    # A part of the sum, once; two works of the same authors and year; a name with accents.
    assert {"marcenko1967", "wigner1955", "ledoit2004", "ledoit2004b", "ramirez2011"} <= {*keys}
    assert (
        """@article{marcenko1967,
  author = {Marčenko and Pastur},
  year = {1967},
  journal = {Math. USSR Sb.},
  volume = {1},
  pages = {457}
}"""
        in written
    )
    for entry in written.split("\n\n"):
        assert entry.count("{") == entry.count("}")
        assert "author = {" in entry


def test_every_public_name_passes_its_sources_on():
    named = [name for name, thing in PUBLIC_NAMES.items() if "\nReferences:\n" in (inspect.getdoc(thing) or "")]
    assert len(named) > 150
    assert [name for name in named if rmt.cite(PUBLIC_NAMES[name]).count("@") < 2] == []


def test_other_objects_are_refused():
    with pytest.raises(ValueError, match="`objects` must be functions, classes or objects of rmtjax"):
        rmt.cite(print)
    with pytest.raises(ValueError, match="`objects` must be"):
        rmt.cite(3.0)


def test_a_method_is_cited_with_its_object():
    law = rmt.laws.FreeSum(rmt.laws.MarchenkoPastur(0.5), rmt.laws.Semicircle())
    assert rmt.cite(law.cdf) == rmt.cite(law)
    assert "{{The rmtjax authors}}" in rmt.cite(law)  # no first and last names
