"""Polynomials of variables with atoms: two subspaces, signs, drawn matrices, derivatives, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.laws import Empirical, FreePolynomial, FreeSum, MarchenkoPastur, Semicircle
from rmtjax.laws._free.atoms_of_polynomials import Variable, atoms_of_polynomial
from tests.differences import by_differences

ANTICOMMUTATOR, COMMUTATOR = {"xy": 1.0, "yx": 1.0}, {"xy": 1j, "yx": -1j}
SIGNS = Empirical([-1.0, 1.0])


def projection(p):
    return Empirical([0.0, 1.0], [1 - p, p])


def present(law):
    places, masses = map(np.asarray, law.atoms())
    order = np.argsort(places[masses > 1e-14])
    return places[masses > 1e-14][order], masses[masses > 1e-14][order]


# Two subspaces in general position split the space into planes, with a line of each at an angle of cosine s, and into
# what is in one of them or in its complement. The polynomials at P, Q = 0 or 1, and the cosines for a level x, with
# their derivatives: 1 ± s, s², ±s√(1 - s²), s² ± s.
def of_sum(x):
    return [(abs(x - 1), 1.0)]


def of_product(x):
    return [(np.sqrt(x), 0.5 / np.sqrt(x))]


def of_commutator(x):
    root = np.sqrt(1 - 4 * x**2)
    return [(np.sqrt((1 + sign * root) / 2), abs(x) / (root * np.sqrt((1 + sign * root) / 2))) for sign in (1, -1)]


def of_anticommutator(x):
    root = np.sqrt(1 + 4 * x)
    return [((root - 1) / 2, 1 / root)] if x > 0 else [((1 + sign * root) / 2, 1 / root) for sign in (1, -1)]


TWO_PROJECTIONS = {
    "sum": ({"x": 1.0, "y": 1.0}, lambda p, q: p + q, of_sum, [0.1, 0.5, 1.35, 1.9]),
    "product": ({"xyx": 1.0}, lambda p, q: p * q, of_product, [0.1, 0.3, 0.7, 0.9]),
    "commutator": (COMMUTATOR, lambda p, q: 0 * p, of_commutator, [-0.45, -0.2, 0.3, 0.48]),
    "anticommutator": (ANTICOMMUTATOR, lambda p, q: 2 * p * q, of_anticommutator, [-0.24, -0.1, 0.3, 1.4]),
}


@pytest.mark.parametrize(
    ("name", "p", "q"),
    [("sum", 0.3, 0.6), ("product", 0.45, 0.75), ("commutator", 0.8, 0.35), ("anticommutator", 0.3, 0.6)],
)
def test_two_projections(name, p, q):
    terms, at, cosines, x = TWO_PROJECTIONS[name]
    law = FreePolynomial(terms, {"x": projection(p), "y": projection(q)})
    expected = {}
    for (a, b), mass in {(1, 1): p + q - 1, (1, 0): p - q, (0, 1): q - p, (0, 0): 1 - p - q}.items():
        expected[at(a, b)] = expected.get(at(a, b), 0) + max(mass, 0)
    if name == "product":
        expected[0] = 1 - p  # with a level 0 in each plane
    places, masses = present(law)
    expected = {place: mass for place, mass in expected.items() if mass > 0}
    np.testing.assert_array_equal(places, sorted(expected))
    np.testing.assert_allclose(masses, [expected[place] for place in sorted(expected)], rtol=1e-14)
    middle, half = p + q - 2 * p * q, 2 * np.sqrt(p * q * (1 - p) * (1 - q))
    # The density of s², and of s.
    of_square = lambda t: np.sqrt(np.maximum(half**2 - (t - middle) ** 2, 0)) / (2 * np.pi * t * (1 - t))
    density = [sum(2 * s * of_square(s**2) * slope for s, slope in cosines(level)) for level in x]
    np.testing.assert_allclose(law.pdf(np.array(x)), density, rtol=1e-10, atol=1e-13)
    beside = np.stack([places - 1e-7, places, places + 1e-7])
    below, above = np.asarray(law.cdf(beside)), np.asarray(law.sf(beside))
    np.testing.assert_allclose(below[1] - below[0], masses, rtol=0, atol=1e-11)
    np.testing.assert_allclose(below[2], below[1], rtol=0, atol=1e-11)
    np.testing.assert_allclose(below + above, 1, rtol=0, atol=1e-14)


def test_a_point_where_the_search_fails_has_nan():
    """Beside an atom with two causes, where the equation has no digits left; the law asks it farther away."""
    law = FreePolynomial(COMMUTATOR, {"x": projection(0.8), "y": projection(0.35)})
    solution = jax.jit(lambda law, z: law._solution(z))
    assert np.isnan(solution(law, jnp.array([1e-7 + 0j, -1e-9 + 0j]))).all()
    assert np.isfinite(solution(law, jnp.array([0.3 + 0j, 0.01 + 0j]))).all()


def test_bands_of_a_product_of_projections():
    """The level between the bands, the ends of the density, and an atom at each end of the support."""
    p, q = 0.45, 0.75
    law = FreePolynomial({"xyx": 1.0}, {"x": projection(p), "y": projection(q)})
    lower, upper, masses = map(np.asarray, law.bands())
    middle, half = p + q - 2 * p * q, 2 * np.sqrt(p * q * (1 - p) * (1 - q))
    np.testing.assert_allclose(masses[(lower == 0) & (upper == 0)].sum(), 1 - p, rtol=1e-12)
    np.testing.assert_allclose(masses[lower == 1].sum(), p + q - 1, rtol=1e-12)
    inside = (lower > 0) & (lower < 1)
    np.testing.assert_allclose([lower[inside].min(), upper[inside].max()], [middle - half, middle + half], rtol=1e-13)
    np.testing.assert_allclose(masses.sum(), 1, rtol=1e-14)


def test_signs():
    law = FreePolynomial({"xyx": 1.0}, {"x": SIGNS, "y": Empirical([-1.0, 1.0], [0.3, 0.7])})
    places, masses = present(law)
    np.testing.assert_array_equal(places, [-1.0, 1.0])
    np.testing.assert_allclose(masses, [0.3, 0.7], rtol=1e-14)
    np.testing.assert_allclose(
        law.cdf(np.array([-1.01, -1.0, -0.3, 1e-3, 1.0])), [0, 0.3, 0.3, 0.3, 1], rtol=0, atol=1e-14
    )
    # At 0, where the transforms of both signs are 0, the equation has a pole, and the law is known from beside it.
    x = np.array([-1e-6, -1e-7, -1e-12, 0.0, 1e-12, 1e-8, 1e-7])
    np.testing.assert_allclose(law.cdf(x), 0.3, rtol=0, atol=1e-14)
    np.testing.assert_allclose(law.stieltjes(x), -0.4, rtol=0, atol=3e-5)
    np.testing.assert_allclose(law.support(), [-1.0, 1.0])
    whole = FreePolynomial({"x": 1.0, "y": 1.0}, {"x": SIGNS, "y": SIGNS})
    assert present(whole)[0].size == 0
    x = np.linspace(-1.9, 1.9, 20)
    np.testing.assert_allclose(whole.pdf(x), 1 / (np.pi * np.sqrt(4 - x**2)), rtol=1e-12)


def test_a_pole_between_two_bands():
    """The law of ABA is symmetric; in the middle of its gap the equation has a pole."""
    law = FreePolynomial({"xyx": 1.0}, {"x": Empirical([1.0, 2.0]), "y": SIGNS})
    lower, upper, masses = map(np.asarray, law.bands())
    ends = [[-4, -1], [1, 4]]
    np.testing.assert_allclose(np.stack([lower, upper], axis=-1)[masses > 0], ends, rtol=0, atol=1e-10)
    np.testing.assert_allclose(masses[masses > 0], 0.5, rtol=1e-13)


@pytest.mark.parametrize("mass", [1e-2, 1e-3, 1e-5, 1e-9])
def test_a_small_atom_of_a_letter(mass):
    """It makes an atom of the polynomial, however few rows it has in a matrix."""
    one, levels = np.ones((1, 1)), np.array([0.0, 1.0, 2.0])
    rest = Variable(np.zeros(0), np.zeros(0), 2.0)
    alone = Variable(levels[:1], np.array([mass]), 2.0)
    among = Variable(levels, np.array([mass, 0.4 * (1 - mass), 0.6 * (1 - mass)]), 2.0)
    for letter in (alone, among):
        (atom,) = atoms_of_polynomial({"xyx": one}, {"x": letter, "y": rest}, 2.2e-16)
        assert atom.masses == ((0, 1, *[0] * (letter.places.size - 1)),)
    both = Variable(levels[:1], np.array([2 * mass]), 2.0)
    (atom,) = atoms_of_polynomial({"xyx": one}, {"x": alone, "y": both}, 2.2e-16)
    assert atom.masses == ((0, 0, 1), (0, 1, 0))


def test_a_part_of_free_sums_beside_an_atom():
    p, q = projection(0.3), Empirical([0.0, 1.0], [0.6, 0.4])
    other, law = FreeSum(p, q), FreeSum(FreePolynomial({"xx": 1.0}, {"x": p}), q)
    x = np.array([1e-9, -1e-6, 0.99, 0.5, 1.3, 2.0, -1e-12])
    np.testing.assert_allclose(law.stieltjes(x), other.stieltjes(x), rtol=1e-8)
    np.testing.assert_allclose(law.cdf(x), other.cdf(x), rtol=0, atol=1e-14)


def test_a_part_of_free_sums():
    """Against an atom of a free sum, and as a part of one."""
    poisson = MarchenkoPastur(2.0)
    law = FreePolynomial({"x": 1.0, "y": 1.0}, {"x": poisson, "y": projection(0.2)})
    whole = FreeSum(poisson, projection(0.2))
    places, masses = present(law)
    np.testing.assert_array_equal(places, [0.0])
    np.testing.assert_allclose(masses, [0.3], rtol=1e-14)
    x = np.array([-0.1, 0.0, 0.3, 1.0, 4.0, 7.0])
    np.testing.assert_allclose(law.cdf(x), whole.cdf(x), rtol=0, atol=1e-13)
    np.testing.assert_allclose(law.pdf(x[2:]), whole.pdf(x[2:]), rtol=0, atol=1e-12)
    word = {"xyx": 1.0}
    noisy = FreeSum(FreePolynomial(word, {"x": projection(0.3)}), Semicircle(1.0))
    longer = FreePolynomial({**word, "z": 0.5}, {"x": projection(0.3)})
    x = np.linspace(-1.4, 1.4, 8)
    np.testing.assert_allclose(noisy.pdf(x), longer.pdf(x), rtol=0, atol=1e-12)


def drawn(terms, levels, order, random):
    """A polynomial of matrices with given levels and independent Haar eigenvectors."""
    matrices = {}
    for letter, values in levels.items():
        turn = np.linalg.qr(random.normal(size=(order, order)) + 1j * random.normal(size=(order, order)))[0]
        matrices[letter] = (turn * values) @ turn.conj().T
    total = 0
    for word, coefficient in terms.items():
        product = np.eye(order)
        for letter in word:
            product = product @ matrices[letter]
        total = total + np.kron(np.atleast_2d(coefficient), product)
    return np.linalg.eigvalsh(total)


A = np.array([[1.0, 0.5j], [-0.5j, 0.0]])
DRAWN = [
    ({"xyx": 1.0, "zy": 0.5, "yz": 0.5}, {"x": (0, 0.813), "y": (1, 0.771), "z": (0, 0.907)}),
    ({"xyxy": 1.0, "yxyx": 1.0, "": 0.25}, {"x": (0, 0.871), "y": (2, 0.6)}),
    ({"x": A, "xy": 1j * np.eye(2), "yx": -1j * np.eye(2)}, {"x": (1, 0.743), "y": (-1, 0.889)}),
    ({"x": np.diag([1.0, 0.0]), "y": np.diag([0.0, 2.0])}, {"x": (3, 0.617), "y": (0.5, 0.283)}),
]


@pytest.mark.parametrize(("terms", "atoms"), DRAWN)
def test_multiplicities_of_matrices(terms, atoms):
    """All multiple eigenvalues of one matrix of large order, which has other eigenvalues and eigenvectors."""
    random, order = np.random.default_rng(1), 240
    counts = {letter: round(order * mass) for letter, (_, mass) in atoms.items()}
    levels = {
        letter: np.append(np.full(counts[letter], float(place)), random.normal(size=order - counts[letter]))
        for letter, (place, _) in atoms.items()
    }
    found = drawn(terms, levels, order, random)
    ends = np.flatnonzero(np.diff(found, append=np.inf) > 1e-9)
    numbers = np.diff(ends, prepend=-1)
    variables = {
        letter: Variable(np.array([float(place)]), np.array([counts[letter] / order]), 3.0)
        for letter, (place, _) in atoms.items()
    }
    law = atoms_of_polynomial({w: np.atleast_2d(c) for w, c in terms.items()}, variables, 2.2e-16)
    masses = np.append(1, [counts[letter] for letter in atoms]) / np.append(1, np.full(len(atoms), order))
    exact = sorted(max(np.dot(piece, masses) for piece in atom.masses) * order for atom in law)
    np.testing.assert_allclose(exact, np.sort(numbers[numbers > 2]), rtol=0, atol=1e-9)


def test_masses_that_are_small_or_irrational():
    p, q = 1 / np.pi, 1 / np.sqrt(2)
    law = FreePolynomial({"x": 1.0, "y": 1.0}, {"x": projection(p), "y": projection(q)})
    np.testing.assert_allclose(present(law)[1], [q - p, p + q - 1], rtol=1e-13)
    tiny = FreePolynomial({"x": 1.0, "y": 1.0}, {"x": projection(0.3), "y": projection(0.7 + 1e-6)})
    np.testing.assert_allclose(present(tiny)[1], [0.4 + 1e-6, 1e-6], rtol=1e-9)
    masses = np.append(0.901, np.full(9, 0.011))
    many = {"x": Empirical(np.arange(10.0), masses), "y": Empirical(np.arange(10.0), np.full(10, 0.1))}
    places, masses = present(FreePolynomial({"x": 1.0, "y": 1.0}, many))
    np.testing.assert_array_equal(places, np.arange(10.0))
    np.testing.assert_allclose(masses, 0.001, rtol=1e-11)


def test_blocks_with_a_fixed_part():
    law = FreePolynomial({"x": np.diag([1.0, 0.0]), "": np.diag([0.0, 0.5])})
    np.testing.assert_allclose(law.atoms(), [[0.5], [0.5]], rtol=0, atol=1e-15)
    x = np.array([-1.0, 0.25, 0.5, 1.0])
    part = Semicircle(2.0)
    np.testing.assert_allclose(law.cdf(x), (np.asarray(part.cdf(x)) + (x >= 0.5)) / 2, rtol=0, atol=1e-13)
    np.testing.assert_allclose(law.pdf(x), np.asarray(part.pdf(x)) / 2, rtol=0, atol=1e-8)


def test_derivatives_of_places_and_masses():
    def values(t):
        letters = {"x": Empirical([t, 1.0], [0.7 + t, 0.3 - t]), "y": projection(0.6 + t)}
        law = FreePolynomial({"xy": 1.0 + t, "yx": 1.0 + t, "y": 2.0}, letters)
        return jnp.concatenate([*law.atoms(), law.cdf(jnp.array([1.0, 1.9]))])

    _, slopes = jax.jvp(values, (0.1,), (1.0,))
    np.testing.assert_allclose(slopes, by_differences(values, 0.1, 1e-4), rtol=1e-8, atol=1e-8)


def test_numbers_have_to_be_known():
    """The atoms depend on all of them, but a law that is an argument has its own."""
    with pytest.raises(ValueError, match="outside of `jit`"):
        jax.jit(lambda c: FreePolynomial({"xyx": c}, {"x": SIGNS}).mean())(1.0)
    law = FreePolynomial({"xyx": 1.0}, {"x": projection(0.3)})
    np.testing.assert_allclose(jax.jit(lambda law: law.cdf(0.0))(law), 0.85, rtol=1e-12)
    # Masses that may be positive, and are not.
    without = jax.jit(lambda c: FreePolynomial({"x": c, "y": 1.0}, {"x": MarchenkoPastur(0.5 * c)}).pdf(1.0))
    np.testing.assert_allclose(without(1.0), FreeSum(MarchenkoPastur(0.5), Semicircle(2.0)).pdf(1.0), rtol=1e-12)
