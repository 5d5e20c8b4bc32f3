"""Numerical fall-backs: what a law does not have a formula for is computed here from its hooks.

Each function takes a law and uses only its density, its support, the points between which the density is smooth, and
its atoms (`quantile` uses its distribution function, whichever way that is computed).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax._typing import KeyScalar
from rmtjax.special import bracketed_root, integrate

if TYPE_CHECKING:
    from rmtjax.laws._base import AbstractLaw


def expectation(law: "AbstractLaw", fn: Callable[[Array], Array]) -> Float[Array, ""]:
    """E fn(X), by Gauss-Legendre quadrature on the panels of the density, plus the atoms."""
    locations, masses = law.atoms()
    continuous = integrate(lambda x: fn(x) * law._pdf(x), law._breakpoints())
    return continuous + jnp.sum(masses * fn(locations))


def cdf(law: "AbstractLaw", x: Float[Array, "..."]) -> Float[Array, "..."]:
    """P(X ≤ x), by quadrature from the left end."""
    panels = law._breakpoints()
    locations, masses = law.atoms()

    def below(y: Float[Array, ""]) -> Float[Array, ""]:
        clipped = jnp.minimum(panels, y).astype(jnp.result_type(panels, y))
        return integrate(law._pdf, clipped) + jnp.sum(jnp.where(locations <= y, masses, 0))

    # Quadrature knows the derivative exactly: d cdf = pdf dx (and by its parameters whatever flows through `below`).
    return jnp.vectorize(below)(x)


def quantile(law: "AbstractLaw", p: Float[Array, "..."]) -> Float[Array, "..."]:
    """The inverse of the distribution function, by bisection; above the median through the survival function."""
    lower, upper = law.support()

    def invert(q: Float[Array, ""]) -> Float[Array, ""]:
        dtype = jnp.result_type(q, lower, upper)
        in_lower_half = q <= 0.5

        def excess(x: Float[Array, ""]) -> Float[Array, ""]:
            return jnp.where(in_lower_half, law.cdf(x) - q, (1 - q) - law.sf(x)).astype(dtype)

        return bracketed_root(excess, lower.astype(dtype), upper.astype(dtype))

    return jnp.vectorize(invert)(p)


def sample(law: "AbstractLaw", key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
    """Inverse-transform sampling, X = quantile(U) with U uniform on (0, 1)."""
    dtype = jnp.result_type(*law.support())
    return law.quantile(jax.random.uniform(key, shape, dtype, minval=jnp.finfo(dtype).tiny))
