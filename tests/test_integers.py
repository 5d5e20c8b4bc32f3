"""Integers in every argument of every public call: each counts as the same number in floats, or is refused by name.

Where 64-bit types are off, JAX makes int32 of NumPy's int64, and Python's integers overflow. Each call gets whole
numbers of about 4e9, and small ones of few bits, and must return what it returns for the same numbers as floats.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import rmtjax as rmt
from rmtjax._checks import is_key
from rmtjax.simulation import Collect, Extremes, Quantiles
from tests.arguments import CALLS, CONSTRUCTORS, KEY, Arguments
from tests.cases import daily

# Constructors compile next to nothing. Of the other calls one of each kind is tested every day.
LONG = {"rmtjax.laws.InterpolatedGapRatio", "rmtjax.laws.InterpolatedSpacing", "rmtjax.laws.SingleRing"}
DAILY = [
    *(name for name in CONSTRUCTORS if name not in LONG),
    "rmtjax.eigvalsh",
    "rmtjax.SymTridiagonal",
    "rmtjax.Spectrum",
    "rmtjax.Spectrum.of",
    "rmtjax.spectra.MaskedValues",
    "rmtjax.statistics.stieltjes",
    "rmtjax.Histogram",
    "rmtjax.simulation.Quantiles",
    "rmtjax.simulation.Keep",
    "rmtjax.simulate",
    "rmtjax.special.sine_kernel",
    "rmtjax.statistics.spacings",
    "rmtjax.statistics.level_density",
    "rmtjax.statistics.inverse_participation_ratio",
    "rmtjax.statistics.spectral_ergodicity_distance",
    "rmtjax.statistics.unfold",
    "rmtjax.inference.optimal_hard_threshold",
    "rmtjax.inference.shrink_covariance",
    "rmtjax.inference.log_likelihood",
    "rmtjax.laws.form_factor",
    "rmtjax.laws.number_variance",
    "Semicircle.cdf",
    "Semicircle.stieltjes",
    "Semicircle.sample",
    "CircularLaw.pdf",
    "GOE.count_below",
    "GOE.leading_block_eigenvalues",
    "GOE.joint_logpdf",
    "Ginibre.joint_logpdf",
]


def large(value: Any) -> np.ndarray:
    """The numbers in a unit in which the largest is 4e9, rounded."""
    return np.round(np.asarray(value) / (np.max(np.abs(value)) or 1) * 4e9)


def outcome(call: Arguments, name: str, value: Any, *, weak: bool = True) -> Any:
    """The numbers that a call returns, with their types, `weak` ones told apart, or its refusal."""
    try:
        result = call.call(**{name: value})
    except ValueError as error:
        return str(error).partition(", got ")[0]
    of_type = lambda leaf: (getattr(leaf, "dtype", type(leaf)), weak and getattr(leaf, "weak_type", False))
    leaves = [jax.random.key_data(leaf) if is_key(leaf) else leaf for leaf in jax.tree.leaves(result)]
    return [(of_type(leaf), np.asarray(leaf)) for leaf in leaves if getattr(leaf, "dtype", None) != np.dtype(object)]


def agree(one: Any, other: Any) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    same = lambda a, b: a[0] == b[0] and np.array_equal(a[1], b[1], equal_nan=a[1].dtype.kind in "fc")
    return len(one) == len(other) and all(map(same, one, other))


def nested(array: np.ndarray, number: type) -> Any:
    """The numbers as Python's, in lists."""
    return [nested(each, number) for each in array] if np.ndim(array) else number(array)


def pairs(value: Any) -> dict[str, tuple[Any, Any]]:
    """Integers of each kind, and the same numbers as floats."""
    wide, small = large(value), np.round(np.clip(value, -100, 100))
    bits = (small > 0).astype(float)
    kinds = {
        "int64": (wide.astype(np.int64), wide),
        "Python": (nested(wide, int), nested(wide, float)),
        "int8": (small.astype(np.int8), small),
        "int16": (small.astype(np.int16), small),
        "bool": (bits.astype(bool), bits),
    }
    if (wide >= 0).all():
        kinds |= {"uint64": (wide.astype(np.uint64), wide), "uint8": (small.astype(np.uint8), small)}
    return kinds


# Integers wrap where 64-bit types are off.
@pytest.mark.float32
@pytest.mark.parametrize("name", daily(CALLS, only=DAILY))
def test_integers_are_the_numbers_they_stand_for(name):
    call = CALLS[name]
    for argument in call.numbers():
        for kind, (integers, floats) in pairs(call.given[argument]).items():
            got, expected = outcome(call, argument, integers), outcome(call, argument, floats)
            assert agree(got, expected), f"{argument} of {kind}: {got} instead of {expected}"


@pytest.mark.float32(further=True)
@pytest.mark.parametrize("name", daily(CALLS, only=DAILY))
def test_an_integer_beyond_all_floats_is_refused_by_name(name):
    call = CALLS[name]
    for argument in call.numbers():
        shape = np.shape(call.given[argument])
        huge = nested(np.full(shape, 10**400), int)
        with pytest.raises(ValueError, match=rf"`{argument}(: \w+)?` must "):
            call.call(**{argument: huge})


# The largest size is 2^31 - 1.
TOO_MANY = (2**31, 2**32 + 1, np.int64(2**32 + 3), np.uint64(2**63), 2**64, 10**400, 10**5000)


@pytest.mark.float32(further=True)
@pytest.mark.parametrize("name", daily(CALLS, only=DAILY))
def test_sizes_beyond_the_range_are_refused_by_name(name):
    call = CALLS[name]
    for argument in call.sizes():
        for number in TOO_MANY:
            with pytest.raises(ValueError, match=rf"`{argument}` must "):
                call.call(**{argument: [number] if isinstance(call.given[argument], list) else number})
        if not isinstance(call.given[argument], list):
            size = call.given[argument]
            got, expected = (outcome(call, argument, number, weak=False) for number in (np.int64(size), size))
            assert agree(got, expected), argument


@pytest.mark.parametrize("name", daily([name for name in CALLS if CALLS[name].masks()], only=["rmtjax.Spectrum"]))
def test_integers_are_no_mask(name):
    call = CALLS[name]
    for argument in call.masks():
        with pytest.raises(ValueError, match=f"`{argument}` must be booleans"):
            call.call(**{argument: np.asarray(call.given[argument], int)})


@pytest.mark.float32
@pytest.mark.parametrize("number", [2**32 + 1, np.int64(2**32 + 1), np.full(2, 2**32 + 1), 2**70], ids=str)
def test_integers_of_a_callers_own_function_stay_integers_or_are_refused(number):
    calls = {
        "args": lambda: rmt.simulate(lambda key, a: jnp.asarray(a), KEY, 2, args=(number,)),
        "fn": lambda: rmt.simulate(lambda key: number, KEY, 2),
    }
    for name, call in calls.items():
        if np.max(number) <= jnp.iinfo(jnp.result_type(int)).max:
            np.testing.assert_array_equal(call(), np.stack([number, number]))
        else:
            with pytest.raises(ValueError, match=f"`{name}` must have integers that fit into int"):
                call()


def test_functions_of_a_caller_may_return_large_integers():
    assert rmt.statistics.linear_statistic([0.0, 1.0], lambda x: 2**32) == 2.0**33
    assert rmt.special.integrate(lambda x: 2**32, [0.0, 2.0]) == pytest.approx(2.0**33)
    with pytest.raises(ValueError, match="`args` must have integers that fit into int"):
        rmt.inference.spectral_density_of(lambda v, a: v, KEY, 3, args=(2**70,))


def test_a_number_of_observations_may_be_large():
    levels = [0.5, 1.0, 4.0]
    rank = lambda n: rmt.inference.signal_rank_of_levels(levels, n, 3, noise=1.0).p_values
    np.testing.assert_array_equal(rank(np.int64(2**32 + 3)), rank(2**32 + 3))
    np.testing.assert_array_equal(rank(np.int64(2**32 + 3)), rank(2.0**32 + 3))


UNIFORM = rmt.laws.Uniform(3.9e9, 4.1e9)


@pytest.mark.float32
def test_integers_that_single_precision_does_not_tell_apart():
    rows = 4_000_000_000 + np.arange(12).reshape(4, 3) ** 2
    single = not jax.config.read("jax_enable_x64")
    for call, name in [
        (rmt.inference.shrink_covariance, "data"),
        (rmt.inference.signal_rank, "data"),
        (lambda rows: rmt.statistics.over_samples(lambda each: each, rows), "statistic"),
        (lambda rows: rmt.statistics.over_samples(lambda each: each, rows, combine=jnp.square), "statistic"),
        (lambda rows: rmt.inference.compare_spectra(rows, rows + 1, key=KEY, resamples=9), "a"),
        (lambda rows: rmt.inference.kolmogorov_smirnov(rows.ravel(), UNIFORM, calibration="independent"), "levels"),
        (lambda rows: rmt.statistics.spectral_density(rows.ravel(), [4e9], 9.0), "levels"),
        (lambda levels: rmt.statistics.spacings(levels).mean(), "levels"),
    ]:
        for given in (rows, rows.astype(float)):
            if not single:
                call(given)
                continue
            with pytest.raises(ValueError, match=f"`{name}` must (vary by more|keep their spacings)"):
                call(given)


ORIGINS = (0, 1_000_000_000, -2_147_483_648, 2_147_483_600)


@pytest.mark.float32
@pytest.mark.parametrize("origin", ORIGINS)
def test_integer_draws_keep_their_digits(origin):
    fn = lambda key: origin + jax.random.randint(key, (3,), 0, 30)
    reduce = (rmt.Moments(4), rmt.simulation.Covariance(), rmt.simulation.Jackknife(lambda m: m.variance), Collect())
    moments, covariance, jackknife, collected = rmt.simulate(fn, KEY, 100, reduce=reduce, batch_size=16)
    draws = np.asarray(collected.values, np.float64)
    np.testing.assert_allclose(moments.mean, draws.mean(0), rtol=1e-12, atol=1e-5)
    np.testing.assert_allclose(moments.variance, draws.var(0, ddof=1), rtol=1e-5)
    np.testing.assert_allclose(moments.kurtosis, scipy.stats.kurtosis(draws), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(covariance.mean, draws.mean(0), rtol=1e-12, atol=1e-5)
    np.testing.assert_allclose(covariance.covariance, np.cov(draws.T), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(jackknife.uncorrected, draws.var(0, ddof=1), rtol=1e-5)


@pytest.mark.float32
@pytest.mark.parametrize("reducer", [Extremes(1), Quantiles(0.5), rmt.Histogram([0.0, 1e9, 2e9])], ids=repr)
def test_integer_draws_that_are_rounded_are_not_pooled(reducer):
    of = lambda origin: rmt.simulate(lambda key: origin + jax.random.randint(key, (), 0, 30), KEY, 9, reduce=reducer)
    of(2**24 - 29)
    if jax.config.read("jax_enable_x64"):
        of(10**9)
        return
    with pytest.raises(ValueError, match=r"`fn` must return no NaN, got . of 9 values.*integer .* round"):
        of(10**9)
