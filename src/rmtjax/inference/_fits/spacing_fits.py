"""Laws of spacings with one parameter, fitted to unfolded levels."""

from functools import partial
from typing import Any, Literal

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax.inference._fits.maximum import Errors, Fit, Groups, grouped, most_likely, usable
from rmtjax.laws import BerryRobnik, Brody, CrossoverSurmise, PoissonCrossoverSurmise
from rmtjax.spectra.internal import LevelsLike, refuse_raw
from rmtjax.statistics import spacings

# The range of each parameter, with points that are dense enough for Newton's method from the best one.
_BRODY = (-0.9, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
_BERRY_ROBNIK = (0.0, 0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 1.0)
_FROM_POISSON = (0.0, 1e-5, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.2, 0.4, 0.7, 1.2, 2.0, 4.0, 10.0)
_FROM_GOE = (0.0, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)


def fit_brody(levels: LevelsLike) -> Fit[Brody]:
    r"""Fit Brody's law to the spacings of unfolded levels.

    Its q belongs to no Hamiltonian; it says where spacings are between independent levels (q = 0) and the GOE (q = 1).

    Args:
        levels: ascending levels of mean spacing 1, `(..., n)`, or a `Spectrum`. A batch of spectra is fitted together.

    Returns:
        A `Fit` of q, from -0.9 to 5; differentiable in the levels.

    Raises:
        ValueError: the levels are not ascending numbers, fewer than 2 spacings count, some are 0, or their mean is too
            far from 1 for unfolded levels.

    Example:
        >>> import jax.numpy as jnp
        >>> quantiles = Brody(0.4).ppf((jnp.arange(1000.0) + 0.5) / 1000)
        >>> print(f"{fit_brody(jnp.cumsum(quantiles)).value:.1f}")
        0.4

    References:
        Brody et al. (1981), Rev. Mod. Phys. 53, 385, equation 5.6.
    """
    return _fit_spacings("brody", levels)


def fit_berry_robnik(levels: LevelsLike) -> Fit[BerryRobnik]:
    r"""Fit the law of Berry and Robnik to the spacings of unfolded levels: the share ρ of regular levels.

    Args:
        levels: ascending levels of mean spacing 1, as for `fit_brody`.

    Returns:
        A `Fit` of ρ, from 0 to 1; differentiable in the levels.

    Raises:
        ValueError: `levels` are wrong, as for `fit_brody`.

    Example:
        >>> import jax.numpy as jnp
        >>> quantiles = BerryRobnik(0.3).ppf((jnp.arange(1000.0) + 0.5) / 1000)
        >>> print(f"{fit_berry_robnik(jnp.cumsum(quantiles)).value:.1f}")
        0.3

    References:
        Berry and Robnik (1984), J. Phys. A 17, 2413, section 3.
    """
    return _fit_spacings("berry-robnik", levels)


def fit_crossover(
    levels: LevelsLike, *, start: Literal["poisson", "goe"] = "poisson"
) -> Fit[PoissonCrossoverSurmise | CrossoverSurmise]:
    r"""Fit the surmise of a crossover to the spacings of unfolded levels.

    `laws.PoissonCrossoverSurmise` goes from independent levels to the GOE, with the coupling λ as in ensembles of
    Rosenzweig and Porter. `laws.CrossoverSurmise` goes from the GOE to the GUE as time-reversal symmetry is broken,
    with ε. Both are exact for 2×2 matrices only: at the ends the estimates have a bias of the order of 0.01.

    Args:
        levels: ascending levels of mean spacing 1, as for `fit_brody`.
        start: "poisson" for λ, from 0 to 10, or "goe" for ε, from 0 to 1; static.

    Returns:
        A `Fit`; differentiable in the levels.

    Raises:
        ValueError: `start` is unknown, or `levels` are wrong, as for `fit_brody`.

    Example:
        >>> import jax.numpy as jnp
        >>> quantiles = CrossoverSurmise(0.3).ppf((jnp.arange(300.0) + 0.5) / 300)
        >>> print(f"{fit_crossover(jnp.cumsum(quantiles), start='goe').value:.1f}")
        0.3

    References:
        Lenz and Haake (1991), Phys. Rev. Lett. 67, 1; Lenz and Haake (1990), Phys. Rev. Lett. 65, 2325.
    """
    _checks.choice("start", start, Literal["poisson", "goe"])
    return _fit_spacings(start, levels)


# The law, its parameter and the range, by name.
_LAWS: dict[str, tuple[Any, str, tuple[float, ...]]] = {
    "brody": (Brody, "q", _BRODY),
    "berry-robnik": (BerryRobnik, "rho", _BERRY_ROBNIK),
    "poisson": (PoissonCrossoverSurmise, "coupling", _FROM_POISSON),
    "goe": (CrossoverSurmise, "coupling", _FROM_GOE),
}


def _fit_spacings(name: str, levels: LevelsLike) -> Fit:
    refuse_raw(levels)
    groups, errors = grouped(spacings(levels))
    return _checks.masked(usable(groups, spacings=True), _most_likely(groups, name, errors))


@partial(compiled, static_argnums=(1, 2), nan_is_an_answer=True)
def _most_likely(groups: Groups, name: str, errors: Errors) -> Fit:
    law, parameter, grid = _LAWS[name]
    # The derivatives of this law are a program of 16 s, and take six times as long.
    by_differences = law is PoissonCrossoverSurmise
    return most_likely(law, groups, grid, parameter=parameter, errors=errors, by_differences=by_differences)
