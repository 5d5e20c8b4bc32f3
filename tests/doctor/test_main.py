import pytest

from rmtjax.doctor import __main__ as doctor
from rmtjax.doctor import _installation, _self_check, _stored
from rmtjax.doctor._finding import Finding


def test_a_healthy_report_ends_with_0_and_shows_all_there_is(monkeypatch, capsys):
    monkeypatch.setattr(_installation, "gpu_present", lambda: False)
    assert doctor.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    topics = [line.split()[0] for line in lines if line and not line.startswith(" ")]
    assert topics[:7] == ["packages", "system", "devices", "cores", "numbers", "cache", "self-check"]
    assert sum("first call" in line for line in lines) == len(_self_check.cases())
    assert not [line for line in lines if "BROKEN" in line]


def test_a_wrong_number_ends_with_1_and_says_what_to_do(monkeypatch, capsys):
    right = _self_check.cases()[2]
    wrong = _self_check.Case(right.name, right.compute, right.exact + 1, right.tolerance)
    monkeypatch.setattr(_self_check, "cases", lambda: [wrong])
    assert doctor.main([]) == 1
    output = capsys.readouterr().out
    assert f"BROKEN: wrong {right.name}: off by 1" in output
    assert "Install jax, jaxlib and scipy anew" in output


def test_without_devices_nothing_more_is_tried(monkeypatch, capsys):
    monkeypatch.setattr(_installation, "start_error", lambda: "Unknown flags in XLA_FLAGS: --xla_of_nobody")
    monkeypatch.setenv("XLA_FLAGS", "--xla_of_nobody")
    for later in ("_numbers", "_cache", "_checks"):
        monkeypatch.setattr(doctor, later, lambda: pytest.fail("went on"))
    assert doctor.main([]) == 1
    assert "Unset or correct XLA_FLAGS='--xla_of_nobody'." in capsys.readouterr().out


def test_advice_alone_is_healthy(monkeypatch, capsys):
    monkeypatch.setattr(_self_check, "cases", list)
    monkeypatch.setattr(_stored, "store_findings", lambda store: [Finding("something could be better", "Do this.")])
    monkeypatch.setattr(_installation, "start_error", lambda: None)
    assert doctor.main([]) == 0
    assert "advice: something could be better.\n        Do this." in capsys.readouterr().out


def test_help_tells_the_exit_status(capsys):
    with pytest.raises(SystemExit):
        doctor.main(["--help"])
    assert "exit status is 1 if something is broken" in " ".join(capsys.readouterr().out.split())
