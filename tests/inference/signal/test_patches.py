"""Denoised patches and images against the rule in NumPy, patch by patch, and against known signals."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.inference import denoise, denoise_image, denoise_patches
from rmtjax.inference._signal import tiles

M, K = 27, 6


def patches(number: int = 4, *, m: int = M, k: int = K, cplx: bool = False) -> np.ndarray:
    """Two components beside a mean, in noise of level 1."""
    rng = np.random.default_rng(3)
    normal = lambda *shape: (
        rng.normal(size=shape) if not cplx else rng.normal(size=(*shape, 2)).view(complex)[..., 0] / np.sqrt(2)
    )
    return normal(number, m, 2) @ (np.array([[5.0], [2.5]]) * normal(number, 2, k)) + 20 + normal(number, m, k)


def reference(y: np.ndarray, *, center: bool = True) -> tuple[np.ndarray, int, float]:
    """One patch, from its singular values, by trying all numbers of noise levels from the largest on."""
    mean = y.mean(0) if center else 0 * y[0]
    u, s, vh = np.linalg.svd(y - mean, full_matrices=False)
    rows, k = y.shape[0] - center, y.shape[1]
    q, larger = min(rows, k), max(rows, k)
    squares = np.sort(s**2)[-q:]
    for noise in range(q, 0, -1):
        sides = noise * (larger - q + noise)
        variance = squares[:noise].sum() / sides
        if squares[noise - 1] - squares[0] <= 4 * np.sqrt(sides) * variance:
            break
    rank = q - noise
    return mean + (u[:, :rank] * s[:rank]) @ vh[:rank], rank, np.sqrt(variance)


@pytest.mark.parametrize(("m", "k", "center"), [(M, K, True), (8, 12, True), (8, 12, False)])
def test_against_the_rule_patch_by_patch(m, k, center):
    y = patches(m=m, k=k, cplx=m > k)
    found = denoise_patches(y, center=center)
    for i, each in enumerate(y):
        matrix, rank, noise = reference(each, center=center)
        np.testing.assert_allclose(found.patches[i], matrix, rtol=0, atol=1e-9)
        assert found.rank[i] == rank
        np.testing.assert_allclose(found.noise[i], noise, rtol=1e-10)


def test_other_rules_are_those_of_denoise():
    y = patches()
    for rule in ("frobenius", "hard"):
        found = denoise_patches(y, rule=rule)
        expected = denoise(y, loss=rule, noise=found.noise, center=True)
        np.testing.assert_allclose(found.patches, expected.matrix, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(found.rank, expected.rank)
    known = denoise_patches(y, noise=1.0)
    levels = denoise(y, noise=1.0, center=True).singular_values
    np.testing.assert_array_equal(known.rank, (levels > np.sqrt(M - 1) + np.sqrt(K)).sum(-1))
    np.testing.assert_array_equal(known.noise, np.ones(4))


@pytest.mark.parametrize("rule", ["mp-pca", "frobenius"])
def test_derivative_is_that_of_differences(rule):
    y, along = patches(), np.random.default_rng(1).normal(size=(4, M, K))
    function = lambda y: denoise_patches(y, rule=rule).patches
    slope = jax.jvp(function, (y,), (along,))[1]
    np.testing.assert_allclose(
        slope, (function(y + 1e-6 * along) - function(y - 1e-6 * along)) / 2e-6, rtol=0, atol=1e-7
    )


def by_patches(
    y: np.ndarray, patch: tuple[int, ...], rule: str, noise: np.ndarray | None = None, mask: np.ndarray | None = None
) -> tuple[np.ndarray, ...]:
    """The image patch by patch, in loops."""
    if noise is not None:
        parts = np.lib.stride_tricks.sliding_window_view(noise**2, patch)
        noise = np.sqrt(parts.reshape(-1, np.prod(patch)).mean(-1))
    windows = np.lib.stride_tricks.sliding_window_view(y, patch, axis=tuple(range(len(patch))))
    flat = np.moveaxis(windows, len(patch), -1).reshape(-1, np.prod(patch), y.shape[-1])
    found = denoise_patches(flat, rule=rule, noise=noise)
    image, maps = np.zeros_like(y), np.zeros((3, *y.shape[:-1]))
    for i, corner in enumerate(np.ndindex(windows.shape[: len(patch)])):
        place = tuple(slice(start, start + size) for start, size in zip(corner, patch, strict=True))
        middle = tuple(start + size // 2 for start, size in zip(corner, patch, strict=True))
        weight = (mask is None or mask[middle]) / (1 + int(found.rank[i]))
        image[place] += weight * np.asarray(found.patches[i]).reshape(*patch, -1)
        maps[(slice(None), *place)] += weight * np.array([1, float(found.noise[i]) ** 2, int(found.rank[i])]).reshape(
            3, *[1] * len(patch)
        )
    return image / maps[0][..., None], np.sqrt(maps[1] / maps[0]), maps[2] / maps[0]


def decays(*space: int, k: int, noise: float = 0.05, cplx: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Sums of two exponentials whose rates and amounts change slowly over space, without and with noise."""
    rng = np.random.default_rng(0)
    place = np.stack(np.meshgrid(*(np.linspace(0, 1, size) for size in space), indexing="ij"))
    amount, times = 1 + 0.5 * np.sin(4 * place.sum(0)), np.linspace(0, 3, k)
    signal = amount[..., None] * np.exp(-times * (0.5 + place[0])[..., None]) + np.exp(-times * 3)
    noisy = signal + noise * rng.normal(size=signal.shape)
    return signal, noisy + 1j * noise * rng.normal(size=signal.shape) if cplx else noisy


def assert_image(found, expected, where=...):
    image, noise, rank = (each[where] for each in expected)
    np.testing.assert_allclose(found.image[where], image, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.noise[where], noise, rtol=1e-9)
    np.testing.assert_allclose(found.rank[where], rank, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("space", "k", "patch", "rule", "cplx"),
    [
        ((9, 6, 7), 5, (3, 2, 3), "nuclear", False),
        ((9, 6), 5, (4, 4), "nuclear", True),
        ((5, 5), 12, (3, 3), "mp-pca", False),  # fewer voxels than measurements
    ],
)
def test_image_is_the_mean_over_its_patches(space, k, patch, rule, cplx, monkeypatch):
    # Small tiles, so that there are several along each axis and the last ones reach over the end.
    monkeypatch.setattr(tiles, "_TILE", 1)
    _, y = decays(*space, k=k, cplx=cplx)
    assert_image(denoise_image(y, patch=patch, rule=rule), by_patches(y, patch, rule))


def test_image_with_a_map_of_its_noise_or_a_mask(monkeypatch):
    monkeypatch.setattr(tiles, "_TILE", 1)
    _, y = decays(9, 6, 7, k=5)
    known = 0.05 * np.linspace(0.3, 2, y[..., 0].size).reshape(y.shape[:-1])
    expected = by_patches(y, (3, 2, 3), "mp-pca", known)
    assert np.ptp(expected[-1]) > 0.5
    assert_image(denoise_image(y, patch=(3, 2, 3), noise=known), expected)
    place = np.stack(np.meshgrid(*map(np.arange, y.shape[:-1]), indexing="ij"))
    # A corner of the image, with voxels that are in no patch around one of the mask, and a voxel by itself.
    mask = (np.abs(place).sum(0) < 4) | (place == np.array([6, 3, 4])[:, None, None, None]).all(0)
    found = denoise_image(y, patch=(3, 2, 3), mask=mask)
    with np.errstate(invalid="ignore"):
        expected = by_patches(y, (3, 2, 3), "mp-pca", mask=mask)
    assert_image(found, expected, mask & np.isfinite(expected[1]))
    assert not np.asarray(found.image)[~mask].any()
    assert not np.asarray(found.noise)[~mask].any()
    alone = np.zeros(mask.shape, bool)
    alone[0, 0, 0] = True
    every = by_patches(y, (3, 2, 3), "mp-pca")[0]
    np.testing.assert_allclose(
        denoise_image(y, patch=(3, 2, 3), mask=alone).image[0, 0, 0], every[0, 0, 0], rtol=0, atol=1e-10
    )


def test_a_map_of_noise_may_be_given_back():
    """Beyond the mask it is 0 in a result, and may be NaN in data."""
    _, y = decays(9, 8, k=5)
    mask = np.add.outer(np.arange(9), np.arange(8)) < 11
    found = denoise_image(y, patch=(3, 3), mask=mask)
    again = [denoise_image(y, patch=(3, 3), mask=mask, noise=np.where(mask, found.noise, x)) for x in (0, np.nan, 99)]
    for each in again:
        np.testing.assert_array_equal(each.image, again[0].image)
        np.testing.assert_allclose(each.noise[mask], found.noise[mask], rtol=0.3)
        assert not np.asarray(each.noise)[~mask].any()
    with pytest.raises(ValueError, match="`noise` must be"):
        denoise_image(y, patch=(3, 3), mask=mask, noise=np.where(mask, 0, found.noise))


def test_the_size_of_a_patch_is_automatic():
    """The smallest odd one with a voxel for each measurement, as far as the image reaches; also for whole numbers."""
    for shape, patch in (
        ((8, 7, 9, 20), (3, 3, 3)),
        ((8, 7, 9, 30), (5, 5, 5)),
        ((6, 9, 20), (5, 5)),
        ((4, 9, 20), (4, 5)),
    ):
        image = np.random.default_rng(0).integers(-100, 100, shape)
        found, named = denoise_image(image), denoise_image(image.astype(float), patch=patch)
        np.testing.assert_array_equal(found.image, named.image)
    with pytest.raises(ValueError, match="`image` must have axes of space and one of measurements"):
        denoise_image(np.ones(9))


def test_single_precision_is_near_double():
    signal, y = decays(7, 7, k=8)
    single, double = (denoise_image(jnp.asarray(y + 10, dtype), patch=(4, 4)) for dtype in ("float32", "float64"))
    assert single.image.dtype == single.noise.dtype == np.float32
    np.testing.assert_allclose(single.noise, double.noise, rtol=1e-3)
    assert np.sqrt(np.mean((np.asarray(single.image) - 10 - signal) ** 2)) < 0.035


@pytest.mark.float32
def test_known_noise_in_units_whose_squares_leave_single_precision():
    y = patches()
    expected = denoise_patches(jnp.asarray(y, jnp.float32), noise=1.0)
    for unit in (1e-25, 1e19):
        found = denoise_patches(jnp.asarray(y * unit, jnp.float32), noise=unit)
        np.testing.assert_allclose(found.patches / unit, expected.patches, rtol=0, atol=1e-3)
        np.testing.assert_allclose(found.noise / unit, 1, rtol=1e-6)


def test_noise_alone():
    """Hardly a component of noise is kept, and its level is found without bias."""
    noise = jax.random.normal(jax.random.key(5), (400, M, K))
    found = denoise_patches(noise)
    assert np.mean(found.rank > 0) < 0.1
    level = np.asarray(found.noise)
    assert abs(level.mean() - 1) < 0.01 + 5 * level.std() / 20


@pytest.mark.slow
@pytest.mark.heavy
def test_residual_of_an_image_is_noise(getkey):
    """The residual has no structure, and the level of the noise without its part in the components that are kept."""
    signal, _ = decays(14, 14, 14, k=20)
    noise = 0.05 * np.asarray(jax.random.normal(getkey(), signal.shape))
    found = denoise_image(signal + noise, patch=(5, 5, 5))
    error, residual = np.asarray(found.image) - signal, signal + noise - np.asarray(found.image)
    assert np.std(error) < 0.35 * 0.05
    np.testing.assert_allclose(np.mean(found.noise), 0.05, rtol=0.01)
    # The removed part of the noise is orthogonal to the part that is left.
    np.testing.assert_allclose(np.hypot(np.std(residual), np.std(error)), 0.05, rtol=0.05)
    # The correlations with the signal and of neighbours are as for independent noise.
    unit = (signal - signal.mean((0, 1, 2))) / np.linalg.norm(signal - signal.mean((0, 1, 2)))
    assert abs(np.sum(unit * residual)) < 5 * 0.05
    neighbours = np.mean(residual[1:] * residual[:-1]) / np.var(residual)
    assert abs(neighbours) < 0.02


def test_refuses_what_is_no_image():
    y = patches()
    of_patches, of_image = denoise_patches, partial(denoise_image, patch=(2, 2))
    for denoised, data, options, message in (
        (of_patches, y, {"rule": "median"}, "`rule` must be one of 'mp-pca', 'frobenius'"),
        (of_patches, y, {"noise": 0.0}, "`noise` must be positive and finite"),
        (of_patches, y, {"noise": np.ones(3)}, "or have the shape"),
        (of_patches, np.where(y == y[1, 3, 2], np.nan, y), {}, "1 NaN"),
        (of_patches, y[:, :2], {}, "at least 3 rows"),
        (of_image, y[0], {}, "2 axes of space and one of measurements"),
        (of_image, y, {"patch": (5, 2)}, "fit into the image"),
        (of_image, y, {"patch": (2, 1)}, "at least 3 voxels"),
        (of_image, y, {"patch": 5}, "`patch` must be a tuple with one size for each axis"),
        (of_image, y, {"noise": np.ones(3)}, r"or have the shape \(4, 27\) of space"),
        (of_image, y, {"noise": np.zeros((4, 27))}, "`noise` must be positive"),
        (of_image, y, {"mask": np.ones(4, bool)}, r"`mask` must be booleans of the shape \(4, 27\) .* got bool of"),
        (of_image, y, {"mask": np.ones((4, 27))}, "`mask` must be booleans"),
        (of_image, y[..., :1], {}, "at least 2 measurements"),
    ):
        with pytest.raises(ValueError, match=message):
            denoised(data, **options)
    spoilt = jnp.asarray(y).at[0, 0, 0].set(jnp.nan)
    found = jax.jit(denoise_patches)(spoilt).noise
    assert np.isnan(found[0])
    assert np.isfinite(found[1:]).all()
