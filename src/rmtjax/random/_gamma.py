"""Gamma and chi variates, by rejection on whole arrays."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Complex, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._typing import KeyScalar, RealLike
from rmtjax._varying import varying_like
from rmtjax.random._bits import cut, normal_variates, words_and_key
from rmtjax.random._gamma_derivative import with_derivative

# Elements are arranged in columns of this depth, and a round draws one element of each column. For a million elements
# this is two to three times as fast as five or six rounds over all elements. Longer columns would need more rounds.
_DEPTH = 8
# A proposal is rejected with a probability of at most 0.048, at a = 1. A column is unfinished after 48 rounds only if
# 41 of 48 proposals were rejected: binom(48, 41) 0.05^41 < 1e-45.
_MAX_ROUNDS = 48


def gamma(key: KeyScalar, a: RealLike, shape: Sequence[int] | None = None) -> Float[Array, "..."]:
    r"""Gamma variates of unit scale, with density $x^{a-1} e^{-x} / \Gamma(a)$.

    Marsaglia and Tsang's rejection runs on whole arrays, many times faster than `jax.random.gamma`, which loops over
    elements. The derivative in a is the derivative of the quantile at a fixed probability,

    $$\frac{dx}{da} = -\frac{\partial F / \partial a}{\partial F / \partial x},$$

    so gradients of expectations are unbiased. The difference quotient of two draws with one key is another number,
    since the rejection may take another path.

    Args:
        key: a typed key.
        a: shape parameters, positive and finite, float32 or float64; other real types become the default float.
        shape: shape of the result, to which `a` must broadcast; None means the shape of `a`.

    Returns:
        Independent variates of the dtype of `a`.

    Raises:
        ValueError: an argument is outside its range, or `a` does not broadcast to `shape`.

    Example:
        >>> import jax
        >>> x = gamma(jax.random.key(0), 2.5, (10_000,))
        >>> print(f"{x.mean():.1f}")
        2.5

    References:
        Marsaglia and Tsang (2000), ACM Trans. Math. Software 26, 363, section 3 and (for a < 1) section 6;
        Figurnov, Mohamed and Mnih (2018), arXiv:1805.08498, equation 5, for the derivative.
    """
    key = _checks.typed_key(key)
    a = _parameter("a", a, shape)
    return a * jnp.exp(log_ratio(key, a))


def chi(key: KeyScalar, df: RealLike, shape: Sequence[int] | None = None) -> Float[Array, "..."]:
    r"""Chi variates: the length of a standard normal vector in df dimensions, for any real df > 0.

    The density is $x^{k-1} e^{-x^2/2} / (2^{k/2-1}\, \Gamma(k/2))$ with k = df. At large df the variates keep their
    standard deviation $1/\sqrt2$, up to the rounding of numbers of size $\sqrt{df}$. The derivative in df is the
    derivative of the quantile at a fixed probability, as for `gamma`.

    Args:
        key: a typed key.
        df: degrees of freedom, positive and finite, float32 or float64; other real types become the default float.
        shape: shape of the result, to which `df` must broadcast; None means the shape of `df`.

    Returns:
        Independent variates of the dtype of `df`.

    Raises:
        ValueError: an argument is outside its range, or `df` does not broadcast to `shape`.

    Example:
        >>> import jax
        >>> x = chi(jax.random.key(0), 3.0, (10_000,))
        >>> print(f"{(x**2).mean():.1f}")
        3.0

    References:
        Johnson, Kotz and Balakrishnan (1994), Continuous Univariate Distributions 1, section 18.1.
    """
    return unchecked_chi(_checks.typed_key(key), _parameter("df", df, shape))


def unchecked_chi(key: KeyScalar, df: Float[Array, "..."]) -> Float[Array, "..."]:
    """Independent chi variates for an array of df ≥ 0, without checks; 0 at df = 0."""
    return jnp.sqrt(df) * unit_chi(key, df)


def unit_chi(key: KeyScalar, df: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""Independent $\chi_k / \sqrt k$ for an array of k = df ≥ 0, without checks.

    The result is exactly 1 at df = inf, with derivative 0, and exactly 0 at df = 0, the value of a padded entry.
    """
    present = df != 0
    # A chi variate is the root of twice a gamma variate x of parameter a = df/2, so the result is (x/a)^(1/2).
    # The maximum is needed because half of the smallest normal number would be treated as 0.
    a = jnp.maximum(jnp.where(present, df, 1) / 2, jnp.finfo(df.dtype).tiny)
    return jnp.where(present, jnp.exp(log_ratio(key, a) / 2), 0)


def _parameter(name: str, value: RealLike, shape: Sequence[int] | None) -> Float[Array, "..."]:
    """A checked parameter, broadcast to the shape of the result."""
    array = _checks.POSITIVE(name, _checks.real(name, value))
    if shape is None:
        return array
    sizes = _checks.shape(shape)
    try:
        return jnp.broadcast_to(array, sizes)
    except ValueError:
        raise _checks.refusal(name, f"broadcast to the shape {sizes}", array.shape) from None


def log_ratio(key: KeyScalar, a: Float[Array, "..."]) -> Float[Array, "..."]:
    """The value log(x/a) for gamma variates x; it neither underflows at small a nor loses the spread at large a."""
    return with_derivative(a, _draw(key, jax.lax.stop_gradient(a)))


# Compiled here, so that calls outside of `jit` do not compile the loop each time.
@compiled
def _draw(key: KeyScalar, a: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""The value log(x/a) = 3 log(1 + y) + log(d/b) for gamma variates $x = d\,(1 + y)^3$, d = b - 1/3 and b = a.

    For a < 1, b is a + 1, and x is multiplied by $U^{1/a}$, where $-\log U$ is the excess of the accepted proposal.
    """
    boosted = a < 1
    b = jnp.where(boosted, a + 1, a)
    y, excess = _accepted(key, b)
    below_one = jnp.where(boosted, a, 1)
    boost = jnp.log1p(below_one) - jnp.log(below_one) - excess / below_one
    return 3 * jnp.log1p(y) + jnp.log1p(-1 / (3 * b)) + jnp.where(boosted, boost, 0)


def _accepted(key: KeyScalar, b: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """An accepted proposal y and its excess for every element; a round proposes for one element of each column."""
    depth = max(1, min(_DEPTH, b.size))
    width = -(-b.size // depth)
    parameters = jnp.pad(b.ravel(), (0, depth * width - b.size), constant_values=1).reshape(depth, width)
    row, column = jnp.arange(depth)[:, None], jnp.arange(width)

    def unfinished(state: tuple) -> Bool[Array, ""]:
        count, _, proposals = state
        return (count < _MAX_ROUNDS) & jnp.any(proposals.imag < 0)

    def propose(state: tuple) -> tuple:
        count, words, proposals = state
        missing = proposals.imag < 0
        first = jnp.argmax(missing, axis=0)
        # The lower tail of gamma variates at a < 1 needs all bits of a word, and no uniform variate may be 0.
        words, next_key = cut(words, key)
        uniform = (words[width:].astype(b.dtype) + 0.5) * 2.0 ** -jnp.finfo(b.dtype).bits
        new = _proposed(normal_variates(words[:width], b.dtype), uniform, parameters[first, column])
        # Drawn for the next round, because a carried array is computed once; those of the last round are not used.
        next_words = words_and_key(next_key, 2 * width, b.dtype)
        return count + 1, next_words, jnp.where(missing & (row == first[None]), new[None], proposals)

    # A negative excess means that no proposal is accepted yet. Such an element would end with the mode, y = 0.
    start = jax.lax.complex(jnp.zeros_like(parameters), -jnp.ones_like(parameters))
    start = varying_like(start, key, parameters)
    words = words_and_key(key, 2 * width, b.dtype)
    _, _, proposals = jax.lax.while_loop(unfinished, propose, (0, words, start))
    proposals = proposals.ravel()[: b.size].reshape(b.shape)
    return proposals.real, jnp.maximum(proposals.imag, 0)


def _proposed(
    x: Float[Array, " width"], uniform: Float[Array, " width"], b: Float[Array, " width"]
) -> Complex[Array, " width"]:
    r"""Proposals y for parameters b ≥ 1, and the excess log p(y) - log(u), as y + i·excess.

    A proposal is accepted if u ≤ p(y). Then u/p is uniform and independent of y, so the excess is exponential.
    """
    y = jnp.maximum(x / (3 * jnp.sqrt(b - 1 / 3)), -1)
    return jax.lax.complex(y, _log_acceptance(x, y) - jnp.log(uniform))


def _log_acceptance(x: Float[Array, "..."], y: Float[Array, "..."]) -> Float[Array, "..."]:
    r"""Logarithm of the probability p of accepting $y = x / (3\sqrt d)$.

    With $v = (1 + y)^3$ it is $x^2/2 + d\,(1 - v + \log v)$. In this form two terms of order d cancel, and their
    remainder cancels $x^2/2 = 9 d y^2/2$. The expansion of both is

    $$\log p = 3 d \left[\log(1 + y) - y + \tfrac{y^2}{2} - \tfrac{y^3}{3}\right]
    = -\frac{x^2 y^2}{3} \left[\tfrac14 - \tfrac y5 + \tfrac{y^2}{6} - \dots\right],$$

    which is 0 at d = inf, and -inf at y = -1.
    """
    small = jnp.abs(y) < 0.2  # the first omitted term is below 3e-13 of the first one
    inner = jnp.where(small, y, 0)
    series = 0.0
    for k in range(20, 3, -1):
        series = 1 / k - inner * series
    outer = jnp.where(small, 1, y)
    closed = (outer - outer**2 / 2 + outer**3 / 3 - jnp.log1p(outer)) / outer**4
    return -((x * y) ** 2) / 3 * jnp.where(small, series, closed)
