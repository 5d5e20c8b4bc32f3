r"""The Dyson index of a spectrum.

Whole spectra: the levels of `GaussianBeta(n, beta, scale)` have the density
$\propto \prod_{i<j} |x_i - x_j|^\beta e^{-\beta n \sum x_i^2/4s^2}$, whose constant is Mehta's integral. With
$M = n + \beta n (n - 1)/2$ the likelihood is largest at $s^2 = \beta n B/2M$, $B = \sum x_i^2$, for every β.
"""

from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._typing import RealScalarLike, overload
from rmtjax._units import unit_of
from rmtjax.ensembles import GaussianBeta
from rmtjax.inference._fits.maximum import Errors, Fit, Groups, grouped, maximum, most_likely, usable
from rmtjax.inference._fits.profile import Profile
from rmtjax.laws import InterpolatedGapRatio, InterpolatedSpacing
from rmtjax.special.internal import log_mehta, log_vandermonde
from rmtjax.spectra import Line, Spectrum
from rmtjax.spectra.internal import LevelsLike, refuse_raw
from rmtjax.statistics import gap_ratios, spacings

_BETAS = (0.0, 0.1, 0.3, 0.7, 1.4, 2.5, 4.0, 7.0, 12.0, 25.0, 50.0, 100.0)
# At β = 0 whole spectra have no density.
_POSITIVE_BETAS = (1e-3, *_BETAS[1:], 200.0, 400.0, 1000.0)

By = Literal["ratios", "spacings", "levels"]


@overload
def fit_beta(
    levels: LevelsLike, *, by: Literal["ratios", "spacings"] = "ratios", scale: RealScalarLike | None = None
) -> Fit[InterpolatedGapRatio | InterpolatedSpacing]: ...
@overload
def fit_beta(
    levels: LevelsLike, *, by: Literal["levels"], scale: RealScalarLike | None = None
) -> Fit[GaussianBeta]: ...
def fit_beta(levels: LevelsLike, *, by: By = "ratios", scale: RealScalarLike | None = None) -> Fit:
    r"""The β for which the levels of a spectrum are most likely.

    There are three likelihoods:

    - "ratios" of consecutive spacings, which need no unfolding, by `laws.InterpolatedGapRatio`;
    - "spacings" of unfolded levels, by `laws.InterpolatedSpacing`;
    - "levels" of whole spectra of `GaussianBeta(n, beta, scale)`, by their joint density. This is the sharpest, with an
      exact error, but true for this ensemble only.

    The laws of ratios and spacings are exact for β = 0, 1, 2 and 4 in the bulk of large spectra, and interpolated in
    between; their pages give what is known of the error. (By the surmise, which is exact for three levels, the GOE
    would have β = 0.957.)

    Neighbouring ratios are correlated. The error therefore comes from the spread of the slopes of the likelihood over
    spectra, or over blocks of neighbours if there are fewer than 20 spectra. By "levels" it comes from the information,
    and is exact for many levels.

    Args:
        levels: ascending levels, `(..., n)`, or a `Spectrum`. All spectra of a batch are fitted together. Leave the
            edges of the spectrum out, as `middle` does; but by "levels" pass all levels of each spectrum.
        by: "ratios", "spacings" or "levels"; static.
        scale: scale of the ensemble, by "levels"; None if it is to be fitted.

    Returns:
        A `Fit` of β, from 0 to 100; differentiable in the levels.

    Raises:
        ValueError: `by` is unknown.
        ValueError: `levels` are not ascending numbers, or fewer than 2 ratios or spacings count, or some are 0.
        ValueError: `levels` have spacings whose mean is too far from 1 for unfolded levels.
        ValueError: `scale` is not positive, or is given without whole spectra.

    Example:
        >>> import jax, rmtjax as rmt
        >>> levels = rmt.simulate(rmt.GOE(100).eigenvalues, jax.random.key(0), 40)
        >>> fit = fit_beta(levels[:, 20:-20])
        >>> print(f"1 ± {fit.standard_error:.1f}:", abs(fit.value - 1) < 4 * fit.standard_error)
        1 ± 0.1: True

    References:
        Atas, Bogomolny, Giraud and Roux (2013), Phys. Rev. Lett. 110, 084101; Dumitriu and Edelman (2002), J. Math.
        Phys. 43, 5830, for the ensemble of every β.
    """
    _checks.choice("by", by, By)
    if by == "levels":
        return _fit_levels(levels, scale)
    if scale is not None:
        raise _checks.refusal("scale", 'be None unless `by` is "levels"', scale)
    if by == "spacings":
        refuse_raw(levels)
    groups, errors = grouped(gap_ratios(levels) if by == "ratios" else spacings(levels))
    return _checks.masked(usable(groups, spacings=by == "spacings"), _most_likely(groups, by, errors))


@partial(compiled, static_argnums=(1, 2), nan_is_an_answer=True)
def _most_likely(groups: Groups, by: By, errors: Errors) -> Fit:
    law = InterpolatedGapRatio if by == "ratios" else InterpolatedSpacing
    return most_likely(law, groups, _BETAS, parameter="beta", errors=errors)


_ASCENDING = _checks.Rule(
    lambda levels: (levels[..., 1:] > levels[..., :-1]).all() & (abs(levels) < jnp.inf).all(),
    "be finite and strictly ascending",
)


_WHOLE = _checks.Rule(
    lambda mask: mask.all(),
    'be whole spectra where `by` is "levels"',
    lambda mask: f"{(~mask).sum()} of {mask.size} levels that do not count",
)


def _fit_levels(levels: Any, scale: RealScalarLike | None) -> Fit:
    whole = True
    if isinstance(levels, Spectrum):
        if not isinstance(levels.domain, Line):
            raise _checks.refusal("levels", 'be whole spectra on the line where `by` is "levels"', levels.domain)
        whole, levels = _WHOLE.kept("levels", levels.mask), levels.values
    array = _checks.real("levels", levels)
    if array.ndim == 0 or array.shape[-1] < 2 or array.size == 0:
        raise _checks.refusal("levels", "have at least 2 levels on the last axis", array.shape)
    valid = _checks.all_kept(whole, _ASCENDING.kept("levels", array))
    scale = None if scale is None else jnp.asarray(_checks.positive("scale", scale), array.dtype)
    return _checks.masked(valid, _most_likely_levels(array.reshape(-1, array.shape[-1]), scale))


@partial(compiled, nan_is_an_answer=True)
def _most_likely_levels(levels: Float[Array, "m n"], scale: Float[Array, ""] | None) -> Fit:
    spectra, n = levels.shape
    # In a unit near the largest level no square leaves the range. Scales go as the unit, densities as its power -n.
    unit = unit_of(jnp.max(jnp.abs(levels)))
    levels, scale = levels / unit, None if scale is None else scale / unit
    # The likelihood depends on the levels by two sums, taken as means over spectra.
    sums = jnp.mean(jax.vmap(log_vandermonde)(levels)), jnp.mean(jnp.sum(levels**2, axis=-1))
    profile = Profile(_OfLevels(n, spectra), (*sums, scale), _POSITIVE_BETAS, grouped=False)
    found = maximum(profile)
    fitted = _log_density(found.place, *sums, n, scale)[1]
    return Fit(
        value=found.place,
        standard_error=jnp.where(found.at_boundary, jnp.nan, jnp.sqrt(-1 / found.curvature)),
        log_likelihood=found.total - levels.size * jnp.log(unit),
        law=GaussianBeta(n, found.place, fitted * unit),
        at_boundary=found.at_boundary,
        number=jnp.asarray(levels.size),
        parameter="beta",
        errors="information",
        groups=spectra,
        profile=profile,
    )


class _OfLevels(NamedTuple):
    """The log-likelihood of β for some spectra with n levels, as one group of one value."""

    n: int
    spectra: int

    def __call__(self, beta: Float[Array, ""], data: tuple) -> Float[Array, "1 1"]:
        distances, squares, scale = data
        return self.spectra * _log_density(beta, distances, squares, self.n, scale)[0][None, None]


def _log_density(
    beta: Float[Array, ""], distances: Array, squares: Array, n: int, scale: Float[Array, ""] | None
) -> tuple[Array, Array]:
    """The logarithm of the joint density, see `GaussianBeta.joint_logpdf`, and the scale."""
    powers = n + beta * n * (n - 1) / 2
    scale = jnp.sqrt(beta * n * squares / (2 * powers)) if scale is None else scale
    unit = scale * jnp.sqrt(2 / (beta * n))
    logpdf = beta * distances - powers * jnp.log(unit) - squares / (2 * unit**2) - log_mehta(n, beta)
    return logpdf, scale
