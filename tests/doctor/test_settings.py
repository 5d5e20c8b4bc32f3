import jax
import pytest

from rmtjax.doctor._settings import SLOW, setting_findings, settings, threads, usable_cores

HEALTHY = dict.fromkeys(SLOW, False) | {"jax_enable_x64": True}


def test_healthy_settings_need_nothing():
    assert setting_findings(HEALTHY) == []


def test_the_settings_are_those_of_jax():
    values = settings()
    assert values.keys() == HEALTHY.keys()
    assert values["jax_enable_x64"] == jax.config.jax_enable_x64
    # A name that JAX no longer knows would never be found on.
    assert None not in values.values()


def test_64_bits_off_is_advice():
    (finding,) = setting_findings(HEALTHY | {"jax_enable_x64": False})
    assert 'jax.config.update("jax_enable_x64", True)' in finding.remedy
    assert not finding.broken


@pytest.mark.parametrize("name", SLOW)
def test_a_switch_for_debugging_is_named(name):
    (finding,) = setting_findings(HEALTHY | {name: True})
    assert finding.problem == f"{name} is on: {SLOW[name]}"
    assert name.upper() in finding.remedy
    assert not finding.broken


def test_cores_are_counted():
    assert usable_cores() >= 1
    assert threads({}) == f"{usable_cores()} for this process"
    assert threads({"OPENBLAS_NUM_THREADS": "1"}).endswith("for this process, OPENBLAS_NUM_THREADS=1")
