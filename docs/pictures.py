"""Sphinx extension: each picture has a text for those who cannot see it, its caption or the title of its section."""

from typing import Any

from docutils import nodes


def _describe(app: Any, doctree: nodes.document) -> None:
    for image in doctree.findall(nodes.image):
        above = image.parent
        while not image.get("alt") and above is not None:
            # A caption stands in the figure around the cell's output, and else a title in the section around that.
            kind = nodes.caption if isinstance(above, nodes.figure) else nodes.title
            caption = next((child for child in above.children if isinstance(child, kind)), None)
            if caption is not None:
                image["alt"] = " ".join(caption.astext().split())
            above = above.parent


def setup(app: Any) -> dict[str, bool]:
    """After the cells have run, before the pages are written."""
    app.connect("doctree-read", _describe)
    return {"parallel_read_safe": True}
