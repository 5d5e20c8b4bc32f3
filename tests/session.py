"""The suite as a pytest plugin: precision, which cases are left to which run, keys, and memory."""

import ctypes
import gc
import os
from collections.abc import Iterator
from pathlib import Path

import equinox as eqx
import hypothesis
import jax
import pytest

from tests.environment import FULL

X64 = os.environ.get("RMTJAX_X64", "1") != "0"
jax.config.update("jax_enable_x64", X64)
# As in the suites of lineax, optimistix and equinox: the library leaves no promotion of dtypes or ranks to JAX.
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")

# There is no deadline, as the first example compiles. Examples are not random, so a failure shows in every run.
hypothesis.settings.register_profile("rmtjax", deadline=None, derandomize=True, max_examples=25)
hypothesis.settings.load_profile("rmtjax")

# Traced programs are millions of lasting objects, which the garbage collector would walk again and again.
gc.set_threshold(50_000, 20, 50)

# A JAX suite keeps every executable it ever compiled; beyond this much memory they are dropped after a module, and
# beyond twice as much after a test. Each takes memory maps as well, of which Linux gives a process 65,530: at 6 GB.
RESIDENT_LIMIT = 2_000_000_000


# Tests of more than some 1.2 s, on one core and cold, and some shorter cases of functions with many; each file keeps a
# quarter of its tests. Examples of docstrings that take more than 1.2 s.
LONG = frozenset(Path(__file__).with_name("long.txt").read_text().splitlines())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests as slow that are long or left to the run with other types of numbers, unless their file is named."""
    if any(argument.split("::")[0].endswith(".py") for argument in config.args):
        return
    is_left = _is_left_to_single if X64 else _is_left_to_double
    for item in items:
        if item.nodeid in LONG or is_left(item):
            item.add_marker(pytest.mark.slow)
    collected = {item.nodeid for item in items}
    files = {name.split("::")[0] for name in collected}
    unknown = [name for name in sorted(LONG - collected) if name.split("::")[0] in files]
    if unknown:
        raise pytest.UsageError(f"tests/long.txt names tests that do not exist: {unknown}")


def _is_left_to_single(item: pytest.Item) -> bool:
    single = item.get_closest_marker("float32")
    parts = item.callspec.id.split("-") if hasattr(item, "callspec") else []
    return single is not None and (bool(single.kwargs.get("only")) or not {"float32", "complex64"}.isdisjoint(parts))


def _is_left_to_double(item: pytest.Item) -> bool:
    return any(mark.kwargs.get("further") for mark in item.iter_markers("float32"))


@pytest.fixture(autouse=True)
def _compile_fully(request: pytest.FixtureRequest) -> Iterator[None]:
    if FULL or request.node.get_closest_marker("heavy") is None:
        yield
        return
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", True)


class KeySource:
    """Independent keys, one per call, from one seed that a failing test shows."""

    def __init__(self, seed: int):
        self.seed = seed
        self.calls = 0

    def __call__(self) -> jax.Array:
        """The next key."""
        self.calls += 1
        return jax.random.fold_in(jax.random.key(self.seed), self.calls)

    def __repr__(self) -> str:
        return f"KeySource(seed={self.seed}), called {self.calls} times"


@pytest.fixture
def getkey() -> KeySource:
    """A source of keys with a fixed seed; RMTJAX_SEED chooses another."""
    return KeySource(int(os.environ.get("RMTJAX_SEED", "1955")))


@pytest.fixture(scope="module", autouse=True)
def _drop_executables_of_modules() -> Iterator[None]:
    yield
    _drop_executables(RESIDENT_LIMIT)


@pytest.fixture(autouse=True)
def _drop_executables_of_tests() -> Iterator[None]:
    yield
    _drop_executables(2 * RESIDENT_LIMIT)


def _drop_executables(limit: int) -> None:
    if resident_bytes() > limit:
        eqx.clear_caches()
        jax.clear_caches()
        gc.collect()
        _give_freed_memory_back()


def resident_bytes() -> int:
    """The memory of the process; 0 if the system does not tell it."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statm.exists() else 0


def _give_freed_memory_back() -> None:
    """Return the freed memory that glibc keeps; otherwise every later module would drop executables again."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
