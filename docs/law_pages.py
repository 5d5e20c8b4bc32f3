"""Sphinx extension: a page for each law, with its picture and its measured accuracy, in docs/laws.

Before Sphinx reads the manual this file runs as a script of its own, in 64 bits. It writes `laws/<Name>.md` and
`laws/<Name>.png` for every entry of `PAGES`; `laws/index.md` is kept.
"""

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
PAGES_FOLDER = HERE / "laws"


class Page(NamedTuple):
    """A title; laws to draw, as expressions; draws for the histogram, if not those of the first law, and their name."""

    title: str
    curves: tuple[str, ...]
    draws: str = ""
    caption: str = ""


def _mapped(method: str, number: int) -> str:
    """The draws of many matrices."""
    return f"jax.jit(jax.vmap({method}))(jax.random.split(key, {number}))"


PAGES = {
    "Semicircle": Page("Semicircle", ("Semicircle(2.0)",), _mapped("GOE(200).eigenvalues", 20), "levels of GOE(200)"),
    "QuarterCircle": Page(
        "Quarter circle",
        ("QuarterCircle(2.0)",),
        _mapped("lambda k: jnp.linalg.svd(Ginibre(100).sample(k), compute_uv=False)", 100),
        "singular values of Ginibre(100)",
    ),
    "Uniform": Page("Uniform law", ("Uniform(-1.0, 2.0)",)),
    "MarchenkoPastur": Page(
        "Marčenko and Pastur",
        ("MarchenkoPastur(0.25)", "MarchenkoPastur(1.0)", "MarchenkoPastur(4.0, 0.5)"),
        _mapped("Wishart(100, 400).eigenvalues", 20),
        "levels of Wishart(100, 400)",
    ),
    "GeneralMarchenkoPastur": Page(
        "Marčenko and Pastur, general population",
        ("GeneralMarchenkoPastur(0.0625, [1.0, 16.0])", "GeneralMarchenkoPastur(0.5, [1.0, 3.0, 8.0])"),
        "CorrelatedWishart(jnp.diag(jnp.repeat(jnp.array([1.0, 16.0]), 150)), 4800).eigenvalues(key)",
        "levels of one CorrelatedWishart of 300 rows",
    ),
    "InverseMarchenkoPastur": Page(
        "Inverse Marčenko and Pastur",
        ("InverseMarchenkoPastur(0.25)", "InverseMarchenkoPastur(0.5)"),
        _mapped("InverseWishart(100, 400).eigenvalues", 20),
        "levels of InverseWishart(100, 400)",
    ),
    "FreePoisson": Page("Free Poisson law", ("FreePoisson(4.0)", "FreePoisson(0.25, 2.0)")),
    "FussCatalan": Page(
        "Fuss and Catalan",
        ("FussCatalan(2)", "FussCatalan(1)", "FussCatalan(4)"),
        "jnp.linalg.svd(Ginibre(400).sample(key) @ Ginibre(400).sample(jax.random.key(1)), compute_uv=False) ** 2",
        "squared singular values of a product of two Ginibre(400)",
    ),
    "Wachter": Page(
        "Wachter's law",
        ("Wachter(2.5, 1.5)", "Wachter(1.0, 3.0)", "Wachter(0.5, 0.75)"),
        _mapped("Jacobi(100, 250, 150).eigenvalues", 20),
        "levels of Jacobi(100, 250, 150)",
    ),
    "KestenMcKay": Page(
        "Kesten and McKay",
        ("KestenMcKay(3.0)", "KestenMcKay(10.0)"),
        _mapped("RandomRegular(300, 3).eigenvalues", 10),
        "levels of RandomRegular(300, 3)",
    ),
    "Arcsine": Page("Arcsine law", ("Arcsine(2.0)",)),
    "DeformedSemicircle": Page(
        "Deformed semicircle",
        ("DeformedSemicircle([-1.0, 1.0], [0.5, 0.5], 1.0)", "DeformedSemicircle([-1.0, 1.0], [0.25, 0.75], 2.5)"),
    ),
    "LevelDensity": Page(
        "Levels of finite ensembles",
        ("LevelDensity(GUE(4))", "LevelDensity(GOE(4))", "LevelDensity(GSE(4))"),
        _mapped("GUE(4).eigenvalues", 5000),
        "levels of GUE(4)",
    ),
    "BuresLaw": Page("Bures", ("BuresLaw()",)),
    "TracyWidom": Page(
        "Tracy and Widom",
        ("TracyWidom(2)", "TracyWidom(1)", 'TracyWidom(4, "stochastic-airy")', "TracyWidom(2, order=2)"),
        _mapped("lambda k: GUE(10**4).soft_edge().standardize(GUE(10**4).largest_eigenvalues(k, corner=300))", 4000),
        "largest levels of GUE(10⁴), standardised by soft_edge()",
    ),
    "StochasticAiry": Page(
        "Tracy and Widom for every β", ("StochasticAiry(2.0)", "StochasticAiry(0.7)", "StochasticAiry(10.0)")
    ),
    "HardEdge": Page(
        "Smallest level at the hard edge",
        ("HardEdge(0.0, 2)", "HardEdge(1.0, 2)", "HardEdge(0.0, 1)", "HardEdge(1.0, 4)"),
    ),
    "Spacing": Page(
        "Spacings: Gaudin and Mehta",
        ("Spacing(2)", "Spacing(1)", "Spacing(4)", "Spacing(2, 1)"),
        f"jnp.diff({_mapped('CUE(200).eigenphases', 50)}).ravel() * 200 / (2 * jnp.pi)",
        "spacings of CUE(200)",
    ),
    "wigner_cat": Page(
        "Wigner's cat",
        ("wigner_cat(0.75, order=200)", "wigner_cat(0.75)"),
        _mapped(
            "lambda k: jnp.outer(jnp.array([1, -1]), Mixed(GOE(200), 0.75).periodic_eigenvalues(k, 'ascending'))", 100
        ),
        "padded levels of Mixed(GOE(200), 0.75), and their mirror image",
    ),
    "PeriodicPadding": Page(
        "Periodic padding",
        ('PeriodicPadding(Semicircle(2.0), 0.75, "ascending")', 'PeriodicPadding(Semicircle(2.0), 0.75, "magnitude")'),
    ),
    "Symmetrized": Page("A law with its mirror image", ("Symmetrized(MarchenkoPastur(0.25))",)),
    "Mixture": Page("Mixtures", ("Mixture([0.25, 0.75], [Semicircle(2.0), Uniform(-1.0, 2.0)])",)),
    "BinomialSemicircle": Page("Semicircles of binomial order", ("BinomialSemicircle(6, 0.5)",)),
    "WignerSurmise": Page(
        "Wigner's surmise", ("WignerSurmise(1.0)", "WignerSurmise(2.0)", "WignerSurmise(4.0)", "WignerSurmise(0.5)")
    ),
    "PoissonSpacing": Page("Spacings of independent levels", ("PoissonSpacing()", "PoissonSpacing(3)")),
    "Brody": Page("Brody's law", ("Brody(0.5)", "Brody(0.0)", "Brody(1.0)")),
    "BerryRobnik": Page("Berry and Robnik", ("BerryRobnik(0.25)", "BerryRobnik(0.75)")),
    "GapRatioSurmise": Page(
        "Surmise for gap ratios",
        ("GapRatioSurmise(1.0)", "GapRatioSurmise(2.0)", "GapRatioSurmise(4.0)"),
        f"(lambda s: jnp.minimum(s[:, 1:] / s[:, :-1], s[:, :-1] / s[:, 1:]))"
        f"(jnp.diff({_mapped('COE(200).eigenphases', 50)}))",
        "ratios of COE(200)",
    ),
    "PoissonGapRatio": Page("Gap ratios of independent levels", ("PoissonGapRatio()",)),
    "PorterThomas": Page(
        "Porter and Thomas",
        ("PorterThomas(1)", "PorterThomas(2)", "PorterThomas(4)"),
        "200 * HaarOrthogonal(200).sample(key) ** 2",
        "squared components of HaarOrthogonal(200)",
    ),
    "EigenvectorIntensity": Page(
        "Components of eigenvectors", ("EigenvectorIntensity(10, 1)", "EigenvectorIntensity(4, 2)")
    ),
    "CircularLaw": Page("Circular law", ("CircularLaw(2.0)",)),
    "CircularPowerLaw": Page("Powers of the circular law", ("CircularPowerLaw(2)",)),
    "EllipticLaw": Page("Elliptic law", ("EllipticLaw(0.5)",)),
    "SphericalLaw": Page("Spherical law", ("SphericalLaw()",)),
    "TruncatedUnitaryLaw": Page("Corners of unitary matrices", ("TruncatedUnitaryLaw(0.5)",)),
    "SingleRing": Page("Single ring theorem", ("SingleRing([1.0, 2.0])",)),
}


def write() -> None:
    """All pages, in a process for each core up to four: most of the time goes into compilation, on one."""
    processes = min(4, os.cpu_count() or 1)
    with multiprocessing.get_context("spawn").Pool(processes, initializer=_find_golden_values) as pool:
        pool.map(_write, PAGES, chunksize=1)


def _find_golden_values() -> None:
    sys.path.insert(0, str(HERE.parent / "tests" / "golden"))


def _write(name: str) -> None:
    """One page. What is up to date by its text is left alone, so that Sphinx does not read it again."""
    import law_pictures

    page = PAGES[name]
    law_pictures.draw(page, PAGES_FOLDER / f"{name}.png")
    text = _text(name, page)
    target = PAGES_FOLDER / f"{name}.md"
    if not target.exists() or target.read_text() != text:
        target.write_text(text)


def _text(name: str, page: Page) -> str:
    import inspect

    import rmtjax as rmt

    directive = "autoclass" if inspect.isclass(getattr(rmt.laws, name)) else "autofunction"
    caption = f"Histogram: {page.caption or 'draws of `sample`'}."
    return f"""# {page.title}

```{{eval-rst}}
.. {directive}:: rmtjax.laws.{name}
```

```{{figure}} {name}.png
{caption}
```

## Accuracy

{_accuracy(name, page)}
"""


def _accuracy(name: str, page: Page) -> str:
    """The largest relative errors against the golden values."""
    import accuracy
    import jax.numpy as jnp
    import law_pictures

    expressions = [e for e in accuracy.ENTRIES if e.split("(")[0] == name]
    methods = (
        ("pdf", "radial_cdf") if "radial_cdf" in accuracy.ENTRIES[expressions[0]]["points"][0] else ("pdf", "cdf", "sf")
    )
    lines = [
        "Largest relative errors over points of the bulk, both tails and the edges, measured when this page was",
        "made, against values of 25 digits: quadratures of the density with mpmath, or Fredholm determinants in ball",
        "arithmetic. Compiled with all passes of XLA, as usual, a last digit can be another.",
        "",
        "| law | points | source | " + " | ".join(f"`{m}`" for m in methods) + " | in float32 |",
        "|---|---|---|" + "---|" * (len(methods) + 1),
    ]
    for expression in expressions:
        double, single = (
            accuracy.largest_errors(expression, dtype, law_pictures.NUM_POINTS) for dtype in (jnp.float64, jnp.float32)
        )
        entry = accuracy.ENTRIES[expression]
        row = [f"`{expression}`", str(len(entry["points"])), entry["source"], *(f"{double[m]:.0e}" for m in methods)]
        lines.append("| " + " | ".join([*row, f"{max(single.values()):.0e}"]) + " |")
    return "\n".join(lines)


def _run(app: Any) -> None:
    subprocess.run([sys.executable, str(HERE / "law_pages.py")], check=True, env=os.environ | {"JAX_ENABLE_X64": "1"})


def setup(app: Any) -> dict[str, bool]:
    """Make the pages before anything is read."""
    app.connect("builder-inited", _run)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    write()
