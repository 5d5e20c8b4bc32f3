r"""Other laws for the tail of a sample, against the power law, by their likelihoods.

In the logarithm $z = \log(x/x_{\min}) \ge 0$ a power law is exponential. A log-normal law cut off at $x_{\min}$ is a
normal law of z cut off at 0, with the density $\propto e^{\eta_1 z + \eta_2 z^2}$, $\eta_2 < 0$; the power law is its
boundary $\eta_2 = 0$. The likelihood is concave in $\eta$, and its slope in $\eta_2$ at the best power law is $\sum z^2
- 2 m \bar z^2$. So if the coefficient of variation of z is 1 or larger, no log-normal law is better than the power law.
Otherwise there is one best log-normal law. Its truncation point h, in units of its standard deviation, solves

$$\frac{\overline{z^2}}{\bar z^2} = \frac{1 - h g}{g^2}, \qquad g = \lambda - h, \qquad
\lambda = \frac{\varphi(h)}{1 - \Phi(h)}, \qquad \sigma = \bar z/g.$$

As the power law lies on the boundary, twice the logarithm of the ratio of the likelihoods is 0 or a $\chi^2$ variate of
one degree of freedom, with probability one half each. Vuong's normal law does not hold for nested families.
"""

import jax
import jax.numpy as jnp
from jax.scipy.special import erfc, log_ndtr
from jaxtyping import Array, Bool, Float

from rmtjax._module import AbstractModule
from rmtjax._promotion import like


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


def against_exponential(z: Float[Array, " n"], tail: Bool[Array, " n"]) -> LikelihoodRatio:
    """Vuong's test against the exponential law beyond the minimum."""
    size, z = like(z, jnp.sum(tail)), jnp.where(tail, z, 0)
    mean = jnp.sum(z) / size
    # The values over the minimum, minus 1, may overflow, so they are in units of the largest.
    largest = jnp.max(z)
    excess = jnp.exp(z - largest) - jnp.exp(-largest)
    average = jnp.sum(jnp.where(tail, excess, 0)) / size
    power = -jnp.log(mean) - z / mean
    exponential = -jnp.log(average) - largest - excess / average + z
    difference = jnp.where(tail, power - exponential, 0)
    total = jnp.sum(difference)
    spread = jnp.sqrt(jnp.sum(jnp.where(tail, (difference - total / size) ** 2, 0)))
    return LikelihoodRatio(total, erfc(jnp.abs(total) / (2**0.5 * spread)))


def against_log_normal(z: Float[Array, " n"], tail: Bool[Array, " n"]) -> LikelihoodRatio:
    """The one-sided test of the power law within the log-normal laws."""
    size, z = like(z, jnp.sum(tail)), jnp.where(tail, z, 0)
    mean, square = jnp.sum(z) / size, jnp.sum(z**2) / size
    quotient = square / mean**2
    # Beyond this point rounding is larger than the result; (2 - quotient)²/8 then stands for it, to 1 %.
    last = float(2 * jnp.finfo(z.dtype).eps) ** (-1 / 6) / 3
    h = jax.lax.stop_gradient(_truncation(quotient, last))
    log_hazard = _log_hazard(h)
    sigma = jax.lax.stop_gradient(mean) / (jnp.exp(log_hazard) - h)
    # The slopes in h and σ vanish at the maximum, so the derivative is right although both are held fixed.
    interior = 0.5 * square / sigma**2 + h * mean / sigma + jnp.log(sigma) - log_hazard - jnp.log(mean) - 1
    near = -((2 - quotient) ** 2) / 8
    log_ratio = size * jnp.where(quotient < 2, jnp.where(h < last, jnp.minimum(interior, 0), near), 0)
    twice = jnp.sqrt(jnp.where(log_ratio < 0, -log_ratio, 1))
    return LikelihoodRatio(log_ratio, jnp.where(log_ratio < 0, erfc(twice) / 2, 1 + 0 * log_ratio))


def largest_drift(z: Float[Array, " n"], tail: Bool[Array, " n"]) -> Float[Array, ""]:
    r"""The bound $2 (|\hat\eta| + 1.645/(2\sqrt m)) \log m$ on the relative change of a along the tail.

    The estimate of $\eta = \eta_2 \bar z^2$ is the first step of Newton's method from the power law. The slope of the
    likelihood is $m(\overline{z^2}/\bar z^2 - 2)$ there, and the information is 4m, because the regression on z leaves
    4 of the variance 20 of z².
    """
    size, z = jnp.sum(tail).astype(z.dtype), jnp.where(tail, z, 0)
    eta = (jnp.sum(z**2) * size / jnp.sum(z) ** 2 - 2) / 4
    return 2 * (jnp.abs(eta) + 0.8224 / jnp.sqrt(size)) * jnp.log(size)


def _log_hazard(h: Float[Array, ""]) -> Float[Array, ""]:
    """The logarithm of λ."""
    return -(h**2) / 2 - 0.5 * jnp.log(2 * jnp.pi).astype(h.dtype) - log_ndtr(-h)


def _truncation(quotient: Float[Array, ""], last: float) -> Float[Array, ""]:
    """The truncation point h of the moments, by bisection up to `last`; the quotient ascends from 1 to 2 with it."""

    def halve(_: int, bracket: tuple) -> tuple:
        lower, upper = bracket
        h = (lower + upper) / 2
        g = jnp.exp(_log_hazard(h)) - h
        below = (1 - h * g) / g**2 < quotient
        return jnp.where(below, h, lower), jnp.where(below, upper, h)

    ends = -1e3 + 0 * quotient, last + 0 * quotient
    lower, upper = jax.lax.fori_loop(0, jnp.finfo(quotient.dtype).nmant + 8, halve, ends)
    # The upper end is reached only where the whole bracket is below.
    return jnp.where(upper == ends[1], ends[1], lower)
