"""Scripts in separate processes of Python."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def printed(*arguments: object, **environment: str) -> str:
    """What a new process prints, which must succeed; it runs in the root of the repository."""
    command, variables = [sys.executable, *map(str, arguments)], os.environ | environment
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return done.stdout
