"""Every law against values of 25 digits that were made without the library, in both precisions."""

import inspect
from pathlib import Path

import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.laws import AbstractLaw, AbstractPlanarLaw
from tests.cases import daily
from tests.golden import accuracy
from tests.golden import laws as generator
from tests.instances import LAWS, made

# Relative errors of the laws that are not accurate up to rounding.
LESS_ACCURATE = {
    ("HardEdge", np.float64): 1e-8,
    ("HardEdge", np.float32): 1e-3,
    ("InterpolatedGapRatio", np.float64): 1e-9,
    # At s = 8, where its series ends; its own file holds it to 1e-7 below.
    ("InterpolatedSpacing", np.float64): 3e-5,
    ("InterpolatedSpacing", np.float32): 3e-5,
    ("StochasticAiry", np.float64): 1e-7,
    ("StochasticAiry", np.float32): 1e-3,
}
# Each pass of the suite tests its own precision.
DTYPE = jnp.zeros(0).dtype.type

# Static parameters give these laws programs of their own; others of the same kind are tested every day.
FURTHER = ["HardEdge(0.0, 2)", "HardEdge(1.0, 2)", "HardEdge(1.0, 4)", 'TracyWidom(4, "bornemann")', "TracyWidom(2)"]
FURTHER += ["Spacing(2, 1)", "Spacing(1, 2)", "Spacing(2, 2)", "LevelDensity(GUE(2))", "EigenvectorIntensity(4, 2)"]
FURTHER += ["LevelDensity(GSE(2))", "LevelDensity(Wishart(2, 4, 2))", 'TracyWidom(4, "stochastic-airy")']
FURTHER += ["GapRatio(1)", "GapRatio(2)"]
# These have long programs; their own files test their values against other references every day.
LONG = ("GeneralMarchenkoPastur", "StochasticAiry", "FreeSum", "FreePower", "FreeCompression", "FreeProduct")
FURTHER += [e for e in accuracy.ENTRIES if e.startswith(LONG)]

if DTYPE == np.float32:  # Every day there is one of each kind, except for the longest.
    longest = {*LONG, "HardEdge"} - {"FreeSum"}
    kinds = [expression.split("(")[0] for expression in accuracy.ENTRIES]
    FURTHER = [e for k, e in enumerate(accuracy.ENTRIES) if kinds[k] in longest or kinds.index(kinds[k]) < k]


@pytest.mark.float32
@pytest.mark.parametrize("expression", daily(accuracy.ENTRIES, but=FURTHER))
def test_values(expression):
    bound = LESS_ACCURATE.get((expression.split("(")[0], DTYPE), 64 * np.finfo(DTYPE).eps)
    for method, (got, right) in accuracy.values(expression, DTYPE).items():
        # exp amplifies the rounding of the logarithm of a tiny probability by its size.
        size = np.maximum(1, -np.log(np.where(right > 0, right, 1)))
        np.testing.assert_array_less(np.abs(got - right), bound * np.where(right > 0, right * size, 1), err_msg=method)


@pytest.mark.slow
@pytest.mark.skipif(DTYPE == np.float32, reason="the record has both precisions")
@pytest.mark.parametrize("expression", accuracy.ENTRIES)
def test_the_record_of_accuracy_is_what_is_measured(expression):
    record = accuracy.recorded()[expression]
    for quantity, error in accuracy.measured(expression).items():
        rounding = np.finfo(np.float32 if quantity == "float32" else np.float64).eps
        least, most = sorted((error, record[quantity]))
        assert most <= 4 * (least + rounding), quantity


def test_the_record_of_accuracy_has_every_law():
    assert accuracy.recorded().keys() == accuracy.ENTRIES.keys()


def log_tails(expression, x):
    """Logarithms of the probabilities below and above x, to 30 digits."""
    law = generator.LAWS[expression]()
    with mpmath.workdps(50):
        near_lower = x < (law.joints[0] + law.joints[-1]) / 2
        atom = sum(mass for _, mass in law.atoms)  # at the lower end
        tail = generator.mass(law.density, law.joints, *((law.joints[0], x) if near_lower else (x, law.joints[-1])))
        below = atom + tail if near_lower else 1 - tail
        return float(mpmath.log(below)), float(mpmath.log(1 - below))


# Laws without logarithms of their own. Next to the ends that are listed, a few ulp of the rounded end matter.
ROUNDED = {"BuresLaw()": ["upper"], "InverseMarchenkoPastur(0.25)": ["lower", "upper"]}


@pytest.mark.float32
@pytest.mark.parametrize("end", ["lower", "upper"])
@pytest.mark.parametrize("expression", ["KestenMcKay(10.0)", "FreePoisson(4.0)", "QuarterCircle(2.0)", *ROUNDED])
def test_logarithms_near_the_ends(expression, end):
    law = made(expression, DTYPE)
    lower, upper = map(float, law.support())
    distance = (upper - lower) * (2.0**-20 if DTYPE == np.float64 else 2.0**-10)
    x = DTYPE(upper - distance if end == "upper" else lower + distance)
    ulps = 4 * upper / distance if end in ROUNDED.get(expression, []) else 16
    got = [float(law.logcdf(x)), float(law.logsf(x))]
    np.testing.assert_allclose(got, log_tails(expression, float(x)), rtol=ulps * np.finfo(DTYPE).eps)


def test_every_law_has_values():
    classes = {name for name, law in vars(rmt.laws).items() if inspect.isclass(law)}
    concrete = {name for name in classes if not name.startswith("Abstract")}
    assert all(issubclass(getattr(rmt.laws, name), AbstractLaw | AbstractPlanarLaw) for name in concrete)
    # Given levels have no density, and their masses are their weights.
    known = {expression.split("(")[0] for expression in accuracy.ENTRIES} | {"Empirical"}
    assert concrete | {"wigner_cat"} == LAWS.keys() == known


def test_every_room_tests_the_contracts_of_its_laws():
    rooms = {getattr(rmt.laws, name).__module__.split(".")[2].lstrip("_") for name, law in LAWS.items() if law.contract}
    assert rooms == {path.parent.name for path in Path(__file__).parent.glob("*/test_contract.py")}


@pytest.mark.slow
@pytest.mark.parametrize("expression", ["Wachter(0.5, 0.75)", "EllipticLaw(0.5)", "Arcsine(2.0)"])
def test_the_table_is_that_of_the_generator(expression):
    assert generator.entry(expression) == accuracy.ENTRIES[expression]
