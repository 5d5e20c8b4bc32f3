"""Eigenphases from Verblunsky coefficients: against LAPACK on the CMV matrix, counts, derivatives."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.linalg._circular import Verblunsky, eigenphase_counts, eigenphases
from rmtjax.testing import check_derivatives
from tests.cases import further

# 17 needs padding of the last rows, 64 does not; from 128 on the search goes in two halves.
SIZES = [(1, np.float64), (3, np.float64), *further((2, np.float64), (17, np.float64), (64, np.float64))]
SIZES += [(147, np.float64), pytest.param(147, np.float32, marks=pytest.mark.float32)]
SIZES += [pytest.param(n, np.float32, marks=[pytest.mark.float32, pytest.mark.slow]) for n in (1, 2, 3, 17, 64)]


@functools.cache
def coefficients(n, beta):
    """Coefficients of a circular β-ensemble: |γ| is close to 1 at small β and close to 0 at large β."""
    rng = np.random.default_rng(n)
    logarithm = -2 * rng.exponential(size=n - 1) / (beta * np.arange(1, n))
    boundary, angle = rng.uniform(0, 2 * np.pi), rng.uniform(-np.pi, np.pi, n - 1)
    return boundary, np.sqrt(-np.expm1(logarithm)), np.exp(logarithm), angle


def cmv_phases(boundary, modulus, complement, angle):
    """Eigenphases, turned by π, of the CMV matrix with these coefficients (Killip and Nenciu 2004, section 2).

    The γ come from the last to the first; each is the conjugate of α turned by a phase from the earlier ones.
    """
    n, turn, alpha = modulus.size + 1, 1.0, []
    for gamma in (modulus * np.exp(1j * angle))[::-1]:
        alpha.append(np.conj(gamma) * turn)
        turn *= (1 - np.conj(gamma)) / (1 - gamma)
    alpha = np.append(alpha, np.exp(-1j * boundary) * turn)
    rho = np.sqrt(np.append(complement[::-1], 0))
    left, right = np.eye(n, dtype=complex), np.eye(n, dtype=complex)
    for k in range(n):
        factor = right if k % 2 else left
        factor[k, k] = np.conj(alpha[k])
        if k < n - 1:
            factor[k, k + 1] = factor[k + 1, k] = rho[k]
            factor[k + 1, k + 1] = -alpha[k]
    unitary = left @ right
    np.testing.assert_allclose(unitary @ unitary.conj().T, np.eye(n), rtol=0, atol=1e-13)
    return np.sort(np.angle(-np.linalg.eigvals(unitary)))


@pytest.mark.parametrize("beta", [0.01, 0.3, 2.0, 1e6])
@pytest.mark.parametrize(("n", "dtype"), SIZES)
def test_phases_and_counts(n, beta, dtype):
    given = coefficients(n, beta)
    expected = cmv_phases(*given)
    matrix = Verblunsky(*(jnp.asarray(part, dtype) for part in given))
    phases = eigenphases(matrix)
    eps = np.finfo(phases.dtype).eps
    # The second term is LAPACK's error; the rounding of the coefficients in float32 moves a phase as little.
    allowed = 8 * eps + 2e-14
    np.testing.assert_allclose(phases, expected, rtol=0, atol=allowed)
    assert (np.diff(phases) >= 0).all()
    x = np.concatenate([(expected[1:] + expected[:-1]) / 2, [-9, -np.pi, np.pi, 9, np.inf]])
    clear = np.append(np.diff(expected) > 4 * allowed, [True] * 5)
    below = np.asarray(eigenphase_counts(matrix, jnp.asarray(x)))
    np.testing.assert_array_equal(below[clear], np.append(np.arange(1, n), [0, 0, n, n, n])[clear])


def test_derivatives():
    boundary, modulus, _, angle = map(jnp.asarray, coefficients(6, 2.0))
    phases = lambda b, r, t: eigenphases(Verblunsky(b, r, 1 - r**2, t))
    check_derivatives(phases, boundary, modulus, angle, second_derivative=True)


def test_maps_are_loops():
    boundary, modulus, complement, angle = map(jnp.asarray, coefficients(3, 2.0))
    turns = jnp.linspace(0.1, 6.0, 4)
    some = lambda turn: eigenphases(Verblunsky(turn, modulus, complement, angle))
    np.testing.assert_allclose(jax.vmap(some)(turns), jnp.stack([some(turn) for turn in turns]), rtol=0, atol=1e-14)
    assert boundary.shape == ()
