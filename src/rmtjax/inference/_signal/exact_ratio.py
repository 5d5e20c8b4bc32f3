r"""The exact law of the largest level over the trace, β = 1 and 2: p-values where the noise is not known.

Let $l_1$ be the largest of the m levels of $X^*X$ for noise of n × m entries, n ≥ m, in units of
$\sigma^2 \cdot 2/\beta$, and T their sum. T is independent of $U = l_1/T$ (Basu) and has the Gamma law with shape
$K = \tfrac\beta2 n m$. So with $S(x) = P(l_1 > x)$ and $w = 1/u$, $S(x)\,x^{-K}\,\Gamma(K)$ is the Laplace transform of
$w^{K - 1} P(U > 1/w)$ in x, and

$$P(U > u) = \Gamma(K)\,w^{1 - K}\,\frac1{2\pi i} \int e^{xw}\,x^{-K} S(x)\,dx .$$

*Half of the trace and more.* Only one level can be above u ≥ ½, so the probability is the integral from u to 1 of the
density of one level, in which all others are smaller. With $K' = \tfrac\beta2 (n - 1)(m - 1)$ and the mean over the
levels $r_i$, of sum 1, of noise of (n - 1) × (m - 1) entries it is

$$\rho(v) = C\,v^{\beta(n + m - 1)/2 - 1}\,(1 - v)^{K' - 1}\; E \prod_{i < m} \Bigl(1 - \tfrac{1 - v}v\,r_i\Bigr)^\beta,
\qquad C = \frac{m\,\Gamma(1 + \frac\beta2)\,\Gamma(K)}
{\Gamma(K')\,\Gamma(\frac\beta2 n)\,\Gamma(1 + \frac\beta2 m)} .$$

The mean is a polynomial whose coefficients fall like $\beta^i/i!$. They are those of the mean of
$\prod (x - \lambda_i)^\beta$ over levels with a free sum, which is a Laguerre polynomial for β = 1 and a Wronskian of
two for β = 2 (Christoffel and Darboux), each over the moment $K'(K' + 1) \cdots$ of the sum. All digits are right,
however small the probability is.

*Less than half.* With $x = Kz/w$ the integral runs along $z = \zeta + i\tau$ through the saddle on the axis. It is a
sum over equidistant τ. In w the sum repeats the function, damped like a Gamma law of shape K, and the step is so small
that the first repetition is below rounding. S is $1 - \det$ or $1 - \mathrm{Pf}$ of `exact`, continued to complex x
with its integrals along $\sqrt x + \text{real}$. The elimination goes on in a basis in which A is a sum of blocks
$\begin{pmatrix}0 & 1\\ -1 & 0\end{pmatrix}$. Its pivots $1 + \delta_j$ are quotients of the same probability for 2j
and 2j - 2 levels. So no root has a wrong sign, and a small $S = 1 - \prod (1 + \delta_j)$ keeps its digits.

For few levels the integrand falls only like a power of τ, because the law of U is not smooth at u = 1, ½, ⅓, …, and the
sum ends at `_MOST` nodes. For real entries the error is then 2e-5 at 3 × 3, where p is above 0.97, 2e-6 at 4 × 3, and
1e-8 at 4 × 4. From 5 × 5 on it is 1e-11.
"""

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from rmtjax._promotion import like
from rmtjax._typing import RealOrComplex
from rmtjax._varying import varies
from rmtjax.inference._signal.exact import ABOVE, BELOW, LAST, change_below, functions_of, rule
from rmtjax.inference._signal.largest_level import remaining
from rmtjax.special.internal import gauss_legendre

# Neglected terms of the sum are e^-32 of its largest.
_EXPONENT = 32.0
_MOST, _CHUNK = 256, 16
# This far below its centre, in units of its scale, the law of Tracy and Widom has the hazard rate 0 of the saddle.
_BEFORE = 0.8
_NUM_NODES = 96


class _Noise(NamedTuple):
    """Constants of noise of n × m entries, each an array with one number for each test."""

    count: Any  # m
    shape: Any  # K
    rest: Any  # K'
    log_constant: Any  # log C
    polynomial: Any  # of the mean, coefficients in descending order
    norm: Any  # Γ(K) K^(1 - K) e^K
    step: Any  # of τ
    nodes: Any  # their number
    lower: Any  # edges of the levels
    upper: Any
    centre: Any  # of the largest level
    scale: Any


def exact_ratio_p_values(
    levels: Float[Array, "*batch k"], rest: Float[Array, "*batch"], n: int, p: int, beta: RealOrComplex
) -> Float[Array, "*batch k"]:
    """The exact p-value of the ratio of each level, descending, to the sum of itself, all later levels and the rest.

    Level k + 1 is compared with noise of (n - k) × (p - k) entries. The last level of all has the p-value 1.
    """
    smaller, tests = min(n, p), levels.shape[-1]
    tested = min(tests, smaller - 1)
    last = jnp.ones_like(levels[..., tested:])
    if not tested:
        return last
    total = remaining(levels, rest)[..., :tested]
    some = total > 0
    ratio = jnp.where(some, levels[..., :tested], 1) / jnp.where(some, total, 1)
    noise = _noise(smaller, abs(n - p), tested, beta)
    columns = jax.tree.map(
        lambda each: jnp.broadcast_to(like(levels, each), (*ratio.shape, *each.shape[1:])).reshape(-1, *each.shape[1:]),
        noise,
    )
    nodes = int(np.max(noise.nodes))
    branches = (
        functools.partial(_half_or_more, excess=abs(n - p), beta=beta),
        functools.partial(_less_than_half, nodes=nodes, size=smaller, excess=abs(n - p), beta=beta),
    )

    def one(test: tuple[Array, _Noise]) -> Float[Array, ""]:
        if smaller == 2:
            return branches[0](*test)
        if varies(ratio):  # `vmap` of `cond` fails inside of `shard_map`
            return jnp.where(test[0] < 0.5, branches[1](*test), branches[0](*test))
        return jax.lax.cond(test[0] < 0.5, *branches[::-1], *test)

    values = jax.lax.map(one, (ratio.reshape(-1), columns)).reshape(ratio.shape)
    return jnp.concatenate([jnp.where(some, values, jnp.nan), last], axis=-1)


def _half_or_more(u: Float[Array, ""], noise: _Noise, *, excess: int, beta: RealOrComplex) -> Float[Array, ""]:
    """The integral of ρ over 1 - v = (1 - u) r², r from where its power is below rounding to 1."""
    u = jnp.clip(u, 0.5, 1)
    behind = jnp.maximum(1 - u, jnp.finfo(u.dtype).tiny)
    nodes, weights = (like(u, each) for each in gauss_legendre(_NUM_NODES))
    start = jnp.exp(-_EXPONENT / 2 / noise.rest)
    r = start + (1 - start) * (nodes + 1) / 2
    v = 1 - behind * r**2
    mean = jnp.polyval(noise.polynomial, (1 - v) / v)
    power = beta * (2 * noise.count + excess - 1) / 2 - 1
    logs = noise.log_constant + noise.rest * jnp.log(behind)
    logs = logs + (2 * noise.rest - 1) * jnp.log(r) + power * jnp.log(v)
    return (1 - start) * jnp.sum(weights * mean * jnp.exp(logs))


def _less_than_half(
    u: Float[Array, ""], noise: _Noise, *, nodes: int, size: int, excess: int, beta: RealOrComplex
) -> Float[Array, ""]:
    """The sum along the line through the saddle. Its nodes do not change with u in a derivative."""
    half = beta / 2
    # Below this ratio the probability is 1 to rounding.
    lowest = jnp.maximum(half * (noise.centre - BELOW * noise.scale) / noise.shape, 1 / noise.count)
    w = 1 / jnp.clip(u, lowest, 0.5)
    fixed = jax.lax.stop_gradient(w)
    tau = jnp.arange(nodes, dtype=u.dtype) * noise.step
    zeta = _saddle(fixed, noise)
    # Beyond, S could overflow where the whole term is 0.
    counts = (noise.rest + 1) / 2 * jnp.log1p((tau / zeta) ** 2) < 1.25 * _EXPONENT
    z = jax.lax.complex(jnp.broadcast_to(zeta, tau.shape), jnp.where(counts, tau, 0))
    survival = jax.vmap(functools.partial(_survival, noise=noise, size=size, excess=excess, beta=beta))

    def values(chunk: tuple) -> Complex[Array, " c"]:
        points, first = chunk
        return jax.lax.cond(first < noise.nodes, survival, jnp.zeros_like, points)

    points = (z * like(z, noise.shape / fixed / half)).reshape(-1, _CHUNK)
    found = jax.lax.map(values, (points, jnp.arange(0, nodes, _CHUNK, dtype=u.dtype))).reshape(-1)
    change = w / fixed
    terms = found * jnp.exp(like(z, noise.shape) * (z * like(z, change) - 1 - jnp.log(z)))
    whole = jnp.sum(jnp.where(counts, jnp.real(terms), 0)) - jnp.real(terms[0]) / 2
    return jnp.clip(noise.norm * noise.step / math.pi * change ** (1 - noise.shape) * whole, 0, 1)


def _saddle(w: Float[Array, ""], noise: _Noise) -> Float[Array, ""]:
    r"""The saddle ζ, from the hazard rate $\sqrt{(x - x_-)(x - x_+)}/x$ of the largest level above its edge."""
    total, product, a = noise.lower + noise.upper, noise.lower * noise.upper, w**2 - 1
    b = w * noise.shape - total / 2
    x = (b + jnp.sqrt(jnp.maximum(b**2 - a * (noise.shape**2 - product), 0))) / a
    return jnp.where(w * noise.upper < noise.shape, jnp.maximum(x * w / noise.shape, 1), 1)


def _survival(
    x: Complex[Array, ""], *, noise: _Noise, size: int, excess: int, beta: RealOrComplex
) -> Complex[Array, ""]:
    """The probability of a level of X*X/σ² above x, continued to the right half of the plane."""
    # 40 nodes have all digits for 5 levels.
    nodes, weights, beyond = rule(min(_NUM_NODES, 32 + 2 * size))
    start = jnp.sqrt(x)
    near = jnp.real(start)
    length = like(x, jnp.sqrt(jnp.maximum(near**2, noise.centre) + ABOVE * noise.scale + LAST) - near)
    y = start + length * like(x, nodes)
    weights = length * like(x, weights)
    # The large terms of log x^a e^-x / a! cancel beforehand.
    middle = max(excess, 1)
    constant = excess * (math.log(middle) - 1) - math.lgamma(excess + 1)
    log_weight = 2 * excess * jnp.log(y / math.sqrt(middle)) - (y**2 - excess) + constant
    a, b, basis, totals = _functions(size, excess)
    inside = np.arange(size, dtype=noise.count.dtype) < noise.count
    functions = functions_of(like(x, a), like(x, b), y**2, log_weight)
    if beta == 2:
        functions = jnp.where(inside[:, None], functions, 0)
        return _loss((weights * y)[None] * functions @ functions.T)
    functions = jnp.where(inside[:, None], _times(basis, functions), 0)
    totals, tail = jnp.where(inside, like(x, totals), 0), functions @ weights
    tails = length * _times(beyond, functions.T).T
    return _paired_loss(_with_partner(change_below(functions, totals, weights, tails, tail), tail, totals, noise.count))


def _times(matrix: np.ndarray, values: Complex[Array, "q k"]) -> Complex[Array, "m k"]:
    """A product with a real matrix, four times as fast by parts."""
    real, imaginary = jnp.real(values), jnp.imag(values)
    return jax.lax.complex(like(real, matrix) @ real, like(real, matrix) @ imaginary)


def _with_partner(
    change: Complex[Array, "m m"], tails: Complex[Array, " m"], totals: Complex[Array, " m"], count: Array
) -> Complex[Array, "m+m%2 m+m%2"]:
    """The change of A, of even order. The border of an odd number becomes the partner of the last function."""
    size = totals.size
    index, odd = np.arange(size, dtype=count.dtype), count % 2 == 1
    before = jnp.where(index < count, jnp.concatenate([jnp.zeros_like(totals[:1]), totals[:-1]]), 0)
    last = jnp.sum(jnp.where(index == count - 1, totals, 0))
    border = jnp.where(odd, -(tails + change @ before) / jnp.where(odd, last, 1), 0)
    more = size % 2
    border, change = jnp.pad(border, (0, more)), jnp.pad(change, ((0, more), (0, more)))
    place = like(change, np.arange(size + more, dtype=count.dtype) == count)
    return change + jnp.outer(border, place) - jnp.outer(place, border)


def _loss(matrix: Complex[Array, "m m"]) -> Complex[Array, ""]:
    """The number 1 - det(1 - M), by elimination."""
    loss = jnp.zeros((), matrix.dtype)
    while matrix.size:
        pivot = matrix[0, 0]
        loss = loss + pivot * (1 - loss)
        matrix = matrix[1:, 1:] + jnp.outer(matrix[1:, 0], matrix[0, 1:]) / (1 - pivot)
    return loss


def _paired_loss(change: Complex[Array, "m m"]) -> Complex[Array, ""]:
    """The number 1 - Pf(A + D) for the sum A of blocks, by elimination of pairs."""
    loss = jnp.zeros((), change.dtype)
    while change.size:
        pivot, first, second = change[0, 1], change[0, 2:], change[1, 2:]
        loss = loss - pivot * (1 - loss)
        outer = jnp.outer(second, first)
        change = change[2:, 2:] + (outer - outer.T) / (1 + pivot)
    return loss


@functools.cache
def _functions(size: int, excess: int) -> tuple[np.ndarray, ...]:
    r"""The recurrence of φ, the functions of the basis as sums of them, and the integrals of these functions.

    With the notation of `exact`, the basis is $\tfrac12 \rho_{i + 1} c_i\,\psi_i$ for even i, and
    $\psi_j/\rho_j - \psi_{j - 2}/\rho_{j - 2}$ for odd j.
    """
    k = np.arange(size + 1.0)
    b = np.sqrt(k * (k + excess))
    c = b[1:] / 2
    rho = np.ones(size + 1)
    for j in range(2, size + 1):
        rho[j] = rho[j - 2] * c[j - 2] / c[j - 1]
    basis, even, odd = np.zeros((size, size)), np.arange(0, size, 2), np.arange(1, size, 2)
    basis[even, even] = rho[even + 1] * c[even] / 2
    basis[odd, odd] = 1 / rho[odd]
    basis[odd[1:], odd[:-1]] = -1 / rho[odd[:-1]]
    log_total = (excess + 1) / 2 * math.log(2) + math.lgamma((excess + 1) / 2) - math.lgamma(excess + 1) / 2
    totals = np.where(np.arange(size) % 2, 0, np.diagonal(basis) * rho[:size] * math.exp(log_total))
    return 2 * k[:-1] + excess + 1, b, basis, totals


@functools.cache
def _noise(smaller: int, excess: int, tested: int, beta: RealOrComplex) -> _Noise:
    """The constants of all tests of a matrix with these sizes."""
    each = (_noise_of(smaller - k, smaller - k + excess, beta, beta * smaller) for k in range(tested))
    return _Noise(*map(np.array, zip(*each, strict=True)))


def _noise_of(m: int, n: int, beta: RealOrComplex, length: int) -> _Noise:
    half = beta / 2
    shape, rest = half * n * m, half * (n - 1) * (m - 1)
    log_constant = math.log(m) + math.lgamma(1 + half) + math.lgamma(shape)
    log_constant -= math.lgamma(rest) + math.lgamma(half * n) + math.lgamma(1 + half * m)
    norm = math.sqrt(2 * math.pi * shape) * math.exp(_remainder(shape))
    shift = 0.5 - 1 / beta
    roots = math.sqrt(n + shift), math.sqrt(m + shift)
    centre, scale = sum(roots) ** 2, sum(roots) * (1 / roots[0] + 1 / roots[1]) ** (1 / 3)
    lower, upper = half * (math.sqrt(n) - math.sqrt(m)) ** 2, half * (centre - _BEFORE * scale)
    # A Gamma law falls from its mean to the exponent E within this multiple of the mean.
    width = _EXPONENT / shape + math.sqrt(2 * _EXPONENT / shape)
    step = 2 * math.pi / width / shape
    # At u = ½, the worst, the integrand falls like the power K' + 1 of the distance from 0.
    b = 2 * shape - (lower + upper) / 2
    saddle = 2 / shape * (b + math.sqrt(max(b**2 - 3 * (shape**2 - lower * upper), 0))) / 3
    farthest = max(saddle, 1) * math.sqrt(math.expm1(min(2 * _EXPONENT / (rest + 1), _EXPONENT)))
    nodes = min(_CHUNK * math.ceil(farthest / step / _CHUNK), _MOST)
    polynomial = _mean(m - 1, n - 1, beta, length)
    return _Noise(
        m, shape, rest, log_constant, polynomial, norm, step, _CHUNK if m == 2 else nodes, lower, upper, centre, scale
    )


def _remainder(x: float) -> float:
    """Stirling's remainder of log Γ(x), without the cancellation of its large terms."""
    if x < 30:
        return math.lgamma(x) - (x - 0.5) * math.log(x) + x - math.log(2 * math.pi) / 2
    return (1 / 12 - (1 / 360 - 1 / 1260 / x**2) / x**2) / x


def _mean(m: int, n: int, beta: RealOrComplex, length: int) -> np.ndarray:
    """Coefficients, from the power `length` - 1 down, of the mean of ∏(1 - r x)^β over levels r of sum 1."""
    if beta == 1:
        of_free_sum = [(-1) ** i * math.comb(m, i) * math.perm(n, i) for i in range(m + 1)]
    else:
        monic = lambda k: [(-1) ** i * math.comb(k, i) * math.perm(k + n - m, i) for i in range(k + 1)]
        (low, high), of_free_sum = (monic(m), monic(m + 1)), [0] * (2 * m + 2)
        for i, one in enumerate(low):
            for j, other in enumerate(high):
                of_free_sum[i + j] += one * other * (1 + i - j)  # The Wronskian; the degrees are m - i and m + 1 - j.
    # The moments of the free sum, 2/β times a Gamma variable with the shape βnm/2, are integers.
    coefficients, moment = np.zeros(length), 1
    for i, each in enumerate(of_free_sum[:length]):
        coefficients[i], moment = each / moment, moment * (n * m + 2 * i // beta)
    return coefficients[::-1].copy()
