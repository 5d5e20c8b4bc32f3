"""Numerical fall-backs: what a law does not have a formula for is computed here from its hooks.

Each function takes a law and uses only its density, its support, the points between which the density is smooth, and
its atoms (`ppf` uses its distribution function, whichever way that is computed): what `Law` below names.
"""

from typing import Protocol

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from rmtjax._typing import KeyScalar
from rmtjax.special import bracketed_root, integrate
from rmtjax.special.internal import panel_nodes


class Law(Protocol):
    """What the fall-backs use of a law."""

    def _atoms(self) -> tuple[Array, Array]: ...
    def _on_support(self, x: Array, /, *, quantity: str) -> PyTree[Array]: ...
    def _everywhere_ppf(self, p: Array, q: Array, /) -> Array: ...
    def _pdf(self, x: Array, /) -> Array: ...
    def _breakpoints(self) -> Array: ...
    def _quadrature(self) -> tuple[Array, Array]: ...


def quadrature(law: Law) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
    """The nodes of Gauss-Legendre quadrature on the panels of the density with their masses, and the atoms."""
    locations, atoms = law._atoms()
    points, weights = panel_nodes(law._breakpoints())
    # A constant is a function too.
    density = jax.lax.map(lambda x: jnp.broadcast_to(law._pdf(x), x.shape), points)
    masses = jnp.where(weights > 0, weights * density, 0)
    return jnp.append(points, locations), jnp.append(masses, atoms)


def moment(law: Law, k: int) -> Float[Array, ""]:
    """E X^k."""
    points, masses = law._quadrature()
    return jnp.sum(masses * points**k)


def central_moments(law: Law, orders: tuple[int, ...]) -> tuple[Float[Array, ""], ...]:
    """E (X - E X)^k for several k."""
    points, masses = law._quadrature()
    # The masses sum to 1 but for rounding, which matters far from 0: what is left of the mean is taken off as well.
    deviations = points - jnp.sum(masses * points) / jnp.sum(masses)
    deviations = deviations - jnp.sum(masses * deviations)
    return tuple(jnp.sum(masses * deviations**k) for k in orders)


def cdf(law: Law, x: Float[Array, "..."]) -> Float[Array, "..."]:
    """P(X ≤ x), by quadrature from the left end."""
    panels = law._breakpoints()
    locations, masses = law._atoms()

    def below(y: Float[Array, ""]) -> Float[Array, ""]:
        clipped = jnp.minimum(panels, y).astype(jnp.result_type(panels, y))
        return integrate(law._pdf, clipped) + jnp.sum(jnp.where(locations <= y, masses, 0))

    # Quadrature knows the derivative exactly: d cdf = pdf dx (and by its parameters whatever flows through `below`).
    return jnp.vectorize(below)(x)


def ppf(law: Law, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
    """The inverse of the distribution function, by bisection; above the median through the survival function, q."""
    points = law._breakpoints()
    lower, upper = points[0], points[-1]

    dtype = jnp.result_type(p, lower, upper)

    def excess(x: Float[Array, "..."]) -> Float[Array, "..."]:
        below, above = law._on_support(x, quantity="tails")
        return jnp.where(p <= 0.5, below - p, q - above).astype(dtype)

    first, last = (jnp.broadcast_to(end.astype(dtype), p.shape) for end in (lower, upper))
    x = bracketed_root(excess, first, last)
    # Where the search comes to an end of the support, the quantile has the derivatives of that.
    return jnp.where(x >= last, last, jnp.where(x <= first, first, x))


def sample(law: Law, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
    """Inverse-transform sampling, X = ppf(U) with U uniform on (0, 1)."""
    dtype = law._breakpoints().dtype
    p = jax.random.uniform(key, shape, dtype, minval=jnp.finfo(dtype).tiny)
    return law._everywhere_ppf(p, 1 - p)
