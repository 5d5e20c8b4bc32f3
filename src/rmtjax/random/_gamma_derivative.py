r"""The derivative of gamma variates in their parameter, at a fixed probability.

A variate $x = a e^w$ keeps its probability F(x; a), so that $dx/da = -(\partial F/\partial a)/f$. The substitution
$t = x e^{-s}$ in $F \propto \int_0^x t^{a-1} e^{-t} dt$, or $t = x e^s$ in the integral above x, gives

$$\frac1x \frac{dx}{da} = \int_0^\infty \big[s + \sigma(\log x - \psi(a))\big]\,e^{-a h(s)}\,ds, \qquad
h(s) = g(\sigma s) + (e^w - 1)(e^{\sigma s} - 1), \quad g(v) = e^v - 1 - v,$$

with σ = -1 below and 1 above. The term 1/a dominates at large a. As $\int a h'(s)\,e^{-a h(s)}\,ds = 1$, it can be
subtracted under the integral:

$$\frac{dw}{da} = \sigma \int_0^\infty \big[\log a - \psi(a) - g(w) - h(s)\big]\,e^{-a h(s)}\,ds.$$

On the side away from the mode, σw ≥ 0, both terms of h are positive, and nothing cancels at any a.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax._compile import compiled
from rmtjax._varying import varying_like
from rmtjax.special.internal import gauss_legendre

# Nodes of the quadrature in float64 and float32. Tails are cut at e^-38 and e^-19. The errors are 6e-15 and 7e-7 times
# the sum of the derivative and its typical size, min(1/a, a^-3/2).
_NODES, _NODES_SINGLE = 40, 16


@jax.custom_jvp
def with_derivative(a: Float[Array, "..."], w: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""The value w = log(x/a) of a gamma variate x, with its derivative in a at fixed F(x; a)."""
    return w


@with_derivative.defjvp
def _with_derivative_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    a, w = primals
    # Second derivatives need the value to carry the derivative too.
    w = with_derivative(a, w)
    return w, _slope(a, w) * tangents[0]


@compiled
def _slope(a: Float[Array, "..."], w: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""The derivative dw/da.

    Where a and x are below 1, the tail of the integral is too long. There b = a + 1 and the identity
    $F(x; a) = F(x; b) + x^a e^{-x} / \Gamma(b)$ give $a\,dw/da = \psi(b) - \log x - 1 + dx/db$.
    """
    log_x = jnp.log(a) + w
    raised = (a < 1) & (log_x < 0)
    # Beyond a = 1e30 the derivative falls like 1/a. Below x = e^-100 the factor x makes `slope` negligible.
    b = jnp.minimum(jnp.where(raised, a + 1, a), 1e30)
    below = jnp.where(raised, log_x - jnp.log1p(a), w)
    offset = _log_minus_digamma(b)
    slope = _integral(b, jnp.maximum(below, -100), offset)
    x = jnp.exp(jnp.where(raised, log_x, 0))
    scaled = jnp.where(raised, x * (slope + 1 / b) - below - offset - 1, b * slope)
    # Where x underflows to 0 at a tiny a, an infinite slope would make the derivative of x NaN.
    limit = jnp.finfo(a.dtype).max
    return jnp.clip(scaled / a, -limit, limit)


def _integral(a: Float[Array, "..."], w: Float[Array, "..."], offset: Float[Array, "..."]) -> Float[Array, "..."]:
    """The last integral in the module's docstring, by the Gauss-Legendre rule in √s."""
    single = a.dtype == jnp.float32
    t, weights = gauss_legendre(_NODES_SINGLE if single else _NODES)
    t, weights = (1 + t) / 2, weights * (1 + t) / 2
    nodes, weights = jnp.asarray(t**2, a.dtype), jnp.asarray(weights, a.dtype)
    above, rise = w > 0, jnp.expm1(w)
    end = jnp.where(above, 1, -1) * _end(rise, (19 if single else 38) / a)
    height = offset - _exponential_remainder(w)

    # A loop over the nodes is vectorised over the variates and takes a quarter of the time of a sum over an axis.
    def add(i: Array, total: Float[Array, "..."]) -> Float[Array, "..."]:
        v = end * nodes[i]
        g = _exponential_remainder(v)
        h = g + rise * (g + v)
        return total + weights[i] * (height - h) * jnp.exp(-a * h)

    zero = varying_like(jnp.zeros_like(a), a, w)
    return end * jax.lax.fori_loop(0, nodes.size, add, zero)


def _end(rise: Float[Array, "..."], height: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""A point where h is a little above e = `height`: the root of a lower bound of h, with r = e^w and d = r - 1.

    Above x, $h \ge d s + r s^2/2$; one step of $s = \log(1 + (e + s)/r)$ brings the root nearer. Below x,
    $h \ge -d s + r s^2/(2 + s)$.
    """
    above, ratio = rise > 0, rise + 1
    slope = jnp.where(above, rise, -rise - height / 2)
    quadratic = 2 * height / (slope + jnp.sqrt(slope**2 + 2 * height * jnp.where(above, ratio, 1)))
    nearer = jnp.log1p((height + quadratic) / jnp.where(above, ratio, 1))
    return jnp.where(above, jnp.minimum(quadratic, nearer), quadratic)


def _exponential_remainder(v: Float[Array, "..."]) -> Float[Array, "..."]:
    """The function g(v) = e^v - 1 - v without cancellation."""
    small = jnp.abs(v) < 0.5
    inner = jnp.where(small, v, 0)
    series = 0.0
    for k in range(9 if v.dtype == jnp.float32 else 16, 1, -1):
        series = series * inner + 1 / math.factorial(k)
    return jnp.where(small, inner**2 * series, jnp.expm1(v) - v)


def _log_minus_digamma(a: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""The difference $\log a - \psi(a)$, at large a by Stirling's series, $1/(2a) + \sum_k B_{2k}/(2k\,a^{2k})$."""
    large = a >= (3 if a.dtype == jnp.float32 else 10)
    inverse = jnp.where(large, 1 / a, 0)
    series = 0.0
    for coefficient in (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12):
        series = series * inverse**2 + coefficient
    small = jnp.where(large, 1, a)
    return jnp.where(large, inverse / 2 + series * inverse**2, jnp.log(small) - jax.lax.digamma(small))
