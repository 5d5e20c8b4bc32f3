"""Correlated noise: the best matrix in NumPy, by least squares against the truth, and the same in white coordinates."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.inference import denoise, denoise_image, denoise_patches, shrink_covariance, signal_rank

N, P = 30, 12


def correlated(p: int, *, rho: float = 0.8, cplx: bool = False) -> np.ndarray:
    """The covariance of a process in time of first order, with different levels at its ends."""
    lag = np.subtract.outer(np.arange(p), np.arange(p))
    turn = np.exp(0.7j * lag) if cplx else 1.0
    levels = np.linspace(1, 2, p)
    return rho ** abs(lag) * turn * np.outer(levels, levels)


def smooth(n: int, p: int, sizes: list[float], covariance: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Smooth patterns, and the same in noise of a covariance."""
    rng = np.random.default_rng(seed)
    cplx = np.iscomplexobj(covariance)
    normal = lambda *shape: (
        rng.normal(size=(*shape, 2)).view(complex)[..., 0] / 2**0.5 if cplx else rng.normal(size=shape)
    )
    patterns = np.cos(np.pi * np.outer(np.arange(1, len(sizes) + 1), np.linspace(0, 1, p))) / (p / 2) ** 0.5
    signal = normal(n, len(sizes)) * sizes @ patterns
    return signal, signal + normal(n, p) @ np.linalg.cholesky(covariance).T


def reference(y: np.ndarray, covariance: np.ndarray, sigma: float = 1.0) -> np.ndarray:
    """From vectors and cosines (Benaych-Georges and Nadakuditi 2012), with another root of the covariance."""
    n, p = y.shape
    levels, vectors = np.linalg.eigh(covariance.T)
    root = (vectors * levels**0.5) @ vectors.conj().T
    u, s, vh = np.linalg.svd(y @ np.linalg.inv(root), full_matrices=False)
    out = s > (n**0.5 + p**0.5) * sigma
    u, s, vh = u[:, out], s[out] / sigma, vh[out]
    square = (s**2 - n - p + np.sqrt((s**2 - n - p) ** 2 - 4 * n * p)) / 2
    rows, columns = (np.sqrt((square**2 - n * p) / (square * (square + size))) for size in (n, p))
    lengths = vh @ root @ root.conj().T @ vh.conj().T
    beside = (1 - columns**2) * np.trace(covariance).real / p
    core = np.diag(np.sqrt(square) * rows / columns) @ (np.eye(s.size) - beside[:, None] * np.linalg.inv(lengths))
    return sigma * u @ core @ vh @ root


@pytest.mark.parametrize("cplx", [False, True])
@pytest.mark.parametrize(("n", "p"), [(N, P), (P, N)])
def test_best_matrix_against_vectors_and_cosines(n, p, cplx):
    covariance = correlated(p, cplx=cplx)
    _, y = smooth(n, p, [20.0, 9.0], covariance)
    found = denoise(y, noise=0.8, noise_covariance=covariance)
    assert found.rank >= 2
    np.testing.assert_allclose(found.matrix, reference(y, covariance, 0.8), rtol=0, atol=1e-9)
    white = y @ np.linalg.inv(np.linalg.cholesky(covariance).T)
    np.testing.assert_allclose(found.singular_values, np.linalg.svd(white, compute_uv=False), rtol=1e-9)
    # The shape and the level: only their product counts.
    np.testing.assert_allclose(
        denoise(y, noise=1.6, noise_covariance=covariance / 4).matrix, found.matrix, rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("loss", ["frobenius", "operator", "nuclear", "hard"])
def test_white_noise_and_other_losses(loss):
    covariance = correlated(P)
    _, y = smooth(N, P, [20.0, 9.0], covariance)
    for center in (False, True):
        plain = denoise(y, loss=loss, center=center)
        found = denoise(y, loss=loss, center=center, noise_covariance=np.eye(P))
        np.testing.assert_allclose(found.matrix, plain.matrix, rtol=0, atol=1e-10)
        np.testing.assert_allclose(found.noise, plain.noise, rtol=1e-10)
    if loss != "frobenius":
        root = np.linalg.cholesky(covariance).T
        expected = denoise(y @ np.linalg.inv(root), loss=loss, center=True).matrix @ root
        found = denoise(y, loss=loss, noise_covariance=covariance, center=True)
        np.testing.assert_allclose(found.matrix, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("n", "p", "gain"), [(200, 50, 1.4), (60, 150, 1.03)])
def test_error_is_near_that_of_the_best_weights_for_the_true_signal(n, p, gain):
    """Nothing in the span of the components is better; to ignore the correlation, or to shrink as if for good, is."""
    covariance = 0.8 ** abs(np.subtract.outer(np.arange(p), np.arange(p)))
    root, errors = np.linalg.cholesky(covariance).T, []
    for seed in range(12):
        signal, y = smooth(n, p, [8.0, 6.0, 4.0], covariance, seed)
        found = denoise(y, noise=1.0, noise_covariance=covariance)
        white = y @ np.linalg.inv(root)
        u, _, vh = np.linalg.svd(white, full_matrices=False)
        u, vh = u[:, : int(found.rank)], vh[: int(found.rank)] @ root
        best = u @ u.T @ signal @ np.linalg.pinv(vh) @ vh
        blind = denoise(white, noise=1.0).matrix @ root
        errors.append([np.mean((x - signal) ** 2) for x in (best, found.matrix, blind, denoise(y, noise=1.0).matrix)])
    best, ours, blind, ignored = np.mean(errors, axis=0)
    assert best < ours < 1.05 * best
    assert ignored > gain * ours
    assert blind > (1.15 if p > n else 1.005) * ours


def test_derivatives():
    covariance = correlated(P)
    _, y = smooth(N, P, [20.0, 9.0], covariance)
    rng = np.random.default_rng(1)
    along, turn = rng.normal(size=(N, P)), rng.normal(size=(P, P))
    turn = turn + turn.T
    fn = lambda y, c: denoise(y, noise_covariance=c).matrix
    slope = jax.jvp(fn, (jnp.asarray(y), jnp.asarray(covariance)), (along, turn))[1]
    h = 1e-6
    expected = (fn(y + h * along, covariance + h * turn) - fn(y - h * along, covariance - h * turn)) / (2 * h)
    np.testing.assert_allclose(slope, expected, rtol=0, atol=1e-6)


def test_patches_and_images_are_those_of_white_measurements():
    covariance = correlated(P)
    root = np.linalg.cholesky(covariance).T
    signal, _ = smooth(64, P, [20.0, 9.0], covariance)
    rng = np.random.default_rng(4)
    y = 50 + signal + 0.5 * rng.normal(size=(64, P)) @ root
    white = y @ np.linalg.inv(root)
    for rows in (64, 9):
        for center in (True, False):
            found = denoise_patches(y[:rows], noise_covariance=covariance, center=center)
            expected = denoise_patches(white[:rows], center=center)
            np.testing.assert_allclose(found.patches, expected.patches @ root, rtol=0, atol=1e-9)
            np.testing.assert_allclose(found.noise, expected.noise, rtol=1e-9)
    image = y.reshape(8, 8, P)
    for noise in (None, np.full((8, 8), 0.5)):
        found = denoise_image(image, patch=(4, 4), noise=noise, noise_covariance=covariance)
        expected = denoise_image(white.reshape(8, 8, P), patch=(4, 4), noise=noise)
        np.testing.assert_allclose(found.image, expected.image @ root, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.rank, expected.rank, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.noise, 0.5, rtol=0.2)


def test_rank_is_that_of_white_rows():
    covariance = correlated(P, cplx=True)
    _, y = smooth(60, P, [20.0, 0.0], covariance)
    white = y @ np.linalg.inv(np.linalg.cholesky(covariance).T)
    for options in ({}, {"noise": 1.0}, {"center": False}, {"method": "parallel-analysis"}):
        found, expected = signal_rank(y + 7, noise_covariance=covariance, **options), signal_rank(white, **options)
        if options.get("center", True):
            np.testing.assert_allclose(found.levels, expected.levels, rtol=1e-9)
            assert found.rank == expected.rank == 1
    assert signal_rank(y).rank > 1
    batch = signal_rank(np.stack([y, 3 * y]), noise=1.0, noise_covariance=np.stack([covariance, 9 * covariance]))
    np.testing.assert_array_equal(batch.rank, [1, 1])


@pytest.mark.float32(further=True)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_units_and_single_precision(dtype):
    covariance = correlated(P)
    _, y = smooth(N, P, [20.0, 9.0], covariance)
    y, shape = jnp.asarray(y, dtype), jnp.asarray(covariance, dtype)
    found = denoise(y, noise=1.0, noise_covariance=shape)
    assert found.matrix.dtype == dtype
    for unit in (1e-25, 1e25):
        other = denoise(unit * y, noise=unit, noise_covariance=shape)
        np.testing.assert_allclose(other.matrix / unit, found.matrix, rtol=1e-4, atol=1e-3)
        small = denoise_patches(unit * y, noise_covariance=shape)
        np.testing.assert_allclose(small.noise, unit * denoise_patches(y, noise_covariance=shape).noise, rtol=1e-4)
    tiny = signal_rank(1e-15 * y, noise=1.0, noise_covariance=1e-30 * shape)
    np.testing.assert_allclose(tiny.levels[:4], signal_rank(y, noise_covariance=shape).levels[:4], rtol=1e-3)


def test_an_estimate_from_few_scans_is_definite():
    covariance = correlated(P)
    scans = np.random.default_rng(0).normal(size=(8, P)) @ np.linalg.cholesky(covariance).T
    _, y = smooth(N, P, [40.0], covariance)
    with pytest.raises(ValueError, match="`noise_covariance` must be positive definite"):
        denoise(y, noise_covariance=scans.T @ scans)
    assert denoise(y, noise_covariance=shrink_covariance(scans), noise=1.0).rank >= 1


def test_refusals():
    y = np.random.default_rng(0).normal(size=(2, 9, 4))
    for call in (denoise, denoise_patches, signal_rank, partial(denoise_image, patch=(2, 2))):
        for wrong, message in (
            (np.eye(3), r"have the shape \(4, 4\) of the columns"),
            (-np.eye(4), "be positive definite .*got the smallest eigenvalue -1"),
            (np.full((4, 4), np.nan), "be finite"),
            (np.linalg.cholesky(correlated(4)), r"be Hermitian .*L @ L.*up to \d.*across the diagonal\.$"),
            (np.triu(correlated(4)), "be Hermitian"),
            (np.eye(4) * (1 + 0j), "be real for real data"),
        ):
            with pytest.raises(ValueError, match="`noise_covariance` must " + message):
                call(y, noise_covariance=wrong)
    for wrong, message in (
        (-np.eye(4), "eigenvalue -1 in matrix 1 of the batch"),
        (np.tri(4), "by up to 1 .* matrix 1"),
    ):
        both = np.stack([np.eye(4), wrong])
        with pytest.raises(ValueError, match=message):
            denoise(y, noise_covariance=both)
        found = jax.jit(lambda c: denoise(y, noise_covariance=c))(both)
        assert np.isfinite(found.matrix[0]).all()
        assert np.isnan(found.matrix[1]).all()
    # Single precision is Hermitian to its own rounding, also for data of double precision.
    rounded = np.float32(correlated(4)) * (1 + np.triu(np.full((4, 4), np.float32(1e-7))))
    assert signal_rank(y, noise_covariance=rounded).rank.shape == (2,)
