"""The table of a GPU, tried on a CPU: its answers are checked, and nothing is lost."""

import dataclasses
import json

import jax
import pytest

from benchmarks import gpu
from tests.cases import daily


def run(file, *sections):
    status = gpu.main(["--small", "--json", str(file), "--only", *sections])
    return status, json.loads(file.read_text())


@pytest.mark.parametrize("section", daily(gpu.SECTIONS, only=["histograms", "matmul"]))
def test_every_section_runs_and_is_right(section, tmp_path, capsys):
    status, record = run(tmp_path / "record.json", section)
    table = capsys.readouterr().out
    rows = record["sections"][section]["rows"]
    assert rows
    assert [row["note"] for row in rows] == [""] * len(rows)
    assert all(row["right"] and row["median_seconds"] > 0 for row in rows)
    assert status == 0
    assert all(row["name"] in table for row in rows)


@pytest.fixture
def planted(monkeypatch):
    """A section with one task, of which parts can be replaced."""

    def plant(**parts):
        task = next(gpu.SECTIONS["matmul"](True))
        problem = dataclasses.replace(task.problem, **parts)
        monkeypatch.setitem(gpu.SECTIONS, "recurrence", lambda small: [dataclasses.replace(task, problem=problem)])

    return plant


def test_sections_are_kept_and_replaced(tmp_path, planted):
    file = tmp_path / "record.json"
    _, first = run(file, "matmul")
    planted()
    _, second = run(file, "recurrence")
    assert second["sections"]["matmul"] == first["sections"]["matmul"]
    _, third = run(file, "matmul")
    assert third["sections"]["recurrence"] == second["sections"]["recurrence"]
    assert third["sections"]["matmul"] != first["sections"]["matmul"]


def broken(*_):
    raise RuntimeError("no such device")


@pytest.mark.parametrize(
    ("parts", "note"),
    [({"fn": lambda a, b: 2 * (a @ b).sum()}, "WRONG: sum of AB: off by"), ({"fn": broken}, "FAILED: RuntimeError")],
)
def test_a_wrong_answer_and_a_failure_are_told(tmp_path, planted, capsys, parts, note):
    planted(**parts)
    status, record = run(tmp_path / "record.json", "recurrence", "matmul")
    assert status == 1
    (row,) = record["sections"]["recurrence"]["rows"]
    assert row["note"].startswith(note)
    assert note in capsys.readouterr().out
    assert all(row["right"] for row in record["sections"]["matmul"]["rows"])


def test_a_section_without_arguments_is_told(tmp_path, monkeypatch, capsys):
    def section(small):
        yield next(gpu.SECTIONS["matmul"](small))
        raise MemoryError("no room")

    monkeypatch.setitem(gpu.SECTIONS, "laws", section)
    status, record = run(tmp_path / "record.json", "laws", "matmul")
    assert status == 1
    assert [row["note"] for row in record["sections"]["laws"]["rows"]] == ["", "FAILED: MemoryError: no room"]
    assert record["sections"]["matmul"]["rows"][0]["right"]


def test_the_overhead_of_simulate_is_a_ratio():
    rows = [{"median_seconds": 3.0}, {"median_seconds": 2.0}]
    assert gpu.overhead({"sections": {"simulate": {"rows": rows}}}) == "simulate: 1.5 times its program."
    assert gpu.overhead({"sections": {"simulate": {"rows": [rows[0], {}]}}}) == ""
    assert gpu.overhead({"sections": {}}) == ""


def test_what_the_profiler_says_stands_in_the_table():
    row = gpu.empty("a", "float32") | {"right": True, "allowed": None, "launches": 938, "busy": 0.25}
    assert gpu.line(row).split() == ["a", "float32", "-", "-", "-", "938", "0.25", "-", "right"]
    names = "dtype", "first", "s", "median", "s", "10⁹", "rows/s", "launches", "busy", "MiB", "answer"
    assert gpu.HEADER.split() == list(names)


def test_sections_of_sweeps_show_what_their_launches_cost():
    for section in ("counts", "levels", "histograms", "simulate", "cat"):
        assert any(task.profile for task in gpu.SECTIONS[section](True)), section


def test_without_a_gpu_only_the_small_sizes_are_run(capsys):
    if jax.default_backend() != "cpu":
        pytest.skip("there is a GPU")
    with pytest.raises(SystemExit):
        gpu.main(["--only", "matmul"])
    assert "--small" in capsys.readouterr().err


def test_the_clock_leaves_sections_out(tmp_path, capsys):
    file = tmp_path / "record.json"
    assert gpu.main(["--small", "--minutes", "-1", "--only", "matmul", "--json", str(file)]) == 0
    assert "go on with --only matmul" in capsys.readouterr().out
    assert not file.exists()


def test_the_time_in_kernels_is_that_of_a_union():
    assert gpu.covered([(0, 2), (5, 6), (1, 3), (5.5, 5.75)]) == 4
    assert gpu.covered([]) == 0


def test_the_file_has_the_name_of_the_device():
    assert gpu.slug("NVIDIA H100 80GB HBM3") == "nvidia-h100-80gb-hbm3"
