"""simulate: which keys are used, batching, compilation, meshes and errors."""

import re
import sys
from types import SimpleNamespace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import sparse
from jax.sharding import AxisType

import rmtjax as rmt
from rmtjax.simulation._chunk import Chunks
from rmtjax.simulation._draw import traced
from rmtjax.simulation._layout import draws_per_device, largest_batch
from rmtjax.simulation._memory import peak_bytes
from rmtjax.simulation._progress import _Lines
from rmtjax.simulation._structure import split
from tests.simulation.reducers.draws import Counted


def uniform(key):
    return jax.random.uniform(key, (3,))


@pytest.mark.parametrize("batch_size", [None, 1, 4, 10, 99])
def test_draw_i_uses_fold_in_of_i(getkey, batch_size):
    key = getkey()
    drawn = rmt.simulate(uniform, key, 10, batch_size=batch_size)
    expected = jnp.stack([uniform(jax.random.fold_in(key, i)) for i in range(10)])
    np.testing.assert_array_equal(drawn, expected)


def test_output_is_any_pytree(getkey):
    fn = lambda key: {"u": uniform(key), "pair": (jax.random.bits(key), jax.random.key_data(key))}
    drawn = rmt.simulate(fn, getkey(), 5)
    assert jax.tree.map(jnp.shape, drawn) == {"u": (5, 3), "pair": ((5,), (5, 2))}
    spectra = rmt.simulate(rmt.Mixed(rmt.Wigner(4), 0.5).eigenvalues, getkey(), 6)
    assert isinstance(spectra, rmt.Spectrum)
    assert (spectra.values.shape, spectra.count.shape) == ((6, 4), (6,))


def test_numbers_and_numpy_arrays_as_results(getkey):
    fn = lambda key: (1.5, True, np.arange(2), np.float32(3.0), uniform(key))
    number, truth, array, scalar, drawn = rmt.simulate(fn, getkey(), 5, batch_size=2)
    assert (number.tolist(), truth.tolist(), scalar.tolist()) == ([1.5] * 5, [True] * 5, [3.0] * 5)
    assert array.tolist() == [[0, 1]] * 5
    assert drawn.shape == (5, 3)
    result = rmt.simulate(fn, getkey(), 5, reduce=rmt.Moments())
    assert result.mean[:2] == (1.5, 1.0)


def test_args_are_traced_and_promote_as_numbers_do(getkey):
    fn = lambda key, scale, shift: scale * jax.random.normal(key, (2,), jnp.float32) + shift["by"]
    key = getkey()
    one, two = (rmt.simulate(fn, key, 4, args=(s, {"by": s})) for s in (1.0, 2))
    assert one.dtype == two.dtype == jnp.float32
    np.testing.assert_allclose(two, 2 * one, rtol=1e-6)
    by_hand = [fn(jax.random.fold_in(key, i), 1.0, {"by": 1.0}) for i in range(4)]
    np.testing.assert_allclose(one, jnp.stack(by_hand), rtol=1e-6)


def test_one_compilation_for_all_chunks_and_calls(getkey):
    traces = []
    fn = lambda key: traces.append(1) or uniform(key)
    rmt.simulate(fn, getkey(), 10, batch_size=3)
    first = len(traces)
    rmt.simulate(fn, getkey(), 10, batch_size=3)
    assert (first, len(traces)) == (1, 1)
    # Another batch is another program.
    rmt.simulate(fn, getkey(), 10, batch_size=4)
    assert len(traces) == 2


@pytest.mark.parametrize("axis_type", [AxisType.Auto, AxisType.Explicit])
@pytest.mark.parametrize("shape", [{"draws": 1}, {"other": 1, "draws": 1}])
def test_a_mesh_of_the_users(getkey, axis_type, shape):
    mesh = jax.make_mesh(tuple(shape.values()), tuple(shape), axis_types=(axis_type,) * len(shape))
    key = getkey()
    drawn = rmt.simulate(uniform, key, 4, mesh=mesh)
    np.testing.assert_array_equal(drawn, rmt.simulate(uniform, key, 4))
    result = rmt.simulate(uniform, key, 4, mesh=mesh, reduce=rmt.Histogram([0.0, 1.0]))
    assert result.total == 12


def test_functions_that_scan_from_a_constant(getkey):
    # The check of shard_map would refuse a loop whose carry starts the same on every device and then varies.
    walk = lambda key: jax.lax.fori_loop(0, 3, lambda i, x: x + jax.random.normal(jax.random.fold_in(key, i)), 0.0)
    assert rmt.simulate(walk, getkey(), 5).shape == (5,)


def peak(fn, key):
    return peak_bytes(jax.make_jaxpr(fn)(key).jaxpr)


def test_peak_bytes_counts_what_is_live(getkey):
    n = 50
    chain = lambda key: jnp.sin(jnp.sin(jax.random.normal(key, (n, n), jnp.float32)))
    square = n * n * 4
    # Normals need a handful of temporaries, a chain of sines only two arrays at a time.
    assert 2 * square <= peak(chain, getkey()) <= 8 * square
    assert peak(lambda key: jnp.sin(jnp.sin(chain(key))), getkey()) == peak(chain, getkey())
    assert peak(lambda key: (x := chain(key), jnp.sin(x), jnp.cos(x)), getkey()) >= 3 * square
    scanned = lambda key: jax.lax.scan(lambda c, k: (c, c * chain(k)[0, 0]), 1.0, jax.random.split(key, 4))
    assert peak(scanned, getkey()) >= peak(chain, getkey())


ORDER = 600
MATRIX = 8 * ORDER**2


def vector(key):
    return jax.random.normal(key, (ORDER,), jnp.float64)


def steps(key, a):
    """Products in a loop that also decides by its counter."""
    step = lambda v, k: (jax.lax.cond(k == 0, lambda: a @ v, lambda: (a + a.T) @ v), v[0])
    return jax.lax.scan(step, vector(key), jnp.arange(3))[1]


TOGETHER = {
    "a product": lambda key, a: (a @ vector(key))[0],
    "a transpose": lambda key, a: (a.T @ vector(key))[0],
    "a sum of matrices": lambda key, a: ((a + 2 * a.T) @ vector(key))[0],
    "a loop": steps,
    "a loop with a counter": lambda key, a: jax.lax.fori_loop(0, 3, lambda _, v: a @ v, vector(key))[0],
    "inside of jit": lambda key, a: jax.jit(steps)(key, a),
    "a derivative": lambda key, a: jax.grad(lambda v: jnp.sum(jnp.sin(a @ v)))(vector(key))[0],
    "recomputed": lambda key, a: jax.grad(jax.checkpoint(lambda v: jnp.sum(jnp.sin(a @ v))))(vector(key))[0],
}
# What would copy the matrix for each draw, or run what a single draw would not.
APART = {
    "no product": lambda key, a: a[0] @ vector(key),
    "a matrix of each draw": lambda key, a: ((a * vector(key)[None]) @ vector(key))[0],
    "a large draw": lambda key, a: (a @ jax.random.normal(key, (ORDER, ORDER)))[0, 0],
    "a branch of each draw": lambda key, a: jax.lax.cond(
        vector(key)[0] > 0, lambda: (a @ vector(key))[0], lambda: 0.0 * a[0, 0]
    ),
    "a loop of each draw": lambda key, a: jax.lax.while_loop(lambda v: abs(v[0]) < 1, lambda v: a @ v, vector(key))[0],
    "a matrix as result": lambda key, a: (a, (a @ vector(key))[0]),
    "a carried matrix": lambda key, a: jax.lax.fori_loop(
        0, 3, lambda _, s: (s[0] * s[1][0], s[0] @ s[1]), (a, vector(key))
    )[1][0],
    "carried parts": lambda key, a: jax.lax.fori_loop(
        0, 3, lambda _, s: (s[0] * s[1][0], a @ s[1]), (a[: ORDER // 5], vector(key))
    )[1][0],
    "LAPACK": lambda key, a: (a @ vector(key))[0] + jnp.linalg.eigvalsh(jnp.outer(*vector(key)[:4].reshape(2, 2)))[0],
    "a host callback": lambda key, a: jax.pure_callback(
        lambda a, v: v[0], jax.ShapeDtypeStruct((), jnp.float64), a, a @ vector(key), vmap_method="broadcast_all"
    ),
    "a solver": lambda key, a: jax.lax.custom_linear_solve(
        lambda v: a @ v, vector(key), lambda product, v: product(v), symmetric=True
    )[0],
    "a sparse matrix": lambda key, a: (sparse.BCOO.fromdense(a, nse=9) @ vector(key))[0] + (a @ vector(key))[0],
}


def layout(fn, *args):
    plan = rmt.simulation.memory_plan(fn, jax.random.key(0), 16, args=args)
    return plan.one_by_one, plan.batch_bytes - plan.draw_bytes


@pytest.mark.parametrize("name", TOGETHER)
def test_draws_that_multiply_one_matrix_run_together(name):
    a = jnp.asarray(np.random.default_rng(0).normal(size=(ORDER, ORDER))) / ORDER**0.5
    fn = TOGETHER[name]
    closed = lambda key: fn(key, a)
    for one_by_one, more in (layout(fn, a), layout(closed)):
        assert not one_by_one
        assert 0 < more < MATRIX  # of all further draws
    key = jax.random.key(0)
    alone = jnp.stack([fn(jax.random.fold_in(key, i), a) for i in range(3)])
    np.testing.assert_allclose(rmt.simulate(fn, key, 3, args=(a,)), alone, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", TOGETHER)
def test_together_the_matrix_is_there_once(name):
    a, keys = jnp.zeros((ORDER, ORDER)), jax.random.split(jax.random.key(0), 16)
    batch = jax.jit(jax.vmap(TOGETHER[name], (0, None)))
    memory = batch.lower(keys, a).compile().memory_analysis()
    assert memory.temp_size_in_bytes + memory.output_size_in_bytes < 4 * MATRIX


@pytest.mark.parametrize("name", APART)
def test_other_draws_with_a_matrix_run_one_by_one(name):
    one_by_one, _ = layout(APART[name], jnp.eye(ORDER))
    assert one_by_one


def test_batches_of_draws_together_are_as_large_as_memory_allows():
    fn, key, a = (lambda key, a: (a @ jax.random.normal(key, (ORDER, 20)))[0]), jax.random.key(0), jnp.eye(ORDER)
    plan = rmt.simulation.memory_plan(fn, key, 64, args=(a,), reduce=rmt.Moments())  # not as large as the cache
    assert (plan.one_by_one, plan.batch_size) == (False, 64 // jax.device_count())
    plan = rmt.simulation.memory_plan(fn, key, 100_000, args=(a,))
    assert plan.budget_bytes / 2 < plan.batch_bytes < 1.1 * plan.budget_bytes + plan.draw_bytes


def test_runs_of_many_lengths_share_a_program(getkey):
    traced = []
    draw = lambda key: traced.append(key) or jax.random.uniform(key)
    for num_samples in (1090, 1111, 1152):
        assert rmt.simulate(draw, getkey(), num_samples).shape == (num_samples,)
    assert len(traced) == 1


def test_default_batches_are_bounded_by_memory(getkey, monkeypatch):
    import rmtjax.simulation._layout as module

    monkeypatch.setattr(module, "memory_budget", lambda device: 10 * peak(uniform, getkey()))
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("draws",))
    trace = traced(*reversed(split((uniform, ()))), getkey())
    # Three batches of 9 instead of 10, 10 and 5.
    largest = largest_batch(trace, mesh, vmapped=True, looped=False)
    assert draws_per_device(largest, 25, mesh, looped=False) == 9
    assert rmt.simulate(uniform, getkey(), 25, mesh=mesh).shape == (25, 3)


def test_progress_in_lines(getkey, capsys, monkeypatch):
    monkeypatch.setattr("rmtjax.simulation._progress._SECONDS_OF_LINES", 0.0)
    rmt.simulate(uniform, getkey(), 10, batch_size=5, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == max(1, 2 // jax.device_count())
    assert re.fullmatch(r"10 of 10 draws \(100.0%\), [\d,.e+]+ draws/s, 0:00:00 left", lines[-1])
    rmt.simulate(uniform, getkey(), 10, batch_size=3, reduce=rmt.Moments(), progress=True)
    assert re.search(r"left, standard error 0\.\d+$", capsys.readouterr().err.splitlines()[-1])
    rmt.simulate(uniform, getkey(), 10, batch_size=3)
    assert capsys.readouterr().err == ""


def test_the_rate_does_not_count_the_compilation(capsys, monkeypatch):
    clock = iter([0.0, 0.0, 100.0, 100.0, 100.0, 101.0, 101.0])  # the first draws take 100 s, the next ones 1 s
    monkeypatch.setattr("rmtjax.simulation._progress.time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr("rmtjax.simulation._progress._SECONDS_OF_LINES", 0.0)
    lines = _Lines(100, 0)
    for _ in range(2):
        lines(10, lambda: None)
    first, second = capsys.readouterr().err.splitlines()
    assert first == "10 of 100 draws (10.0%), 0.1 draws/s, 0:15:00 left"
    assert second == "20 of 100 draws (20.0%), 10 draws/s, 0:00:08 left"


@pytest.fixture
def terminal(capsys, monkeypatch):
    """Standard error as a terminal."""
    monkeypatch.setattr("rmtjax.simulation._progress._is_terminal", lambda: True)
    return capsys


def test_progress_on_a_terminal(getkey, terminal, monkeypatch):
    monkeypatch.setattr("rmtjax.simulation._progress._SECONDS_OF_BAR", 0.0)
    rmt.simulate(uniform, getkey(), 10, batch_size=3, reduce=rmt.Moments())
    assert re.search(r"10\.0/10\.0 .*standard error 0\.", terminal.readouterr().err)


def test_progress_without_tqdm_says_so(getkey, terminal, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match="pip install tqdm"):
        rmt.simulate(uniform, getkey(), 10, progress=True)


def test_memory_plan(getkey):
    matrix = lambda key: jax.random.normal(key, (50, 50), jnp.float32)
    plan = rmt.simulation.memory_plan(matrix, getkey(), 1000)
    assert plan.output_bytes == 10_000
    assert plan.draw_bytes == peak(matrix, getkey())
    assert plan.batch_bytes == plan.batch_size * plan.draw_bytes <= plan.budget_bytes
    assert plan.kept_bytes == 10_000 * 1000 // jax.device_count()
    reduced = rmt.simulation.memory_plan(matrix, getkey(), 1000, reduce=rmt.Histogram(np.arange(11)), batch_size=3)
    assert (reduced.batch_size, reduced.kept_bytes) == (3, (1 + 3 * 13) * 8)
    with pytest.raises(ValueError, match="`num_samples` must be an integer of at least 1, got 0"):
        rmt.simulation.memory_plan(matrix, getkey(), 0)


def test_a_batch_too_large_for_memory_is_divided(getkey, monkeypatch):
    key, sizes = getkey(), []
    original = Chunks.__call__

    def refuse_large(self, start, stop):
        sizes.append(self.batch)
        if self.batch > 100:
            raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 1 bytes.")
        return original(self, start, stop)

    monkeypatch.setattr(Chunks, "__call__", refuse_large)
    with pytest.warns(RuntimeWarning, match="Batches of 400 draws do not fit into memory; .* with batches of 100"):
        result = rmt.simulate(uniform, key, 4000, reduce=rmt.Histogram([0.0, 1.0]), batch_size=400)
    assert result.total == 12_000
    assert set(sizes) == {400, 100}
    # A batch is divided only once: if a quarter is still too large, the error of JAX comes through.
    with pytest.raises(jax.errors.JaxRuntimeError, match="RESOURCE_EXHAUSTED"), pytest.warns(RuntimeWarning):
        rmt.simulate(uniform, key, 4000, batch_size=1000)


def test_stop_when_good_enough(getkey):
    key = getkey()
    run = lambda **kwargs: rmt.simulate(uniform, key, 10_000, reduce=rmt.Moments(), **kwargs)
    result = run(stop_when=0.01)
    # A uniform variate has the deviation 1/√12, so 833 draws give the standard error 0.01.
    assert result.standard_error.max() <= 0.01
    assert 700 <= result.count <= 1000
    assert result.count % 100 == 0
    # The run stops at the same draw for every batch size, and equals a run of this length.
    for other in (
        run(stop_when=0.01, batch_size=7),
        rmt.simulate(uniform, key, int(result.count), reduce=rmt.Moments()),
    ):
        assert other.count == result.count
        np.testing.assert_allclose(other.mean, result.mean, rtol=1e-5)
    assert run(stop_when=lambda result: result.count >= 250).count == 300
    assert run(stop_when=1e-9).count == 10_000


def test_stop_when_waits_for_draws_that_differ(getkey):
    """An event that has not happened yet has the standard error 0, which is no reason to stop."""
    rare = lambda key: (jax.random.uniform(key, dtype=jnp.float32) < 0.002).astype(float)
    for _ in range(3):
        result = rmt.simulate(rare, getkey(), 10_000, reduce=rmt.Moments(), stop_when=1e-3)
        assert result.mean > 0
        assert 0 < result.standard_error
    constant = rmt.simulate(lambda key: 1.0, getkey(), 1000, reduce=rmt.Moments(), stop_when=0.1)
    assert constant.count == 1000


@pytest.mark.parametrize("implementation", ["rbg", "unsafe_rbg"])
def test_generators_that_depend_on_batches(implementation):
    key = jax.random.key(3, impl=implementation)
    alone = np.stack([uniform(jax.random.fold_in(key, i)) for i in range(11)])
    for batch_size in (None, 1, 4):
        np.testing.assert_array_equal(rmt.simulate(uniform, key, 11, batch_size=batch_size), alone)


def test_draws_without_entries(getkey):
    empty = lambda key: {"nothing": jnp.zeros(0), "something": uniform(key)}
    result = rmt.simulate(empty, getkey(), 10, reduce=rmt.Moments())
    assert result.mean["nothing"].shape == (0,)
    assert result.count["something"] == 10
    assert rmt.simulate(empty, getkey(), 10)["nothing"].shape == (10, 0)


def test_reducers_stay_outside_of_compiled_functions(getkey):
    run = jax.jit(lambda key: rmt.simulate(uniform, key, 10, reduce=rmt.Moments()))
    with pytest.raises(ValueError, match="`reduce` must be None inside of a compiled function"):
        run(getkey())


class Smallest(Counted):
    """A reducer that begins with a number of a given dtype, and may merge to floats."""

    begin: object
    merged: type = eqx.field(default=int, static=True)

    def init(self, draw):
        return np.asarray(self.begin)

    def update(self, state, draws):
        return jnp.minimum(state, draws.valid.sum().astype(state.dtype))

    def merge(self, left, right):
        return np.minimum(left, right).astype(self.merged)


@pytest.mark.float32
def test_states_that_do_not_fit(getkey):
    if not jax.config.read("jax_enable_x64"):
        with pytest.raises(ValueError, match=r"`Smallest.init` must hold integers of int32"):
            rmt.simulate(uniform, getkey(), 10, reduce=Smallest(np.iinfo(np.int64).max))
    with pytest.raises(ValueError, match=r"`Smallest.merge` must keep the dtype of the state, int64, got 'float64'"):
        rmt.simulate(uniform, getkey(), 10, reduce=Smallest(np.int64(100), float))


def test_draws_that_cannot_be_kept(getkey, monkeypatch):
    monkeypatch.setattr("rmtjax.simulation._work.device_memory", lambda device: 1000)
    with pytest.warns(RuntimeWarning, match=r"100 draws take .* GiB of .* GiB; a reducer needs little"):
        rmt.simulate(uniform, getkey(), 100)
    rmt.simulate(uniform, getkey(), 100, reduce=rmt.Moments())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_samples": 0}, "`num_samples` must be an integer of at least 1, got 0"),
        ({"num_samples": -3}, "`num_samples` must .* got -3"),
        ({"num_samples": 2.0}, "`num_samples` must .* got 2.0"),
        ({"num_samples": 2**31}, r"`num_samples` must be at most 2147483647"),
        ({"batch_size": 0}, "`batch_size` must be an integer of at least 1, got 0"),
        ({"key": jax.random.PRNGKey(0)}, "`key` must be a typed key"),
        ({"fn": lambda key: jnp.zeros(int(jax.random.randint(key, (), 1, 9)))}, "`fn` must have an output shape"),
        ({"fn": lambda key: jnp.nonzero(jax.random.bernoulli(key, 0.5, (9,)))}, "`fn` must have an output shape"),
        ({"fn": lambda key: jnp.zeros(jax.random.randint(key, (), 1, 9))}, "`fn` must have an output shape"),
        ({"fn": lambda key: (u := uniform(key))[u > 0.5]}, "`fn` must have an output shape"),
        ({"fn": lambda key: 1.0 if uniform(key)[0] > 0.5 else 2.0}, "`fn` must have an output shape"),
        ({"fn": lambda key: float(uniform(key)[0])}, "`fn` must have .* and no Python branch on its values or number"),
        ({"fn": lambda key, n: jnp.zeros(n), "args": (3,)}, "`fn` must have .* bind a size with `functools.partial`"),
        ({"fn": lambda key: np.sin(uniform(key))}, "`fn` calls numpy on a traced value; use jax.numpy"),
        ({"fn": lambda key: np.linalg.eigvalsh(uniform(key))}, "`fn` calls numpy on a traced value; use jax.numpy"),
        ({"fn": lambda key: None}, "`fn` must return at least one array, got None"),
        ({"fn": lambda key: (uniform(key), "text")}, "`fn` must return arrays or numbers, got 'text'"),
        ({"fn": lambda key: uniform}, "`fn` must return arrays or numbers, got <function uniform"),
        ({"fn": lambda key: key}, "`fn` must return numbers, for a key those of jax.random.key_data, got key<fry>"),
        ({"fn": rmt.GOE(3)}, "`fn` must be a function of a key, such as a method of an ensemble .*, got GOE"),
        ({"args": 2.0}, "`args` must be a tuple, got 2.0"),
        (
            {"reduce": rmt.Histogram},
            r"`reduce` must be a reducer, an instance such as `rmt.Histogram\(edges\)`, .*got <cl",
        ),
        ({"reduce": (rmt.Moments(), rmt.Moments)}, "`reduce` must be a reducer, an instance such as"),
        ({"reduce": (rmt.Moments(), None)}, r"`reduce` must be a reducer, .* got \(Moments\(order=2\), None\)"),
        ({"reduce": ()}, r"`reduce` must be a reducer, .* got \(\)"),
        ({"reduce": rmt.Moments(), "stop_when": -1.0}, "`stop_when` must be positive"),
        (
            {"reduce": rmt.Moments(), "stop_when": lambda result: None},
            "`stop_when` must return whether the result is good enough, got None",
        ),
        (
            {"reduce": Counted(), "stop_when": 0.1},
            "`stop_when` must be a function of the result, which has no standard error",
        ),
        ({"mesh": jax.make_mesh((1,), ("samples",))}, r"`mesh` must have an axis named 'draws', got .*samples"),
    ],
)
def test_bad_input(arguments, message):
    arguments = {"fn": uniform, "key": jax.random.key(0), "num_samples": 3} | arguments
    with pytest.raises(ValueError, match=message):
        rmt.simulate(**arguments)


def test_other_errors_of_the_function_are_its_own(getkey):
    with pytest.raises(TypeError, match="unsupported operand"):
        rmt.simulate(lambda key: uniform(key) + "1", getkey(), 3)


def test_draws_that_do_not_use_the_key_are_told():
    generator = np.random.default_rng(0)
    with pytest.warns(RuntimeWarning, match="`fn` does not use its key"):
        draws = rmt.simulate(lambda key: jnp.asarray(generator.normal(size=2)), jax.random.key(0), 3, progress=False)
    assert (draws == draws[:1]).all()
