r"""The random bidiagonal matrices of Edelman and Sutton, of which the Jacobi β-ensembles are made.

An orthogonal matrix of order 2n with four bidiagonal blocks has, in its left half,

$$C = \begin{pmatrix} c_n & -s_n c'_{n-1} \\ & c_{n-1} s'_{n-1} & -s_{n-1} c'_{n-2} \\ & & \ddots & \ddots
\end{pmatrix}, \qquad S = \begin{pmatrix} -s_n & -c_n c'_{n-1} \\ & -s_{n-1} s'_{n-1} & -c_{n-1} c'_{n-2} \\
& & \ddots & \ddots \end{pmatrix}, \qquad C^T C + S^T S = 1.$$

With $c^2 + s^2 = 1$ and independent $c_i^2 \sim \mathrm{Beta}(p + (i-1)\tfrac\beta2,\, q + (i-1)\tfrac\beta2)$,
$c_i'^2 \sim \mathrm{Beta}(i \tfrac\beta2,\, p + q + (i-1)\tfrac\beta2)$, the squares x of the singular values of C
have the density $\propto \prod_{i<j} |x_i - x_j|^\beta \prod_i x_i^{p-1} (1 - x_i)^{q-1}$; those of S are 1 - x. C has
its digits for x near 0, S for x near 1 (Edelman and Sutton 2008, Found. Comput. Math. 8, 259, theorem 1.5).
"""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from rmtjax._typing import KeyScalar
from rmtjax.random._gamma import unchecked_chi

Entries = tuple[Float[Array, " n"], Float[Array, " n-1"]]


def bidiagonals(
    key: KeyScalar,
    n: int,
    p: Float[Array, ""],
    q: Float[Array, ""],
    beta: Float[Array, ""],
    order: Int[Array, ""] | int | None = None,
) -> tuple[Entries, Entries]:
    """Diagonals of C and S and what stands beside them, in absolute value.

    For an order below n, which may be traced, the trailing blocks of that order are the model of that size.
    """
    order = n if order is None else order
    i = jnp.arange(n, 0, -1, dtype=p.dtype)
    steps = (i - 1) * beta / 2
    # Variates of Beta(x, y) as χ² of 2x degrees over the sum with one of 2y: both roots have all their digits. In one
    # draw, as each call costs seconds of compilation.
    degrees = [2 * (p + steps), 2 * (q + steps), i[1:] * beta, 2 * (p + q + steps[1:])]
    variates = unchecked_chi(key, jnp.concatenate(degrees))
    c, s, c_between, s_between = jnp.split(variates, (n, 2 * n, 3 * n - 1))
    (c, s), (c_between, s_between) = _normalised(c, s), _normalised(c_between, s_between)
    beside = jnp.where(i == order, 1, jnp.pad(s_between, (1, 0), constant_values=1))
    return (c * beside, s[:-1] * c_between), (s * beside, c[:-1] * c_between)


def _normalised(x: Float[Array, " k"], y: Float[Array, " k"]) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
    length = jnp.hypot(x, y)
    return x / length, y / length
