"""Random density matrices: structure, exact laws of two levels, purity and entropy, laws of many levels, bad input."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

from rmtjax import Bures, HilbertSchmidt
from tests.cases import further
from tests.statistical import ERROR_RATE, assert_law, assert_mean

DRAWS = 8000
CASES = [HilbertSchmidt(4, 3), pytest.param(Bures(4), marks=pytest.mark.float32(further=True))]
CASES += further(HilbertSchmidt(2), HilbertSchmidt(2, 5), HilbertSchmidt(3, 1), HilbertSchmidt(1, 3))
CASES += further(Bures(1), Bures(2))


@functools.partial(jax.jit, static_argnums=(0, 1))
def draws_of(ensemble, method, key):
    return jax.vmap(getattr(ensemble, method))(jax.random.split(key, DRAWS))


def drawn(ensemble, getkey):
    # In one program two independent batched calls of LAPACK could wait for each other (see the design).
    return [np.asarray(draws_of(ensemble, method, getkey())) for method in ("eigenvalues", "sample")]


def rank(ensemble):
    return min(ensemble.n, getattr(ensemble, "m", ensemble.n))


def mean_purity(ensemble):
    n = ensemble.n
    if isinstance(ensemble, Bures):
        return (5 * n**2 + 1) / (2 * n * (n**2 + 2))
    return (n + ensemble.m) / (n * ensemble.m + 1)


def mean_cube(ensemble):
    """E tr ρ³ (Sommers and Życzkowski 2004); for G G* it is n m (n² + 3nm + m² + 1) over the moment of the trace."""
    n = ensemble.n
    if isinstance(ensemble, Bures):
        return (8 * n**2 + 7) / ((n**2 + 2) * (n**2 + 4))
    m = ensemble.m
    return (n**2 + 3 * n * m + m**2 + 1) / ((n * m + 1) * (n * m + 2))


def mean_entropy(ensemble):
    """The mean entropy by Page (1993); for the Bures measure by Sarkar and Kumar (2019) and Wei (2020)."""
    if isinstance(ensemble, Bures):
        return scipy.special.digamma(ensemble.n**2 / 2 + 1) - scipy.special.digamma(ensemble.n + 1 / 2)
    small, large = sorted((ensemble.n, ensemble.m))
    return sum(1 / k for k in range(large + 1, small * large + 1)) - (small - 1) / (2 * large)


@pytest.mark.parametrize("ensemble", CASES, ids=repr)
def test_structure_and_exact_moments(getkey, ensemble):
    levels, matrices = drawn(ensemble, getkey)
    eps, zeros = np.finfo(levels.dtype).eps, ensemble.n - rank(ensemble)
    np.testing.assert_array_equal(matrices, np.swapaxes(matrices.conj(), -1, -2))
    np.testing.assert_allclose(np.trace(matrices, axis1=-2, axis2=-1), 1, rtol=0, atol=4 * eps)
    np.testing.assert_allclose(levels.sum(-1), 1, rtol=0, atol=20 * eps)
    np.testing.assert_array_equal(levels[:, :zeros], 0)
    assert (levels[:, zeros:] > 0).all()
    assert (np.diff(levels) >= 0).all()
    dense = np.linalg.eigvalsh(matrices.astype(np.complex128))
    np.testing.assert_allclose(dense[:, :zeros], 0, rtol=0, atol=20 * eps)
    assert dense.min() > -20 * eps
    if rank(ensemble) == 1:
        np.testing.assert_allclose(levels[:, -1], 1, rtol=20 * eps)
        np.testing.assert_allclose(dense[:, -1], 1, rtol=20 * eps)
        return
    for spectrum in (levels.astype(np.float64), np.maximum(dense, 0)):
        assert_mean((spectrum**2).sum(-1), mean_purity(ensemble))
        assert_mean((spectrum**3).sum(-1), mean_cube(ensemble))
        assert_mean(scipy.special.entr(spectrum).sum(-1), mean_entropy(ensemble))
    for k in range(zeros, ensemble.n):
        assert scipy.stats.ks_2samp(levels[:, k], dense[:, k]).pvalue > ERROR_RATE


@pytest.mark.parametrize(
    ("ensemble", "exponent"), [*further((HilbertSchmidt(2), 1), (HilbertSchmidt(2, 5), 4)), (Bures(2), 1 / 2)], ids=repr
)
def test_length_of_the_bloch_vector(getkey, ensemble, exponent):
    # λ = (1 ± r)/2, and r has the density ∝ r² (1 - r²)^{m-2}, or r²/√(1 - r²) for Bures; r² is a beta variate.
    levels, matrices = drawn(ensemble, getkey)
    for spectrum in (levels, np.linalg.eigvalsh(matrices)):
        assert_law((spectrum[:, 1] - spectrum[:, 0]) ** 2, scipy.stats.beta(3 / 2, exponent).cdf)
    # Its direction is uniform, and so is each component of a uniform unit vector in three dimensions.
    vector = np.stack([2 * matrices[:, 0, 1].real, 2 * matrices[:, 0, 1].imag, (matrices[:, 0, 0] * 2 - 1).real])
    for component in vector / np.linalg.norm(vector, axis=0):
        assert_law(component, scipy.stats.uniform(-1, 2).cdf)


@pytest.mark.parametrize("ensemble", [HilbertSchmidt(40, 16), HilbertSchmidt(40), Bures(40)], ids=repr)
def test_the_mean_of_the_law(ensemble):
    np.testing.assert_allclose(ensemble.law().mean(), 1 / 40, rtol=1e-6)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: HilbertSchmidt(2).joint_logpdf(jnp.ones(2) / 2), NotImplementedError, "levels have the sum 1"),
        (lambda: Bures(2).joint_logpdf(jnp.ones(3)), ValueError, r"`eigenvalues` must have the shape \(2,\)"),
    ],
)
def test_bad_input(make, error, message):
    with pytest.raises(error, match=message):
        make()
