"""The public names with their parameters, as they were last agreed: `python -m tests.golden.public_names` writes them.

A name that is gone, or a parameter that is renamed, moved or has another default, breaks the scripts of users. So the
list changes only with a line in the changelog.
"""

import inspect
from pathlib import Path

from tests.test_architecture import PUBLIC_NAMES, public_signatures

RECORD = Path(__file__).with_suffix(".txt")


def current() -> list[str]:
    """A line for each name, in the order of the alphabet; types are left out, as they depend on the versions of JAX."""
    lines = dict.fromkeys(PUBLIC_NAMES, "")
    for name, signature in public_signatures():
        bare = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
        lines[name] = str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    return [f"{name}{parameters}" for name, parameters in sorted(lines.items())]


if __name__ == "__main__":
    RECORD.write_text("\n".join(current()) + "\n")
