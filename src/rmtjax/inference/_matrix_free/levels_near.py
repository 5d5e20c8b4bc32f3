"""Levels of a sparse matrix near an energy, by Lanczos' method for its inverse there, on the host."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Complex, Float

from rmtjax import _checks
from rmtjax._typing import RealScalarLike
from rmtjax.inference._matrix_free.sparse import SparseMatrix, rows_of
from rmtjax.spectra import Interval, Spectrum

Vectors = Float[np.ndarray, "n k"] | Complex[np.ndarray, "n k"]

# Up to this order all levels are computed.
_DENSE = 256
# The inverse is taken this far from the energy, in units of the norm: an energy that is a level has no inverse. At a
# level with many vectors, all digits of the first inverse may be theirs, so that the next levels need a wider distance.
_BESIDE = 1e-9, 1e-8, 1e-7
# The residuals up to which rows need not be exchanged, relative to the solution and to the right side.
_SOLVED, _SOLVED_SIDE = 1e-10, 1e-4
# Levels that differ by less than this, in units of the norm, are equal up to rounding.
_EQUAL = 1e-13
# The largest rounding errors of levels, in mean spacings.
_ROUNDED = 1e-3
# The precision of the levels that are found, and of the distance of the nearest level that may have been missed.
_FOUND, _MISSED = 1e-10, 1e-2

_HERMITIAN = _checks.Rule(
    lambda asymmetry: asymmetry <= np.sqrt(np.finfo(np.float64).eps),
    "be symmetric (Hermitian)",
    lambda asymmetry: f"entries that differ from those of the adjoint by up to {asymmetry:.1e} of the largest",
)
_APART = _checks.Rule(
    lambda residual: residual <= _ROUNDED,
    "have levels near the energy that are further apart than their rounding errors",
    lambda residual: f"rounding errors of {residual:.1e} mean spacings",
)


def levels_near(matrix: SparseMatrix, energy: RealScalarLike, number: int) -> Spectrum:
    r"""The levels of a sparse symmetric or Hermitian matrix that are nearest to an energy.

    The largest levels of the inverse $(A - E)^{-1}$ belong to the levels of A nearest to E, and Lanczos' method finds
    them in few products. Each product is the solution of a linear system. The whole search takes one triangular
    decomposition, whose memory decides how large the matrix may be, and some three solutions for each level.

    *Completeness.* Lanczos' method sees one vector of each eigenspace, and further ones only through rounding. So a
    second run looks for the nearest level with a vector that is orthogonal to all that were found. If that lies within
    the distance of those, it was missed, is added, and the search is repeated. The second run starts from a random
    vector and stops at a precision of 1 %. It overlooks a level with probability 0, unless that lies in the outermost
    percent of the interval. This is no proof.

    *What was observed.* The interval of the result goes to both sides as far as the first level that is not in it.
    Given that distance, independent levels are uniform within, so that means on the interval have no bias. For levels
    that repel each other there is one of order 1/`number`, because one end stands at a level. A `bulk` whose ends were
    chosen before the levels were known has none. `gap_ratios` need neither an interval nor an unfolding. All this takes
    a density that is constant over the interval, so an energy well inside of the spectrum, not at or beyond an edge.

    Convention: the levels are computed by NumPy and SciPy in double precision, outside of `jit`, and have no
    derivative. Distances are measured from a point within $10^{-9}\,\lVert A\rVert$ of the energy, because A - E has no
    inverse if the energy is a level; within $10^{-7}\,\lVert A\rVert$ if this level has many vectors.

    Args:
        matrix: a square sparse matrix or array of SciPy, of order 2 or more.
        energy: E, in the unit of the matrix.
        number: how many levels to find, from 1 to a quarter of the order; up to an order of 256 to the order - 1.

    Returns:
        A `Spectrum` of this number of levels on an `Interval`, not unfolded, in JAX's default precision.

    Raises:
        ValueError: `matrix` is no sparse matrix of SciPy, not square or not finite, or it differs from its adjoint in
            the first half of its digits.
        ValueError: `energy` or `number` is outside its range, or traced.
        ValueError: the levels crowd so much that their distances are rounding errors, or the `number` + 1 nearest
            levels are equal.

    Example:
        >>> import numpy as np, rmtjax as rmt, scipy.sparse
        >>> chain = scipy.sparse.diags([np.ones(999), np.ones(999)], [-1, 1])
        >>> exact = 2 * np.cos(np.pi * np.arange(421, 418, -1) / 1001)
        >>> print(rmt.inference.levels_near(chain, 0.5, 3).values.round(4), exact.round(4))
        [0.4939 0.4999 0.506 ] [0.4939 0.4999 0.506 ]

    References:
        Ericsson and Ruhe (1980), Math. Comp. 35, 1251; Pietracaprina, Macé, Luitz and Alet (2018), SciPost Phys. 5,
        045, for chains of spins; Kuczyński and Woźniakowski (1992), SIAM J. Matrix Anal. Appl. 13, 1094, theorem 3.2,
        for the precision that a random vector reaches.
    """
    rows = rows_of("matrix", matrix)
    near = _checks.static_real("energy", energy)
    if not np.isfinite(near):
        raise _checks.refusal("energy", "be finite", near)
    order = rows.shape[0]
    if order < 2:
        raise _checks.refusal("matrix", "be of order 2 at least", _checks.Words(f"a matrix of order {order}"))
    most = order - 1 if order <= _DENSE else order // 4
    number = _checks.integer("number", number, at_least=1)
    if number > most:
        raise _checks.refusal("number", f"be at most {most} for a matrix of order {order}", number)
    size = abs(rows.data).max(initial=0)
    _HERMITIAN.kept("matrix", abs(rows - rows.conj().T).max() / size if size else 0.0)
    unit = 2.0 ** np.frexp(size)[1]
    a = (rows / unit).astype(np.complex128 if rows.dtype.kind == "c" else np.float64).tocsc()
    norm = abs(a).sum(axis=0).max() or 1
    points = [near / unit + beside * norm for beside in _BESIDE]
    levels, error = _levels_at(a, points[0], number)
    while error > _ROUNDED and len(points) > 1:
        del points[0]
        levels, error = _levels_at(a, points[0], number)
    point = points[0]
    if np.ptp(levels) <= _EQUAL * norm:
        words = _checks.Words(f"{number}, but the {number + 1} nearest levels are equal, to {unit * levels[0]:.6g}")
        raise _checks.refusal("number", "exceed the number of equal levels that are nearest to the energy", words)
    _APART.kept("matrix", error)
    inside, radius = np.sort(levels[:number]), abs(levels[number] - point)
    ends = min(point - radius, inside[0]), max(point + radius, inside[-1])
    return Spectrum(unit * inside, domain=Interval(*(unit * end for end in ends)))


def _levels_at(a: Any, point: float, number: int) -> tuple[Float[np.ndarray, " k"], float]:
    """The nearest levels, one more than the number and the nearest first, and their rounding in mean spacings."""
    levels, rounding = (_all_nearest if a.shape[0] <= _DENSE else _nearest)(a, point, number)
    levels = levels[np.argsort(abs(levels - point), kind="stable")][: number + 1]
    length = np.ptp(levels)
    return levels, rounding * number / length if length else np.inf


def _all_nearest(a: Any, point: float, number: int) -> tuple[Float[np.ndarray, " k"], float]:
    """All levels of a small matrix, and their rounding."""
    levels = np.linalg.eigvalsh(a.toarray())
    return levels, np.finfo(float).eps * abs(levels).max()


def _nearest(a: Any, point: float, number: int) -> tuple[Float[np.ndarray, " k"], float]:
    """The levels nearest to a point, one more than this number at least, and their largest residual."""
    solve, generator = _solver(a, point), np.random.default_rng(0)  # The levels do not depend on the vectors.
    start = lambda: generator.standard_normal(a.shape[0])
    vectors = _largest(solve, a, start(), number + 1, _FOUND)[1]
    while True:
        basis = np.linalg.qr(vectors)[0]
        inner, turn = np.linalg.eigh(basis.conj().T @ (a @ basis))
        vectors = basis @ turn
        reach = np.sort(abs(inner - point))[number]
        rest = lambda v, basis=vectors: v - basis @ (basis.conj().T @ v)
        beyond = lambda v, rest=rest: rest(solve(rest(v)))
        missed = _largest(beyond, a, start(), 1, _MISSED)[0]
        if abs(missed[0]) * reach <= 1 + _MISSED:
            residuals = np.linalg.norm(a @ vectors - vectors * inner, axis=0)
            return inner, residuals.max()
        vectors = np.hstack([vectors, _largest(beyond, a, start(), 1, _FOUND)[1]])


def _solver(a: Any, point: float) -> Callable[[np.ndarray], np.ndarray]:
    """The solution of (A - point) x = b as a function of b.

    Pivots on the diagonal keep the symmetry, and with it half of the memory and of the time. Where they are too small,
    as without a potential in the middle of a symmetric spectrum, rows are exchanged.
    """
    sparse, order = _sparse(), a.shape[0]
    shifted = (a - point * sparse.identity(order, a.dtype, format="csc")).tocsc()
    b = np.random.default_rng(1).standard_normal(order).astype(a.dtype)
    symmetric = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
    try:
        solve = sparse.linalg.splu(shifted, **symmetric).solve
        x = solve(b)
        if np.linalg.norm(b - shifted @ x) <= min(_SOLVED * np.linalg.norm(x), _SOLVED_SIDE * np.linalg.norm(b)):
            return solve
    except RuntimeError:  # A pivot is 0.
        pass
    return sparse.linalg.splu(shifted).solve


def _largest(
    product: Callable[[np.ndarray], np.ndarray], a: Any, start: np.ndarray, number: int, precision: float
) -> tuple[Float[np.ndarray, " k"], Vectors]:
    """The largest levels of a symmetric product, and their vectors."""
    linalg = _sparse().linalg
    operator = linalg.LinearOperator(a.shape, matvec=product, dtype=a.dtype)
    return linalg.eigsh(operator, number, v0=start.astype(a.dtype), tol=precision)


def _sparse() -> Any:
    """SciPy's sparse matrices and their solvers, whose import takes a while."""
    import scipy.sparse.linalg

    return scipy.sparse
