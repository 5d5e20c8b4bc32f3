"""The manual: Sphinx with MyST pages, whose code cells are executed, and the docstrings of the library."""

import importlib.metadata
import logging
import os
import sys
import typing
from pathlib import Path

# Read when jaxtyping is imported: signatures then say `Float[Array, "n n"]` instead of its own class names.
typing.GENERATING_DOCUMENTATION = True

HERE = Path(__file__).resolve().parent
BUILD = HERE / "_build"
# Executed pages start kernels, which inherit this: to compile without the expensive passes, to keep every compiled
# program for the next build, and to leave the home directory alone.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
# A build that was stopped may have left half of an entry, of which JAX would warn on the page.
os.environ.setdefault("PYTHONWARNINGS", "ignore:Error reading persistent compilation cache entry:UserWarning")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
os.environ.setdefault("JUPYTER_RUNTIME_DIR", str(BUILD / "jupyter"))
os.environ.setdefault("IPYTHONDIR", str(BUILD / "ipython"))
# What kernels and their client say of each page is news to nobody.
logging.getLogger("traitlets").setLevel(logging.WARNING)
profile = BUILD / "ipython" / "profile_default"
profile.mkdir(parents=True, exist_ok=True)
(profile / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 40\n")

project = "rmtjax"
author = "The rmtjax authors"
copyright = author
release = importlib.metadata.version("rmtjax")
version = release

sys.path.insert(0, str(HERE))
from workers import PROGRAMS  # noqa: E402

extensions = [
    "cheat_sheet_pdf",
    "docstrings",
    "formulas",
    "gallery_pages",
    "law_pages",
    "margin",
    "notebooks",
    "pictures",
    "references",
    "search_words",
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build", "_templates", "**.ipynb_checkpoints"]
templates_path = ["_templates"]
html_theme = "furo"
html_title = f"rmtjax {release}"
html_static_path = ["_static"]
html_css_files = ["manual.css"]
html_js_files = ["versions.js"]

myst_enable_extensions = ["amsmath", "dollarmath", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
python_display_short_literal_types = True
# Some file systems take `airy` and `Airy` for one name.
autosummary_filename_map = {"rmtjax.special.Airy": "rmtjax.special.AiryValues"}
napoleon_google_docstring = True
napoleon_numpy_docstring = False

# Code between backticks becomes a link where it names a public object (references.py). A method that several kinds of
# objects have is that of the packages that a page is about.
default_role = "literal"
reference_packages = {
    "laws/": ("laws",),
    "ensembles/": ("ensembles",),
    "linear_algebra": ("linalg",),
    "simulation": ("simulation",),
    "statistics/": ("statistics",),
    "inference/": ("inference",),
}
reference_ignore = ["SymTridiagonal(dv, ev)", "Wigner(1)", "Wishart(β, a)"]  # of Julia's packages

# A link without a target is a warning. Types of other packages have none, as their manuals are not at hand.
nitpicky = True
nitpick_ignore_regex = [
    ("py:class", r"Array|Axes|Bool|Complex|Float|Inexact|Int|Key|PyTree|Real|UInt32|ndarray"),
    # Names of argument types, which `docs/api.md` explains, and type variables.
    ("py:(class|type)", r"(rmtjax\.[\w.]+\.)?(\w+Like|Annotated|RankMethod|SparseMatrix|T)"),
    ("py:(class|type)", r"(rmtjax\.[\w.]+\.)?(Calibration|Entries|FittedLaw|HasCdf|Kernel|Law|SpikedBase|WithEntries)"),
    ("py:class", r"rmtjax\.laws\._finite_n\.level_density\._Ensemble"),  # whatever has a law of its levels here
    ("py:class", r"(collections|datetime|fractions|hypothesis|jax|numpy|numpyro|os|pandas|pathlib)\..*"),
    ("py:class", r"rmtjax\.inference\._fits\.profile\.Profile"),  # what an interval needs
    ("py:class", r"rmtjax\.simulation\._reducers\.\w+\._State"),  # what a reducer keeps is its own affair
]


def setup(app):
    """Pages keep their programs."""
    app.connect("source-read", _own_programs)


def _own_programs(app, docname, source):
    """A folder of compiled programs for each page that is about to be executed.

    A page that times its first call has none, so that it compiles in each build.
    """
    os.environ["JAX_ENABLE_COMPILATION_CACHE"] = str("perf_counter" not in source[0])
    os.environ["JAX_COMPILATION_CACHE_DIR"] = str(PROGRAMS / docname)
