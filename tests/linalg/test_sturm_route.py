"""Which of the two routes a program takes, seen in what is lowered for a platform; no device but a CPU is needed."""

import re
import runpy

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.linalg import _sturm_route
from rmtjax.linalg._sturm_route import MEASURED, ROUTE

KERNEL = "triton"
# From JAX 0.12 on. What replaces it has no counterpart on a GPU before Hopper, so the kernel stays with Triton.
pytestmark = pytest.mark.filterwarnings("ignore:The Pallas Triton backend is deprecated:DeprecationWarning")


def lowered(fn, *args, platform="cuda"):
    # A new function each time, as JAX keeps what it has traced.
    return jax.jit(lambda *args: fn(*args)).trace(*args).lower(lowering_platforms=(platform,)).as_text()


def lowered_kernel(fn, *args):
    """The program for CUDA with the kernel, whose lowering JAX may leave to an installation with CUDA."""
    try:
        with ROUTE("always"):
            return lowered(fn, *args)
    except (NotImplementedError, RuntimeError) as error:
        pytest.skip(f"Triton's lowering needs more than this installation has: {error}")


def counts(dtype, *batch):
    matrix = rmt.SymTridiagonal(jnp.zeros((*batch, 100), dtype), jnp.ones((*batch, 99), dtype))
    return matrix.count_below, jnp.zeros(40, dtype)


CASES = {
    "counts": lambda dtype: counts(dtype),
    "levels": lambda dtype: (rmt.SymTridiagonal(jnp.zeros(100, dtype), jnp.ones(99, dtype)).eigenvalues,),
    "singular values": lambda dtype: (rmt.Wishart(20, 30, scale=jnp.ones((), dtype)).eigenvalues, jax.random.key(0)),
    "stream": lambda dtype: (rmt.GOE(600, jnp.ones((), dtype)).count_below, jax.random.key(0), jnp.zeros(3, dtype)),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", CASES)
def test_the_kernel_lowers_for_cuda_and_replaces_the_loops(case, dtype):
    text = lowered_kernel(*CASES[case](dtype))
    assert text.count(KERNEL) == 1
    with ROUTE("never"):
        by_scan = lowered(*CASES[case](dtype))
    assert KERNEL not in by_scan
    assert text.count("stablehlo.while") < by_scan.count("stablehlo.while")


def test_eigenphases_lower_too():
    assert lowered_kernel(rmt.CUE(20).eigenphases, jax.random.key(0)).count(KERNEL) == 1


def test_all_programs_are_on_the_axis_of_the_grid_that_has_room():
    fn, x = counts(np.float32, 7)
    text = lowered_kernel(lambda x: jax.vmap(fn)(x), jnp.zeros((3, *x.shape), x.dtype))
    assert re.findall(r"grid_([xyz]) = (\d+)", text) == [("x", str(7 * 4)), ("y", "1"), ("z", "1")]


def test_a_cpu_gets_one_route_only():
    """The default is the program without any choice; asked for, the kernel's branch is not lowered for a CPU."""
    fn, x = counts(np.float64)
    texts = {}
    for route in ("measured", "never", "always"):
        with ROUTE(route):
            texts[route] = lowered(fn, x, platform="cpu")
    assert texts["measured"] == texts["never"]
    assert "stablehlo.case" not in texts["never"]
    assert KERNEL not in texts["always"]
    assert texts["always"].count("stablehlo.while") == texts["never"].count("stablehlo.while")


def test_a_device_in_the_table_has_the_kernel_by_default(monkeypatch):
    # Orders of this test alone, as JAX keeps what it has traced.
    by_default = lambda n: lowered(rmt.SymTridiagonal(jnp.zeros(n), jnp.ones(n - 1)).count_below, jnp.zeros(3))
    device = jax.devices()[0].device_kind
    with ROUTE("measured"):
        assert (KERNEL in by_default(71)) == (device in MEASURED)
        monkeypatch.setitem(MEASURED, device, "planted.json")
        lowered_kernel(*counts(np.float64))
        assert KERNEL in by_default(72)


def test_routes_share_no_compiled_program():
    """The same function, called under one route and then the other, is traced anew."""
    traced = []

    @jax.jit
    def fn(x):
        traced.append(ROUTE.value)
        return x

    for route in ("never", "interpret", "never"):
        with ROUTE(route):
            fn(1.0)
    assert traced == ["never", "interpret"]


def test_the_switch_is_read_from_the_environment(monkeypatch):
    monkeypatch.setenv(_sturm_route.SWITCH, "never")
    assert runpy.run_path(_sturm_route.__file__)["ROUTE"].value == "never"
    monkeypatch.delenv(_sturm_route.SWITCH)
    assert runpy.run_path(_sturm_route.__file__)["ROUTE"].value == "measured"


def test_an_unknown_route_is_refused():
    fn, x = counts(np.float64)
    message = "`RMTJAX_STURM_KERNEL` must be one of 'measured', 'always', 'never', 'interpret', got 'on'"
    with ROUTE("on"), pytest.raises(ValueError, match=message):
        fn(x)
