"""Numerical fall-backs, which compute from the hooks of a law the quantities for which it has no formula.

Each function uses only the members of a law that `Law` below names: its density, its support, the points between which
the density is smooth, and its atoms; `ppf` uses the distribution function, which may have a formula.
"""

import functools
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float, PyTree

from rmtjax._promotion import in_one_precision, like
from rmtjax._typing import KeyScalar
from rmtjax.laws._core.orders import no_more_than
from rmtjax.special import integrate
from rmtjax.special.internal import bracketed_root, panel_nodes

# How far from the axis four moments give the potential to rounding, in sizes of the support.
_HEIGHT = 500


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
    p, q, lower, upper = in_one_precision((p, q, points[0], points[-1]))

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


def log_potential(law: Any, w: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
    r"""The potentials E log(w - X) and E log(X - w) in the closed upper half plane, from the transform G above w.

    The potential is $U(w + iT) - i\int_0^T G(w + it)\,dt$. So far away, U has four moments, and the integral is that of
    the double exponential rule (Takahasi and Mori). Atoms are taken apart. The error is some 1e-13 (single precision:
    1e-6).
    """
    lower, upper = law._carrier()
    size = jnp.maximum(upper - lower, 1e-3 * jnp.maximum(jnp.abs(lower), jnp.abs(upper)))
    height = _HEIGHT * size
    places, atoms = law._atoms()
    poles = lambda z: (1 / jnp.subtract.outer(z, like(z, places))) @ like(z, atoms)
    nodes, weights = (like(size, each) for each in double_exponential())

    def term(i: Array, total: Complex[Array, "..."]) -> Complex[Array, "..."]:
        z = w + like(w, height * nodes[i]) * 1j
        return total + like(w, weights[i]) * (law._stieltjes(z) - poles(z))

    top = w + like(w, height) * 1j
    integral = like(w, height) * 1j * jax.lax.fori_loop(0, nodes.size, term, jnp.zeros_like(w))
    far = top - like(w, law._moment(1))
    central = zip((2, 3, 4), law._central_moments(2, 3, 4), strict=True)
    whole = jnp.log(far) - sum(like(w, moment) / (k * far**k) for k, moment in central)
    logs = jnp.log(jnp.subtract.outer(top, like(w, places))) @ like(w, atoms)
    continuous = whole - logs - integral
    reflected = continuous - 1j * jnp.pi * like(w, 1 - jnp.sum(atoms))
    return jnp.stack([continuous, reflected]) + upper_logs(jnp.subtract.outer(w, like(w, places))) @ like(w, atoms)


@functools.cache
def double_exponential() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on (0, 1), dense at both ends; the last weights are 1e-30."""
    s, step = np.linspace(-3.7, 3.7, 241, retstep=True)
    stretched = np.pi * np.sinh(s)
    nodes = 1 / (1 + np.exp(-stretched))
    return nodes, np.pi * np.cosh(s) * nodes / (1 + np.exp(stretched)) * step


def upper_logs(z: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
    """The logarithms of z and -z, with arguments from 0 to π and from -π to 0, for z in the closed upper half plane.

    Both arguments have all digits. At 0 the arguments and the derivatives are 0, and the logarithms are those of the
    smallest number, as infinity times 0 is NaN.
    """
    zero = z == 0
    some = jnp.where(zero, float(jnp.finfo(z.dtype).tiny), z)
    # On the axis the sign of a zero imaginary part would otherwise choose the argument.
    some = jnp.where(jnp.imag(some) <= 0, like(z, jnp.real(some)), some)
    below = jnp.conj(jnp.log(-jnp.conj(some)))
    return jnp.stack([jnp.log(some), jnp.where(zero, like(z, jnp.real(below)), below)])
