"""Sphinx extension: code between backticks that names a public object becomes a link to it.

Pages and docstrings write `GOE`, `rmt.laws.Semicircle(2.0)` or `law.ppf` as they would without a manual. Here such
names are looked up among the documented objects; everything else stays code. What begins like a public name (`rmt.`,
`laws.`, `GOE.`) and is none is a warning, so that a renamed object cannot leave its old name behind.
"""

from typing import Any

from docutils import nodes
from public_names import NAME, Names
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

_LOGGER = logging.getLogger(__name__)


class LinkNames(SphinxPostTransform):
    """Puts links around the names that are between backticks."""

    # Ahead of the resolution of references, whose nodes these are not.
    default_priority = 5

    def run(self, **kwargs: Any) -> None:
        """Replace the literals of one page."""
        names = _names(self.env)
        packages = next(
            (value for start, value in self.config.reference_packages.items() if self.env.docname.startswith(start)), ()
        )
        for literal in list(self.document.findall(nodes.literal)):
            text = literal.astext()
            if not NAME.fullmatch(text) or text in self.config.reference_ignore or _is_inside(literal):
                continue
            owner = _owner(literal)
            found = names.find(text, owner, packages)
            if found and found != owner:
                literal.replace_self(self._link(found, literal))
            elif not found and names.is_claimed(text):
                message = "`%s` is not the name of a public object that the manual documents"
                _LOGGER.warning(message, text, location=literal, type="ref", subtype="name")

    def _link(self, name: str, literal: nodes.literal) -> nodes.reference:
        entry = self.env.domains.python_domain.objects[name]
        builder = self.app.builder
        return make_refnode(builder, self.env.docname, entry.docname, entry.node_id, literal.deepcopy(), name)


def _is_inside(node: nodes.Node) -> bool:
    """Whether a literal is part of a link or of a heading."""
    while node := node.parent:
        if isinstance(node, nodes.reference | nodes.title | addnodes.pending_xref | addnodes.desc_signature):
            return True
    return False


def _owner(node: nodes.Node) -> str:
    """The documented object in whose description a node stands."""
    while node := node.parent:
        if isinstance(node, addnodes.desc):
            signature = node.next_node(addnodes.desc_signature)
            return f"{signature.get('module')}.{signature.get('fullname')}" if signature else ""
    return ""


def _names(env: Any) -> Names:
    """Made once, when all pages have been read."""
    if getattr(_names, "env", None) is not env:
        _names.env, _names.made = env, Names(set(env.domains.python_domain.objects))
    return _names.made


def _resolve_source(app: Any, env: Any, node: Any, content: Any) -> nodes.reference | None:
    """Names in signatures, which say where the source of a class is."""
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py" or not (name := _names(env).of_source(target)):
        return None
    entry = env.domains.python_domain.objects[name]
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, content, name)


def setup(app: Any) -> dict[str, bool]:
    """Connect the two."""
    app.add_config_value("reference_packages", {}, "env")
    app.add_config_value("reference_ignore", [], "env")
    app.add_post_transform(LinkNames)
    app.connect("missing-reference", _resolve_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
