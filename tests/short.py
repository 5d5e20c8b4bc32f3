"""The cases of a table that the short suite runs; the others are slow tests."""

import pytest


def cases(table, short):
    """Parameters by name, each a tuple; those not named in `short` are slow."""
    return [
        pytest.param(*values, id=name, marks=[] if name in short else pytest.mark.slow)
        for name, values in table.items()
    ]
