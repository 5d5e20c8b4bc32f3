"""The power spectrum of levels, taken as a signal in discrete time."""

import math

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._typing import RealLike, RealScalarLike
from rmtjax.statistics._correlations.stretch import stretch
from rmtjax.statistics._correlations.waves import wave_sums
from rmtjax.statistics._levels import Spectrum, checked

_FREQUENCIES = _checks.Rule(lambda x: ((x > 0) & (x < 2 * math.pi)).all(), "lie between 0 and 2π")


def power_spectrum(
    levels: Spectrum,
    frequencies: RealLike,
    *,
    where: Bool[Array, "*batch n"] | None = None,
    period: RealScalarLike | None = None,
) -> Float[Array, "..."]:
    r"""Power spectrum of the deviations $\delta_l = x_{l + 1} - x_1 - l$ of unfolded levels from a picket fence.

    With the m spacings $s_l$ of the spectrum

    $$S(\omega) = \frac1{4 m \sin^2(\omega/2)} \Big|\sum_{l=1}^m (s_l - 1)\,e^{i\omega l}\Big|^2,$$

    which is $\frac1m |\sum_l \delta_l e^{i\omega l}|^2$ at the frequencies 2πk/m, were it not for the distance of the
    last level from m, which here does not leak into all frequencies. It is 1/ω² for small ω if levels are independent,
    and 1/ω if they repel each other, the 1/f noise of quantum chaos. The mean over spectra is
    $1/4\sin^2(\omega/2)$ for independent levels, without bias; in general the bias is of order 1/n, and none on the
    circle at the frequencies 2πk/n.

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, a `PaddedSpectrum`, or `linalg.MaskedValues`.
        frequencies: ω between 0 and 2π, of any shape; S(2π - ω) = S(ω).
        where: which of the levels count; the two sides of one that does not are taken for neighbours.
        period: the length of the circle if the levels lie on one; the spacing across its end is then the last.

    Returns:
        Values of the shape of the batch followed by that of the frequencies; NaN for less than two levels, or one on
        a circle. Differentiable in the levels.

    Raises:
        ValueError: the levels are not ascending numbers or do not fit on the circle, or a frequency is out of range.

    Example:
        >>> import jax.numpy as jnp
        >>> print(power_spectrum(jnp.array([0.0, 0.5, 2.0, 2.5]), jnp.pi, period=4.0))  # of period 2
        0.25

    References:
        Relaño, Gómez, Molina, Retamosa and Faleiro (2002), Phys. Rev. Lett. 89, 244102; Riser, Osipov and Kanzieper
        (2017), Phys. Rev. Lett. 118, 204101.
    """
    spectra = checked(levels, where)
    omega = _FREQUENCIES("frequencies", _checks.real("frequencies", frequencies))
    part = stretch(spectra, None, period)
    spectra = part.on_circle(spectra)
    powers = _powers(part.levels, part.number, part.period, omega.ravel().astype(part.levels.dtype))
    return spectra.masked(powers.reshape(*part.number.shape, *omega.shape), omega.ndim)


@compiled
def _powers(
    levels: Float[Array, "*batch n"], number: Int[Array, "*batch"], period: Array | None, omega: Float[Array, " k"]
) -> Float[Array, "*batch k"]:
    place = jnp.arange(levels.shape[-1])
    count = number - 1 if period is None else number
    inside = place < count[..., None]
    following = jnp.roll(levels, -1, axis=-1)
    if period is not None:
        following = jnp.where(place == number[..., None] - 1, levels[..., :1] + period, following)
    excess = jnp.where(inside, jnp.where(inside, following, 1) - jnp.where(inside, levels, 0) - 1, 0)
    sums = wave_sums(place.astype(omega.dtype), excess, omega / (2 * jnp.pi))
    defined = (count > 0)[..., None]
    divisor = jnp.where(defined, count[..., None], 1) * 4 * jnp.sin(omega / 2) ** 2
    return jnp.where(defined, (sums.real**2 + sums.imag**2) / divisor, jnp.nan)
