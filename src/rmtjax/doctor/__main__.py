"""The doctor's report: `python -m rmtjax.doctor`."""

import argparse
import os
import platform
import sys
from collections.abc import Sequence

import jax
import jax.numpy as jnp

from rmtjax.doctor import _installation, _self_check, _settings, _stored
from rmtjax.doctor._finding import Finding

_DESCRIPTION = """Show what is installed and how it is set, compute a few numbers that are known exactly, and say
what to do about each problem. The exit status is 1 if something is broken; advice alone leaves it 0."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report and return the exit status."""
    argparse.ArgumentParser(prog="python -m rmtjax.doctor", description=_DESCRIPTION).parse_args(arguments)
    findings = [*_packages(), *_devices()]
    if not any(finding.broken for finding in findings):
        findings += [*_numbers(), *_cache(), *_checks()]
    _say("")
    for finding in findings:
        _say(str(finding))
    broken = sum(finding.broken for finding in findings)
    _say(f"{broken} broken, {len(findings) - broken} pieces of advice." if findings else "All is well.")
    return 1 if broken else 0


def _packages() -> list[Finding]:
    versions = _installation.installed_versions()
    _say("packages", ", ".join(f"{name} {version or 'missing'}" for name, version in versions.items()))
    _say("system", platform.platform())
    return _installation.version_findings(versions, _installation.required_versions())


def _devices() -> list[Finding]:
    # A new process tries first, because an unknown flag would end this one without a word.
    findings = _installation.start_findings(_installation.start_error(), os.environ)
    if findings:
        return findings
    devices = jax.devices()
    kinds = [device.device_kind for device in devices]
    _say("devices", ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)))
    _say("cores", _settings.threads(os.environ))
    platforms = [device.platform for device in devices]
    return _installation.gpu_findings(platforms, _installation.gpu_present(), os.environ.get("JAX_PLATFORMS", ""))


def _numbers() -> list[Finding]:
    values = _settings.settings()
    state = "on" if values["jax_enable_x64"] else "off"
    _say("numbers", f"{jnp.zeros(()).dtype.name} by default, 64-bit types {state}")
    return _settings.setting_findings(values)


def _cache() -> list[Finding]:
    store = _stored.store()
    _say("cache", str(store))
    return _stored.store_findings(store)


def _checks() -> list[Finding]:
    _say("self-check", "some seconds, most of them compilation")
    findings = []
    for case in _self_check.cases():
        verdict = _self_check.judge(case)
        _say("", str(verdict))
        findings += _self_check.verdict_findings(verdict)
    return findings


def _say(topic: str, text: str = "") -> None:
    """Print a line at once, also where the output is buffered."""
    print(f"{topic:12}{text}".rstrip() if text else topic, flush=True)


if __name__ == "__main__":
    sys.exit(main())
