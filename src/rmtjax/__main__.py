"""What one can do next: `python -m rmtjax`."""

import textwrap

from rmtjax._version import __version__

# A test runs it.
FIRST_LINES = """\
import jax
import rmtjax as rmt

levels = rmt.GOE(1000).eigenvalues(jax.random.key(0))
print(levels[-1], "near the end of the semicircle,", rmt.GOE(1000).law().support()[1])
print(rmt.statistics.gap_ratios(levels).mean(), "near 0.53, the mean ratio of spacings of chaotic spectra")
"""

_TEXT = """\
rmtjax {version}: random-matrix theory on JAX

Some lines to begin with:

{lines}
Further:

    python -m rmtjax.doctor       what is installed, how it is set, and whether it computes right
    python -m rmtjax.benchmark    how fast it is here
    help(rmt)                     what there is, in Python; help(rmt.GOE) has formulas, shapes and sources
"""


def main() -> None:
    """Print the text."""
    print(_TEXT.format(version=__version__, lines=textwrap.indent(FIRST_LINES, "    ")), end="")


if __name__ == "__main__":
    main()
