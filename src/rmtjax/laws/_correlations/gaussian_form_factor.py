r"""Form factor of the Gaussian ensembles at finite n.

Derivation for β = 2; the derivation for β = 1 and 4 is in `hermite_distances`. Let the weight be $e^{-x^2}$, let
$M_{kl}(\tau) = \int \varphi_k e^{i\tau x} \varphi_l\,dx$ with orthonormal Hermite functions, and $\ell_j(y) = e^{-y/2}
L_j(y)$, so that $M_{jj}(\tau) = \ell_j(\tau^2/2)$. Then

$$E \sum_j e^{i\tau x_j} = \sum_{k<n} M_{kk} = e^{-\tau^2/4} L_{n-1}^{(1)}(\tau^2/2), \qquad
\mathrm{Var} \sum_j e^{i\tau x_j} = n - F, \quad F = \sum_{k,l<n} |M_{kl}|^2 .$$

The double sum becomes a single one. With the matrix O of $e^{i\tau x}$ and the projection P on the first n functions,
F is the trace of $P O P O^*$, and as $[x, P]$ has rank 2

$$F'' = -n \big[M_{nn} M_{n-1,n-1} - |M_{n,n-1}|^2\big] = -\sum_{i<n} (2i + 1)\,u_i u_{n-1-i}\,\ell_{2i+1}(\tau^2),
\qquad u_i = 4^{-i} \binom{2i}i .$$

The last step is the action of a beam splitter. In the coordinates $(x_1 \pm x_2)/\sqrt2$ the operator $e^{i\tau(x_1 -
x_2)}$ acts on one oscillator only, and the state $|n, n-1\rangle$ holds 2i + 1 of its quanta with the probability
$(2i + 1)\,u_i u_{n-1-i}/(2n)$. With $T_j = \sum_{i \le j} (-1)^i \ell_i(\tau^2)$ the differential equation of ℓ turns
this into a recurrence for the coefficients of F, with the solution

$$F = \sum_{j=0}^{2n-2} w_{\lceil j/2 \rceil} T_j, \qquad w_i = 2 (n - i)\,u_i u_{n-i} .$$

The weights are positive, and their sum is of order n. So nothing of the size of the double sum cancels.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import aligned, in_one_precision
from rmtjax._typing import DysonIndex, RealLike, RealScalarLike
from rmtjax.laws._correlations.gap_probabilities import not_negative
from rmtjax.laws._correlations.hermite_distances import Distances, distances
from rmtjax.special.internal import scaled_gaussian

# A pair of functions of this size is divided by it.
_LARGE = 2.0**32


def gaussian_form_factor(
    times: RealLike, n: int, beta: DysonIndex = 2, scale: RealScalarLike = 1.0, *, connected: bool = False
) -> Float[Array, "..."]:
    r"""Spectral form factor $K(t) = \frac1n E\big|\sum_j e^{i t \lambda_j}\big|^2$ of a Gaussian ensemble, exactly.

    It is the sum of a connected and a disconnected part, $\frac1n \mathrm{Var} \sum_j e^{it\lambda_j}$ and $\frac1n
    \big|E \sum_j e^{it\lambda_j}\big|^2$. For β = 2 and $\tau = t s \sqrt{2/n}$ they are

    $$1 - \frac1n \sum_{k,l<n} \frac{l!}{k!} \Big(\frac{\tau^2}2\Big)^{k-l} \Big[L_l^{(k-l)}(\tau^2/2)\Big]^2
    e^{-\tau^2/2} \quad\text{and}\quad \frac1n \Big[L_{n-1}^{(1)}(\tau^2/2)\,e^{-\tau^2/4}\Big]^2 .$$

    The double sum is computed as a single sum in 2n steps. For β = 1 and 4 both parts are Fourier integrals of the
    density and of the cluster function, by a trapezoidal rule that is right to rounding. The first call for an n takes
    O(n³) operations on the host (0.1 s for n = 200), and a time takes O(n).

    The absolute error is at most about 10 + n/2 ulp, of 1 or of K where K is larger. For many levels the connected part
    tends to the average of the bulk's `form_factor` over the semicircle, on which the Heisenberg time varies. For β = 2
    this average is $\frac2\pi [\kappa \sqrt{1 - \kappa^2} + \arcsin \kappa]$ with $\kappa = ts/2n \le 1$, and 1 beyond.

    Convention: $E|H_{ij}|^2 = s^2/n$, as for `GOE`, `GUE` and `GSE`; at β = 4 each pair of equal levels counts as one.
    K(0) = n.

    Args:
        times: any real numbers t; K is even in t.
        n: number of levels, at least 1; static.
        beta: 1, 2 or 4; static.
        scale: s > 0.
        connected: whether to leave out the disconnected part; static.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> print(f"{gaussian_form_factor(1.0, n=10):.5f} {gaussian_form_factor(1.0, n=10, beta=1):.5f}")
        3.39314 3.10479
        >>> print(f"{gaussian_form_factor(10.0, n=10, beta=4, connected=True):.5f}")
        0.44425

    References:
        Brézin and Hikami (1997), Phys. Rev. E 55, 4067; Mehta (2004), Random Matrices, sections 6.2, 7.2 and 8.1.
    """
    n, beta = _checks.integer("n", n, at_least=1), _checks.dyson_index(beta)
    t, unit = in_one_precision((_checks.real("times", times), _checks.positive("scale", scale)))
    tau = t * unit * (2 / (2 * n if beta == 4 else n)) ** 0.5
    if beta != 2:
        sums = jax.tree.map(lambda each: jnp.asarray(each, tau.dtype), distances(n, beta))
        return _form_factor_of_distances(tau, sums, n, connected)
    orders, weights = (jnp.asarray(each, tau.dtype) for each in _coefficients(n))
    return _form_factor(tau, orders, weights, connected)


@functools.partial(compiled, static_argnums=3)
def _form_factor(
    tau: Float[Array, "..."], orders: Float[Array, " m"], weights: Float[Array, " m"], connected: bool
) -> Float[Array, "..."]:
    n = (orders.size + 1) // 2
    # Farther out all functions underflow. The variance is n there, and the mean 0.
    inside = jnp.abs(tau) < (8 * n) ** 0.5 + 40
    near = jnp.where(inside, tau, 0)

    def add(state: tuple, at: tuple) -> tuple[tuple, None]:
        functions, alternating, total = state
        order, weight = at
        alternating = alternating + jnp.where(order % 2 == 0, 1, -1) * _value(functions.now, functions)
        return (_next(functions, order, near**2), alternating, total + weight * alternating), None

    zero = jnp.zeros_like(near)
    (_, _, total), _ = jax.lax.scan(add, (_first(near), zero, zero), (orders, weights))
    values = jnp.where(inside, not_negative(1 - total / n), 1)
    if not connected:
        step = lambda functions, order: (_next(functions, order, near**2 / 2), None)
        functions, _ = jax.lax.scan(step, _first(near * 0.5**0.5), orders[:n])
        values += jnp.where(inside, _value(functions.sum, functions) ** 2 / n, 0)
    return jnp.where(jnp.isnan(tau), tau, values)


@functools.partial(compiled, static_argnums=(2, 3))
def _form_factor_of_distances(
    tau: Float[Array, "..."], sums: Distances, n: int, connected: bool
) -> Float[Array, "..."]:
    last = sums.density.size // 2
    inside = jnp.abs(tau) < jnp.pi / sums.step
    near = jnp.where(inside, tau, 0)[..., None] * sums.step
    over_grid = lambda values, at: jnp.sum(jnp.multiply(*aligned(values, at)), -1)
    waves = lambda grid: jnp.cos(jnp.multiply(*aligned(near, grid)))
    grid = jnp.arange(-last, last + 1, dtype=tau.dtype)
    values = n - jnp.where(inside, over_grid(sums.pairs, waves(jnp.arange(2 * last + 1, dtype=tau.dtype))), 0)
    if sums.squares is not None:
        # This term is of order τ^-2. The cap changes nothing, but is needed because a sine has no value at infinity.
        v = jnp.subtract(*aligned(grid, jnp.clip(tau, -1e9, 1e9)[..., None] / sums.step))
        # The quotient (1 - cos πv)/v is π²/2 v sinc²(v/2).
        values += jnp.pi**2 * sums.step * over_grid(sums.squares * grid, v * jnp.sinc(v / 2) ** 2)
    values = not_negative(values / n)
    if not connected:
        values += jnp.where(inside, over_grid(sums.density, waves(grid)) ** 2 / n, 0)
    return jnp.where(jnp.isnan(tau), tau, values)


class _Functions(NamedTuple):
    r"""The function $e^{-y/2} L_k(y)$ and the sum of the functions before it, divided by the same power of 2."""

    sum: Float[Array, "..."]
    now: Float[Array, "..."]
    exponent: Int[Array, "..."]


def _first(root: Float[Array, "..."]) -> _Functions:
    """The function of order 0 at y = root²."""
    mantissa, exponent = _gaussian(root)
    return _Functions(jnp.zeros_like(mantissa), mantissa, exponent)


def _next(functions: _Functions, k: Float[Array, ""], y: Float[Array, "..."]) -> _Functions:
    # L_{k+1} - L_k = -y (L_0 + … + L_k)/(k + 1). A small y would lose its digits if it were added to the order.
    total = functions.sum + functions.now
    after = functions.now - y * total / (k + 1)
    grown = jnp.abs(after) > _LARGE
    unit = jnp.where(grown, 1 / _LARGE, 1)
    return _Functions(total * unit, after * unit, functions.exponent + jnp.where(grown, 32, 0))


def _value(mantissa: Float[Array, "..."], functions: _Functions) -> Float[Array, "..."]:
    # JAX 0.10 loses the derivative of `ldexp` in forward mode over reverse mode of a scan, so this is a product.
    return mantissa * jnp.ldexp(jnp.ones((), mantissa.dtype), functions.exponent)


@jax.custom_jvp
def _gaussian(x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Int[Array, "..."]]:
    """The mantissa and the exponent of exp(-x²/2)."""
    return scaled_gaussian(x)


@_gaussian.defjvp
def _(primals: tuple, tangents: tuple) -> tuple[tuple, tuple]:
    # The exponent is constant except for jumps, which the mantissa makes up for.
    (x,), (tangent,) = primals, tangents
    mantissa, exponent = _gaussian(x)
    return (mantissa, exponent), (-x * mantissa * tangent, np.zeros(exponent.shape, jax.dtypes.float0))


@functools.cache
def _coefficients(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The numbers j = 0, …, 2n - 2 and the weights of the T_j."""
    i = np.arange(1, n + 1)
    u = np.cumprod(np.append(1, (2 * i - 1) / (2 * i)))
    w = (2 * (n - np.arange(n + 1)) * u * u[::-1])[:n]
    return np.arange(2 * n - 1), np.append(w[0], np.repeat(w[1:], 2))
