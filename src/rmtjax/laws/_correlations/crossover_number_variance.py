r"""Number variance of the crossover from the GOE to the GUE.

Derivation. With $a = 2\pi^2\Lambda$ the cluster function of Pandey and Mehta is $Y_2 = \mathrm{sinc}^2 - D J$,

$$D(r) = \int_0^1 \kappa\,e^{-a(1 - \kappa^2)} \sin \pi\kappa r\,d\kappa, $$

$$J(r) = \int_1^\infty \frac{\sin \pi\kappa r}\kappa\,e^{-a(\kappa^2 - 1)}\,d\kappa
= e^a \Big[\frac\pi2 \mathrm{erf}\frac{\pi r}{2 \sqrt a}
- \int_0^1 \frac{\sin \pi\kappa r}\kappa\,e^{-a\kappa^2}\,d\kappa\Big],$$

and $\Sigma^2 - \Sigma^2_{\beta=2} = V(L) = 2 \int_0^L (L - r)\,D J\,dr$. For short L this is integrated as it stands.
For long L the integral over r is done first. With κ = 1 - p in D, where 0 ≤ p ≤ 2 covers both signs of κ, and κ = 1 + m
in J

$$\pi^2 V = \mathrm{Re} \int_0^\infty dm \int_0^2 dp\,\frac{1 - e^{i\pi L (p + m)}}{(p + m)^2}\,f(p, m), \qquad
f = \frac{1 - p}{1 + m}\,e^{-a(2p - p^2) - a(2m + m^2)} .$$

Paths of steepest descent lead from the two corners, (0, 0) and (2, 0), to infinity: $p, m \propto e^{i\pi/4}$ from the
first, and $p - 2 \propto e^{3i\pi/4}$ from the second. On these paths the squares in the exponent are phases. The part
that does not oscillate is a constant, which is taken from a short L, and a logarithm. The logarithm comes from the
first corner, where $f \approx e^{-\beta\tau}$, $\tau = (p + m)/2$, $\beta = 2 + 4a$, and

$$\int_0^\infty \frac{1 - \cos q\tau}\tau\,e^{-\beta\tau}\,d\tau = \tfrac12 \log(1 + q^2/\beta^2) .$$
"""

import cmath
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf
from jaxtyping import Array, Complex, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import aligned, complex_dtype, like
from rmtjax._typing import RealLike
from rmtjax.laws._correlations.number_variance import number_variance
from rmtjax.special.internal import gauss_laguerre, gauss_legendre

# Up to this length V is integrated over r.
_SHORT = 6.0
_NUM_NODES = 40
# An exponential has decayed at e^{-40}. Up to the coupling a = 4 the closed form of J loses at most two digits.
_DECAY, _CLOSED = 40.0, 4.0


def crossover_number_variance(lengths: RealLike, coupling: RealLike) -> Float[Array, "..."]:
    r"""Variance of the number of levels in an interval while time-reversal symmetry is broken: from the GOE to the GUE.

    $$\Sigma^2(L) = \frac2{\pi^2} \int_0^\infty K(\tau)\,\frac{\sin^2 \pi L\tau}{\tau^2}\,d\tau$$

    with K from `crossover_form_factor`, in the bulk of large spectra. It is `number_variance(lengths, 1)` for Λ = 0 and
    tends to `number_variance(lengths, 2)` for large Λ. However large Λ is, intervals with $L > 4\pi\Lambda$ differ from
    this limit, for large Λ by $\frac1{2\pi^2} \log(1 + (L/4\pi\Lambda)^2)$. In double precision the absolute error is
    below 1e-11, at least up to L = 1000.

    Convention: unit density of the levels; Λ as in `crossover_form_factor`.

    Args:
        lengths: L ≥ 0; negative lengths give NaN.
        coupling: a finite Λ ≥ 0, broadcast against `lengths`.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> print(crossover_number_variance(10.0, jnp.array([0.0, 0.1, 10.0])).round(5))
        [0.90869 0.7666  0.57961]

    References:
        Pandey and Mehta (1983), Commun. Math. Phys. 87, 449, for the cluster function.
    """
    lengths = _checks.real("lengths", lengths)
    coupling = _checks.NONNEGATIVE("coupling", _checks.real("coupling", coupling))
    return _crossover(*jnp.broadcast_arrays(*aligned(lengths, coupling)))


@compiled
def _crossover(length: Float[Array, "..."], coupling: Float[Array, "..."]) -> Float[Array, "..."]:
    inside = (length >= 0) & (length < jnp.inf)
    pairs = jnp.where(inside, length, 1).ravel(), 2 * jnp.pi**2 * jnp.minimum(coupling, 1e9).ravel()
    excess = jax.lax.map(_excess, pairs).reshape(length.shape)
    return number_variance(length, 2) + jnp.where(inside, excess, 0)


def _excess(pair: tuple[Float[Array, ""], Float[Array, ""]]) -> Float[Array, ""]:
    """The function V of the module's docstring at one pair of L and a, to save memory."""
    length, a = pair
    short = jnp.minimum(length, _SHORT)
    long = jnp.maximum(length, _SHORT)
    return _near(short, a) + (_far(long, a) - _far(jnp.full_like(long, _SHORT), a)) / jnp.pi**2


def _rule(end: Float[Array, "..."]) -> tuple[Float[Array, "... m"], Float[Array, "... m"]]:
    """Nodes and weights from 0 to an end."""
    nodes, weights = (jnp.asarray(each, end.dtype) for each in gauss_legendre(_NUM_NODES))
    return end[..., None] * (1 + nodes) / 2, end[..., None] * weights / 2


def _near(length: Float[Array, ""], a: Float[Array, ""]) -> Float[Array, ""]:
    """V by integrals over r; J rises on the scale √a."""
    root = jnp.sqrt(jnp.where(a > 0, a, 1))
    rise = jnp.minimum(jnp.where(a > 0, 4 * root, 0), length)
    first, first_weights = _rule(rise)
    second, second_weights = _rule(length - rise)
    r, weights = jnp.append(first, rise + second), jnp.append(first_weights, second_weights)

    p, p_weights = _rule(jnp.minimum(1, _DECAY / jnp.maximum(a, 1)))
    inner = jnp.sin(jnp.pi * r[:, None] * (1 - p)[None]) @ (p_weights * (1 - p) * jnp.exp(-a * p * (2 - p)))

    closed = a < _CLOSED
    large, small = jnp.where(closed, _CLOSED, a), jnp.where(closed, a, 0)
    m, m_weights = _rule(_DECAY / (large + jnp.sqrt(large * (large + _DECAY))))
    decaying = jnp.sin(jnp.pi * r[:, None] * (1 + m)[None]) @ (m_weights / (1 + m) * jnp.exp(-large * m * (2 + m)))
    k, k_weights = _rule(jnp.ones_like(a))
    whole = jnp.where(a > 0, erf(jnp.pi * r / (2 * root)), 1) * jnp.pi / 2
    part = jnp.sin(jnp.pi * r[:, None] * k[None]) @ (k_weights / k * jnp.exp(-small * k**2))
    outer = jnp.where(closed, jnp.exp(small) * (whole - part), decaying)
    return 2 * jnp.sum(weights * (length - r) * inner * outer)


def _far(length: Float[Array, ""], a: Float[Array, ""]) -> Float[Array, ""]:
    """The part of π² V that depends on L, for long L."""
    q, beta = 2 * jnp.pi * length, 2 + 4 * a
    smooth = jnp.log(jnp.hypot(q, beta) / beta)
    nodes, masses = gauss_laguerre(_NUM_NODES)
    v, masses = jnp.asarray(nodes, q.dtype), jnp.asarray(masses * np.exp(nodes), q.dtype)
    up, back = (cmath.exp(1j * math.pi * angle) for angle in (0.25, 0.75))
    # The paths are complex, and so is every number on them.
    v, masses, q, a, beta = (each.astype(complex_dtype(each.dtype)) for each in (v, masses, q, a, beta))

    step = math.sqrt(2) / (q + 4 * a)
    tau = up * step * v
    share, shares = (like(q, each) for each in _rule(jnp.ones_like(smooth)))
    mean = _weight(2 * tau[:, None] * share[None], 2 * tau[:, None] * (1 - share)[None], a, q) @ shares
    first = jnp.sum(masses * (mean - jnp.exp((1j * q - beta) * tau)) / v)

    z, m = back * 2 * step * v[:, None], up * 2 * step * v[None]
    second = (_weight(z + 2, m, a, q) / (2 + z + m) ** 2 @ masses) @ masses * (back * up * (2 * step) ** 2)
    return smooth - jnp.real(first - second)


def _weight(p: Complex[Array, "..."], m: Complex[Array, "..."], a: Array, q: Array) -> Complex[Array, "..."]:
    """The function f with its wave."""
    return (1 - p) / (1 + m) * jnp.exp(-a * (p * (2 - p) + m * (2 + m)) + 1j * q / 2 * (p + m))
