"""Random graphs: exact moments, uniformity over all labelled regular graphs, limiting laws."""

import functools

import jax
import numpy as np
import pytest
import scipy.stats

import rmtjax as rmt
from tests.cases import further
from tests.ensembles.draws import drawn
from tests.statistical import assert_counts, assert_mean

DRAWS = 8000


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def regular(n, degree, number, key):
    return jax.vmap(rmt.RandomRegular(n, degree).sample)(jax.random.split(key, number))


@pytest.mark.float32
@pytest.mark.parametrize("p", [0.03, 0.4, 1.0])
def test_adjacency_matrices(getkey, p):
    n = 5
    levels, a = drawn(rmt.ErdosRenyi(n, p), DRAWS, getkey())
    assert np.isin(a, [0, 1]).all()
    np.testing.assert_array_equal(a, np.swapaxes(a, 1, 2))
    np.testing.assert_array_equal(np.diagonal(a, axis1=1, axis2=2), 0)
    pairs = n * (n - 1) // 2
    edges = np.bincount((a.sum((1, 2)) / 2).astype(int), minlength=pairs + 1)
    assert_counts(edges, scipy.stats.binom.pmf(np.arange(pairs + 1), pairs, p))
    levels = levels.astype(float)
    np.testing.assert_allclose(levels.sum(-1), 0, rtol=0, atol=1e-5)
    if p < 1:
        assert_mean((levels**2).sum(-1), n * (n - 1) * p)
        assert_mean((levels**3).sum(-1), n * (n - 1) * (n - 2) * p**3)
        assert_mean(a[:, 0, 1] * a[:, 0, 2], p**2)
    else:
        np.testing.assert_allclose(levels, np.broadcast_to([-1] * (n - 1) + [n - 1], levels.shape), rtol=0, atol=1e-5)


@pytest.mark.float32
@pytest.mark.parametrize("p", [0.3, 1.0])
def test_laplacians(getkey, p):
    n = 5
    levels, laplacian = drawn(rmt.ErdosRenyi(n, p, "laplacian"), DRAWS, getkey())
    np.testing.assert_array_equal(laplacian, np.swapaxes(laplacian, 1, 2))
    np.testing.assert_array_equal(laplacian.sum(-1), 0)
    off = laplacian[:, *np.tril_indices(n, -1)]
    assert np.isin(off, [0, -1]).all()
    # The Laplacian is positive semidefinite and has the level 0.
    np.testing.assert_allclose(levels[:, 0], 0, rtol=0, atol=20 * n * np.finfo(levels.dtype).eps)
    levels = levels.astype(float)
    if p < 1:
        assert_mean(levels.sum(-1), n * (n - 1) * p)
        assert_mean((levels**2).sum(-1), n * (n - 1) * p * (2 + (n - 2) * p))
    else:
        np.testing.assert_allclose(levels[:, 1:], n, rtol=1e-5)


def test_pooled_adjacency_spectra_and_the_level_apart(getkey):
    n, p = 400, 0.3
    levels = np.linalg.eigvalsh(jax.vmap(rmt.ErdosRenyi(n, p).sample)(jax.random.split(getkey(), 4)))
    # The largest level is normal about (n - 2) p + 1 with the variance 2p(1 - p) (Füredi and Komlós).
    assert abs(levels[:, -1].mean() - (n - 2) * p - 1) < 5 * (2 * p * (1 - p) / 4) ** 0.5
    # The others are centred on -p, which the limiting law neglects.
    others, law = levels[:, :-1].ravel() + p, rmt.ErdosRenyi(n, p).law()
    x = np.linspace(*law.support(), 41)
    empirical = (others[:, None] <= x).mean(0)
    np.testing.assert_allclose(empirical, law.cdf(x), rtol=0, atol=0.006)
    assert np.abs(empirical - rmt.laws.Semicircle(law.radius * 1.05).cdf(x)).max() > 0.012


# Labelled graphs: (n - 1)!/2 cycles on n vertices, 10 pairs of triangles, K33 in 10 and the prism in 60 ways, the
# complements of 15 perfect matchings; on 7 vertices the complements of 360 heptagons and 105 triangles with squares.
@pytest.mark.parametrize(
    ("n", "degree", "number"),
    [
        (2, 1, 1),
        (5, 2, 12),
        pytest.param(6, 3, 70, marks=pytest.mark.float32(further=True)),
        *further((4, 3, 1), (6, 2, 70), (6, 4, 15), (7, 4, 465)),
    ],
)
def test_every_regular_graph_is_equally_likely(getkey, n, degree, number):
    a = np.asarray(regular(n, degree, 10_000, getkey()))
    np.testing.assert_array_equal(a, np.swapaxes(a, 1, 2))
    assert np.isin(a, [0, 1]).all()
    np.testing.assert_array_equal(a.sum(-1), degree)
    np.testing.assert_array_equal(np.diagonal(a, axis1=1, axis2=2), 0)
    _, counts = np.unique(a[:, *np.tril_indices(n, -1)], axis=0, return_counts=True)
    assert counts.size == number
    if number > 1:
        assert_counts(counts, np.full(number, 1 / number))
    if (n, degree) == (6, 3):
        # K33 is the one without triangles.
        bipartite = np.einsum("kij,kjl,kli->k", a, a, a) == 0
        assert_mean(bipartite, 1 / 7)


@pytest.mark.parametrize(("n", "degree"), [(60, 5), (11, 6), (9, 8)])
def test_larger_degrees(getkey, n, degree):
    a = np.asarray(regular(n, degree, 2, getkey()))
    np.testing.assert_array_equal(a.sum(-1), degree)
    np.testing.assert_array_equal(a, np.swapaxes(a, 1, 2))
    assert np.isin(a, [0, 1]).all()


def test_pooled_regular_graphs_have_the_law_of_kesten_and_mckay(getkey):
    n, degree = 400, 3
    levels = np.linalg.eigvalsh(np.asarray(regular(n, degree, 5, getkey())))
    np.testing.assert_allclose(levels[:, -1], degree, rtol=1e-12)
    law = rmt.RandomRegular(n, degree).law()
    x = np.linspace(*law.support(), 31)
    empirical = (levels.ravel()[:, None] <= x).mean(0)
    # Short cycles, a few for each graph, move a few levels in 400.
    np.testing.assert_allclose(empirical, law.cdf(x), rtol=0, atol=0.01)
    assert np.abs(empirical - rmt.laws.KestenMcKay(3.4).cdf(x)).max() > 0.02


def test_a_graph_of_few_non_edges_has_the_mirrored_law(getkey):
    ensemble = rmt.RandomRegular(201, 196)
    levels = np.linalg.eigvalsh(np.asarray(regular(201, 196, 1, getkey()))).ravel()
    law = ensemble.law()
    np.testing.assert_allclose(law.support(), (-1 - 2 * 3**0.5, -1 + 2 * 3**0.5), rtol=1e-12)
    assert levels[-1] == pytest.approx(196)
    x = np.linspace(*law.support(), 15)
    np.testing.assert_allclose((levels[:-1, None] <= x).mean(0), law.cdf(x), rtol=0, atol=0.03)


def test_pooled_laplacians_have_the_law_of_a_normal_and_a_semicircle(getkey):
    """The law of the adjacency matrix, or of the degrees, alone would be off by more than 0.05."""
    n, p = 400, 0.3
    ensemble = rmt.ErdosRenyi(n, p, "laplacian")
    levels = np.asarray(jax.lax.map(ensemble.eigenvalues, jax.random.split(getkey(), 12)))[:, 1:]
    x = n * p + (n * p * (1 - p)) ** 0.5 * np.linspace(-3, 3, 13)
    empirical = (levels.ravel()[:, None] <= x).mean(0)
    # The degrees are nearly independent: 4800 of them have a standard error of up to 0.007.
    np.testing.assert_allclose(empirical, ensemble.law().cdf(x), rtol=0, atol=0.028)
    for other in (rmt.laws.Normal, lambda s: rmt.laws.Semicircle(2 * s)):
        assert np.abs(empirical - other((n * p * (1 - p)) ** 0.5).shifted(n * p).cdf(x)).max() > 0.05


def test_laws_that_are_not_known():
    for matrix in ("adjacency", "laplacian"):
        with pytest.raises(ValueError, match="`p` must be below 1 for the levels to have a law, got 1"):
            rmt.ErdosRenyi(5, 1.0, matrix).law()
    for n, degree, smaller in ((4, 1, 1), (100, 98, 1), (9, 8, 0)):
        with pytest.raises(ValueError, match=f"`degree` must be finite and at least 2, got {smaller}"):
            rmt.RandomRegular(n, degree).law()


def test_probabilities_are_traced(getkey):
    key = getkey()
    edges = jax.jit(lambda p: rmt.ErdosRenyi(9, p).sample(key).sum())
    assert edges(1.0) == 72
    assert edges(0.5) < 72
    assert edges._cache_size() == 1
    assert jax.grad(edges)(0.5) == 0
    np.testing.assert_allclose(jax.grad(lambda p: rmt.ErdosRenyi(9, p).law().radius)(0.2), 0.6 * 9 / 1.2, rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rmt.ErdosRenyi(3, 0.0), r"`p` must lie in \(0, 1\], got 0"),
        (lambda: rmt.ErdosRenyi(3, 1.1), r"`p` must lie in \(0, 1\], got 1.1"),
        (lambda: rmt.ErdosRenyi(3, 0.5, "incidence"), "`matrix` must be one of 'adjacency', 'laplacian'"),
        (lambda: rmt.RandomRegular(1, 1), "`n` must be an integer of at least 2, got 1"),
        (lambda: rmt.RandomRegular(4, 4), "`degree` must be below 4, and even if .* got 4"),
        (lambda: rmt.RandomRegular(5, 3), "`degree` must be below 5, and even if the number of vertices is odd, got 3"),
        (
            lambda: rmt.RandomRegular(20, 8),
            r"`degree` must be at most 6, or at least 13: .* 7e\+06 random pairings, got 8",
        ),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
