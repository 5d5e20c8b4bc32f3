"""Functions of the levels at a point of the complex plane: the resolvent, and the density at finite resolution."""

from typing import Annotated

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Complex, Float, Inexact, Real

from rmtjax import _checks
from rmtjax._automatic import on_automatic_axes
from rmtjax._promotion import aligned, common_dtype, complex_dtype, like
from rmtjax._typing import ArrayLike, RealLike, RealScalarLike
from rmtjax.spectra import Spectrum
from rmtjax.spectra.internal import LevelsLike, checked_in_plane


def stieltjes(levels: LevelsLike, z: ArrayLike) -> Complex[Array, "..."]:
    r"""Stieltjes (Cauchy) transform of a spectrum, the normalised trace of the resolvent.

    $G(z) = \frac1n \operatorname{tr}(z - A)^{-1} = \frac1n \sum_k \frac{1}{z - \lambda_k}$.

    Convention: $G(z) \sim 1/z$ at infinity, so $\operatorname{Im} G < 0$ in the upper half plane, and the density is
    $-\operatorname{Im} G(x + i0)/\pi$. Many texts on covariance matrices use $m(z) = -G(z)$.

    Args:
        levels: in any order, with any batch axes first, or a `Spectrum`.
        z: points of any shape off the spectrum.

    Returns:
        Complex values of the shape of the batch followed by the shape of `z`. A point less than the smallest normal
        number from a level (2.2e-308; float32: 1.2e-38), which counts as 0, is on the spectrum and has inf and NaN.

    Example:
        >>> import jax.numpy as jnp
        >>> print(stieltjes(jnp.array([-1.0, 1.0]), jnp.array(2j)))
        -0.4j

    References:
        Anderson, Guionnet and Zeitouni (2010), An Introduction to Random Matrices, definition 2.4.1 (with -G).
    """
    spectra, points = checked_in_plane(levels), _checks.numbers("z", z)
    return spectra.masked(_stieltjes(_checks.real("levels", spectra.values), spectra.mask, points), points.ndim)


@on_automatic_axes
def _stieltjes(
    values: Real[Array, "*batch n"], mask: Bool[Array, "*batch n"], z: Inexact[Array, "..."]
) -> Complex[Array, "..."]:
    z = z.astype(complex_dtype(common_dtype(z, values)))
    shape = (*values.shape[:-1], *(1,) * z.ndim, values.shape[-1])
    mask = mask.reshape(shape)
    points, levels = aligned(z[..., None], values.reshape(shape))
    terms = jnp.where(mask, 1 / jnp.where(mask, points - levels, 1), 0)
    return jnp.sum(terms, axis=-1) / like(z, jnp.sum(mask, axis=-1))


def spectral_density(
    levels: LevelsLike, grid: Annotated[RealLike, "k"], width: RealScalarLike
) -> Float[Array, "*batch k"]:
    r"""Density of a spectrum at resolution `width`: every level becomes a Lorentzian of that half-width.

    $\rho_\eta(x) = -\frac1\pi \operatorname{Im} G(x + i\eta)
    = \frac1n \sum_k \frac{\eta/\pi}{(x - \lambda_k)^2 + \eta^2}$, with integral 1 over the line.

    Args:
        levels: in any order, with any batch axes first, or a `Spectrum`.
        grid: points at which the density is evaluated.
        width: the half-width at half-maximum η > 0, in the units of the levels.

    Returns:
        Densities of the shape of the batch followed by the grid.

    Raises:
        ValueError: `width` is not positive and finite; or a spectrum of NumPy in double precision loses how it varies
            where JAX's default is single precision.

    Example:
        >>> import jax.numpy as jnp
        >>> print(spectral_density(jnp.array([0.0]), jnp.array([0.0]), 1.0) * jnp.pi)
        [1.]

    References:
        Erdős and Yau (2017), A Dynamical Approach to Random Matrix Theory, equation 6.8.
    """
    grid, width = _checks.real("grid", grid), _checks.positive("width", width)
    if not isinstance(levels, Spectrum):
        given, levels = levels, _checks.real("levels", levels)
        _checks.deviations_kept("levels", given, levels, -1)
    dtype = common_dtype(grid, width)
    return (
        -jnp.imag(stieltjes(levels, jax.lax.complex(grid.astype(dtype), jnp.full(grid.shape, width, dtype)))) / jnp.pi
    )
