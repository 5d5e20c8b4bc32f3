"""Objects that are not numbers, sizes or keys, in every argument of every public call: the error names the argument."""

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.simulation import Extremes, Quantiles
from tests.arguments import CALLS, PACKAGES, WITHOUT_NUMBERS
from tests.cases import daily
from tests.registry import PUBLIC
from tests.test_integers import DAILY, agree, outcome

pytestmark = pytest.mark.float32(further=True)

KEY = jax.random.key(0)


def deleted(array: jax.Array) -> jax.Array:
    copy = jnp.copy(array)
    copy.delete()
    return copy


# Functions from numbers to objects that look like numbers, and the remedy that the error names.
NO_NUMBERS: dict[str, tuple[Callable, str]] = {
    "keys": (lambda v: jax.random.split(KEY, np.shape(v)) if np.ndim(v) else KEY, "not random keys"),
    "deleted": (lambda v: deleted(jnp.asarray(v)), "not be deleted"),
    "float8": (lambda v: jnp.asarray(v).astype(jnp.float8_e4m3fn), r"`astype\(float\)`"),
    "int4": (lambda v: jnp.asarray(v).astype(jnp.int4), r"`astype\(float\)`"),
    "float16": (lambda v: np.asarray(v, np.float16), r"`astype\(float\)`"),
    "bfloat16": (lambda v: jnp.asarray(v, jnp.bfloat16), r"`astype\(float\)`"),
    "longdouble": (lambda v: np.asarray(v, np.longdouble), ""),
    "text": (lambda v: np.asarray(v).astype(str).tolist(), ""),
    "objects": (lambda v: np.asarray(v, object) if np.ndim(v) else object(), ""),
    "dates": (lambda v: np.asarray(v).astype(int).astype("datetime64[D]"), ""),
    "a mapping": (lambda v: {"values": v}, ""),
}
UNEVEN = [[1.0], [1.0, 2.0]]
NO_SIZES = (2.5, np.nan, "3", 3j, True, object(), KEY)


def refused(call: Any, argument: str, value: Any, remedy: str = "") -> None:
    with pytest.raises(ValueError, match=rf"`{argument}(: [^`]*)?` must (.|\n)*{remedy}"):
        call.call(**{argument: value})


def refused_or_taken(call: Any, argument: str, value: Any) -> None:
    """The call works, or its error has the form of the library's errors, for any argument."""
    try:
        call.call(**{argument: value})
    except ValueError as error:
        if "` must " not in str(error):
            raise


def test_every_public_function_is_in_the_table():
    packages = {name: name.rpartition(".")[::2] for name in PUBLIC}
    public = {name: getattr(importlib.import_module(package), own) for name, (package, own) in packages.items()}
    functions = {name for name, value in public.items() if inspect.isfunction(value) and packages[name][0] in PACKAGES}
    assert functions - CALLS.keys() == WITHOUT_NUMBERS
    assert len(functions) > 70


@pytest.mark.parametrize("name", daily(CALLS, only=DAILY))
def test_the_table_holds_right_calls(name):
    # A call that is refused as it stands would hide that a wrong argument is not.
    CALLS[name].call()


@pytest.mark.parametrize("name", daily(CALLS, only=DAILY))
def test_what_are_no_numbers_is_refused_by_name(name):
    call = CALLS[name]
    for argument in call.numbers():
        value = call.given[argument]
        for make, remedy in NO_NUMBERS.values():
            refused(call, argument, make(value), remedy)
        if argument not in call.complex_valued:
            refused(call, argument, np.asarray(value) + 1j)
        if np.ndim(value):
            refused_or_taken(call, argument, 2.0)
        if np.ndim(value) == 2 and name != "rmtjax.Spectrum.of":
            refused(call, argument, UNEVEN)


@pytest.mark.parametrize("name", daily(CALLS, only=DAILY))
def test_masks_of_numpy_are_honoured_or_refused_by_name(name):
    call = CALLS[name]
    for argument in call.numbers():
        value = np.asarray(call.given[argument])
        mask = np.arange(value.size).reshape(value.shape) == 0
        got = outcome(call, argument, np.ma.array(value, mask=mask))
        if isinstance(got, str):
            assert f"`{argument}` must not be masked" in got
        else:
            assert agree(got, outcome(call, argument, rmt.spectra.MaskedValues(value, ~mask)))


def test_masks_of_numpy_are_refused_where_numbers_are_passed_on():
    masked = np.ma.array([1.0, 2.0], mask=[True, False])
    estimate = rmt.statistics.Estimate(jnp.asarray(1.0), jnp.asarray(0.1), 9)
    assert rmt.eigvalsh(np.ma.array(np.eye(2), mask=False)).shape == (2,)
    for argument, fails in {
        "statistic": lambda: rmt.statistics.over_samples(lambda x: x, masked),
        "args": lambda: rmt.simulate(lambda key, a: a, KEY, 2, args=(masked,)),
        "fn": lambda: rmt.simulate(lambda key: masked, KEY, 2),
        "mask": lambda: rmt.Spectrum([1.0, 2.0], masked > 0),
        "n": lambda: rmt.GOE(np.ma.array(3, mask=True)),
        "beta": lambda: rmt.laws.Spacing(np.ma.masked),
        "reference": lambda: estimate.z_score(np.ma.masked),
    }.items():
        with pytest.raises(ValueError, match=f"`{argument}` must not be masked"):
            fails()


@pytest.mark.parametrize("reducer", [rmt.Histogram([0.0, 1.0]), Extremes(), Quantiles()], ids=repr)
def test_draws_of_half_precision_are_refused_by_name(reducer):
    draw = lambda key: jax.random.normal(key, (), jnp.float16)
    with pytest.raises(ValueError, match=r"`fn` must be of single or double precision .*float16"):
        rmt.simulate(draw, KEY, 2, reduce=reducer)


@pytest.mark.parametrize("name", daily(CALLS, only=DAILY))
def test_what_is_no_size_is_refused_by_name(name):
    call = CALLS[name]
    for argument in call.sizes():
        for value in NO_SIZES:
            refused(call, argument, value)
        if argument != "shape":
            refused(call, argument, [[3]])


WITH_KEYS = [name for name in CALLS if CALLS[name].keys()]


@pytest.mark.parametrize("name", daily(WITH_KEYS, only=[name for name in WITH_KEYS if name in DAILY]))
def test_what_is_no_single_key_is_refused_by_name(name):
    call = CALLS[name]
    refused(call, "key", jax.random.PRNGKey(0), "`jax.random.wrap_key_data`")
    for value in (0, "0", jax.random.split(KEY), np.zeros(2), deleted(KEY)):
        refused(call, "key", value)
