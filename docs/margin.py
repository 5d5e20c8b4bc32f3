"""Sphinx extension: the tree of all pages in the margin, made once and not again for each page.

The theme resolves and parses the whole tree for every page that it writes, which took more than half of the time of a
build. The trees of two pages differ only in their relative links and in which entry is the page itself. So the tree of
the first page is made as the theme makes it, and the other ones from it.
"""

import functools
import posixpath
import re
from typing import Any

from furo.navigation import get_navigation_tree
from sphinx.environment.adapters.toctree import TocTree
from sphinx.util.osutil import relative_uri

_TAG = re.compile(r"(</?(?:li|ul|a|input)\b[^>]*>)")
_LINK = re.compile(r'(<a class="reference internal" href=")([^"]*)(">)')
_CLASS = re.compile(r'(class="toctree-l\d+)')


def _silence(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Before the theme asks for the tree, so that it makes none."""
    context["toctree"] = lambda **_: ""


def _add(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    here = app.builder.get_target_uri(pagename)
    tags, around = _tree(app, posixpath.dirname(here))
    tags, chain = list(tags), around.get(here, ())
    for index in chain:
        tags[index] = '<ul class="current">' if tags[index] == "<ul>" else _CLASS.sub(r"\1 current", tags[index])
        if "has-children" in tags[index]:
            box = _next(tags, index, "<input ")
            tags[box] = tags[box].replace(' class="', ' checked="" class="')
    if chain:
        tags[chain[-1]] = tags[chain[-1]].replace('">', ' current-page">')
        tags[_next(tags, chain[-1], "<a ")] = '<a class="current reference internal" href="#">'
    context["furo_navigation_tree"] = "".join(tags)


def _next(tags: list[str], index: int, start: str) -> int:
    return next(i for i in range(index, len(tags)) if tags[i].startswith(start))


@functools.cache
def _tree(app: Any, folder: str) -> tuple[list[str], dict[str, tuple[int, ...]]]:
    """The text and tags of the tree with links from pages of a folder, and which tags are around each page."""
    tags, around, chain = _TAG.split(_first(app)), {}, []
    for index, tag in enumerate(tags):
        if tag.startswith(("<li", "<ul")):
            chain.append(index)
        elif tag in ("</li>", "</ul>"):
            chain.pop()
        elif link := _LINK.fullmatch(tag):
            around[link[2]] = tuple(chain)
            tags[index] = link[1] + relative_uri(posixpath.join(folder, "page"), link[2]) + link[3]
    return tags, around


@functools.cache
def _first(app: Any) -> str:
    tree = TocTree(app.env).get_toctree_for(
        app.config.root_doc, app.builder, collapse=False, titles_only=True, maxdepth=-1, includehidden=True
    )
    return get_navigation_tree(app.builder.render_partial(tree)["fragment"])


def setup(app: Any) -> dict[str, bool]:
    """Around the handler of the theme, which has the priority 500."""
    app.connect("html-page-context", _silence, priority=400)
    app.connect("html-page-context", _add, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
