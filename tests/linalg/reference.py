"""Matrices for the tests of this folder, made by numpy in float64 and rounded once."""

import numpy as np
import pytest

SINGLE = pytest.mark.float32
REAL_DTYPES = [pytest.param(np.float32, marks=SINGLE), np.float64]
DTYPES = [*REAL_DTYPES, pytest.param(np.complex64, marks=SINGLE), np.complex128]


def eps(dtype) -> float:
    return float(np.finfo(dtype).eps)


def general(seed, shape, dtype=np.float64) -> np.ndarray:
    """Standard normal entries."""
    random = np.random.default_rng(seed)
    a = random.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        a = a + 1j * random.standard_normal(shape)
    return a.astype(dtype)


def adjoint(a) -> np.ndarray:
    return np.conj(np.swapaxes(a, -1, -2))


def hermitian(seed, shape, dtype=np.float64) -> np.ndarray:
    """A generic Hermitian matrix: its levels are distinct."""
    a = general(seed, shape, dtype)
    return (a + adjoint(a)) / 2


def with_levels(levels, seed=0, dtype=np.float64) -> np.ndarray:
    """A Hermitian matrix with given levels in a random basis."""
    levels = np.asarray(levels, float)
    basis, _ = np.linalg.qr(general(seed, (levels.size, levels.size), dtype))
    a = (basis * levels) @ adjoint(basis)
    return ((a + adjoint(a)) / 2).astype(dtype)


def applied(f, a) -> np.ndarray:
    """The matrix function f(A) of a Hermitian matrix by LAPACK, for levels of any multiplicity."""
    levels, basis = np.linalg.eigh(a)
    return (basis * f(levels)) @ adjoint(basis)
