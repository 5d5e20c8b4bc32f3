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

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from rmtjax._typing import KeyScalar
from rmtjax.random._gamma import unchecked_chi

Entries = tuple[Float[Array, " n"], Float[Array, " n-1"]]


def _cosine_and_sine(
    key: KeyScalar, first: Float[Array, " n"], second: Float[Array, " n"]
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """The roots of x ~ Beta(first, second) and of 1 - x, each with all its digits."""
    key_first, key_second = jax.random.split(key)
    x, y = unchecked_chi(key_first, 2 * first), unchecked_chi(key_second, 2 * second)
    length = jnp.hypot(x, y)
    return x / length, y / length


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
    key_row, key_between = jax.random.split(key)
    i = jnp.arange(n, 0, -1, dtype=p.dtype)
    steps = (i - 1) * beta / 2
    c, s = _cosine_and_sine(key_row, p + steps, q + steps)
    c_between, s_between = _cosine_and_sine(key_between, i[1:] * beta / 2, p + q + steps[1:])
    beside = jnp.where(i == order, 1, jnp.pad(s_between, (1, 0), constant_values=1))
    return (c * beside, s[:-1] * c_between), (s * beside, c[:-1] * c_between)
