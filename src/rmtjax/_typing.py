"""Aliases for the argument types that public signatures share.

Axis glossary: `n` matrix size, `m` samples, `k` requested levels or bins, `q` quadrature nodes.
Shapes are written in jaxtyping annotations; a one-axis shape has a leading space (`Float[Array, " n"]`).
"""

import jax
import numpy as np
from jaxtyping import Array, Key

KeyScalar = Key[Array, ""]
RealLike = jax.Array | np.ndarray | np.generic | int | float
RealScalarLike = RealLike
