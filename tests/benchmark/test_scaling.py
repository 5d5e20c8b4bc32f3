"""The model and the simulation of `benchmarks/scaling.py`, and small runs of what it and `simulation.py` measure."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
COSTS = {"meeting": 0.004, "exchange of 100,000 bytes": 0.01, "checkpoint of 100,000 bytes": 0.003}
FREE = dict.fromkeys(COSTS, 0.0)


@pytest.fixture
def scaling():
    """The script's names; functions see changes of its constants through `simulated.__globals__`."""
    return runpy.run_path(str(BENCHMARKS / "scaling.py"))["simulated"].__globals__


def test_the_model(scaling):
    one, thousand = (scaling["modelled"](number, COSTS) for number in (1, 1000))
    assert one == {"meetings": 0.0, "checkpoints": 0.003 / 300}
    np.testing.assert_allclose(thousand["meetings"], np.log2(1000) * 0.004 / 5)
    np.testing.assert_allclose(thousand["checkpoints"], (999 * 0.01 + 0.003) / 300)


def test_a_run_without_losses(scaling):
    scaling |= {"JITTER": 0.0, "SPREAD": 0.0, "HOURS_BETWEEN_FAILURES_OF_ONE": 1e12}
    result = scaling["simulated"](64, FREE, 2.0)
    assert result["failures"] == 0
    np.testing.assert_allclose(result["efficiency"], 1.0, rtol=1e-9)
    np.testing.assert_allclose(scaling["simulated"](64, COSTS, 2.0)["efficiency"], 0.995, rtol=0, atol=2e-3)


def test_all_wait_for_the_slowest(scaling):
    scaling |= {"HOURS_BETWEEN_FAILURES_OF_ONE": 1e12, "JITTER": 0.0, "SPREAD": 0.02}
    slowest = 1 + 0.02 * np.random.default_rng(64).standard_normal(64).max()
    np.testing.assert_allclose(scaling["simulated"](64, FREE, 5.0)["efficiency"], 1 / slowest, rtol=1e-6)
    # The largest of 64 exponential variates has the mean H_64 = 4.744.
    scaling |= {"JITTER": 0.02, "SPREAD": 0.0}
    np.testing.assert_allclose(scaling["simulated"](64, FREE, 20.0)["efficiency"], 1 / 1.0949, rtol=2e-3)


def test_failures_cost_the_draws_since_the_checkpoint_and_the_restart(scaling):
    scaling |= {"JITTER": 0.0, "SPREAD": 0.0, "HOURS_BETWEEN_FAILURES_OF_ONE": 1000.0}
    result = scaling["simulated"](1000, FREE, 500.0)
    # A failure an hour loses half an interval, or 150 s, and 180 s.
    assert abs(result["failures"] - 550) < 5 * 550**0.5
    assert 0.07 < result["restarts"] < 0.11


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "options"),
    [("scaling.py", ["--repeats=3", "--hours=2"]), ("simulation.py", ["--turns=1", "--scale=0.02"])],
)
def test_small_runs(tmp_path, capfd, script, options):
    runpy.run_path(str(BENCHMARKS / script))["main"]([*options, f"--json={tmp_path / 'record.json'}"])
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["rows"]
    assert "checkpoint" in capfd.readouterr().out
