"""Symmetric tridiagonal matrices that are hard for eigensolvers, and their levels in integer arithmetic.

Each entry of `PROBLEMS` has a name (the pytest id), a tag for what makes it hard, a builder, and where one exists a
closed form. Builders give float64; `Problem.matrix` rounds once to the dtype under test, and the reference belongs to
the rounded matrix. There are few orders, because each is a compilation: 1, 2, 3, 21, and 147, which is seven times 21.

References:
    Marques, Voemel, Demmel, Parlett (2008), Algorithm 880: a testing infrastructure for symmetric tridiagonal
    eigensolvers, ACM TOMS 35(1), 8: the families.
    LAPACK, TESTING/MATGEN/dlatm1.f: the spectra `MODE` 1 to 4; TESTING/EIG/dstech.f: levels certified by Sturm counts.
    Golub, Welsch (1969), Math. Comp. 23, 221: nodes of Gauss quadrature as levels.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import pytest
import scipy.linalg
import scipy.special

from tests.linalg.reference import SINGLE

Bands = tuple[np.ndarray, np.ndarray]

# The tags for what makes a problem hard; each problem carries one.
SEPARATED = "separated"  # not hard: levels apart by far more than rounding
CLUSTERED = "clustered"  # levels closer than rounding, though no off-diagonal entry says so
SPLIT = "split"  # blocks that are not coupled: their levels may be exactly equal
COUPLED = "coupled"  # weakly coupled blocks: the levels merge or part, depending on the coupling
GRADED = "graded"  # entries of very different magnitude
SCALED = "scaled"  # entries whose squares leave the range of the dtype
SMALL = "small"  # orders at which loops and slices are empty
TAGS = {SEPARATED, CLUSTERED, SPLIT, COUPLED, GRADED, SCALED, SMALL}

SMALL_ORDER, ORDER = 21, 147
BOTH, DOUBLE = (np.float32, np.float64), (np.float64,)


@dataclass(frozen=True)
class Problem:
    """A tridiagonal matrix; `levels` are its levels before any rounding."""

    name: str
    tag: str
    build: Callable[[], Bands]
    levels: Callable[[], np.ndarray] | None = None
    dtypes: tuple = BOTH

    def matrix(self, dtype: type) -> Bands:
        """Diagonal and off-diagonal, rounded once."""
        diagonal, off_diagonal = self.build()
        return diagonal.astype(dtype), off_diagonal.astype(dtype)


# Families


def toeplitz(n: int, sign: float = 1.0) -> Bands:
    """The second difference, (1, 2, 1); the signs of the off-diagonal do not matter to the levels."""
    return np.full(n, 2.0), sign ** np.arange(n - 1)


def toeplitz_levels(n: int) -> np.ndarray:
    return 4 * np.sin(np.pi * np.arange(1, n + 1) / (2 * (n + 1))) ** 2


def wilkinson(n: int, sign: int = 1) -> Bands:
    """Wilkinson's W+ (symmetric diagonal, pairs of levels) or, with sign -1, W- (antisymmetric, levels ±λ)."""
    diagonal = (n - 1) / 2 - np.arange(n)
    return (np.abs(diagonal) if sign > 0 else diagonal), np.ones(n - 1)


def blocks(block: Bands, times: int, glue: float) -> Bands:
    """A matrix repeated along the diagonal, copies coupled by `glue`."""
    diagonal, off_diagonal = block
    return np.tile(diagonal, times), np.tile(np.append(off_diagonal, glue), times)[:-1]


def clement(n: int) -> Bands:
    """Levels n-1, n-3, ..., 1-n: twice the component of a spin (n-1)/2 along x."""
    k = np.arange(1, n)
    return np.zeros(n), np.sqrt(k * (n - k))


def legendre(n: int) -> Bands:
    k = np.arange(1, n)
    return np.zeros(n), k / np.sqrt((2 * k - 1) * (2 * k + 1))


def laguerre(n: int) -> Bands:
    return 2 * np.arange(n) + 1.0, np.arange(1.0, n)


def hermite(n: int) -> Bands:
    """The Jacobi matrix of the probabilists' Hermite polynomials, orthogonal under the standard normal law."""
    return np.zeros(n), np.sqrt(np.arange(1.0, n))


def latms_levels(n: int, mode: int, condition: float = 2.0**52) -> np.ndarray:
    """LAPACK's spectra between 1 and 1/condition: one level large, one small, geometric, arithmetic."""
    fraction = np.arange(n) / (n - 1)
    return {
        1: np.append(1.0, np.full(n - 1, 1 / condition)),
        2: np.append(np.ones(n - 1), 1 / condition),
        3: condition**-fraction,
        4: 1 - fraction * (1 - 1 / condition),
    }[mode]


@cache
def latms(n: int, mode: int) -> Bands:
    """A dense matrix with the levels of a mode, in a random basis, brought to tridiagonal form by Householder."""
    basis, _ = np.linalg.qr(np.random.default_rng(mode).standard_normal((n, n)))
    a = (basis * latms_levels(n, mode)) @ basis.T
    t = scipy.linalg.hessenberg((a + a.T) / 2)
    return np.diagonal(t).copy(), np.diagonal(t, -1).copy()


def goe(n: int) -> Bands:
    """The GOE in tridiagonal form: N(0, 2) on the diagonal, chi with n-1, ..., 1 degrees of freedom beside it."""
    random = np.random.default_rng(n)
    return math.sqrt(2) * random.standard_normal(n), np.sqrt(random.chisquare(np.arange(n - 1, 0, -1)))


def uneven_blocks(n: int) -> Bands:
    """Uncoupled blocks of orders 1, 2, 3, ...; the signs of the couplings change."""
    diagonal, off_diagonal = goe(n)
    off_diagonal[np.cumsum(np.arange(1, n))[: math.isqrt(2 * n) - 1] - 1] = 0
    return diagonal, off_diagonal * (-1.0) ** np.arange(n - 1)


def graded(n: int, first: float, last: float) -> Bands:
    """Entries in geometric progression, each coupling the geometric mean of its neighbours: no scale dominates."""
    diagonal = np.geomspace(first, last, n)
    return diagonal, np.sqrt(diagonal[:-1]) * np.sqrt(diagonal[1:]) / 2


def large_last(n: int) -> Bands:
    """The matrix (1, 2, 1) except for one large entry, which hardly affects the other levels."""
    diagonal, off_diagonal = toeplitz(n)
    return np.append(diagonal[:-1], 1e6), off_diagonal


def faint(n: int, coupling: float) -> Bands:
    """Equal diagonal entries with couplings whose squares are 0 in floating point."""
    return np.ones(n), np.full(n - 1, coupling)


def mostly_equal(n: int) -> Bands:
    """A matrix with two thirds of its levels equal and the others from a GOE: fewer than half are alone."""
    diagonal, off_diagonal = goe(n)
    diagonal[: 2 * n // 3], off_diagonal[: 2 * n // 3] = 1, 0
    return diagonal, off_diagonal


def nearly_equal(n: int, width: float, seed: int = 0) -> Bands:
    """A matrix with levels within a few widths of 1, and couplings of all sizes below the width."""
    random = np.random.default_rng(seed)
    return 1 + width * random.standard_normal(n), width * 10 ** random.uniform(-8, 0, n - 1)


def scattered(n: int, seed: int = 0) -> Bands:
    """Entries of all sizes from 1e-15 to 1, in no order."""
    random = np.random.default_rng(seed)
    return 10 ** random.uniform(-15, 0, n), 10 ** random.uniform(-15, 0, n - 1)


def shuffled(n: int) -> np.ndarray:
    """Integers of both signs in random order, most of them twice."""
    return np.random.default_rng(0).permutation(np.arange(n) // 2 - n // 4).astype(float)


def times(scale: float, bands: Bands) -> Bands:
    return scale * bands[0], scale * bands[1]


def plain(diagonal: list[float], off_diagonal: list[float]) -> Bands:
    return np.array(diagonal), np.array(off_diagonal)


def _latms_problem(mode: int, tag: str) -> Problem:
    return Problem(f"latms-{mode}", tag, lambda: latms(ORDER, mode), lambda: latms_levels(ORDER, mode))


def _glued_problem(glue: float) -> Problem:
    return Problem(f"glued-{glue:g}", COUPLED, lambda: blocks(wilkinson(SMALL_ORDER), ORDER // SMALL_ORDER, glue))


PROBLEMS = [
    Problem("toeplitz", SEPARATED, lambda: toeplitz(ORDER), lambda: toeplitz_levels(ORDER)),
    Problem("toeplitz-alternating", SEPARATED, lambda: toeplitz(ORDER, -1.0), lambda: toeplitz_levels(ORDER)),
    Problem("clement", SEPARATED, lambda: clement(ORDER), lambda: np.arange(1.0 - ORDER, ORDER, 2)),
    Problem("legendre", SEPARATED, lambda: legendre(ORDER), lambda: np.polynomial.legendre.leggauss(ORDER)[0]),
    Problem("laguerre", SEPARATED, lambda: laguerre(ORDER), lambda: scipy.special.roots_laguerre(ORDER)[0]),
    Problem("hermite", SEPARATED, lambda: hermite(ORDER), lambda: scipy.special.roots_hermitenorm(ORDER)[0]),
    Problem("goe", SEPARATED, lambda: goe(ORDER)),
    Problem("wilkinson-minus", SEPARATED, lambda: wilkinson(SMALL_ORDER, -1)),
    Problem("wilkinson-plus", CLUSTERED, lambda: wilkinson(SMALL_ORDER)),
    Problem("wilkinson-plus-large", CLUSTERED, lambda: wilkinson(ORDER)),
    _glued_problem(1e-14),
    _glued_problem(1e-8),
    _glued_problem(1e-4),
    _glued_problem(1e-2),
    _latms_problem(1, CLUSTERED),
    _latms_problem(2, CLUSTERED),
    _latms_problem(3, GRADED),
    _latms_problem(4, SEPARATED),
    Problem("equal-blocks", SPLIT, lambda: blocks(goe(SMALL_ORDER), ORDER // SMALL_ORDER, 0.0)),
    Problem("uneven-blocks", SPLIT, lambda: uneven_blocks(ORDER)),
    Problem("mostly-equal", SPLIT, lambda: mostly_equal(ORDER)),
    Problem("diagonal", SPLIT, lambda: (shuffled(ORDER), np.zeros(ORDER - 1)), lambda: shuffled(ORDER)),
    Problem("identity", SPLIT, lambda: faint(ORDER, 0.0), lambda: np.ones(ORDER)),
    Problem("zero", SPLIT, lambda: times(0.0, toeplitz(ORDER)), lambda: np.zeros(ORDER)),
    Problem("faint", COUPLED, lambda: faint(ORDER, 1e-30), lambda: np.ones(ORDER)),
    Problem("faint-wide", COUPLED, lambda: faint(ORDER, 1e-200), lambda: np.ones(ORDER), DOUBLE),
    *(Problem(f"nearly-equal-{w:g}", CLUSTERED, partial(nearly_equal, ORDER, w)) for w in (1e-15, 1e-13, 1e-6, 1e-4)),
    *(Problem(f"nearly-equal-3e-05-{i}", CLUSTERED, partial(nearly_equal, ORDER, 3e-5, i)) for i in range(6)),
    *(Problem(f"scattered-{i}", GRADED, partial(scattered, ORDER, i)) for i in range(4)),
    Problem("graded", GRADED, lambda: graded(ORDER, 1e-15, 1e15)),
    Problem("graded-down", GRADED, lambda: graded(ORDER, 1e15, 1e-15)),
    Problem("graded-wide", GRADED, lambda: graded(ORDER, 1e-150, 1e150), dtypes=DOUBLE),
    Problem("graded-wide-down", GRADED, lambda: graded(ORDER, 1e150, 1e-150), dtypes=DOUBLE),
    Problem("large-last", GRADED, lambda: large_last(ORDER)),
    Problem("tiny", SCALED, lambda: times(1e-30, toeplitz(ORDER)), lambda: 1e-30 * toeplitz_levels(ORDER)),
    Problem("huge", SCALED, lambda: times(1e37, toeplitz(ORDER)), lambda: 1e37 * toeplitz_levels(ORDER)),
    Problem("tiny-wide", SCALED, lambda: times(1e-300, goe(ORDER)), dtypes=DOUBLE),
    Problem("huge-wide", SCALED, lambda: times(1e300, goe(ORDER)), dtypes=DOUBLE),
    Problem("one", SMALL, lambda: plain([-1.5], []), lambda: np.array([-1.5]), DOUBLE),
    Problem("exchange", SMALL, lambda: plain([0.0, 0.0], [1.0]), lambda: np.array([-1.0, 1.0])),
    Problem("two", SMALL, lambda: plain([1.0, -2.0], [-2.0]), lambda: np.array([-3.0, 2.0])),
    Problem("three", SMALL, lambda: plain([0.0] * 3, [1.0, -1.0]), lambda: np.sqrt(2) * np.arange(-1.0, 2.0), DOUBLE),
    Problem("three-split", SMALL, lambda: plain([1.0, 0.0, 1.0], [0.0, 1.0]), dtypes=DOUBLE),
]


# Each order costs a compilation in each precision: these run every day, the others with the slow tests.
DAILY_ORDERS = {np.float32: {ORDER}, np.float64: {1, 2, SMALL_ORDER, ORDER}}


def cases(problems: list[Problem], daily: dict[type, set[int]] = DAILY_ORDERS) -> list:
    """Parameters `problem, dtype` of a test; those in single precision run without 64-bit types as well."""
    marks = lambda problem, dtype: [
        *[SINGLE] * (dtype is np.float32),
        *[pytest.mark.slow] * (problem.build()[0].size not in daily[dtype]),
    ]
    return [
        pytest.param(problem, dtype, id=f"{problem.name}-{np.dtype(dtype)}", marks=marks(problem, dtype))
        for problem in problems
        for dtype in problem.dtypes
    ]


# The reference: Sturm counts in integers, so that nothing underflows or overflows. The unit is 2^-FRACTION of the
# largest entry. Each pivot is rounded by less than one unit, which is the same as rounding a diagonal entry. By Weyl's
# theorem this moves the counted levels by no more than 2 units.

FRACTION = 128
RESOLUTION = 60  # levels are found to 2^-60 of the largest entry, 1/256 of its eps in float64


@dataclass(frozen=True)
class _Fixed:
    """A tridiagonal matrix in fixed point."""

    diagonal: tuple[int, ...]
    squares: tuple[int, ...]
    exponent: int

    def number(self, x: float) -> int:
        """The number in units; points outside of all Gershgorin discs are moved to their edge, as no count changes."""
        edge = math.ldexp(1.0, self.exponent + 2)
        return int(math.ldexp(min(max(x, -edge), edge), FRACTION - self.exponent))

    def count(self, x: int) -> int:
        """The levels below x: the negative pivots of T - x. A pivot of 0 counts as one unit above."""
        below, pivot = 0, 1
        for entry, square in zip(self.diagonal, self.squares, strict=True):
            pivot = (entry - x - square // pivot) or 1
            below += pivot < 0
        return below

    def level(self, k: int, guess: float) -> float:
        """Level k by bisection, from a bracket around a guess that is widened until the counts confirm it."""
        lower = upper = self.number(guess)
        width = 1 << (FRACTION - 50)
        while self.count(lower) > k:
            lower, width = lower - width, 2 * width
        while self.count(upper) <= k:
            upper, width = upper + width, 2 * width
        while upper - lower > 1 << (FRACTION - RESOLUTION):
            middle = (lower + upper) // 2
            lower, upper = (lower, middle) if self.count(middle) > k else (middle, upper)
        return math.ldexp((lower + upper) / 2, self.exponent - FRACTION)


def _fixed(diagonal: np.ndarray, off_diagonal: np.ndarray) -> _Fixed:
    largest = max(map(abs, [*diagonal.tolist(), *off_diagonal.tolist()]))
    exponent = math.frexp(largest or math.ulp(0.0))[1]  # the levels of the zero matrix round to exactly 0
    number = lambda x: int(math.ldexp(x, FRACTION - exponent))
    squares = (0, *(number(b) ** 2 for b in off_diagonal.tolist()))
    return _Fixed(tuple(map(number, diagonal.tolist())), squares, exponent)


@cache
def _exact_eigenvalues(diagonal: tuple[float, ...], off_diagonal: tuple[float, ...]) -> np.ndarray:
    d, e = np.array(diagonal), np.array(off_diagonal)
    matrix = _fixed(d, e)
    scaled = np.ldexp(d, -matrix.exponent), np.ldexp(e, -matrix.exponent)
    guesses = np.ldexp(np.linalg.eigvalsh(dense(*scaled)), matrix.exponent)
    levels = np.sort([matrix.level(k, guess) for k, guess in enumerate(guesses.tolist())])
    levels.flags.writeable = False
    return levels


def dense(diagonal: np.ndarray, off_diagonal: np.ndarray) -> np.ndarray:
    return np.diag(diagonal) + np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1)


def exact_eigenvalues(diagonal: np.ndarray, off_diagonal: np.ndarray) -> np.ndarray:
    """The levels, ascending, of a matrix given in any dtype: the nearest float64, or 2^-60 of the norm from it."""
    return _exact_eigenvalues(tuple(diagonal.tolist()), tuple(off_diagonal.tolist()))


def exact_counts(diagonal: np.ndarray, off_diagonal: np.ndarray, points: np.ndarray) -> np.ndarray:
    """The number of levels strictly below each point, for points further than 2^-127 of the norm from any level."""
    matrix = _fixed(diagonal, off_diagonal)
    return np.array([matrix.count(matrix.number(x)) for x in points.tolist()])
