import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.doctor import __main__ as doctor
from rmtjax.doctor import _parts, _self_check

CASES = _self_check.cases()


@pytest.fixture(autouse=True)
def small_cache(monkeypatch, tmp_path):
    """The report looks at an empty cache instead of the suite's, which takes long to read."""
    monkeypatch.setattr(_parts, "user_folder", lambda: tmp_path)
    before = jax.config.values["jax_compilation_cache_dir"]
    jax.config.update("jax_compilation_cache_dir", None)
    yield
    jax.config.update("jax_compilation_cache_dir", before)


@pytest.mark.parametrize("case", CASES, ids=[name for name, *_ in CASES])
@pytest.mark.float32
def test_the_numbers_are_right(case):
    text, findings = _self_check.judged(*case)
    assert "right   first call" in text
    assert findings == []


@pytest.mark.parametrize(
    ("compute", "wrong"),
    [
        (lambda: jnp.asarray(3.25), "off by 0.11, allowed 1e-06"),
        (lambda: jnp.asarray(jnp.nan), "off by nan, allowed 1e-06"),
        (lambda: jnp.full(2, jnp.pi), "off by inf, allowed 1e-06"),
        (lambda: {}["π"], "KeyError: 'π'"),
    ],
    ids=["off", "nan", "shape", "error"],
)
def test_a_wrong_number_is_broken(compute, wrong):
    text, (finding,) = _self_check.judged("π", compute, np.array(np.pi), 1e-6)
    assert "WRONG" in text
    assert finding.problem == f"wrong π: {wrong}"
    assert finding.broken


def test_a_healthy_report_ends_with_0_and_shows_all_there_is(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(_parts, "_GPU_DRIVER", tmp_path / "none")
    assert doctor.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    topics = [line.split()[0] for line in lines if line and not line.startswith(" ")]
    assert topics[:5] == ["packages", "devices", "numbers", "cache", "self-check"]
    assert sum("first call" in line for line in lines) == len(CASES)
    # A cache that is off is only advice.
    assert "advice: the compilation cache is off, every new process compiles its programs anew." in lines
    assert "        To keep them: rmt.enable_compilation_cache() after the imports." in lines
    assert lines[-1].startswith("0 broken, ")


def test_a_wrong_number_ends_with_1_and_says_what_to_do(monkeypatch, capsys):
    name, compute, exact, tolerance = CASES[2]
    monkeypatch.setattr(_parts, "_start_error", lambda: None)
    monkeypatch.setattr(_self_check, "cases", lambda: [(name, compute, exact + 1, tolerance)])
    assert doctor.main([]) == 1
    output = capsys.readouterr().out
    assert f"BROKEN: wrong {name}: off by 1" in output
    assert "Install jax, jaxlib and scipy anew" in output


def test_without_devices_nothing_more_is_tried(monkeypatch, capsys):
    monkeypatch.setattr(_parts, "_start_error", lambda: "no such platform")
    monkeypatch.setenv("JAX_PLATFORMS", "abacus")
    monkeypatch.setattr(_self_check, "cases", lambda: pytest.fail("went on"))
    assert doctor.main([]) == 1
    output = capsys.readouterr().out
    assert "BROKEN: JAX cannot start its devices: no such platform." in output
    assert "JAX_PLATFORMS='abacus'" in output


def test_all_is_well(monkeypatch, capsys):
    for part in ("packages", "devices", "numbers", "cache"):
        monkeypatch.setattr(_parts, part, lambda: ("fine", []))
    monkeypatch.setattr(_self_check, "cases", list)
    assert doctor.main([]) == 0
    assert capsys.readouterr().out.endswith("\n\nAll is well.\n")


def test_help_tells_the_exit_status(capsys):
    with pytest.raises(SystemExit):
        doctor.main(["--help"])
    assert "exit status is 1 if something is broken" in " ".join(capsys.readouterr().out.split())
