r"""Laws of gap ratios and spacings in large spectra for every β, from the exact ones at β = 0, 1, 2 and 4.

For these four the density is known to all digits. What varies with β besides the power law at 0 is smooth, so a
polynomial in $t = \beta/(\beta + \tau)$, which stays bounded, goes through the four.

*Ratio.* The fraction $v = r/(1 + r)$ that the smaller of the two spacings has of their sum has a density
$[v (1 - v)]^\beta\,h_\beta(y^2)$ with an entire function of y = 1 - 2v, and $h_0$ is constant. The quotient
$\frac1\beta \log h_\beta$ is interpolated between β = 1, 2 and 4: so it is exact at 0 too, and for large β, where the
levels are those of a harmonic crystal, the logarithm grows with β, as it must.

*Spacing.* The logarithm of the quotient by Wigner's surmise, whose β may be 0, is interpolated between β = 0, 1, 2 and
4; then the law is stretched to the mean 1.

The series are those of the laws `GapRatio` and `Spacing`, which tests hold them to.
"""

import math
from collections.abc import Sequence
from typing import Annotated

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._typing import RealScalarLike
from rmtjax.laws import AbstractLaw
from rmtjax.special import chebyshev_series, gauss_legendre

# Chebyshev coefficients of log h, up to a constant, by y² on [0, 1].
_LOG_RATIO = {
    1: (0.0, -0.32137749022, 0.00216961063, 0.0000222701, -0.00000007422, -0.0000000077),
    2: (
        0.0,
        -0.54788459633,
        0.01182310319,
        0.00008233929,
        -0.00000901275,
        -0.00000020692,
        0.00000001337,
        0.00000000055,
    ),
    4: (
        0.0,
        -0.98112971031,
        0.02763647883,
        -0.00044370681,
        -0.00002994111,
        0.00000220246,
        0.00000004587,
        -0.00000001038,
    ),
}
# Chebyshev coefficients of the logarithm of the quotient by the surmise, by s on [0, 8].
_LOG_SPACING = {
    1: (
        2.0653013237,
        3.0648460804,
        1.1519686231,
        0.065071636,
        -0.0245211219,
        0.0098129561,
        -0.0040318536,
        0.0016724837,
        -0.0006956435,
        0.000289849,
        -0.0001212511,
        0.0000510908,
        -0.0000217426,
        0.0000093567,
        -0.0000040702,
        0.0000017871,
        -0.0000007904,
        0.0000003516,
        -0.000000157,
        0.0000000704,
        -0.0000000316,
        0.0000000142,
        -0.0000000064,
    ),
    2: (
        0.7089676117,
        1.0277632066,
        0.3509281957,
        0.0025855623,
        -0.0070082849,
        0.0047323979,
        -0.002288827,
        0.0008530866,
        -0.0002154873,
        -0.0000003169,
        0.0000442479,
        -0.0000364708,
        0.0000215422,
        -0.0000109173,
        0.0000050651,
        -0.0000022284,
        0.0000009497,
        -0.0000003962,
        0.000000162,
        -0.0000000644,
        0.0000000245,
        -0.0000000087,
    ),
    4: (
        -1.6903084857,
        -2.585847573,
        -1.0744769107,
        -0.1445840956,
        0.0307455221,
        -0.002503815,
        -0.0019034863,
        0.0012491061,
        -0.0003872537,
        0.0000176491,
        0.0000565548,
        -0.0000385588,
        0.0000145573,
        -0.0000025853,
        -0.0000008717,
        0.000001035,
        -0.0000005545,
        0.0000002119,
        -0.0000000614,
        0.0000000127,
    ),
}
# The unit τ of β: ratios of 10⁶ spacings at β = 0.1 and 12 decide between 0.6 and 1, those in between do not.
_RATIO_UNIT, _SPACING_UNIT = 0.8, 1.0
_REACH = 8.0


def _weights(beta: Float[Array, ""], unit: float, betas: Sequence[int]) -> list[Float[Array, ""]]:
    """Lagrange's weights in β/(β + unit) for values at the given β."""
    t, nodes = beta / (beta + unit), [b / (b + unit) for b in betas]
    factors = lambda i: [(t - node) / (nodes[i] - node) for node in nodes if node != nodes[i]]
    return [math.prod(factors(i)) for i in range(len(nodes))]  # pyright: ignore[reportReturnType]


def _combined(weights: Sequence[Array], series: Sequence[Sequence[float]]) -> Float[Array, " k"]:
    """Coefficients of a sum of series."""
    table = np.zeros((len(series), max(map(len, series))))
    for row, coefficients in zip(table, series, strict=True):
        row[: len(coefficients)] = coefficients
    stacked = jnp.stack(list(weights))
    return stacked @ jnp.asarray(table, stacked.dtype)


class InterpolatedGapRatio(AbstractLaw):
    r"""The ratio of two consecutive spacings in the bulk of large spectra, for every β ≥ 0.

    At β = 0, 1, 2 and 4 it is exact, `PoissonGapRatio` and `GapRatio(beta)`, to 1e-8. In between and beyond it is an
    interpolation, for which no theorem stands: estimates of β from a million ratios of `CircularBeta` at β = 0.1, 0.2,
    0.5, 1.5, 3, 6 and 12 agree with the truth within their errors of 0.2 % (1 % at 0.1). The estimates by
    `GapRatioSurmise` are 10 % too small at β = 0.5 and 1 % at 6.

    Args:
        beta: β ≥ 0, the exponent of the level repulsion.

    Raises:
        ValueError: `beta` is negative or no finite real scalar.

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
        # Panels shrink towards 0, where the density is a power; for large β the mass lies near 1.
        peak = jnp.maximum(1 - 12 / jnp.sqrt(jnp.maximum(self.beta, 1)), 0)
        return jnp.sort(jnp.stack([0 * self.beta, peak, *(16.0 ** jnp.arange(-9, 1) + 0 * self.beta)]))

    def _pdf_at_ends(self) -> tuple[Array | float, Array | float]:
        return jnp.where(self.beta == 0, 2, 0 * self.beta), jnp.exp(self._logpdf(1 + 0 * self.beta))

    def _log_density(self, v: Float[Array, "..."], series: Float[Array, " k"]) -> Float[Array, "..."]:
        """The logarithm of the density in v, up to a constant."""
        return self.beta * (jnp.log(v) + jnp.log1p(-v)) + chebyshev_series(list(series), 2 * (1 - 2 * v) ** 2 - 1)

    def _logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        weights = _weights(self.beta, _RATIO_UNIT, (1, 2, 4))
        each = [self.beta * weight / b for weight, b in zip(weights, (1, 2, 4), strict=True)]
        series = _combined(each, list(_LOG_RATIO.values()))
        # In w = (2v)^(1/4) the power at 0 is smooth enough for the rule.
        nodes, rule = (jnp.asarray(part, series.dtype) for part in gauss_legendre(96))
        w = (1 + nodes) / 2
        total = jnp.sum(rule * w**3 * jnp.exp(self._log_density(w**4 / 2, series)))
        return self._log_density(x / (1 + x), series) - jnp.log(total) - 2 * jnp.log1p(x)

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.exp(self._logpdf(x))


class InterpolatedSpacing(AbstractLaw):
    r"""The distance between neighbouring levels in the bulk of large spectra, for every β ≥ 0.

    At β = 0, 1, 2 and 4 it is exact, `PoissonSpacing()` and `Spacing(beta)`, to 1e-7. In between and beyond it is an
    interpolation, for which no theorem stands: estimates of β from 240,000 spacings of `CircularBeta` at β = 0.5, 1.5,
    3 and 6 agree with the truth within 0.8 %, about twice their errors.

    Convention: mean 1.

    Args:
        beta: β ≥ 0, the exponent of the level repulsion.

    Raises:
        ValueError: `beta` is negative or no finite real scalar.

    Example:
        >>> law = InterpolatedSpacing(beta=1.5)
        >>> print(f"{law.pdf(1.0):.3f} {law.mean():.3f} {InterpolatedSpacing(beta=2).pdf(1.0):.4f}")
        0.809 1.000 0.9029

    References:
        Mehta (2004), Random Matrices, sections 6.1, 7.1 and 11.7, for the exact laws.
    """

    beta: Annotated[Float[Array, ""], _checks.NONNEGATIVE]

    def __init__(self, beta: RealScalarLike):
        self.beta = _checks.scalar("beta", beta)

    def _support(self) -> tuple[Array, Array]:
        return 0 * self.beta, jnp.inf + 0 * self.beta

    def _breakpoints(self) -> Float[Array, " k"]:
        # The slowest decay is e^{-s}.
        return jnp.append(0 * self.beta, 800 * 2.0 ** jnp.arange(-16, 1) + 0 * self.beta)

    def _pdf_at_ends(self) -> tuple[Array | float, Array | float]:
        return jnp.where(self.beta == 0, 1, 0 * self.beta), 0.0

    def _log_density(self, s: Float[Array, "..."], series: Float[Array, " k"], poisson: Array, beyond: Array) -> Array:
        """The logarithm of the density up to a constant, before the stretch."""
        inside = jnp.minimum(s, _REACH)
        difference = chebyshev_series(list(series), 2 * inside / _REACH - 1) + beyond * (s**2 - inside**2)
        return self.beta * jnp.log(s) - _decay(self.beta) * s**2 + difference + poisson * (s**2 / math.pi - s)

    def _logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        poisson, *others = _weights(self.beta, _SPACING_UNIT, (0, 1, 2, 4))
        series = _combined(others, list(_LOG_SPACING.values()))
        # Far out the laws decay as e^{-β(πs/4)²}, the surmises do not quite.
        excess = [_decay(jnp.asarray(float(b), series.dtype)) - b * (math.pi / 4) ** 2 for b in (1, 2, 4)]
        beyond = jnp.stack(others) @ jnp.stack(excess)
        nodes, rule = (jnp.asarray(part, series.dtype) for part in gauss_legendre(128))
        # Up to 40 for independent levels, and to 4 for rigid ones; in the cubic root the power at 0 is smooth enough.
        w, end = (1 + nodes) / 2, 4 + 36 / (1 + 8 * self.beta)
        s = end * w**3
        masses = rule / 2 * 3 * end * w**2 * jnp.exp(self._log_density(s, series, poisson, beyond))
        total = jnp.sum(masses)
        stretch = jnp.sum(masses * s) / total
        return self._log_density(x * stretch, series, poisson, beyond) + jnp.log(stretch / total)

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.exp(self._logpdf(x))


def _decay(beta: Float[Array, ""]) -> Float[Array, ""]:
    """The factor of -s² in the logarithm of Wigner's surmise."""
    return jnp.exp(2 * (gammaln(beta / 2 + 1) - gammaln((beta + 1) / 2)))
