"""The table of a GPU, tried on a CPU: its answers are checked, nothing is lost, and a gain is told from none."""

import copy
import dataclasses
import json

import jax
import pytest

from benchmarks import gpu
from rmtjax.linalg._sturm_route import MEASURED
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
    assert all(row["name"] in table and row["route"] in table for row in rows)


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


def test_the_overhead_of_simulate_is_a_ratio_of_each_route():
    rows = [{"route": route, "median_seconds": t} for route in ("scan", "kernel") for t in (3.0, 2.0)]
    texts = gpu.overheads({"sections": {"simulate": {"rows": rows}}})
    assert texts == [f"simulate by the {route}: 1.5 times its program." for route in ("kernel", "scan")]
    assert gpu.overheads({"sections": {}}) == []


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


def planted_record(scan=3.0, kernel=1.0, **changes):
    pair = [
        {"name": "a", "dtype": "float32", "route": route, "median_seconds": seconds, "right": True}
        for route, seconds in (("scan", scan), ("kernel", kernel))
    ]
    sections = {name: {"rows": copy.deepcopy(pair)} for name in gpu.DECIDING}
    return {"device": "Planted GPU", "small": False, "sections": sections} | changes


def test_a_record_of_a_gain_and_records_that_show_none(tmp_path):
    assert gpu.is_a_gain(planted_record())
    assert "MEASURED['Planted GPU'] = 'x.json'" in gpu.verdict(planted_record(), tmp_path / "x.json")
    assert not gpu.is_a_gain(planted_record(small=True))
    assert not gpu.is_a_gain(planted_record(scan=1.0))
    for name in gpu.DECIDING:
        wrong, missing, alone, slower = (planted_record() for _ in range(4))
        wrong["sections"][name]["rows"][1]["right"] = False
        del missing["sections"][name]
        del alone["sections"][name]["rows"][0]
        slower["sections"][name]["rows"][1]["median_seconds"] = 4.0
        assert not any(map(gpu.is_a_gain, (wrong, missing, alone, slower)))
        assert "MEASURED" not in gpu.verdict(wrong, tmp_path / "x.json")


def test_the_kernel_is_the_default_only_where_a_committed_record_shows_a_gain():
    for device, name in MEASURED.items():
        record = json.loads((gpu.RESULTS / name).read_text())
        assert record["device"] == device
        assert gpu.is_a_gain(record)


def test_the_time_in_kernels_is_that_of_a_union():
    assert gpu.covered([(0, 2), (5, 6), (1, 3), (5.5, 5.75)]) == 4
    assert gpu.covered([]) == 0


def test_the_file_has_the_name_of_the_device():
    assert gpu.slug("NVIDIA H100 80GB HBM3") == "nvidia-h100-80gb-hbm3"
