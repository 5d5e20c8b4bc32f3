"""Every law against values of 25 digits that were made without the library, in both precisions."""

import inspect

import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.laws import AbstractLaw, AbstractPlanarLaw
from tests.golden import accuracy
from tests.golden import laws as generator

# Relative errors of what is not right to rounding.
LESS_ACCURATE = {
    ("HardEdge", np.float64): 1e-8,
    ("HardEdge", np.float32): 1e-3,
    ("StochasticAiry", np.float64): 1e-7,
    ("StochasticAiry", np.float32): 1e-3,
}
# Each pass of the suite in its own precision.
DTYPE = jnp.zeros(0).dtype.type


@pytest.mark.float32
@pytest.mark.parametrize("expression", accuracy.ENTRIES)
def test_values(expression):
    bound = LESS_ACCURATE.get((expression.split("(")[0], DTYPE), 64 * np.finfo(DTYPE).eps)
    for method, (got, right) in accuracy.values(expression, DTYPE).items():
        # A rounding of the logarithm is as many roundings of a tiny probability.
        size = np.maximum(1, -np.log(np.where(right > 0, right, 1)))
        np.testing.assert_array_less(np.abs(got - right), bound * np.where(right > 0, right * size, 1), err_msg=method)


def test_every_law_has_values():
    classes = {name for name, law in vars(rmt.laws).items() if inspect.isclass(law)}
    concrete = {name for name in classes if not name.startswith("Abstract")}
    assert all(issubclass(getattr(rmt.laws, name), AbstractLaw | AbstractPlanarLaw) for name in concrete)
    assert concrete | {"WignerCat"} == {expression.split("(")[0] for expression in accuracy.ENTRIES}


@pytest.mark.parametrize("expression", ["Wachter(0.5, 0.75)", "EllipticLaw(0.5)", "Arcsine(2.0)"])
def test_the_table_is_that_of_the_generator(expression):
    assert generator.entry(expression) == accuracy.ENTRIES[expression]
