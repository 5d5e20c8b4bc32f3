"""The persistent compilation cache: its folder, its refusals, and that a second process compiles nothing."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path, PureWindowsPath

import jax
import pytest

from rmtjax import _cache
from rmtjax._cache import enable_compilation_cache
from rmtjax._compile import _QUICK, quick_options
from tests.cases import further

README = Path(__file__).resolve().parents[1] / "README.md"

# Counts the requests to JAX's cache while a script, the second argument, runs with the folder in the first argument.
COUNTED = """
import json, sys
from collections import Counter
import jax
import jax.numpy as jnp
import rmtjax as rmt
events = Counter()
jax.monitoring.register_event_listener(lambda event, **_: events.update([event.rsplit("/", 1)[1]]))
enabled = lambda path=sys.argv[1]: rmt.enable_compilation_cache(path)
exec(sys.argv[2], globals())
print(json.dumps([events["compile_requests_use_cache"], events["cache_hits"]]))
"""


def run(script: str, folder: Path, **environment: str) -> tuple[int, int, list[str]]:
    """How many programs a new process needed, how many of them it found in the folder, and the lines it printed."""
    told = {name: value for name, value in os.environ.items() if "CACHE" not in name}
    command = [sys.executable, "-W", "error::UserWarning", "-c", COUNTED, str(folder), script]
    done = subprocess.run(command, env=told | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *printed, counts = done.stdout.splitlines()
    return *json.loads(counts), printed


def assert_says_what_is_true(printed: list[str]) -> None:
    """Check the output of the README's example."""
    deviation, derivative = printed
    # 50,000 levels in 40 bins, at N = 100: sampling error and the O(1/n) edge correction.
    assert float(deviation.split(":")[1]) < 0.03
    computed, expected = map(float, re.findall(r"= (\d+\.\d)", derivative))
    assert abs(computed - expected) <= 0.1 + 1e-4 * expected


def test_the_second_start_of_the_ten_lines_compiles_nothing(tmp_path):
    (ten_lines,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    requests, hits, first = run("enabled()\n" + ten_lines, tmp_path)
    assert hits < requests
    requests, hits, second = run("enabled()\n" + ten_lines, tmp_path)
    assert second == first
    assert_says_what_is_true(first)
    # Options that this XLA does not know are tried first, and refused.
    refused = [*_QUICK, {}].index(quick_options()) if jax.default_backend() == "cpu" else 0
    assert hits == requests - refused > 10


SMALL = "jax.jit(lambda x: jnp.sin(x) @ x)(jnp.ones(3))"


@pytest.mark.parametrize(
    "before",
    [
        "jnp.ones(7).sum()",
        *further(
            "",
            "jax.config.update('jax_compilation_cache_dir', sys.argv[1] + '-other'); jnp.ones(7).sum()",
            "jax.config.update('jax_enable_compilation_cache', False); jnp.ones(7).sum()",
        ),
    ],
    ids=["after-compilations", "first", "after-another-folder", "after-off"],
)
def test_it_may_be_switched_on_at_any_time(tmp_path, before):
    forget = "jax.clear_caches(); "
    requests, hits, _ = run(f"{before}\nenabled(); {forget}events.clear(); {SMALL}; {forget}{SMALL}", tmp_path)
    assert len(list(tmp_path.iterdir())) == hits == requests - hits > 0


def test_the_folder_jax_is_set_to_stays(tmp_path):
    environment = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path / "own"), "HOME": str(tmp_path)}
    requests, *_ = run(f"enabled(None); events.clear()\n{SMALL}", tmp_path, **environment)
    assert len(list((tmp_path / "own").iterdir())) == requests > 0
    assert [path.name for path in tmp_path.iterdir()] == ["own"]


@pytest.mark.slow
def test_half_an_entry_is_noticed_and_compiled_anew(tmp_path):
    script = f"import warnings; warnings.simplefilter('ignore')\nenabled()\n{SMALL}"
    requests, *_ = run(script, tmp_path)
    for entry in tmp_path.iterdir():
        entry.write_bytes(entry.read_bytes()[: entry.stat().st_size // 2])
    right = f"{script.replace('jax.jit', 'result = jax.jit')}\nassert abs(result - 3 * jnp.sin(1.0)) < 1e-6"
    asked, hits, _ = run(right, tmp_path)
    assert asked >= requests
    assert hits == 0


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {}, "home/.cache/rmtjax"),
        ("linux", {"XDG_CACHE_HOME": "/xdg"}, "/xdg/rmtjax"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "home/.cache/rmtjax"),
        ("darwin", {"XDG_CACHE_HOME": "/xdg"}, "home/Library/Caches/rmtjax"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/rmtjax"),
        ("win32", {}, "home/AppData/Local/rmtjax"),
    ],
)
def test_the_users_cache_folder(monkeypatch, platform, environment, expected):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("home"))
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert PureWindowsPath(_cache.user_folder()).as_posix() == expected


def test_a_new_folder_is_the_users_alone_and_its_path_absolute(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = _cache._writable("~/deep/folder")
    assert folder == tmp_path / "deep" / "folder"
    assert folder.stat().st_mode & 0o077 == 0
    monkeypatch.chdir(tmp_path)
    assert _cache._writable("deep").is_absolute()


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="rights have another form here")
@pytest.mark.parametrize(("mode", "is_open"), [(0o700, False), (0o755, False), (0o775, True), (0o777, True)])
def test_a_folder_that_others_may_write_to_is_named(tmp_path, mode, is_open):
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(mode)
    script = """import warnings
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    enabled()
print(*(w.message for w in seen))"""
    *_, printed = run(script, folder)
    expected = f"Other users may write to the compilation cache {folder}, and this process runs the programs in it. "
    assert "".join(printed).startswith(expected if is_open else "")
    assert bool(printed[0]) == is_open


def test_a_folder_of_somebody_else_is_open_to_others(tmp_path, monkeypatch):
    assert not _cache.is_open_to_others(tmp_path)
    monkeypatch.setattr(_cache.os, "geteuid", lambda: 12345)
    assert _cache.is_open_to_others(tmp_path) == (tmp_path.stat().st_uid != 0)


@pytest.mark.parametrize("path", ["file", "file/below", 3, "", "gs://bucket/cache"])
def test_what_is_no_folder_is_refused_and_changes_nothing(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("in the way")
    with pytest.raises(ValueError, match=f"`path` must be a local folder that can be written, got {path!r}"):
        enable_compilation_cache(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_folder_without_permission_is_refused(tmp_path, monkeypatch):
    def denied(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(_cache.tempfile, "TemporaryFile", denied)
    with pytest.raises(ValueError, match="`path` must be a local folder that can be written"):
        enable_compilation_cache(tmp_path)
