"""Real symmetric tridiagonal matrices: exact counts and spectra at any size."""

import dataclasses
import math
from collections.abc import Callable
from functools import partial
from typing import Annotated

import jax
import jax.numpy as jnp
from jax.core import Tracer
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Complex, Float, Inexact, Int

from rmtjax import _checks
from rmtjax._automatic import on_automatic_axes
from rmtjax._compile import compiled
from rmtjax._mesh import gathered, on_all_devices, spread_over
from rmtjax._module import AbstractModule
from rmtjax._promotion import common_dtype, complex_dtype, like
from rmtjax._typing import ArrayLike, RealLike
from rmtjax.linalg import _sturm, _sturm_search, _tridiagonal_vectors
from rmtjax.linalg._decompose import inverse_gaps
from rmtjax.linalg._sturm import Beside, Diagonal, Order

Select = tuple[int, int] | None


_FINITE_ROWS = _checks.Rule(lambda entries: (abs(entries) < math.inf).all(-1), "be finite")


class SymTridiagonal(AbstractModule):
    r"""A real symmetric tridiagonal matrix, or a batch of them, given by its two diagonals.

    Counts and eigenvalues need O(n) memory besides the result. For a matrix with NaN or infinity the eigenvalues,
    eigenvectors, log-determinant and resolvent are NaN, and counts are refused. Subnormal entries are treated as 0.

    Accuracy: eigenvalues are within 4 eps‖T‖ of the exact ones, and counts are exact for points farther than that from
    every eigenvalue. Eigenvectors have residuals below 10 eps‖T‖, or 30 eps‖T‖ where `select` cuts through a cluster of
    levels, and are orthogonal to 50 n eps.

    Derivatives: $\dot\lambda_k = v_k^T \dot T v_k$, forward and reverse, with n numbers in memory for each level.
    Levels closer than rounding count as one degenerate level, where gradients of symmetric functions of the spectrum
    are right too. Second derivatives are right for distinct levels, and NaN for equal ones. Counts have the derivative
    0.

    Args:
        diagonal: n ≥ 1 entries, batched over leading axes.
        off_diagonal: n - 1 entries, batched over the same axes; of any sign.

    Raises:
        ValueError: the lengths do not match, or an argument is complex or of half precision.

    Example:
        >>> import jax.numpy as jnp
        >>> chain = SymTridiagonal(jnp.full(3, 2.0), jnp.ones(2))
        >>> print([f"{level:.4f}" for level in chain.eigenvalues()], chain.count_below(1.0))
        ['0.5858', '2.0000', '3.4142'] 1

    References:
        Parlett (1998), The Symmetric Eigenvalue Problem, chapters 3 and 7.
    """

    diagonal: Float[Array, "*batch n"]
    off_diagonal: Float[Array, "*batch n-1"]

    def __init__(self, diagonal: Annotated[RealLike, "*batch n"], off_diagonal: Annotated[RealLike, "*batch n-1"]):
        d, e = _checks.real("diagonal", diagonal), _checks.real("off_diagonal", off_diagonal)
        if d.ndim == 0 or d.shape[-1] == 0:
            raise _checks.refusal("diagonal", "have at least one entry", d.shape)
        if e.shape != (*d.shape[:-1], d.shape[-1] - 1):
            raise _checks.refusal("off_diagonal", f"have the shape {(*d.shape[:-1], d.shape[-1] - 1)}", e.shape)
        dtype = common_dtype(d, e)
        self.diagonal, self.off_diagonal = d.astype(dtype), e.astype(dtype)

    @property
    def n(self) -> int:
        """Size of the matrix."""
        return self.diagonal.shape[-1]

    def todense(self) -> Float[Array, "*batch n n"]:
        """The matrix as a dense array."""
        return _dense(self.diagonal, self.off_diagonal)

    def matvec(self, v: Annotated[ArrayLike, "*batch n"]) -> Inexact[Array, "*batch n"]:
        """The product T v; the batch axes of v and T broadcast against each other."""
        v = _checks.numbers("v", v)
        if v.ndim == 0 or v.shape[-1] != self.n:
            raise _checks.refusal("v", f"have {self.n} entries on its last axis", v.shape)
        return _product(self.diagonal, self.off_diagonal, v)

    @on_automatic_axes
    def count_below(self, x: RealLike, *, mesh: Mesh | None = None) -> Int[Array, "..."]:
        r"""Number of eigenvalues strictly below each x.

        Args:
            x: points of any shape and order, infinities included, rounded to the dtype of the matrix. At a point closer
                to a level than 4 eps‖T‖ either count may be returned.
            mesh: devices that share the points in equal parts; the axes may have any names. Each device gets a copy of
                the matrix. By default the devices that hold the arguments share them.

        Returns:
            Integers of the shape of the batch followed by the shape of `x`.

        Raises:
            ValueError: `x` holds NaN, the matrix holds NaN or infinity, or `mesh` is not a mesh.
        """
        x, valid = _checks.points("x", x)
        for name, entries in (("diagonal", self.diagonal), ("off_diagonal", self.off_diagonal)):
            finite = _FINITE_ROWS.kept(name, entries)
            valid = _checks.all_kept(valid, finite if finite is True else finite.reshape(*finite.shape, *[1] * x.ndim))
        operands = on_all_devices(mesh, (self.diagonal, self.off_diagonal, x.astype(self.diagonal.dtype).ravel()))
        *matrix, points = operands
        with spread_over(mesh):
            counts = partial(block_counts, order=jnp.int32(self.n), x=points)
            below = jnp.vectorize(counts, signature="(n),(m)->(k)")(*matrix)
        return _checks.masked(valid, below.reshape(*self.diagonal.shape[:-1], *x.shape))

    def eigenvalues(self, select: Select = None, *, mesh: Mesh | None = None) -> Float[Array, "*batch k"]:
        """Ascending eigenvalues.

        Args:
            select: None for all levels, or (i, j) for the levels i to j - 1, counted from 0; 0 ≤ i < j ≤ n. Static.
            mesh: devices of which each finds an equal range of levels; the axes may have any names. Each device gets a
                copy of the matrix and computes the whole derivative. The levels are within 4 eps‖T‖ for every number of
                devices, but may differ in the last digits. By default one device does all.

        Raises:
            ValueError: `select` is out of range, or `mesh` is not a mesh.
        """
        values = partial(block_eigenvalues, *self._selected(select), order=jnp.int32(self.n))
        operands = on_all_devices(mesh, (self.diagonal, self.off_diagonal))
        with spread_over(mesh):
            return jnp.vectorize(values, signature="(n),(m)->(k)")(*operands)

    def eigenvectors(self, select: Select = None) -> Float[Array, "*batch n k"]:
        """Orthonormal eigenvectors as columns, in the order of `eigenvalues(select)`; their signs are arbitrary.

        Args:
            select: as in `eigenvalues`.

        Raises:
            ValueError: `select` is out of range.
        """
        vectors = partial(_eigenvectors, *self._selected(select))
        return jnp.vectorize(vectors, signature="(n),(m)->(n,k)")(self.diagonal, self.off_diagonal)

    @on_automatic_axes
    def log_determinant(self, x: RealLike = 0.0) -> Float[Array, "..."]:
        r"""$\log|\det(T - x)|$, in O(n).

        At an eigenvalue it is $-\infty$ or, because of rounding, the logarithm of a tiny number; at NaN it is NaN.

        Args:
            x: real points of any shape.

        Returns:
            Numbers of the shape of the batch followed by the shape of `x`.
        """
        return self._at_points(_log_determinant, _checks.real("x", x).astype(self.diagonal.dtype))

    @on_automatic_axes
    def resolvent_trace(self, z: ArrayLike | complex) -> Complex[Array, "..."]:
        r"""Trace of the resolvent, $\operatorname{tr}(z - T)^{-1} = \sum_k \frac{1}{z - \lambda_k}$, in O(n).

        Convention: n times `statistics.stieltjes` of the spectrum.

        Args:
            z: points of any shape off the spectrum, rounded to the precision of the matrix; NaN gives NaN.

        Returns:
            Complex numbers of the shape of the batch followed by the shape of `z`.
        """
        return self._at_points(_resolvent_trace, _checks.numbers("z", z).astype(complex_dtype(self.diagonal.dtype)))

    def _at_points(self, function: Callable, z: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        """A function of each matrix of the batch and of all points."""
        each = jnp.vectorize(partial(function, z=z.ravel()), signature="(n),(m)->(k)")
        return each(self.diagonal, self.off_diagonal).reshape(*self.diagonal.shape[:-1], *z.shape)

    def _selected(self, select: Select) -> tuple[int, int]:
        if select is None:
            return 0, self.n
        must = f"be None or a pair of static integers i < j with 0 <= i and j <= {self.n}"
        if not (isinstance(select, tuple | list) and len(select) == 2):
            raise _checks.refusal("select", must, select)
        try:
            first, last = (_checks.integer("select", index, at_least=0) for index in select)
        except ValueError:
            raise _checks.refusal("select", must, select) from None
        if not first < last <= self.n:
            raise _checks.refusal("select", must, select)
        return first, last


@compiled
def _dense(d: Float[Array, "*batch n"], e: Float[Array, "*batch n-1"]) -> Float[Array, "*batch n n"]:
    index = jnp.arange(d.shape[-1])
    dense = jnp.zeros((*d.shape, d.shape[-1]), d.dtype).at[..., index, index].set(d)
    return dense.at[..., index[1:], index[:-1]].set(e).at[..., index[:-1], index[1:]].set(e)


_product = compiled(_tridiagonal_vectors.product)


@compiled
def block_counts(d: Diagonal, e: Beside, order: Order, x: Float[Array, "*shape"]) -> Int[Array, "*shape"]:
    """Number of eigenvalues of the trailing block, whose order may be traced, strictly below each x."""
    d, e, x = jax.lax.stop_gradient((d, e, x))
    matrix, _ = _sturm.prepare(*_inside(d, e, order))
    matrix = dataclasses.replace(matrix, ties_are_above=True)
    return _sturm.total_count(matrix, _sturm.shifts(x.astype(d.dtype), matrix.exponent))


def _eigenvectors(first: int, last: int, d: Diagonal, e: Beside) -> Float[Array, "n k"]:
    order = jnp.int32(d.size)
    return vectors_of_levels(first, last, d, e, order, block_eigenvalues(first, last, d, e, order))


def _inside(d: Diagonal, e: Beside, order: Order) -> tuple[Diagonal, Beside, Bool[Array, " n"]]:
    """The entries of the trailing block, 0 elsewhere, and a mask of its rows.

    Subnormal entries become 0, because XLA treats them as 0 in one operation and not in the next.
    """
    inside = jnp.arange(d.size, dtype=order.dtype) >= d.size - order
    # The difference keeps the derivative of an entry that is 0.
    subnormal = lambda a: jax.lax.stop_gradient(jnp.where(jnp.abs(a) < jnp.finfo(a.dtype).tiny, a, 0))
    return jnp.where(inside, d - subnormal(d), 0), jnp.where(inside[:-1], e - subnormal(e), 0), inside


def block_eigenvalues(first: int, last: int, d: Diagonal, e: Beside, order: Order) -> Float[Array, " k"]:
    """Eigenvalues of the trailing block, whose order may be traced, padded with +inf."""
    # Known numbers need no derivative, and at small n a call of a function with a derivative rule takes twice as long.
    search = _differentiable if any(isinstance(a, Tracer) for a in (d, e, order)) else _search
    return search(first, last, d, e, order)


@partial(compiled, static_argnums=(0, 1))
def _search(first: int, last: int, d: Diagonal, e: Beside, order: Order) -> Float[Array, " k"]:
    matrix, finite = _sturm.prepare(*_inside(d, e, order), _sturm_search.rows_in_a_step(last - first, d.dtype))
    levels = _sturm_search.eigenvalues(matrix, order, first, last)
    return jnp.where(jnp.arange(first, last, dtype=order.dtype) < order, jnp.where(finite, levels, jnp.nan), jnp.inf)


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _differentiable(first: int, last: int, d: Diagonal, e: Beside, order: Order) -> Float[Array, " k"]:
    return _search(first, last, d, e, order)


@_differentiable.defjvp
def _differentiable_jvp(first: int, last: int, primals: tuple, tangents: tuple) -> tuple:
    (d, e, _), levels = tangents, block_eigenvalues(first, last, *primals)
    # A cluster of levels may lie across two devices, so each device computes all vectors.
    # The second derivatives of equal levels have no value, see `_decompose`.
    return levels, _change(_parted_vectors(first, last, *primals, gathered(levels)), d, e)


@jax.jit
def _change(v: Float[Array, "n k"], d: Diagonal, e: Beside) -> Float[Array, " k"]:
    """The change of the eigenvalues with eigenvectors v under a change of the matrix."""
    return d @ v**2 + 2 * e @ (v[1:] * v[:-1])


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
@partial(compiled, static_argnums=(0, 1))
def vectors_of_levels(
    first: int, last: int, d: Diagonal, e: Beside, order: Order, levels: Float[Array, " k"]
) -> Float[Array, "n k"]:
    """Eigenvectors of the trailing block as columns, for known levels; the search for levels is the longer program.

    They are 0 outside the block and for levels that it does not have.
    """
    d, e, inside = _inside(d, e, order)
    d, e, exponent, finite = _sturm.normalised(d, e)
    present = jnp.arange(first, last, dtype=order.dtype) < order
    # Rows outside the block have ascending levels, far from all others.
    far = _sturm.ABOVE_ALL + jnp.arange(d.size, dtype=d.dtype)
    d = jnp.where(inside, d, far)
    scaled = jnp.where(present & finite, _sturm.scaled(levels, -exponent), far[first:last])
    return jnp.where(finite, _tridiagonal_vectors.eigenvectors(d, e, scaled) * like(d, present)[None], jnp.nan)


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _parted_vectors(
    first: int, last: int, d: Diagonal, e: Beside, order: Order, levels: Float[Array, " k"]
) -> Float[Array, "n k"]:
    """The same vectors; their derivatives are NaN for equal levels."""
    return vectors_of_levels(first, last, d, e, order, levels)


def _vectors_of_levels_jvp(at_equal: float, first: int, last: int, primals: tuple, tangents: tuple) -> tuple:
    """First-order perturbation theory as in `_decompose`, with all levels in the sum over intermediate states.

    The levels depend on the entries only, so their own tangent adds nothing.
    """
    (*matrix, levels), (d, e, *_), n = primals, tangents, primals[0].size
    levels = levels if (first, last) == (0, n) else block_eigenvalues(0, n, *matrix)
    every = vectors_of_levels(0, n, *matrix, levels)
    absent = jnp.isinf(levels)  # their vectors are 0
    levels = jnp.where(absent, 0, levels)
    v = every[:, first:last]
    change = _tridiagonal_vectors.product(d, e, v.T).T
    gaps = inverse_gaps(levels, levels[first:last], first=first, at_equal=at_equal)
    gaps = jnp.where(absent[:, None] | absent[None, first:last], 0, gaps)
    return v, every @ (gaps * (every.T @ change))


vectors_of_levels.defjvp(partial(_vectors_of_levels_jvp, 0.0))
_parted_vectors.defjvp(partial(_vectors_of_levels_jvp, math.nan))


@compiled
def _log_determinant(d: Diagonal, e: Beside, z: Float[Array, " k"]) -> Float[Array, " k"]:
    n = d.size
    d, e, _ = _inside(d, e, jnp.int32(n))
    scaled_d, scaled_e, exponent, finite = _sturm.normalised(d, e)
    far, distant, near = _by_distance(jnp.where(finite, z, jnp.nan), exponent)
    at_far = n * jnp.log(jnp.abs(distant)) - jnp.sum(d) / distant
    at_near = _tridiagonal_vectors.log_determinant(scaled_d, scaled_e, _sturm.scaled(near, -exponent))
    return jnp.where(far, at_far, at_near + n * math.log(2) * exponent.astype(d.dtype))


@compiled
def _resolvent_trace(d: Diagonal, e: Beside, z: Complex[Array, " k"]) -> Complex[Array, " k"]:
    d, e, _ = _inside(d, e, jnp.int32(d.size))
    scaled_d, scaled_e, exponent, finite = _sturm.normalised(d, e)
    z = jnp.where(finite, z, jnp.nan)
    far, distant, near = _by_distance(z, exponent)
    scaled = lambda z: jax.lax.complex(_sturm.scaled(z.real, -exponent), _sturm.scaled(z.imag, -exponent))
    trace = -jnp.sum(_tridiagonal_vectors.green(scaled_d, scaled_e, scaled(near))[0], axis=0)
    return jnp.where(far, (d.size + like(z, jnp.sum(d)) / distant) / distant, scaled(trace))


def _by_distance(
    z: Inexact[Array, " k"], exponent: Int[Array, ""]
) -> tuple[Bool[Array, " k"], Inexact[Array, " k"], Inexact[Array, " k"]]:
    """Which points are so far that only the trace of a matrix of this exponent matters, then the far and the near ones.

    Both arrays hold harmless points in the remaining places. Without the distinction a far point would overflow in the
    units of the matrix.
    """
    info = jnp.finfo(z.dtype)
    size = jnp.maximum(jnp.abs(z.real), jnp.abs(z.imag)) if jnp.iscomplexobj(z) else jnp.abs(z)
    # The next term of the expansion in T/z is then below eps⁴.
    far = _sturm.scaled(size, -exponent) > 1 / info.eps**2
    return far, jnp.where(far, z, like(z, info.max / 8)), jnp.where(far, 0, z)
