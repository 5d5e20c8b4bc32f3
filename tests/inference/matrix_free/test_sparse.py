"""Sparse matrices of SciPy: levels near an energy against LAPACK, and products against those of SciPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import rmtjax as rmt
from rmtjax.inference import levels_near, spectral_density_of
from tests.test_compile_once import no_compilation


def lattice(side, disorder, seed=0):
    """Anderson's model: the cubic lattice on a torus, with independent potentials."""
    ring = scipy.sparse.diags([1.0, 1.0, 1.0, 1.0], [-1, 1, side - 1, 1 - side], shape=(side, side))
    hopping = scipy.sparse.csr_matrix((side**3, side**3))
    for axis in range(3):
        before, after = scipy.sparse.identity(side**axis), scipy.sparse.identity(side ** (2 - axis))
        hopping = hopping + scipy.sparse.kron(scipy.sparse.kron(before, ring), after)
    potential = np.random.default_rng(seed).uniform(-0.5, 0.5, side**3)
    return (hopping + scipy.sparse.diags(disorder * potential)).tocsr()


def with_phases(matrix):
    """A Hermitian matrix with the same moduli."""
    above = scipy.sparse.triu(matrix, 1).tocoo()
    above.data = above.data * np.exp(1j * np.arange(above.nnz) ** 2)
    return above + above.conj().T + scipy.sparse.diags(matrix.diagonal())


def nearest(matrix, energy, number):
    """The nearest levels, and the distance of the next one."""
    levels = np.linalg.eigvalsh(matrix.toarray())
    order = np.argsort(abs(levels - energy), kind="stable")
    return np.sort(levels[order[:number]]), abs(levels[order[number]] - energy)


CASES = {
    "disordered": (lambda: lattice(8, 16.0), 0.3, 40),
    "complex": (lambda: with_phases(lattice(8, 5.0)), -1.0, 20),
    "all levels": (lambda: lattice(6, 5.0), 0.0, 215),
    "integers": (lambda: scipy.sparse.diags(np.arange(300.0)).astype(int), 100.2, 5),
}


@pytest.mark.parametrize("name", CASES)
def test_levels_are_those_of_the_dense_matrix(name):
    make, energy, number = CASES[name]
    matrix = make()
    found, (expected, distance) = levels_near(matrix, energy, number), nearest(matrix, energy, number)
    size = abs(expected).max() + distance
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=1e-12 * size)
    ends = found.domain.start, found.domain.end
    beside = 1e-7 * size  # the distances are measured from a point beside the energy
    np.testing.assert_allclose(ends, (energy - distance, energy + distance), rtol=0, atol=beside)
    assert not found.unfolded
    assert found.count == number


def test_an_energy_that_is_a_level():
    matrix = lattice(8, 16.0)
    levels = np.linalg.eigvalsh(matrix.toarray())
    found = levels_near(matrix, levels[200], 11)
    np.testing.assert_allclose(found.values, nearest(matrix, levels[200] + 1e-8, 11)[0], rtol=0, atol=1e-10)
    # A diagonal matrix without its pivot.
    found = levels_near(scipy.sparse.diags(np.arange(-150.0, 151)), 0.0, 3)
    np.testing.assert_allclose(found.values, [-1, 0, 1], rtol=0, atol=1e-10)


@pytest.mark.parametrize("energy", [0.5, 1.03])
def test_levels_with_several_vectors_are_all_found(energy):
    # Without a potential the levels are sums of three cosines. Of 64 vectors of the level 0 ARPACK finds half.
    waves = 2 * np.cos(2 * np.pi * np.arange(8) / 8)
    levels = np.sort((waves[:, None, None] + waves[:, None] + waves).ravel())
    found = levels_near(lattice(8, 0.0), energy, 80)
    inside = found.bulk(found.domain.start + 1e-6, found.domain.end - 1e-6).compressed()
    expected = levels[(levels > found.domain.start + 1e-6) & (levels < found.domain.end - 1e-6)]
    assert expected.size >= 12
    np.testing.assert_allclose(inside, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        np.sort(abs(found.values - energy)), np.sort(abs(levels - energy))[:80], rtol=0, atol=1e-7
    )


def test_an_energy_that_is_a_level_of_many_vectors():
    # The square lattice has the level 0 as many times as it has rows, at which the inverse is largest.
    side, number = 20, 25
    chain, one = scipy.sparse.diags([1.0, 1.0], [-1, 1], shape=(side, side)), scipy.sparse.identity(side)
    square = (scipy.sparse.kron(chain, one) + scipy.sparse.kron(one, chain)).tocsr()
    found, (expected, distance) = levels_near(square, 0.0, number), nearest(square, 0.0, number)
    assert (abs(found.values) < 1e-12).sum() == side
    np.testing.assert_allclose(abs(found.values).sort(), np.sort(abs(expected)), rtol=0, atol=1e-12)
    np.testing.assert_allclose((found.domain.start, found.domain.end), (-distance, distance), rtol=0, atol=1e-6)
    with pytest.raises(ValueError, match=r"`number` must exceed .*, got 15, but the 16 nearest levels are equal"):
        levels_near(square, 0.0, side - 5)


def test_the_smallest_matrices():
    assert levels_near(scipy.sparse.diags([1.0, 2.0]), 0.0, 1).values == 1
    with pytest.raises(ValueError, match="`matrix` must be of order 2 at least, got a matrix of order 1"):
        levels_near(scipy.sparse.identity(1), 0.0, 1)
    with pytest.raises(ValueError, match="got 1, but the 2 nearest levels are equal, to 1"):
        levels_near(scipy.sparse.identity(2), 0.0, 1)


@pytest.mark.parametrize("unit", [2.0**-600, 2.0**600])
def test_levels_have_the_unit_of_the_matrix(unit):
    matrix = lattice(7, 10.0)
    found, scaled = levels_near(matrix, 0.5, 10), levels_near(unit * matrix, 0.5 * unit, 10)
    np.testing.assert_array_equal(scaled.values, unit * found.values)
    np.testing.assert_array_equal(scaled.domain.end, unit * found.domain.end)


def test_the_interval_has_unit_density_on_average():
    # Independent levels: the number over the length of the interval has the mean of the density.
    draws = np.random.default_rng(0)
    spectra = [levels_near(scipy.sparse.diags(draws.uniform(0, 1, 120)), 0.5, 8) for _ in range(400)]
    lengths = np.array([each.domain.end - each.domain.start for each in spectra])
    densities = (8 / lengths) / 120
    assert abs(densities.mean() - 1) < 5 * densities.std() / 20
    assert densities.std() < 0.5  # with 9 levels in the interval the mean would be 9/8, six errors above


@pytest.mark.float32
def test_single_precision_takes_levels_with_digits():
    matrix = lattice(7, 10.0)
    found = levels_near(matrix.astype(np.float32), 0.5, 10)
    assert found.values.dtype == jnp.zeros(()).dtype
    np.testing.assert_allclose(found.values, nearest(matrix, 0.5, 10)[0], rtol=0, atol=1e-5)
    far = matrix + 1e6 * scipy.sparse.identity(343)
    if found.values.dtype == jnp.float32:
        with pytest.raises(ValueError, match="keep their spacings in float32"):
            levels_near(far, 1e6 + 0.5, 10)
    else:
        np.testing.assert_allclose(levels_near(far, 1e6 + 0.5, 10).values - 1e6, found.values, rtol=0, atol=1e-5)


def test_what_levels_near_refuses():
    matrix = lattice(7, 1.0)
    rectangle, skewed = matrix[:5], scipy.sparse.triu(matrix)
    empty, nan = scipy.sparse.csr_matrix((0, 0)), matrix * np.nan
    for refused, words in (
        (lambda: levels_near(matrix.toarray(), 0.0, 3), "`matrix` must be a sparse matrix of SciPy"),
        (lambda: levels_near(scipy.sparse.linalg.aslinearoperator(matrix), 0.0, 3), "`matrix` must be a sparse matrix"),
        (lambda: levels_near(rectangle, 0.0, 3), r"`matrix` must be square, got a shape of \(5, 343\)"),
        (lambda: levels_near(empty, 0.0, 3), "`matrix` must be square"),
        (lambda: levels_near(nan, 0.0, 3), "`matrix` must be finite"),
        (lambda: levels_near(skewed, 0.0, 3), r"`matrix` must be symmetric \(Hermitian\), got entries that differ"),
        (lambda: levels_near(1j * matrix, 0.0, 3), "`matrix` must be symmetric"),
        (lambda: levels_near(matrix, np.nan, 3), "`energy` must be finite"),
        (lambda: levels_near(matrix, 1j, 3), "`energy` must be a real number"),
        (lambda: levels_near(matrix, 0.0, 0), "`number` must be an integer of at least 1"),
        (lambda: levels_near(matrix, 0.0, 86), "`number` must be at most 85 for a matrix of order 343"),
        (lambda: levels_near(matrix[:9, :9], 0.0, 9), "`number` must be at most 8 for a matrix of order 9"),
        (lambda: jax.jit(lambda e: levels_near(matrix, e, 3).values)(0.0), "`energy` must .*known before tracing"),
        (lambda: levels_near(scipy.sparse.identity(300), 0.5, 3), "`number` must exceed .* 4 nearest levels are equal"),
        (lambda: levels_near(scipy.sparse.csr_matrix((300, 300)), 0.0, 3), "`number` must exceed .* are equal"),
    ):
        with pytest.raises(ValueError, match=words):
            refused()


@pytest.mark.parametrize("make", [lambda: lattice(4, 3.0), lambda: with_phases(lattice(4, 3.0))])
def test_the_density_of_a_sparse_matrix(getkey, make):
    matrix, key = make(), getkey()
    dense = jnp.asarray(matrix.toarray())
    found = spectral_density_of(matrix, key, depth=12, probes=2)
    by_hand = spectral_density_of(lambda v, a: a @ v, key, 64, args=(dense,), depth=12, probes=2)
    assert found.n == 64
    assert found.beta == by_hand.beta
    np.testing.assert_allclose(found.nodes, by_hand.nodes, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.weights, by_hand.weights, rtol=0, atol=1e-9)


def test_matrices_with_as_many_entries_share_a_program(getkey):
    spectral_density_of(lattice(4, 3.0), getkey(), depth=12, probes=2)
    formats = ("csc", "coo", "lil", "bsr")
    matrices = [lattice(4, 2.0, seed).asformat(kind) for seed, kind in enumerate(formats)]
    keys = [getkey() for _ in formats]
    with no_compilation():
        for matrix, key in zip(matrices, keys, strict=True):
            spectral_density_of(matrix, key, depth=12, probes=2)


@pytest.mark.float32
def test_entries_of_other_dtypes(getkey):
    graph = (lattice(4, 0.0) != 0).astype(np.int8)  # a graph of degree 6
    for matrix in (graph, graph.astype(bool), graph.astype(np.float32)):
        found = spectral_density_of(matrix, getkey(), depth=8, probes=1)
        assert found.extreme_levels(1)[0][0] == pytest.approx(6, abs=1e-5)


def test_what_the_density_of_a_sparse_matrix_refuses(getkey):
    matrix, key = lattice(4, 3.0), getkey()
    for refused, words in (
        (lambda: spectral_density_of(matrix, key, 64), "`n, args` must be left out for a sparse matrix"),
        (lambda: spectral_density_of(matrix, key, args=(1.0,)), "`n, args` must be left out"),
        (lambda: spectral_density_of(matrix[:3], key), r"`matvec` must be square, got a shape of \(3, 64\)"),
        (lambda: spectral_density_of(matrix.astype(np.longdouble), key), "`matvec` must be of single or double"),
        (lambda: spectral_density_of(scipy.sparse.triu(matrix), key, depth=12, probes=2), "`matvec` must be symmetric"),
        (lambda: spectral_density_of(matrix.toarray(), key), "`matvec` must be a function .* or a sparse matrix"),
        (lambda: spectral_density_of(lambda v: v, key), "`n` must be the order of the operator"),
    ):
        with pytest.raises(ValueError, match=words):
            refused()


@pytest.mark.slow
def test_anderson_model_on_both_sides(getkey):
    # Slevin and Ohtsuki (2014), New J. Phys. 16, 015012: extended at W = 5, localised at W = 40 in the middle.
    for disorder, beta in ((5.0, 1), (40.0, 0)):
        spectra = [levels_near(lattice(12, disorder, seed), 0.0, 60) for seed in range(30)]
        levels = jnp.stack([each.values for each in spectra])
        ratio = rmt.statistics.over_samples(lambda x: rmt.statistics.gap_ratios(x).mean(), levels)
        assert ratio.standard_error < 0.01
        assert abs(ratio.z_score(rmt.laws.mean_gap_ratio(beta))) < 4
