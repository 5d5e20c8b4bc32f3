r"""Cross-covariance matrices with cleaned singular values.

Derivation. Let $C = \frac1n \sum_i x_i y_i^*$ have the singular values s with the vectors u and v, and let K be the
true matrix. The best singular values for these vectors are $u^* K v$. With $G(z) = (z^2 - CC^*)^{-1}$ the traces

$$H = \tfrac1n \operatorname{tr} G C C^*, \quad A = \tfrac1n \operatorname{tr} G C_x, \quad
B = \tfrac1n \operatorname{tr} (z^2 - C^*C)^{-1} C_y$$

of the data, with the sample covariance matrices of x and y, give $L = \frac1n \operatorname{tr} G C K^*$ for normal
data by integration by parts,

$$L = 1 - \frac{1}{1 + H - z^2 A B / (1 + H)},$$

and the ratio of the imaginary parts of L and H at $z = s + i\eta$ is that of $u^* K v$ and s.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Inexact

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax.inference._core.data import SQUARES, in_unit, masked_each, observations, without_mean
from rmtjax.linalg.internal import adjoint


def clean_cross_covariance(
    x: Inexact[Array, "*batch n p"], y: Inexact[Array, "*batch n q"], *, center: bool = True
) -> Inexact[Array, "*batch p q"]:
    r"""The matrix $E\,x_j \bar y_k$ of two sets of variables that were observed together.

    The sample matrix $C = \frac1n \sum_i x_i y_i^*$ has singular values of the size $\sqrt{p/n} + \sqrt{q/n}$ where x
    and y are independent. Here each is multiplied by the factor, not negative, that brings the matrix nearest to the
    true one for the vectors as they are.

    Convention: an unknown mean costs an observation, and n is n - 1.

    Args:
        x: n observations of p variables, batched over leading axes.
        y: the same observations of q variables.
        center: whether the means are unknown, and taken off.

    Returns:
        Matrices of shape `(*batch, p, q)`.

    Raises:
        ValueError: there are fewer than 2 rows, entries are not finite, or so large or small that their squares over-
            or underflow in their precision, or x and y have not the same rows.

    Example:
        >>> import numpy as np
        >>> x, y = np.random.default_rng(0).normal(size=(2, 100, 40))
        >>> print(f"{np.linalg.norm(x.T @ y) / 100:.1f} {np.linalg.norm(clean_cross_covariance(x, y)):.1f}")
        4.1 0.3

    References:
        Benaych-Georges, Bouchaud and Potters (2023), Ann. Appl. Probab. 33, 1295.
    """
    left, valid = observations(x, name="x")
    right, other = observations(y, name="y")
    if left.shape[:-1] != right.shape[:-1]:
        raise _checks.refusal("y", f"have the rows of `x`, of shape {left.shape}", right.shape)
    valid = _checks.both(_checks.both(valid, other), SQUARES.kept("x", left))
    valid = _checks.both(valid, SQUARES.kept("y", right))
    return masked_each(valid, left.ndim - 2, _cleaned(left, right, bool(center)))


def _cleaned_by(
    x: Inexact[Array, "*batch n p"], y: Inexact[Array, "*batch n q"], center: bool
) -> Inexact[Array, "*batch p q"]:
    (x, unit_x), (y, unit_y) = in_unit(x), in_unit(y)
    if center:
        x, y = without_mean(x), without_mean(y)
    n, p, q = *x.shape[-2:], y.shape[-1]
    u, s, vh = jnp.linalg.svd(jnp.swapaxes(x, -1, -2) @ jnp.conj(y) / n, full_matrices=False)
    # Variances along the vectors, and what is left of them in all other directions; x_i enters as a column.
    along = lambda rows, vectors: jnp.sum(jnp.abs(jnp.conj(rows) @ vectors) ** 2, axis=-2) / n
    a, b = along(x, u), along(y, adjoint(vh))
    total_a, total_b = (jnp.sum(jnp.abs(rows) ** 2, axis=(-2, -1)) / n for rows in (x, y))
    rest_a, rest_b = total_a - jnp.sum(a, -1), total_b - jnp.sum(b, -1)
    unit = jnp.sqrt(total_a / p * total_b / q)
    height = jnp.where(unit > 0, unit, 1)[..., None] * (p * q * n) ** (-1 / 6)
    squared = jax.lax.complex(s, jnp.broadcast_to(height, s.shape)) ** 2
    resolvent = 1 / (squared[..., :, None] - s[..., None, :] ** 2)
    trace = lambda weights: jnp.sum(weights[..., None, :] * resolvent, -1) / n
    h = trace(s**2)
    product = (trace(a) + rest_a[..., None] / squared / n) * (trace(b) + rest_b[..., None] / squared / n)
    l = 1 - 1 / (1 + h - squared * product / (1 + h))
    below = jnp.imag(h)
    factor = jnp.maximum(jnp.imag(l) / jnp.where(below == 0, -1, below), 0)
    return (u * (s * factor)[..., None, :]) @ vh * unit_x * unit_y


_cleaned = compiled(_cleaned_by, static_argnums=2)
