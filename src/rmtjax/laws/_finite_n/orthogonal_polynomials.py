r"""The density of one level at finite n, for β = 1, 2 and 4 and the classical weights.

In the notation of `special._classical_weights`, with $\psi_k = \varphi_k/\sqrt f$ and $T_k(x) = \int_x^\infty \psi_k$,

$$c_k T_{k+1} = c_{k-1} T_{k-1} + \sqrt f \varphi_k, \qquad T_k = \sqrt{f w}\,t_k + r_k T_0,$$

by integration of the skew relation. Here $t_{-1} = t_0 = 0$, $c_k t_{k+1} = c_{k-1} t_{k-1} + p_k$, and $r_k$ is 0 for
odd k. The joint densities are $\prod |x_i - x_j|^\beta \prod v(x_i)$ with v = w for β = 2, $\sqrt{w/f}$ for β = 1
and f w for β = 4. The densities $R$ of all n levels are, with $S_m = \sum_{k<m} p_k^2$,

    β = 2:  R = w S_n,
    β = 1:  R = w [S_{n-1} - c_{n-2} p_{n-1} t_{n-2}] + √(w/f) p_{n-1} G,
            G = ½ c_{n-2} r_{n-2} τ h(x) for even n, 1/(r_{n-1} τ) for odd n,

with $\tau = \int \psi_0$ and h the fraction of it below x minus the fraction above (Adler, Forrester, Nagao and
van Moerbeke 2000, arXiv:solv-int/9907001). In the tails only the last term matters, and nothing cancels. For β = 4 they
give $2R = w S_{2n} - c_{2n-1} \psi_{2n} T_{2n-1}$, in which all digits cancel at a hard edge. From n to n + 1, 2R
grows by $\varphi_{2n+1}^2 + (\sqrt f \varphi_{2n+1})'\,T_{2n+1} = f u'^2 - u (f u')' = -u^2 (f (\log u)')'$ with
$u = T_{2n+1} = \sqrt{f w}\,q$, so

    β = 4: 2R = f w Σ_{j<n} [κ_0 q_j² - f' q_j q_j' + f (q_j'² - q_j q_j'')],   q_j = t_{2j+1},

because $\kappa_0 = -\frac12 (f (\log f w)')'$. Beyond the zeros of q nothing cancels here.
"""

import functools
import math
from dataclasses import dataclass
from enum import IntEnum
from types import ModuleType
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from rmtjax.special.internal import AbstractWeight, HermiteWeight, JacobiWeight, Values, gauss_legendre

# A tail is integrated, with this many nodes, until the density has fallen by a factor of at least e^-40.
REACH = 40.0
_NUM_NODES = 64


class Side(IntEnum):
    """The lower or the upper side of a spectrum: an index into a pair, with the sign of the direction outwards."""

    LOWER, UPPER = 0, 1

    @property
    def opposite(self) -> "Side":
        return Side(1 - self)

    @property
    def sign(self) -> int:
        return 2 * self - 1


@dataclass(frozen=True)
class ClassicalEnsemble:
    """An orthogonal, unitary or symplectic ensemble of n levels with a classical weight; static and hashable."""

    weight: AbstractWeight
    n: int
    beta: int

    @property
    def degree(self) -> int:
        """The degree of the highest polynomial in the density, which decides how the density oscillates."""
        return 2 * self.n - 1 if self.beta == 4 else self.n - 1

    @property
    def multiplicity(self) -> int:
        """The number of factors φ in the density in the tails."""
        return 1 if self.beta == 1 else 2

    @property
    def power(self) -> float:
        """The power of the distance from the lower end in the density."""
        a = self.weight.power()
        return {1: (a - 1) / 2, 2: a, 4: a + 1}[self.beta]

    def reflected(self) -> "ClassicalEnsemble | None":
        """The ensemble of the reflected levels, 1 - x or -x, if it is of the same kind."""
        weight = self.weight
        if isinstance(weight, JacobiWeight):
            return ClassicalEnsemble(JacobiWeight(weight.b, weight.a), self.n, self.beta)
        return self if isinstance(weight, HermiteWeight) else None

    def reflect(self, x: Values) -> Values:
        """The reflection of the point x."""
        return 1 - x if isinstance(self.weight, JacobiWeight) else -x

    def mirror(self, side: Side) -> "ClassicalEnsemble | None":
        """The reflected ensemble if its other side serves for this side, as only distances from 0 have all digits."""
        known = Side.UPPER if isinstance(self.weight, HermiteWeight) else Side.LOWER
        return None if side is known else self.reflected()


def log_density(ensemble: ClassicalEnsemble, xp: ModuleType, x: Values) -> Values:
    """The logarithm of the density of one level; the relative accuracy of the density also holds in the tails."""
    weight, n, beta = ensemble.weight, ensemble.n, ensemble.beta
    f, slope = weight.factor(x)
    log_weight = weight.log_density(xp, x)
    end = _recur(ensemble, xp, x, f, slope)
    polynomial, primitive, total, scale = end.p[0], end.t_before[0], end.total, math.log(2) * end.exponent
    if beta == 2:
        return xp.log(total) + 2 * scale + log_weight - math.log(n)
    if beta == 4:
        return xp.log(total * f) + 2 * scale + log_weight - math.log(2 * n)
    # Python numbers leave the precision to x.
    c, ratio = (each.tolist() for each in _coefficients(ensemble))
    half_total = float(weight.half_total())
    if n % 2:
        constant = 1 / (ratio[n - 1] * half_total)
    else:
        constant = c[n - 2] * ratio[n - 2] * half_total / 2 * weight.half_mass(xp, x)
    root = scale + log_weight / 2
    main = xp.exp(root) * (total - (c[n - 2] * polynomial * primitive if n > 1 else 0))
    return root + xp.log(main + polynomial * constant / xp.sqrt(f)) - math.log(n)


def _coefficients(ensemble: ClassicalEnsemble) -> tuple[np.ndarray, np.ndarray]:
    """The coefficients c_k and r_k."""
    _, b, kappa = ensemble.weight.recurrence(ensemble.n + 2)
    c = kappa[:-1] * b[1:]
    ratio = np.zeros(ensemble.n + 1)
    ratio[0] = 1
    for k in range(2, ensemble.n + 1, 2):
        ratio[k] = ratio[k - 2] * c[k - 2] / c[k - 1]
    return c, ratio


class _State(NamedTuple):
    """The recurrence at step k, with polynomials as Taylor coefficients, [p] or for β = 4 [p, p', p''/2]."""

    p_before: list[Values]  # p_{k-1}, in units of 2^e like all the polynomials
    p: list[Values]  # p_k
    t_before: list[Values]  # t_{k-1}
    t: list[Values]  # t_k
    total: Values  # the sum in the density, in units of 4^e
    exponent: Values  # e


def _recur(ensemble: ClassicalEnsemble, xp: ModuleType, x: Values, f: Values, slope: Values) -> _State:
    """The recurrences for p, t and the sum in the formulas above, up to the last step that the density needs."""
    n, beta = ensemble.n, ensemble.beta
    order = 3 if beta == 4 else 1
    num_steps = {1: n - 1, 2: n, 4: 2 * n - 1}[beta]
    a, b, kappa = ensemble.weight.recurrence(num_steps + 2)
    c = kappa[:-1] * b[1:]
    first = float(kappa[0])

    def step(now: _State, row: list | tuple) -> _State:
        a_k, b_k, b_next, c_before, c_k, counted = row
        below = [0, *now.p]
        p_next = [((x - a_k) * now.p[i] + below[i] - b_k * now.p_before[i]) / b_next for i in range(order)]
        t_next = [(c_before * now.t_before[i] + now.p[i]) / c_k for i in range(order)]
        if beta == 4:
            q, first_q, second_q = t_next
            total = now.total + counted * (first * q**2 - slope * q * first_q + f * (first_q**2 - 2 * q * second_q))
        else:
            total = now.total + now.p[0] ** 2
        # The unit changes by a power of 2, the quotient of the mantissa and the number, so nothing is rounded.
        size = abs(now.p[0]) + abs(p_next[0])
        size = size if xp is np else jax.lax.stop_gradient(size)
        mantissa, shift = xp.frexp(size)
        unit = mantissa / size
        scale = lambda series: [unit * y for y in series]
        return _State(
            scale(now.p),
            scale(p_next),
            scale(now.t),
            scale(t_next),
            unit**2 * total,
            now.exponent + shift.astype(x.dtype),
        )

    zero, one = 0 * x, 1 + 0 * x
    nothing = [zero] * order
    state = _State(nothing, [one, *nothing[1:]], nothing, nothing, zero, zero)
    counted = 1.0 - np.arange(num_steps) % 2
    before = np.append(0.0, c)[:num_steps]
    columns = [a[:num_steps], b[:num_steps], b[1 : num_steps + 1], before, c[:num_steps], counted]
    if xp is np:
        return functools.reduce(step, zip(*columns, strict=True), state)
    return jax.lax.scan(lambda now, row: (step(now, row), None), state, [jnp.asarray(y, x.dtype) for y in columns])[0]


def decay(ensemble: ClassicalEnsemble, xp: ModuleType, x: Values) -> Values:
    """The rate at which the logarithm of the density falls in the tails; 0 between the turning points."""
    constant, linear, quadratic = ensemble.weight.well(ensemble.degree)
    barrier = -(constant + x * (linear + x * quadratic))
    inside = barrier <= 0
    rate = ensemble.multiplicity * xp.sqrt(xp.where(inside, 1, barrier)) / ensemble.weight.factor(x)[0]
    return xp.where(inside, 0, rate)


def log_tail(ensemble: ClassicalEnsemble, xp: ModuleType, x: Values, side: Side) -> Values:
    """The logarithm of the probability beyond x, for x in the tails, by a quadrature of small relative error."""
    mirror = ensemble.mirror(side)
    if mirror is not None:
        return log_tail(mirror, xp, ensemble.reflect(x), side.opposite)
    rate = decay(ensemble, xp, x)
    length = REACH / xp.where(rate > 0, rate, 1)
    if side is Side.LOWER:
        length = xp.where(rate > 0, xp.minimum(length, x), x)
    nodes, weights = gauss_legendre(_NUM_NODES)
    # If the far end is a hard edge, the density has whole powers of the root of the distance from it.
    root = xp.asarray((nodes + 1) / 2, x.dtype)
    measure = xp.asarray(weights * (nodes + 1) / 2, x.dtype)
    outwards = side.sign * length[..., None]
    root, measure = (each.reshape((1,) * x.ndim + each.shape) for each in (root, measure))
    at = x[..., None] + outwards - outwards * root**2
    # All points go into one call, which is compiled once.
    heights = log_density(ensemble, xp, xp.concatenate([at, x[..., None]], axis=-1))
    height = heights[..., -1]
    return height + xp.log(length * xp.sum(measure * xp.exp(heights[..., :-1] - height[..., None]), axis=-1))
