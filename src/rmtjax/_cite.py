"""BibTeX of the sources that docstrings name."""

import dataclasses
import inspect
import re
import string
import unicodedata
from collections.abc import Iterator
from typing import Any

from rmtjax import _checks
from rmtjax._version import __version__

_SECTION = re.compile(r"^References:\n((?:    .*\n?|\n)*)", re.MULTILINE)
# "Authors (year), where it is", with semicolons between.
_SOURCE = re.compile(r"(?P<authors>[^()]+) \((?P<year>\d{4})\)(?:, (?P<place>.*))?")
_ARTICLE = re.compile(
    r"(?P<journal>[A-ZÉ][^,\d]*?) (?P<volume>[A-Z]?\d+[A-Z]?)(?:\(\d+\))?, (?P<pages>[A-Z]?[\w.:-]+)(?:, (?P<note>.*))?"
)
_PREPRINT = re.compile(r"(?:arXiv:|HAL )(?P<eprint>[\w./-]+\d)(?:, (?P<note>.*))?")
_BOOK = re.compile(r"(?:in )?(?P<title>[A-Z][^,]*(?:, [A-Z][^,]*)*)(?:, (?P<note>.*))?")
_KINDS = (("article", _ARTICLE), ("misc", _PREPRINT), ("book", _BOOK), ("misc", re.compile(r"(?P<note>.*)")))


def cite(*objects: Any) -> str:
    """BibTeX entries for the library and for the sources of what a script used.

    The sources are those that the docstrings name under "References". Entries have authors, year, journal, volume and
    page, or the title of a book, and a note where the docstring names a theorem or says what the source is for. They
    have no titles of articles.

    Args:
        objects: functions, classes, or objects made of classes, such as an ensemble or a law, and their methods. Laws
            and ensembles that are parts of others count as well.

    Returns:
        One entry for each source, first that of the library.

    Raises:
        ValueError: one of the objects is not from this library.

    Example:
        >>> import rmtjax as rmt
        >>> print(rmt.cite(rmt.laws.KestenMcKay(3)))
        @misc{rmtjax,
          author = {{The rmtjax authors}},
          title = {rmtjax},
          note = {Version 0.1.0}
        }
        ...
    """
    own = {"author": "{The rmtjax authors}", "title": "rmtjax", "note": f"Version {__version__}"}
    entries = {"rmtjax": ("misc", own)}
    for thing in objects:
        for part in _parts(thing):
            for kind, fields in _sources(inspect.getdoc(part) or ""):
                _add(entries, kind, fields)
    return "\n\n".join(_written(key, kind, fields) for key, (kind, fields) in entries.items())


def _parts(thing: Any) -> Iterator[Any]:
    """An object's class or the function itself, and those of the objects in its fields."""
    if inspect.ismethod(thing):
        yield from _parts(thing.__self__)
    documented = thing if inspect.isroutine(thing) or inspect.isclass(thing) else type(thing)
    if not getattr(documented, "__module__", "").startswith("rmtjax"):
        raise _checks.refusal("objects", "be functions, classes or objects of rmtjax", thing)
    yield documented
    if dataclasses.is_dataclass(thing) and not inspect.isclass(thing):
        for field in dataclasses.fields(thing):
            inner = getattr(thing, field.name)
            for each in inner if isinstance(inner, tuple | list) else (inner,):
                if type(each).__module__.startswith("rmtjax"):
                    yield from _parts(each)


def _sources(docstring: str) -> Iterator[tuple[str, dict[str, str]]]:
    """The kind and the fields of each source."""
    section = _SECTION.search(docstring)
    text = " ".join(section[1].split()).removesuffix(".") if section else ""
    for source in filter(None, map(_SOURCE.fullmatch, text.split("; "))):
        place = source["place"] or ""
        kind, found = next((kind, match) for kind, form in _KINDS if (match := form.fullmatch(place)))
        authors = source["authors"].replace(" et al.", " and others").replace(", ", " and ")
        fields = {"author": authors, "year": source["year"]}
        yield kind, fields | {name: value for name, value in found.groupdict().items() if value}


def _add(entries: dict[str, tuple[str, dict[str, str]]], kind: str, fields: dict[str, str]) -> None:
    """Enter a source, unless it is there. Sources of one author and year differ by a letter."""
    author = unicodedata.normalize("NFKD", fields["author"].split(" and ")[0])
    stem = "".join(letter for letter in author if letter.isascii() and letter.isalpha()).lower() + fields["year"]
    place = lambda each: {name: value for name, value in each.items() if name != "note"}
    for letter in ("", *string.ascii_lowercase[1:]):
        known = entries.setdefault(stem + letter, (kind, fields))
        if place(known[1]) == place(fields):
            return


def _written(key: str, kind: str, fields: dict[str, str]) -> str:
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    return f"@{kind}{{{key},\n{lines}\n}}"
