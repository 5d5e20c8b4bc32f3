"""Resolvents and determinants of known matrices with noise, against matrices and closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.laws import (
    Empirical,
    FreeCompression,
    FreePower,
    FreeProduct,
    FreeSum,
    FussCatalan,
    MarchenkoPastur,
    Semicircle,
    log_det_equivalent,
    resolvent_equivalent,
)

SINGLE = jnp.zeros(0).dtype == np.float32
N = 120


def population():
    """A matrix with vectors of its own."""
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(N, N)))[0]
    return rotation @ np.diag(np.linspace(0.5, 3, N)) @ rotation.T


@pytest.mark.float32
def test_of_the_semicircle():
    """Noise on the matrix 0, or on c: a closed form for the resolvent and for the determinant."""
    z = jnp.array([0.3 + 0.1j, -3.0, 1.0 - 2j])
    law = Semicircle(2.0)
    found = resolvent_equivalent(0.7 * jnp.eye(3), law, 0.7 + z, "sum")
    expected = np.asarray(law.stieltjes(z))[:, None, None] * np.eye(3)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 if SINGLE else 1e-14)
    # With z = w + 1/w the derivative of log w + 1/(2w²) by z is 1/w, the transform.
    w = np.asarray(1 / law.stieltjes(z))
    logs = 3 * np.real(np.log(w) + w**-2 / 2)
    np.testing.assert_allclose(log_det_equivalent(0.7 * jnp.eye(3), law, 0.7 + z, "sum"), logs, rtol=1e-5)


@pytest.mark.float32
def test_sample_covariance_matrices(getkey):
    """Traces, quadratic forms and log det of draws; the population alone would be off by 20 % and more."""
    matrix, count = population(), 2 * N
    root = np.linalg.cholesky(matrix)
    data = np.asarray(jax.random.normal(getkey(), (40, count, N))) @ root.T
    s = np.swapaxes(data, 1, 2) @ data / count
    resolvents = np.linalg.inv(-0.5 * np.eye(N) - s)
    equivalent = np.asarray(resolvent_equivalent(matrix, MarchenkoPastur(N / count), -0.5))
    assert equivalent.shape == (N, N)
    np.testing.assert_allclose(np.trace(resolvents.mean(0)), np.trace(equivalent).real, rtol=5e-3)
    np.testing.assert_allclose(np.trace(matrix @ resolvents.mean(0)), np.trace(matrix @ equivalent).real, rtol=5e-3)
    form = np.random.default_rng(1).normal(size=N) / N**0.5
    np.testing.assert_allclose(form @ resolvents.mean(0) @ form, (form @ equivalent @ form).real, rtol=0.02)
    assert abs(np.trace(np.linalg.inv(-0.5 * np.eye(N) - matrix)) / np.trace(equivalent).real - 1) > 0.1
    logs = np.linalg.slogdet(np.eye(N) + 2 * s)[1]
    found = N * np.log(2) + log_det_equivalent(matrix, MarchenkoPastur(N / count), -0.5)
    assert abs(found - logs.mean()) < 5 * logs.std() / 40**0.5 + 0.2


@pytest.mark.parametrize("operation", ["sum", "product"])
def test_the_trace_is_the_transform(operation):
    matrix, law = population(), MarchenkoPastur(0.4)
    z = jnp.array([1.3 + 0.2j, 0.7 - 1e-3j, 9.0])
    of = FreeSum if operation == "sum" else FreeProduct
    noisy = of(Empirical(np.linalg.eigvalsh(matrix)), law)
    found = resolvent_equivalent(matrix, law, z, operation)
    np.testing.assert_allclose(np.trace(found, axis1=1, axis2=2) / N, noisy.stieltjes(z), rtol=1e-11)
    slope = jax.vmap(jax.grad(lambda x: log_det_equivalent(matrix, law, x, operation)))(jnp.array([-1.0, 12.0]))
    np.testing.assert_allclose(slope / N, np.real(noisy.stieltjes(jnp.array([-1.0, 12.0]))), rtol=1e-10)
    traced = jax.jit(lambda a, x: resolvent_equivalent(a, law, x, operation))(matrix, z)
    np.testing.assert_allclose(traced, found, rtol=1e-9, atol=1e-12)


@pytest.mark.float32
def test_subordinate_points_have_the_unit_of_the_first_part():
    for law in (FreeProduct, FreeSum):
        plain = law(Empirical([1.0, 3.0]), MarchenkoPastur(0.5))
        z = jnp.array([0.8 + 0.3j, 2.0 - 0.1j])
        w = plain.subordinate(z)
        size = 2.0**40
        if law is FreeProduct:
            large = law(Empirical([size, 3 * size]), MarchenkoPastur(0.5)).subordinate(size * z)
            np.testing.assert_allclose(w * Empirical([1.0, 3.0]).stieltjes(w), z * plain.stieltjes(z), rtol=1e-4)
        else:
            large = law(Empirical([size, 3 * size]), MarchenkoPastur(0.5, size**0.5)).subordinate(size * z)
            np.testing.assert_allclose(Empirical([1.0, 3.0]).stieltjes(w), plain.stieltjes(z), rtol=1e-4)
        np.testing.assert_allclose(large / size, w, rtol=1e-4)
        np.testing.assert_array_equal(plain.subordinate(jnp.conj(z)), np.conj(w))


@pytest.mark.parametrize("size", [1e6, 1e-6])
def test_a_second_part_without_a_unit(size):
    law = FreeProduct(Empirical([size, 3 * size]), FussCatalan(2))
    z = size * jnp.array([1.6 + 0.6j, 1.0 - 2j])
    w = law.subordinate(z)
    np.testing.assert_allclose(w * Empirical([size, 3 * size]).stieltjes(w), z * law.stieltjes(z), rtol=1e-10)
    matrix = size * np.diag([1.0, 3.0])
    trace = np.trace(resolvent_equivalent(matrix, FussCatalan(2), z), axis1=1, axis2=2) / 2
    np.testing.assert_allclose(trace, law.stieltjes(z), rtol=1e-10)


def test_subordinate_points_of_powers_and_corners():
    z = jnp.array([0.3 + 0.4j])
    base = MarchenkoPastur(0.5)
    power, corner = FreePower(base, 1.5), FreeCompression(base, 0.25)
    np.testing.assert_allclose(base.stieltjes(power.subordinate(z)), power.stieltjes(z), rtol=1e-12)
    np.testing.assert_allclose(base.stieltjes(corner.subordinate(z)), 0.25 * corner.stieltjes(z), rtol=1e-12)


def test_potentials_at_atoms():
    assert Empirical([0.0, 1.0]).log_potential(0.0).real == -np.inf
    assert MarchenkoPastur(2.0).log_potential(jnp.array([0.0, 0.1])).real.tolist()[0] == -np.inf
    assert np.isfinite(MarchenkoPastur(0.5).log_potential(0.0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((2, 3)), Semicircle(), 1j), "`matrix` must"),
        ((np.ones((2, 3, 3)), Semicircle(), 1j), "`matrix` must be one square matrix"),
        ((np.eye(2), "noise", 1j), "must be a law of one eigenvalue"),
        ((np.eye(2), Semicircle(), 1j), "not negative"),
        ((np.zeros((2, 2)), MarchenkoPastur(0.5), 1j), "`matrix` must have no negative levels, and not be 0"),
        ((-np.eye(2), MarchenkoPastur(0.5), 1j), "`matrix` must .* for a product, got levels from -1 to -1"),
        ((np.eye(2), Semicircle(), 1j, "difference"), "`operation` must be one of"),
    ],
)
@pytest.mark.parametrize("fn", [resolvent_equivalent, log_det_equivalent])
def test_bad_input(fn, arguments, message):
    with pytest.raises(ValueError, match=message):
        fn(*arguments)


def test_a_singular_matrix_is_no_negative_one():
    matrix = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert np.isfinite(log_det_equivalent(matrix, MarchenkoPastur(0.5), -1.0))
