"""Every problem of the table against levels found in integer arithmetic, in both precisions."""

import math
from collections import Counter
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from rmtjax.linalg import SymTridiagonal
from tests.linalg.reference import eps
from tests.linalg.tridiagonal_matrices import (
    ORDER,
    PROBLEMS,
    SMALL_ORDER,
    TAGS,
    Problem,
    cases,
    dense,
    exact_counts,
    exact_eigenvalues,
)

LARGE = [problem for problem in PROBLEMS if problem.build()[0].size == ORDER]
for_every_case = pytest.mark.parametrize(("problem", "dtype"), cases(PROBLEMS))
DIGITS = 60


# The table


def test_the_table_is_in_order():
    assert [name for name, times in Counter(problem.name for problem in PROBLEMS).items() if times > 1] == []
    assert {problem.tag for problem in PROBLEMS} == TAGS
    assert {problem.build()[0].size for problem in PROBLEMS} == {1, 2, 3, SMALL_ORDER, ORDER}
    for problem in PROBLEMS:
        for band in problem.build():
            assert band.dtype == np.float64
            assert np.isfinite(band).all()
        assert all(np.isfinite(band).all() for dtype in problem.dtypes for band in problem.matrix(dtype))


@pytest.mark.parametrize(
    "problem", [pytest.param(problem, id=problem.name) for problem in PROBLEMS if problem.levels is not None]
)
def test_the_reference_gives_closed_forms(problem):
    expected = np.sort(problem.levels())
    levels = exact_eigenvalues(*problem.build())
    np.testing.assert_allclose(levels, expected, rtol=0, atol=1e-14 * np.abs(expected).max())
    assert (np.diff(levels) >= 0).all()


@pytest.mark.parametrize("name", ["wilkinson-plus", "wilkinson-minus"])
def test_the_reference_is_right_to_the_last_digit(name):
    bands = next(problem for problem in PROBLEMS if problem.name == name).build()
    with mpmath.workdps(DIGITS):
        expected = mpmath.eigsy(mpmath.matrix(dense(*bands).tolist()), eigvals_only=True)
        expected = np.array([float(level) for level in expected])
    levels = exact_eigenvalues(*bands)
    np.testing.assert_allclose(levels, expected, rtol=0, atol=eps(np.float64) / 100 * np.abs(levels).max())


def test_the_reference_counts_strictly_below():
    bands = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0])  # levels -1, 1, 1; at 0 the first pivot is 0
    points = np.array([-np.inf, -1.0, -0.9, 0.0, 0.9, 1.0, 1.1, np.inf])
    assert exact_counts(*bands, points).tolist() == [0, 0, 1, 1, 1, 1, 3, 3]


# The engine


class Solved(NamedTuple):
    """The question to the engine and its answer, for one case."""

    diagonal: np.ndarray
    off_diagonal: np.ndarray
    exact: np.ndarray  # the levels, in float64
    unit: float  # eps‖T‖
    points: np.ndarray
    shifts: np.ndarray
    answer: dict[str, Any]


@jax.jit
def _answer(diagonal: Any, off_diagonal: Any, points: Any, shifts: Any) -> dict[str, Any]:
    matrix = SymTridiagonal(diagonal, off_diagonal)
    return {
        "levels": matrix.eigenvalues(),
        "vectors": matrix.eigenvectors(),
        "counts": matrix.count_below(points),
        "log_determinant": jax.vmap(matrix.log_determinant)(shifts),
    }


# The first range cuts clusters, the second holds the last level only.
RANGES = (ORDER // 3, ORDER // 3 + ORDER // 8), (ORDER - 1, ORDER)


@jax.jit
def _answer_of_ranges(diagonal: Any, off_diagonal: Any) -> tuple[list, Any]:
    """The levels of both ranges, and the vectors of the first."""
    matrix = SymTridiagonal(diagonal, off_diagonal)
    return [matrix.eigenvalues(select) for select in RANGES], matrix.eigenvectors(RANGES[0])


@cache
def _solved(problem: Problem, dtype: type) -> Solved:
    bands = problem.matrix(dtype)
    exact = exact_eigenvalues(*bands)
    norm = np.abs(exact).max()
    middles = exact[:-1] / 2 + exact[1:] / 2
    # At a diagonal entry a pivot vanishes, or nearly vanishes.
    ends = np.array([-np.inf, -np.finfo(dtype).max, exact[0] - norm, exact[-1] + norm, np.finfo(dtype).max, np.inf])
    points = np.concatenate([middles, bands[0], ends]).astype(dtype)
    outside = [exact[0] - (norm or 1.0), exact[-1] + (norm or 1.0)]
    shifts = np.array([*outside, *middles[np.argsort(np.diff(exact))[-1:]]]).astype(dtype)
    answer = _answer(*map(jnp.asarray, (*bands, points, shifts)))
    return Solved(*bands, exact, eps(dtype) * norm, points, shifts, jax.tree.map(np.asarray, answer))


@for_every_case
def test_eigenvalues_are_within_four_eps_of_the_norm(problem, dtype):
    solved = _solved(problem, dtype)
    levels = solved.answer["levels"]
    assert levels.dtype == dtype
    assert (np.diff(levels) >= 0).all()
    np.testing.assert_allclose(levels, solved.exact, rtol=0, atol=4 * solved.unit)
    trace = math.fsum(solved.diagonal.tolist())
    np.testing.assert_allclose(math.fsum(levels.tolist()), trace, rtol=0, atol=4 * solved.unit * levels.size)


@for_every_case
def test_counts_are_exact_away_from_the_levels(problem, dtype):
    solved = _solved(problem, dtype)
    points = solved.points.astype(np.float64)
    halves = points[:, None] / 2 - solved.exact / 2  # the difference itself may overflow
    sure = np.abs(halves).min(axis=1) > 2 * solved.unit
    expected = exact_counts(solved.diagonal, solved.off_diagonal, points)
    assert jnp.issubdtype(solved.answer["counts"].dtype, jnp.integer)
    np.testing.assert_array_equal(solved.answer["counts"][sure], expected[sure])


def _residuals(solved: Solved, levels: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """The residuals ‖T v - λ v‖ / ‖T‖, in more digits than the answer has and with entries of the order of 1."""
    scale = np.longdouble(np.abs(solved.exact).max() or 1.0)
    t = dense(solved.diagonal, solved.off_diagonal).astype(np.longdouble) / scale
    return np.linalg.norm(t @ vectors - vectors * (levels / scale), axis=0).astype(np.float64)


def _check_vectors(solved: Solved, levels: np.ndarray, vectors: np.ndarray, units: int = 10) -> None:
    dtype, n = solved.diagonal.dtype, solved.exact.size
    assert vectors.dtype == dtype
    assert vectors.shape == (n, levels.size)
    assert _residuals(solved, levels, vectors).max() <= units * eps(dtype)
    wide = vectors.astype(np.float64)
    loss = 1e-12 * n if dtype == np.float64 else 20 * eps(dtype) * n
    np.testing.assert_allclose(wide.T @ wide, np.eye(levels.size), rtol=0, atol=loss)


@for_every_case
def test_eigenvectors_are_orthonormal_and_leave_no_residual(problem, dtype):
    solved = _solved(problem, dtype)
    _check_vectors(solved, solved.answer["levels"], solved.answer["vectors"])


@pytest.mark.parametrize(("problem", "dtype"), cases(LARGE, {np.float32: set(), np.float64: {ORDER}}))
def test_ranges_of_levels_are_those_of_the_whole(problem, dtype):
    solved = _solved(problem, dtype)
    some_levels, vectors = jax.tree.map(np.asarray, _answer_of_ranges(solved.diagonal, solved.off_diagonal))
    for (first, last), levels in zip(RANGES, some_levels, strict=True):
        assert levels.dtype == dtype
        assert (np.diff(levels) >= 0).all()
        np.testing.assert_allclose(levels, solved.exact[first:last], rtol=0, atol=4 * solved.unit)
    # The span of a part of a cluster is not invariant.
    first, last = RANGES[0]
    gaps = np.diff(solved.exact)[[first - 1, last - 1]]
    units = 10 if gaps.min() > 2000 * solved.unit else 30
    _check_vectors(solved, some_levels[0], vectors, units)


def _log_determinant(diagonal: np.ndarray, off_diagonal: np.ndarray, x: float) -> float:
    """The logarithm log|det(T - x)| by the recurrence of the leading minors."""
    with mpmath.workdps(DIGITS):
        shifted = [mpmath.mpf(a) - mpmath.mpf(x) for a in diagonal.tolist()]
        before, minor = mpmath.mpf(1), shifted[0]
        for entry, b in zip(shifted[1:], off_diagonal.tolist(), strict=True):
            before, minor = minor, entry * minor - mpmath.mpf(b) ** 2 * before
        return float(mpmath.log(abs(minor)))


@for_every_case
def test_log_determinant_against_many_digits(problem, dtype):
    solved = _solved(problem, dtype)
    assert solved.answer["log_determinant"].dtype == dtype
    for x, value in zip(solved.shifts.tolist(), solved.answer["log_determinant"].tolist(), strict=True):
        distances = np.abs(solved.exact - x)
        if distances.min() <= 4 * solved.unit:  # between levels that are all equal
            continue
        # Three errors: of levels wrong by 4 eps‖T‖, of a sum of n logarithms, and of two large logarithms that cancel
        # at a pivot of 0.
        summed = 2 * np.sum(1 + np.abs(np.log(distances))) - 8 * math.log(eps(dtype))
        tolerance = 4 * np.sum(solved.unit / distances) + eps(dtype) * summed
        assert value == pytest.approx(_log_determinant(solved.diagonal, solved.off_diagonal, x), rel=0, abs=tolerance)
