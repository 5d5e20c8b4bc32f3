"""The manual: Sphinx with MyST pages, whose code cells are executed, and the docstrings of the library."""

import importlib.metadata
import os
import sys
import typing
from pathlib import Path

# Read when jaxtyping is imported: signatures then say `Float[Array, "n n"]` instead of its own class names.
typing.GENERATING_DOCUMENTATION = True

HERE = Path(__file__).resolve().parent
BUILD = HERE / "_build"
# Executed pages start kernels, which inherit this: to compile without the expensive passes, and to leave the home
# directory alone. Run side by side, pages share no cache of compiled programs: JAX writes entries in place, and another
# process would read half of one.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
os.environ.setdefault("JUPYTER_RUNTIME_DIR", str(BUILD / "jupyter"))
os.environ.setdefault("IPYTHONDIR", str(BUILD / "ipython"))

project = "rmtjax"
author = "The rmtjax authors"
copyright = author
release = importlib.metadata.version("rmtjax")
version = release

sys.path.insert(0, str(HERE))
extensions = [
    "docstrings",
    "law_pages",
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["_build", "conf.py", "docstrings.py", "**.ipynb_checkpoints"]
html_theme = "furo"
html_title = f"rmtjax {release}"

myst_enable_extensions = ["amsmath", "dollarmath", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
python_maximum_signature_line_length = 90
napoleon_google_docstring = True
napoleon_numpy_docstring = False
default_role = "literal"
