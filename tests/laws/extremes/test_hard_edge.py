"""Smallest level at a hard edge: closed forms in both tails, other α by determinants, quantiles, simulation."""

import functools

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from mpmath import mpf

import rmtjax as rmt
from rmtjax.laws import HardEdge, hard_edge_gap_probabilities
from rmtjax.testing import check_derivatives, check_second_derivative
from tests.cases import further
from tests.statistical import assert_law

# All calls have this many points, so that each method is compiled once for each β.
X = np.float32([1e-30, 1e-10, 1e-3, 0.07, 0.4, 1.5, 4.0, 9.0, 20.0, 40.0, 55.0, 100.0]).astype(float)


def survival(beta, alpha, s):
    """1 - F by Edelman (1988, 1991), and for β = 2 and integer α by determinants (Forrester and Hughes 1994)."""
    root = mpmath.sqrt(s)
    if (beta, alpha) == (1, -0.5):
        return mpmath.exp(-s / 8 - root / 2)
    if (beta, alpha) == (4, 1):
        return mpmath.exp(-s / 2) * mpmath.cosh(root)
    assert beta == 2 or alpha == 0
    functions = [mpmath.besseli(k, root) for k in range(alpha)]
    minors = mpmath.matrix([[functions[abs(j - k)] for k in range(alpha)] for j in range(alpha)])
    return mpmath.exp(-mpf(beta) * s / 8) * (mpmath.det(minors) if alpha else 1)


@functools.cache
def closed_form(beta, alpha):
    """Log F, log(1 - F) and the logarithm of the density at X."""
    rows = []
    # The determinants of Bessel functions cancel to the power α² of s.
    with mpmath.workdps(400):
        for s in map(mpf, X):
            sf, step = survival(beta, alpha, s), s * mpf(10) ** -60
            slope = (survival(beta, alpha, s + step) - survival(beta, alpha, s - step)) / (2 * step)
            rows.append([float(mpmath.log(value)) for value in (1 - sf, sf, -slope)])
    return np.transpose(rows)


SINGLE = [pytest.param(beta, np.float32, marks=pytest.mark.float32(further=True)) for beta in (2, 4)]


@pytest.mark.parametrize(
    ("beta", "dtype"), [*further((1, np.float64)), (2, np.float64), *further((4, np.float64)), *SINGLE]
)
def test_closed_forms(beta, dtype):
    single = dtype == np.float32
    for alpha in {1: (-0.5, 0), 2: (0, 1, 3), 4: (1,)}[beta]:
        law, x = HardEdge(jnp.asarray(alpha, dtype), beta), jnp.asarray(X, dtype)
        log_cdf, log_sf, log_pdf = closed_form(beta, alpha)
        normal = log_cdf > (-60 if single else -600)
        got = {name: getattr(law, name)(x) for name in ("logcdf", "logsf", "logpdf")}
        assert all(values.dtype == dtype for values in got.values())
        got = {name: np.asarray(values, float) for name, values in got.items()}
        error = np.abs(got["logcdf"] - log_cdf)[normal]
        assert (error < (2e-5 if single else 5e-14) * np.maximum(1, -log_cdf[normal])).all(), error
        # The absolute error of determinants makes the relative error of the upper tail inverse to its size.
        resolved = log_sf > (-6.5 if single else -18.5)
        tolerance = (2e-5 if single else 1e-14) * np.exp(-log_sf)
        error = np.abs(np.expm1(got["logsf"] - log_sf))
        assert (error < tolerance)[resolved].all(), error / tolerance
        far, (rtol, atol) = ~resolved, (1e-6, 2e-3) if single else (0, 1e-6)
        np.testing.assert_allclose(got["logsf"][far], log_sf[far], rtol=rtol, atol=atol)
        error = np.abs(got["logpdf"] - log_pdf)
        allowed = 10 * tolerance * np.maximum(1, -log_pdf)
        assert (error < allowed)[resolved & normal].all(), error / allowed


@pytest.mark.parametrize("beta", [*further(1, 2), 4])
def test_other_orders(beta):
    for alpha in {1: (-0.6, 2.7, 23.9), 2: (-0.6, 2.7, 49.9), 4: (0.4, 2.7, 49.9)}[beta]:
        law = HardEdge(alpha, beta)
        x = law._farthest(X.dtype) * np.linspace(0.02, 0.9, X.size)
        expected = hard_edge_gap_probabilities(x, alpha, beta, 0)[:, 0]
        np.testing.assert_allclose(np.exp(law.logsf(x)), expected, rtol=0, atol=5e-13)


def log_tails_in_sixty_digits(beta):
    """The points, log F and log(1 - F), from determinants with 100 nodes, or in closed form for β = 2."""
    if beta == 2:
        s = (1000, 4000, 5000, 7000)
        with mpmath.workdps(400):
            survivals = [survival(2, 50, mpf(x)) for x in s]
            return s, [float(mpmath.log(1 - p)) for p in survivals], [float(mpmath.log(p)) for p in survivals]
    return {
        1: (
            (1500, 4000, 5000, 8000),
            (-8.0892939742402358532, -1.1857569890529989863e-3, -1.934308201650455189e-8, -8.8365692386709801654e-36),
            (-3.0685336851035977478e-4, -6.7379667189298183523, -17.760931009594043115, -80.714164641637480604),
        ),
        4: (
            (400, 700, 1115, 2000),
            (-18.722579475983005502, -3.5079689085960854667, -6.9061330902877863758e-3, -3.7021632217816283097e-27),
            (-7.3941294267884966583e-9, -3.0415599684993882364e-2, -4.978796487778358241, -60.860880207497355952),
        ),
    }[beta]


@pytest.mark.slow
@pytest.mark.parametrize(("beta", "alpha"), [(1, 24.0), (2, 50.0), (4, 50.0)])
def test_large_orders(beta, alpha):
    s, log_cdf, log_sf = log_tails_in_sixty_digits(beta)
    x, law = np.resize(s, X.size).astype(float), HardEdge(alpha, beta)
    log_cdf, log_sf = np.array(log_cdf), np.array(log_sf)
    # At three points each tail is resolved; one point is far out.
    for got, expected in ((law.logcdf(x)[:4], log_cdf), (law.logsf(x)[:4], log_sf)):
        np.testing.assert_allclose(np.exp(got), np.exp(expected), rtol=0, atol=2e-13)
    tolerance = 1e-13 * np.exp(-log_sf[:3])
    assert (np.abs(law.logsf(x)[:3] - log_sf[:3]) < tolerance + 1e-13).all()
    np.testing.assert_allclose(law.logsf(x)[3], log_sf[3], rtol=0, atol=1e-6)
    gaps = hard_edge_gap_probabilities(np.asarray(s, float), alpha, beta, 0)[:, 0]
    np.testing.assert_allclose(gaps, np.exp(log_sf), rtol=0, atol=2e-13)


def test_lower_tail_of_the_quaternion_case():
    # Log F comes from (D_- + D_+)/2 in 80 digits, because F is far smaller than 1 - D_- and D_+ - 1.
    x = [30, 200, 300, 350, 400]
    far = [-136.40393884733061, -46.049464401953832, -29.308490114320755, -23.470132098576544, -18.722579475983006]
    got = HardEdge(50.0, 4).logcdf(np.resize(x, X.size).astype(float))[: len(x)]
    np.testing.assert_allclose(got, far, rtol=0, atol=2e-11)
    got = HardEdge(11.0, 4).logcdf(np.resize([4, 9.5, 12], X.size))[:3]
    np.testing.assert_allclose(got, [-26.39824519168933, -16.704852678733381, -14.216111293972077], rtol=1e-12)


@pytest.mark.parametrize(("beta", "lowest", "largest"), [(1, -0.95, 24.0), (2, -0.9, 50.0), (4, 0.1, 50.0)])
def test_the_range_of_orders(beta, lowest, largest):
    for alpha in (lowest, largest):
        law = HardEdge(alpha, beta)
        x = law._farthest(X.dtype) * np.array([1e-9, 1e-3, 0.02, 0.1, 0.2, 0.4, 0.7, 0.9, 0.99, 1.01, 1.2, 4])
        below, above = np.asarray(law.logcdf(x)), np.asarray(law.logsf(x))
        assert np.isfinite(below).all()
        assert np.isfinite(above).all()
        assert (np.diff(below) >= 0).all()
        assert (np.diff(above) <= 0).all()


@pytest.mark.slow
def test_quantiles_and_draws():
    law = HardEdge(0, beta=2)
    p = np.array([1e-300, 1e-30, 1e-5, 0.2, 0.5, 0.9, 0.999, 1 - 1e-9, 1 - 2**-53, 0, 1, -0.1])
    x = np.asarray(law.ppf(p))
    np.testing.assert_array_equal(x[-3:], [0, np.inf, np.nan])
    np.testing.assert_allclose(x[:-3], -4 * np.log1p(-p[:-3]), rtol=1e-9)
    assert_law(law.sample(jax.random.key(3), (2000,)), lambda s: -np.expm1(-np.asarray(s) / 4))


@pytest.mark.slow
def test_derivatives():
    check_derivatives(lambda alpha, s: HardEdge(alpha, 2).logcdf(s), 1.3, jnp.array([0.3, 4.0, 11.0]), rtol=1e-5)


@pytest.mark.slow
def test_reverse_mode_near_0_and_far_out():
    law, x = HardEdge(0.7), jnp.array([1e-300, 1e-13, 1e-3, 3.0, 200.0, 1e5])
    by_law, by_x = jax.jit(jax.vmap(jax.grad(lambda law, x: law.cdf(x), (0, 1)), (None, 0)))(law, x)
    assert np.isfinite(by_law.alpha).all()
    # Up to 3 two programs agree to 1e-15. The determinants end at 99.6, where the tail is 1 - F = e^-19, about 1 minus
    # the largest eigenvalue. There every rounding of the matrix, which depends on the vector instructions, counts
    # e^19 eps = 4e-8; 1.5e-10 was seen. The tail at 200 continues from there.
    pdf = law.pdf(x)
    np.testing.assert_allclose(by_x[:4], pdf[:4], rtol=1e-13, atol=1e-200)
    np.testing.assert_allclose(by_x[4:], pdf[4:], rtol=4e-8, atol=1e-200)
    above, below = (HardEdge(0.7 + h).cdf(x)[2:4] for h in (1e-4, -1e-4))
    np.testing.assert_allclose(by_law.alpha[2:4], (above - below) / 2e-4, rtol=1e-6)


@pytest.mark.float32
def test_the_lower_end():
    law = HardEdge(0.0)
    assert (law.pdf(0.0), law.cdf(0.0), law.logsf(0.0)) == (0.25, 0, 0)


@pytest.mark.float32
def test_bad_input():
    with pytest.raises(ValueError, match="`beta` must be 1, 2 or 4, got 3"):
        HardEdge(1.0, 3)
    for beta, alpha in ((1, -0.96), (1, 25.0), (2, -1.0), (2, 51.0), (4, 0.0), (2, np.nan), (2, np.inf)):
        with pytest.raises(ValueError, match="`alpha` must"):
            HardEdge(alpha, beta)
    with pytest.raises(ValueError, match=r"`alpha` must lie in \[0.1, 50\] for beta=4, got 0.0"):
        HardEdge(0.0, 4)
    with pytest.raises(ValueError, match="real scalar"):
        HardEdge(jnp.ones(2))


@pytest.mark.slow
def test_second_derivatives():
    check_second_derivative(lambda alpha, s: HardEdge(alpha, 2).logsf(s), 1.3, jnp.array([0.3, 4.0]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ensemble", "alpha"),
    [(rmt.Wishart(100, 102, 1), 0.5), (rmt.Wishart(100, 102, 2), 2.0), (rmt.LaguerreBeta(100, 198 + 2.5, 4), 1.5)],
    ids=["real", "complex", "quaternion"],
)
def test_simulated_levels(ensemble, alpha):
    # 4000 draws show a scale that is wrong by 15 %; the finite order 100 shifts it by 1 %.
    beta, n = int(ensemble.beta), ensemble.n
    smallest = rmt.simulate(lambda key: ensemble.eigenvalues(key)[0], jax.random.key(5), 4000)
    unit = 4 * n * ensemble.m if isinstance(ensemble, rmt.Wishart) else 8 * n * ensemble.a / beta
    assert_law(unit * smallest, HardEdge(alpha, beta).cdf)
