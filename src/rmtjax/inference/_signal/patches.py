"""Denoising of batches of small matrices, and of images by overlapping patches."""

import itertools
import math
from functools import partial
from typing import Annotated, Literal

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Inexact, Int

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._typing import ArrayLike, MaskLike, RealLike
from rmtjax._units import over, times
from rmtjax.inference._core.data import (
    departures,
    in_unit,
    masked_each,
    mean_row,
    observations,
    of_mean_zero,
    without_mean,
)
from rmtjax.inference._signal.noise_argument import noise_level
from rmtjax.inference._signal.noise_bulk import Rule, keeping_filter
from rmtjax.inference._signal.noise_covariance import covariance_of_noise, roots
from rmtjax.inference._signal.tiles import denoised_image
from rmtjax.linalg.internal import adjoint


class DenoisedPatches(AbstractModule):
    """Patches without their noise, as `denoise_patches` returns them.

    Args:
        patches: the estimates, of the shape of the data.
        rank: how many components of each patch were kept, besides the mean.
        noise: the noise level σ of each patch; with a covariance Σ the noise of a voxel has the covariance σ²Σ.

    Example:
        >>> import jax
        >>> found = denoise_patches(jax.random.normal(jax.random.key(0), (1000, 27, 8)))
        >>> print(found.rank.shape, f"{found.noise.mean():.1f}")
        (1000,) 1.0
    """

    patches: Inexact[Array, "*batch m k"]
    rank: Int[Array, "*batch"]
    noise: Float[Array, "*batch"]


class DenoisedImage(AbstractModule):
    """An image without its noise, as `denoise_image` returns it.

    Args:
        image: the estimate, of the shape of the data.
        noise: the noise level σ around each voxel; with a covariance Σ the noise of a voxel has the covariance σ²Σ.
        rank: the mean number of components that were kept around each voxel, besides the mean.

    Example:
        >>> import jax
        >>> noise = jax.random.normal(jax.random.key(0), (6, 6, 6, 10))
        >>> found = denoise_image(3.0 + noise, patch=(3, 3, 3))
        >>> print(found.noise.shape, f"{found.noise.mean():.1f}")
        (6, 6, 6) 1.0
    """

    image: Inexact[Array, "*space k"]
    noise: Float[Array, "*space"]
    rank: Float[Array, "*space"]


def denoise_patches(
    patches: Annotated[ArrayLike, "*batch m k"],
    *,
    rule: Rule = "mp-pca",
    noise: Annotated[RealLike, "*batch"] | None = None,
    noise_covariance: Annotated[ArrayLike, "*batch k k"] | None = None,
    center: bool = True,
) -> DenoisedPatches:
    r"""Small matrices of voxels × measurements without their noise, each by its own spectrum (MP-PCA).

    Neighbouring voxels hold the same few signals in different amounts, and noise of one level. Let $\lambda_i$ be the
    ascending squares of the singular values of a patch, with the smaller side q and the larger side N of the patch. The
    c smallest are its noise, where c is the largest number for which

    $$\lambda_c - \lambda_1 \le 4\sqrt{c\,(N - q + c)}\;\sigma_c^2, \qquad
    \sigma_c^2 = \frac{\lambda_1 + \dots + \lambda_c}{c\,(N - q + c)},$$

    so that they are spread no wider than the law of Marčenko and Pastur allows for noise of their mean square, in the
    dimensions that the other q - c components leave. The estimate keeps these q - c components. Other rules shrink all
    components as `denoise` does for the noise level $\sigma_c$.

    Each patch takes one eigendecomposition of its smaller side, in the precision of the data. In single precision the
    noise level is right to about 1e-7 times the square of the ratio of signal to noise.

    Convention: $\sigma^2 = E|z|^2$ for an entry z of the noise, both parts together where it is complex. With
    `center` the noise has one row less.

    Args:
        patches: voxels × measurements, `(..., m, k)`, real or complex, finite.
        rule: `"mp-pca"`, or a loss of `denoise`: `"frobenius"`, `"operator"`, `"nuclear"` or `"hard"`; static.
        noise: σ > 0, a number or one for each patch, if it is known; the rule `"mp-pca"` then keeps singular values
            above $(\sqrt N + \sqrt q)\,\sigma$.
        noise_covariance: Σ, where the noise of a voxel is correlated over the measurements, or has different levels.
            Its covariance then is σ²Σ. Rules and losses are those of the white measurements, and the result is brought
            back. Positive definite, `(k, k)`, or one for each patch.
        center: whether the mean over the voxels is kept as it is and only the departures from it are denoised; static.

    Returns:
        A `DenoisedPatches` with patches, ranks and noise levels.

    Raises:
        ValueError: `patches` are not finite matrices of at least two rows (three with `center`).
        ValueError: `rule` is unknown, or `noise` is not positive.
        ValueError: `noise_covariance` is not positive definite, or has another shape.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> signal = jnp.outer(jnp.linspace(1, 2, 125), jnp.exp(-jnp.linspace(0, 3, 30)))
        >>> noisy = signal[None] + 0.05 * jax.random.normal(jax.random.key(0), (100, 125, 30))
        >>> found = denoise_patches(noisy)
        >>> print(f"{found.rank.mean():.1f} {found.noise.mean():.3f}")
        1.0 0.050

    References:
        Veraart et al. (2016), NeuroImage 142, 394; Cordero-Grande et al. (2019), NeuroImage 200, 391, for the sizes
        of the noise beside a signal; Does et al. (2019), Magn. Reson. Med. 81, 3503.
    """
    _checks.choice("rule", rule, Rule)
    center = bool(_checks.choice("center", center, Literal[False, True]))
    data, valid = observations(patches, name="patches")
    if center and data.shape[-2] < 3:
        raise _checks.refusal("patches", "have at least 3 rows if their mean is taken away", data.shape)
    batch = data.shape[:-2]
    data, covariance, definite = covariance_of_noise(noise_covariance, data, batch)
    sigma, positive = noise_level(noise, batch, jnp.finfo(data.dtype).dtype)
    result = _patches(data, sigma, covariance, rule, noise is not None, center)
    return masked_each(_checks.all_kept(valid, positive, definite), len(batch), result)


@partial(compiled, static_argnums=(3, 4, 5))
def _patches(
    data: Inexact[Array, "*batch m k"],
    noise: Float[Array, "*batch"],
    covariance: Inexact[Array, "..."] | None,
    rule: str,
    known: bool,
    center: bool,
) -> DenoisedPatches:
    m, k = data.shape[-2:]
    # Squares of the entries may leave the range of their precision.
    data, unit = in_unit(data)
    noise = noise / unit[..., 0, 0]
    wide, back = k > m - center, None
    mean, rows = jnp.zeros_like(data[..., :1, :]), data
    if center:
        mean, rows = mean_row(data), departures(data)
        rows = without_mean(data) if wide else rows - jnp.mean(rows, axis=-2, keepdims=True)
    if covariance is not None:
        white, back = roots(covariance)
        rows, size = in_unit(rows @ white)
        mean, noise, unit = over(mean, size), noise / size[..., 0, 0], unit * size
    gram = rows @ adjoint(rows) if wide else adjoint(rows) @ rows
    of_one = partial(keeping_filter, larger=max(m - center, k), rule=rule, known=known)
    nothing = jnp.zeros_like(noise)
    keep, kept, sigma = jnp.vectorize(of_one, signature="(k,k),(),()->(k,k),(q),()")(gram, noise, nothing)
    signal = keep @ rows if wide else rows @ keep
    signal = of_mean_zero(signal) if center and wide else signal
    signal = signal if back is None else signal @ back
    return DenoisedPatches(times(signal + mean, unit), jnp.sum(kept > 0, axis=-1), sigma * unit[..., 0, 0])


def denoise_image(
    image: Annotated[ArrayLike, "*space k"],
    *,
    patch: tuple[int, ...] | None = None,
    rule: Rule = "mp-pca",
    noise: RealLike | None = None,
    noise_covariance: Annotated[ArrayLike, "k k"] | None = None,
    mask: Annotated[MaskLike, "*space"] | None = None,
) -> DenoisedImage:
    r"""An image with several measurements in each voxel without its noise, by `denoise_patches` around every voxel.

    All patches inside the image are denoised. A voxel gets the mean over the patches that contain it, with the weights
    1/(1 + rank): the fewer components a patch has, the less noise it keeps. Nothing is computed twice for patches that
    overlap. The Gram matrix of a patch is a sum over its voxels, taken along one axis after the other. A patch is
    denoised by a matrix that acts on the measurements of each voxel, so the mean is a mean of these matrices. The image
    is processed in tiles of a few thousand patches, so that memory does not grow with it.

    Voxels without noise, such as a background that was set to 0, make the estimated noise of every patch that contains
    them too small. Denoise the image before it is masked, or give `noise`. With `mask`, patches around voxels outside
    the mask are left out of the means, but patches around voxels inside are whole.

    Convention: as for `denoise_patches`, with the mean over the voxels of each patch kept.

    Args:
        image: space × measurements, `(x, y, z, k)`, or with another number of axes of space if `patch` has it; real or
            complex, or whole numbers, finite, with at least 2 measurements.
        patch: a tuple with the size along each axis of space; static. None for the smallest odd size, from 3 on and the
            same along all axes, with at least as many voxels as measurements, as far as the image reaches.
        rule: as for `denoise_patches`; static.
        noise: σ > 0 if it is known, a number or a map over space, of which a patch takes the root of the mean square.
            Beyond `mask` a map may hold anything, such as the 0 of an earlier result.
        noise_covariance: Σ, k × k, as for `denoise_patches`, the same for all voxels; `noise` may vary beside it.
        mask: booleans of the shape of space, such as which voxels are brain; elsewhere the result is 0. It saves no
            time. A voxel near the end of the image may be in no patch around a voxel of the mask; it then gets the mean
            over all patches that contain it.

    Returns:
        A `DenoisedImage` with the image and maps of noise and rank.

    Raises:
        ValueError: `image` is not finite, or has other axes or only one measurement.
        ValueError: `patch` is larger than the image or has fewer than three voxels.
        ValueError: `rule` is unknown.
        ValueError: `noise` is not positive, or has another shape.
        ValueError: `noise_covariance` is not positive definite, or has another shape.
        ValueError: `mask` is not boolean, or has another shape.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> decay = jnp.exp(-jnp.outer(jnp.linspace(0.5, 2, 64), jnp.linspace(0, 3, 20)))
        >>> signal = decay.reshape(8, 8, 20)
        >>> noisy = signal + 0.02 * jax.random.normal(jax.random.key(0), signal.shape)
        >>> error = denoise_image(noisy, patch=(5, 5)).image - signal
        >>> print(f"{jnp.std(error) / 0.02:.1f}")
        0.4

    References:
        Veraart et al. (2016), NeuroImage 142, 394; Manjón et al. (2013), PLoS ONE 8, e73021, for the mean over patches.
    """
    _checks.choice("rule", rule, Rule)
    data = _checks.numbers("image", image)
    if patch is None:
        if data.ndim < 2 or 0 in data.shape:
            raise _checks.refusal("image", "have axes of space and one of measurements", data.shape)
        patch = _patch(data.shape)
    if not isinstance(patch, tuple | list):
        raise _checks.refusal("patch", "be a tuple with one size for each axis of space", patch)
    sizes = tuple(_checks.integer("patch", each, at_least=1) for each in patch)
    if data.ndim != len(sizes) + 1 or 0 in data.shape:
        raise _checks.refusal("image", f"have {len(sizes)} axes of space and one of measurements", data.shape)
    if data.shape[-1] < 2:
        raise _checks.refusal("image", "have at least 2 measurements on its last axis", data.shape)
    if any(size > length for size, length in zip(sizes, data.shape, strict=False)):
        raise _checks.refusal("patch", f"fit into the image of shape {data.shape}", sizes)
    if math.prod(sizes) < 3:
        raise _checks.refusal("patch", "have at least 3 voxels", sizes)
    valid = _checks.ALL_FINITE.kept("image", data)
    space = data.shape[:-1]
    level = None if noise is None else _checks.real("noise", noise)
    shape = () if level is None else level.shape
    if shape not in ((), space):
        raise _checks.refusal("noise", f"be a number, or have the shape {space} of space", shape)
    if mask is not None:
        mask = jnp.asarray(_checks.booleans("mask", mask))
        if mask.shape != space:
            got = _checks.Words(f"{mask.dtype.name} of shape {mask.shape}")
            raise _checks.refusal("mask", f"be booleans of the shape {space} of space (such as `mask > 0`)", got)
    data, covariance, definite = covariance_of_noise(noise_covariance, data, ())
    if level is not None and shape and mask is not None:
        level = _inside(level, mask)
    sigma, positive = noise_level(level, shape, jnp.finfo(data.dtype).dtype)
    positive = positive if positive is True else positive.all()
    result = DenoisedImage(*_image(data, sigma, mask, covariance, sizes, rule, noise is not None))
    return _checks.masked(_checks.all_kept(valid, positive, definite), result)


def _patch(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The smallest odd size with at least as many voxels as measurements, as far as the image reaches."""
    *space, k = shape
    side = next(side for side in itertools.count(3, 2) if side ** len(space) >= k)
    return tuple(min(side, length) for length in space)


@compiled
def _inside(level: Float[Array, "*space"], mask: Bool[Array, "*space"]) -> Float[Array, "*space"]:
    """A map of noise whose levels beyond the mask are the root of the mean square of those inside."""
    # Without any voxel inside, nothing depends on the level.
    mean = jnp.mean(level**2, where=mask)
    return jnp.where(mask, level, jnp.sqrt(jnp.where(mask.any(), mean, 1)))


@partial(compiled, static_argnums=(4, 5, 6))
def _image(
    image: Inexact[Array, "*space k"],
    noise: Float[Array, "..."],
    mask: Bool[Array, "*space"] | None,
    covariance: Inexact[Array, "k k"] | None,
    sizes: tuple[int, ...],
    rule: str,
    known: bool,
) -> tuple[Inexact[Array, "*space k"], Float[Array, "*space"], Float[Array, "*space"]]:
    """The denoised image, noise and rank."""
    if covariance is None:
        return denoised_image(image, noise, mask, sizes, rule, known)
    white, back = roots(covariance)
    image, level, rank = denoised_image(image @ white, noise, mask, sizes, rule, known)
    return image @ back, level, rank
