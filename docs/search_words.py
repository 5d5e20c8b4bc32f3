"""Sphinx extension: the search finds accented names without their accents, and pages by words that they do not use."""

import re
import unicodedata
from typing import Any

# What people call the subject of a page.
FURTHER = {
    "laws/WignerSurmise": "GOE GUE GSE level spacing distribution chaos",
    "laws/Spacing": "GOE GUE GSE level spacing distribution Gaudin Mehta chaos",
    "laws/TracyWidom": "largest eigenvalue soft edge GOE GUE GSE",
    "laws/MarchenkoPastur": "free Poisson Wishart sample covariance",
    "laws/Semicircle": "Wigner semicircle law GOE GUE",
    "inference/covariance": "random matrix covariance cleaning shrinkage Ledoit Wolf portfolio RIE",
    "inference/signal": "number of components factors PCA rank parallel analysis BBP",
    "inference/denoising": "singular value thresholding MRI",
    "statistics/short_range": "r statistic chaos integrability level repulsion",
    "statistics/long_range": "Sigma2 Delta3 number variance spectral rigidity Thouless energy",
    "statistics/pairs": "spectral form factor SFF Thouless time ramp plateau",
    "statistics/unfolding": "unfold mean level density",
    "free_probability": "free convolution R-transform S-transform subordination",
}
_ACCENTED = re.compile(r"\w*[^\W\d_a-zA-Z]\w*")


def without_accents(text: str) -> set[str]:
    """The accented words of a text in plain letters; Greek letters and words without accents are none."""
    folded = {unicodedata.normalize("NFKD", word) for word in _ACCENTED.findall(text)}
    plain = {"".join(letter for letter in word if not unicodedata.combining(letter)) for word in folded}
    return {word for word in plain if len(word) > 2 and word.isascii() and word.isalpha()}


def _add_words(app: Any, doctree: Any) -> None:
    from docutils import nodes  # the tests of the words run without Sphinx

    text = doctree.astext()
    words = {*without_accents(text), *FURTHER.get(app.env.docname, "").split()}
    if "levels" in text:  # what the manual calls eigenvalues
        words |= {"eigenvalues", "energies"}
    if words:
        doctree.insert(0, nodes.meta("", name="keywords", content=", ".join(sorted(words))))


def setup(app: Any) -> dict[str, bool]:
    """When a page has been read, before its words are collected."""
    app.connect("doctree-read", _add_words)
    return {"parallel_read_safe": True}
