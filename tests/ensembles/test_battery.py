"""The same tests for all families: level repulsion by the Dyson index, the limit law at n = 400, the edge."""

import inspect

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from tests.cases import further
from tests.registry import PUBLIC

# Mean ratio of consecutive gaps (Atas, Bogomolny, Giraud and Roux 2013, Phys. Rev. Lett. 110, 084101, table I).
MEAN_RATIO = {0: 0.38629, 1: 0.5307, 2: 0.5996, 4: 0.6744}
# An ensemble of 60 levels and its Dyson index; 0 for independent levels. The families of the further ones test their
# entries every day, and for the GOE and independent levels the mean ratio as well.
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
