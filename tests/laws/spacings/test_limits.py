"""Laws that interpolate between two others are these at the ends of their range."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.laws import BerryRobnik, Brody, CrossoverSurmise, PoissonCrossoverSurmise, PoissonSpacing, WignerSurmise

INDEPENDENT, GOE, GUE = PoissonSpacing(), WignerSurmise(1), WignerSurmise(2)


@pytest.mark.float32
@pytest.mark.parametrize(
    ("of", "limits"),
    [
        (BerryRobnik, {1.0: INDEPENDENT, 0.0: GOE}),
        (Brody, {0.0: INDEPENDENT, 1.0: GOE}),
        (PoissonCrossoverSurmise, {0.0: INDEPENDENT, 1e12: GOE}),
        (CrossoverSurmise, {0.0: GOE, 1.0: GUE}),
    ],
)
def test_both_ends(of, limits):
    s, eps = np.array([0.01, 0.2, 1.0, 3.0]), float(jnp.finfo(jnp.result_type(float)).eps)
    for parameter, limit in limits.items():
        law = of(parameter)
        for method in ("pdf", "logcdf", "logsf"):
            np.testing.assert_allclose(getattr(law, method)(s), getattr(limit, method)(s), rtol=100 * eps)
        np.testing.assert_allclose(law.var(), limit.var(), rtol=100 * eps)


@pytest.mark.float32
def test_density_at_zero():
    at_zero = lambda of, *parameters: jax.vmap(lambda value: of(value).pdf(0.0))(jnp.array(parameters))
    np.testing.assert_array_equal(at_zero(BerryRobnik, 0.0, 0.5, 1.0), [0, 0.75, 1])
    np.testing.assert_array_equal(at_zero(Brody, 0.0, 0.5), [1, 0])
    np.testing.assert_array_equal(at_zero(PoissonCrossoverSurmise, 0.0, 1e-3), [1, 0])
