"""Everything public on a mesh with explicit axes, which `jax.make_mesh` makes by default.

The rules of explicit axes are those of types. So most cases are only traced, on a mesh of one device, whose arrays say
just as well along which axis they are sharded; `_mesh_run.py` computes on eight devices.
"""

import json
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import rmtjax as rmt
from rmtjax.inference import kolmogorov_smirnov
from rmtjax.special.internal import bracketed_root
from tests.cases import daily, further
from tests.everything import CASES, ON_HOST, cases_with
from tests.mapped import MAPPED, WITH_PARAMETERS, dependent, exists, on_axis, stacked
from tests.processes import printed
from tests.registry import PUBLIC

EXPLICIT = jax.make_mesh((1,), ("d",), (AxisType.Explicit,), devices=jax.devices()[:1])
AUTOMATIC = jax.make_mesh((1,), ("d",), (AxisType.Auto,), devices=jax.devices()[:1])
MESHES = {"explicit": EXPLICIT, "automatic": AUTOMATIC}

TRACED = [name for name in CASES if not name.startswith(ON_HOST)]
HOST = [name for name in CASES if name.startswith(ON_HOST)]
# This function takes a mesh, which is not the one around it; `test_mesh.py` runs it.
OTHER_MESH = "rmtjax.linalg.sharded_product"
SHARDED = cases_with(lambda tree: jax.tree.map(lambda leaf: on_axis(leaf, EXPLICIT), tree))
# JAX does not map over an axis of the mesh along which another axis of the array is sharded.
MAPPED_BESIDE = "rmtjax.Spectrum.count_below"
# Its case adds the transpose of its argument, which JAX refuses for such an argument.
TRANSPOSED = "rmtjax.inference.detone"

KEYS = jax.random.split(jax.random.key(0), 1)

some = lambda names: daily(names, only=names[::24])


@pytest.mark.parametrize("name", some([name for name in TRACED if name not in (OTHER_MESH, MAPPED_BESIDE, TRANSPOSED)]))
def test_arguments_sharded_along_an_explicit_axis(name):
    jax.eval_shape(SHARDED[name])


def _product(v: jax.Array, a: jax.Array) -> jax.Array:
    return a @ v


ROWS = jnp.full((2, 3), 2.0), jnp.ones((2, 2)), jnp.full((2, 1), 0.5)
# Each fails if a place does not protect itself from explicit axes; the batteries reach some in the slow run only.
PROTECTED = {
    "count_below of a spectrum": (lambda x: rmt.Spectrum(np.arange(6.0)).count_below(x), jnp.array([0.5, 1.0])),
    "stieltjes": (lambda both: rmt.statistics.stieltjes(*both), (jnp.arange(3.0), jnp.array([1j]))),
    "multifractal_dimension": (lambda v: rmt.statistics.multifractal_dimension(v, 2), jnp.ones((1, 3, 2))),
    "periodic": (lambda s: s.periodic("magnitude"), rmt.Spectrum.of([[0.1, 0.5], [0.2]])),
    "log_determinant of rows": (lambda each: rmt.SymTridiagonal(*each[:2]).log_determinant(each[2]), ROWS),
    "count_below of rows": (lambda each: rmt.SymTridiagonal(*each[:2]).count_below(each[2]), ROWS),
    "resolvent_trace of rows": (lambda each: rmt.SymTridiagonal(*each[:2]).resolvent_trace(each[2] + 1j), ROWS),
    "matrix_function": (lambda a: rmt.linalg.matrix_function(jnp.exp, a), jnp.eye(3)),
    "log_determinant": (rmt.linalg.log_determinant, jnp.eye(3)),
    "integrate": (lambda panels: rmt.special.integrate(jnp.cos, panels), jnp.arange(3.0)),
    "spectral_density_of": (
        jax.jit(jax.vmap(lambda a: rmt.inference.spectral_density_of(_product, KEYS[0], 3, args=(a,)).nodes)),
        jnp.eye(3)[None],
    ),
}


@pytest.mark.parametrize("name", PROTECTED)
def test_places_that_protect_themselves(name):
    fn, arg = PROTECTED[name]
    jax.eval_shape(fn, jax.tree.map(lambda leaf: on_axis(leaf, EXPLICIT), arg))


@pytest.mark.parametrize("kind", daily(MESHES, only=["explicit"]))
@pytest.mark.parametrize("name", some([name for name in TRACED if name != OTHER_MESH]))
def test_inside_set_mesh(name, kind):
    with jax.set_mesh(MESHES[kind]):
        jax.eval_shape(CASES[name])


@pytest.mark.parametrize("name", daily(HOST, only=HOST[:1]))
def test_on_the_host(name):
    jax.block_until_ready(SHARDED[name]())
    with jax.set_mesh(EXPLICIT):
        jax.block_until_ready(CASES[name]())


@pytest.mark.parametrize("name", some([name for name in MAPPED if name != OTHER_MESH]))
def test_mapped_over_an_explicit_axis(name):
    fn, args = MAPPED[name]
    if not exists(fn, args):
        return
    found = jax.eval_shape(jax.jit(jax.vmap(fn)), *jax.tree.map(lambda leaf: stacked(leaf, EXPLICIT), args))
    assert {leaf.sharding.spec[0] for leaf in dependent(found)} == {"d"}


SYMMETRIZED = rmt.laws.Symmetrized(rmt.laws.MarchenkoPastur(0.5))
# Known parameters that are checked on the mesh, functions that close over arrays, and loops that begin with constants.
INSIDE = {
    **{
        f"kolmogorov_smirnov of {n} values": (
            jax.vmap(lambda v: kolmogorov_smirnov(v, rmt.laws.Uniform(), calibration="independent").p_value),
            (jnp.arange(float(n)) / n)[None],
        )
        for n in (20, 60)
    },
    "a law with rules for known parameters": (SYMMETRIZED.cdf, jnp.array([0.5])),
    "a function with a constant": (
        jax.vmap(lambda a: rmt.linalg.matrix_function(lambda x: jnp.exp(-np.float32(2) * x), a)),
        jnp.eye(3, dtype=jnp.float32)[None],
    ),
    "levels at an edge": (jax.vmap(lambda key: rmt.GOE(600).edge_levels(key, 3)), KEYS),
    "lengths of windows": (lambda s: rmt.statistics.number_variance(jnp.arange(32.0), s), jnp.array([0.5])),
    "an image": (jax.vmap(lambda image: rmt.inference.denoise_image(image, patch=(2, 2)).rank), jnp.ones((1, 4, 5, 6))),
    "edges of bins": (
        lambda edge: rmt.statistics.pair_correlation(jnp.arange(32.0), jnp.concatenate([edge, edge + 1])),
        jnp.array([0.5]),
    ),
    "a derivative by beta": (
        jax.vmap(jax.grad(lambda beta: rmt.CircularBeta(6, beta).eigenphases(KEYS[0]).sum())),
        jnp.array([2.5]),
    ),
}


@pytest.mark.parametrize("kind", MESHES)
@pytest.mark.parametrize("name", INSIDE)
def test_inside_shard_map(name, kind):
    fn, arg = INSIDE[name]
    on_each_device(MESHES[kind], fn, on_axis(arg, MESHES[kind]))


def on_each_device(mesh, fn, *args):
    with jax.set_mesh(mesh):
        jax.eval_shape(jax.jit(jax.shard_map(fn, in_specs=jax.P("d"), out_specs=jax.P("d"))), *args)


def with_all_that_differ(fn, args):
    if exists(fn, args):
        on_each_device(AUTOMATIC, jax.vmap(fn), *jax.tree.map(lambda leaf: stacked(leaf, AUTOMATIC), args))


# Each begins a loop of its own with constants.
LOOPS = (
    "rmtjax.DysonBrownianMotion.sample",
    "rmtjax.CircularBrownianMotion.eigenphases",
    "rmtjax.laws.EquilibriumMeasure.pdf",
    "rmtjax.laws.VarianceProfileLaw.mean",
    "rmtjax.laws.CovarianceProfileLaw.mean",
    "rmtjax.laws.FreePolynomial.var",
    "rmtjax.laws.FreeSum.ppf",
)


@pytest.mark.parametrize("name", daily(WITH_PARAMETERS, only=LOOPS))
def test_parameters_that_differ_between_devices(name):
    with_all_that_differ(*WITH_PARAMETERS[name])


@pytest.mark.parametrize("name", daily([name for name in MAPPED if name != OTHER_MESH], only=LOOPS[:1]))
def test_arguments_that_differ_between_devices(name):
    with_all_that_differ(*MAPPED[name])


def test_functions_with_closures_leak_no_tracers():
    cube_root = lambda y: bracketed_root(lambda x: x**3 - y, jnp.zeros(()), jnp.full((), 9.0))
    exponential = lambda b: rmt.linalg.matrix_function(lambda x: jnp.exp(b * x), jnp.eye(2))
    with jax.checking_leaks():
        jax.jit(cube_root)(8.0)
        jax.jit(exponential)(1.0)


def test_results_are_sharded_as_arguments_are():
    batch = NamedSharding(EXPLICIT, PartitionSpec("d"))
    levels = jax.device_put(jnp.arange(6.0).reshape(1, 6), batch)
    lengths = jnp.array([0.5, 1.0])
    for result, spec in [
        (rmt.laws.TracyWidom(1).pdf(jax.device_put(lengths, batch)), ("d",)),
        (rmt.eigvalsh(jax.device_put(jnp.eye(3)[None], batch)), ("d", None)),
        (rmt.spectral_radius(jax.device_put(jnp.eye(3)[None], batch)), ("d",)),
        (rmt.statistics.multifractal_dimension(jax.device_put(jnp.ones((1, 3, 2)), batch), 2), ("d", None)),
        (rmt.statistics.number_variance(levels, lengths), ("d", None)),
        (rmt.statistics.spacings(levels).values, ("d", None)),
        (rmt.statistics.gap_ratios(levels).mean(), ("d",)),
        # Along an axis that the result does not have, nothing is left to be sharded.
        (rmt.statistics.number_variance(jax.device_put(levels[0], batch), lengths), (None,)),
    ]:
        assert tuple(jax.typeof(result).sharding.spec) == spec


def test_derivatives_on_explicit_axes():
    x = jnp.linspace(-1.0, 1.0, 4)
    slope = jax.grad(lambda x: rmt.laws.TracyWidom(2).cdf(x).sum())
    with jax.set_mesh(EXPLICIT):
        found = jax.jit(slope)(on_axis(x, EXPLICIT))
    assert jax.typeof(found).sharding.spec == PartitionSpec("d")
    np.testing.assert_allclose(found, slope(x), rtol=1e-5)


@cache
def on_eight_devices(*names: str) -> dict:
    """The errors that `_mesh_run.py` prints for these cases, in processes of up to 60 cases."""
    errors = {}
    for start in range(0, len(names), 60):
        output = printed("-m", "tests._mesh_run", *names[start : start + 60], JAX_NUM_CPU_DEVICES="8")
        errors |= json.loads(output.splitlines()[-1])
    return errors


EIGHT = ("rmtjax.GOE.eigenvalues", "rmtjax.laws.TracyWidom.cdf", "rmtjax.statistics.gap_ratios", "simulate")


# What JAX itself cannot do before 0.9, with the reason.
NOT_IN_OLD_JAX = {"rmtjax.inference.spectral_density_of": "a mapped loop says that another axis is sharded"}
LEFT_OUT = [OTHER_MESH, *(NOT_IN_OLD_JAX if jax.__version_info__ < (0, 9) else ())]

# A method of each object, and every function.
ALL_ON_EIGHT = tuple(
    name
    for name in MAPPED
    if name not in LEFT_OUT and (name in PUBLIC or name.endswith((".cdf", ".eigenvalues", ".pdf")))
)


@pytest.mark.parametrize("names", [EIGHT, *further((ALL_ON_EIGHT,))], ids=["some", "all"])
def test_eight_devices_give_what_one_does(names):
    errors = on_eight_devices(*names)
    assert len(errors) >= len(names)
    assert {name: error for name, error in errors.items() if error} == {}
