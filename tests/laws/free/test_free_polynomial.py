"""Laws of polynomials: closed forms, changes of variables, moments by pairings, derivatives, drawn matrices."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.laws import (
    CovarianceProfileLaw,
    Empirical,
    FreePolynomial,
    FreeProduct,
    FreeSum,
    MarchenkoPastur,
    Normal,
    Semicircle,
    Uniform,
    VarianceProfileLaw,
)
from tests.cases import DTYPES
from tests.differences import by_differences

ANTICOMMUTATOR, COMMUTATOR = {"xy": 1.0, "yx": 1.0}, {"xy": 1j, "yx": -1j}
TETILLA_END = np.sqrt((11 + 5 * np.sqrt(5)) / 2)
MIXED = {"": 0.3, "x": 0.4, "xy": 0.7 + 0.2j, "yx": 0.7 - 0.2j, "xyx": -0.3, "yyx": 0.1, "xyy": 0.1}


def of_precision(terms, dtype):
    return FreePolynomial({word: np.asarray(c, dtype) for word, c in terms.items()})


def of_one_variable(terms):
    """The density of p(X), as the sum of those of X over all points with the value x."""
    degree = max(map(len, terms))
    coefficients = [terms.get("x" * k, 0.0) for k in range(degree, -1, -1)]

    def density(x):
        roots = np.roots([*coefficients[:-1], coefficients[-1] - x])
        points = roots.real[(abs(roots.imag) < 1e-9) & (abs(roots) < 2)]
        return np.sum(np.sqrt(4 - points**2) / abs(np.polyval(np.polyder(coefficients), points))) / (2 * np.pi)

    return np.vectorize(density)


def product_of_squares(x):
    """The law of X Y² X: Penson and Życzkowski 2011, Phys. Rev. E 83, 061118, equation 12."""
    root = np.cbrt(27 + 3 * np.sqrt(81 - 12 * x))
    factor = np.cbrt(2) * np.sqrt(3) / (12 * np.pi)
    return factor * (np.cbrt(2) * root**2 - 6 * np.cbrt(x)) / (np.cbrt(x) ** 2 * root)


CUBIC, QUARTIC = {"": 0.5, "x": 1.0, "xx": 0.5, "xxx": -0.25}, {"xx": -1.0, "xxxx": 1.0}
CLOSED = {
    "sum": ({"x": 1.0, "y": 1.0}, lambda x: np.sqrt(8 - x**2) / (4 * np.pi), np.linspace(-2.8, 2.8, 57)),
    "square": ({"xx": 1.0}, of_one_variable({"xx": 1.0}), np.linspace(0.0625, 3.9375, 63)),
    "two squares": (
        {"xx": 1.0, "yy": 1.0},
        lambda x: np.sqrt(8 - (x - 3) ** 2) / (2 * np.pi * x),
        np.linspace(0.25, 5.75, 45),
    ),
    "square of a sum": (
        dict.fromkeys(("xx", "xy", "yx", "yy"), 0.5),
        of_one_variable({"xx": 1.0}),
        np.linspace(0.125, 3.875, 31),
    ),
    "product of squares": ({"xyyx": 1.0}, product_of_squares, np.linspace(0.125, 6.625, 53)),
    "cube": ({"xxx": 1.0}, of_one_variable({"xxx": 1.0}), np.linspace(-7.9375, 7.9375, 128)),
    "cubic": (CUBIC, of_one_variable(CUBIC), np.linspace(-0.0625, 3.3125, 61)),
    "quartic": (QUARTIC, of_one_variable(QUARTIC), np.linspace(0.0625, 11.9375, 77)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms(name, dtype):
    terms, density, x = CLOSED[name]
    got = of_precision(terms, dtype).pdf(x.astype(dtype))
    assert got.dtype == dtype
    np.testing.assert_allclose(got, density(x), rtol={np.float32: 3e-5, np.float64: 1e-12}[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_tetilla_law(dtype):
    """Nica and Speicher 1998: both have all even free cumulants equal to 2; Deya and Nourdin 2012 for the ends."""
    eps = float(np.finfo(dtype).eps)
    x = np.linspace(-3.3, 3.3, 12, dtype=dtype)
    for terms in (ANTICOMMUTATOR, COMMUTATOR):
        law = FreePolynomial({w: np.asarray(c, np.result_type(dtype, type(c))) for w, c in terms.items()})
        if dtype == np.float32:
            law = jax.tree.map(lambda leaf: leaf.astype(dtype), law)
        np.testing.assert_allclose(law.support(), [-TETILLA_END, TETILLA_END], rtol=8 * eps)
        np.testing.assert_allclose(law.pdf(dtype(0)), 1 / np.pi, rtol=64 * eps)
        g = np.asarray(law.stieltjes(x), complex)
        np.testing.assert_allclose(x * g**3 + g**2 - x * g + 1, 0, rtol=0, atol=256 * eps)
        np.testing.assert_allclose([law.free_cumulant(2), law.free_cumulant(4)], 2, rtol=64 * eps)


@pytest.mark.parametrize(
    ("terms", "density"), [({"xx": 1.0}, CLOSED["square"][1]), ({"xyyx": 1.0}, product_of_squares)]
)
def test_hard_ends(terms, density):
    law = FreePolynomial(terms)
    x = 2.0 ** np.array([-36, -30, -23, -16])
    np.testing.assert_allclose(law.pdf(x), density(x), rtol=1e-10)
    np.testing.assert_allclose(law.pdf(-x), 0)
    assert abs(float(law.support()[0])) < 1e-13
    assert law.cdf(-1e-9) == 0


def pairings(word):
    """The number of non-crossing pairings of equal letters, the expectation of a word of semicircular variables."""
    if not word:
        return 1
    inside = ((word[1:k], word[k + 1 :]) for k in range(1, len(word), 2) if word[k] == word[0])
    return sum(pairings(between) * pairings(rest) for between, rest in inside)


def test_moments():
    law = FreePolynomial(MIXED)
    mean = sum(c * pairings(w) for w, c in MIXED.items()).real

    def moment(terms, k):
        products = itertools.product(terms.items(), repeat=k)
        return sum(np.prod([c for _, c in each]) * pairings("".join(w for w, _ in each)) for each in products).real

    exact = np.array([moment(MIXED, k) for k in range(5)])
    np.testing.assert_allclose([law.moment(k) for k in range(5)], exact, rtol=1e-14)
    central = [moment({**MIXED, "": 0.3 - mean}, k) for k in (2, 3, 4)]
    np.testing.assert_allclose(law.var(), central[0], rtol=1e-14)
    np.testing.assert_allclose(law.skewness(), central[1] / central[0] ** 1.5, rtol=1e-13)
    np.testing.assert_allclose(law.kurtosis(), central[2] / central[0] ** 2 - 3, rtol=1e-13)
    far = FreePolynomial({**MIXED, "": 1e6})
    np.testing.assert_allclose([far.var(), far.skewness()], [law.var(), law.skewness()], rtol=1e-13)


def test_the_mass_and_the_potential():
    law = FreePolynomial(MIXED)
    lower, upper = map(float, law.support())
    angles = np.pi * (np.arange(400) + 0.5) / 400
    x = (lower + upper) / 2 - (upper - lower) / 2 * np.cos(angles)
    masses = np.pi / 400 * (upper - lower) / 2 * np.sin(angles) * np.asarray(law.pdf(x))
    np.testing.assert_allclose(masses.sum(), 1, rtol=1e-12)
    t, weights = np.polynomial.legendre.leggauss(200)
    share = ((t + 1) / 2) ** 2 * (0.5 - lower)  # below 0.5, without the square root at the end
    below = (weights * (t + 1) / 2 * (0.5 - lower)) @ np.asarray(law.pdf(lower + share))
    np.testing.assert_allclose([law.cdf(0.5), law.sf(0.5)], [below, 1 - below], rtol=1e-12)
    z = np.array([0.3 + 1e-3j, 2.5 + 1j, -8.0 + 0.0j, 40j])
    np.testing.assert_allclose(law.stieltjes(z[1:]), (masses / (z[1:, None] - x)).sum(1), rtol=1e-12)
    np.testing.assert_allclose(law.log_potential(z[1:]), (masses * np.log(z[1:, None] - x)).sum(1), rtol=1e-12)


def test_parts_of_free_sums():
    x = np.linspace(-4.5, 4.5, 19)
    whole = FreePolynomial({**ANTICOMMUTATOR, "z": 1.0})
    np.testing.assert_allclose(
        FreeSum(FreePolynomial(ANTICOMMUTATOR), Semicircle(2.0)).pdf(x), whole.pdf(x), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("complex_part", [0.0, 0.3])
def test_derivatives(complex_part):
    """By the coefficients, of what is real, of the ends and inside, against differences."""

    def values(t):
        c = 1.0 + t + complex_part * (1 + t) * 1j if complex_part else 1.0 + t
        terms = {"": 0.1 * t, "x": 0.3 - t, "xy": c, "yx": jnp.conj(c), "xx": 0.2 * t}
        law = FreePolynomial(terms)
        x = jnp.array([-1.3, 0.4, 2.0])
        return jnp.concatenate([law.pdf(x), law.cdf(x), jnp.stack([*law.support(), law.var(), law.moment(3)])])

    _, slopes = jax.jvp(values, (0.1,), (1.0,))
    np.testing.assert_allclose(slopes, by_differences(values, 0.1, 1e-3), rtol=1e-8, atol=1e-9)


def test_levels_of_matrices():
    x, y = (rmt.GUE(300).sample(key) for key in jax.random.split(jax.random.key(0)))
    levels = rmt.eigvalsh(x @ y @ x - 0.5 * (x @ y + y @ x))
    law = FreePolynomial({"xyx": 1.0, "xy": -0.5, "yx": -0.5})
    assert np.abs(np.asarray(law.cdf(levels)) - (np.arange(300) + 0.5) / 300).max() < 0.01


UNIFORM, POISSON = Uniform(-1.0, 2.0), MarchenkoPastur(0.5)
TWO_BANDS = FreeSum(Empirical([-3.0, 3.0], [0.25, 0.75]), Semicircle(1.0))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("terms", "laws", "whole"),
    [
        ({"x": 1.0, "y": 1.0}, {"x": UNIFORM}, FreeSum(UNIFORM, Semicircle(2.0))),
        ({"x": 1.0, "y": 1.0}, {"x": UNIFORM, "y": POISSON}, FreeSum(UNIFORM, POISSON)),
        ({"xyx": 1.0}, {"y": POISSON}, FreeProduct(MarchenkoPastur(1.0), POISSON)),
        ({"xy": 1.0, "yx": 1.0}, {"x": Semicircle(2.0)}, FreePolynomial(ANTICOMMUTATOR)),
        (
            {"xyx": 0.5, "y": -1.0},
            {"x": Semicircle(2.0), "y": Semicircle(2.0)},
            FreePolynomial({"xyx": 0.5, "y": -1.0}),
        ),
    ],
)
def test_variables_of_other_laws(terms, laws, whole, dtype):
    """Against free sums and products, and the R-transform of the semicircle, which take other ways."""
    single = lambda law: jax.tree.map(lambda leaf: jnp.asarray(leaf, dtype), law)
    law, whole = single(FreePolynomial(terms, laws)), single(whole)
    eps = float(np.finfo(dtype).eps)
    lower, upper = map(float, whole.support())
    np.testing.assert_allclose(law.support(), [lower, upper], rtol=0, atol=64 * eps * (upper - lower))
    x = np.linspace(lower + 0.05, upper - 0.05, 21, dtype=dtype)
    np.testing.assert_allclose(law.pdf(x), whole.pdf(x), rtol=0, atol=512 * eps)
    np.testing.assert_allclose(law.cdf(x), whole.cdf(x), rtol=0, atol=64 * eps)
    z = np.array([0.3 + 0.01j, -1 + 1j, 9j]).astype(np.result_type(dtype, np.complex64))
    np.testing.assert_allclose(law.log_potential(z), whole.log_potential(z), rtol=256 * eps)
    np.testing.assert_allclose(law.var(), whole.var(), rtol=512 * eps)


@pytest.mark.parametrize("word", ["xx", "xxx"])
def test_one_variable(word):
    """The law of a power, where eigenvalues of the equation are real in the support of the variable."""
    law, k = FreePolynomial({word: 1.0}, {"x": UNIFORM}), len(word)
    share = lambda s: np.where((s > -1) & (s < 2), 1 / 3, 0)
    x = np.array([0.01, 0.05, 0.3, 0.9, 1.1, 3.0, 3.9])
    root = x ** (1 / k)
    both = share(root) + (share(-root) if k == 2 else 0)
    np.testing.assert_allclose(law.pdf(x), both / (k * root ** (k - 1)), rtol=1e-13)
    below = np.minimum(root, 2) + (np.minimum(root, 1) if k == 2 else 1)
    np.testing.assert_allclose(law.cdf(x), below / 3, rtol=1e-13)
    # The bisection sees the jump of the density through the noise of the solution beside it.
    np.testing.assert_allclose(law.support(), [0.0 if k == 2 else -1.0, 2.0**k], rtol=0, atol=3e-10 * 2**k)
    # The equation has no digits left beside 0, where the density is infinite.
    x = np.array([-1e-17, -1e-18, -1e-20, 0, 1e-20, 1e-18, 1e-17])
    moved = (2 / 3) * (16 * np.finfo(float).eps * 2**k) ** (1 / k)
    np.testing.assert_allclose(law.cdf(x), 0 if k == 2 else 1 / 3, rtol=0, atol=moved)


@pytest.mark.parametrize(("dtype", "unit"), [(np.float64, 1e4), (np.float32, 1e3), (np.float64, 1e-4)])
def test_letters_of_another_size(dtype, unit):
    """In gaps, where the solution is of the size of the letter, and at ends."""
    law = lambda unit: FreePolynomial({"xy": 1.0, "yx": 1.0}, {"x": MarchenkoPastur(0.5, np.asarray(unit, dtype))})
    x, area = np.array([-7, 6, 1.5, 5.8], dtype), np.asarray(unit**2, dtype)
    expected, got = np.asarray(law(1.0).stieltjes(x)), np.asarray(law(unit).stieltjes(x * area)) * area
    np.testing.assert_allclose(got, expected, rtol=2048 * float(np.finfo(dtype).eps))


def test_ends_where_the_density_jumps_or_is_infinite_move():
    """The square of a uniform variable on (-1, t), times c, and 1."""
    ends = lambda t, c: jnp.stack(FreePolynomial({"xx": c, "": 1.0}, {"x": Uniform(-1.0, t)}).support())
    by_t, by_c = jax.jacfwd(ends, argnums=(0, 1))(2.0, 1.0)
    np.testing.assert_allclose(by_t, [0, 4], rtol=0, atol=1e-6)
    np.testing.assert_allclose(by_c, [0, 4], rtol=0, atol=1e-6)


MATRICES = (np.array([[0.9, 1.5], [1.5, -3.0]]), np.array([[1.0, 0.2], [0.2, 0.5]]), np.array([[0.0, 1.0], [1.0, 0.0]]))


def test_coefficients_that_are_matrices():
    """Block matrices against drawn ones, with a gap at ½; moments by traces; the same in another basis."""
    a, c, d = MATRICES
    law = FreePolynomial({"": a, "x": c, "y": d})
    n = 300
    x, y = (np.asarray(rmt.GUE(n).sample(key)) for key in jax.random.split(jax.random.key(1)))
    levels = np.linalg.eigvalsh(np.kron(a, np.eye(n)) + np.kron(c, x) + np.kron(d, y))
    lower, upper, masses = map(np.asarray, law.bands())
    np.testing.assert_allclose(masses, 0.5)
    np.testing.assert_allclose([*lower, *upper], levels[[0, n, n - 1, -1]], rtol=0, atol=0.1)
    assert lower[1] > upper[0] + 1
    np.testing.assert_allclose(law.cdf(0.5 * (upper[0] + lower[1])), 0.5, rtol=0, atol=1e-15)
    assert np.abs(np.asarray(law.cdf(levels)) - (np.arange(2 * n) + 0.5) / (2 * n)).max() < 0.01
    np.testing.assert_allclose(law.mean(), np.trace(a) / 2, rtol=1e-14)
    second = np.trace(a @ a + c @ c + d @ d) / 2
    np.testing.assert_allclose(law.var(), second - law.mean() ** 2, rtol=1e-14)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)) + 1j)[0]
    turned = FreePolynomial({word: turn @ m @ turn.conj().T for word, m in zip(("", "x", "y"), MATRICES, strict=True)})
    at = np.linspace(-6, 6, 41)
    np.testing.assert_allclose(turned.pdf(at), law.pdf(at), rtol=0, atol=1e-12)
    np.testing.assert_allclose(turned.cdf(at), law.cdf(at), rtol=0, atol=1e-14)


def test_blocks_that_do_not_meet():
    """Three laws side by side, of which one is a polynomial in a variable of another law."""
    unit = np.eye(3)
    one = np.outer(unit[0], unit[0])
    swap = np.outer(unit[1], unit[2]) + np.outer(unit[2], unit[1])
    law = FreePolynomial({"": 2 * one, "x": one, "xy": swap, "yx": swap}, {"y": POISSON})
    part = FreePolynomial(ANTICOMMUTATOR, {"y": POISSON})
    x = np.linspace(-6.9, 7.1, 29)
    shifted = Semicircle(2.0).shifted(2.0)
    # The two off-diagonal blocks are the anticommutator and its negative, which has the same law.
    np.testing.assert_allclose(
        law.pdf(x), (np.asarray(shifted.pdf(x)) + 2 * np.asarray(part.pdf(x))) / 3, rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(
        law.cdf(x), (np.asarray(shifted.cdf(x)) + 2 * np.asarray(part.cdf(x))) / 3, rtol=0, atol=1e-13
    )


def test_gaps_of_a_variable():
    """X + Y/5 + XYX/50 has the gap of X; levels without a gap are quantiles."""
    law = FreePolynomial({"x": 1.0, "y": 0.2, "xyx": 0.02}, {"x": TWO_BANDS})
    lower, upper, masses = map(np.asarray, law.bands())
    gap = int(np.argmax(lower[1:] - upper[:-1]))
    np.testing.assert_allclose(masses[: gap + 1].sum(), 0.25, rtol=1e-12)
    np.testing.assert_allclose(np.delete(lower[1:] - upper[:-1], gap), 0, rtol=0, atol=1e-12)
    n = 400
    q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(n, n)))
    x = (q * np.asarray(TWO_BANDS.ppf((np.arange(n) + 0.5) / n))) @ q.T
    y = np.asarray(rmt.GOE(n).sample(jax.random.key(0)))
    levels = np.linalg.eigvalsh(x + 0.2 * y + 0.02 * x @ y @ x)
    ends = [lower[0], upper[gap], lower[gap + 1], upper[-1]]
    np.testing.assert_allclose(ends, levels[[0, n // 4 - 1, n // 4, -1]], rtol=0, atol=0.1)
    assert np.abs(np.asarray(law.cdf(levels)) - (np.arange(n) + 0.5) / n).max() < 0.01


def test_derivatives_by_a_law():
    def values(t):
        law = FreePolynomial({**ANTICOMMUTATOR, "x": 0.3}, {"x": Uniform(-1.0, t)})
        x = jnp.array([-1.0, 0.2, 1.5])
        return jnp.concatenate([law.pdf(x), law.cdf(x), jnp.stack([*law.support(), law.var()])])

    _, slopes = jax.jvp(values, (2.0,), (1.0,))
    expected = by_differences(values, 2.0, 1e-3)
    ends = np.arange(6, 8)
    np.testing.assert_allclose(np.delete(slopes, ends), np.delete(expected, ends), rtol=0, atol=1e-9)
    # At an end a rounding of x moves the solution, of which the derivative is made, by its square root.
    np.testing.assert_allclose(slopes[ends], expected[ends], rtol=0, atol=3e-7)


@pytest.mark.parametrize(
    ("laws", "words"),
    [
        ({"z": UNIFORM}, r"letters of the words, which are x, y, got \['z'\]"),
        ({"x": Normal(1.0)}, "bounded support"),
        ({"x": "uniform"}, "a law of one eigenvalue"),
        ({"x": rmt.GOE(3)}, r"such as `laws\['x'\]\.law\(\)`"),
        ([UNIFORM], "a mapping from letters"),
    ],
)
def test_refusals_of_laws(laws, words):
    with pytest.raises(ValueError, match=words):
        FreePolynomial(ANTICOMMUTATOR, laws)


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"xy": 1.0}, "'xy' needs 'yx'"),
        ({"xy": 1j, "yx": 1j}, "the coefficient of 'yx' is the conjugate"),
        ({"xx": 1j}, "the conjugate of that of 'xx'"),
        ({"": 1.0}, "have a word that is not empty"),
        ({}, "have a word that is not empty"),
        ({"x" * 9: 1.0}, "words of at most 8 letters"),
        ({"x": 0.0}, "not all 0"),
        ({"x": np.ones(2)}, "square matrices of one order"),
        ({"x": np.ones((2, 2)), "y": np.ones((3, 3))}, "square matrices of one order"),
        ({"x": np.ones((17, 17))}, "of one order up to 16"),
        ({"x": np.array([[0.0, 1.0], [2.0, 0.0]])}, "the coefficient of 'x' is the conjugate"),
        ({"x": np.nan}, "`coefficients` must be finite"),
        ({"x*y": 1.0, "y*x": 1.0}, "words of letters only"),
        ([("x", 1.0)], "a mapping from words"),
    ],
)
def test_refusals(terms, words):
    with pytest.raises(ValueError, match=words):
        FreePolynomial(terms)


@pytest.mark.parametrize(
    "make",
    [
        lambda v: FreePolynomial({"xy": v, "yx": v}),
        lambda v: VarianceProfileLaw(v[None, None]),
        lambda v: CovarianceProfileLaw(v[None, None], 0.5),
    ],
)
def test_a_parameter_that_is_no_number_ends_the_search_for_ends(make):
    law = jax.jit(lambda v: make(v).support())
    assert np.isnan(law(np.nan)).all()
    assert np.isfinite(law(1.0)).all()
