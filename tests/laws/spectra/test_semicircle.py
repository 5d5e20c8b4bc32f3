import json
import math
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.laws import Semicircle
from tests.cases import every_dtype
from tests.laws.core.methods import METHODS, check_ulps

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "semicircle.json").read_text())


@every_dtype
@pytest.mark.parametrize("radius", [2.0, 0.75])
def test_a_few_ulp_of_relative_error_up_to_the_edges(radius, dtype):
    rows = [row for row in GOLDEN["points"] if row["radius"] == radius]
    expected = {method: [float(row[method]) for row in rows] for method in METHODS}
    check_ulps(Semicircle(radius), [row["x"] for row in rows], expected, dtype, ulps=8)


@every_dtype
@pytest.mark.parametrize("radius", [2.0, 0.75])
def test_quantile_to_a_few_ulp_of_the_radius(radius, dtype):
    rows = [row for row in GOLDEN["quantiles"] if row["radius"] == radius]
    p = jnp.asarray([row["p"] for row in rows], dtype)
    got = Semicircle(radius).ppf(p)
    assert got.dtype == dtype
    # In the bulk the rounding of p alone moves the quantile by eps/(2 f(x)) < eps·radius.
    expected = [float(row["ppf"]) for row in rows]
    np.testing.assert_allclose(got, expected, rtol=0, atol=6 * radius * np.finfo(dtype).eps)


def test_the_golden_table_is_that_of_the_generator():
    assert GOLDEN["generator"] == "tests/golden/semicircle.py"
    assert {row["radius"] for row in GOLDEN["points"]} == {2.0, 0.75}
    for row in GOLDEN["points"]:
        assert float(row["cdf"]) + float(row["sf"]) == pytest.approx(1, abs=1e-15)
        assert math.exp(float(row["logpdf"])) == pytest.approx(float(row["pdf"]), rel=1e-14)


@pytest.mark.parametrize("radius", [0.5, 2.0])
def test_moments_are_catalan_numbers(radius):
    catalan = [1, 1, 2, 5, 14, 42, 132]
    law = Semicircle(radius)
    for k, number in enumerate(catalan):
        np.testing.assert_allclose(law.moment(2 * k), number * (radius / 2) ** (2 * k), rtol=1e-14)
        assert law.moment(2 * k + 1) == 0
    np.testing.assert_allclose(Semicircle(1.0).moment(1500), (1 - 1 / 6000) / np.sqrt(750 * np.pi) / 751, rtol=1e-7)
    assert law.mean() == 0
    np.testing.assert_allclose(law.var(), radius**2 / 4, rtol=1e-15)
    assert law.support() == (-radius, radius)


@pytest.mark.parametrize("radius", [0.7, 2.0])
@pytest.mark.parametrize("fraction", [-0.9, 0.0, 0.3])
def test_derivatives_in_closed_form(radius, fraction):
    x = fraction * radius
    density = lambda r, x: Semicircle(r).pdf(x)
    root = np.sqrt(radius**2 - x**2)
    by_x = -2 * x / (np.pi * radius**2 * root)
    by_radius = 2 / (np.pi * radius * root) - 4 * root / (np.pi * radius**3)
    np.testing.assert_allclose(jax.grad(density, (0, 1))(radius, x), (by_radius, by_x), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(jax.hessian(density, 1)(radius, x), -2 / (np.pi * root**3), rtol=1e-12)
    # A scale family: F(x; R) = F(x/R; 1), Q(p; R) = R Q(p; 1).
    distribution = lambda r: Semicircle(r).cdf(x)
    np.testing.assert_allclose(jax.grad(distribution)(radius), -x / radius * density(radius, x), rtol=1e-12, atol=1e-15)
    p = Semicircle(radius).cdf(x)
    np.testing.assert_allclose(jax.grad(lambda r: Semicircle(r).ppf(p))(radius), fraction, rtol=1e-11, atol=1e-13)


@pytest.mark.float32
@pytest.mark.parametrize("radius", [0, -1.0, np.nan, np.inf, np.array([1.0, 2.0]), 1j])
def test_a_bad_radius_is_refused(radius):
    with pytest.raises(ValueError, match=r"`radius` must be (positive and finite|a real scalar), got"):
        Semicircle(radius)
