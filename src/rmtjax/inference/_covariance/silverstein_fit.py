r"""The law H of the population levels, by a weighted linear fit of Silverstein's equation.

Derivation. With c = p/n and the Stieltjes transform $v(z) = -1/\omega$ of the companion matrix, H solves

$$z = \omega + c\,\omega \int \frac{t}{\omega - t}\,dH(t) .$$

For a z of the upper half plane $\hat\omega = -1/v_n(z)$ is known from the levels, and the equation is linear in H. Its
error $\rho = z/\hat\omega^2 - 1/\hat\omega - c \int t/(\hat\omega(\hat\omega - t))\,dH$ comes from the fluctuations of
linear statistics, which are normal (Bai and Silverstein). With $a(\omega, \omega') = c \int t^2/((\omega - t)(\omega'
- t))\,dH$ their theorem 1.1 becomes

$$E\rho(\omega)\rho(\omega') = \frac{2}{\beta n^2}\,\partial_\omega \partial_{\omega'} [-\log(1 - a)], \qquad
E\rho(\omega) = \frac{2/\beta - 1}{n}\,\frac{c \int t^2 (\omega - t)^{-3}\,dH}{1 - a(\omega, \omega)} .$$

So the weights of H on given nodes minimise the square of ρ in the inverse of this covariance, as weights that are not
negative. Since the covariance depends on H, the fit is repeated. The points ω lie on the curve $a(\omega, \bar\omega)
= \frac12$ of the last H, on which the covariance is positive definite; on the curve where it is 1, z is real. Each
round also moves half of the nodes to where H is.

The constants of this file are chosen: for p = 100, two rounds more or other curves from 0.2 to 0.8 change the mean
errors of the examples by less than their standard errors.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float

from rmtjax._promotion import like
from rmtjax._varying import varying_like

_NODES = 128
# Every fourth node is the modulus of a point ω.
_STRIDE = 4
_ROUNDS = 5
_LEVEL = 0.5
# The smallest angle of a point in a gap of the curve, but less where levels fluctuate less.
_ANGLE = 0.1
_HALVINGS = 30
# This part of its variance is added to each error: the covariance of near points is singular to rounding.
_RIDGE = 1e-2
_STEPS = 25
_BARRIER = 1e-4
_PRECISION = 500.0
_POINTS = 512
_FLAT = 1e-9
# The sum of the weights is 1, as one more equation of this weight.
_TOTAL = 1e3

Nodes = tuple[Float[Array, " g"], Float[Array, " g"]]


def fitted_law(levels: Float[Array, " k"], lowest: Array, ratio: Array, n: int, beta: int) -> Nodes:
    """Ascending nodes and weights of H, from k = min(n, p) levels in a unit near the largest.

    Args:
        levels: ascending, 0 included.
        lowest: the lowest node.
        ratio: the number of variables that are not constant, over n.
        n: number of observations.
        beta: 1 or 2.
    """
    logarithms = jnp.log(lowest) + jnp.linspace(0, 1, _NODES, dtype=levels.dtype) * jnp.log(levels[-1] / lowest)
    start = jnp.exp(logarithms), 0 * logarithms + 1 / _NODES
    return jax.lax.fori_loop(0, _ROUNDS, lambda _, law: _round(law, levels, ratio, n, beta), start)


def distribution(
    levels: Float[Array, " k"], nodes: Float[Array, " g"], weights: Float[Array, " g"], ratio: float
) -> Float[Array, " k"]:
    """The distribution function of the law of sample levels at ascending levels, to about 1e-3.

    Its values are closed expressions in the points of the curve a = 1 (`laws._free.silverstein`). Interpolation
    between many of these takes a hundredth of the time of a search for each level.
    """
    # Between these moduli lie the points of all the levels.
    lowest = jnp.sqrt(jnp.max(levels) * jnp.max(nodes)) * 1e-4
    lowest = jnp.maximum(jnp.sqrt(levels[0] * jnp.min(nodes)), lowest)
    highest = jnp.sqrt(levels[-1] * jnp.max(nodes))
    moduli = lowest * (highest / lowest) ** jnp.linspace(0, 1, _POINTS, dtype=levels.dtype)
    omega = _curve(moduli, nodes, ratio * weights * nodes**2, 1.0, _FLAT)
    squares = (omega.real[:, None] - nodes[None]) ** 2 + omega.imag[:, None] ** 2
    places = moduli**2 * ((1 / squares) @ (ratio * weights * nodes))
    excess = lambda angle: (2 * angle - jnp.sin(2 * angle)) / 2
    at_zero = jnp.arctan2(omega.imag, omega.real)
    height = nodes[None] * (omega.imag / moduli)[:, None]
    at_point = jnp.arctan2(height, moduli[:, None] - nodes[None] * (omega.real / moduli)[:, None])
    above = (excess(at_zero) + ratio * excess(at_point) @ weights) / (jnp.pi * ratio)
    return 1 - jnp.interp(levels, jax.lax.cummax(places), above)


def _round(law: Nodes, levels: Float[Array, " k"], ratio: Array, n: int, beta: int) -> Nodes:
    nodes, weights = law
    mass = ratio * weights * nodes**2
    new = _moved(nodes, weights)
    least = 2 * jnp.sin(jnp.minimum(_ANGLE, 0.3 * jnp.sqrt(ratio)) / 2) ** 2
    omega = _curve(_moduli(new, nodes, mass), nodes, mass, _LEVEL, least)
    inverse = 1 / (omega[:, None] - like(omega, nodes[None]))
    z = omega * (1 + inverse @ like(omega, ratio * weights * nodes))
    poles = jnp.sum(1 / (like(z, levels[None]) - z[:, None]), -1)
    found = -n / (poles - (n - levels.size) / z)
    # The error ρ is y - A w.
    slopes = like(found, ratio * new[None]) / (found[:, None] * (found[:, None] - like(found, new[None])))
    bias = (inverse**3 @ like(omega, mass)) / (1 - inverse**2 @ like(omega, mass)) * ((2 / beta - 1) / n)
    target = (z - found) / found**2 - bias
    # Errors in units of their standard deviations.
    covariance = _covariance(inverse, mass) * (2 / (beta * n**2))
    deviations = jnp.sqrt(jnp.diagonal(covariance))
    ridge = _RIDGE * jnp.eye(deviations.size, dtype=deviations.dtype)
    root = jnp.linalg.cholesky(covariance / (deviations[:, None] * deviations[None]) + ridge)
    system = _parts(jnp.concatenate([slopes, target[:, None]], axis=-1)) / deviations[:, None]
    system = jax.scipy.linalg.solve_triangular(root, system, lower=True)
    system = jnp.concatenate([system, jnp.full_like(system[:1], _TOTAL)])
    fitted = _nonnegative_least_squares(system[:, :-1], system[:, -1])
    return new, fitted / jnp.sum(fitted)


def _parts(values: Complex[Array, "j g"]) -> Float[Array, "2j g"]:
    return jnp.concatenate([values.real, values.imag])


def _moved(nodes: Float[Array, " g"], weights: Float[Array, " g"]) -> Float[Array, " g"]:
    """Nodes of which half are where the weights are, and half are spread evenly on the logarithmic scale."""
    logarithms = jnp.log(nodes)
    spread = jnp.convolve(weights, jnp.ones(4, weights.dtype))[1:-2] / 4
    width = logarithms[-1] - logarithms[0]
    gaps = jnp.where(width > 0, jnp.diff(logarithms) / jnp.where(width > 0, width, 1), 1 / (nodes.size - 1))
    steps = jnp.concatenate([jnp.zeros_like(gaps[:1]), jnp.cumsum(spread[: gaps.size] / jnp.sum(spread) + gaps)])
    places = jnp.linspace(0, 1, nodes.size, dtype=nodes.dtype) * steps[-1]
    return jnp.exp(jnp.interp(places, steps, logarithms))


def _moduli(new: Float[Array, " g"], nodes: Float[Array, " g"], mass: Float[Array, " g"]) -> Float[Array, " j"]:
    """Moduli of points on the curve; for many variables the curve leaves out a disc around 0."""
    disc = _halved(
        lambda radius: jnp.sum(mass / (radius + nodes) ** 2) > _LEVEL, 0 * mass[0], jnp.sqrt(jnp.sum(mass) / _LEVEL)
    )
    return disc + jnp.concatenate([0.7 * new[:1], new[::_STRIDE], new[-1:], 1.2 * new[-1:]])


def _curve(
    moduli: Float[Array, " j"], nodes: Float[Array, " g"], mass: Float[Array, " g"], level: float, least: Array | float
) -> Complex[Array, " j"]:
    """The points of these moduli where a = `level`, or near the real axis, with 1 - |cos φ| at least `least`."""
    column = moduli[:, None]

    def inside(logarithm: Float[Array, " j"]) -> Array:
        squares = (column - nodes[None]) ** 2 + 2 * column * nodes[None] * jnp.exp(logarithm)[:, None]
        return (1 / squares) @ mass > level

    full = 0 * moduli + 1
    versine = jnp.exp(_halved(inside, jnp.log(least) * full, jnp.log(2 - least) * full))
    return jax.lax.complex(moduli * (1 - versine), moduli * jnp.sqrt(versine * (2 - versine)))


def _halved(inside: Callable[[Array], Array], lower: Array, upper: Array) -> Array:
    """The end of the part of an interval that is inside; constant to derivatives."""

    def step(_: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        middle = (ends[0] + ends[1]) / 2
        within = inside(middle)
        return jnp.where(within, middle, ends[0]), jnp.where(within, ends[1], middle)

    return jax.lax.stop_gradient(jax.lax.fori_loop(0, _HALVINGS, step, (lower, upper))[1])


def _covariance(inverse: Complex[Array, "j g"], mass: Float[Array, " g"]) -> Float[Array, "2j 2j"]:
    """The derivative of -log(1 - a) by both points, for the real and imaginary parts, from 1/(ω - t)."""
    weighted = inverse * like(inverse, mass[None])

    def kernel(other: Complex[Array, "j g"]) -> Complex[Array, "j j"]:
        rest = 1 - weighted @ other.T
        first, second = (inverse * weighted) @ other.T, weighted @ (other * other).T
        return ((inverse * weighted) @ (other * other).T + first * second / rest) / rest

    plain, hermitian = kernel(inverse), kernel(jnp.conj(inverse))
    mixed = (plain.imag - hermitian.imag) / 2
    upper = jnp.concatenate([(plain.real + hermitian.real) / 2, mixed], axis=-1)
    return jnp.concatenate([upper, jnp.concatenate([mixed.T, (hermitian.real - plain.real) / 2], axis=-1)])


def _nonnegative_least_squares(matrix: Float[Array, "m g"], target: Float[Array, " m"]) -> Float[Array, " g"]:
    """The minimum of |Aw - y|²/2 for w ≥ 0, by a primal-dual path of interior points.

    Newton's equation with D = s/w has the matrix A*A + D. Three things make single precision enough: the rows are in
    the order of their singular values, the triangle comes from a QR decomposition instead of a Gram matrix, and the
    residual is updated, because each new difference Aw - y would have another rounding.
    """
    size = matrix.shape[-1]
    turn = jax.lax.stop_gradient(jnp.linalg.svd(jax.lax.stop_gradient(matrix), full_matrices=False)[0])
    matrix, target = turn.T @ matrix, target @ turn
    norms = jnp.sqrt(jnp.sum(matrix**2, -1))
    damped = jnp.minimum(1, _PRECISION / jnp.where(norms > 0, norms, 1))
    matrix, target = damped[:, None] * matrix, damped * target
    one = jnp.eye(matrix.shape[0], dtype=matrix.dtype)

    def step(_: int, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        weights, slacks, residual = state
        barrier = jnp.maximum(0.2 * jnp.vdot(weights, slacks) / size, _BARRIER)
        scale = weights / slacks
        gradient = barrier / weights - residual @ matrix
        stacked = jnp.concatenate([(matrix * jnp.sqrt(scale)[None]).T, one])
        triangle = jnp.linalg.qr(stacked, mode="r")
        inner = jax.scipy.linalg.cho_solve((triangle, False), matrix @ (scale * gradient))
        change = scale * (gradient - inner @ matrix)
        other = barrier / weights - slacks - change / scale
        length = jnp.minimum(_longest(weights, change), _longest(slacks, other))
        return weights + length * change, slacks + length * other, residual + length * (matrix @ change)

    weights = varying_like(jnp.full(size, 1 / size, matrix.dtype), matrix, target)
    start = weights, weights * size**2, matrix @ weights - target
    return jax.lax.fori_loop(0, _STEPS, step, start)[0]


def _longest(values: Float[Array, " g"], change: Float[Array, " g"]) -> Float[Array, ""]:
    """The longest step up to 1 that leaves 5 % of each value."""
    return jnp.minimum(1, 0.95 / jnp.max(jnp.maximum(-change / values, 0.95)))
