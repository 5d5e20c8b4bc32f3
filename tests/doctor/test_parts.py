import os
import re
import zlib

import jax
import pytest

from rmtjax.doctor import _parts

WHOLE = zlib.compress(b"a program" * 100)


def test_all_that_is_declared_is_installed_and_new_enough():
    required = _parts._required()
    packages = {"jax", "jaxlib", "numpy", "scipy", "equinox", "jaxtyping", "typing-extensions"}
    assert required.keys() == {"python"} | packages
    assert all(re.fullmatch(r"\d+\.\d+", oldest) for oldest in required.values())
    text, findings = _parts.packages()
    assert findings == []
    assert [each.split()[0] for each in text.split(", ")] == ["rmtjax", *required]


@pytest.mark.parametrize(
    ("planted", "findings"),
    [
        ({}, []),
        ({"jax": "0.10.1", "jaxlib": "0.10.0"}, []),
        ({"numpy": "1.26.4"}, [("numpy 1.26.4, but rmtjax needs 2.0", 'pip install --upgrade "numpy>=2.0"', True)]),
        ({"numpy": None}, [("numpy is missing, but rmtjax needs 2.0", 'pip install --upgrade "numpy>=2.0"', True)]),
        ({"python": "3.10.4"}, [("python 3.10.4, but rmtjax needs 3.11", "Install a newer Python.", True)]),
        (
            {"jax": "0.10.2"},
            [
                (
                    "jax 0.10.2 runs with jaxlib 0.8.0",
                    'They are made for each other: pip install --upgrade "jax==0.10.2" "jaxlib==0.10.2"',
                    False,
                )
            ],
        ),
    ],
    ids=["at the bounds", "new", "old", "missing", "old Python", "not a pair"],
)
def test_versions_that_will_not_do_are_named(monkeypatch, planted, findings):
    def version(package):
        found = {"rmtjax": "0.1", "jax": "0.8.0", "jaxlib": "0.8.0", "numpy": "2.4.6"} | planted
        if found[package] is None:
            raise _parts.metadata.PackageNotFoundError
        return found[package]

    monkeypatch.setattr(_parts, "_required", lambda: {"jax": "0.8", "jaxlib": "0.8", "numpy": "2.0", "python": "3.11"})
    monkeypatch.setattr(_parts.metadata, "version", version)
    monkeypatch.setattr(_parts.platform, "python_version", lambda: planted.get("python", "3.11.7"))
    assert _parts.packages()[1] == findings


def test_an_unknown_flag_of_xla_is_found_by_another_process(monkeypatch):
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_of_nobody=1"
    monkeypatch.setenv("XLA_FLAGS", flags)
    monkeypatch.setenv("JAX_PLATFORMS", "")
    text, ((problem, remedy, broken),) = _parts.devices()
    assert "--xla_of_nobody" in problem
    assert (text, remedy, broken) == ("none", f"Unset or correct XLA_FLAGS={flags!r}.", True)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("raise SystemExit('no such platform')", "no such platform"),
        ("raise SystemExit(3)", "exit status 3"),
        ("import time; time.sleep(60)", "no answer within 0.5 seconds"),
        ("pass", None),
    ],
)
def test_a_start_that_fails_or_hangs_is_told(monkeypatch, code, error):
    monkeypatch.setattr(_parts, "_START", code)
    monkeypatch.setattr(_parts, "_PATIENCE", 0.5 if "sleep" in code else 60)
    assert _parts._start_error() == error


@pytest.mark.parametrize(("chosen", "remedy"), [("", "jax[cuda13]"), ("cpu", "JAX_PLATFORMS='cpu' decides so.")])
def test_a_gpu_that_is_not_used_is_named(monkeypatch, tmp_path, chosen, remedy):
    monkeypatch.setattr(_parts, "_start_error", lambda: None)
    monkeypatch.setattr(_parts, "_GPU_DRIVER", tmp_path / "none")
    monkeypatch.setenv("JAX_PLATFORMS", chosen)
    text, findings = _parts.devices()
    assert re.search(r"^\d+ .*, \d+ cores for this process, .*OPENBLAS_NUM_THREADS=", text)
    assert findings == []
    if jax.default_backend() == "cpu":
        monkeypatch.setattr(_parts, "_GPU_DRIVER", tmp_path)
        (finding,) = _parts.devices()[1]
        assert remedy in finding.remedy


@pytest.fixture
def told(tmp_path):
    """A function that changes settings of JAX, which are set back afterwards; it begins with healthy ones."""
    healthy = dict.fromkeys(_parts.SLOW, False) | {"jax_enable_x64": True, "jax_enable_compilation_cache": True}
    healthy |= {"jax_persistent_cache_min_compile_time_secs": 0.0, "jax_compilation_cache_dir": str(tmp_path)}
    before = {name: jax.config.values[name] for name in healthy}
    update = lambda **values: [jax.config.update(name, value) for name, value in values.items()]
    update(**healthy)
    yield update
    update(**before)


def test_the_types_of_numbers_are_told(told):
    assert _parts.numbers() == ("float64 by default, 64-bit types on", [])
    told(jax_enable_x64=False)
    text, (finding,) = _parts.numbers()
    assert text == "float32 by default, 64-bit types off"
    assert 'jax.config.update("jax_enable_x64", True)' in finding.remedy
    assert not finding.broken


@pytest.mark.parametrize("name", _parts.SLOW)
def test_a_switch_for_debugging_is_named(told, name):
    told(**{name: True})
    (finding,) = _parts.numbers()[1]
    assert finding.problem == f"{name} is on: {_parts.SLOW[name]}"
    assert name.upper() in finding.remedy
    assert not finding.broken


@pytest.mark.parametrize("off", [{"jax_compilation_cache_dir": None}, {"jax_enable_compilation_cache": False}])
def test_a_cache_that_is_off_is_advice(told, monkeypatch, tmp_path, off):
    monkeypatch.setattr(_parts, "user_folder", lambda: tmp_path)
    told(**off)
    text, (finding,) = _parts.cache()
    assert text == "off"
    assert "rmt.enable_compilation_cache()" in finding.remedy
    assert not finding.broken
    # Other scripts, which switched the cache on, have filled it.
    (tmp_path / "whole-cache").write_bytes(WHOLE)
    assert _parts.cache() == (f"off in this process; {tmp_path}: 1 entries, 0.0 MiB", [])


def test_incomplete_entries_are_found(told, tmp_path):
    for name, content in {"whole-cache": WHOLE, "whole-atime": b"now", "other-cache": b"\x28\xb5\x2f\xfdtext"}.items():
        (tmp_path / name).write_bytes(content)
    assert _parts.cache() == (f"{tmp_path}: 2 entries, 0.0 MiB", [])
    (tmp_path / "half-cache").write_bytes(WHOLE[: len(WHOLE) // 2])
    (tmp_path / "empty-cache").touch()
    text, (finding,) = _parts.cache()
    assert ": 4 entries" in text
    assert finding.problem == "incomplete entries in the compilation cache: 2"
    assert finding.remedy.endswith(f"rm {tmp_path / 'empty-cache'} {tmp_path / 'half-cache'}")
    assert not finding.broken


def test_a_cache_that_others_may_write_to_is_named(told, tmp_path):
    tmp_path.chmod(0o777)
    (finding,) = _parts.cache()[1]
    assert finding.problem == f"other users may write to the compilation cache {tmp_path}"
    assert f"chmod go-w {tmp_path}" in finding.remedy


def test_a_cache_that_cannot_be_written_or_leaves_out_small_programs_is_named(told, tmp_path):
    told(jax_compilation_cache_dir=str(tmp_path / "not" / "yet"))
    assert _parts.cache()[1] == []
    told(jax_persistent_cache_min_compile_time_secs=1.0)
    (finding,) = _parts.cache()[1]
    assert finding.problem == "the compilation cache leaves out what compiles in less than 1 s"
    assert not finding.broken
    (tmp_path / "not").touch()
    finding = _parts.cache()[1][0]
    assert finding.problem == f"the compilation cache {tmp_path / 'not' / 'yet'} cannot be written"
    assert finding.broken
