r"""Laws of gap ratios and spacings in large spectra for every β, from the exact ones at β = 0, 1, 2 and 4.

For these four β the density is known to all digits. Apart from the power law at 0 it varies smoothly with β. So a
polynomial in $t = \beta/(\beta + \tau)$, which stays bounded, is laid through the four.

*Ratio.* The smaller of the two spacings is the fraction $v = r/(1 + r)$ of their sum. It has a density
$[v (1 - v)]^\beta\,h_\beta(y^2)$ with an entire function of y = 1 - 2v, and $h_0$ is constant. The quotient
$\frac1\beta \log h_\beta$ is interpolated between β = 1, 2 and 4, so the law is exact at 0 too. For large β the levels
form a harmonic crystal, and the logarithm grows with β, as it must.

*Spacing.* The logarithm of the quotient of the density and Wigner's surmise, whose β may be 0, is interpolated between
β = 0, 1, 2 and 4. Then the law is stretched to the mean 1.

`scripts/interpolated_table.py` builds the table of both series from the laws `GapRatio` and `Spacing`.
"""

import functools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._promotion import aligned, like
from rmtjax._typing import RealScalarLike
from rmtjax.laws._core import fallbacks
from rmtjax.laws._core.base import AbstractLaw
from rmtjax.laws._core.tabulated import load
from rmtjax.special.internal import chebyshev_series, gauss_legendre, log_one_plus

# The unit τ of β. Ratios of 10⁶ spacings at β = 0.1 and 12 exclude 0.6 and 1, but decide nothing between these.
_RATIO_UNIT, _SPACING_UNIT = 0.8, 1.0
_REACH = 8.0
# Quadrature rules end where a density has fallen by this power of e.
_FALL = 37.0


def _weights(beta: Float[Array, ""], unit: float, betas: Sequence[int]) -> list[Float[Array, ""]]:
    """Lagrange's weights in β/(β + unit) for values at the given β."""
    t, nodes = beta / (beta + unit), [b / (b + unit) for b in betas]
    factors = lambda i: [(t - node) / (nodes[i] - node) for node in nodes if node != nodes[i]]
    return [math.prod(factors(i)) for i in range(len(nodes))]  # pyright: ignore[reportReturnType]


@functools.cache
def _table() -> dict[str, np.ndarray]:
    """Chebyshev coefficients at β = 1, 2 and 4: "ratio" of log h in y², "spacing" of the logarithm in s."""
    return load(Path(__file__).with_suffix(".npz"))


def _combined(weights: Sequence[Array], name: str) -> list[Float[Array, ""]]:
    """Coefficients of the weighted sum of the series of this name."""
    stacked = jnp.stack(list(weights))
    return list(stacked @ jnp.asarray(_table()[name], stacked.dtype))


class InterpolatedGapRatio(AbstractLaw):
    r"""The ratio of two consecutive spacings in the bulk of large spectra, for every β ≥ 0.

    At β = 0, 1, 2 and 4 it is exact to 1e-8: `PoissonGapRatio` and `GapRatio(beta)`. At other β it is an interpolation
    without a theorem. Estimates of β from a million ratios of `CircularBeta` at β = 0.1, 0.2, 0.5, 1.5, 3, 6 and 12
    agree with the truth within their errors of 0.2 % (1 % at 0.1). `GapRatioSurmise` gives 10 % less at 0.5, 1 % at 6.

    Args:
        beta: a finite β ≥ 0, the exponent of the level repulsion.

    Raises:
        ValueError: `beta` is outside its range.

    Example:
        >>> law = InterpolatedGapRatio(beta=1.5)
        >>> print(f"{law.pdf(0.5):.4f} {law.mean():.4f} {InterpolatedGapRatio(beta=2).mean():.5f}")
        1.3110 0.5698 0.59975

    References:
        Atas, Bogomolny, Giraud and Roux (2013), Phys. Rev. Lett. 110, 084101, for the surmise.
    """

    beta: Annotated[Float[Array, ""], _checks.NONNEGATIVE]

    def __init__(self, beta: RealScalarLike):
        self.beta = _checks.scalar("beta", beta)

    def _support(self) -> tuple[Array, Array]:
        return 0 * self.beta, 1 + 0 * self.beta

    def _breakpoints(self) -> Float[Array, " k"]:
        # Panels shrink towards 0, where the density is a power of r. For large β the mass lies near 1.
        peak = jnp.maximum(1 - 12 / jnp.sqrt(jnp.maximum(self.beta, 1)), 0)
        return jnp.sort(jnp.stack([0 * self.beta, peak, *(like(self.beta, 16.0 ** np.arange(-9, 1)) + 0 * self.beta)]))

    def _pdf_at_ends(self) -> tuple[Array | float, Array | float]:
        return jnp.where(self.beta == 0, 2, 0 * self.beta), jnp.exp(self._logpdf(1 + 0 * self.beta))

    def _log_density(self, v: Float[Array, "..."], series: list[Array]) -> Float[Array, "..."]:
        """The logarithm of the density in v, up to a constant."""
        return self.beta * (jnp.log(v) + log_one_plus(-v)) + chebyshev_series(series, 2 * (1 - 2 * v) ** 2 - 1)

    def _logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        weights = _weights(self.beta, _RATIO_UNIT, (1, 2, 4))
        each = [self.beta * weight / b for weight, b in zip(weights, (1, 2, 4), strict=True)]
        series = _combined(each, "ratio")
        # In w = (2v)^(1/4) the power at 0 is smooth enough for the rule.
        nodes, rule = (jnp.asarray(part, series[0].dtype) for part in gauss_legendre(96))
        w = (1 + nodes) / 2
        logarithms = self._log_density(w**4 / 2, series)
        # Near v = 1/2 the density is largest; without this unit the sum is 0 in single precision from β = 80 on.
        unit = logarithms[-1]
        total = jnp.sum(rule * w**3 * jnp.exp(logarithms - unit))
        return self._log_density(x / (1 + x), series) - unit - jnp.log(total) - 2 * jnp.log1p(x)

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.exp(self._logpdf(x))

    def _tails(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        return _both_tails(self, x, lambda start: 1 - start)


class InterpolatedSpacing(AbstractLaw):
    r"""The distance between neighbouring levels in the bulk of large spectra, for every β ≥ 0.

    At β = 0, 1, 2 and 4 it is exact to 1e-7: `PoissonSpacing()` and `Spacing(beta)`. Only beyond s = 8 is it less
    accurate; this tail has the probability 3e-34 at β = 2, right to 0.2 %. At other β the law is an interpolation
    without a theorem. Estimates of β from 240,000 spacings of `CircularBeta` at β = 0.5, 1.5, 3 and 6 agree with the
    truth within 0.8 %, about twice their errors.

    Convention: mean 1.

    Args:
        beta: a finite β ≥ 0, the exponent of the level repulsion.

    Raises:
        ValueError: `beta` is outside its range.

    Example:
        >>> law = InterpolatedSpacing(beta=1.5)
        >>> print(f"{law.pdf(1.0):.3f} {law.mean():.3f} {InterpolatedSpacing(beta=2).pdf(1.0):.4f}")
        0.809 1.000 0.9029

    References:
        Mehta (2004), Random Matrices, sections 6.1, 7.1 and 11.7, for the exact laws.
    """

    _highest_order = 40

    beta: Annotated[Float[Array, ""], _checks.NONNEGATIVE]

    def __init__(self, beta: RealScalarLike):
        self.beta = _checks.scalar("beta", beta)

    def _support(self) -> tuple[Array, Array]:
        return 0 * self.beta, jnp.inf + 0 * self.beta

    def _breakpoints(self) -> Float[Array, " k"]:
        # The slowest decay is e^{-s}.
        return jnp.append(0 * self.beta, like(self.beta, 800 * 2.0 ** np.arange(-16, 1)) + 0 * self.beta)

    def _pdf_at_ends(self) -> tuple[Array | float, Array | float]:
        return jnp.where(self.beta == 0, 1, 0 * self.beta), 0.0

    def _log_density(self, s: Float[Array, "..."], series: list[Array], poisson: Array, beyond: Array) -> Array:
        """The logarithm of the density up to a constant, before the stretch."""
        inside = jnp.minimum(s, _REACH)
        difference = chebyshev_series(series, 2 * inside / _REACH - 1) - beyond * inside**2
        # One term, as far out the square is infinite; it vanishes for β = 0.
        bend = jnp.minimum(poisson / math.pi - _decay(self.beta) + beyond, 0)
        square = jnp.where(bend == 0, 0, bend * s**2)
        return self.beta * jnp.log(s) + square + difference - poisson * s

    def _logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        poisson, *others = _weights(self.beta, _SPACING_UNIT, (0, 1, 2, 4))
        series = _combined(others, "spacing")
        # Far out the laws decay as e^{-β(πs/4)²}, and the surmises a little differently.
        excess = [_decay(jnp.asarray(float(b), series[0].dtype)) - b * (math.pi / 4) ** 2 for b in (1, 2, 4)]
        beyond = jnp.stack(others) @ jnp.stack(excess)
        nodes, rule = (jnp.asarray(part, series[0].dtype) for part in gauss_legendre(128))
        # The rule ends at 40 for independent levels and near 4 for large β. In s^(1/3) the power at 0 is smooth enough.
        w, end = (1 + nodes) / 2, 4 + 36 / (1 + 8 * self.beta)
        s = end * w**3
        logarithms = self._log_density(s, series, poisson, beyond)
        unit = jax.lax.stop_gradient(jnp.max(logarithms))  # as above
        masses = rule / 2 * 3 * end * w**2 * jnp.exp(logarithms - unit)
        total = jnp.sum(masses)
        stretch = jnp.sum(masses * s) / total
        return self._log_density(x * stretch, series, poisson, beyond) - unit + jnp.log(stretch / total)

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.exp(self._logpdf(x))

    def _tails(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        return _both_tails(self, x, self._reach)

    def _reach(self, start: Float[Array, "..."]) -> Float[Array, "..."]:
        """The distance from a point above the median to where the density has fallen by e^-37."""
        poisson, *_ = _weights(self.beta, _SPACING_UNIT, (0, 1, 2, 4))
        bend = self.beta * (math.pi / 4) ** 2
        slope = 2 * bend * start - self.beta / start + jnp.maximum(poisson, 0)
        return 2 * _FALL / (slope + jnp.sqrt(slope**2 + 4 * bend * _FALL))


def _both_tails(
    law: AbstractLaw, x: Float[Array, "..."], reach: Callable[[Array], Array]
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """The tail below by a rule on panels, the tail above by a rule beyond x: the smaller one keeps its digits."""
    below = fallbacks.cdf(law, x)
    lower = below < 0.5
    start = jnp.where(lower, 0.75, x)
    length = reach(start)
    nodes, rule = (jnp.asarray(part, below.dtype) for part in gauss_legendre(64))
    above = length / 2 * (law._pdf(start[..., None] + jnp.multiply(*aligned(length[..., None], 1 + nodes)) / 2) @ rule)
    return jnp.where(lower, below, 1 - above), jnp.where(lower, 1 - below, above)


def _decay(beta: Float[Array, ""]) -> Float[Array, ""]:
    """The factor of -s² in the logarithm of Wigner's surmise."""
    return jnp.exp(2 * (gammaln(beta / 2 + 1) - gammaln((beta + 1) / 2)))
