"""The one table of laws and ensembles: what every battery, the golden values and the pages of the manual are made of.

A new law or ensemble needs its line here. Objects are written as expressions, which `made` evaluates in a precision.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

import rmtjax as rmt

# No array yet: the manual reads this table and starts no device.
SYMMETRIC = [[2.0, 0.3, -0.5], [0.3, 1.0, 0.2], [-0.5, 0.2, 3.0]]


@dataclass(frozen=True)
class Contract:
    """An instance that is held to `check_law`; every day without derivatives in reverse mode, unless told."""

    of: str
    daily: str = "forward"  # or "whole", "never"
    rtol: float | None = None
    rtol_single: float | None = None  # and it is held to that in single precision too, by `make test-slow`


@dataclass(frozen=True)
class Law:
    """A law in the tests and in the manual.

    `of` is its line in the table of its room. `curves` are drawn on its page with `draws` (by default of the first) and
    `quantity` as the name of their axis. `example` has parameters without any special value, for all batteries.
    The golden values of the law are made in `golden/laws.py`.
    """

    title: str
    of: str
    curves: tuple[str, ...]
    example: str
    contract: tuple[Contract, ...] = ()
    draws: str = ""
    caption: str = ""
    quantity: str = "levels"


def made(expression: str, dtype: Any = None) -> Any:
    """The object that an expression makes; in a precision, if one is given."""
    value = eval(expression, {"jnp": jnp, "SYMMETRIC": jnp.array(SYMMETRIC)} | vars(rmt.laws) | vars(rmt))
    if dtype is None:
        return value
    narrow = lambda leaf: leaf.astype(dtype) if jnp.issubdtype(jnp.result_type(leaf), jnp.floating) else leaf
    return jax.tree.map(lambda leaf: narrow(jnp.asarray(leaf)), value)


# The phases of a matrix of two blocks.
TWO_BLOCKS = "lambda k: jnp.sort(jax.vmap(COE(100).eigenphases)(jax.random.split(k)).ravel())"


def mapped(method: str, number: int) -> str:
    """The draws of many matrices."""
    return f"jax.jit(jax.vmap({method}))(jax.random.split(key, {number}))"


# The headings are those of the rooms in which the laws live.
LAWS: dict[str, Law] = {
    # Limiting densities on the line
    "Semicircle": Law(
        "Semicircle",
        "Gaussian and Wigner matrices",
        ("Semicircle(2.0)",),
        "Semicircle(1.5)",
        (Contract("Semicircle(1.5)", "never"),),
        draws=mapped("GOE(200).eigenvalues", 20),
        caption="levels of GOE(200)",
    ),
    "QuarterCircle": Law(
        "Quarter circle",
        "singular values of square Ginibre matrices",
        ("QuarterCircle(2.0)",),
        "QuarterCircle(1.5)",
        (Contract("QuarterCircle(1.5)", "whole"),),
        draws=mapped("lambda k: jnp.linalg.svd(Ginibre(100).sample(k), compute_uv=False)", 100),
        caption="singular values of Ginibre(100)",
        quantity="singular values",
    ),
    "MarchenkoPastur": Law(
        "Marčenko and Pastur",
        "sample covariance matrices of white noise",
        ("MarchenkoPastur(0.25)", "MarchenkoPastur(1.0)", "MarchenkoPastur(4.0, 0.5)"),
        "MarchenkoPastur(0.4, 1.2)",
        (Contract("MarchenkoPastur(2.0, 1.2)", "whole"), Contract("MarchenkoPastur(1.0, 0.7)", "never")),
        draws=mapped("Wishart(100, 400).eigenvalues", 20),
        caption="levels of Wishart(100, 400)",
    ),
    "FreePoisson": Law(
        "Free Poisson law",
        "sums of many free projections: the Marčenko–Pastur law by its rate",
        ("FreePoisson(4.0)", "FreePoisson(0.25, 2.0)"),
        "FreePoisson(2.5, 0.8)",
        (Contract("FreePoisson(0.4, 1.5)"),),
    ),
    "GeneralMarchenkoPastur": Law(
        "Marčenko and Pastur, general population",
        "sample covariance matrices of any population",
        ("GeneralMarchenkoPastur(0.0625, [1.0, 16.0])", "GeneralMarchenkoPastur(0.5, [1.0, 3.0, 8.0])"),
        "GeneralMarchenkoPastur(0.4, [1.0, 2.5], [0.75, 0.25])",
        (
            Contract("GeneralMarchenkoPastur(0.1, [1.0, 10.0], [0.5, 0.5])", "never"),
            Contract("GeneralMarchenkoPastur(2.0, [0.0, 1.0, 3.0], [0.25, 0.5, 0.25])", "never"),
        ),
        draws="CorrelatedWishart(jnp.diag(jnp.repeat(jnp.array([1.0, 16.0]), 150)), 4800).eigenvalues(key)",
        caption="levels of one CorrelatedWishart of 300 rows",
    ),
    "InverseMarchenkoPastur": Law(
        "Inverse Marčenko and Pastur",
        "inverse Wishart matrices",
        ("InverseMarchenkoPastur(0.25)", "InverseMarchenkoPastur(0.5)"),
        "InverseMarchenkoPastur(0.4, 1.2)",
        (Contract("InverseMarchenkoPastur(0.4, 1.2)", "never"),),
        draws=mapped("InverseWishart(100, 400).eigenvalues", 20),
        caption="levels of InverseWishart(100, 400)",
    ),
    "FreeLevy": Law(
        "Free Lévy law",
        "inverses of square Wishart matrices: the free stable law of index 1/2",
        ("FreeLevy(1.0)",),
        "FreeLevy(1.2)",
        (Contract("FreeLevy(1.2)"),),
        draws=mapped("InverseWishart(100, 100).eigenvalues", 20),
        caption="levels of InverseWishart(100, 100)",
    ),
    "Wachter": Law(
        "Wachter's law",
        "Jacobi (MANOVA) matrices",
        ("Wachter(2.5, 1.5)", "Wachter(1.0, 3.0)", "Wachter(0.5, 0.75)"),
        "Wachter(0.7, 1.6)",
        (Contract("Wachter(0.75, 0.5)"),),
        draws=mapped("Jacobi(100, 250, 150).eigenvalues", 20),
        caption="levels of Jacobi(100, 250, 150)",
    ),
    "FussCatalan": Law(
        "Fuss and Catalan",
        "squared singular values of products of Ginibre matrices",
        ("FussCatalan(2)", "FussCatalan(1)", "FussCatalan(4)"),
        "FussCatalan(2)",
        (Contract("FussCatalan(2)", rtol=1e-11, rtol_single=0.001),),
        draws="jnp.linalg.svd(GinibreProduct(400, 2).sample(key), compute_uv=False) ** 2",
        caption="squared singular values of GinibreProduct(400, 2)",
        quantity="squared singular values",
    ),
    "KestenMcKay": Law(
        "Kesten and McKay",
        "random regular graphs",
        ("KestenMcKay(3.0)", "KestenMcKay(10.0)"),
        "KestenMcKay(3.2)",
        (Contract("KestenMcKay(3.0)", "whole", rtol_single=2.5e-4),),
        draws=mapped("RandomRegular(300, 3).eigenvalues", 10),
        caption="levels of RandomRegular(300, 3)",
    ),
    "Arcsine": Law(
        "Arcsine law",
        "the sum of two free signs; squared cosines",
        ("Arcsine(2.0)",),
        "Arcsine(1.5)",
        (Contract("Arcsine(1.5)", "whole"),),
    ),
    "BuresLaw": Law(
        "Bures",
        "density matrices with the Bures measure",
        ("BuresLaw()",),
        "BuresLaw(0.8)",
        (Contract("BuresLaw(0.7)"),),
    ),
    "Normal": Law(
        "Normal law",
        "random diagonals; with a semicircle, Laplacians of graphs",
        ("Normal(1.0)",),
        "Normal(0.8)",
        (Contract("Normal(0.8)", "whole"),),
    ),
    "DeformedSemicircle": Law(
        "Deformed semicircle",
        "a fixed matrix with noise",
        ("DeformedSemicircle([-1.0, 1.0], [0.5, 0.5], 1.0)", "DeformedSemicircle([-1.0, 1.0], [0.25, 0.75], 2.5)"),
        "DeformedSemicircle([-0.5, 0.5], [0.5, 0.5], 1.5)",
        (Contract("DeformedSemicircle([1.0, -1.0, 0.25], [0.25, 0.125, 0.625], 1.0)"),),
    ),
    "EquilibriumMeasure": Law(
        "Equilibrium measures",
        "matrices in a polynomial potential",
        ("EquilibriumMeasure([0.0, 0.5, 0.0, 0.25])", "EquilibriumMeasure([0.0, -2.0, 0.0, 0.25], 2)"),
        "EquilibriumMeasure([0.3, -2.0, 0.1, 0.25], 2)",
        (Contract("EquilibriumMeasure([0.3, -2.0, 0.1, 0.25], 2)", "never"),),
    ),
    "Uniform": Law(
        "Uniform law",
        "a part for others, and independent levels",
        ("Uniform(-1.0, 2.0)",),
        "Uniform(-1.0, 2.0)",
        (Contract("Uniform(-0.7, 2.1)", "whole"),),
        quantity="x",
    ),
    # Exact densities at finite n
    "LevelDensity": Law(
        "Levels of finite ensembles",
        "Gaussian, Wishart and Jacobi ensembles of finite size",
        ("LevelDensity(GUE(4))", "LevelDensity(GOE(4))", "LevelDensity(GSE(4))"),
        "LevelDensity(GUE(3, 1.2))",
        draws=mapped("GUE(4).eigenvalues", 5000),
        caption="levels of GUE(4)",
    ),
    # Laws made of others
    "wigner_cat": Law(
        "Wigner's cat",
        "levels of mixed-order matrices, padded by repetition, and their mirror image",
        ("wigner_cat(0.75, order=200)", "wigner_cat(0.75)"),
        "wigner_cat(0.7, 1.5)",
        (Contract("wigner_cat(0.7, 1.5, 8)", "never"),),
        draws=mapped(
            "lambda k: jnp.outer(jnp.array([1, -1]), Mixed(GOE(200), 0.75).periodic_eigenvalues(k, 'ascending'))", 100
        ),
        caption="padded levels of Mixed(GOE(200), 0.75), and their mirror image",
    ),
    "PeriodicPadding": Law(
        "Periodic padding",
        "levels of mixed-order matrices, padded by repetition",
        ('PeriodicPadding(Semicircle(2.0), 0.75, "ascending")', 'PeriodicPadding(Semicircle(2.0), 0.75, "magnitude")'),
        'PeriodicPadding(Semicircle(1.5), 0.7, "magnitude", 8)',
        (Contract('PeriodicPadding(Semicircle(1.5), 0.7, "ascending", 8)', "never"),),
    ),
    "BinomialSemicircle": Law(
        "Semicircles of binomial order",
        "levels of leading blocks of binomial order, in the units of the whole matrix",
        ("BinomialSemicircle(6, 0.5)",),
        "BinomialSemicircle(8, 0.7, 1.5)",
        (Contract("BinomialSemicircle(8, 0.7, 1.5)", "never"),),
    ),
    "Mixture": Law(
        "Mixtures",
        "one of several laws, chosen at random",
        ("Mixture([0.25, 0.75], [Semicircle(2.0), Uniform(-1.0, 2.0)])",),
        "Mixture([0.25, 0.75], [Semicircle(1.5), Semicircle(0.5)])",
        (Contract("Mixture([0.25, 0.75], [Semicircle(1.5), Uniform(-0.5, 2.0)])", "never"),),
    ),
    "Affine": Law(
        "A law with another scale and origin",
        "levels that are multiplied and shifted",
        ("Affine(MarchenkoPastur(0.25), -0.5, 1.0)",),
        "Affine(Semicircle(1.5), -0.7, 0.4)",
        (Contract("Affine(MarchenkoPastur(2.0, 1.2), -0.7, 0.4)", "never"),),
    ),
    "Symmetrized": Law(
        "A law with its mirror image",
        "a law with its mirror image",
        ("Symmetrized(MarchenkoPastur(0.25))",),
        'Symmetrized(Mixed(GOE(8), 0.7).law("ascending"))',
        (Contract("Symmetrized(MarchenkoPastur(0.25))", "never"),),
    ),
    # Free probability
    "Empirical": Law(
        "Given levels",
        "the levels of one matrix",
        ("Empirical([-1.0, 0.0, 2.0], [0.25, 0.5, 0.25])",),
        "Empirical([-1.2, 0.3, 1.7], [0.2, 0.5, 0.3])",
    ),
    "FreeSum": Law(
        "Free sums",
        "a matrix plus another one in general position",
        ("FreeSum(Empirical([-1.0, 1.0]), Semicircle(1.0))",),
        "FreeSum(Empirical([-1.2, 0.9], [0.4, 0.6]), Semicircle(0.8))",
        (Contract("FreeSum(Empirical([-1.0, 1.0], [0.2, 0.8]), MarchenkoPastur(3.0))", "never"),),
        draws="Deformed(GOE(400, 0.5), jnp.repeat(jnp.array([-1.0, 1.0]), 200)).eigenvalues(key)",
        caption="levels of one matrix of order 400",
    ),
    "VarianceProfileLaw": Law(
        "Variance profiles",
        "symmetric matrices with independent entries of several variances",
        ("VarianceProfileLaw([[1.0, 0.25], [0.25, 4.0]], [0.75, 0.25])",),
        "VarianceProfileLaw([[0.6, 0.2], [0.2, 0.3]], [0.6, 0.4], [-0.5, 0.4])",
        (Contract("VarianceProfileLaw([[0.6, 0.2], [0.2, 0.3]], [0.6, 0.4], [-0.9, 0.8])", "never"),),
        draws="VarianceProfile(jnp.repeat(jnp.repeat(jnp.array([[1.0, 0.25], [0.25, 4.0]]), jnp.array([300, 100]), 0, "
        "total_repeat_length=400), jnp.array([300, 100]), 1, total_repeat_length=400) / 400).eigenvalues(key)",
        caption="levels of one matrix of order 400",
    ),
    "CovarianceProfileLaw": Law(
        "Variance profiles of data",
        "sample covariances of data whose independent entries have several variances",
        ("CovarianceProfileLaw([[1.0, 4.0]], 0.5)",),
        "CovarianceProfileLaw([[0.6, 0.2], [0.3, 0.9]], 0.4, [0.6, 0.4], [0.7, 0.3])",
        (Contract("CovarianceProfileLaw([[0.6, 0.2], [0.3, 0.9]], 2.5, [0.6, 0.4], [0.7, 0.3])", "never"),),
        draws="jnp.linalg.eigvalsh((lambda data: data @ data.T / 800)(jax.random.normal(key, (400, 800)) * "
        "jnp.repeat(jnp.array([1.0, 2.0]), 400)))",
        caption="levels of one matrix of order 400",
    ),
    "FreePolynomial": Law(
        "Polynomials",
        "a polynomial of independent Gaussian matrices",
        ('FreePolynomial({"xy": 1.0, "yx": 1.0})',),
        'FreePolynomial({"": 0.2, "x": 0.4, "xy": 0.7, "yx": 0.7})',
        (
            Contract('FreePolynomial({"x": 0.4, "xy": 0.7, "yx": 0.7})', "never"),
            Contract('FreePolynomial({"": [[1.5, 0.5], [0.5, -1.5]], "x": [[0.5, 0.0], [0.0, 0.25]]})', "never"),
            Contract('FreePolynomial({"x": 0.4, "xy": 0.7, "yx": 0.7}, {"x": Uniform(-1.0, 2.0)})', "never"),
        ),
        draws="(lambda x, y: eigvalsh(x @ y + y @ x))(*map(GUE(400).sample, jax.random.split(key)))",
        caption="levels of XY + YX for two matrices of order 400",
    ),
    "FreePower": Law(
        "Free powers",
        "the sum of several matrices in general position",
        ("FreePower(Empirical([-1.0, 1.0]), 3.0)",),
        "FreePower(Empirical([-1.2, 0.9], [0.4, 0.6]), 2.5)",
        (Contract("FreePower(MarchenkoPastur(0.5), 1.5)", "never"),),
        draws="eigvalsh(sum(map(turned_signs, jax.random.split(key, 3))))",
        caption="levels of the sum of three matrices of order 400",
    ),
    "FreeCompression": Law(
        "Corners",
        "a block of a matrix in general position",
        ("FreeCompression(Empirical([-1.0, 1.0]), 0.75)",),
        "FreeCompression(Empirical([-1.2, 0.9], [0.4, 0.6]), 0.3)",
        (Contract("FreeCompression(MarchenkoPastur(2.0), 0.7)", "never"),),
        draws="eigvalsh(turned_signs(key)[:300, :300])",
        caption="levels of a block of 300 rows of a matrix of order 400",
    ),
    "FreeProduct": Law(
        "Free products",
        "the product of two positive matrices in general position",
        ("FreeProduct(Empirical([1.0, 5.0]), MarchenkoPastur(0.25))",),
        "FreeProduct(Empirical([0.7, 2.3], [0.4, 0.6]), MarchenkoPastur(0.4, 1.2))",
        (Contract("FreeProduct(Empirical([1.0, 4.0]), MarchenkoPastur(0.5))", "never"),),
        draws="CorrelatedWishart(jnp.diag(jnp.repeat(jnp.array([1.0, 5.0]), 150)), 1200).eigenvalues(key)",
        caption="levels of one CorrelatedWishart of 300 rows",
    ),
    # Extreme levels
    "TracyWidom": Law(
        "Tracy and Widom",
        "the largest levels at a soft edge, for β = 1, 2, 4",
        ("TracyWidom(2)", "TracyWidom(1)", 'TracyWidom(4, "stochastic-airy")', "TracyWidom(2, order=2)"),
        'TracyWidom(4, "stochastic-airy")',
        (
            Contract("TracyWidom(1)", "never"),
            Contract("TracyWidom(2, order=2)", "never"),
            Contract('TracyWidom(4, "stochastic-airy")', "never"),
        ),
        quantity="largest levels, in the edge variable",
        draws=mapped(
            "lambda k: GUE(10**4).soft_edge().standardize(GUE(10**4).largest_eigenvalues(k, corner=300))", 4000
        ),
        caption="largest levels of GUE(10⁴), standardised by soft_edge()",
    ),
    "StochasticAiry": Law(
        "Tracy and Widom for every β",
        "the largest level at a soft edge, for every β",
        ("StochasticAiry(2.0)", "StochasticAiry(0.7)", "StochasticAiry(10.0)"),
        "StochasticAiry(2.7)",
        (Contract("StochasticAiry(2.7)", "never", rtol=1e-12),),
        quantity="largest levels, in the edge variable",
    ),
    "HardEdge": Law(
        "Smallest level at the hard edge",
        "the smallest level at a hard edge",
        ("HardEdge(0.0, 2)", "HardEdge(1.0, 2)", "HardEdge(0.0, 1)", "HardEdge(1.0, 4)"),
        "HardEdge(0.7, 2)",
        (
            Contract("HardEdge(0.7, 1)", "never", rtol=1e-08),
            Contract("HardEdge(0.7, 2)", "never", rtol=1e-08),
            Contract("HardEdge(1.6, 4)", "never", rtol=1e-08),
        ),
        quantity="smallest levels, in the edge variable",
    ),
    # Spacings and their ratios
    "Spacing": Law(
        "Spacings: Gaudin and Mehta",
        "spacings of random matrices, exactly: the law of Gaudin and Mehta",
        ("Spacing(2)", "Spacing(1)", "Spacing(4)", "Spacing(2, 2)"),
        "Spacing(1)",
        (Contract("Spacing(1)", "never"), Contract("Spacing(4, 2)", "never")),
        draws=f"jnp.diff({mapped('CUE(200).eigenphases', 50)}).ravel() * 200 / (2 * jnp.pi)",
        caption="spacings of CUE(200)",
        quantity="spacings",
    ),
    "WignerSurmise": Law(
        "Wigner's surmise",
        "spacings of random matrices, approximately, for every β",
        ("WignerSurmise(1.0)", "WignerSurmise(2.0)", "WignerSurmise(4.0)", "WignerSurmise(0.5)"),
        "WignerSurmise(1.7)",
        (Contract("WignerSurmise(1.5)"),),
        quantity="spacings",
    ),
    "PoissonSpacing": Law(
        "Spacings of independent levels",
        "spacings of independent levels",
        ("PoissonSpacing()", "PoissonSpacing(4)"),
        "PoissonSpacing(2)",
        (Contract("PoissonSpacing(3)", "whole"),),
        quantity="spacings",
    ),
    "Brody": Law(
        "Brody's law",
        "a family between independent levels and Wigner's surmise",
        ("Brody(0.5)", "Brody(0.0)", "Brody(1.0)"),
        "Brody(0.4)",
        (Contract("Brody(0.5)"),),
        quantity="spacings",
    ),
    "BerryRobnik": Law(
        "Berry and Robnik",
        "the spectrum of a system that is partly regular and partly chaotic",
        ("BerryRobnik(0.25)", "BerryRobnik(0.75)"),
        "BerryRobnik(0.4)",
        (Contract("BerryRobnik(0.4)"), Contract("BerryRobnik(0.0)", "never")),
        quantity="spacings",
    ),
    "CrossoverSurmise": Law(
        "From the GOE to the GUE",
        "the spacing of the two levels of a 2×2 matrix whose time-reversal symmetry is broken in part",
        ("CrossoverSurmise(0.0625)", "CrossoverSurmise(0.5)"),
        "CrossoverSurmise(0.25)",
        (Contract("CrossoverSurmise(0.25)"), Contract("CrossoverSurmise(1e-6)", "never")),
        quantity="spacings",
    ),
    "PoissonCrossoverSurmise": Law(
        "From independent levels to the GOE",
        "the spacing of the two levels of a 2×2 Rosenzweig–Porter matrix: independent levels that a GOE(2) couples",
        ("PoissonCrossoverSurmise(0.25)", "PoissonCrossoverSurmise(1.0)"),
        "PoissonCrossoverSurmise(0.25)",
        (
            Contract("PoissonCrossoverSurmise(0.25)"),
            Contract("PoissonCrossoverSurmise(1e-6)", "never"),
            Contract("PoissonCrossoverSurmise(1e6)", "never"),
        ),
        quantity="spacings",
    ),
    "SuperposedSpacing": Law(
        "Superposed sequences",
        "several independent sequences of levels, as with a symmetry that was not used",
        ("SuperposedSpacing([1, 1], [0.5, 0.5])", "SuperposedSpacing([0, 1, 2, 4], [0.125, 0.25, 0.5, 0.125])"),
        "SuperposedSpacing([0, 2], [0.4, 0.6])",
        (Contract("SuperposedSpacing([1, 2], [0.4, 0.6])", "never"),),
        draws=f"jnp.diff({mapped(TWO_BLOCKS, 50)}).ravel() * 100 / jnp.pi",
        caption="spacings of two blocks, each COE(100)",
        quantity="spacings",
    ),
    "GapRatio": Law(
        "Gap ratios",
        "ratios of consecutive spacings of large random matrices",
        ("GapRatio(2)", "GapRatio(1)", "GapRatio(4)"),
        "GapRatio(1)",
        (Contract("GapRatio(1)"), Contract("GapRatio(4)", "never")),
        draws="(lambda s: jnp.minimum(s[:, 1:] / s[:, :-1], s[:, :-1] / s[:, 1:]))"
        f"(jnp.diff({mapped('CUE(200).eigenphases', 50)}))",
        caption="ratios of CUE(200)",
        quantity="ratios",
    ),
    "GapRatioSurmise": Law(
        "Surmise for gap ratios",
        "ratios of consecutive spacings of random matrices, approximately",
        ("GapRatioSurmise(1.0)", "GapRatioSurmise(2.0)", "GapRatioSurmise(4.0)"),
        "GapRatioSurmise(1.7)",
        (Contract("GapRatioSurmise(1.5)"),),
        draws="(lambda s: jnp.minimum(s[:, 1:] / s[:, :-1], s[:, :-1] / s[:, 1:]))"
        f"(jnp.diff({mapped('COE(200).eigenphases', 50)}))",
        caption="ratios of COE(200)",
        quantity="ratios",
    ),
    "PoissonGapRatio": Law(
        "Gap ratios of independent levels",
        "ratios of consecutive spacings of independent levels",
        ("PoissonGapRatio()",),
        "PoissonGapRatio()",
        (Contract("PoissonGapRatio()", "never"),),
        quantity="ratios",
    ),
    "InterpolatedGapRatio": Law(
        "Gap ratios for every β",
        "ratios of consecutive spacings of large random matrices, interpolated between the exact laws",
        ("InterpolatedGapRatio(0.5)", "InterpolatedGapRatio(2.0)", "InterpolatedGapRatio(7.0)"),
        "InterpolatedGapRatio(1.5)",
        (Contract("InterpolatedGapRatio(1.5)", "never", rtol=1e-9),),
        draws="(lambda s: jnp.minimum(s[:, 1:] / s[:, :-1], s[:, :-1] / s[:, 1:]))"
        f"(jnp.diff({mapped('CircularBeta(200, 0.5).eigenphases', 50)}))",
        caption="ratios of CircularBeta(200, 0.5)",
        quantity="ratios",
    ),
    "InterpolatedSpacing": Law(
        "Spacings for every β",
        "spacings of large random matrices, interpolated between the exact laws",
        ("InterpolatedSpacing(0.5)", "InterpolatedSpacing(2.0)", "InterpolatedSpacing(7.0)"),
        "InterpolatedSpacing(1.5)",
        (Contract("InterpolatedSpacing(1.5)", "never", rtol=1e-9),),
        draws=f"jnp.diff({mapped('CircularBeta(200, 0.5).eigenphases', 50)}).ravel() * 200 / (2 * jnp.pi)",
        caption="spacings of CircularBeta(200, 0.5)",
        quantity="spacings",
    ),
    "ComplexSpacingRatio": Law(
        "Complex spacing ratios",
        "ratios of the distances to the two nearest levels of large Ginibre matrices",
        ("ComplexSpacingRatio()",),
        "ComplexSpacingRatio()",
    ),
    # Components of eigenvectors
    "PorterThomas": Law(
        "Porter and Thomas",
        "the limit of large matrices, in units of the mean",
        ("PorterThomas(1)", "PorterThomas(2)", "PorterThomas(4)"),
        "PorterThomas(1)",
        (Contract("PorterThomas(1)", "never"),),
        draws="200 * HaarOrthogonal(200).sample(key) ** 2",
        caption="squared components of HaarOrthogonal(200)",
        quantity="squared components",
    ),
    "EigenvectorIntensity": Law(
        "Components of eigenvectors",
        "matrices of finite size",
        ("EigenvectorIntensity(10, 1)", "EigenvectorIntensity(4, 2)"),
        "EigenvectorIntensity(5, 1)",
        (Contract("EigenvectorIntensity(5, 4)"),),
        quantity="squared components",
    ),
    # Limiting densities in the plane
    "CircularLaw": Law(
        "Circular law", "matrices with independent entries", ("CircularLaw(2.0)",), "CircularLaw(1.5, 0.5)"
    ),
    "CircularPowerLaw": Law(
        "Powers of the circular law",
        "products of Ginibre matrices",
        ("CircularPowerLaw(2)",),
        "CircularPowerLaw(3, 1.5)",
    ),
    "EllipticLaw": Law(
        "Elliptic law", "matrices with correlated pairs of entries", ("EllipticLaw(0.5)",), "EllipticLaw(0.4, 1.5)"
    ),
    "SphericalLaw": Law("Spherical law", "quotients of Ginibre matrices", ("SphericalLaw()",), "SphericalLaw()"),
    "TruncatedUnitaryLaw": Law(
        "Corners of unitary matrices",
        "corners of unitary matrices",
        ("TruncatedUnitaryLaw(0.5)",),
        "TruncatedUnitaryLaw(0.4)",
    ),
    "SingleRing": Law(
        "Single ring theorem",
        "matrices with given singular values and random singular vectors",
        ("SingleRing([1.0, 2.0])",),
        "SingleRing([0.5, 0.9, 1.4])",
    ),
}

# Ensembles by an example each, with parameters without any special value.
ENSEMBLES: dict[str, str] = {
    "AltlandZirnbauer": 'AltlandZirnbauer("C", 4, 0, 1.2)',
    "Banded": "Banded(5, 1, 1.2)",
    "Bures": "Bures(3)",
    "COE": "COE(3)",
    "CSE": "CSE(3)",
    "CUE": "CUE(3)",
    "CircularBeta": "CircularBeta(3, 1.7)",
    "CorrelatedInverseWishart": "CorrelatedInverseWishart(SYMMETRIC, 4.5)",
    "CorrelatedWishart": "CorrelatedWishart(SYMMETRIC, 4.5)",
    "Deformed": "Deformed(GOE(3, 1.2), jnp.array([-0.7, 0.1, 1.6]))",
    "Elliptic": "Elliptic(3, 0.4, 2, 1.2)",
    "ErdosRenyi": 'ErdosRenyi(5, 0.4, "laplacian")',
    "GOE": "GOE(4, 1.2)",
    "GSE": "GSE(4, 1.2)",
    "GUE": "GUE(4, 1.2)",
    "GaussianBeta": "GaussianBeta(4, 2.5, 1.2)",
    "Ginibre": "Ginibre(3, 1, 1.2)",
    "GinibreProduct": "GinibreProduct(3, 2, 2, 1.2)",
    "HaarIsometry": "HaarIsometry(3, 2, 4)",
    "HaarOrthogonal": "HaarOrthogonal(4)",
    "HaarSpecialOrthogonal": "HaarSpecialOrthogonal(5)",
    "HaarSymplectic": "HaarSymplectic(4)",
    "HilbertSchmidt": "HilbertSchmidt(3, 2)",
    "InducedGinibre": "InducedGinibre(3, 4, 2, 1.2)",
    "InverseWishart": "InverseWishart(3, 5, 2, 0.8)",
    "Jacobi": "Jacobi(4, 3, 5, 2)",
    "JacobiBeta": "JacobiBeta(3, 3.2, 4.1, 1.7)",
    "LaguerreBeta": "LaguerreBeta(3, 3.2, 1.7, 1.2)",
    "Levy": "Levy(4, 1.4, 1.2)",
    "Mixed": "Mixed(GOE(4), 0.7)",
    "RandomRegular": "RandomRegular(6, 3)",
    "RosenzweigPorter": "RosenzweigPorter(4, 1.3, 1.2)",
    "SampleCorrelation": "SampleCorrelation(4, 5.5)",
    "Spherical": "Spherical(3, 2)",
    "Spiked": "Spiked(GOE(4, 1.2), [1.7, -0.4])",
    "TruncatedUnitary": "TruncatedUnitary(3, 2)",
    "VarianceProfile": "VarianceProfile(SYMMETRIC**2, 1.2)",
    "Wigner": 'Wigner(4, 0.8, 0.5, "uniform")',
    "Wishart": "Wishart(3, 2, 2, 0.8)",
}
