"""Runs that are killed, terminated or interrupted go on where they were saved, and nothing is lost or counted twice."""

import json
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rmtjax.simulation._checkpoint import unpacked
from tests.cases import further
from tests.processes import ROOT
from tests.simulation import _campaign

DRAWS = 3_000_000


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen]]:
    """A function that starts a campaign in a separate process, which does not outlive the test."""
    processes = []

    def start(checkpoint: Path, batch_size: int, *several: int) -> subprocess.Popen:
        command = [sys.executable, "-m", "tests.simulation._campaign", checkpoint, DRAWS, batch_size, *several]
        process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        if process.stdout is not None and not process.stdout.closed:
            process.communicate()


def ready(process: subprocess.Popen) -> subprocess.Popen:
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n", process.communicate()[1]
    return process


def draws_saved(checkpoint: Path) -> int:
    try:
        return unpacked(checkpoint.read_bytes()).draws
    except FileNotFoundError:
        return 0


def await_first_state(checkpoint: Path) -> None:
    while not checkpoint.exists():
        time.sleep(0.01)


def answer(process: subprocess.Popen) -> dict:
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return json.loads(output.splitlines()[-1])


@pytest.fixture(scope="module")
def undisturbed() -> list[int]:
    counts = _campaign.run(None, DRAWS, None)
    assert sum(counts) == 4 * DRAWS
    return counts


@pytest.mark.parametrize("kills", [3, *further(50)])
def test_killed_at_random_moments(start, tmp_path, undisturbed, kills):
    checkpoint, moments, resumed = tmp_path / "run", random.Random(kills), 0
    for kill in range(kills):
        before = draws_saved(checkpoint)
        process = ready(start(checkpoint, 10_000 + 1_000 * (kill % 7)))
        # The kill comes at any moment after the first state of this process, also while another one is written.
        while draws_saved(checkpoint) == before and process.poll() is None:
            time.sleep(0.001)
        time.sleep(moments.uniform(0, 0.02))
        process.kill()
        process.communicate()
        resumed += 0 < before < DRAWS
    # Under load a run may end before most kills. Two resumed runs are enough.
    assert resumed >= 2
    assert answer(start(checkpoint, 12_345))["counts"] == undisturbed


@pytest.mark.slow
def test_terminated_in_order(start, tmp_path, undisturbed):
    checkpoint = tmp_path / "run"
    process = ready(start(checkpoint, 9_999))
    await_first_state(checkpoint)
    process.terminate()
    output, _ = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM
    assert output == ""
    assert answer(start(checkpoint, 20_000))["counts"] == undisturbed


@pytest.mark.slow
def test_ctrl_c_returns_what_there_is(start, tmp_path, undisturbed):
    checkpoint = tmp_path / "run"
    process = ready(start(checkpoint, 9_999))
    await_first_state(checkpoint)
    process.send_signal(signal.SIGINT)
    partial = answer(process)
    done = sum(partial["counts"]) // 4
    assert 0 < done < DRAWS
    assert partial["warnings"] == [f"Interrupted after {done} of {DRAWS} draws, which are saved in {checkpoint}."]
    assert answer(start(checkpoint, 20_000))["counts"] == undisturbed


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


@pytest.fixture
def start_several(start) -> Callable[[int, Path], list[subprocess.Popen]]:
    """A function that starts several processes that work together."""

    def start_several(number: int, checkpoint: Path) -> list[subprocess.Popen]:
        port = free_port()
        return [start(checkpoint, 5_000, port, number, i) for i in range(number)]

    return start_several


@pytest.mark.parametrize("number", [2, *further(3)])
def test_several_processes_give_the_same(start_several, tmp_path, undisturbed, number):
    answers = [answer(process) for process in start_several(number, tmp_path / "run")]
    assert [each["counts"] for each in answers] == [undisturbed] * number


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1])
def test_one_of_two_processes_terminated(start_several, tmp_path, undisturbed, number):
    checkpoint = tmp_path / "run"
    processes = [ready(process) for process in start_several(2, checkpoint)]
    await_first_state(checkpoint)
    processes[number].terminate()
    for process in processes:
        output, _ = process.communicate(timeout=60)
        assert process.returncode == -signal.SIGTERM
        assert "counts" not in output
    answers = [answer(process) for process in start_several(2, checkpoint)]
    assert [each["counts"] for each in answers] == [undisturbed] * 2


@pytest.mark.slow
def test_one_of_three_processes_killed(start_several, tmp_path, undisturbed):
    checkpoint = tmp_path / "run"
    processes = [ready(process) for process in start_several(3, checkpoint)]
    await_first_state(checkpoint)
    processes[2].kill()
    killed = time.monotonic()
    for process in processes[:2]:
        _, errors = process.communicate(timeout=60)
        assert process.returncode != 0
        assert "ProcessLost: Another process of the run is gone: start all of them anew" in errors
    assert time.monotonic() - killed < 60
    answers = [answer(process) for process in start_several(2, checkpoint)]
    assert [each["counts"] for each in answers] == [undisturbed] * 2
