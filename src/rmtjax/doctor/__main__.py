"""The doctor's report: `python -m rmtjax.doctor`."""

import argparse
import sys
from collections.abc import Sequence

from rmtjax.doctor import _parts, _self_check
from rmtjax.doctor._parts import Finding, Part

_DESCRIPTION = """Show what is installed and how it is set, compute a few numbers that are known exactly, and say
what to do about each problem. The exit status is 1 if something is broken; advice alone leaves it 0."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report and return the exit status."""
    argparse.ArgumentParser(prog="python -m rmtjax.doctor", description=_DESCRIPTION).parse_args(arguments)
    findings = _shown("packages", _parts.packages()) + _shown("devices", _parts.devices())
    if not any(finding.broken for finding in findings):
        findings += _shown("numbers", _parts.numbers()) + _shown("cache", _parts.cache())
        _shown("self-check", ("some seconds, most of them compilation", []))
        for case in _self_check.cases():
            findings += _shown("", _self_check.judged(*case))
    print()
    for finding in findings:
        print(f"{'BROKEN' if finding.broken else 'advice'}: {finding.problem}.\n        {finding.remedy}")
    broken = sum(finding.broken for finding in findings)
    print(f"{broken} broken, {len(findings) - broken} pieces of advice." if findings else "All is well.")
    return 1 if broken else 0


def _shown(topic: str, part: Part) -> list[Finding]:
    """Print a line at once, even if the output is buffered, and return the findings."""
    text, findings = part
    print(f"{topic:12}{text}", flush=True)
    return findings


if __name__ == "__main__":
    sys.exit(main())
