"""Laws inside `shard_map`: loops have carries that differ between devices, and no call to LAPACK waits for ever."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cases import further

SCRIPT = Path(__file__).with_name("_sharded_run.py")
QUICK = ["a mixture's quantile", "a root above an end that differs between devices", "levels in the bulk"]


@pytest.mark.parametrize("names", [QUICK, *further([])], ids=["quick", "all"])
def test_results_are_those_of_one_device(names):
    command = [sys.executable, str(SCRIPT), *names]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    for sharded, expected in json.loads(result.stdout).values():
        np.testing.assert_allclose(sharded, expected, rtol=0, atol=1e-5)
