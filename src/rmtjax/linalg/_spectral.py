"""Scalar functions of a spectrum or of a Hermitian matrix."""

from typing import Annotated

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Complex, Float, Inexact, Real
from typing_extensions import TypeAliasType

from rmtjax import _checks
from rmtjax._automatic import on_automatic_axes
from rmtjax._promotion import aligned, common_dtype, complex_dtype, in_one_precision, like
from rmtjax._typing import ArrayLike, RealLike, RealScalarLike
from rmtjax.linalg._hermitian import eigvalsh
from rmtjax.spectra import Spectrum
from rmtjax.spectra.internal import checked_in_plane

SpectrumLike = TypeAliasType("SpectrumLike", RealLike | Spectrum)


def stieltjes(spectrum: SpectrumLike, z: ArrayLike) -> Complex[Array, "..."]:
    r"""Stieltjes (Cauchy) transform of a spectrum, the normalised trace of the resolvent.

    $G(z) = \frac1n \operatorname{tr}(z - A)^{-1} = \frac1n \sum_k \frac{1}{z - \lambda_k}$.

    Convention: $G(z) \sim 1/z$ at infinity, so $\operatorname{Im} G < 0$ in the upper half plane, and the density is
    $-\operatorname{Im} G(x + i0)/\pi$. Many texts on covariance matrices use $m(z) = -G(z)$.

    Args:
        spectrum: levels, with any batch axes first, or a `Spectrum`.
        z: points of any shape off the spectrum.

    Returns:
        Complex values of the shape of the batch followed by the shape of `z`.

    Example:
        >>> import jax.numpy as jnp
        >>> print(stieltjes(jnp.array([-1.0, 1.0]), jnp.array(2j)))
        -0.4j

    References:
        Anderson, Guionnet and Zeitouni (2010), An Introduction to Random Matrices, definition 2.4.1 (with -G).
    """
    spectra, points = checked_in_plane(spectrum, name="spectrum"), _checks.numbers("z", z)
    return spectra.masked(_stieltjes(_checks.real("spectrum", spectra.values), spectra.mask, points), points.ndim)


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
    spectrum: SpectrumLike, grid: Annotated[RealLike, "k"], width: RealScalarLike
) -> Float[Array, "*batch k"]:
    r"""Density of a spectrum at resolution `width`: every level becomes a Lorentzian of that half-width.

    $\rho_\eta(x) = -\frac1\pi \operatorname{Im} G(x + i\eta)
    = \frac1n \sum_k \frac{\eta/\pi}{(x - \lambda_k)^2 + \eta^2}$, with integral 1 over the line.

    Args:
        spectrum: levels, with any batch axes first, or a `Spectrum`.
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
    if not isinstance(spectrum, Spectrum):
        given, spectrum = spectrum, _checks.real("spectrum", spectrum)
        _checks.deviations_kept("spectrum", given, spectrum, -1)
    dtype = common_dtype(grid, width)
    return (
        -jnp.imag(stieltjes(spectrum, jax.lax.complex(grid.astype(dtype), jnp.full(grid.shape, width, dtype)))) / jnp.pi
    )


def logdet(a: Annotated[ArrayLike, "*batch n n"]) -> Float[Array, "*batch"]:
    r"""Logarithm of the absolute determinant of a Hermitian matrix, $\sum_k \log|\lambda_k|$.

    The gradient is $A^{-1}$. A singular matrix gives $-\infty$.

    Args:
        a: finite matrices, batched over leading axes; read as their Hermitian part.

    Returns:
        One number per matrix.

    Raises:
        ValueError: `a` is not square, or holds NaN or infinity.

    Example:
        >>> import jax.numpy as jnp
        >>> print(logdet(jnp.diag(jnp.array([-1.0, 1.0]))))
        0.0
    """
    magnitude = jnp.abs(eigvalsh(a))
    singular = magnitude == 0
    return jnp.sum(jnp.where(singular, -jnp.inf, jnp.log(jnp.where(singular, 1, magnitude))), axis=-1)


_EXPONENTS = _checks.Rule(lambda p: p >= 1, "be at least 1")


def schatten_norm(a: Annotated[ArrayLike, "*batch n n"], p: RealScalarLike = 2.0) -> Float[Array, "*batch"]:
    r"""Schatten norm of a Hermitian matrix, $\|A\|_p = \big(\sum_k |\lambda_k|^p\big)^{1/p}$.

    p = 1 is the trace norm, p = 2 the Frobenius norm, p = ∞ the operator norm. At A = 0 the subgradient 0 is used.

    Args:
        a: finite matrices, batched over leading axes; read as their Hermitian part.
        p: exponent in [1, ∞].

    Returns:
        One number per matrix.

    Raises:
        ValueError: `p` is below 1 or NaN; `a` is not square, or holds NaN or infinity.

    Example:
        >>> import jax.numpy as jnp
        >>> print(schatten_norm(jnp.diag(jnp.array([-3.0, 4.0]))))
        5.0

    References:
        Bhatia (1997), Matrix Analysis, section IV.2.
    """
    p = _EXPONENTS("p", _checks.scalar("p", p))
    magnitude, p = in_one_precision((jnp.abs(eigvalsh(a)), p))
    largest = jnp.max(magnitude, axis=-1)
    # In units of the largest level no power overflows; the p-th root never sees a zero matrix.
    zero = largest == 0
    unit = jnp.where(zero, 1, largest)
    ratios = jax.lax.stop_gradient(unit)[..., None]
    finite_p = jnp.where(p == jnp.inf, 2, p)
    inside = (magnitude / ratios > 0) & ~zero[..., None]
    powers = jnp.where(inside, jnp.where(inside, magnitude / ratios, 1) ** finite_p, 0)
    total = jnp.where(zero, 1, jnp.sum(powers, axis=-1))
    norm = jnp.where(p == jnp.inf, largest, ratios[..., 0] * total ** (1 / finite_p))
    return jnp.where(zero, 0, norm)
