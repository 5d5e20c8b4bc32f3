"""Wrong arguments of laws of spacings and of means of ratios are refused by name."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax import laws

CASES = [
    *((laws.BerryRobnik, (rho,), rf"`rho` must lie in \[0, 1\], got {rho}") for rho in (-0.1, 1.1, np.nan)),
    (laws.BerryRobnik, (1j,), "`rho` must be a real scalar"),
    *((laws.Brody, (q,), f"`q` must be finite and larger than -1, got {q}") for q in (-1.0, np.nan, np.inf)),
    (laws.Brody, (1j,), "`q` must be a real scalar"),
    *((laws.CrossoverSurmise, (e,), rf"`coupling` must lie in \[0, 1\], got {e}") for e in (-0.1, 1.1)),
    (laws.CrossoverSurmise, (1j,), "`coupling` must be a real scalar"),
    (laws.GapRatio, (3,), "`beta` must be 1, 2 or 4, got 3"),
    (laws.GapRatioSurmise, (0,), "`beta` must be positive and finite, got 0"),
    (laws.InterpolatedGapRatio, (-0.1,), "`beta` must be finite and not negative"),
    (laws.InterpolatedSpacing, (-0.1,), "`beta` must be finite and not negative"),
    (laws.PoissonCrossoverSurmise, (-0.1,), "`coupling` must be finite and not negative, got -0.1"),
    (laws.PoissonCrossoverSurmise, (np.inf,), "`coupling` must be finite"),
    (laws.PoissonCrossoverSurmise, (1j,), "`coupling` must be a real scalar"),
    *((laws.PoissonSpacing, (k,), "`order` must be an integer of at least 1, got") for k in (0, 1.5, True, None)),
    (laws.Spacing, (3,), "`beta` must be 1, 2 or 4, got 3"),
    (laws.Spacing, (4, 5), "`order` must be at most 4 for beta=4, got 5"),
    (laws.Spacing, (1, 0), "`order` must be an integer of at least 1, got 0"),
    *((laws.WignerSurmise, (b,), "`beta` must be positive and finite, got") for b in (0.0, -1.0, np.nan, np.inf)),
    *((laws.WignerSurmise, (b,), "`beta` must be a real scalar, got") for b in (1j, np.ones(2))),
    (laws.SuperposedSpacing, ([1, 2], [0.0, 1.0]), "`fractions` must be positive and sum to 1"),
    *(
        (superposed, *case)
        for superposed in (laws.SuperposedSpacing, laws.mean_superposed_gap_ratio)
        for case in (
            (([3], [1.0]), "`betas` must be 0, 1, 2 or 4, got 3"),
            (([], []), "`betas` must be a sequence of at least one number"),
            (([1, 2], [1.0]), r"`fractions` must have the shape \(2,\)"),
            (([1, 2], [0.5, 0.6]), "`fractions` must be positive and sum to 1"),
        )
    ),
    (laws.mean_gap_ratio, (3,), "`beta` must be 0, 1, 2 or 4, got 3"),
    (laws.mean_complex_spacing_ratio, (1,), "`beta` must be 0 or 2, got 1"),
    (laws.mean_complex_spacing_ratio, (2, 2), "`n` must be an integer of at least 3, got 2"),
]


@pytest.mark.parametrize(("of", "arguments", "message"), CASES)
def test_bad_input(of, arguments, message):
    with pytest.raises(ValueError, match=message):
        of(*arguments)


def test_fractions_are_static():
    with pytest.raises(ValueError, match="`fractions` must be known before"):
        jax.jit(lambda f: laws.mean_superposed_gap_ratio([1, 1], f))(jnp.ones(2) / 2)
