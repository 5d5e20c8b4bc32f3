import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest

from rmtjax.benchmark import Measurement, measure
from rmtjax.benchmark.__main__ import main
from rmtjax.benchmark._registry import CASES, Case, Problem, Row
from rmtjax.benchmark._report import header, line
from tests.cases import further


def cells(text):
    """The header of the table and the cells of its rows; the text before the header is the plan."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("case "))
    return lines[start], [line.split() for line in lines[start + 2 :]]


def test_table_and_json_of_some_cases(tmp_path, capsys):
    path = tmp_path / "records.json"
    assert main(["matmul", "while", "--size", "64", "--repeats", "2", "--json", str(path)]) == 0
    header, lines = cells(capsys.readouterr().out)
    assert header.split()[:4] == ["case", "n", "dtype", "device"]
    assert [line[:2] for line in lines[:2]] == [["matmul", "64"], ["while", "64"]]
    assert "published 46 to 48 TFLOP/s" in " ".join(lines[2])
    records = json.loads(path.read_text())
    assert [(record.pop("case"), record.pop("size")) for record in records] == [("matmul", 64), ("while", 64)]
    for record in records:
        teraflops, gigabytes = record.pop("teraflops_per_second"), record.pop("gigabytes_per_second")
        measurement = Measurement.from_dict(record)
        assert measurement.repeats == 2
        assert measurement.teraflops_per_second == teraflops > 0
        assert measurement.gigabytes_per_second == gigabytes > 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", ["while", *further("cat")])
def test_dtype_is_taken_and_the_setting_of_jax_left_alone(case, dtype, capsys):
    before = jnp.zeros(()).dtype
    assert main(["matmul", case, "--size", "64", "--repeats", "1", "--dtype", dtype]) == 0
    _, lines = cells(capsys.readouterr().out)
    assert [line[2] for line in lines[:2]] == [dtype, dtype]
    assert jnp.zeros(()).dtype == before


def test_default_dtype_is_that_of_jax(capsys):
    main(["matmul", "--size", "8", "--repeats", "1"])
    _, lines = cells(capsys.readouterr().out)
    assert lines[0][2] == jnp.zeros(()).dtype.name


def test_a_wrong_answer_is_reported_and_fails(monkeypatch, tmp_path, capsys):
    case = CASES["matmul"]

    def doubled(n, dtype):
        (problem,) = case.problems(n, dtype)
        return [replace(problem, fn=lambda a, b: 2 * problem.fn(a, b))]

    monkeypatch.setitem(CASES, "matmul", replace(case, problems=doubled))
    path = tmp_path / "records.json"
    assert main(["matmul", "while", "--size", "40", "--repeats", "1", "--json", str(path)]) == 1
    output = capsys.readouterr()
    assert "matmul: wrong answer: sum of AB: off by" in output.err
    assert [record["case"] for record in json.loads(path.read_text())] == ["while"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nosuch"], "no case is named 'nosuch'; the cases are matmul, sharded_matmul"),
        (["matmul", "--size", "1"], "must be an integer of at least 2, got '1'"),
        (["matmul", "--repeats", "0"], "must be an integer of at least 1, got '0'"),
        (["matmul", "--dtype", "float16"], "float16"),
    ],
)
def test_bad_arguments_are_named(arguments, message, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


def test_default_sizes_depend_on_the_device(monkeypatch):
    case = CASES["wigner"]
    monkeypatch.setattr(jax, "default_backend", lambda: "cpu")
    assert case.default_size() == case.cpu_size
    assert case.default_size(full=True) == case.full_cpu_size > case.cpu_size
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert case.default_size() == case.default_size(full=True) == case.accelerator_size


def planted(monkeypatch, names, problem):
    """Replace all cases by cases of these names, with the same problem for all."""
    for name in list(CASES):
        monkeypatch.delitem(CASES, name)
    for name in names:
        monkeypatch.setitem(CASES, name, Case(name, lambda n, dtype: [problem(n)], 3, 30, 3))


def test_the_plan_comes_first_and_each_row_before_the_next_is_measured(monkeypatch, capsys):
    shown = []

    def problem(n):
        shown.append(capsys.readouterr().out)
        return Problem("", n, jnp.sin, (jnp.ones(n),), lambda result: None)

    planted(monkeypatch, ["one", "two"], problem)
    assert main(["--repeats", "1"]) == 0
    plan, *head = shown[0].splitlines()
    assert "1 timed calls after the first: one 3, two 3." in plan
    assert head[0].startswith("About a minute")
    assert [line.split()[0] for line in head[1:2]] == ["case"]
    assert [line.split()[:2] for line in shown[1].splitlines()] == [["one", "3"]]
    assert capsys.readouterr().out.split()[:2] == ["two", "3"]


def test_full_takes_the_large_sizes_and_promises_no_minute(monkeypatch, capsys):
    planted(monkeypatch, ["one"], lambda n: Problem("", n, jnp.sin, (jnp.ones(n),), lambda result: None))
    assert main(["--full", "--repeats", "1"]) == 0
    output = capsys.readouterr().out
    assert "one 30." in output
    assert "About a minute" not in output


def test_columns_are_aligned_whatever_the_device():
    record = measure(jnp.sin, jnp.ones(3), repeats=1)
    for device in ("cpu", "NVIDIA H100 80GB HBM3"):
        row = line(Row("spectral_radius/jitted loop", 16_384, replace(record, device=device, num_devices=8)), device)
        names = header(device).splitlines()[0]
        assert len(row) == len(names)
        assert f" 8×{device} " in row


def test_table_marks_cached_compilations_several_devices_and_absent_numbers():
    record = replace(measure(jnp.sin, jnp.ones(3), repeats=1), compile_cached=True, compile_seconds=0.25)
    absent = replace(record, trace_seconds=None, compile_seconds=None, compile_cached=None, num_devices=4)
    rows = [line(Row(name, 3, each), "cpu") for name, each in (("one", record), ("two", absent))]
    _, (first, second) = cells("\n".join([header("cpu"), *rows]))
    assert first[5] == "0.25c"
    assert second[3:6] == [f"4×{record.device}", "-", "-"]
    # Without stated work there is no rate, whatever XLA counted.
    assert first[-3:-1] == second[-3:-1] == ["-", "-"]
