import zlib
from dataclasses import replace
from pathlib import Path

import jax
import pytest

from rmtjax.doctor import _stored
from rmtjax.doctor._stored import Store, incomplete, store_findings

HEALTHY = Store(Path("/cache"), entries=3, size=3 * 2**20)


@pytest.fixture
def set_to():
    """A function that sets JAX's cache, which is set back afterwards."""
    names = ("jax_compilation_cache_dir", "jax_enable_compilation_cache")
    before = {name: jax.config.values[name] for name in names}
    yield lambda folder, enabled=True: [
        jax.config.update(name, value) for name, value in zip(names, (folder, enabled), strict=True)
    ]
    for name, value in before.items():
        jax.config.update(name, value)


def test_a_healthy_cache_needs_nothing():
    assert store_findings(HEALTHY) == []
    assert str(HEALTHY) == "/cache: 3 entries, 3.0 MiB"


@pytest.mark.parametrize("off", ["no folder", "switch"])
def test_a_cache_that_is_off_is_advice(set_to, monkeypatch, tmp_path, off):
    monkeypatch.setattr(_stored, "user_folder", lambda: tmp_path)
    set_to(*(None, True) if off == "no folder" else (str(tmp_path), False))
    state = _stored.store()
    assert str(state) == "off"
    (finding,) = store_findings(state)
    assert "rmt.enable_compilation_cache()" in finding.remedy
    assert not finding.broken


def test_a_cache_that_scripts_switch_on_for_themselves_is_found(set_to, monkeypatch, tmp_path):
    monkeypatch.setattr(_stored, "user_folder", lambda: tmp_path)
    set_to(None)
    (tmp_path / "whole-cache").write_bytes(zlib.compress(b"a program"))
    state = _stored.store()
    assert str(state) == f"off in this process; {tmp_path}: 1 entries, 0.0 MiB"
    assert store_findings(state, has_filelock=True) == []
    (tmp_path / "half-cache").write_bytes(b"")
    (finding,) = store_findings(_stored.store(), has_filelock=True)
    assert finding.problem == "incomplete entries in the compilation cache: 1"


def test_entries_are_counted_and_incomplete_ones_found(tmp_path, set_to):
    whole = zlib.compress(b"a program" * 100)
    contents = {"whole": whole, "half": whole[: len(whole) // 2], "empty": b"", "other": b"\x28\xb5\x2f\xfdanything"}
    for name, content in contents.items():
        (tmp_path / f"{name}-cache").write_bytes(content)
    (tmp_path / "whole-atime").write_bytes(b"now")
    assert [path.name for path in incomplete(sorted(tmp_path.glob("*-cache")))] == ["empty-cache", "half-cache"]
    set_to(str(tmp_path))
    state = _stored.store()
    assert (state.entries, state.size) == (4, sum(map(len, contents.values())))
    assert state.writable
    (finding,) = [found for found in store_findings(state) if "incomplete" in found.problem]
    assert finding.problem == "incomplete entries in the compilation cache: 2"
    assert str(tmp_path / "half-cache") in finding.remedy
    assert not finding.broken


def test_a_folder_that_is_not_there_yet_may_be_made(tmp_path, set_to):
    set_to(str(tmp_path / "not" / "yet"))
    assert _stored.store().writable
    (tmp_path / "file").touch()
    set_to(str(tmp_path / "file" / "below"))
    assert not _stored.store().writable


@pytest.mark.parametrize(
    ("planted", "problem", "broken"),
    [
        ({"writable": False}, "the compilation cache /cache cannot be written", True),
        ({"min_seconds": 1.0}, "the compilation cache leaves out what compiles in less than 1 s", False),
        ({"bounded": True}, "a compilation cache of bounded size needs the package filelock", True),
    ],
)
def test_what_keeps_programs_from_being_found_is_named(planted, problem, broken):
    (finding,) = store_findings(replace(HEALTHY, **planted), has_filelock=False)
    assert (finding.problem, finding.broken) == (problem, broken)


def test_a_bounded_cache_with_its_lock_is_healthy():
    assert store_findings(replace(HEALTHY, bounded=True), has_filelock=True) == []
