"""The inverse Marčenko-Pastur law: bad input; the batteries over all laws hold its values."""

import pytest

from rmtjax.laws import InverseMarchenkoPastur


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.0,), r"`ratio` must lie in \(0, 1\), got 1"),
        ((0.0,), r"`ratio` must lie in \(0, 1\), got 0"),
        ((0.5, -1.0), "`scale` must be positive and finite, got -1"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        InverseMarchenkoPastur(*arguments)
