r"""Green's function and eigenvectors of a symmetric tridiagonal matrix, from its two triangular factorisations.

Eliminating $T - z$ from the top gives the pivots $q^+_i = d_i - z - e_{i-1}^2/q^+_{i-1}$, from the bottom
$q^-_i = d_i - z - e_i^2/q^-_{i+1}$. The two meet in row i with

$$\gamma_i = q^+_i + q^-_i - (d_i - z), \qquad \big[(T - z)^{-1}\big]_{ii} = 1/\gamma_i, \qquad
\big[(T - z)^{-1}\big]_{i,i+1} = -\frac{e_i}{q^+_i}\,\frac{1}{\gamma_{i+1}}.$$

Row i of the factorisation that is twisted there reads $(T - z) v = \gamma_i u_i$ for $v_i = 1$,
$v_{j} = -e_j v_{j+1}/q^+_j$ above and $v_{j} = -e_{j-1} v_{j-1}/q^-_j$ below. Next to an eigenvalue the i of the
smallest $|\gamma_i|$ is where the eigenvector is largest, and v is the eigenvector (Parlett and Dhillon 1997,
Linear Algebra Appl. 267, theorems 2 and 4; Dhillon and Parlett 2004).
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Inexact, Int

from rmtjax.linalg._decompose import decompose

# Levels closer than this part of ‖T‖/n are one cluster: vectors of lone levels are orthogonal to about eps‖T‖/gap. In a
# random spectrum one gap in 10⁵ is so small.
_CLUSTER = 0.002
# Shifts of inverse iteration in units of eps: off the level by more than its error, and off the grid on which levels of
# a matrix with few digits lie, so that no pivot is 0.
_OFF = 1.37
# Inverse iteration inside clusters; one step does nearly always (LAPACK's xSTEIN takes up to five).
_ITERATIONS = 3


def product(
    diagonal: Float[Array, "*batch n"], off_diagonal: Float[Array, "*batch n-1"], v: Inexact[Array, "*batch n"]
) -> Inexact[Array, "*batch n"]:
    """T v for vectors along the last axis."""
    result = diagonal * v
    result = result.at[..., 1:].add(off_diagonal * v[..., :-1])
    return result.at[..., :-1].add(off_diagonal * v[..., 1:])


def pivots(
    diagonal: Float[Array, " n"], off_diagonal: Float[Array, " n-1"], z: Inexact[Array, " k"]
) -> Inexact[Array, "n k"]:
    """The pivots q⁺ of T - z; for q⁻ flip the matrix and the result. Entries at most about 1 in size."""
    # A pivot of 0 becomes tiny, and the next one as large. Where nothing follows it stays 0: T - z is singular.
    tiny = np.finfo(diagonal.dtype).eps ** 4
    e2 = jnp.pad(off_diagonal**2, 1)

    def step(q: Inexact[Array, " k"], row: tuple) -> tuple[Inexact[Array, " k"], Inexact[Array, " k"]]:
        d, before, after = row
        q = d - z - jnp.where(before == 0, 0, before / jnp.where(q == 0, 1, q))
        q = jnp.where((q == 0) & (after > 0), tiny, q)
        return q, q

    return jax.lax.scan(step, jnp.ones_like(z), (diagonal, e2[:-1], e2[1:]), unroll=4)[1]


def both_pivots(
    diagonal: Float[Array, " n"], off_diagonal: Float[Array, " n-1"], z: Inexact[Array, " k"]
) -> tuple[Inexact[Array, "n k"], Inexact[Array, "n k"], Inexact[Array, "n k"]]:
    """q⁺, q⁻ and γ."""
    down = pivots(diagonal, off_diagonal, z)
    up = pivots(diagonal[::-1], off_diagonal[::-1], z)[::-1]
    return down, up, down + up - (diagonal[:, None] - z)


def green(
    diagonal: Float[Array, " n"], off_diagonal: Float[Array, " n-1"], z: Inexact[Array, " k"]
) -> tuple[Inexact[Array, "n k"], Inexact[Array, "n-1 k"]]:
    """Diagonal and off-diagonal of (T - z)⁻¹."""
    down, _, gamma = both_pivots(diagonal, off_diagonal, z)
    return 1 / gamma, -off_diagonal[:, None] / (down[:-1] * gamma[1:])


@jax.custom_jvp
def log_determinant(
    diagonal: Float[Array, " n"], off_diagonal: Float[Array, " n-1"], x: Float[Array, " k"]
) -> Float[Array, " k"]:
    """log|det(T - x)|."""
    q = jnp.abs(pivots(diagonal, off_diagonal, x))
    return jnp.sum(jnp.where(q == 0, -jnp.inf, jnp.log(jnp.where(q == 0, 1, q))), axis=0)


@log_determinant.defjvp
def _log_determinant_jvp(primals: tuple, tangents: tuple) -> tuple:
    d, e, x = tangents
    diagonal, off_diagonal = green(*primals)
    change = jnp.sum(diagonal * (d[:, None] - x), axis=0) + 2 * jnp.sum(off_diagonal * e[:, None], axis=0)
    return log_determinant(*primals), change


def twisted_vectors(
    diagonal: Float[Array, " n"], off_diagonal: Float[Array, " n-1"], eigenvalues: Float[Array, " k"]
) -> Float[Array, "n k"]:
    """Normalised eigenvectors to well separated eigenvalues, as columns."""
    n = diagonal.shape[0]
    down, up, gamma = both_pivots(diagonal, off_diagonal, eigenvalues)
    twist = jnp.argmin(jnp.abs(gamma), axis=0)
    e = jnp.pad(off_diagonal, 1)[:, None]

    def outward(ratios: Float[Array, "n k"], start: Int[Array, " k"]) -> Float[Array, "n k"]:
        """1 in row `start`, going on with the ratios in the rows after it."""

        def step(v: Float[Array, " k"], row: tuple) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
            i, ratio = row
            v = jnp.where(i == start, 1, v * ratio)
            return v, v

        return jax.lax.scan(step, jnp.zeros_like(eigenvalues), (jnp.arange(n), ratios), unroll=4)[1]

    below = outward(-e[:-1] / jnp.where(up == 0, 1, up), twist)
    above = outward((-e[1:] / jnp.where(down == 0, 1, down))[::-1], n - 1 - twist)[::-1]
    v = jnp.where(jnp.arange(n)[:, None] == twist, 1, below + above)
    return v / jnp.sqrt(jnp.sum(v**2, axis=0))


def eigenvectors(
    diagonal: Float[Array, " n"],
    off_diagonal: Float[Array, " n-1"],
    eigenvalues: Float[Array, " k"],
) -> Float[Array, "n k"]:
    """Orthonormal eigenvectors to ascending eigenvalues, as columns; Gershgorin bound of T in [1/2, 1)."""
    size = eigenvalues.size
    joined = jnp.diff(eigenvalues) < _CLUSTER / diagonal.size
    cluster = jnp.cumsum(jnp.pad(~joined, (1, 0)))
    crowded = jnp.pad(joined, (1, 0)) | jnp.pad(joined, (0, 1))

    def resolved(v: Float[Array, "n k"]) -> Float[Array, "n k"]:
        """Rayleigh and Ritz in the span of each cluster: the vectors of lone levels stay as they are."""
        v = _cluster_bases(diagonal, off_diagonal, eigenvalues, v, cluster, crowded)
        together = cluster[:, None] == cluster[None, :]
        projected = jnp.where(together, product(diagonal, off_diagonal, v.T) @ v, 0)
        _, rotation = decompose(jnp.where(jnp.eye(size, dtype=bool) & ~crowded, jnp.diag(eigenvalues), projected))
        return v @ jnp.where(together, rotation, 0)

    # The residual of a twisted vector is |λ - z|/|v_i|, up to √n times the error of the level z; one more solution
    # takes the factor away.
    v = jax.vmap(lambda z, v: solved(diagonal, off_diagonal, z, v), (0, 1), 1)(
        eigenvalues, twisted_vectors(diagonal, off_diagonal, eigenvalues)
    )
    return jax.lax.cond(jnp.any(crowded), resolved, lambda v: v, v)


def solved(
    diagonal: Float[Array, " n"], off_diagonal: Float[Array, " n-1"], level: Float[Array, ""], v: Float[Array, " n"]
) -> Float[Array, " n"]:
    """A step of inverse iteration, normalised; v itself where the system is singular."""
    left, right = jnp.pad(off_diagonal, (1, 0)), jnp.pad(off_diagonal, (0, 1))
    shifted = (diagonal - level) - _OFF * jnp.finfo(diagonal.dtype).eps
    w = jax.lax.linalg.tridiagonal_solve(left, shifted, right, v[:, None])[:, 0]
    largest = jnp.max(jnp.abs(w))
    w = jnp.where(jnp.isfinite(largest) & (largest > 0), w / largest, v)
    return w / jnp.linalg.norm(w)


def _cluster_bases(
    diagonal: Float[Array, " n"],
    off_diagonal: Float[Array, " n-1"],
    eigenvalues: Float[Array, " k"],
    v: Float[Array, "n k"],
    cluster: Int[Array, " k"],
    crowded: Bool[Array, " k"],
) -> Float[Array, "n k"]:
    """The vectors of crowded levels replaced by orthonormal bases of their clusters, from inverse iteration."""
    n, size = v.shape
    members = jnp.nonzero(crowded, size=size, fill_value=0)[0]

    def orthogonal_to_earlier(w: Float[Array, " n"], v: Float[Array, "n k"], k: Int[Array, ""]) -> Float[Array, " n"]:
        earlier = (cluster == cluster[k]) & (jnp.arange(size) < k)
        for _ in range(2):  # twice is enough (Kahan)
            w = w - v @ jnp.where(earlier, w @ v, 0)
        return w / jnp.linalg.norm(w)

    def renew(number: Int[Array, ""], v: Float[Array, "n k"]) -> Float[Array, "n k"]:
        k = members[number]
        w = jnp.sin(jnp.arange(1, n + 1) * (k + 1.0)).astype(diagonal.dtype)
        for _ in range(_ITERATIONS):
            w = solved(diagonal, off_diagonal, eigenvalues[k], orthogonal_to_earlier(w, v, k))
        return v.at[:, k].set(orthogonal_to_earlier(w, v, k))

    return jax.lax.fori_loop(0, jnp.sum(crowded), renew, v)
