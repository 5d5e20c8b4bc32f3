"""Arguments out of range are refused by name, for every ensemble.

`test_doors.py` has arguments that are no numbers, sizes or keys; `test_parameters.py` has parameters that become bad.
"""

import jax
import numpy as np
import pytest

from tests.arguments import CONSTRUCTORS
from tests.instances import ENSEMBLES

CALLS = {name: CONSTRUCTORS[f"rmtjax.{name}"] for name in ENSEMBLES}


@pytest.mark.parametrize("name", CALLS)
def test_sizes_out_of_range(name):
    call = CALLS[name]
    for argument in call.sizes():
        must = "1, 2 or 4" if argument == "beta" else "an integer of at least"
        for value in (-1, *[0] * (argument != "zero_modes"), *[3] * (argument == "beta")):
            with pytest.raises(ValueError, match=f"`{argument}` must be {must}.*, got {value}"):
                call.call(**{argument: value})


@pytest.mark.parametrize("name", CALLS)
def test_parameters_that_are_no_real_numbers(name):
    call = CALLS[name]
    for argument in call.numbers():
        number = np.asarray(call.given[argument])
        for value in (np.full_like(number, np.nan), 1j * number, number[None, None, None]):
            with pytest.raises(ValueError, match=f"`{argument}` must "):
                call.call(**{argument: value})


@pytest.mark.parametrize("name", CALLS)
def test_keys_and_points_of_methods(name):
    ensemble, key = CALLS[name].call(), jax.random.key(0)
    for method in ("sample", "eigenvalues", "tridiagonal", "moduli", "eigenphases"):
        if hasattr(ensemble, method):
            for bad in (0, jax.random.PRNGKey(0)):
                with pytest.raises(ValueError, match="`key` must be a typed key"):
                    getattr(ensemble, method)(bad)
            with pytest.raises(ValueError, match="`key` must be a single key"):
                getattr(ensemble, method)(jax.random.split(key))
    if hasattr(ensemble, "count_below"):
        with pytest.raises(ValueError, match=r"`(x|radii)` must not be NaN"):
            ensemble.count_below(key, np.array([0.0, np.nan]))
        with pytest.raises(ValueError, match=r"`(x|radii)` must be real"):
            ensemble.count_below(key, 1j)
