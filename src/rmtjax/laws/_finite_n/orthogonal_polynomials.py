r"""The density of one level at finite n, for β = 1, 2 and 4 and the classical weights.

Notation as in `special._classical_weights`; $\psi_k = \varphi_k/\sqrt f$ and $T_k(x) = \int_x^\infty \psi_k$, with

$$c_k T_{k+1} = c_{k-1} T_{k-1} + \sqrt f \varphi_k, \qquad T_k = \sqrt{f w}\,t_k + r_k T_0,$$

the integral of the skew relation: $t_{-1} = t_0 = 0$ and $c_k t_{k+1} = c_{k-1} t_{k-1} + p_k$; $r_k$ is 0 for odd k.
The joint densities are $\prod |x_i - x_j|^\beta \prod v(x_i)$ with v = w for β = 2, $\sqrt{w/f}$ for β = 1 and f w
for β = 4. The densities $R$ of all n levels are, with $S_m = \sum_{k<m} p_k^2$,

    β = 2:  R = w S_n,
    β = 1:  R = w [S_{n-1} - c_{n-2} p_{n-1} t_{n-2}] + √(w/f) p_{n-1} G,
            G = ½ c_{n-2} r_{n-2} τ h(x) for even n, 1/(r_{n-1} τ) for odd n,

with $\tau = \int \psi_0$ and h the part of it below x less the part above. (Adler, Forrester, Nagao and
van Moerbeke 2000, arXiv:solv-int/9907001.) In the tails the last term is all, and nothing cancels. For β = 4 they have
$2R = w S_{2n} - c_{2n-1} \psi_{2n} T_{2n-1}$, where at a hard edge all digits cancel. From n to n + 1 this grows by
$\varphi_{2n+1}^2 + (\sqrt f \varphi_{2n+1})'\,T_{2n+1} = f u'^2 - u (f u')'$ with
$u = T_{2n+1} = \sqrt{f w}\,q$, that is $-u^2 (f (\log u)')'$, so

    β = 4: 2R = f w Σ_{j<n} [κ_0 q_j² - f' q_j q_j' + f (q_j'² - q_j q_j'')],   q_j = t_{2j+1},

as $\kappa_0 = -\frac12 (f (\log f w)')'$. Beyond the zeros of q nothing cancels here.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np

from rmtjax.special import gauss_legendre
from rmtjax.special.internal import AbstractWeight, HermiteWeight, JacobiWeight, Values

# A tail is followed until the density has fallen by a factor of at least e^-40.
REACH = 40.0
_NUM_NODES = 64


@dataclass(frozen=True)
class ClassicalEnsemble:
    """An orthogonal, unitary or symplectic ensemble of n levels with a classical weight; static and hashable."""

    weight: AbstractWeight
    n: int
    beta: int

    @property
    def degree(self) -> int:
        """The degree of the last polynomial in the density, and in its oscillations."""
        return 2 * self.n - 1 if self.beta == 4 else self.n - 1

    @property
    def multiplicity(self) -> int:
        """How many factors φ the density has in the tails."""
        return 1 if self.beta == 1 else 2

    @property
    def power(self) -> float:
        """The power of the distance in the density at the lower end."""
        a = self.weight.power()
        return {1: (a - 1) / 2, 2: a, 4: a + 1}[self.beta]

    def reflected(self) -> "ClassicalEnsemble | None":
        """The ensemble of the levels 1 - x, or -x, where it is of the same kind."""
        weight = self.weight
        if isinstance(weight, JacobiWeight):
            return ClassicalEnsemble(JacobiWeight(weight.b, weight.a), self.n, self.beta)
        return self if isinstance(weight, HermiteWeight) else None

    def reflect(self, x: Values) -> Values:
        """The point of the reflected levels."""
        return 1 - x if isinstance(self.weight, JacobiWeight) else -x


def log_density(ensemble: ClassicalEnsemble, xp: ModuleType, x: Values) -> Values:
    """The logarithm of the density of one level, in relative accuracy beyond the last levels too."""
    weight, n, beta = ensemble.weight, ensemble.n, ensemble.beta
    f, slope = weight.factor(x)
    log_weight = weight.log_density(xp, x)
    polynomial, primitive, total, exponent = _recur(ensemble, xp, x, f, slope)
    scale = math.log(2) * exponent
    if beta == 2:
        return xp.log(total) + 2 * scale + log_weight - math.log(n)
    if beta == 4:
        return xp.log(total * f) + 2 * scale + log_weight - math.log(2 * n)
    c, ratio = _coefficients(ensemble)
    half_total = weight.half_total()
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


def _recur(ensemble: ClassicalEnsemble, xp: ModuleType, x: Values, f: Values, slope: Values) -> tuple[Values, ...]:
    r"""Polynomial, t and sum of the formulas above, in units of $2^e$, $2^e$ and $4^e$, and e.

    The polynomials are Taylor coefficients, [p] or [p, p', p''/2].
    """
    n, beta = ensemble.n, ensemble.beta
    order = 3 if beta == 4 else 1
    num_steps = {1: n - 1, 2: n, 4: 2 * n - 1}[beta]
    a, b, kappa = ensemble.weight.recurrence(num_steps + 2)
    c = kappa[:-1] * b[1:]
    first = float(kappa[0])
    before = np.append(0.0, c)[: num_steps + 1]

    def step(carry: tuple, row: tuple) -> tuple:
        p_before, p, t_before, t, total, exponent = carry
        a_k, b_k, b_next, c_before, c_k, counted = row
        p_next = [((x - a_k) * p[i] + (p[i - 1] if i else 0) - b_k * p_before[i]) / b_next for i in range(order)]
        t_next = [(c_before * t_before[i] + p[i]) / c_k for i in range(order)]
        if beta == 4:
            q, first_q, second_q = t_next
            term = first * q**2 - slope * q * first_q + f * (first_q**2 - 2 * q * second_q)
            total = total + counted * term
        else:
            total = total + p[0] ** 2
        # The unit changes by a power of 2, the quotient of the mantissa and the number, without any rounding.
        size = _constant(xp, abs(p[0]) + abs(p_next[0]))
        mantissa, shift = xp.frexp(size)
        unit = mantissa / size
        rescaled = [[unit * y for y in series] for series in (p, p_next, t, t_next)]
        return *rescaled, unit**2 * total, exponent + shift

    zero, one = 0 * x, 1 + 0 * x
    nothing, start = [zero] * order, [one] + [zero] * (order - 1)
    counted = 1.0 - np.arange(num_steps) % 2
    table = [a[:num_steps], b[:num_steps], b[1 : num_steps + 1], before[:num_steps], c[:num_steps], counted]
    _, p, t_before, _, total, exponent = _fold(xp, step, (nothing, start, nothing, nothing, zero, zero), table, x.dtype)
    return p[0], t_before[0], total, exponent


def _fold(xp: ModuleType, step: Callable, carry: tuple, table: list[np.ndarray], dtype: np.dtype) -> tuple:
    """The recurrence over the rows of the table."""
    if xp is np:
        rows: Iterable = zip(*table, strict=True)
        for row in rows:
            carry = step(carry, row)
        return carry
    columns = [jnp.asarray(column, dtype) for column in table]
    return jax.lax.scan(lambda carry, row: (step(carry, row), None), carry, columns)[0]


def _constant(xp: ModuleType, value: Values) -> Values:
    return value if xp is np else jax.lax.stop_gradient(value)


def decay(ensemble: ClassicalEnsemble, xp: ModuleType, x: Values) -> Values:
    """The rate of decay of the logarithm of the density in the tails; 0 between the turning points."""
    constant, linear, quadratic = ensemble.weight.well(ensemble.degree)
    barrier = -(constant + x * (linear + x * quadratic))
    inside = barrier <= 0
    rate = ensemble.multiplicity * xp.sqrt(xp.where(inside, 1, barrier)) / ensemble.weight.factor(x)[0]
    return xp.where(inside, 0, rate)


def log_tail(ensemble: ClassicalEnsemble, xp: ModuleType, x: Values, *, upper: bool) -> Values:
    """The logarithm of the probability beyond x, far enough outside, by quadrature to relative accuracy."""
    reflected = ensemble.reflected()
    if reflected is not None and upper != isinstance(ensemble.weight, HermiteWeight):
        # Distances from 0 keep their digits, those from 1 do not; the line needs one tail only.
        return log_tail(reflected, xp, ensemble.reflect(x), upper=not upper)
    rate = decay(ensemble, xp, x)
    length = REACH / xp.where(rate > 0, rate, 1)
    if not upper:
        length = xp.where(rate > 0, xp.minimum(length, x), x)
    nodes, weights = gauss_legendre(_NUM_NODES)
    # In the root of the distance from the far end, where that is a hard edge, the density has whole powers.
    root = xp.asarray((nodes + 1) / 2, x.dtype)
    measure = xp.asarray(weights * (nodes + 1) / 2, x.dtype)
    far = x[..., None] + (length[..., None] if upper else -length[..., None])
    at = far - length[..., None] * root**2 if upper else far + length[..., None] * root**2
    # All in one call, which is compiled once.
    heights = log_density(ensemble, xp, xp.concatenate([at, x[..., None]], axis=-1))
    height = heights[..., -1]
    return height + xp.log(length * xp.sum(measure * xp.exp(heights[..., :-1] - height[..., None]), axis=-1))
