r"""Green's function and eigenvectors of a symmetric tridiagonal matrix, from its two triangular factorisations.

Eliminating $T - z$ from the top gives the pivots $q^+_i = d_i - z - e_{i-1}^2/q^+_{i-1}$, and from the bottom
$q^-_i = d_i - z - e_i^2/q^-_{i+1}$. The two meet in row i with

$$\gamma_i = q^+_i + q^-_i - (d_i - z), \qquad \big[(T - z)^{-1}\big]_{ii} = 1/\gamma_i, \qquad
\big[(T - z)^{-1}\big]_{i,i+1} = -\frac{e_i}{q^+_i}\,\frac{1}{\gamma_{i+1}}.$$

The factorisation twisted at row i gives the solution of $(T - z) v = \gamma_i u_i$ with the unit vector $u_i$. It has
$v_i = 1$, $v_{j} = -e_j v_{j+1}/q^+_j$ above and $v_{j} = -e_{j-1} v_{j-1}/q^-_j$ below. Close to an eigenvalue,
$|\gamma_i|$ is smallest where the eigenvector is largest, and v for this i is the eigenvector (Parlett and Dhillon
1997, Linear Algebra Appl. 267, theorems 2 and 4; Dhillon and Parlett 2004).
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Inexact, Int

from rmtjax._promotion import aligned, like
from rmtjax.linalg._decompose import decompose
from rmtjax.linalg._sturm import Beside, Diagonal

# Levels closer than this fraction of ‖T‖/n, or than this many eps‖T‖, form a cluster. Vectors of single levels are
# orthogonal only to about eps‖T‖/gap; in the basis of a cluster, components along neighbours are a power of this. In a
# random spectrum one gap in 10⁵ is below the first bound; in float32 at n = 1000 one in 80 is below the second.
_CLUSTER = 0.002
_CLOSE = 2000
# Clusters up to this size are diagonalised one by one, larger ones in one matrix.
_SMALL = 8
# Distance of the shift of inverse iteration from the level, in units of eps. It exceeds the error of the level and is
# not a multiple of the spacing of floating-point numbers, so that no pivot is 0.
_OFF = 1.37
# Steps of inverse iteration inside clusters; one is nearly always enough (LAPACK's xSTEIN takes up to five).
_ITERATIONS = 3


def product(
    diagonal: Float[Array, "*batch n"], off_diagonal: Float[Array, "*batch n-1"], v: Inexact[Array, "*batch n"]
) -> Inexact[Array, "*batch n"]:
    """T v for vectors along the last axis."""
    diagonal, off_diagonal, v = aligned(diagonal, off_diagonal, v)
    result = diagonal * v
    result = result.at[..., 1:].add(off_diagonal * v[..., :-1])
    return result.at[..., :-1].add(off_diagonal * v[..., 1:])


def pivots(diagonal: Diagonal, off_diagonal: Beside, z: Inexact[Array, " k"]) -> Inexact[Array, "n k"]:
    """The pivots q⁺ of T - z, whose entries are at most about 1 in size; for q⁻ flip the matrix and the result."""
    # A pivot of 0 becomes tiny, which makes the next pivot huge. The last pivot of a block stays 0: T - z is singular.
    tiny = np.finfo(diagonal.dtype).eps ** 4
    e2 = jnp.pad(off_diagonal**2, 1)

    def step(q: Inexact[Array, " k"], row: tuple) -> tuple[Inexact[Array, " k"], Inexact[Array, " k"]]:
        d, before, after = row
        q = like(z, d) - z - jnp.where(before == 0, 0, like(z, before) / jnp.where(q == 0, 1, q))
        q = jnp.where((q == 0) & (after > 0), like(z, tiny), q)
        return q, q

    return jax.lax.scan(step, jnp.ones_like(z), (diagonal, e2[:-1], e2[1:]), unroll=4)[1]


def both_pivots(
    diagonal: Diagonal, off_diagonal: Beside, z: Inexact[Array, " k"]
) -> tuple[Inexact[Array, "n k"], Inexact[Array, "n k"], Inexact[Array, "n k"]]:
    """The pivots q⁺ and q⁻, and γ."""
    d, e = (jnp.stack([a, a[::-1]]) for a in (diagonal, off_diagonal))
    down, up = jax.vmap(pivots, (0, 0, None))(d, e, z)
    up = up[::-1]
    return down, up, down + up - (like(z, diagonal)[:, None] - z[None])


def green(
    diagonal: Diagonal, off_diagonal: Beside, z: Inexact[Array, " k"]
) -> tuple[Inexact[Array, "n k"], Inexact[Array, "n-1 k"]]:
    """The diagonal and the off-diagonal of (T - z)⁻¹."""
    down, _, gamma = both_pivots(diagonal, off_diagonal, z)
    return 1 / gamma, -like(z, off_diagonal)[:, None] / (down[:-1] * gamma[1:])


@jax.custom_jvp
def log_determinant(diagonal: Diagonal, off_diagonal: Beside, x: Float[Array, " k"]) -> Float[Array, " k"]:
    """The logarithm log|det(T - x)|."""
    q = jnp.abs(pivots(diagonal, off_diagonal, x))
    return jnp.sum(jnp.where(q == 0, -jnp.inf, jnp.log(jnp.where(q == 0, 1, q))), axis=0)


@log_determinant.defjvp
def _log_determinant_jvp(primals: tuple, tangents: tuple) -> tuple:
    d, e, x = tangents
    diagonal, off_diagonal = green(*primals)
    change = jnp.sum(diagonal * (d[:, None] - x[None]), axis=0) + 2 * jnp.sum(off_diagonal * e[:, None], axis=0)
    return log_determinant(*primals), change


def twisted_vectors(diagonal: Diagonal, off_diagonal: Beside, eigenvalues: Float[Array, " k"]) -> Float[Array, "n k"]:
    """Normalised eigenvectors for well separated eigenvalues, as columns."""
    n = diagonal.shape[0]
    down, up, gamma = both_pivots(diagonal, off_diagonal, eigenvalues)
    twist = jnp.argmin(jnp.abs(gamma), axis=0)
    e = jnp.pad(off_diagonal, 1)[:, None]

    def outward(ratios: Float[Array, "n k"], start: Int[Array, " k"]) -> Float[Array, "n k"]:
        """The vector that is 0 before row `start`, 1 there, and continued by the ratios in the rows after it."""

        def step(v: Float[Array, " k"], row: tuple) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
            i, ratio = row
            v = jnp.where(i == start, 1, v * ratio)
            return v, v

        return jax.lax.scan(step, jnp.zeros_like(eigenvalues), (jnp.arange(n), ratios), unroll=4)[1]

    ratios = -e[:-1] / jnp.where(up == 0, 1, up), (-e[1:] / jnp.where(down == 0, 1, down))[::-1]
    below, above = jax.vmap(outward)(jnp.stack(ratios), jnp.stack([twist, n - 1 - twist]))
    here = jnp.arange(n)[:, None] == twist[None]
    v = jnp.where(here, 1, below + above[::-1])
    squares = jnp.sum(v**2, axis=0)
    # In a cluster of equal levels v may overflow; it is then replaced by a unit vector.
    return jnp.where(jnp.isfinite(squares)[None], v / jnp.sqrt(squares)[None], like(v, here))


def eigenvectors(diagonal: Diagonal, off_diagonal: Beside, eigenvalues: Float[Array, " k"]) -> Float[Array, "n k"]:
    """Orthonormal eigenvectors for ascending eigenvalues, as columns, if T has a Gershgorin bound in [1/2, 1)."""
    # The residual of a twisted vector is |λ - z|/|v_i|, up to √n times the error of the level z; one step of inverse
    # iteration removes the factor √n.
    v = jax.vmap(lambda z, v: solved(diagonal, off_diagonal, z, v), (0, 1), 1)(
        eigenvalues, twisted_vectors(diagonal, off_diagonal, eigenvalues)
    )
    has_cluster = jnp.any(_clustered(diagonal, off_diagonal, eigenvalues).size > 1)
    return _renewed_where_needed(has_cluster, diagonal, off_diagonal, eigenvalues, v)


def _renewed(
    diagonal: Diagonal, off_diagonal: Beside, levels: Float[Array, " k"], v: Float[Array, "n k"]
) -> Float[Array, "n k"]:
    """The vectors, where the vectors of clusters are computed anew."""
    problem = _clustered(diagonal, off_diagonal, levels)
    v = _bases(problem, v)
    small, large = (problem.size > 1) & (problem.size <= _SMALL), problem.size > _SMALL
    v = _where_needed(jnp.any(small), lambda v: _small_rotations(problem, v, small), v)
    if levels.size <= _SMALL:
        return v
    return _where_needed(jnp.any(large), lambda v: _large_rotations(problem, v, large), v)


@jax.custom_batching.custom_vmap
def _renewed_where_needed(
    needed: Bool[Array, "*batch"],
    diagonal: Float[Array, "*batch n"],
    off_diagonal: Float[Array, "*batch n-1"],
    levels: Float[Array, "*batch k"],
    v: Float[Array, "*batch n k"],
) -> Float[Array, "*batch n k"]:
    """`_renewed` for the matrices of a batch that have a cluster, one after another; the others cost nothing."""
    if needed.ndim == 0:
        return _where_needed(needed, lambda v: _renewed(diagonal, off_diagonal, levels, v), v)
    if v.size == 0:
        return v
    number = needed.size
    queue = jnp.argsort(~needed.ravel())
    d, e, x = (a.reshape(number, a.shape[-1]) for a in (diagonal, off_diagonal, levels))

    def renew(place: Int[Array, ""], v: Float[Array, "number n k"]) -> Float[Array, "number n k"]:
        i = queue[place]
        return v.at[i].set(_renewed(d[i], e[i], x[i], v[i]))

    return jax.lax.fori_loop(0, jnp.sum(needed), renew, v.reshape(number, *v.shape[-2:])).reshape(v.shape)


@_renewed_where_needed.def_vmap
def _renewed_where_needed_vmap(size: int, batched: list[bool], *operands: Array) -> tuple[Array, bool]:
    spread = lambda a, whole: a if whole else jnp.broadcast_to(a, (size, *a.shape))
    return _renewed_where_needed(*map(spread, operands, batched)), True


def _where_needed(
    condition: Bool[Array, ""], change: Callable[[Float[Array, "n k"]], Float[Array, "n k"]], v: Float[Array, "n k"]
) -> Float[Array, "n k"]:
    """Either `change(v)` or v, by a loop of at most one turn: under `vmap`, `lax.cond` would always compute both."""
    once = lambda state: (jnp.zeros_like(state[0]), change(state[1]))
    return jax.lax.while_loop(lambda state: state[0], once, (condition, v))[1]


class _Clustered(NamedTuple):
    """A matrix, some of its levels, and for each level the index of the first member of its cluster and the size."""

    diagonal: Diagonal
    off_diagonal: Beside
    levels: Float[Array, " k"]
    first: Int[Array, " k"]
    size: Int[Array, " k"]


def _clustered(diagonal: Diagonal, off_diagonal: Beside, levels: Float[Array, " k"]) -> _Clustered:
    joined = jnp.diff(levels) < max(_CLUSTER / diagonal.size, _CLOSE * np.finfo(diagonal.dtype).eps)
    index = jnp.arange(levels.size)
    first = jax.lax.cummax(jnp.where(jnp.pad(joined, (1, 0)), 0, index))
    last = jax.lax.cummin(jnp.where(jnp.pad(joined, (0, 1)), levels.size - 1, index), reverse=True)
    return _Clustered(diagonal, off_diagonal, levels, first, last - first + 1)


def _residuals(problem: _Clustered, v: Float[Array, "n k"]) -> Float[Array, "n k"]:
    """The columns (T - λ) v; the difference comes before the product, because it is small where T is near λ."""
    return product(problem.diagonal[None] - problem.levels[:, None], problem.off_diagonal, v.T).T


def _small_rotations(problem: _Clustered, v: Float[Array, "n k"], small: Bool[Array, " k"]) -> Float[Array, "n k"]:
    """Rayleigh-Ritz in the span of each small cluster, in its own units."""
    # Each level takes its own eigenvector of VᵀTV - λ_first, with V the members of its cluster. The matrices have one
    # size: members fill the first slots, and empty slots are decoupled rows with diagonal entries far above.
    k = problem.levels.size
    index, slot = jnp.arange(k), jnp.arange(min(_SMALL, k))
    residuals = _residuals(problem, v)

    def projected(distance: Int[Array, ""]) -> Float[Array, " k"]:
        """The entries (i, i + distance) of VᵀTV - VᵀV diag(λ) for all levels i, made symmetric."""
        j = jnp.minimum(index + distance, k - 1)
        return jnp.sum(v * residuals[:, j] + residuals * v[:, j], axis=0) / 2

    diagonals = jax.lax.map(projected, slot)
    member = jnp.minimum(problem.first[:, None] + slot[None], k - 1)
    filled = slot[None] < problem.size[:, None]
    upper_row, distance = jnp.minimum(member[:, :, None], member[:, None, :]), jnp.abs(slot[:, None] - slot[None])
    ritz = jnp.where(filled[:, :, None] & filled[:, None, :], diagonals[distance, upper_row], 0)
    levels = jnp.where(filled, problem.levels[member] - problem.levels[problem.first][:, None], 0)
    bound = jnp.sum(jnp.abs(ritz), axis=(1, 2)) + jnp.sum(levels, axis=1) + jnp.finfo(v.dtype).eps ** 4
    levels = jnp.where(filled, levels, bound[:, None] * (2.0 + like(bound, slot))[None])
    _, rotations = decompose(ritz + levels[:, :, None] * jnp.eye(slot.size, dtype=v.dtype)[None])
    own = jnp.minimum(index - problem.first, slot.size - 1)[:, None, None]
    weights = jnp.where(filled, jnp.take_along_axis(rotations, own, axis=2)[:, :, 0], 0)
    add = lambda a, total: total + v[:, member[:, a]] * weights[:, a][None]
    return jnp.where(small, jax.lax.fori_loop(0, slot.size, add, jnp.zeros_like(v)), v)


def _large_rotations(problem: _Clustered, v: Float[Array, "n k"], large: Bool[Array, " k"]) -> Float[Array, "n k"]:
    """Rayleigh-Ritz in the spans of the large clusters, all in one matrix."""
    k = problem.levels.size
    together = (problem.first[:, None] == problem.first[None]) & large[None] & large[:, None]
    ritz = jnp.where(together, v.T @ _residuals(problem, v), 0)
    # The other levels keep only their order: their actual values would set the units of the matrix.
    index = jnp.arange(k)
    lowest, highest = jnp.argmax(large), k - 1 - jnp.argmax(large[::-1])
    spread = problem.levels[highest] - problem.levels[lowest]
    half = spread / 2 + 2 * jnp.max(jnp.sum(jnp.abs(ritz), axis=0))
    levels = problem.levels - problem.levels[lowest] - spread / 2
    outside = jnp.maximum(index - highest, 0) - jnp.maximum(lowest - index, 0)
    levels = jnp.clip(levels, -half, half) + half / k * outside.astype(v.dtype)
    _, rotation = decompose((ritz + ritz.T) / 2 + jnp.diag(levels))
    return jnp.where(large, v @ jnp.where(together, rotation, 0), v)


def solved(
    diagonal: Diagonal, off_diagonal: Beside, level: Float[Array, ""], v: Float[Array, " n"]
) -> Float[Array, " n"]:
    """One step of inverse iteration, normalised; v itself where the system is singular."""
    left, right = jnp.pad(off_diagonal, (1, 0)), jnp.pad(off_diagonal, (0, 1))
    shifted = (diagonal - level) - _OFF * jnp.finfo(diagonal.dtype).eps
    w = jax.lax.linalg.tridiagonal_solve(left, shifted, right, v[:, None])[:, 0]
    largest = jnp.max(jnp.abs(w))
    w = jnp.where(jnp.isfinite(largest) & (largest > 0), w / largest, v)
    return w / jnp.linalg.norm(w)


def _bases(problem: _Clustered, v: Float[Array, "n k"]) -> Float[Array, "n k"]:
    """The vectors, where an orthonormal basis of the invariant subspace replaces the vectors of each cluster."""
    n, k = v.shape
    width = min(_SMALL, k)
    queue = jnp.nonzero(problem.size > 1, size=k, fill_value=0)[0]

    def renew(number: Int[Array, ""], v: Float[Array, "n k"]) -> Float[Array, "n k"]:
        i = queue[number]
        first = problem.first[i]
        pieces = jax.lax.div(i - first + width - 1, width)

        def against(number: Int[Array, ""], w: Float[Array, " n"]) -> Float[Array, " n"]:
            """The vector w without its components along a few of the earlier members of the cluster."""
            begin = first + width * jax.lax.rem(number, pieces)
            start = jnp.minimum(begin, k - width)
            some, index = jax.lax.dynamic_slice_in_dim(v, start, width, axis=1), start + jnp.arange(width)
            return w - some @ jnp.where((index >= begin) & (index < i), w @ some, 0)

        def step(_: int, w: Float[Array, " n"]) -> Float[Array, " n"]:
            w = solved(problem.diagonal, problem.off_diagonal, problem.levels[i], w)
            w = jax.lax.fori_loop(0, 2 * pieces, against, w)  # orthogonalising twice is enough (Kahan)
            return w / jnp.linalg.norm(w)

        w = jnp.sin(jnp.arange(1.0, n + 1) * (like(jnp.zeros(()), i) + 1)).astype(v.dtype)
        return v.at[:, i].set(jax.lax.fori_loop(0, _ITERATIONS, step, w))

    return jax.lax.fori_loop(0, jnp.sum(problem.size > 1), renew, v)
