r"""Exact draws of Brownian motion on the unitary group.

Let $dU = i\,dW\,U - \tfrac12 U\,dt$ (Itô) with $E|dW_{ij}|^2 = dt/n$. The density of $U(t)\,U(0)^{-1} = e^{iX}$ with
respect to Haar measure is a sum over all logarithms $X$, with levels θ (Menotti and Onofri 1981):

$$p_t(e^{iX}) \propto \sum_X \prod_{i<j} \frac{\theta_i - \theta_j}{2 \sin\frac{\theta_i - \theta_j}{2}}\;
    e^{-n \operatorname{tr} X^2/(2t)}.$$

The Jacobian of the exponential function is the square of the inverse of the product. So X has the density of a GUE
times $\prod_{i<j} \operatorname{sinc}\frac{\theta_i - \theta_j}{2}$, where sinc x is sin(x)/x. From $\log
\operatorname{sinc}\frac d2 \le -\frac{d^2}{24}$ and $\sum_{i<j} d_{ij}^2 = n \operatorname{tr}(X - \bar x)^2$ with the
mean level $\bar x$, a GUE whose part without the trace has the variance $t' = (1/t + 1/12)^{-1}$ instead of t is
accepted with the probability $\exp \sum_{i<j} (\log \operatorname{sinc}\frac{d_{ij}}{2} + \frac{d_{ij}^2}{24})$. That
is about $\exp(-n^2 t^2/576)$ on average. A step that is too long for that is made of several, and stays exact.

Terms with a difference beyond 2π are left out. Up to t = 1/4 they have less than 1e-30 of the mass.
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float

from rmtjax._promotion import complex_dtype
from rmtjax._typing import KeyScalar
from rmtjax._varying import varying_like
from rmtjax.ensembles._gaussian.matrices import GUE
from rmtjax.linalg.internal import adjoint, decompose
from rmtjax.random.internal import haar_isometry
from rmtjax.special.internal import unit_circle

# The first is for the terms that are left out. A step takes some exp(n² t²/576) proposals, so that a long way costs
# least in steps with n t = 17.
_LONGEST, _LONGEST_OF_ORDER = 0.25, 16.0


@jax.default_matmul_precision("highest")
def unitary_motion(key: KeyScalar, n: int, duration: Float[Array, ""]) -> Complex[Array, "n n"]:
    """Brownian motion on U(n) from the identity, after any time, in steps that each have the exact law.

    Raises:
        NotImplementedError: the duration is differentiated.
    """
    # By then E tr U, which decays last, is below 1e-34, and the law is Haar measure.
    forgotten = 160 + 4 * math.log(n)
    duration = _without_derivative(duration)
    has_forgotten = duration >= forgotten
    at_once, in_steps = (partial(each, n=n) for each in (_at_once, _in_steps))
    return jax.lax.cond(has_forgotten, at_once, in_steps, key, jnp.where(has_forgotten, 0, duration))


def _at_once(key: KeyScalar, duration: Float[Array, ""], n: int) -> Complex[Array, "n n"]:
    return haar_isometry(key, n, n, 2, duration.dtype)


def _in_steps(key: KeyScalar, duration: Float[Array, ""], n: int) -> Complex[Array, "n n"]:
    steps = jnp.ceil(duration / min(_LONGEST, _LONGEST_OF_ORDER / n))
    length = duration / jnp.maximum(steps, 1)
    factor = lambda i, product: _factor(jax.random.fold_in(key, i), n, length) @ product
    identity = varying_like(jnp.eye(n, dtype=complex_dtype(duration.dtype)), key, duration)
    return jax.lax.fori_loop(0, steps.astype(jnp.int32), factor, identity)


def _factor(key: KeyScalar, n: int, duration: Float[Array, ""]) -> Complex[Array, "n n"]:
    """The factor of one step."""
    trace, rest = jnp.sqrt(duration), jnp.sqrt(duration / (1 + duration / 12))

    def propose(state: tuple) -> tuple:
        key, key_matrix, key_uniform = jax.random.split(state[0], 3)
        levels, vectors = decompose(GUE(n, jnp.ones_like(duration))._sample(key_matrix))
        mean = jnp.mean(levels)
        levels = trace * mean + rest * (levels - mean)
        accepted = jnp.log(jax.random.uniform(key_uniform, (), levels.dtype)) < _log_acceptance(levels)
        return key, accepted, levels, vectors

    nothing = jnp.asarray(False), jnp.zeros(n, duration.dtype), jnp.zeros((n, n), complex_dtype(duration.dtype))
    start = key, *varying_like(nothing, key, duration)
    *_, levels, vectors = jax.lax.while_loop(lambda state: ~state[1], propose, start)
    return (vectors * unit_circle(levels)[None]) @ adjoint(vectors)


def _log_acceptance(levels: Float[Array, " n"]) -> Float[Array, ""]:
    half = jnp.abs(levels[:, None] - levels[None, :]) / 2
    inside, near = half < math.pi, half < 0.5
    square = jnp.where(near, half, 0) ** 2
    # The Taylor series of log sinc x + x²/6, in which the logarithm and the square would cancel.
    series = jnp.zeros_like(square)
    for coefficient in _COEFFICIENTS[::-1]:
        series = square * (coefficient + series)
    far = jnp.where(inside & ~near, half, 1)
    pairs = jnp.where(near, -square * series, jnp.log(jnp.sin(far) / far) + far**2 / 6)
    return jnp.where(inside.all(), jnp.sum(pairs) / 2, -jnp.inf)


_COEFFICIENTS = (1 / 180, 1 / 2835, 1 / 37800, 1 / 467775, 691 / 3831077250, 2 / 127702575)


@jax.custom_jvp
def _without_derivative(duration: Float[Array, ""]) -> Float[Array, ""]:
    return duration


@_without_derivative.defjvp
def _without_derivative_jvp(primals: tuple, tangents: tuple) -> tuple:
    raise NotImplementedError(
        "Motion on the circle is drawn by rejection, so a path has no derivative in its times and its scale; it has "
        "one in the phases at the start."
    )
