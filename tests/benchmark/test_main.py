import json
from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest

from rmtjax.benchmark import measure
from rmtjax.benchmark.__main__ import CASES, Case, cells, line, main
from rmtjax.benchmark._cases import Problem
from tests.cases import further


def table(text):
    """The header of the table and the cells of its rows; the text before the header is the plan."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("case "))
    return lines[start], [line.split() for line in lines[start + 2 :]]


def test_table_and_json_of_some_cases(tmp_path, capsys):
    path = tmp_path / "records.json"
    assert main(["matmul", "while", "--size", "64", "--repeats", "2", "--json", str(path)]) == 0
    header, lines = table(capsys.readouterr().out)
    assert header.split()[:4] == ["case", "n", "dtype", "devices"]
    assert [line[:2] for line in lines[:2]] == [["matmul", "64"], ["while", "64"]]
    assert "published 46 to 48 TFLOP/s" in " ".join(lines[2])
    records = json.loads(path.read_text())
    assert [(record["case"], record["size"], record["repeats"]) for record in records] == [
        ("matmul", 64, 2), ("while", 64, 2)
    ]  # fmt: skip
    for record in records:
        assert record["jax_version"] == jax.__version__
        rate = record["work"]["flops"] / record["median_seconds"] / 1e12
        assert record["teraflops_per_second"] == pytest.approx(rate)
        assert record["gigabytes_per_second"] > 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", ["while", *further("cat")])
def test_dtype_is_taken_and_the_setting_of_jax_left_alone(case, dtype, capsys):
    before = jnp.zeros(()).dtype
    assert main(["matmul", case, "--size", "64", "--repeats", "1", "--dtype", dtype]) == 0
    _, lines = table(capsys.readouterr().out)
    assert [line[2] for line in lines[:2]] == [dtype, dtype]
    assert jnp.zeros(()).dtype == before


def test_default_dtype_is_that_of_jax(capsys):
    main(["matmul", "--size", "8", "--repeats", "1"])
    _, lines = table(capsys.readouterr().out)
    assert lines[0][2] == jnp.zeros(()).dtype.name


def test_a_wrong_answer_is_reported_and_fails(monkeypatch, tmp_path, capsys):
    case = CASES["matmul"]

    def doubled(n, dtype):
        (problem,) = case.problems(n, dtype)
        return [replace(problem, fn=lambda a, b: 2 * problem.fn(a, b))]

    monkeypatch.setitem(CASES, "matmul", case._replace(problems=doubled))
    path = tmp_path / "records.json"
    assert main(["matmul", "while", "--size", "40", "--repeats", "1", "--json", str(path)]) == 1
    output = capsys.readouterr()
    assert "matmul: wrong answer: sum of AB: off by" in output.err
    assert [record["case"] for record in json.loads(path.read_text())] == ["while"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nosuch"], "no case is named 'nosuch'; the cases are matmul, sharded_matmul"),
        (["matmul", "--size", "1"], "--size at least 2"),
        (["matmul", "--size", "2.5"], "--size: invalid int value: '2.5'"),
        (["matmul", "--repeats", "0"], "--repeats must be at least 1"),
        (["matmul", "--dtype", "float16"], "float16"),
    ],
)
def test_bad_arguments_are_named(arguments, message, capsys):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err


@pytest.fixture
def two(monkeypatch, capsys):
    """All cases replaced by two, and a list of what was printed before each was measured."""
    shown = []

    def problems(n, dtype):
        shown.append(capsys.readouterr().out)
        yield Problem(jnp.sin, (jnp.ones(n),), lambda result: None, n)

    for name in list(CASES):
        monkeypatch.delitem(CASES, name)
    for name in ("one", "two"):
        monkeypatch.setitem(CASES, name, Case(problems, (3, 30, 300)))
    return shown


def test_the_plan_comes_first_and_each_row_before_the_next_is_measured(monkeypatch, capsys, two):
    monkeypatch.setattr(jax, "default_backend", lambda: "cpu")
    assert main(["--repeats", "1"]) == 0
    plan, minute, head, _ = two[0].splitlines()
    assert "1 timed calls after the first: one 3, two 3." in plan
    assert minute.startswith("About a minute")
    assert head.startswith("case ")
    assert [line.split()[:2] for line in two[1].splitlines()] == [["one", "3"]]
    assert capsys.readouterr().out.split()[:2] == ["two", "3"]


@pytest.mark.parametrize(
    ("backend", "option", "size"), [("cpu", "--full", 30), ("gpu", "--full", 300), ("gpu", "", 300)]
)
def test_other_sizes_promise_no_minute(monkeypatch, two, backend, option, size):
    monkeypatch.setattr(jax, "default_backend", lambda: backend)
    assert main(["--repeats", "1", *option.split()]) == 0
    assert f"one {size}, two {size}." in two[0]
    assert "About a minute" not in two[0]


def test_rows_mark_cached_compilations_and_absent_numbers():
    record = replace(measure(jnp.sin, jnp.ones(3), repeats=1), compile_cached=True, compile_seconds=0.25)
    absent = replace(record, trace_seconds=None, compile_seconds=None, compile_cached=None, num_devices=4)
    first, second = (line("spectral_radius/jitted loop", cells(16_384, each)).split()[2:] for each in (record, absent))
    assert first[4] == "0.25c"
    assert second[2:5] == ["4", "-", "-"]
    # Without stated work there is no rate, even if XLA counted operations.
    assert first[-3:-1] == second[-3:-1] == ["-", "-"]
