"""The number of basis components that an eigenvector is spread over."""

from typing import Annotated, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from rmtjax import _checks
from rmtjax._automatic import on_automatic_axes
from rmtjax._compile import compiled
from rmtjax._promotion import like
from rmtjax._typing import ArrayLike, RealLike
from rmtjax.special.internal import exp_slope, log_slope

Vectors = Inexact[Array, "*batch n k"]


def inverse_participation_ratio(vectors: Annotated[ArrayLike, "*batch n k"], q: RealLike = 2.0) -> Float[Array, "..."]:
    r"""Moments of the intensities of each vector, $I_q = \sum_i |v_i|^{2q}$ for $\sum_i |v_i|^2 = 1$.

    $I_2$ is 1 for a vector with one component, and 1/n for one that is spread evenly; $1/I_2$ counts the components
    that participate. The mean for vectors of invariant ensembles is `laws.mean_inverse_participation_ratio`.

    Args:
        vectors: real or complex, the columns of `(..., n, k)`, as `rmt.eigh` returns them; of any length.
        q: exponents of any shape. A zero component adds 0 for q ≥ 0, and infinity for q < 0.

    Returns:
        Values of the shape `(..., k)` followed by that of q; NaN for a zero vector. Differentiable. For q ≤ 1/2 the
        slope at a zero component is infinite; its derivative here is 0.

    Raises:
        ValueError: the vectors have fewer than two axes, or q is not finite.

    Example:
        >>> import jax.numpy as jnp
        >>> print(inverse_participation_ratio(jnp.array([[1.0, 1.0], [0.0, 1.0]])))
        [1.  0.5]

    References:
        Wegner (1980), Z. Phys. B 36, 209; Evers and Mirlin (2008), Rev. Mod. Phys. 80, 1355.
    """
    return _of_exponents(_moments, vectors, q)


def participation_entropy(vectors: Annotated[ArrayLike, "*batch n k"], q: RealLike = 1.0) -> Float[Array, "..."]:
    r"""Rényi entropy of the intensities $p_i = |v_i|^2$ of each vector; for q = 1 the Shannon entropy.

    $$S_q = \frac1{1 - q} \log \sum_i p_i^q, \qquad S_1 = -\sum_i p_i \log p_i .$$

    It is 0 for a vector with one component and log n for one that is spread evenly. $S_0$ is the logarithm of the
    number of nonzero components. Around q = 1 the entropy and its derivatives are computed from the deviations of
    log p from its mean, with all digits. The mean of $S_1$ for vectors of invariant ensembles is
    `laws.mean_participation_entropy`.

    Args:
        vectors: real or complex, the columns of `(..., n, k)`, of any length.
        q: exponents of any shape. Zero components add nothing for q ≥ 0, and make S infinite for q < 0.

    Returns:
        Values of the shape `(..., k)` followed by that of q, in nats; NaN for a zero vector. Differentiable in the
        vectors and in q.

    Raises:
        ValueError: the vectors have fewer than two axes, or q is not finite.

    Example:
        >>> import jax.numpy as jnp
        >>> print(participation_entropy(jnp.ones((8, 1)), jnp.array([0.5, 1.0, 2.0])) / jnp.log(2))
        [[3. 3. 3.]]

    References:
        Rényi (1961), Proc. 4th Berkeley Symp. 1, 547; Luitz, Alet and Laflorencie (2014), Phys. Rev. Lett. 112, 057203.
    """
    return _of_exponents(_entropies, vectors, q)


def multifractal_dimension(vectors: Annotated[ArrayLike, "*batch n k"], q: RealLike) -> Float[Array, "..."]:
    r"""The dimension $D_q = S_q / \log n$ of each vector, with the entropy of `participation_entropy`.

    So $\sum_i |v_i|^{2q} = n^{-(q - 1) D_q}$; $D_1$ is the information dimension. $D_q$ is 1 for an extended vector
    and 0 for a localised one, up to corrections of order 1/log n: extrapolate in n.

    Args:
        vectors: real or complex, the columns of `(..., n, k)`, of any length.
        q: exponents of any shape.

    Returns:
        Values of the shape `(..., k)` followed by that of q; NaN for n = 1 and for a zero vector. Differentiable.

    Raises:
        ValueError: the vectors have fewer than two axes, or q is not finite.

    Example:
        >>> import jax.numpy as jnp
        >>> vector = jnp.zeros((16, 1)).at[:4].set(0.5)
        >>> print(multifractal_dimension(vector, 2.0))
        [0.5]

    References:
        Evers and Mirlin (2008), Rev. Mod. Phys. 80, 1355.
    """
    return _of_exponents(_dimensions, vectors, q)


def checked_vectors(name: str, value: object) -> Vectors:
    """Vectors as columns of numbers, with at least one number in each."""
    vectors = _checks.numbers(name, value)
    if vectors.ndim < 2 or vectors.shape[-2] == 0:
        raise _checks.refusal(name, "have vectors in columns, `(..., n, k)`", vectors.shape)
    return vectors


def scaled(vectors: Vectors) -> Vectors:
    """The vectors with a largest component of order 1, so that no square overflows; NaN for a zero vector."""
    largest = jnp.maximum(jnp.abs(vectors.real), jnp.abs(vectors.imag)).max(-2, keepdims=True)
    return vectors / like(vectors, jax.lax.stop_gradient(largest))


def squares(vectors: Vectors) -> Float[Array, "*batch n k"]:
    """The squared absolute values, differentiable at 0 too."""
    return vectors.real**2 + vectors.imag**2


def intensities(vectors: Vectors) -> Float[Array, "*batch n k"]:
    """The squared absolute values of the components of each vector over their sum; NaN for a zero vector."""
    each = squares(scaled(vectors))
    return each / each.sum(-2, keepdims=True)


@on_automatic_axes
def _of_exponents(quantity: Any, vectors: object, q: object) -> Float[Array, "..."]:
    """A quantity of vectors, for exponents of any shape."""
    columns = checked_vectors("vectors", vectors)
    exponents = _checks.ALL_FINITE("q", _checks.real("q", q))
    found = quantity(columns, exponents.ravel().astype(jnp.finfo(columns.dtype).dtype))
    return found.reshape(*columns.shape[:-2], columns.shape[-1], *exponents.shape)


def _logarithms(vectors: Vectors) -> tuple[Array, Array, Array]:
    """Intensities p, where they are 0, and log p (0 where p is 0), with an axis for the exponents."""
    p = intensities(vectors)[..., None]
    zero = p == 0
    return p, zero, jnp.log(jnp.where(zero, 1, p))


@compiled
def _moments(vectors: Vectors, q: Float[Array, " j"]) -> Float[Array, "*batch k j"]:
    _, zero, log_p = _logarithms(vectors)
    q = jax.lax.broadcast_to_rank(q, log_p.ndim)
    return jnp.sum(jnp.where(zero, jnp.where(q < 0, jnp.inf, 0), jnp.exp(q * log_p)), axis=-3)


def _renyi(vectors: Vectors, q: Float[Array, " j"]) -> Float[Array, "*batch k j"]:
    p, zero, log_p = _logarithms(vectors)
    shannon = -jnp.sum(p * log_p, axis=-3)
    # Σ p^q = e^{-tS} Σ p e^{td} with t = q - 1 and d = log p + S. The mean of d is 0, so the last sum is at least 1.
    q = jax.lax.broadcast_to_rank(q, p.ndim)
    near = jnp.abs(q - 1) < 0.5
    t = jnp.where(near, q - 1, 0)
    d = jnp.where(zero, 0, log_p + shannon[..., None, :, :])
    excess = jnp.sum(p * d * exp_slope(t * d), axis=-3)
    other = jnp.where(near, 2, q)
    exponents = jnp.where(zero, jnp.where(other < 0, jnp.inf, -jnp.inf), other * log_p)
    near, t, other = (jnp.squeeze(each, -3) for each in (near, t, other))
    far = jax.nn.logsumexp(exponents, axis=-3) / (1 - other)
    return jnp.where(near, shannon - excess * log_slope(t * excess), far)


_entropies = compiled(_renyi)


@compiled
def _dimensions(vectors: Vectors, q: Float[Array, " j"]) -> Float[Array, "*batch k j"]:
    size = jnp.log(jnp.asarray(vectors.shape[-2], q.dtype))
    return jnp.where(size > 0, _renyi(vectors, q) / jnp.where(size > 0, size, 1), jnp.nan)
