r"""The matrix with the same singular vectors and with shrunk singular values, and its derivative.

**Values.** Let X be of low rank, n × p, and Z noise of level σ. With $\beta = \min(n, p)/\max(n, p)$ and
$c = \max(n, p)\,\sigma^2$, a singular value x of X above $\beta^{1/4}\sqrt c$ shows in X + Z as
$s > (1 + \sqrt\beta)\sqrt c$,

$$s^2 = \frac{(x^2 + c)(x^2 + \beta c)}{x^2}, \qquad
x^2 = t = \tfrac12\Big(s^2 - (1 + \beta)c + \sqrt{D}\Big), \quad
D = (s^2 - s_+^2)(s^2 - s_-^2),\ s_\pm = (1 \pm \sqrt\beta)\sqrt c,$$

and its singular vectors are at angles θ, φ to those of X with (Benaych-Georges and Nadakuditi 2012)

$$\cos^2\theta = \frac{t^2 - \beta c^2}{t\,(t + c)}, \qquad \cos^2\varphi = \frac{t^2 - \beta c^2}{t\,(t + \beta c)}.$$

In the plane of both pairs the loss of a new value η is the loss of the 2 × 2 matrix
$x\,e_1 e_1^T - \eta\,(\cos\theta, \sin\theta)^T(\cos\varphi, \sin\varphi)$, whose singular values are
$\sigma_1 \pm \sigma_2 = |x - \eta e^{i(\theta \mp \varphi)}|$ in either order. The best η is

- for squares $\eta = x\cos\theta\cos\varphi = \sqrt D/s$;
- for the nuclear norm, their sum, $\eta = x\cos(\theta + \varphi) = \sqrt D/s - \sqrt\beta\,c/x$, or 0 if that is
  negative;
- for the operator norm, half of the sum of two distances, where the straight line from $x e^{i(\theta - \varphi)}$ to
  $x e^{-i(\theta + \varphi)}$ meets the real axis, $\eta = x\cos\theta/\cos\varphi = (t + \beta c)/s$.
"""

from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from rmtjax._promotion import like
from rmtjax._units import unit_of
from rmtjax.inference._core.data import rounding_of_zero
from rmtjax.inference._signal.hard_threshold import known_noise
from rmtjax.linalg.internal import adjoint, divided_differences, singular_function_tangent

Loss = Literal["frobenius", "operator", "nuclear", "hard"]


def shrunk(
    s: Float[Array, "..."], scale: Float[Array, "..."], beta: Float[Array, ""] | float, loss: str
) -> Float[Array, "..."]:
    """The best new singular values by the formulas at the top of the file, 0 inside of the bulk of the noise.

    The scale is the root of c; at 0 nothing is shrunk. Two more shrinkers serve correlated noise: `"larger side"` is
    `"operator"` with c instead of βc, and `"vectors"` is 1.
    """
    root = jnp.sqrt(jnp.asarray(beta, s.dtype))
    upper, lower = (1 + root) * scale, (1 - root) * scale
    if loss == "hard":
        return jnp.where(s > known_noise(root**2) * scale, s, 0)
    outside = s > upper
    safe = jnp.where(outside, s, 2 * upper + 1)
    # Each factor has its own root, because the product of all four would overflow.
    distance = jnp.sqrt((safe - upper) * (safe + upper)) * jnp.sqrt((safe - lower) * (safe + lower))
    signal = (safe**2 - (1 + root**2) * scale**2 + distance) / 2
    if loss == "operator":
        best = (signal + (root * scale) ** 2) / safe
    elif loss == "larger side":
        best = (signal + scale**2) / safe
    elif loss == "vectors":
        best = jnp.ones_like(s)
    elif loss == "nuclear":
        best = jnp.maximum(distance / safe - root * scale**2 / jnp.sqrt(signal), 0)
    else:
        best = distance / safe
    return jnp.where(outside, best, 0)


def _values(
    s: Float[Array, " k"], level: Float[Array, ""], beta: float, loss: str, known: bool, size: int
) -> tuple[Float[Array, " k"], Float[Array, ""]]:
    """New singular values, and the scale of the noise, from descending singular values."""
    k = s.shape[-1]
    scale = level if known else level * ((s[..., (k - 1) // 2] + s[..., k // 2]) / 2)
    return _values_at(s, s[0], scale, beta, loss, size), scale


Shrunk = tuple[Inexact[Array, "n p"], Float[Array, " k"], Float[Array, " k"], Float[Array, ""]]


@partial(jax.custom_jvp, nondiff_argnums=(2, 3, 4))
def with_shrunk_values(
    data: Inexact[Array, "n p"], level: Float[Array, ""], beta: float, loss: str, known: bool
) -> Shrunk:
    r"""The denoised matrix, the singular values before and after, and the scale $\sqrt{\max(n, p)}\,\sigma$.

    The level is the scale if it is known, and otherwise the scale over the median singular value.
    """
    u, s, vh = jnp.linalg.svd(data, full_matrices=False)
    new, scale = _values(s, level, beta, loss, known, max(data.shape))
    return (u * like(u, new)[None]) @ vh, s, new, scale


@with_shrunk_values.defjvp
def _with_shrunk_values_jvp(beta: float, loss: str, known: bool, primals: tuple, tangents: tuple) -> tuple:
    (data, level), (tangent, level_tangent) = primals, tangents
    u, s, vh = jnp.linalg.svd(data, full_matrices=False)
    s_tangent = jnp.real(jnp.diagonal(adjoint(u) @ tangent @ adjoint(vh)))
    size = max(data.shape)
    values = partial(_values, beta=beta, loss=loss, known=known, size=size)
    (new, scale), (new_tangent, scale_tangent) = jax.jvp(values, (s, level), (s_tangent, level_tangent))

    # New values depend on each other through the scale alone, which moves only the diagonal.
    differences = divided_differences(lambda x: _values_at(x, s[0], scale, beta, loss, size), s)
    quotients = new / jnp.where(s > 0, s, 1)
    matrix_tangent = singular_function_tangent((u, s, vh), tangent, quotients, differences, new_tangent)
    return ((u * like(u, new)[None]) @ vh, s, new, scale), (matrix_tangent, s_tangent, new_tangent, scale_tangent)


def _values_at(
    x: Float[Array, "..."], largest: Float[Array, ""], scale: Float[Array, ""], beta: float, loss: str, size: int
) -> Float[Array, "..."]:
    """New singular values for a matrix with this larger side, in a unit in which no square leaves the range."""
    largest = jax.lax.stop_gradient(largest)
    # Without any noise the edge is the largest rounding of a singular value of 0.
    least = rounding_of_zero(size, x.dtype) / (1 + beta**0.5) * largest
    unit = unit_of(largest)
    new = shrunk(x / unit, jnp.maximum(scale, least) / unit, beta, loss)
    return new if loss == "vectors" else unit * new
