"""Reducers give the same on several devices as on one."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_devices():
    script = Path(__file__).with_name("_device_run.py")
    result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["3"]
