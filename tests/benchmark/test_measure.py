import json
from dataclasses import FrozenInstanceError, asdict, replace

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from rmtjax.benchmark import Work, measure
from rmtjax.benchmark._measure import measured
from tests.processes import printed

N = 64


def product(a, b):
    return a @ b


@pytest.fixture(scope="module")
def record():
    return measure(product, jnp.ones((N, N), jnp.float32), jnp.ones((N, N), jnp.float32), repeats=4)


def test_seconds_are_positive_and_ordered(record):
    stages = (record.trace_seconds, record.compile_seconds, record.first_call_seconds, record.min_seconds)
    assert all(seconds > 0 for seconds in stages)
    assert record.min_seconds <= record.median_seconds <= record.max_seconds
    assert record.repeats == 4


def test_cost_analysis_of_a_product(record):
    assert record.xla_flops == pytest.approx(2 * N**3, rel=0.05)
    assert record.xla_bytes == pytest.approx(3 * N**2 * 4, rel=0.05)
    assert record.planned_bytes >= 3 * N**2 * 4


def test_device_and_dtype(record):
    assert record.device == jax.devices()[0].device_kind
    assert record.num_devices == 1
    assert record.dtype == "float32"


def test_rates_without_stated_work_are_xla_counts_over_the_median(record):
    record = replace(record, median_seconds=2.0, num_devices=3)
    assert record.teraflops_per_second == pytest.approx(record.xla_flops * 3 / 2 * 1e-12)
    assert record.gigabytes_per_second == pytest.approx(record.xla_bytes * 3 / 2 * 1e-9)


def test_stated_work_sets_the_rates_and_leaves_the_xla_counts_alone(record):
    stated = replace(record, work=Work(flops=4e12, source="told", bytes_accessed=8e9), median_seconds=2.0)
    assert stated.teraflops_per_second == pytest.approx(2)
    assert stated.gigabytes_per_second == pytest.approx(4)
    assert stated.xla_flops == record.xla_flops
    # The traffic that XLA counts does not replace a traffic that was not stated.
    assert replace(stated, work=Work(flops=1.0, source="told")).gigabytes_per_second is None


def test_unknown_counts_give_no_rates(record):
    unknown = replace(record, xla_flops=None, xla_bytes=None)
    assert unknown.teraflops_per_second is None
    assert unknown.gigabytes_per_second is None


def test_a_record_is_immutable_and_ready_for_json(record):
    with pytest.raises(FrozenInstanceError):
        record.repeats = 1
    fields = asdict(replace(record, work=Work(flops=1.0, source="told")))
    assert json.loads(json.dumps(fields)) == fields


@pytest.mark.parametrize("repeats", [3, 0])
def test_calls_are_counted_and_the_last_result_returned(repeats):
    calls = []
    record, result = measured(lambda x: calls.append(x) or x + 1, (41,), repeats, jit=False)
    assert len(calls) == 1 + repeats
    assert result == 42
    assert record.repeats == repeats
    assert (record.median_seconds == record.first_call_seconds) == (repeats == 0)


def test_without_jit_there_are_no_stages():
    record = measure(lambda x: x * 2, jnp.ones(3), repeats=1, jit=False)
    stages = ("trace_seconds", "compile_seconds", "compile_cached", "xla_flops", "xla_bytes", "planned_bytes")
    assert {getattr(record, name) for name in stages} == {None}


@pytest.mark.parametrize(("wrap", "number"), [(lambda fn: fn, 2), (jax.jit, 1)], ids=["plain", "jitted"])
def test_a_plain_function_is_traced_each_time_and_a_jitted_one_once(wrap, number):
    traces = []
    fn = wrap(lambda x: traces.append(x) or x * 2)
    for _ in range(2):
        measure(fn, jnp.ones(3), repeats=2)
    assert len(traces) == number


def test_equinox_jit_is_understood():
    a = jnp.ones((N, N))
    record = measure(eqx.filter_jit(product), a, a, repeats=1)
    assert record.xla_flops == pytest.approx(2 * N**3, rel=0.05)


def test_dtype_is_that_of_the_floating_results_or_else_of_the_arguments():
    # Half precision is left out, since XLA makes no code for it on a processor without AVX.
    x = jnp.ones(3, jnp.float32)
    assert measure(lambda x: x.astype(jnp.complex64), x, repeats=1).dtype == "complex64"
    assert measure(lambda x: x > 0, x, repeats=1).dtype == "float32"
    assert measure(lambda x: x + 1, jnp.arange(3), repeats=1).dtype is None


@pytest.mark.parametrize("value", [0, -1, 1.5, True])
def test_repeats_must_be_whole_and_positive(value):
    with pytest.raises(ValueError, match=rf"`repeats` must be an integer of at least 1, got {value}"):
        measure(product, repeats=value)


def test_fn_must_be_callable():
    with pytest.raises(ValueError, match="`fn` must be callable, got 3"):
        measure(3)


CACHED = """
import sys
import jax, jax.numpy as jnp
from rmtjax.benchmark import measure
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
print([measure(lambda x: jnp.sin(x) @ x, jnp.ones((9, 9)), repeats=1).compile_cached for _ in range(2)])
"""


@pytest.mark.slow
def test_an_answer_of_the_persistent_cache_is_recorded(tmp_path):
    assert printed("-c", CACHED, tmp_path).strip() == "[False, True]"
