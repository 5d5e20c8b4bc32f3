r"""Exponential, log-normal and cut-off laws of the tail of a sample against a power law, on any support.

All are exponential families $\propto e^{\eta \cdot T}$ of functions of $z = \log(x/x_{\min})$: z for the power law,
$(z, z^2)$ for log-normal laws, $(z, x)$ for a power law with a cut-off, and x for exponential laws. Sums over the
support are sums over nodes, which are its single numbers and panels of Gauss and Legendre. Each law is given by the
logarithm $\Delta(z)$ of its density over that of the power law, up to a constant for which its mean over the m values
is 0. Then the logarithm of the ratio of likelihoods is $m \log \sum_z p(z) e^{\Delta(z)}$ with the power law p. The
likelihood is concave, and its derivatives are moments over the nodes.

The power law lies on the boundary $\eta_2 = 0$ of log-normal laws. So twice the logarithm of the ratio of the
likelihoods is 0 or a $\chi^2$ variate of one degree of freedom, with probability one half each. Vuong's normal law does
not hold for nested families.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfc
from jaxtyping import Array, Bool, Float

from rmtjax._module import AbstractModule
from rmtjax._promotion import like
from rmtjax.inference._fits.tail_search import Tail
from rmtjax.inference._fits.tail_supports import Point, Support, terms
from rmtjax.special.internal import gauss_legendre
from rmtjax.statistics import Estimate

# The ends of panels: in units of the mean of z or of 1/(α - 1), where e^-48 is below rounding; in standard deviations
# from the mean, for narrow log-normal laws; and in z from the largest value, near which exponential laws end.
_PANELS = np.concatenate([np.arange(0, 2, 0.2), np.arange(2, 6, 0.4), np.arange(6, 16, 1.0), np.arange(16, 49, 2.0)])
_NARROW = np.arange(-8.0, 9.0)
_SHARP = np.arange(-8.0, 5.0)
_NODES = 8
# Newton's method takes up to 10 steps for most samples.
_STEPS = 60


class LikelihoodRatio(AbstractModule):
    """A power law against another law of the same tail.

    Args:
        log_ratio: log-likelihood of the power law minus that of the other law; positive in favour of the power law.
        p_value: probability of a ratio as far from 0 if both laws were equally near the truth (exponential law), or if
            the power law were true (log-normal law).

    Example:
        >>> import jax.numpy as jnp
        >>> from rmtjax.inference import fit_tail
        >>> test = fit_tail(jnp.arange(10.0, 100.0), minimum=10.0).exponential
        >>> print(f"{test.log_ratio:.1f}, {test.p_value:.4f}")
        -43.9, 0.0000
    """

    log_ratio: Float[Array, "*batch"]
    p_value: Float[Array, "*batch"]


class TailCutOff(AbstractModule):
    r"""A power law with an exponential cut-off, $\propto x^{-\alpha} e^{-\lambda x}$, and a pure one against it.

    With $\alpha \le 3$ x has no variance at λ = 0, and twice the log-ratio is larger than the half of a χ² variate that
    it is otherwise. So the p-value is that of a χ² variate of one degree of freedom. At the level 5 % it rejects a true
    power law in 6.5 % of samples of 1000 values for α = 1.3, in 4.5 % for 1.7 and in 3.5 % for 2.5 (2000 samples each).

    Args:
        exponent: α, with its standard error by the information.
        rate: λ ≥ 0, in the reciprocal unit of the values, with its standard error. It is 0 where no cut-off is better
            than the pure law; the standard error is NaN there, and the exponent is that of the pure law.
        log_ratio: log-likelihood of the pure power law minus that of the law with the cut-off; never positive.
        p_value: probability of a ratio as far from 0 if the pure power law were true.

    Example:
        >>> import jax
        >>> from rmtjax.inference import fit_tail
        >>> x = 1 + jax.random.exponential(jax.random.key(0), (500,))
        >>> print(fit_tail(x, minimum=1.0, cut_off=True).cut_off.p_value < 1e-6)
        True
    """

    exponent: Estimate[Float[Array, "*batch"]]
    rate: Estimate[Float[Array, "*batch"]]
    log_ratio: Float[Array, "*batch"]
    p_value: Float[Array, "*batch"]


class Comparisons(NamedTuple):
    """The power law against the other laws."""

    exponent: Estimate[Float[Array, ""]]
    exponential: LikelihoodRatio
    log_normal: LikelihoodRatio
    drift: Float[Array, ""]
    cut_off: TailCutOff | None


class _Nodes(NamedTuple):
    """Points of the support, as z, with signed weights, whose modulus is given by its logarithm."""

    z: Float[Array, " k"]
    log_weight: Float[Array, " k"]
    sign: Float[Array, " k"]


class _Laws(NamedTuple):
    """Laws Δ = c·T at the nodes of the support, relative to a power law there; the functions T have the mean 0."""

    log_power: Float[Array, " k"]
    sign: Float[Array, " k"]
    functions: Float[Array, "3 k"]
    # All products of 1 and the functions.
    products: Float[Array, "k 16"]

    def moments(self, law: Float[Array, "f 3"]) -> tuple[Float[Array, "f 3"], Float[Array, "f 3 3"]]:
        """The means and covariances of the functions."""
        exponent = self.log_power[None] + _product(law, self.functions)
        weights = self.sign[None] * jnp.exp(exponent - jnp.max(exponent, axis=-1, keepdims=True))
        sums = _product(weights, self.products)
        sums = (sums / sums[:, :1]).reshape(-1, 4, 4)
        mean = sums[:, 0, 1:]
        return mean, sums[:, 1:, 1:] - mean[:, None] * mean[..., None]

    def gain(self, law: Float[Array, "f 3"]) -> Float[Array, " f"]:
        """The logarithm of the sum of p e^Δ without a difference of two nearly equal sums."""
        excess, power = _product(law, self.functions), self.sign * jnp.exp(self.log_power)
        near = power[None] * jnp.expm1(jnp.minimum(excess, 1))
        far = self.sign[None] * jnp.exp(self.log_power[None] + jnp.maximum(excess, 1)) - power[None]
        return jnp.log1p(_product(jnp.where(excess < 1, near, far), jnp.ones_like(power)))


def comparisons(support: Support, x: Point, found: Tail, unit: Float[Array, ""], cut_off: bool) -> Comparisons:
    """The tests against other laws, also against a cut-off if asked; the logarithms of x are those in a unit."""
    fixed, closed = jax.lax.stop_gradient, support.end is None and not support.discrete
    tail, size = x.value >= found.begin.value, like(x.log, found.size)
    weight = jnp.where(tail, 1 / size, 0)
    begin = support.place(found.begin)
    z = jnp.where(tail, jnp.where(tail, x.log, 0) - begin.log, 0)
    mean = _product(z, weight)
    rate, scale, largest = found.rate, *fixed((mean, z[-1]))
    deviation = fixed(jnp.sqrt(_product((z - mean) ** 2, weight)))
    nodes = _nodes(support, begin, fixed(rate), scale, deviation, largest)

    # In units of the mean and of the largest value.
    functions = lambda z: jnp.stack([z / scale, (z / scale - 1) ** 2, jnp.exp(jnp.minimum(z - largest, _most(z)))])
    values = functions(z)
    means = fixed(_product(values, weight))
    # Zeros with the derivatives of the means.
    change = _product(values, weight) - means
    at_nodes = functions(nodes.z) - means[:, None]
    power = -(rate + 1) * scale
    log_power = power * at_nodes[0] + nodes.log_weight
    log_power = log_power - jnp.max(log_power)
    log_power = log_power - jnp.log(_product(jnp.exp(log_power), nodes.sign))
    all_four = jnp.concatenate([jnp.ones_like(nodes.z)[None], at_nodes])
    products = (all_four[:, None] * all_four[None]).reshape(16, -1).T
    laws = _Laws(log_power, nodes.sign, at_nodes, products)

    base, covariance = (each[0] for each in laws.moments(jnp.zeros_like(means)[None]))
    regression = covariance[0, 1:] / covariance[0, 0]
    information = jnp.diagonal(covariance)[1:] - covariance[0, 1:] * regression
    # On two numbers all functions are one, and no other law is better.
    apart = information > _rounding(z) * jnp.diagonal(covariance)[1:]
    # The likelihood is concave, so that its slope at the power law decides whether a law that holds it is better.
    better = jnp.append(jnp.isfinite(mean), apart & (base[1:] > 0))[: 2 + cut_off]
    # The exponential and geometric law without an end.
    above = means[2] - jnp.exp(-largest)
    step = jnp.exp(-largest) / begin.value
    steepest = jnp.log1p(step / above) / step if support.discrete else 1 / above
    none = jnp.zeros_like(scale)
    start = jnp.stack([-power, none, -steepest, none, none, none, none, none, none - 1])
    law = _most_likely(support.end is not None, laws, start.reshape(3, 3)[: 2 + cut_off], change, better)
    gain = laws.gain(law)
    better = better & jnp.isfinite(gain)
    ratio = jnp.where(better, size * (gain - _product(law, change)), 0)
    spread = jnp.sqrt(size * _product(_product(law[0], values - means[:, None]) ** 2, weight))

    tests = _tests(ratio, spread, size, jnp.abs(power) * largest / scale)
    variance = mean**2 if closed else covariance[0, 0] * scale**2
    information = jnp.where(apart[0], information[0], jnp.nan)
    slope = change[1] - base[1]
    bound = jnp.abs(slope) / information + 1.6448 / jnp.sqrt(size * information)
    longest = jnp.log(size) / jnp.maximum(rate, 0)
    if support.end is not None:
        longest = jnp.minimum(longest, support.end.log - begin.log)
    cut = None
    if cut_off:
        better, largest = better[2] & (tests[2].log_ratio < 0), jnp.exp(largest + begin.log) * unit
        cut = _cut_off(laws, law[2], power, better, tests[2], size, scale, largest)
    return Comparisons(
        exponent=Estimate(1 + rate, 1 / jnp.sqrt(size * variance)),
        exponential=tests[0],
        log_normal=tests[1],
        drift=2 * bound / scale**2 * longest / (rate if support.end is None else 1),
        cut_off=cut,
    )


def _tests(ratio: Float[Array, " f"], spread: Array, size: Array, most: Array) -> tuple[LikelihoodRatio, ...]:
    """Vuong's test against the exponential law, and those of laws on the boundary of a family, in one call of erfc."""
    kinds = np.arange(ratio.size)
    nested, share = jnp.asarray(kinds > 0), jnp.asarray(np.where(kinds == 1, 0.5, 1), ratio.dtype)
    # Two laws may be one and the same, such as uniform ones up to an end; they then differ by rounding.
    apart = spread > 64 * jnp.finfo(spread.dtype).eps * jnp.sqrt(size) * (1 + most)
    differ = jnp.where(nested, ratio < 0, apart)
    ratio = jnp.where(nested & ~differ, 0, ratio)
    root = jnp.sqrt(jnp.where(nested & differ, -ratio, 1))
    place = jnp.where(nested, root, jnp.abs(ratio) / (2**0.5 * jnp.where(apart, spread, 1)))
    p_value = jnp.where(differ, share * erfc(place), 1 + 0 * ratio)
    return tuple(LikelihoodRatio(ratio[i], p_value[i]) for i in kinds)


def _cut_off(
    laws: _Laws, law: Float[Array, " 3"], power: Array, better: Array, test: LikelihoodRatio, size: Array, *each: Array
) -> TailCutOff:
    """The law with a cut-off in the unit of the values, with errors by the information."""
    law = jnp.where(better, law, 0)
    covariance = laws.moments(law[None])[1][0]
    a, b, d = covariance[0, 0], covariance[0, 2], covariance[2, 2]
    pure = jnp.stack([1 / jnp.sqrt(a * size), jnp.full_like(size, jnp.nan)])
    errors = jnp.where(better, jnp.sqrt(jnp.stack([d, a]) / jnp.where(better, (a * d - b**2) * size, 1)), pure)
    exponent = Estimate(-(power + law[0]) / each[0], errors[0] / each[0])
    # The rate of the pure law is 0 and not -0.
    return TailCutOff(exponent, Estimate(jnp.abs(law[2]) / each[1], errors[1] / each[1]), test.log_ratio, test.p_value)


def _rounding(a: Array) -> float:
    """The share of a variance that may be left by rounding."""
    return 16 * float(jnp.finfo(a.dtype).eps)


def _most(z: Array) -> float:
    """A logarithm whose exponential is far from overflow."""
    return 0.4 * float(np.log(jnp.finfo(z.dtype).max))


def _product(a: Float[Array, "*f k"], b: Float[Array, "k ..."]) -> Array:
    """Sums as a product in full precision, which compile to fewer kernels than the sums of an array along an axis."""
    return jax.lax.dot_general(a, b, (((a.ndim - 1,), (0,)), ((), ())), precision=jax.lax.Precision.HIGHEST)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _most_likely(
    ascends: bool, laws: _Laws, start: Float[Array, "f 3"], means: Float[Array, " 3"], better: Bool[Array, " f"]
) -> Float[Array, "f 3"]:
    """The best laws for the means over the values, by Newton's method with steps 1/(1 + δ) for the decrement δ.

    They are 0 where none is better than 0.

    The laws are of the functions 2, 0 and 1, and 0 and 2. Only an exponential law up to an end may ascend. Otherwise
    the last component stays below a share of its last value and thus negative.
    """
    tolerance = 1000 * float(jnp.finfo(start.dtype).eps)
    kinds = np.arange(start.shape[0])
    both, normal = jnp.asarray(kinds > 0), jnp.asarray(kinds == 1)
    share = jnp.asarray(np.where(kinds == 1, 0, 0.25), start.dtype)

    def unfinished(state: tuple[Array, Array, Array]) -> Array:
        return (state[0] < _STEPS) & (state[2] > tolerance)

    def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        i, law, _ = state
        mean, covariance = laws.moments(law)
        first, last, decrement = _newton(means[None] - mean, covariance)
        damped = jnp.where(decrement < 0.25, 1, 1 / (1 + decrement))
        before = jnp.where(normal, law[:, 1], law[:, 2])
        after = before + last * damped
        bound = share * before
        after = jnp.minimum(after, jnp.where(both, bound, jnp.inf) if ascends else bound)
        first = law[:, 0] + first * damped
        moves = better & jnp.isfinite(first) & jnp.isfinite(after)
        moved = _components(first, after)
        return i + 1, jnp.where(moves[:, None], moved, law), jnp.max(jnp.where(moves, decrement, 0))

    first = jnp.where(better[:, None], start, 0)
    return jax.lax.while_loop(unfinished, step, (jnp.asarray(0), first, 0 * first[0, 0] + jnp.inf))[1]


@_most_likely.defjvp
def _slope_of_laws(ascends: bool, primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    """The derivative of the implicit function; the first component of an exponential law is that of its start."""
    laws, _, means, better = primals
    law = _most_likely(ascends, *primals)
    held = jnp.where(jnp.asarray(np.add.outer(np.arange(law.shape[0]), np.arange(3)) == 0), tangents[1], 0)
    excess = lambda laws, law, means: means[None] - laws.moments(law)[0]
    change = jax.jvp(excess, (laws, law, means), (tangents[0], held, tangents[2]))[1]
    first, last, _ = _newton(change, laws.moments(law)[1])
    return law, jnp.where(better[:, None], held + _components(first, last), 0)


def _newton(slope: Float[Array, "f 3"], covariance: Float[Array, "f 3 3"]) -> tuple[Array, Array, Array]:
    """The steps of the first and the last component of each law by Newton's method, and their decrement."""
    kinds = np.arange(slope.shape[0])
    both, normal = jnp.asarray(kinds > 0), jnp.asarray(kinds == 1)
    chosen = lambda one, two: jnp.where(normal, one, two)
    a, b = jnp.where(both, covariance[:, 0, 0], 1), chosen(covariance[:, 0, 1], covariance[:, 0, 2])
    b, d = jnp.where(both, b, 0), chosen(covariance[:, 1, 1], covariance[:, 2, 2])
    p, q = jnp.where(both, slope[:, 0], 0), chosen(slope[:, 1], slope[:, 2])
    determinant = a * d - b**2
    # A law that tends to two numbers has no step left.
    determinant = jnp.where(determinant > _rounding(a) * a * d, determinant, jnp.inf)
    first, last = (d * p - b * q) / determinant, (a * q - b * p) / determinant
    return first, last, jnp.sqrt(jnp.maximum(first * p + last * q, 0))


def _components(first: Float[Array, " f"], last: Float[Array, " f"]) -> Float[Array, "f 3"]:
    normal = jnp.asarray(np.arange(first.size) == 1)
    return jnp.stack([first, jnp.where(normal, last, 0), jnp.where(normal, 0, last)], axis=1)


def _nodes(support: Support, begin: Point, rate: Array, mean: Array, deviation: Array, largest: Array) -> _Nodes:
    """The nodes of a support for laws of data with a given mean, deviation and largest value of z."""
    sums = terms(support, begin.at(None))
    start, panels = sums.start[0], jnp.asarray(_PANELS, mean.dtype)
    narrow = mean + deviation * jnp.asarray(_NARROW, mean.dtype)
    ends = [narrow, largest + jnp.asarray(_SHARP, mean.dtype)]
    if sums.stop is None:
        ends = jnp.maximum(jnp.concatenate([start + panels / rate, *ends]), start)
    else:
        # The panels are short near both ends if the mean is.
        stop = sums.stop[0]
        other = stop - panels * jnp.maximum(stop - start - mean, 0)
        ends = jnp.maximum(jnp.concatenate([start + panels * mean, other, *ends]), start)
        # A value at the stop does not stand for it in derivatives.
        ends = jnp.where(ends < stop, ends, stop)
    ends = jnp.sort(ends)
    place, weights = gauss_legendre(_NODES)
    width = (ends[1:] - ends[:-1])[:, None]
    z = (ends[:-1, None] + width * jnp.asarray((place + 1) / 2, mean.dtype)[None]).ravel()
    # A panel is an integral over x. An empty one has the weight 0.
    weight = (width * jnp.asarray(weights / 2, mean.dtype)[None]).ravel()
    weight = jnp.concatenate([sums.weight[0], weight])
    log_weight = jnp.where(weight == 0, -jnp.inf, jnp.log(jnp.where(weight == 0, 1, jnp.abs(weight))))
    density = jnp.concatenate([0 * sums.z[0], z + jnp.log(sums.scale[0])])
    return _Nodes(jnp.concatenate([sums.z[0], z]), log_weight + density, jnp.sign(weight))
