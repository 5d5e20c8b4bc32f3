"""Steps that keep few vectors: their averages against the levels themselves, and what they cannot tell."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.inference import spectral_density_of

N, DEPTH = 2000, 120
# A bulk, and levels apart that converge after some steps and are then found again.
LEVELS = np.concatenate([np.linspace(-0.1, 0.1, N - 10), np.linspace(0.4, 1.0, 6), -np.linspace(0.5, 0.9, 4)])


def diagonal(v, levels):
    return levels.astype(v.dtype) * v


def product(v, a):
    return a @ v


def estimated(levels, key, **options):
    return spectral_density_of(diagonal, key, N, args=(levels,), **({"depth": DEPTH, "probes": 2} | options))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_chebyshev_means_below_twice_the_depth_are_those_of_the_probes(getkey, dtype):
    key, levels = getkey(), jnp.asarray(LEVELS, jnp.zeros(0, dtype).real.dtype)
    found = estimated(levels, key, orthogonal=False, dtype=dtype)
    angle = np.arccos(np.clip(np.asarray(found.nodes, float), -1, 1))
    weights = np.asarray(found.weights, float)
    for i in range(2):
        start = jax.random.normal(jax.random.split(jax.random.fold_in(key, i))[0], (N,), dtype)
        seen = abs(np.asarray(start, complex)) ** 2
        for k in range(2 * DEPTH):
            exact = np.cos(k * np.arccos(LEVELS)) @ seen / seen.sum()
            assert abs(np.cos(k * angle[i]) @ weights[i] - exact) < 10 * DEPTH * jnp.finfo(dtype).eps


def test_a_converged_level_is_found_again_and_is_not_counted(getkey):
    key = getkey()
    several, one = (estimated(jnp.asarray(LEVELS), key, orthogonal=orthogonal) for orthogonal in (False, True))
    near = lambda found: (abs(found.nodes[0] - 1.0) < 1e-9).sum()
    assert near(one) == 1
    assert near(several) > 1
    share = lambda found: found.weights[0][abs(found.nodes[0] - 1.0) < 1e-9].sum()
    np.testing.assert_allclose(share(several), share(one), rtol=1e-9)
    np.testing.assert_allclose(
        several.density(LEVELS[::100]).value, one.density(LEVELS[::100]).value, rtol=0, atol=1e-11
    )
    assert one.extreme_levels()[0] == pytest.approx(1.0)
    with pytest.raises(ValueError, match="`orthogonal` must be True"):
        several.extreme_levels()
    with pytest.raises(ValueError, match="`orthogonal` must be True"):
        several.cdf_band(0.5)
    with pytest.raises(ValueError, match="`orthogonal` must be True"):
        rmt.inference.spectral_outliers(several, rmt.laws.Semicircle(0.1))


def test_no_array_holds_all_vectors(getkey):
    text = lambda orthogonal: str(
        jax.make_jaxpr(lambda key: estimated(jnp.asarray(LEVELS), key, orthogonal=orthogonal).nodes)(getkey())
    )
    assert f"{DEPTH},{N}]" in text(True)
    assert f"{DEPTH},{N}]" not in text(False)


def test_an_operator_without_symmetry_is_refused(getkey):
    a = jnp.triu(jax.random.normal(getkey(), (50, 50)))
    nodes = lambda a: spectral_density_of(product, key, 50, args=(a,), depth=10, orthogonal=False).nodes
    key = getkey()
    with pytest.raises(ValueError, match="`matvec`"):
        nodes(a)
    assert jnp.isnan(jax.jit(nodes)(a)).all()  # without a witness
    assert jnp.isfinite(jax.jit(nodes)(a + a.T)).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_level_far_beyond_the_rest(getkey, dtype):
    """There vectors lose their orthogonality, to their second neighbours first, which is no asymmetry."""
    key = getkey()
    for far in (1e2, 1e4, 1e6) if dtype == "float32" else (1e6, 1e9):
        levels = jnp.asarray(np.append(np.linspace(0, 1, N - 1), far), dtype)
        few, all_vectors = (estimated(levels, key, orthogonal=orthogonal, depth=40) for orthogonal in (False, True))
        np.testing.assert_allclose(few.moment(1).value, all_vectors.moment(1).value, rtol=1e-5)
    shifted = jnp.asarray(1e3 + np.linspace(0, 1, N), dtype)
    np.testing.assert_allclose(estimated(shifted, key, orthogonal=False).moment(1).value, 1000.5, rtol=1e-3)


def test_vectors_that_run_out_are_the_end(getkey):
    found = spectral_density_of(lambda v: 3 * v, getkey(), 50, depth=5, probes=1, orthogonal=False)
    assert bool(found.complete.all())
    np.testing.assert_allclose(found.nodes, 3.0)


def test_the_choice_is_true_or_false(getkey):
    with pytest.raises(ValueError, match="`orthogonal` must be one of True, False"):
        estimated(jnp.asarray(LEVELS), getkey(), orthogonal=None)
