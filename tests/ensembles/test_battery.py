"""The same tests for all families: level repulsion, the limit law, the edge, counts, dtypes, a traced scale."""

import inspect

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

import rmtjax as rmt
from tests.cases import further
from tests.registry import PUBLIC

# Mean ratio of consecutive gaps (Atas, Bogomolny, Giraud and Roux 2013, Phys. Rev. Lett. 110, 084101, table I).
MEAN_RATIO = {0: 0.38629, 1: 0.5307, 2: 0.5996, 4: 0.6744}
# Ensembles of 60 levels and their Dyson indices; 0 for independent levels. The entries of the further ensembles are
# tested every day in their own files; for the GOE and independent levels the mean ratio is too.
REPULSION = [
    (rmt.JacobiBeta(60, 140.0, 160.0, 4.0), 4),
    *further(
        (rmt.GOE(60), 1),
        (rmt.RosenzweigPorter(60, 5.0), 0),
        (rmt.GSE(60), 4),
        (rmt.Wigner(60, entries="uniform"), 1),
        (rmt.Wishart(60, 80, 2), 2),
        (rmt.InverseWishart(60, 90, 4), 4),
        (rmt.SampleCorrelation(60, 90), 1),
        (rmt.CorrelatedWishart(jnp.diag(jnp.linspace(1.0, 2.0, 60)), 90, 2), 2),
        (rmt.CorrelatedInverseWishart(jnp.diag(jnp.linspace(1.0, 2.0, 60)), 90.5), 1),
        (rmt.Jacobi(60, 70, 90, 1), 1),
        (rmt.Deformed(rmt.GUE(60), jnp.linspace(-1.0, 1.0, 60)), 2),
        (rmt.Spiked(rmt.GOE(60), [2.0]), 1),
        (rmt.Banded(60, 25), 1),
        (rmt.ErdosRenyi(60, 0.3), 1),
        (rmt.AltlandZirnbauer("CII", 120), 4),
        (rmt.AltlandZirnbauer("CI", 120), 1),
        (rmt.HilbertSchmidt(60), 2),
        (rmt.Bures(60), 2),
    ),
]
# Ensembles of 400 levels, and by how many levels the mean counting function may be off, outliers included.
LAWS = {
    "GUE": (rmt.GUE(400), 1.0),
    "Wishart": (rmt.Wishart(400, 700, 4), 1.0),
    "SampleCorrelation": (rmt.SampleCorrelation(400, 700), 1.5),
    "Jacobi": (rmt.Jacobi(400, 500, 900), 1.0),
    "Spiked": (rmt.Spiked(rmt.GOE(400), [2.0]), 2.0),
    "AltlandZirnbauer": (rmt.AltlandZirnbauer("BDI", 400), 1.0),
    "HilbertSchmidt": (rmt.HilbertSchmidt(400, 600), 1.0),
}


def levels_of(ensemble, number, key):
    return np.asarray(jax.jit(jax.vmap(ensemble.eigenvalues))(jax.random.split(key, number)))


@pytest.mark.parametrize(
    ("ensemble", "beta"), REPULSION, ids=lambda value: None if isinstance(value, int) else type(value).__name__
)
def test_mean_gap_ratio(getkey, ensemble, beta):
    levels = levels_of(ensemble, 200, getkey())
    # Ten levels from each end are left out, so only the bulk counts; of levels in pairs, only positive ones count.
    gaps = np.diff(levels[:, -50:-10])
    ratio = (np.minimum(gaps[:, 1:], gaps[:, :-1]) / np.maximum(gaps[:, 1:], gaps[:, :-1])).mean(-1)
    error = ratio.std() / len(ratio) ** 0.5
    # The finite size moves the mean by less than 0.01; another index would move it by more than 0.06.
    assert abs(ratio.mean() - MEAN_RATIO[beta]) < 0.01 + 5 * error


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_law_and_edge_at_400(getkey, name):
    ensemble, allowed = LAWS[name]
    levels, law = levels_of(ensemble, 10, getkey()), ensemble.law()
    lower, upper = map(float, law.support())
    x = np.linspace(lower, upper, 42)[1:-1]
    below = np.less(levels[:, None, :], x[:, None]).sum(-1).mean(0)
    assert np.abs(below - ensemble.n * np.asarray(law.cdf(x))).max() < allowed + 0.5
    inside = levels[:, -2 if isinstance(ensemble, rmt.Spiked) else -1]
    # The largest level is off by n^{-2/3} of the width; with a wrong scale it would be off by a constant.
    assert np.abs(inside - upper).max() < 8 * ensemble.n ** (-2 / 3) * (upper - lower) / 4 + 1e-3


def with_scale():
    """The ensembles of the registry with a parameter `scale`, by their names."""
    made = {name: make() for name, make in PUBLIC.items() if inspect.isfunction(make)}
    kind = rmt.ensembles.AbstractEnsemble
    return {name: each for name, each in made.items() if isinstance(each, kind) and hasattr(each, "scale")}


@pytest.mark.parametrize("ensemble", [pytest.param(each, id=name) for name, each in with_scale().items()])
def test_a_traced_scale_stays_outside_of_the_program(getkey, ensemble):
    key, whole = getkey(), jax.jit(lambda ensemble: ensemble._eigenvalues(key))

    def levels(scale):
        return eqx.tree_at(lambda each: each.scale, ensemble, scale).eigenvalues(key)

    for scale in (0.5, 1.7):
        expected = whole(eqx.tree_at(lambda each: each.scale, ensemble, jnp.asarray(scale)))
        got, slope = jax.jvp(levels, (jnp.asarray(scale),), (jnp.ones(()),))
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(slope, ensemble._degree_in_scale() * expected / scale, rtol=1e-12, atol=1e-12)
    assert np.isnan(jax.jit(levels)(-1.0)).all()


# Ensembles of 400 levels, the number of draws, an interval, and by how many levels mean counts may be off.
POOLED = [
    (rmt.InverseWishart(400, 800), 50, (0.2, 20.0), 1.0),
    (rmt.Wishart(400, 800), 50, (0.05, 3.5), 1.0),
    (rmt.SampleCorrelation(400, 160), 8, (0.05, 3.5), 1.5),
    (rmt.Jacobi(400, 300, 200), 50, (0.01, 0.99), 1.0),
    (rmt.HilbertSchmidt(400, 160), 6, (5e-5, 0.015), 1.5),
    (rmt.AltlandZirnbauer("AIII", 400, scale=0.7), 20, (-1.4, 1.4), 1.0),
    *further(
        (rmt.InverseWishart(400, 400), 50, (0.3, 1000.0), 1.0),
        *((rmt.Wishart(400, m), 50, (0.05, 3.5), 1.0) for m in (160, 400)),
        (rmt.SampleCorrelation(400, 800), 8, (0.05, 3.5), 1.5),
        (rmt.Jacobi(400, 400, 600), 50, (0.01, 0.99), 1.0),
        *((ensemble, 6, (5e-5, 0.015), 1.5) for ensemble in (rmt.HilbertSchmidt(400), rmt.Bures(400))),
        *(
            (rmt.AltlandZirnbauer(symmetry, 400, scale=0.7), 20, (-1.4, 1.4), 1.0)
            for symmetry in ("BDI", "CII", "D", "DIII", "C", "CI")
        ),
        *(
            (rmt.CorrelatedWishart(np.diag(np.repeat([1.0, 6.0], 200)), m, 2), 4, (0.05, 12.0), 1.5)
            for m in (200, 4000)
        ),
    ),
]


@pytest.mark.parametrize(("ensemble", "number", "ends", "allowed"), POOLED)
def test_pooled_levels_have_the_law(getkey, ensemble, number, ends, allowed):
    # Levels are rigid: a pooled count at a point differs from n F(x) by order 1, not √n.
    x, keys = np.linspace(*ends, 40), jax.random.split(getkey(), number)
    count = lambda key: ensemble.count_below(key, x)
    # Dense matrices come one after another.
    below = np.asarray(jax.vmap(count)(keys) if ensemble._has_reduced_model() else jax.lax.map(count, keys))
    assert np.abs(below.mean(0) - ensemble.n * np.asarray(ensemble.law().cdf(x))).max() < allowed


COUNTED = [
    rmt.Wigner(5, 0.7, 0.3),
    rmt.Wishart(6, 4, 1, 0.7),
    rmt.InverseWishart(5, 7, 1, 0.7),
    rmt.Jacobi(6, 5, 4),
    rmt.Bures(4),
    rmt.AltlandZirnbauer("C", 6, 0, 0.7),
    rmt.Spiked(rmt.GOE(4, 0.7), [2.5]),
    rmt.CircularBeta(6, 1.7),
    *further(
        rmt.Wishart(6, 9, 1, 0.7),
        rmt.Jacobi(3, 4, 6),
        rmt.HilbertSchmidt(5),
        rmt.HilbertSchmidt(6, 4),
        rmt.AltlandZirnbauer("BDI", 8, 2, 0.7),
        rmt.AltlandZirnbauer("DIII", 7, 1, 0.7),
        rmt.Spiked(rmt.Wishart(4, 6, 1, 0.7), [2.5]),
        rmt.Spiked(rmt.Wishart(4, 2, 2, 0.7), [2.5]),
    ),
]


@pytest.mark.parametrize("ensemble", COUNTED, ids=repr)
def test_counts_are_those_of_the_levels(getkey, ensemble):
    key = getkey()
    levels = np.asarray(getattr(ensemble, "eigenphases", ensemble.eigenvalues)(key))
    gap = 1e-12 * (levels if levels.min() >= 0 else 1)
    x = np.concatenate([levels - gap, levels + gap, [-9, 0.1, 0, -1e-300, 1e-300, 9, np.inf, -np.inf]])
    np.testing.assert_array_equal(ensemble.count_below(key, x), np.less(levels, x[:, None]).sum(-1))
    assert jax.eval_shape(ensemble.count_below, key, x.reshape(2, -1)).shape == (2, x.size // 2)


def of_dtype(one):
    """Ensembles with parameters of the dtype of a number; Python numbers take the dtype of the others."""
    dtype, matrix = one.dtype, jnp.eye(3, dtype=one.dtype)
    yield from (rmt.GOE(3, one), rmt.GUE(3, one), rmt.GSE(3, one), rmt.Wigner(3, one, entries="uniform"))
    yield from (rmt.GaussianBeta(3, beta, scale) for beta, scale in ((one, 1.0), (2.0, one), (np.float32(1), one)))
    yield from (rmt.Wishart(3, 2, 1, one), rmt.Wishart(3, 4, 4, one), rmt.InverseWishart(3, 5, 4, one))
    yield from (rmt.LaguerreBeta(2, 3.0, one), rmt.JacobiBeta(2, 3 * one, 4.0, 1.0), rmt.VarianceProfile(matrix))
    yield from (rmt.Deformed(rmt.GUE(3, one), jnp.full(3, one)), rmt.Banded(4, 1, one), rmt.Levy(3, 1.5 * one))
    yield from (rmt.RosenzweigPorter(3, one), rmt.ErdosRenyi(3, one / 2), rmt.Spiked(rmt.GaussianBeta(3, one), [2.0]))
    yield rmt.Spiked(rmt.LaguerreBeta(3, 4 * one, one), [2.0])
    for base in (rmt.GSE(3, one), rmt.Wishart(3, 2, 2, one)):
        yield from (rmt.Spiked(base, spikes) for spikes in ([2.0], [2.0, 0.5], jnp.array([2.0, 0.5], dtype)))
    for symmetry in ("AII", "AIII", "BDI", "CII", "D", "DIII", "C", "CI"):
        yield rmt.AltlandZirnbauer(symmetry, 4, scale=one)
    for beta in (1, 2, 4):
        yield from (rmt.CorrelatedWishart(matrix, 4, beta), rmt.CorrelatedInverseWishart(matrix, 4, beta))
        yield from (rmt.SampleCorrelation(3, 4 * one, beta), rmt.Elliptic(3, one / 2, beta, one))
        yield from (rmt.Ginibre(3, beta, one), rmt.GinibreProduct(3, 2, beta, one), rmt.InducedGinibre(3, 4, beta, one))


WITHOUT_PARAMETERS = [rmt.Jacobi(3, 2, 4, 1), rmt.Jacobi(3, 4, 4, 4), rmt.HilbertSchmidt(3, 2), rmt.Bures(3)]
WITHOUT_PARAMETERS += [rmt.RandomRegular(4, 2), rmt.RandomRegular(5, 4)]
WITHOUT_PARAMETERS += [
    made for beta in (1, 2, 4) for made in (rmt.TruncatedUnitary(3, 2, beta), rmt.Spherical(3, beta))
]


def has_complex_entries(ensemble):
    base = getattr(ensemble, "base", ensemble)
    if isinstance(base, rmt.AltlandZirnbauer):
        return base.symmetry not in ("BDI", "CI")
    beta = getattr(base, "beta", 1)  # an array in the models for every β, which are real
    return isinstance(base, rmt.GUE | rmt.GSE | rmt.HilbertSchmidt | rmt.Bures) or (isinstance(beta, int) and beta > 1)


@pytest.mark.float32
@pytest.mark.parametrize("dtype", [jnp.float32, None])
def test_dtypes_are_those_of_the_parameters(getkey, dtype):
    key, one = getkey(), jnp.ones((), dtype)
    cases = [(each, one.dtype) for each in of_dtype(one)] + [(each, jnp.ones(()).dtype) for each in WITHOUT_PARAMETERS]
    for ensemble, expected in cases:
        in_plane = isinstance(ensemble, rmt.ensembles.AbstractNonHermitianEnsemble)
        are_complex = {"sample": has_complex_entries(ensemble), "eigenvalues": in_plane}
        for name in ("sample", "eigenvalues", "largest_eigenvalues", "moduli"):
            if hasattr(ensemble, name):
                dtype = jax.eval_shape(getattr(ensemble, name), key).dtype
                assert jnp.finfo(dtype).dtype == expected, (ensemble, name)
                assert jnp.iscomplexobj(jnp.zeros((), dtype)) == are_complex.get(name, False), (ensemble, name)
        if isinstance(ensemble, rmt.GOE | rmt.GaussianBeta | rmt.LaguerreBeta | rmt.JacobiBeta):
            assert jax.eval_shape(ensemble.joint_logpdf, jnp.full(ensemble.n, one / 2)).dtype == expected, ensemble
        assert jnp.issubdtype(jax.eval_shape(ensemble.count_below, key, one).dtype, jnp.integer)
        if isinstance(ensemble, rmt.ensembles.AbstractNestedEnsemble):
            assert jax.eval_shape(ensemble.leading_block_eigenvalues, key, 2).values.dtype == expected
        try:
            law = ensemble.law()
        except NotImplementedError:
            continue
        assert jax.eval_shape(getattr(law, "radial_cdf", None) or law.cdf, one / 2).dtype == one.dtype, ensemble


HARD = {
    "Wishart": lambda one: (rmt.Wishart(400, 400, 1, one), "_bidiagonal"),
    "JacobiBeta": lambda one: (rmt.JacobiBeta(400, 200 * one, 400 * one, one), "_cosines"),
}


@pytest.mark.float32
@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("dtype", [np.float32, *further(np.float64)])
def test_hard_edge_keeps_its_digits(getkey, name, dtype):
    # In the square of a bidiagonal matrix the smallest level of n = 400, n² times smaller than the largest, has no
    # correct digit in float32.
    (ensemble, factor), key = HARD[name](dtype(1)), getkey()
    b, c = (np.asarray(entries, np.float64) for entries in getattr(ensemble, factor)(key))
    levels = ensemble.eigenvalues(key)
    golub_kahan, zeros = np.stack([b, np.append(c, 0)], axis=1).ravel()[:-1], np.zeros(800)
    expected = scipy.linalg.eigvalsh_tridiagonal(zeros, golub_kahan, lapack_driver="stebz", tol=1e-300)[400:]
    # The norm of the factor of a Wishart matrix is 2, and its levels have a unit; squares and units are rounded.
    unit, norm = (float(ensemble._unit()), 2) if name == "Wishart" else (1.0, 1)
    eps = jnp.finfo(levels.dtype).eps
    np.testing.assert_allclose(np.sqrt(np.asarray(levels, float) / unit), expected, rtol=4 * eps, atol=4 * eps * norm)
