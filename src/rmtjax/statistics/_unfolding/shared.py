"""Whether unfolded spectra share one density, by the long waves of the numbers of their levels."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._promotion import like
from rmtjax._typing import RealScalarLike
from rmtjax.special.internal import log_beta_tails
from rmtjax.spectra.internal import Levels, LevelsLike, unit_density

# How many of the longest waves are tested, and how many are looked at. Wave k is compared with k + 1, ..., 2k + 4.
_TESTED = 8
_WAVES = 2 * (_TESTED - 1) + 5
# Smaller p-values are no better known than the assumption of independent levels.
_CERTAIN = 1e-6
# The usual level of the test, which the record does not know.
_LEVEL = 0.01
_MUST = f"be spectra of at least {_WAVES + 1} levels each"
_ENOUGH = _checks.Rule(lambda fewest: fewest > _WAVES, _MUST)


class SharedDensity(AbstractModule):
    r"""How much the densities of spectra differ, as `shared_density` finds it. Its text is the advice in words.

    Args:
        degree: the degree of the polynomial by which each spectrum should be unfolded by itself, after the pool; 0 if
            the spectra share one density, as far as they show.
        spread: the standard deviation over spectra of their mean spacings. It adds $(\text{spread} \cdot L)^2$ to the
            number variance.
        variances: of the amplitudes of the longest waves, the longest first. They are 1 for independent levels, and for
            levels that repel each other $2\tau/\beta$ at $\tau = k/2K$, for wave k of a spectrum of K levels.
        p_values: the probability that a wave of independent levels stands out as much among the shorter ones, times the
            number of waves that were tested.

    Example:
        >>> import jax.numpy as jnp
        >>> print(SharedDensity(jnp.array(1), jnp.array(0.04), jnp.array([0.5, 0.1]), jnp.array([1e-9, 1.0])))
        The mean spacings of the spectra differ by 4.0 % (p < 1e-06): unfold each by itself after the pool, of degree 1.
    """

    degree: Int[Array, ""]
    spread: Float[Array, ""]
    variances: Float[Array, " k"]
    p_values: Float[Array, " k"]

    def __str__(self) -> str:
        if isinstance(self.degree, Tracer) or self.degree.ndim:
            return repr(self)
        degree, p_values = int(self.degree), np.asarray(self.p_values)
        if degree < 0:
            return "No answer: the levels were refused."
        if degree == 0:
            return f"No difference between the densities is seen ({_in_words(p_values.min())})."
        # The degree is the number of waves up to the last that differs; the mean spacing has all waves up to that.
        wave = degree - 1
        differs = f"Wave {wave} of the densities differs from spectrum to spectrum ({_in_words(p_values[wave])})"
        if wave == 0 or p_values[0] <= max(p_values[wave], _LEVEL):
            spread = f"{100 * float(self.spread):.1f} % ({_in_words(p_values[0])})"
            spacings = f"mean spacings of the spectra differ by {spread}"
            differs = f"The {spacings}" if wave == 0 else f"{differs}, and the {spacings}"
        return f"{differs}: unfold each by itself after the pool, of degree {degree}."


def _in_words(p_value: float) -> str:
    return f"p = {p_value:.1g}" if p_value > _CERTAIN else f"p < {_CERTAIN:.0e}"


def shared_density(levels: LevelsLike, *, alpha: RealScalarLike = 0.01) -> SharedDensity:
    r"""Whether the spectra of a pool share one density, or each has a mean, a width and a shape of its own.

    The amplitude of wave k in a spectrum of K + 1 levels with the spacings s is

    $$a_k = \sqrt{\frac{2 - \delta_{k0}}K} \sum_{i = 1}^K (s_i - 1) \cos\frac{\pi k (i - \tfrac12)}K .$$

    Over spectra of one density its variance is a spectral form factor at $\tau = k/2K$. It is 1 for independent levels
    and rises with k for levels that repel each other. It never decreases with k. So a long wave that varies more than
    shorter ones is a difference between the densities, whatever the symmetry class and whether the levels are chaotic.
    Wave 0 is the mean spacing, which varies with the width of the spectra; wave 1 is a slope of the density, which
    varies with their mean, and so on. The variance of each of the first 8 waves is compared with the mean over the
    waves k + 1, …, 2k + 4 by the F distribution. The mean of each wave over the spectra, an error of the pooled density
    itself, is taken away.

    A polynomial of degree d, fitted to each spectrum alone, takes away the waves below d, those of the differences and
    those of the ensemble. Of the number variance of K levels it takes

    $$\frac{(dL)^2}{2 \beta K^2} \text{ for levels that repel each other}, \qquad
    \frac{dL^2}{K} \text{ for independent ones}, \qquad dL \ll K .$$

    So take the smallest degree, and stay below $L = K/7d$ if one percent matters.

    Convention: what varies from spectrum to spectrum on all scales above some energy, as in a system that needs that
    energy to become ergodic (Thouless), is a difference of the densities, too. The levels cannot tell one from the
    other.

    Args:
        levels: unfolded levels of m ≥ 2 independent spectra, of at least 20 levels each, `(m, n)`, or a `Spectrum`;
            the numbers of levels may differ.
        alpha: the p-value below which a wave is a difference, in (0, 1). Independent levels of one density get a degree
            above 0 with this probability (of 1 %, 0.5 % were found for uniform levels, and up to 1.4 % for 20 levels
            with exponential spacings), levels that repel each other practically never.

    Returns:
        `SharedDensity`, with the number of waves up to the last that differs as its `degree`.

    Raises:
        ValueError: the levels are not unfolded, or an argument is outside its range.

    Example:
        >>> import jax, rmtjax as rmt
        >>> goe = jax.vmap(rmt.GOE(60).eigenvalues)(jax.random.split(jax.random.key(0), 100))
        >>> print(shared_density(rmt.statistics.unfold_polynomial(goe, 5, drop=0.2)))
        No difference between the densities is seen (p = 1).
        >>> scaled = goe * jax.random.uniform(jax.random.key(1), (100, 1), minval=0.9, maxval=1.1)
        >>> print(shared_density(rmt.statistics.unfold_polynomial(scaled, 5, drop=0.2)).degree)
        1

    References:
        Relaño, Gómez, Molina, Retamosa and Faleiro (2002), Phys. Rev. Lett. 89, 244102, for the waves; Flores, Horoi,
        Müller and Seligman (2001), Phys. Rev. E 63, 026204, for spectra of differing densities.
    """
    spectra = unit_density(levels)
    if spectra.values.ndim != 2 or len(spectra.values) < 2:
        raise _checks.refusal("levels", "be at least two spectra, (m, n)", spectra.values.shape)
    level = _checks.PROPER_FRACTION("alpha", _checks.scalar("alpha", alpha))
    if spectra.values.shape[1] <= _WAVES:
        raise _checks.refusal("levels", _MUST, spectra.values.shape)
    found, fewest = _differences(spectra, level)
    enough = _ENOUGH.kept("levels", fewest)
    valid = spectra.valid if spectra.valid is True else spectra.valid.all()
    return _checks.masked(_checks.all_kept(valid, enough), found)


@compiled
def _differences(spectra: Levels, alpha: Float[Array, ""]) -> tuple[SharedDensity, Int[Array, ""]]:
    """The differences, and the smallest number of levels."""
    levels, number = spectra.compact, spectra.number
    place = jnp.arange(levels.shape[1] - 1, dtype=levels.dtype)[None] + 0.5
    inside = place < number - 1
    last = jnp.where(inside, levels[:, :-1], 0)
    excess = jnp.where(inside, jnp.where(inside, levels[:, 1:], 1) - last - 1, 0)
    spacings = jnp.maximum(number - 1, 1)
    waves = jax.lax.map(partial(_amplitude, excess, place / spacings), jnp.arange(_WAVES, dtype=levels.dtype))
    waves = waves * jnp.where(np.arange(_WAVES) == 0, 1, 2**0.5).astype(levels.dtype)[:, None] / jnp.sqrt(spacings).T
    freedom = waves.shape[1] - 1
    spread = lambda values: jnp.sum((values - jnp.mean(values, axis=-1, keepdims=True)) ** 2, axis=-1) / freedom
    rounding = jnp.finfo(levels.dtype).eps * jnp.max(spacings + jnp.sum(jnp.abs(excess), axis=-1, keepdims=True))
    variances = spread(waves)
    variances = jnp.where(variances > (8 * rounding) ** 2, variances, 0)
    total = jnp.pad(jnp.cumsum(variances), (1, 0))
    k = np.arange(_TESTED)
    long, shorter = variances[:_TESTED], total[2 * k + 5] - total[k + 1]
    p_values = jnp.minimum(_TESTED * _upper_tail(freedom, long, shorter, like(long, k + 4)), 1)
    differs = p_values < like(p_values, alpha)
    degree = jnp.max(jnp.where(differs, np.arange(_TESTED) + 1, 0))
    # The amplitude of wave 0 is the mean of the excess times the square root of the number of spacings.
    mean_spacing = waves[:1] / jnp.sqrt(spacings).T
    return SharedDensity(degree, jnp.sqrt(spread(mean_spacing))[0], variances, p_values), jnp.min(number).astype(int)


def _amplitude(excess: Float[Array, "m n"], place: Float[Array, "m n"], k: Float[Array, ""]) -> Float[Array, " m"]:
    return jnp.sum(excess * jnp.cos(jnp.pi * k * place), axis=-1)


def _upper_tail(
    freedom: int, long: Float[Array, " k"], shorter: Float[Array, " k"], number: Float[Array, " k"]
) -> Float[Array, " k"]:
    """The probability that one variance is as large beside the sum of a number of others, all of them equal."""
    some = long > 0
    both = some & (shorter > 0)
    long, shorter = jnp.where(both, long, 0.5), jnp.where(both, shorter, 0.5)
    y, z = long / (long + shorter), shorter / (long + shorter)
    _, above = log_beta_tails(jnp.full_like(y, freedom / 2), number * freedom / 2, y, z, jnp.log(y))
    return jnp.where(both, jnp.exp(above), like(y, ~some))
