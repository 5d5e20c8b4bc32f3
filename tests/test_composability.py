"""The composability battery over every public function, ensemble and law of the registry."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from jax.sharding import AxisType

import rmtjax as rmt
from rmtjax.testing import check_composable, check_derivatives, check_ensemble, check_unitary_ensemble, check_vmap
from tests.cases import daily, further
from tests.registry import PUBLIC, Call, Elsewhere

CALLS = {name: call for name, call in PUBLIC.items() if isinstance(call, Call)}
OBJECTS = {name: made() for name, made in PUBLIC.items() if not isinstance(made, Call | Elsewhere)}
LAWS = {name: law for name, law in OBJECTS.items() if isinstance(law, rmt.laws.AbstractLaw)}
ENSEMBLES = {name: e for name, e in OBJECTS.items() if isinstance(e, rmt.ensembles.AbstractEnsemble)}
UNITARY = {name: e for name, e in OBJECTS.items() if isinstance(e, rmt.ensembles.AbstractUnitaryEnsemble)}

# Points away from every jump and edge of the laws above.
X = jnp.array([-0.83, 0.21, 0.64])


def normalised(law):
    """The law with shares that sum to 1, which the battery does not keep, as it changes every number by itself."""
    for name in ("weights", "fractions"):
        if hasattr(law, name):
            shares = getattr(law, name)
            law = eqx.tree_at(lambda mixture, name=name: getattr(mixture, name), law, shares / shares.sum())
    return law


def check_in_parameters(fn, parameters, second_derivative=False):
    """The battery without the comparison of dtypes, since a key gives different variates in float32 and float64.

    The mapped functions are compiled as well.
    """
    check_vmap(fn, parameters)
    check_derivatives(fn, parameters, second_derivative=second_derivative)


# These have long programs, and separate tests for the derivatives.
LONG = {
    "rmtjax.inference.anderson_darling",
    "rmtjax.inference.compare_spectra",
    "rmtjax.inference.denoise_patches",
    "rmtjax.inference.fit_beta",
    "rmtjax.inference.fit_brody",
    "rmtjax.inference.fit_marchenko_pastur",
    "rmtjax.inference.kolmogorov_smirnov",
    "rmtjax.inference.largest_root_test",
    "rmtjax.inference.largest_root_test_of_groups",
    "rmtjax.inference.log_likelihood",
    "rmtjax.inference.optimal_hard_threshold",
    "rmtjax.inference.signal_rank_of_levels",
    "rmtjax.laws.circular_number_variance",
    "rmtjax.laws.circular_rigidity",
    "rmtjax.laws.crossover_number_variance",
    "rmtjax.laws.gaussian_form_factor",
    "rmtjax.laws.gaussian_number_variance",
    "rmtjax.laws.hard_edge_gap_probabilities",
    "rmtjax.laws.hermite_gap_probabilities",
    "rmtjax.laws.number_variance",
    "rmtjax.laws.pair_correlation",
    "rmtjax.laws.rigidity",
    "rmtjax.laws.soft_edge_gap_probabilities",
    "rmtjax.special.airy_kernel",
    "rmtjax.special.bessel_j",
    "rmtjax.special.bessel_kernel",
    "rmtjax.special.fredholm_det",
    "rmtjax.special.hermite_kernel",
}


@pytest.mark.parametrize("name", daily(CALLS, but=LONG))
def test_function_composes(name):
    call = CALLS[name]
    check_composable(call.fn, *call.args, second_derivative=call.second_derivative)


# Every law is tested by `check_law`, and most also by finite differences in their parameters, in their own files; every
# day this file tests those that have only the former and are not made from one other law.
WITHOUT_DIFFERENCES = ["rmtjax.laws.Mixture", "rmtjax.laws.Semicircle", "rmtjax.laws.Uniform"]


@pytest.mark.parametrize("name", daily(LAWS, only=WITHOUT_DIFFERENCES))
def test_law_composes(name):
    check_composable(lambda law_and_x: normalised(law_and_x[0]).cdf(law_and_x[1]), (LAWS[name], X))


@pytest.mark.parametrize("name", daily(LAWS, only=["rmtjax.laws.Mixture", "rmtjax.laws.MarchenkoPastur"]))
def test_law_maps_over_parameters_and_points_apart(name):
    check_vmap(lambda law, x: normalised(law).cdf(x), LAWS[name], X)


@pytest.mark.parametrize("name", ["rmtjax.laws.Semicircle"])
@pytest.mark.parametrize("method", ["logpdf", *further("logsf", "pdf", "logcdf", "sf")])
def test_densities_tails_and_logarithms_compose(name, method):
    check_composable(lambda law, x: getattr(law, method)(x), LAWS[name], X)


@pytest.mark.slow
def test_quantile_composes():
    law = rmt.laws.Semicircle(1.5)
    check_composable(lambda law, p: law.ppf(p), law, jnp.array([0.1, 0.4, 0.8]))


# Every day one ensemble with levels of its own is tested, and one of integers. The examples of the checks themselves,
# in `testing`, test a Wigner and a circular ensemble.
KINDS = ["rmtjax.GOE", "rmtjax.RandomRegular"]


@pytest.mark.parametrize("name", daily(ENSEMBLES, only=KINDS))
def test_ensemble_keeps_its_contract(name):
    check_ensemble(ENSEMBLES[name], jax.random.key(3))


@pytest.mark.slow
@pytest.mark.parametrize("name", UNITARY)
def test_unitary_ensemble_keeps_its_contract(name):
    check_unitary_ensemble(UNITARY[name], jax.random.key(3))


# Derivatives in beta and a are derivatives of the law, not of a draw with one key; `ensembles/gaussian/test_beta.py`,
# `test_laguerre.py` and `test_jacobi.py` test them. Levels of GUE and GSE are computed like levels of the GOE.
ELSEWHERE = {"rmtjax.GaussianBeta", "rmtjax.LaguerreBeta", "rmtjax.JacobiBeta", "rmtjax.GUE", "rmtjax.GSE"}


PARAMETRIC = {name for name, ensemble in ENSEMBLES.items() if jax.tree.leaves(ensemble)}


VARYING = sorted(PARAMETRIC - ELSEWHERE)
# Every day one ensemble of dense matrices is tested; other ways to the levels have tests in `linalg`.
WAYS = ["rmtjax.Levy"]


@pytest.mark.parametrize("name", daily(VARYING, only=WAYS))
def test_eigenvalues_compose_in_the_parameters(name):
    levels = lambda ensemble: ensemble.eigenvalues(jax.random.key(5))
    check_in_parameters(levels, ENSEMBLES[name], second_derivative=True)


@pytest.mark.slow
def test_levels_of_mixed_compose_in_the_key():
    mixed = OBJECTS["rmtjax.Mixed"]
    check_composable(lambda key: mixed.eigenvalues(key).values, jax.random.key(2), derivatives=False)
    check_composable(lambda key: mixed.periodic_eigenvalues(key, "ascending"), jax.random.key(2), derivatives=False)


@pytest.mark.slow
def test_levels_of_mixed_compose_in_the_scale():
    # The order does not depend on the scale, the levels do.
    levels = lambda base: rmt.Mixed(base, 0.7).periodic_eigenvalues(jax.random.key(2), "magnitude")
    check_in_parameters(levels, rmt.GOE(4, 1.2))


def inside_shard_map(fn, *args, kind):
    """Trace a function inside `shard_map`, which refuses loops whose carry differs between devices from some turn on.

    The types of arrays say so, on a mesh of one device as well.
    """
    mesh = jax.make_mesh((1,), ("d",), (kind,), devices=jax.devices()[:1])
    place = jax.NamedSharding(mesh, jax.P("d"))
    stacked = jax.tree.map(lambda leaf: jax.device_put(jnp.asarray(leaf)[None], place), args)
    with jax.set_mesh(mesh):
        return jax.eval_shape(jax.shard_map(jax.vmap(fn), in_specs=jax.P("d"), out_specs=jax.P("d")), *stacked)


MESHES = [AxisType.Auto, pytest.param(AxisType.Explicit, marks=pytest.mark.slow)]


@pytest.mark.parametrize("kind", MESHES)
@pytest.mark.parametrize("name", [*ENSEMBLES, *UNITARY])
def test_ensembles_inside_shard_map(name, kind):
    ensemble, key = OBJECTS[name], jax.random.key(0)
    for fn in (ensemble.sample, ensemble.eigenvalues, lambda key: ensemble.count_below(key, X)):
        inside_shard_map(fn, key, kind=kind)


# A sharded product uses all devices by itself.
@pytest.mark.parametrize("kind", MESHES)
@pytest.mark.parametrize("name", daily(sorted(set(CALLS) - {"rmtjax.linalg.sharded_product"}), but=LONG))
def test_functions_inside_shard_map(name, kind):
    inside_shard_map(CALLS[name].fn, *CALLS[name].args, kind=kind)
