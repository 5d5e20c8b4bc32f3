"""No ensemble depends on the unit of its levels: scaled by c it has c times the levels, for every c."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import rmtjax as rmt
from tests.cases import daily
from tests.instances import ENSEMBLES, made

DTYPE = np.dtype(jnp.zeros(0).dtype)
INFO = np.finfo(DTYPE)
EPS = float(INFO.eps)

# The parameters that carry the unit, and the power of each that the levels are proportional to.
_LINEAR = ("AltlandZirnbauer", "Banded", "Elliptic", "GOE", "GSE", "GUE", "GaussianBeta", "Ginibre", "GinibreProduct")
_LINEAR += ("InducedGinibre", "Levy", "RosenzweigPorter", "VarianceProfile", "Wigner")
DEGREES: dict[str, dict[str, int]] = {name: {"scale": 1} for name in _LINEAR}
DEGREES |= {name: {"scale": 2} for name in ("InverseWishart", "LaguerreBeta", "Wishart")}
DEGREES |= {name: {"covariance": 1} for name in ("CorrelatedInverseWishart", "CorrelatedWishart")}
DEGREES |= {"Deformed": {"base": 1, "levels": 1}, "Mixed": {"base": 1}}
DEGREES |= {"Spiked": {"base": 1, "spikes": 1}}
# Spectra in a fixed unit: phases, correlations, density matrices, graphs.
WITHOUT = {
    *("Bures", "COE", "CSE", "CUE", "CircularBeta", "ErdosRenyi", "HaarIsometry", "HaarOrthogonal", "HilbertSchmidt"),
    *("HaarSpecialOrthogonal", "HaarSymplectic", "Jacobi", "JacobiBeta", "RandomRegular", "SampleCorrelation"),
    *("Spherical", "TruncatedUnitary"),
}
IN_THE_PLANE = ("Elliptic", "Ginibre", "GinibreProduct", "InducedGinibre")
# Ensembles in which another parameter can carry the unit instead of the scale.
FURTHER = {"VarianceProfile, by its variances": ("VarianceProfile", {"variances": 2})}


def times(ensemble, c, degrees):
    """The ensemble with c times the levels, made of its parameters alone."""
    for name, degree in degrees.items():
        value = getattr(ensemble, name)
        if hasattr(value, "eigenvalues"):
            new = times(value, c, DEGREES[type(value).__name__])
        else:
            new = value * {1: lambda: c, 2: lambda: jnp.sqrt(c), -2: lambda: c**2}[degree]()
        ensemble = eqx.tree_at(lambda e, name=name: getattr(e, name), ensemble, new)
    return ensemble


def known(found, name, make):
    """Add what `make` returns, if the ensemble has it."""
    try:
        found[name] = make()
    except (NotImplementedError, AttributeError):
        pass


def everything(ensemble, c, degrees, points):
    """All results of the ensemble with c times the levels."""
    ensemble, key = times(ensemble, c, degrees), jax.random.key(5)
    p = jnp.asarray([0.3, 0.9], DTYPE)
    found = {"sample": ensemble.sample(key), "eigenvalues": ensemble.eigenvalues(key)}
    known(found, "largest", lambda: ensemble.largest_eigenvalues(key, 2))
    known(found, "smallest", lambda: ensemble.smallest_eigenvalues(key, 2))
    known(found, "count", lambda: ensemble.count_below(key, c * points))
    known(found, "joint density", lambda: ensemble.joint_logpdf(c * points))
    known(found, "law", lambda: ensemble.law().ppf(p))
    known(found, "radii of the law", lambda: ensemble.law().radial_ppf(p))
    known(found, "draws of the law", lambda: ensemble.law().sample(key, 3))
    known(found, "edge levels", lambda: ensemble.edge_levels(key, 2))
    known(found, "outliers", lambda: ensemble.outliers())
    for side in ("upper", "lower"):
        known(found, f"levels at the {side} edge", lambda side=side: ensemble.soft_edge(side).levels(p))
        known(found, f"variable at the {side} edge", lambda side=side: ensemble.soft_edge(side).standardize(c * points))
    if not isinstance(ensemble, rmt.LaguerreBeta):  # its law needs a static β
        known(found, "levels at the hard edge", lambda: ensemble.hard_edge().levels(p))
    return found


OF_LEVELS = {"sample", "eigenvalues", "largest", "smallest", "law", "radii of the law", "draws of the law", "outliers"}
OF_LEVELS |= {"levels at the upper edge", "levels at the lower edge", "levels at the hard edge"}


def compare(one, scaled, c, num_levels, dimension):
    """Compare results up to the rounding of the largest number, if that is a normal number."""
    c, far = np.longdouble(c), 1 + abs(np.log(np.longdouble(c)))
    for name, results in one.items():
        for values, got in zip(jax.tree.leaves(results), jax.tree.leaves(scaled[name]), strict=True):
            values, got = np.asarray(values), np.asarray(got)
            kind = np.clongdouble if np.iscomplexobj(values) else np.longdouble
            power = name in OF_LEVELS and np.issubdtype(values.dtype, np.inexact)  # a mask has no unit
            with np.errstate(over="ignore", invalid="ignore"):
                expected = values.astype(kind) * c ** int(power)
                size = abs(expected[np.isfinite(expected)]).max(initial=0)
            ulps = 32
            if name == "joint density":
                expected, ulps = values - dimension * num_levels * np.log(c), 200 * far
                size = 1
            if "edge" in name:
                ulps = 64 * far  # the variable may be the logarithm of a level
            if not INFO.tiny * 2**10 < size < INFO.max / 2**4:
                continue
            np.testing.assert_allclose(
                got,
                expected,
                rtol=0,
                atol=max(float(ulps * EPS * size), 8 * float(INFO.tiny)),
                err_msg=f"{name} at {c}",
            )


def test_every_ensemble_is_in_the_table():
    assert DEGREES.keys() | WITHOUT == ENSEMBLES.keys()
    assert not DEGREES.keys() & WITHOUT


CASES = {name: (name, degrees) for name, degrees in DEGREES.items()} | FURTHER


@pytest.mark.float32
@pytest.mark.parametrize("case", daily(CASES, only=["CorrelatedWishart", "Wigner"]))
def test_an_ensemble_is_the_same_in_every_unit(case):
    name, degrees = CASES[case]
    ensemble = made(ENSEMBLES[name], DTYPE)
    if degrees == {"variances": 2}:
        degrees = {"variances": -2}  # the levels go as the root of the variances
    program = jax.jit(lambda ensemble, c, points: everything(ensemble, c, degrees, points))
    levels = np.asarray(jax.tree.leaves(jax.jit(ensemble.eigenvalues)(jax.random.key(9)))[0])
    points = levels[-2:] if name == "AltlandZirnbauer" else np.nan_to_num(levels, posinf=2.0)
    points = jnp.asarray(abs(points) if name in IN_THE_PLANE else points)
    one = program(ensemble, jnp.ones((), DTYPE), points)
    most = INFO.maxexp // 2 - 6 if degrees != {"variances": -2} else INFO.maxexp // 4 - 6

    @settings(max_examples=15)
    @given(st.integers(-most, most))
    @example(-most)
    @example(most)
    def in_powers_of_four(k):
        scaled = program(ensemble, jnp.asarray(4.0**k, DTYPE), points)
        compare(one, scaled, 4.0**k, points.size, 2 if name in IN_THE_PLANE else 1)

    in_powers_of_four()


@pytest.mark.float32(further=True)
def test_draws_of_the_law_of_data_in_volts():
    # Electroencephalograms: some 10 µV, variances near 1e-10.
    base = jnp.asarray([[2.0, 0.3, -0.5], [0.3, 1.0, 0.2], [-0.5, 0.2, 3.0]], DTYPE)
    draws = [rmt.CorrelatedWishart(c * base, 100).law().sample(jax.random.key(1), 50) / c for c in (1.0, 1e-10)]
    np.testing.assert_allclose(draws[1], draws[0], rtol=3e3 * EPS)
