"""Numerical fall-backs, which compute from the hooks of a law the quantities for which it has no formula.

Each function uses only the members of a law that `Law` below names: its density, its support, the points between which
the density is smooth, and its atoms; `ppf` uses the distribution function, which may have a formula.
"""

from typing import Protocol

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, PyTree

from rmtjax._promotion import in_one_precision, like
from rmtjax._typing import KeyScalar
from rmtjax.laws._core.cauchy import cauchy_integrals
from rmtjax.laws._core.half_plane import pole, upper_logs
from rmtjax.laws._core.orders import no_more_than
from rmtjax.special import integrate
from rmtjax.special.internal import bracketed_root, panel_nodes


class Law(Protocol):
    """The members of a law that the fall-backs use."""

    _highest_order: int

    def _atoms(self) -> tuple[Array, Array]: ...
    def _on_support(self, x: Array, /, *, quantity: str) -> PyTree[Array]: ...
    def _everywhere_ppf(self, p: Array, q: Array, /) -> Array: ...
    def _pdf(self, x: Array, /) -> Array: ...
    def _breakpoints(self) -> Array: ...
    def _quadrature(self) -> tuple[Array, Array]: ...


def quadrature(law: Law) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
    """Gauss-Legendre nodes on the panels of the density, and their masses, followed by the atoms."""
    locations, atoms = law._atoms()
    points, weights = panel_nodes(law._breakpoints())
    # A density may return a constant, whatever the shape of x.
    density = jax.lax.map(lambda x: jnp.broadcast_to(law._pdf(x), x.shape), points)
    masses = jnp.where(weights > 0, weights * density, 0)
    return jnp.append(points, like(points, locations)), jnp.append(masses, like(masses, atoms))


def moment(law: Law, k: int) -> Float[Array, ""]:
    """The moment E X^k; each mass takes its point as a factor k times, as the power alone may overflow."""
    no_more_than(law._highest_order, k)
    points, masses = law._quadrature()
    return jnp.sum(jax.lax.fori_loop(0, k, _times_points, (masses, points))[0])


def _times_points(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
    masses, points = state
    return masses * points, points


def central_moments(law: Law, orders: tuple[int, ...]) -> tuple[Float[Array, ""], ...]:
    """The central moments E (X - E X)^k for several k."""
    points, masses = law._quadrature()
    # The masses sum to 1 only up to rounding, which matters far from 0, so the remaining mean is subtracted as well.
    deviations = points - jnp.sum(masses * points) / jnp.sum(masses)
    deviations = deviations - jnp.sum(masses * deviations)
    return tuple(jnp.sum(masses * deviations**k) for k in orders)


def cdf(law: Law, x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The probability P(X ≤ x), by quadrature from the left end."""
    panels = law._breakpoints()
    locations, masses = law._atoms()

    def below(y: Float[Array, ""]) -> Float[Array, ""]:
        clipped = jnp.minimum(*in_one_precision((panels, y)))
        reached = jnp.less_equal(*in_one_precision((locations, y)))
        return integrate(law._pdf, clipped) + like(clipped, jnp.sum(jnp.where(reached, masses, 0)))

    # The quadrature has the exact derivative d cdf = pdf dx; derivatives by parameters flow through `below`.
    return jnp.vectorize(below)(x)


def ppf(law: Law, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
    """The inverse of the distribution function at p, or above the median of the survival function at q."""
    points = law._breakpoints()
    return ppf_between(law, p, q, points[0], points[-1])


def ppf_between(
    law: Law, p: Float[Array, "..."], q: Float[Array, "..."], lower: Array, upper: Array
) -> Float[Array, "..."]:
    """The quantile, by a search between two points."""
    p, q, lower, upper = in_one_precision((p, q, lower, upper))

    def excess(x: Float[Array, "..."]) -> Float[Array, "..."]:
        below, above = law._on_support(x, quantity="tails")
        return jnp.where(p <= 0.5, like(x, below) - p, q - like(x, above))

    first, last = (jnp.broadcast_to(end, p.shape) for end in (lower, upper))
    x = bracketed_root(excess, first, last)
    # If the search reaches an end of the support, the quantile has the derivatives of that end.
    return jnp.where(x >= last, last, jnp.where(x <= first, first, x))


def sample(law: Law, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
    """Inverse-transform sampling, X = ppf(U) with U uniform on (0, 1)."""
    dtype = law._breakpoints().dtype
    p = jax.random.uniform(key, shape, dtype, minval=jnp.finfo(dtype).tiny)
    return law._everywhere_ppf(p, 1 - p)


def stieltjes(law: Law, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
    """The transform in the closed upper half plane, from the density and the atoms."""

    def density(x: Float[Array, " m"]) -> Float[Array, "1 m"]:
        return jnp.broadcast_to(law._pdf(x), x.shape)[None]  # it may return a constant, whatever the shape of x

    poles = jax.vmap(pole, in_axes=(None, 0, 0), out_axes=-1)(z, *law._atoms())
    return cauchy_integrals(density, law._breakpoints(), z)[0] + jnp.sum(poles, axis=-1)


def log_potential(law: Law, w: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
    r"""The potentials E log(w - X) and E log(X - w) in the closed upper half plane.

    With the distribution function C of the continuous part, by parts, $E \log(w - X)$ is $C(b) \log(w - b)$ and the
    integral of $C(x)/(w - x)$ up to the upper end b. Near b it comes from the masses above x and the lower end.
    """
    panels = law._breakpoints()
    places, atoms = law._atoms()

    def tails(x: Float[Array, " m"]) -> Float[Array, "2 m"]:
        tails = jnp.stack(law._on_support(x, quantity="tails"))
        passed = jnp.subtract.outer(*in_one_precision((x, places))) >= 0
        return tails - like(tails, jnp.stack([passed, ~passed])) @ like(tails, atoms)

    below, above = cauchy_integrals(tails, panels, w)
    mass = like(w, 1 - jnp.sum(atoms))
    lower, upper = (upper_logs(w - like(w, end)) for end in (panels[0], panels[-1]))
    near_upper = jnp.real(w) > panels[0] / 2 + panels[-1] / 2
    whole = jnp.where(near_upper, mass * lower - above[None], mass * upper + below[None])
    return whole + upper_logs(jnp.subtract.outer(w, like(w, places))) @ like(w, atoms)
