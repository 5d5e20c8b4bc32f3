"""Shared code for tests of laws on the positive axis: both tails and their logarithms against mpmath."""

import mpmath
import numpy as np
import pytest

from tests.laws.core.methods import METHODS, methods_at

DTYPES = [pytest.param(np.float32, marks=pytest.mark.float32), np.float64]


def both_tails(law, exact, parameters, x, ulp=40):
    """A test of laws with these parameters, for which `exact` gives the density and both tails as mpmath functions."""

    @pytest.mark.slow
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("parameter", parameters)
    def test_both_tails_against_mpmath(parameter, dtype):
        with mpmath.workdps(60):
            functions = exact(parameter)
        check_against(law(parameter), *functions, x, dtype, ulp(parameter) if callable(ulp) else ulp)

    return test_both_tails_against_mpmath


def check_against(law, density, lower, upper, x, dtype, ulp):
    """Checks the methods of a law at points x of float32, and the quantile, against mpmath functions with 60 digits."""
    x = np.asarray(x, np.float32)
    with mpmath.workdps(60):
        points = [mpmath.mpf(float(y)) for y in x]
        columns = {"pdf": density, "cdf": lower, "sf": upper}
        columns = {name: [fn(y) for y in points] for name, fn in columns.items()}
        columns["logpdf"] = [mpmath.log(y) for y in columns["pdf"]]
        # If a tail is near 1, the other tail has its digits.
        pairs = {"logcdf": zip(columns["cdf"], columns["sf"], strict=True)}
        pairs["logsf"] = zip(columns["sf"], columns["cdf"], strict=True)
        columns |= {
            name: [mpmath.log1p(-b) if b < 0.5 else mpmath.log(a) for a, b in pair] for name, pair in pairs.items()
        }
        expected = {name: np.array([float(y) for y in column]) for name, column in columns.items()}
    eps, tiny = np.finfo(dtype).eps, np.finfo(dtype).tiny
    got = methods_at(law, x.astype(dtype), expected["cdf"].astype(dtype))
    for name in METHODS:
        value, reference = np.asarray(got[name], float), expected[name]
        assert got[name].dtype == dtype
        # An exponential is as uncertain as its exponent, the logarithm of a tail near 1 as uncertain as the other tail.
        other = {"logcdf": "logsf", "logsf": "logcdf"}.get(name, "log" + name.removeprefix("log"))
        size = reference * (1 + np.where(np.abs(reference) < 1, np.abs(expected[other]), 0))
        allowed = ulp * eps * (np.abs(size) + (eps if name == "logsf" else 1) * name.startswith("log"))
        assert (np.abs(value - reference) <= allowed + tiny).all(), (name, x, value, reference)
    # The quantile of the cdf is the point, within the uncertainty of the probability divided by the steepness.
    known = (expected["cdf"] > tiny) & (expected["cdf"] < 0.9)
    x, p, pdf, quantile = (np.asarray(v, float)[known] for v in (x, expected["cdf"], expected["pdf"], got["ppf"]))
    assert known.any()
    uncertain = ulp * eps * ((1 + np.abs(np.log(p))) * (1 + p / (pdf * x)) + np.abs(np.log(x)))
    assert (np.abs(quantile / x - 1) <= uncertain).all(), (x, quantile, uncertain)
