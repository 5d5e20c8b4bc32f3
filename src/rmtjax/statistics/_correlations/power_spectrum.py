"""The power spectrum of levels, taken as a signal in discrete time."""

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._promotion import like
from rmtjax._typing import RealLike
from rmtjax.spectra import Circle
from rmtjax.spectra.internal import Levels, LevelsLike, unit_density
from rmtjax.statistics._correlations.stretch import stretch
from rmtjax.statistics._correlations.waves import halves, product, wave_sums

_FREQUENCIES = _checks.Rule(lambda x: ((x > 0) & (x < 2 * math.pi)).all(), "lie between 0 and 2π")


def power_spectrum(levels: LevelsLike, frequencies: RealLike) -> Float[Array, "..."]:
    r"""Power spectrum of the deviations $\delta_l = x_{l + 1} - x_1 - l$ of unfolded levels from a picket fence.

    With the m spacings $s_l$ of the spectrum

    $$S(\omega) = \frac1{4 m \sin^2(\omega/2)} \Big|\sum_{l=1}^m (s_l - 1)\,e^{i\omega l}\Big|^2 .$$

    At the frequencies 2πk/m this is $\frac1m |\sum_l \delta_l e^{i\omega l}|^2$, except that the deviation of the last
    level does not leak into all frequencies. For small ω it is 1/ω² if levels are independent, and 1/ω if they repel
    each other: the 1/f noise of quantum chaos.

    The mean over spectra is exactly $1/4\sin^2(\omega/2)$ for the first n levels of a Poisson process, whose spacings
    are independent. For n independent levels between fixed ends it is $\frac{n^2}{(n + 1)(n + 2)}$ times this at
    ω = 2πk/m, and on a circle $\frac n{n + 1}$ times this at ω = 2πk/n, as in `laws.circular_power_spectrum`. In
    general the bias is of order 1/n.

    Args:
        levels: ascending unfolded levels, of mean spacing 1, `(..., n)`, or a `Spectrum`.
        frequencies: ω between 0 and 2π, of any shape; S(2π - ω) = S(ω).

    Returns:
        Values of the shape of the batch followed by that of the frequencies; NaN for fewer than two levels, or for
        none on a circle. Differentiable in the levels.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax.numpy as jnp, rmtjax as rmt
        >>> alternating = rmt.Spectrum([0.0, 0.5, 2.0, 2.5], domain=rmt.Circle(4), unfolded=True)
        >>> print(f"{power_spectrum(alternating, jnp.pi):.4f}")
        0.2500

    References:
        Relaño, Gómez, Molina, Retamosa and Faleiro (2002), Phys. Rev. Lett. 89, 244102; Riser, Osipov and Kanzieper
        (2017), Phys. Rev. Lett. 118, 204101.
    """
    spectra = unit_density(levels)
    omega = _checks.real("frequencies", frequencies)
    valid = _FREQUENCIES.kept("frequencies", omega)
    powers = _powers(spectra, omega)
    return _checks.masked(valid, spectra.masked(powers, omega.ndim))


@compiled
def _powers(spectra: Levels, frequencies: Float[Array, "..."]) -> Float[Array, "*batch k"]:
    part, omega = stretch(spectra), frequencies.ravel().astype(spectra.values.dtype)
    levels, number, place = part.levels, part.number[:, None], jnp.arange(part.levels.shape[1], dtype=part.number.dtype)
    on_circle = isinstance(spectra.domain, Circle)
    count = number if on_circle else number - 1
    following = jnp.roll(levels, -1, axis=1)
    if on_circle:
        following = jnp.where(place[None] == number - 1, part.end[:, None], following)
    inside = place[None] < count
    excess = jnp.where(inside, jnp.where(inside, following, 1) - jnp.where(inside, levels, 0) - 1, 0)
    sums = wave_sums(place.astype(omega.dtype), excess, *_in_turns(omega))
    divisor = like(omega, jnp.where(count > 0, count, 1)) * (4 * jnp.sin(omega / 2) ** 2)[None]
    powers = jnp.where(count > 0, (sums.real**2 + sums.imag**2) / divisor, jnp.nan)
    return powers.reshape(*spectra.values.shape[:-1], *frequencies.shape)


def _in_turns(omega: Float[Array, " k"]) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
    """ω/2π, and its rounding error."""
    tau = omega / (2 * math.pi)
    whole = jnp.asarray(2 * math.pi, omega.dtype)
    rounded, error = product(halves(tau), halves(whole))
    # The rounding error of 2π in single precision; in double precision it is 0.
    rest = 2 * math.pi - float(np.asarray(2 * math.pi, omega.dtype))
    return tau, ((omega - rounded) - error - rest * tau) / (2 * math.pi)
