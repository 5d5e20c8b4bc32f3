"""A script for a process with a given number of devices: one matrix over all of them.

It prints the results of the named cases as JSON; `test_mesh.py` says what they have to be.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

import rmtjax as rmt
from rmtjax.linalg import sharded_product
from tests.linalg import tridiagonal_matrices as matrices


def all_devices() -> Mesh:
    return jax.make_mesh((jax.device_count(),), ("any name",), axis_types=(AxisType.Auto,))


def grid() -> Mesh:
    """Two axes of the most even sizes."""
    count = jax.device_count()
    first = next(k for k in range(int(count**0.5), 0, -1) if count % k == 0)
    return Mesh(np.array(jax.devices()).reshape(first, count // first), ("x", "y"))


def chain(bands: matrices.Bands) -> rmt.SymTridiagonal:
    return rmt.SymTridiagonal(*map(jnp.asarray, bands))


def error(levels: jax.Array, exact: np.ndarray) -> float:
    """The largest distance, in eps of the norm; an order that is not ascending is infinitely far."""
    found = np.asarray(levels, float)
    # Halves, because the difference itself may overflow.
    distance = np.abs(found / 2 - exact / 2).max() / max(np.abs(exact).max() / 2, np.finfo(levels.dtype).tiny)
    return float(distance / np.finfo(levels.dtype).eps) if (np.diff(found) >= 0).all() else np.inf


def differ(one: jax.Array, other: jax.Array) -> int:
    """The number of entries that differ by any bit; all of them if shape or dtype differ."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return max(one.size, other.size)
    return int((np.asarray(one) != np.asarray(other)).sum())


def hard(order: int, dtype: type, only: tuple[str, ...] = ()) -> dict:
    """All problems of one order, or some: errors of the levels, and counts between levels and beyond them."""
    errors, miscounts, mesh = {}, {}, all_devices()
    for problem in matrices.PROBLEMS:
        bands = problem.matrix(dtype)
        if bands[0].size != order or dtype not in problem.dtypes or (only and problem.name not in only):
            continue
        exact, matrix = matrices.exact_eigenvalues(*bands), chain(bands)
        errors[problem.name] = error(matrix.eigenvalues(mesh=mesh), exact)
        points = np.concatenate([[-np.inf], exact[:-1] / 2 + exact[1:] / 2, [np.inf]]).astype(dtype)
        miscounts[problem.name] = differ(matrix.count_below(points), matrix.count_below(points, mesh=mesh))
    return {"errors": errors, "miscounts": miscounts}


def ranges(order: int) -> dict:
    """Ranges of levels and numbers of points that no number of devices divides, a batch, and a mesh of two axes."""
    d, e = matrices.goe(order)
    matrix, exact, points = chain((d, e)), matrices.exact_eigenvalues(d, e), jnp.linspace(-9.0, 9.0, 1001)
    batch = rmt.SymTridiagonal(jnp.stack([d, -d, 2 * d]), jnp.stack([e, e, 2 * e]))
    together = np.stack([exact, -exact[::-1], 2 * exact])
    levels = batch.eigenvalues(mesh=grid())
    return {
        "errors": {
            "some": error(matrix.eigenvalues((3, 8), mesh=all_devices()), exact[3:8]),
            "one": error(matrix.eigenvalues((order - 1, order), mesh=all_devices()), exact[-1:]),
            **{f"batch {i}": error(levels[i], together[i]) for i in range(3)},
        },
        "miscounts": {
            "odd": differ(matrix.count_below(points), matrix.count_below(points, mesh=grid())),
            "shaped": differ(batch.count_below(points[:6].reshape(2, 3)),
                             batch.count_below(points[:6].reshape(2, 3), mesh=grid())),
            "one point": differ(matrix.count_below(0.1), matrix.count_below(0.1, mesh=grid())),
            "none": differ(matrix.count_below(jnp.zeros((0, 3))), matrix.count_below(jnp.zeros((0, 3)), mesh=grid())),
        },
    }  # fmt: skip


def data() -> dict:
    """Points that lie on several devices: without an argument the count is made where they are, and stays there."""
    matrix, count = chain(matrices.goe(147)), jax.device_count()
    points = jnp.linspace(-9.0, 9.0, 40 * count)
    sharding = NamedSharding(all_devices(), PartitionSpec("any name"))
    below = jax.jit(matrix.count_below)(jax.device_put(points, sharding))
    program = jax.jit(matrix.count_below).lower(jax.device_put(points, sharding)).compile().as_text()
    spread = matrix.count_below(points, mesh=all_devices())
    return {
        "miscounts": differ(matrix.count_below(points), below),
        "devices of the counts": [len(a.sharding.device_set) for a in (below, spread)],
        "points of a device": [a.addressable_shards[0].data.size for a in (below, spread)],
        "collectives": sum(program.count(name) for name in ("all-gather", "all-reduce", "all-to-all", "permute")),
        "levels of a device": [
            chain(matrices.goe(size)).eigenvalues(mesh=all_devices()).addressable_shards[0].data.size
            for size in (15 * count, 15 * count + 1)
        ],
    }


def dense_batches() -> dict:
    """Levels of a batch of dense matrices that lies on several devices, of which each finds those of its matrices."""
    random, count, found = np.random.default_rng(0), jax.device_count(), {}
    sharding = NamedSharding(all_devices(), PartitionSpec("any name"))
    transforms = {"batch": rmt.eigvalsh, "vmap": jax.vmap(rmt.eigvalsh), "vmap of jit": jax.vmap(jax.jit(rmt.eigvalsh))}
    for dtype in ("float32", "float64", "complex64", "complex128"):
        a = random.standard_normal((2 * count, 7, 7)) + 1j * random.standard_normal((2 * count, 7, 7))
        a = jnp.asarray((a + a.conj().swapaxes(1, 2)).astype(dtype) if dtype[0] == "c" else a.real + a.real.mT, dtype)
        exact = np.linalg.eigvalsh(np.asarray(a))
        for name, fn in transforms.items():
            program = jax.jit(fn).lower(jax.device_put(a, sharding)).compile()
            levels = program(jax.device_put(a, sharding))
            size = np.abs(exact).max() * jnp.finfo(dtype).eps
            found[f"{name} of {dtype}"] = {
                "error": float(np.abs(levels - exact).max() / size),
                "gathered": "all-" in program.as_text(),
                "matrices of a device": levels.addressable_shards[0].data.shape[0],
            }
    return found


def cubes(mesh: Mesh | None, d: jax.Array, e: jax.Array) -> jax.Array:
    return jnp.sum(rmt.SymTridiagonal(d, e).eigenvalues(mesh=mesh) ** 3)


def gradients() -> dict:
    """Derivatives of tr T³, 3 (T²)_ii and 6 (T²)_i,i+1, where levels are double and a device's range cuts a pair."""
    d, e = map(jnp.asarray, matrices.blocks(matrices.goe(9), 2, 0.0))
    square = np.linalg.matrix_power(matrices.dense(np.asarray(d), np.asarray(e)), 2)
    expected = 3 * np.diag(square), 6 * np.diag(square, 1)
    of_cubes, mesh = jax.grad(cubes, argnums=(1, 2)), all_devices()
    late = jax.grad(jax.jit(cubes, static_argnums=0), argnums=(1, 2))
    mapped = jax.vmap(of_cubes, (None, 0, 0))(mesh, jnp.stack([d, d]), jnp.stack([e, e]))
    found = {
        "eager": of_cubes(mesh, d, e),
        "jitted": jax.jit(of_cubes, static_argnums=0)(mesh, d, e),
        "of a jitted function": late(mesh, d, e),
        "mapped": [part[1] for part in mapped],
    }
    return {name: max(map(lambda a, b: float(np.abs(a - b).max()), pair, expected)) for name, pair in found.items()}


ENSEMBLES = {
    "GaussianBeta": lambda: rmt.GaussianBeta(600, 2.5, 0.5),  # a stream of several blocks of rows
    "GOE": lambda: rmt.GOE(30),
    "Wishart": lambda: rmt.Wishart(30, 20, 2),
    "LaguerreBeta": lambda: rmt.LaguerreBeta(30, 70.0, 1.7),
    "JacobiBeta": lambda: rmt.JacobiBeta(30, 42.0, 43.0, 1.5),
    "InverseWishart": lambda: rmt.InverseWishart(30, 60),
    "HilbertSchmidt": lambda: rmt.HilbertSchmidt(30, 40),
    "AltlandZirnbauer": lambda: rmt.AltlandZirnbauer("D", 30),
    "Spiked": lambda: rmt.Spiked(rmt.GOE(30), [2.0]),
}


def ensembles(*names: str) -> dict:
    """One draw of each ensemble: its levels against the levels of one device, its counts against both."""
    errors, miscounts, key, mesh = {}, {}, jax.random.key(3), all_devices()
    for name in names:
        ensemble = ENSEMBLES[name]()
        one, several = np.asarray(ensemble.eigenvalues(key), float), ensemble.eigenvalues(key, mesh=mesh)
        points = jnp.asarray(np.append(one[:-1] / 2 + one[1:] / 2, 0.1), several.dtype)
        counts = ensemble.count_below(key, points, mesh=mesh)
        errors[name] = error(several, one)
        miscounts[name] = differ(ensemble.count_below(key, points), counts)
        miscounts[f"{name} by levels"] = differ(jnp.searchsorted(several, points).astype(jnp.int32), counts)
    return {"errors": errors, "miscounts": miscounts}


def mapped() -> dict:
    """`vmap` over keys: levels, and counts at points that all draws have in common."""
    mesh, keys, goe = all_devices(), jax.random.split(jax.random.key(1), 3), rmt.GOE(30)
    points = jnp.linspace(-1.0, 1.0, 5)
    levels = jax.vmap(lambda key: goe.eigenvalues(key, mesh=mesh))(keys)
    counts = jax.vmap(lambda key: goe.count_below(key, points, mesh=mesh))(keys)
    return {
        "errors": {str(i): error(levels[i], np.asarray(goe.eigenvalues(key))) for i, key in enumerate(keys)},
        "miscounts": {str(i): differ(counts[i], goe.count_below(key, points)) for i, key in enumerate(keys)},
    }


def inside(mesh: Mesh, call: Callable) -> Any:
    """What a call returns inside of `jax.set_mesh`."""
    with jax.set_mesh(mesh):
        return call()


def inside_set_mesh() -> dict:
    """Errors of what takes a mesh, inside of `jax.set_mesh` with that mesh and axes of both kinds, by `jit` and not."""
    key, points = jax.random.key(0), jnp.linspace(-2.0, 2.0, 24)
    matrix = rmt.GOE(24).sample(key)
    calls = {
        "levels": lambda mesh: rmt.GOE(24).eigenvalues(key, mesh=mesh),
        "counts": lambda mesh: rmt.GOE(24).count_below(key, points, mesh=mesh),
        "levels of a matrix": lambda mesh: rmt.GOE(24).tridiagonal(key).eigenvalues(mesh=mesh),
    }
    errors = {}
    for kind in (AxisType.Auto, AxisType.Explicit):
        mesh = Mesh(grid().devices, grid().axis_names, axis_types=(kind, kind))
        product = lambda a, mesh=mesh: sharded_product(a, points, mesh)
        for name, call in calls.items():
            for how, transform in {"at once": lambda f: f, "jit": jax.jit}.items():
                found = inside(mesh, transform(lambda call=call, mesh=mesh: call(mesh)))
                errors[f"{name}, {kind}, {how}"] = float(jnp.max(jnp.abs(found - call(None))))
        for how, transform in {"at once": lambda f: f, "jit": jax.jit}.items():
            found = inside(mesh, lambda transform=transform, product=product: transform(product)(matrix))
            errors[f"product, {kind}, {how}"] = float(jnp.max(jnp.abs(found - matrix @ points)))
    return errors


def refused() -> dict:
    """What a call with a mesh says where it cannot be served."""
    key, mesh = jax.random.key(0), all_devices()
    levels = lambda key: rmt.GOE(5).eigenvalues(key, mesh=mesh)
    points = PartitionSpec("any name")
    counts = lambda x: rmt.GOE(5).count_below(key, x, mesh=mesh)
    draws = Mesh(np.array(jax.devices()), ("draws",))
    within = jax.shard_map(counts, mesh=mesh, in_specs=points, out_specs=points)
    calls = {
        "no mesh": lambda: rmt.GOE(5).eigenvalues(key, mesh="any name"),
        "devices": lambda: chain(matrices.goe(3)).count_below(0.0, mesh=jax.devices()),
        "dense": lambda: rmt.Wigner(5).eigenvalues(key, mesh=mesh),
        "dense counts": lambda: rmt.Wigner(5).count_below(key, 0.0, mesh=mesh),
        "two spikes": lambda: rmt.Spiked(rmt.GOE(5), [2.0, 3.0]).eigenvalues(key, mesh=mesh),
        "simulate": lambda: rmt.simulate(levels, key, 2),
        "shard_map": lambda: within(jnp.zeros(jax.device_count())),
        "another mesh": lambda: inside(grid(), lambda: rmt.GOE(5).eigenvalues(key, mesh=mesh)),
        "another mesh for draws": lambda: inside(grid(), jax.jit(lambda: rmt.simulate(levels, key, 2, mesh=draws))),
    }
    said = {}
    for name, call in calls.items():
        try:
            said[name] = f"nothing, and returned {call()}"
        except (ValueError, NotImplementedError) as refusal:
            said[name] = f"{type(refusal).__name__}: {refusal}"
    return said


def products() -> dict:
    """Products by a block of a matrix on each device: their errors in units of m eps |A||v|, and where they lie."""
    random, mesh = np.random.default_rng(0), grid()
    errors = {}
    for shape in ((24, 48), (13, 7)):
        for columns in ((), (3,)):
            for dtype in ("float32", "complex128", "int32"):
                shapes = shape, (shape[1], *columns)
                a, v = (9 * (random.standard_normal(s) + 1j * random.standard_normal(s)) for s in shapes)
                a, v = ((x if dtype == "complex128" else x.real).astype(dtype) for x in (a, v))
                for name, some in (("grid", mesh), ("rows", all_devices())):
                    product = sharded_product(a, v, some)
                    scale = shape[1] * np.finfo(product.dtype).eps * (np.abs(a) @ np.abs(v))
                    exact = a.astype(complex) @ v.astype(complex)
                    assert product.shape == exact.shape
                    distance = np.abs(np.asarray(product) - exact) / np.maximum(scale, np.finfo(scale.dtype).tiny)
                    errors[f"{name} {shape} {columns} {dtype}"] = float(distance.max())
    ones = jnp.ones((24, 48))
    parts = [sharded_product(ones, ones[0], some).addressable_shards[0].data.size for some in (mesh, all_devices())]
    return {"errors": errors, "rows of a device": parts}


def functions_of_products() -> dict:
    """Derivatives, `vmap`, and a power method in one compiled loop."""
    random, mesh = np.random.default_rng(0), grid()
    a, v, w = (jnp.asarray(random.standard_normal(shape)) for shape in ((13, 7), (7,), (4, 13, 7)))
    of = lambda product: lambda a, v: jnp.sum(jnp.sin(product(a, v)))
    ours, plain = of(lambda a, v: sharded_product(a, v, mesh)), of(jnp.matmul)
    pairs = {
        "gradient": [jax.grad(f, (0, 1))(a, v) for f in (ours, plain)],
        "jitted gradient": [jax.jit(jax.grad(f, (0, 1)))(a, v) for f in (ours, plain)],
        "second derivative": [jax.hessian(f, 1)(a, v) for f in (ours, plain)],
        "several vectors": [jax.vmap(f, (None, 0))(a, w[0]) for f in (ours, plain)],
        "several matrices": [jax.vmap(f, (0, None))(w, v) for f in (ours, plain)],
        "both, jitted": [jax.jit(jax.vmap(f))(w, w[:, 0]) for f in (ours, plain)],
    }
    symmetric = jnp.asarray(matrices.dense(*matrices.toeplitz(24)))
    placed = jax.device_put(symmetric, NamedSharding(mesh, PartitionSpec("x", "y")))

    @jax.jit
    def power(a: jax.Array) -> jax.Array:
        def step(_: int, v: jax.Array) -> jax.Array:
            v = sharded_product(a, v, mesh)
            return v / jnp.linalg.norm(v)

        v = jax.lax.fori_loop(0, 50, step, jnp.arange(24.0))
        return v @ sharded_product(a, v, mesh)

    v = np.arange(24.0)
    for _ in range(50):
        v = np.asarray(symmetric) @ v
        v /= np.linalg.norm(v)
    pairs["power method"] = [power(placed), v @ np.asarray(symmetric) @ v]
    largest = lambda one, other: max(map(lambda a, b: float(jnp.abs(a - b).max()), *map(jax.tree.leaves, (one, other))))
    return {name: largest(*pair) for name, pair in pairs.items()}


def large() -> dict:
    """Closed forms: all levels at n = 20,000 and the counts between them, counts at n = 100,000, a range at n = 10⁶."""
    mesh, errors, miscounts = all_devices(), {}, {}
    n = 20_000
    matrix, exact = chain(matrices.toeplitz(n)), matrices.toeplitz_levels(n)
    errors["levels"] = error(matrix.eigenvalues(mesh=mesh), exact)
    below = matrix.count_below(exact[:-1] / 2 + exact[1:] / 2, mesh=mesh)
    miscounts["between the levels"] = differ(below, jnp.arange(1, n, dtype=jnp.int32))
    n = 100_000
    matrix, exact = chain(matrices.toeplitz(n)), matrices.toeplitz_levels(n)
    k = np.linspace(0, n - 2, 4096).astype(int)
    below = matrix.count_below(exact[k] / 2 + exact[k + 1] / 2, mesh=mesh)
    miscounts["100,000 rows"] = differ(below, jnp.asarray(k + 1, jnp.int32))
    n, some = 1_000_000, (400_000, 400_600)
    levels = chain(matrices.toeplitz(n)).eigenvalues(some, mesh=mesh)
    # In eps of the norm, 4, of which these levels are a third.
    errors["a million rows"] = error(levels, matrices.toeplitz_levels(n)[slice(*some)]) / 3
    return {"errors": errors, "miscounts": miscounts}


# Levels alone, in pairs and in larger clusters, all of which the ends of ranges cut, and entries of all sizes.
SOME = "goe", "wilkinson-plus-large", "glued-1e-08", "mostly-equal", "identity", "graded"

CASES = {
    "some hard": lambda: hard(matrices.ORDER, np.float64, SOME),
    "hard": lambda: hard(matrices.ORDER, np.float64),
    "hard in single precision": lambda: hard(matrices.ORDER, np.float32),
    "small": lambda: {str(order): hard(order, np.float64) for order in (1, 2, 3, matrices.SMALL_ORDER)},
    "ranges": lambda: ranges(matrices.ORDER),
    "ranges of a queue": lambda: ranges(1203),
    "data": data,
    "dense batches": dense_batches,
    "gradients": gradients,
    "ensembles": lambda: ensembles("GaussianBeta"),
    "mapped": mapped,
    "further ensembles": lambda: ensembles(*ENSEMBLES),
    "set_mesh": inside_set_mesh,
    "refused": refused,
    "products": products,
    "functions of products": functions_of_products,
    "large": large,
}


if __name__ == "__main__":
    jax.config.update("jax_num_cpu_devices", int(sys.argv[1]))
    jax.config.update("jax_enable_x64", True)
    print(json.dumps({name: CASES[name]() for name in sys.argv[2:] or CASES}))
