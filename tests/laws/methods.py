"""Derivatives of all methods of a law in reverse mode, in one program."""

import jax
import jax.numpy as jnp

METHODS = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf")


@jax.jit
def slopes(law, x):
    """Rows for the methods: of their sums over the points by the parameters, of their values by each point."""
    # A sum takes the place of a map: what is not finite at a point is not finite in the sum.
    totals = lambda law, x: jnp.stack([jnp.sum(getattr(law, name)(x)) for name in METHODS])
    return jax.jacrev(totals, (0, 1))(law, x)
