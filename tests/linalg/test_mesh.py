"""One matrix over 1 to 8 devices: levels, counts and products, against integer arithmetic and one device."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh

import rmtjax as rmt
from rmtjax.linalg import sharded_product
from tests.cases import further

DAILY = (
    "set_mesh",
    "some hard",
    "data",
    "dense batches",
    "gradients",
    "ensembles",
    "refused",
    "products",
    "functions of products",
)
FURTHER = (
    "hard",
    "mapped",
    "hard in single precision",
    "small",
    "ranges",
    "ranges of a queue",
    "further ensembles",
    "large",
)
over = pytest.mark.parametrize("devices", [2, *further(1, 3, 4, 8)])
long_over = pytest.mark.parametrize("devices", further(1, 2, 3, 4, 8))


@cache
def _run(devices: int, names: tuple[str, ...]) -> dict:
    command = [sys.executable, "-m", "tests.linalg._mesh_run", str(devices), *names]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def results(devices: int, name: str) -> dict:
    """The results of a case, from one process for all daily cases and one for the others."""
    return _run(devices, DAILY if name in DAILY else FURTHER)[name]


def check(result: dict, eps: float = 4.0) -> None:
    """Levels are right to `eps` units in eps of the norm, and all counts equal those of one device."""
    assert result["errors"]
    assert {name: error for name, error in result["errors"].items() if not error <= eps} == {}
    assert {name: wrong for name, wrong in result["miscounts"].items() if wrong} == {}


@over
def test_levels_keep_four_eps_and_counts_every_unit_for_hard_matrices(devices):
    check(results(devices, "some hard"))


@over
def test_points_on_several_devices_are_counted_where_they_are(devices):
    result = results(devices, "data")
    assert result["miscounts"] == 0
    assert result["devices of the counts"] == [devices, devices]
    assert result["points of a device"] == [40, 40]
    assert result["collectives"] == 0
    # Levels stay in parts where these are equal.
    assert result["levels of a device"] == [15, 15 * devices + 1]


@over
def test_each_device_finds_the_levels_of_its_own_dense_matrices(devices):
    found = results(devices, "dense batches")
    assert len(found) == 12
    # LAPACK's errors grow like the order, 7.
    wrong = lambda case: case["gathered"] or case["matrices of a device"] != 2 or not case["error"] < 30
    assert {name: case for name, case in found.items() if wrong(case)} == {}


@over
def test_gradients_of_symmetric_functions_hold_where_a_range_cuts_a_double_level(devices):
    found = results(devices, "gradients")
    assert len(found) == 4
    assert max(found.values()) < 1e-12


@over
def test_ensembles_have_the_levels_and_counts_of_one_device(devices):
    # Twice four eps, because the levels of one device have errors too.
    check(results(devices, "ensembles"), 8)


@over
def test_calls_that_a_mesh_cannot_serve_are_refused(devices):
    said = results(devices, "refused")
    assert said["no mesh"] == "ValueError: `mesh` must be a `jax.sharding.Mesh`, got 'any name'."
    assert said["devices"].startswith("ValueError: `mesh` must be a `jax.sharding.Mesh`, got [")
    for name in ("dense", "dense counts", "two spikes"):
        assert said[name].startswith("NotImplementedError: "), name
    for name in ("simulate", "shard_map"):
        assert said[name].startswith("ValueError: `mesh` must be None inside of `simulate` and `shard_map`, "), name
    for name in ("another mesh", "another mesh for draws"):
        assert said[name].startswith("ValueError: `mesh` must be that of `jax.set_mesh` inside of it, got Mesh("), name


@over
def test_products_keep_the_bound_of_any_order_of_addition(devices):
    result = results(devices, "products")
    assert len(result["errors"]) == 24
    assert {name: error for name, error in result["errors"].items() if not error <= 1.01} == {}
    rows = {1: 24, 2: 24, 3: 24, 4: 12, 8: 12}[devices]
    assert result["rows of a device"] == [rows, 24 // devices]


@over
def test_products_compose_with_transformations(devices):
    found = results(devices, "functions of products")
    assert len(found) == 7
    assert max(found.values()) < 1e-13


@long_over
@pytest.mark.parametrize("name", ["hard", "hard in single precision", "ranges", "ranges of a queue", "large"])
def test_more_levels_keep_four_eps_and_counts_every_unit(devices, name):
    check(results(devices, name))


@long_over
def test_fewer_levels_than_devices(devices):
    for result in results(devices, "small").values():
        check(result)


@long_over
def test_further_ensembles_have_the_levels_and_counts_of_one_device(devices):
    # Squares and reciprocals of singular values double the errors.
    check(results(devices, "further ensembles"), 16)
    check(results(devices, "mapped"), 8)


def on(*shape: int) -> Mesh:
    """A mesh of the one device of this process."""
    return Mesh(np.array(jax.devices()[:1]).reshape(shape), tuple("abc"[: len(shape)]))


@pytest.mark.parametrize(
    ("matrix", "vectors", "mesh", "message"),
    [
        (np.ones((2, 3)), np.ones(2), on(1, 1), "`vectors` must have 3 entries on the first of one or two axes, got"),
        (np.ones((2, 3)), np.ones((3, 1, 1)), on(1, 1), "`vectors` must have 3 entries"),
        (np.ones((2, 3)), 1.0, on(1, 1), "`vectors` must have 3 entries"),
        (np.ones(3), np.ones(3), on(1, 1), "`matrix` must be a matrix of at least one entry"),
        (np.ones((0, 3)), np.ones(3), on(1, 1), "`matrix` must be a matrix of at least one entry"),
        (np.ones((2, 3), np.float16), np.ones(3), on(1, 1), "`matrix` must be of single or double precision"),
        ("matrix", np.ones(3), on(1, 1), "`matrix` must be numbers"),
        (np.ones((2, 3)), np.ones(3), on(1, 1, 1), "`mesh` must have one or two axes"),
        (np.ones((2, 3)), np.ones(3), None, "`mesh` must be a `jax.sharding.Mesh`, got None"),
        (np.ones((2, 3)), np.ones(3), ("a", "b"), "`mesh` must be a `jax.sharding.Mesh`"),
    ],
)
def test_arguments_of_a_product_that_are_refused(matrix, vectors, mesh, message):
    with pytest.raises(ValueError, match=message):
        sharded_product(matrix, vectors, mesh)


@pytest.mark.parametrize("dtype", [np.float64, pytest.param(np.float32, marks=pytest.mark.float32)])
def test_the_dtype_is_that_of_the_arguments(dtype):
    chain = rmt.SymTridiagonal(jnp.zeros(3, dtype), jnp.ones(2, dtype))
    assert chain.eigenvalues(mesh=on(1)).dtype == dtype
    np.testing.assert_allclose(chain.eigenvalues(mesh=on(1)), np.sqrt(2) * np.arange(-1, 2), rtol=0, atol=1e-6)
    assert sharded_product(chain.todense(), np.ones(3, dtype), on(1)).dtype == dtype


@over
def test_the_mesh_of_set_mesh_serves(devices):
    errors = results(devices, "set_mesh")
    assert len(errors) == 16
    assert {name: error for name, error in errors.items() if not error <= 1e-13} == {}
