"""The methods of a law at the points of a test, from the programs that its contract compiles as well."""

import jax
import mpmath
import numpy as np

from rmtjax.laws._core import fallbacks
from rmtjax.testing._law_evaluation import METHODS as METHODS
from rmtjax.testing._law_evaluation import evaluate, everything, gradients, tabulated

# Distances from the ends of a support in units of its width.
FRACTIONS = [2.0**-k for k in (20, 14, 9, 5, 3, 2)] + [0.40625]
FRACTIONS += [1 - fraction for fraction in FRACTIONS]


@jax.jit
def _values(law, x, p):
    return {"values": tabulated(law, x)}


@jax.jit
def _values_and_quantile(law, x, p):
    return {"values": tabulated(law, x), "ppf": law.ppf(p)}


def methods_at(law, x, p=None):
    """All methods at points x, in their dtype, and the quantiles of p; in double precision the slopes as well."""
    x = np.asarray(x)
    # The contract is tested in double precision; in single precision no other test would need the whole program.
    single = _values if p is None else _values_and_quantile
    table = evaluate(law, x, p, everything if x.dtype == np.float64 else single)
    return table.pop("values") | table


def check_slopes(law, x, flat=()):
    """Checks that reverse-mode derivatives of all methods are finite, and 0 by the points with the indices `flat`."""
    x = np.asarray(x)
    # A weighted sum of the methods is differentiated: no two terms cancel, and one that is not finite makes all so.
    by_law, by_x = gradients(law, x)
    assert np.isfinite(by_x).all(), by_x
    assert (by_x[list(flat)] == 0).all(), by_x
    for leaf in jax.tree.leaves(by_law):
        assert leaf.dtype == x.dtype
        assert np.isfinite(leaf).all(), by_law


def columns_of(x, pdf, cdf, sf):
    """Points, and all methods there, as arrays of floats from columns in mpmath."""
    values = {"pdf": pdf, "cdf": cdf, "sf": sf}
    values |= {f"log{name}": list(map(mpmath.log, column)) for name, column in values.items()}
    return np.array(x), {name: np.array(column, float) for name, column in values.items()}


def check_ulps(law, x, expected, dtype, ulps=12):
    """Checks that all methods are right to a few ulp of relative error."""
    found, tolerance = methods_at(law, np.asarray(x, dtype)), ulps * np.finfo(dtype).eps
    for method in METHODS:
        assert found[method].dtype == dtype
        # The absolute error of a logarithm is the relative error of its argument.
        absolute = tolerance if method.startswith("log") else 0
        np.testing.assert_allclose(found[method], expected[method], rtol=tolerance, atol=absolute, err_msg=method)


def check_ulps_of_displaced_points(law, x, expected, dtype, ends, displaced, slope, at_least=6):
    """Checks a few ulp of relative error where a displacement changes the density by its slope, away from the ends."""
    found, eps = methods_at(law, np.asarray(x, dtype)), np.finfo(dtype).eps
    far_enough = np.minimum(x - ends[0], ends[1] - x) > 8 * displaced
    assert far_enough.sum() >= at_least
    for method, by_x in [("pdf", slope), ("cdf", expected["pdf"]), ("sf", expected["pdf"])]:
        error = np.abs(found[method].astype(float) - expected[method])
        assert (error <= 12 * eps * expected[method] + displaced * by_x)[far_enough].all(), method


def check_rise_to_1(law, x, ulps):
    """Checks that the distribution function rises along x and stays in [0, 1], as the survival function does."""
    found, eps = methods_at(law, x), np.finfo(x.dtype).eps
    cdf, sf = found["cdf"], found["sf"]
    assert max(cdf.max(), sf.max()) <= 1
    assert min(cdf.min(), sf.min()) >= 0
    assert np.diff(cdf).min() >= -2 * eps
    np.testing.assert_allclose(cdf + sf, 1, rtol=0, atol=ulps * eps)


@jax.jit
def _fall_backs_and_formulas(law, x):
    moments = [fallbacks.moment(law, k) for k in range(5)]
    return [fallbacks.cdf(law, x), *moments], [law.cdf(x), *map(law.moment, range(5))]


def check_fall_backs(law, x, rtol=1e-12, atol=1e-13):
    """Checks that the distribution function and the moments of a law agree with the fall-backs."""
    for got, expected in zip(*_fall_backs_and_formulas(law, x), strict=True):
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol)
