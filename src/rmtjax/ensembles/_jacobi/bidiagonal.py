r"""The random bidiagonal matrices of Edelman and Sutton, on which the Jacobi β-ensembles are built.

An orthogonal matrix of order 2n with four bidiagonal blocks has two of them in its left half,

$$C = \begin{pmatrix} c_n & -s_n c'_{n-1} \\ & c_{n-1} s'_{n-1} & -s_{n-1} c'_{n-2} \\ & & \ddots & \ddots
\end{pmatrix}, \qquad S = \begin{pmatrix} -s_n & -c_n c'_{n-1} \\ & -s_{n-1} s'_{n-1} & -c_{n-1} c'_{n-2} \\
& & \ddots & \ddots \end{pmatrix}, \qquad C^T C + S^T S = 1.$$

With $c^2 + s^2 = 1$ and independent $c_i^2 \sim \mathrm{Beta}(p + (i-1)\tfrac\beta2,\, q + (i-1)\tfrac\beta2)$,
$c_i'^2 \sim \mathrm{Beta}(i \tfrac\beta2,\, p + q + (i-1)\tfrac\beta2)$, the squares x of the singular values of C
have the density $\propto \prod_{i<j} |x_i - x_j|^\beta \prod_i x_i^{p-1} (1 - x_i)^{q-1}$, and the squares of the
singular values of S are 1 - x. C keeps the digits of small x, and S keeps the digits of small 1 - x (Edelman and Sutton
2008, Found. Comput. Math. 8, 259, theorem 1.5).
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from rmtjax._promotion import like
from rmtjax._typing import KeyScalar
from rmtjax.random.internal import log_ratio

# A gamma variate of this shape is below every number, as one of the shape 0 is, which c' has for β = 0.
_SMALLEST_SHAPE = 1e-30

Scalar = Float[Array, ""]
Entries = tuple[Float[Array, " n"], Float[Array, " n-1"]]


def bidiagonals(
    key: KeyScalar, n: int, order: Int[Array, ""] | int, p: Scalar, q: Scalar, beta: Scalar
) -> tuple[Entries, Entries]:
    """Absolute values of the diagonals and superdiagonals of C and S.

    The trailing blocks of the given order, which may be traced, are the model of that size.
    """
    i = jnp.arange(n, 0, -1, dtype=p.dtype)
    steps = (i - 1) * beta / 2
    # For a beta variate x, x/(1 - x) is the quotient of two gamma variates. These are drawn as logarithms relative to
    # their parameters, because both may underflow, and all at once, because each call takes seconds to compile.
    a = jnp.maximum(jnp.concatenate([p + steps, i[1:] * beta / 2]), _SMALLEST_SHAPE)
    b = jnp.concatenate([q + steps, p + q + steps[1:]])
    x, y = jnp.split(log_ratio(key, jnp.concatenate([a, b])), 2)
    logit = x - y + jnp.log(a / b)
    cosine, sine = jnp.exp(jax.nn.log_sigmoid(logit) / 2), jnp.exp(jax.nn.log_sigmoid(-logit) / 2)
    (c, c_between), (s, s_between) = jnp.split(cosine, [n]), jnp.split(sine, [n])
    beside = jnp.where(i == like(i, order), 1, jnp.pad(s_between, (1, 0), constant_values=1))
    return (c * beside, s[:-1] * c_between), (s * beside, c[:-1] * c_between)
