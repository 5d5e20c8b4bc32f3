"""Arrays that are computed once, where XLA would compute them again in all code that reads them."""

import jax
from jaxtyping import Array, Shaped


def stored(x: Shaped[Array, "..."]) -> Shaped[Array, "..."]:
    """The array itself, forced into memory so that all code that reads it sees the same bits.

    XLA fuses the drawing of random entries into the code that reads them and repeats it for each reader, where it may
    round differently. XLA removes an optimization barrier before it fuses these; it keeps a loop that negates twice.
    """
    return jax.lax.fori_loop(0, 2, _negated, x)


def _negated(_: Array, x: Shaped[Array, "..."]) -> Shaped[Array, "..."]:
    return ~x if x.dtype == bool else -x
