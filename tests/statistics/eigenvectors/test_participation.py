"""Participation of eigenvectors: closed forms, mpmath, cumulants at q = 1, matrices, bad input."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.statistics import inverse_participation_ratio, multifractal_dimension, over_samples, participation_entropy

Q = np.array([0.0, 0.3, 0.5, 0.75, 1 - 1e-9, 1.0, 1 + 1e-9, 1.25, 1.5, 2.0, 7.5])
VECTORS = np.array([[1.0, 0.3], [-2.0, 0.0], [0.5, 1e-4], [0.01, -0.7]])


def exactly(p, q):
    """Moment and entropy of intensities, by their definitions in 40 digits."""
    with mpmath.workdps(40):
        p = [mpmath.mpf(float(each)) ** 2 for each in p if each != 0]
        p = [each / mpmath.fsum(p) for each in p]
        q = mpmath.mpf(float(q))
        moment = mpmath.fsum(each**q for each in p)
        shannon = -mpmath.fsum(each * mpmath.log(each) for each in p)
        return float(moment), float(shannon if q == 1 else mpmath.log(moment) / (1 - q))


@pytest.mark.float32
@pytest.mark.parametrize("unit", [1.0, 1e-30, 3e25j], ids=["1", "small", "imaginary"])
def test_against_mpmath(unit):
    q = Q.astype(jnp.result_type(float))
    vectors = VECTORS.astype(q.dtype) * unit
    vectors = jnp.asarray(vectors, np.result_type(q.dtype, np.complex64) if np.iscomplexobj(vectors) else q.dtype)
    eps = jnp.finfo(q.dtype).eps
    moments, entropies = inverse_participation_ratio(vectors, q), participation_entropy(vectors, q)
    expected = np.array([[exactly(column, each) for each in q] for column in VECTORS.astype(q.dtype).T])
    assert moments.dtype == q.dtype
    np.testing.assert_allclose(moments, expected[..., 0], rtol=100 * eps)
    np.testing.assert_allclose(entropies, expected[..., 1], rtol=40 * eps)
    np.testing.assert_allclose(multifractal_dimension(vectors, q), expected[..., 1] / np.log(4), rtol=40 * eps)


@pytest.mark.float32
def test_localised_and_extended_vectors():
    n = 1000
    vectors = jnp.stack([jnp.zeros(n).at[7].set(-3.0), jnp.ones(n), jnp.zeros(n).at[:10].set(1.0)], axis=1)
    q = jnp.array([0.5, 1.0, 1.2, 2.0, 3.0])
    eps = jnp.finfo(vectors.dtype).eps
    counts = np.array([1.0, n, 10])[:, None]
    np.testing.assert_allclose(inverse_participation_ratio(vectors, q), counts ** (1 - np.asarray(q)), rtol=100 * eps)
    entropy = np.broadcast_to(np.log(counts), (3, 5))
    np.testing.assert_allclose(participation_entropy(vectors, q), entropy, rtol=20 * eps)
    np.testing.assert_allclose(multifractal_dimension(vectors, q), entropy / np.log(n), rtol=20 * eps)


def test_cumulants_at_one():
    # log Σ p e^{t log p} has the cumulants of log p: S = κ_1 - κ_2 t/2 - κ_3 t²/6 - …, with κ_1 = S_1.
    p = VECTORS[:, 0] ** 2 / (VECTORS[:, 0] ** 2).sum()
    d = np.log(p) - p @ np.log(p)
    entropy = lambda q: participation_entropy(VECTORS[:, :1], q)[0]
    np.testing.assert_allclose(jax.grad(entropy)(1.0), -(p @ d**2) / 2, rtol=1e-13)
    np.testing.assert_allclose(jax.grad(jax.grad(entropy))(1.0), -(p @ d**3) / 3, rtol=1e-12)
    # At this q the plain formula has no digits left.
    np.testing.assert_allclose(jax.grad(entropy)(1 + 1e-7), -(p @ d**2) / 2 - 1e-7 * (p @ d**3) / 3, rtol=1e-12)
    # The two formulas meet here.
    for meet in (0.5, 1.5):
        sides = [jax.value_and_grad(entropy)(meet + side) for side in (-1e-12, 1e-12)]
        np.testing.assert_allclose(*sides, rtol=1e-11)


def test_components_that_are_0():
    vector = jnp.array([[3.0], [0.0], [4.0]])
    np.testing.assert_allclose(inverse_participation_ratio(vector, jnp.array([0.0, -1.0])), [[2.0, np.inf]])
    np.testing.assert_allclose(participation_entropy(vector, jnp.array([0.0, -1.0])), [[np.log(2), np.inf]])
    for fn in (inverse_participation_ratio, participation_entropy):
        slope = jax.grad(lambda v, fn=fn: fn(v)[0])(vector)
        assert np.isfinite(slope).all()
        np.testing.assert_allclose((slope * vector).sum(), 0, rtol=0, atol=1e-15)  # the length does not matter
    assert np.isnan(participation_entropy(jnp.zeros((3, 1))))
    assert np.isnan(inverse_participation_ratio(jnp.array([[1.0], [jnp.nan]])))
    assert np.isnan(multifractal_dimension(jnp.ones((1, 1)), 2.0))
    assert participation_entropy(jnp.ones((1, 1))) == 0
    assert inverse_participation_ratio(jnp.ones((5, 3, 0)), jnp.ones((2, 4))).shape == (5, 0, 2, 4)


@pytest.mark.parametrize(("ensemble", "beta"), [(rmt.GOE, 1), (rmt.GUE, 2)])
def test_vectors_of_invariant_ensembles(getkey, ensemble, beta):
    n, samples = 12, 2000
    matrices = jax.jit(jax.vmap(ensemble(n).sample))(jax.random.split(getkey(), samples))
    vectors = jax.jit(rmt.eigh)(matrices)[1]
    q = jnp.array([0.5, 2.0, 3.0])
    means = lambda v: (inverse_participation_ratio(v, q).mean(1), participation_entropy(v).mean(1))
    found = over_samples(means, vectors)
    exact = rmt.laws.mean_inverse_participation_ratio(n, beta, q), rmt.laws.mean_participation_entropy(n, beta)
    for z, error, expected in zip(found.z_score(exact), found.standard_error, exact, strict=True):
        assert (abs(z) < 4.9).all()
        assert (error < 0.008 * expected).all()  # the other β is off by 8 % and more


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: participation_entropy(jnp.ones(3)), "`vectors` must have vectors in columns"),
        (lambda: participation_entropy(jnp.ones((0, 3))), "`vectors` must have vectors in columns"),
        (lambda: inverse_participation_ratio(jnp.ones((3, 1)), np.inf), "`q` must be finite"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
