"""The benchmark of first calls leaves no public name out, and counts what it claims to count."""

import jax
import pytest

from benchmarks import first_call, first_call_cases


def test_every_public_name_is_called():
    assert first_call_cases.uncovered() == []
    names = [case.name for case in first_call_cases.cases()]
    assert len(names) == len(set(names))
    assert {"GOE(100).eigenvalues", "GOE.sample", "laws.HardEdge.cdf", "eigvalsh", "simulate"} <= set(names)


def test_a_name_that_no_case_calls_is_told(monkeypatch):
    monkeypatch.setattr(first_call_cases, "SILENT", first_call_cases.SILENT[1:])
    assert "rmtjax.benchmark.measure" in first_call_cases.uncovered()


@pytest.mark.slow
def test_every_case_finds_its_arguments():
    with jax.numpy_dtype_promotion("standard"):
        assert all(callable(each.prepare()[0]) for each in first_call_cases.cases())


def case(name):
    return next(case for case in first_call_cases.cases() if case.name == name)


def test_a_new_process_compiles_once():
    record = first_call.run(case("special.sine_kernel"), float64=False)
    first, second = record["first"], record["second"]
    assert first["compilations"] > 0
    assert second["compilations"] == 0
    assert first["processor_seconds"] > second["processor_seconds"]
    assert record["lines"] > 10


@pytest.mark.slow
def test_a_case_that_fails_is_told():
    record = first_call.run(first_call_cases.Case("nobody's", first_call_cases.reference), float64=False)
    assert record == {"failed": "StopIteration"}


@pytest.mark.parametrize(
    ("target", "clock", "reached"),
    [
        ({"ratio": 1.5}, 9.0, True),
        ({"ratio": 1.4}, 0.1, False),
        ({"seconds": 2}, 1.9, True),
        ({"seconds": 2}, 2.1, False),
    ],
)
def test_ratios_go_by_the_processor_and_seconds_by_the_clock(target, clock, reached):
    call = {"seconds": clock, "processor_seconds": 3.0, "compilations": 4}
    planted = first_call_cases.Case("planted", first_call_cases.reference, **target)
    record = first_call.judged(planted, {"first": call, "second": call, "lines": None}, unit=2.0)
    assert (record["ratio"], record["reached"]) == (1.5, reached)
    assert first_call.line(record).endswith("missed") != reached
