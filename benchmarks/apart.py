"""Packages in processes of their own, and environments for those that cannot live beside this library.

An environment is made at the first use, in `.venv-peers/apart/`, with the interpreter that it names: `python3.11` on
the path, or one of pyenv. Where it cannot be made, the reason is recorded in place of answers. `peer_work.py` runs
inside, reads parameters, and gives back an answer, seconds and peak memory.
"""

import functools
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).parent
FOLDER = HERE.parent / ".venv-peers" / "apart"


class Environment(NamedTuple):
    """The version of Python, what is installed, and why not beside this library."""

    python: str
    requirements: tuple[str, ...]
    why: str


ENVIRONMENTS = {
    "scikit-rmt": Environment(
        "3.11",
        ("scikit-rmt==2.1.1", "scipy<1.12", "numpy<2"),
        "it imports `scipy.misc.derivative`, which SciPy 1.12 does not have; this library needs SciPy 1.13",
    ),
    "leymosun": Environment(
        "3.13", ("leymosun==0.4.32",), "its newest version, 0.4.42, refuses every Python older than 3.15"
    ),
    "empyricalRMT": Environment(
        "3.10", ("empyricalRMT==1.1.1",), "it needs numba 0.56, which ends with Python 3.10; this library needs 3.11"
    ),
}


class NotInstalled(Exception):
    """An environment that cannot be made here, with the reason."""


class Found(NamedTuple):
    """Seconds and megabytes by name, and the answer."""

    numbers: dict[str, float]
    answer: np.ndarray


def interpreter(package: str) -> str:
    """The Python that has the package, whose environment is made if it is not there. A refusal is remembered."""
    found = _interpreter(package)
    if isinstance(found, NotInstalled):
        raise found
    return found


@functools.cache
def _interpreter(package: str) -> str | NotInstalled:
    try:
        return _made(package)
    except NotInstalled as refusal:
        return refusal


def _made(package: str) -> str:
    if package not in ENVIRONMENTS:
        return sys.executable
    environment, folder = ENVIRONMENTS[package], FOLDER / package
    python, stamp, asked = str(folder / "bin" / "python"), folder / "installed", "\n".join(environment.requirements)
    if stamp.is_file() and stamp.read_text() == asked:
        return python
    print(f"Installing {', '.join(environment.requirements)} for Python {environment.python}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    said(base(environment.python), "-m", "venv", str(folder))
    said(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *environment.requirements)
    stamp.write_text(asked)
    return python


def said(*command: str) -> str:
    """What a command prints; where it fails, the reason is the first line that is called an error."""
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines() or [str(error)]
        raise NotInstalled(next((line for line in lines if line.startswith("ERROR:")), lines[-1])) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalled(f"{Path(command[0]).name}: {type(error).__name__}") from error


def base(version: str) -> str:
    """An interpreter of this version that runs."""
    pyenv = Path.home() / ".pyenv"
    if shutil.which("pyenv"):
        pyenv = Path(said("pyenv", "root").strip())
    for candidate in (f"python{version}", *map(str, pyenv.glob(f"versions/{version}.*/bin/python"))):
        try:
            said(candidate, "-c", "import ensurepip")
            return candidate
        except NotInstalled:
            continue
    raise NotInstalled(f"there is no Python {version} here")


def versions(package: str, *names: str) -> dict[str, str]:
    """The versions of packages in the environment of one, and of its Python."""
    code = (
        "import json, platform, sys\nfrom importlib.metadata import version\n"
        "print(json.dumps({'Python': platform.python_version()} | {name: version(name) for name in sys.argv[1:]}))"
    )
    return json.loads(said(interpreter(package), "-c", code, *names))


def run(package: str, work: str, turns: int, environment: str | None = None, **parameters: Any) -> Found:
    """One work of a package in a process of its own, in its environment or in that of another package.

    Raises:
        NotInstalled: there is no such environment.
        subprocess.CalledProcessError: the work failed.
    """
    task = json.dumps({"package": package, "work": work, "turns": turns, "parameters": parameters})
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answer.npy"
        command = [interpreter(environment or package), str(HERE / "peer_work.py"), task, str(file)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=300)
        return Found(json.loads(done.stdout.splitlines()[-1]), np.load(file))
