import os
import re

import pytest

from rmtjax.doctor import _installation
from rmtjax.doctor._installation import gpu_findings, start_error, start_findings, version_findings

REQUIRED = {"jax": "0.8", "numpy": "2.0", "python": "3.11"}
HEALTHY = {"jax": "0.8.0", "jaxlib": "0.8.0", "numpy": "2.4.6", "python": "3.11.7"}


def test_the_declared_bounds_are_found():
    required = _installation.required_versions()
    packages = {"jax", "jaxlib", "numpy", "scipy", "equinox", "jaxtyping", "typing-extensions"}
    assert required.keys() == {"python"} | packages
    assert all(re.fullmatch(r"\d+\.\d+", oldest) for oldest in required.values())


def test_the_installed_versions_are_found():
    versions = _installation.installed_versions()
    assert all(versions.values())
    assert version_findings(versions, _installation.required_versions()) == []


def test_versions_at_their_bounds_are_healthy():
    assert version_findings(HEALTHY, REQUIRED) == []
    assert version_findings(HEALTHY | {"jax": "0.10.1", "jaxlib": "0.10.0"}, REQUIRED) == []


@pytest.mark.parametrize(
    ("planted", "problem", "remedy"),
    [
        ({"numpy": "1.26.4"}, "numpy 1.26.4 is older than 2.0", 'pip install --upgrade "numpy>=2.0"'),
        ({"numpy": None}, "numpy is not installed", 'pip install "numpy>=2.0"'),
        ({"jax": "0.7.2", "jaxlib": "0.7.2"}, "jax 0.7.2 is older than 0.8", 'pip install --upgrade "jax>=0.8"'),
        ({"python": "3.10.4"}, "python 3.10.4 is older than 3.11", "install a newer Python"),
    ],
)
def test_what_is_missing_or_too_old_is_broken(planted, problem, remedy):
    (finding,) = version_findings(HEALTHY | planted, REQUIRED)
    assert (finding.problem, finding.remedy, finding.broken) == (problem, remedy, True)


def test_a_jaxlib_of_another_release_is_named():
    (finding,) = version_findings(HEALTHY | {"jax": "0.10.2", "jaxlib": "0.9.1"}, REQUIRED)
    assert finding.problem == "jax 0.10.2 runs with jaxlib 0.9.1"
    assert '"jax==0.10.2" "jaxlib==0.10.2"' in finding.remedy
    assert not finding.broken


def test_an_unknown_flag_of_xla_is_found_by_another_process(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", f"{os.environ.get('XLA_FLAGS', '')} --xla_of_nobody=1")
    error = start_error()
    assert "--xla_of_nobody" in error
    (finding,) = start_findings(error, {"XLA_FLAGS": "--xla_of_nobody=1"})
    assert finding.broken
    assert finding.remedy == "Unset or correct XLA_FLAGS='--xla_of_nobody=1'."


def test_a_start_that_fails_or_hangs_is_told():
    assert start_error("raise SystemExit('no such platform')") == "no such platform"
    assert start_error("raise SystemExit(3)") == "exit status 3"
    assert start_error("import time; time.sleep(60)", seconds=0.2) == "no answer within 0.2 seconds"
    assert start_error("pass") is None
    assert start_findings(None, {"XLA_FLAGS": "--xla_anything"}) == []


def test_a_gpu_that_is_not_used_is_named():
    (finding,) = gpu_findings(["cpu"], present=True, chosen="")
    assert "jax[cuda13]" in finding.remedy
    (finding,) = gpu_findings(["cpu"], present=True, chosen="cpu")
    assert finding.remedy == "JAX_PLATFORMS='cpu' decides so."
    assert gpu_findings(["cpu"], present=False, chosen="") == []
    assert gpu_findings(["gpu"], present=True, chosen="") == []
