"""Everything public under JAX's settings, which users and the suites of other packages on JAX have.

A mode is a way to run a call of `everything.py`. The whole suite runs in the modes of promotion (`session.py`); tracing
is enough to find what they refuse.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax._promotion import common_dtype, in_one_precision
from tests import everything
from tests.cases import daily
from tests.everything import CASES, EXEMPT, ON_HOST, Thunk, cases
from tests.registry import PUBLIC, Call
from tests.session import X64


class Mode(NamedTuple):
    """A setting of JAX, and how a call is run under it."""

    set: Callable[[], Any]
    run: Callable[[Thunk], Any]


def traced(call: Thunk) -> Any:
    """The types of the arrays that a call returns, without computing them."""
    arrays = lambda: jax.tree.map(lambda leaf: leaf if isinstance(leaf, jax.Array) else None, call())
    return jax.eval_shape(arrays)


@contextmanager
def strict() -> Iterator[None]:
    """No implicit promotion of dtypes or ranks."""
    with jax.numpy_dtype_promotion("strict"), jax.numpy_rank_promotion("raise"):
        yield


def leaves(call: Thunk) -> Callable:
    """The arrays that a call returns."""
    return lambda: [leaf for leaf in jax.tree.leaves(call()) if isinstance(leaf, jax.Array)]


def lowered(call: Thunk) -> None:
    """Lower the program of a call: JAX looks at its keys then."""
    jax.jit(leaves(call)).lower()


# Answers that are NaN for clean data: values next to masked ones, and values that do not exist.
WITH_NAN = (
    "rmtjax.inference.fit_berry_robnik",
    "rmtjax.inference.fit_tail",
    "rmtjax.inference.fit_tail up to a maximum",
    "rmtjax.inference.signal_rank_of_levels",
    "rmtjax.statistics.complex_spacing_ratios",
    "rmtjax.statistics.spacings of a masked spectrum",
    "rmtjax.inference.signal_rank by tracy-widom",
    "rmtjax.statistics.gap_ratios of a masked spectrum",
    "rmtjax.statistics.level_repulsion",
    "rmtjax.statistics.unfold_polynomial of a masked spectrum",
)
WITH_KEYS = (
    "rmtjax.Mixed.periodic_eigenvalues",
    "rmtjax.SampleCorrelation.sample",
    "rmtjax.inference.fit_tail of whole numbers",
    "rmtjax.inference.fit_tail with a bootstrap",
    "rmtjax.inference.spectral_density_of a complex matrix",
    "rmtjax.laws.BinomialSemicircle.sample",
    "rmtjax.laws.Mixture.sample",
    "rmtjax.Wigner.sample",
)

# Known numbers enter these programs while they are traced.
WITH_CONSTANTS = (
    "rmtjax.laws.PeriodicPadding.sample",
    "rmtjax.laws.Wachter.stieltjes in the plane",
    "rmtjax.linalg.schatten_norm of a batch",
    "rmtjax.statistics.unfold_kernel",
)

# One call from each package and for each way to compute.
ONE_OF_EACH = (
    "rmtjax.GOE.count_below",
    "rmtjax.CUE.eigenvalues",
    "rmtjax.Ginibre.sample",
    "rmtjax.eigvalsh",
    "rmtjax.inference.shrink_covariance by oas",
    "rmtjax.laws.MarchenkoPastur.cdf at many points",
    "rmtjax.special.airy",
    "rmtjax.statistics.number_variance of a padded spectrum",
)

ON_DEVICE = [name for name in CASES if not name.startswith(ON_HOST)]

MODES = {
    "strict promotion": Mode(strict, traced),
    "disabled jit": Mode(jax.disable_jit, lambda call: call()),
    "NaN as an error": Mode(lambda: jax.debug_nans(True), lambda call: call()),
    "keys used twice": Mode(lambda: jax.debug_key_reuse(True), lowered),
    "no transfers": Mode(lambda: jax.transfer_guard("disallow"), lambda call: jax.jit(leaves(call))()),
}


def runs(mode: str, call: Thunk) -> None:
    with MODES[mode].set():
        jax.block_until_ready(MODES[mode].run(call))


# The suite itself runs the calls in JAX's own precision under this mode.
@pytest.mark.parametrize("name", daily(ON_DEVICE, only=ONE_OF_EACH))
def test_nothing_leaves_promotion_to_jax(name):
    runs("strict promotion", CASES[name])


# Checks of known values, which tracing does not reach, meet both precisions too.
@pytest.mark.parametrize("name", everything.MIXED)
def test_mixed_arguments_leave_promotion_to_nobody(name):
    with strict():
        jax.block_until_ready(everything.MIXED[name]())


SINGLE = cases(jnp.float32) if X64 else {}
UNMIXED = [name for name in ON_DEVICE if name not in everything.MIXED]


@pytest.mark.skipif(not X64, reason="all numbers are of single precision")
@pytest.mark.parametrize("name", daily(UNMIXED, only=UNMIXED[::12]))
def test_no_double_meets_a_single(name):
    runs("strict promotion", SINGLE[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if name.startswith(ON_HOST)])
def test_what_runs_on_the_host_leaves_promotion_to_nobody(name):
    with strict():
        CASES[name]()


@pytest.mark.parametrize("name", daily(ON_DEVICE, only=ONE_OF_EACH))
def test_everything_runs_without_jit(name):
    runs("disabled jit", CASES[name])


DERIVED = [
    name
    for name, call in PUBLIC.items()
    if isinstance(call, Call) and all(jnp.issubdtype(jnp.result_type(arg), jnp.inexact) for arg in call.args)
]


@pytest.mark.parametrize("name", daily(DERIVED, only=[*DERIVED[::12], "rmtjax.eigh"]))
def test_derivatives_leave_promotion_to_nobody(name):
    call = PUBLIC[name]
    arrays = lambda *args: [leaf for leaf in jax.tree.leaves(call.fn(*args)) if jnp.issubdtype(leaf.dtype, jnp.inexact)]
    total = lambda *args: sum(jnp.sum(jnp.real(leaf)) for leaf in arrays(*args))
    slopes = jax.grad(total, tuple(range(len(call.args))))
    derivative = (lambda *args: jax.jvp(slopes, args, args)) if call.second_derivative else slopes
    with strict():
        jax.eval_shape(derivative, *map(jnp.asarray, call.args))


INSPECTED = [name for name in CASES if name.startswith(("rmtjax.inference", "rmtjax.statistics"))]


@pytest.mark.parametrize("name", daily(INSPECTED, only=WITH_NAN))
def test_no_clean_data_stop_where_nan_is_an_error(name):
    runs("NaN as an error", CASES[name])


def test_no_mapped_clean_data_stop_where_nan_is_an_error():
    keys, mixed = jax.random.split(jax.random.key(0), 3), rmt.Mixed(rmt.GOE(20), 0.5)  # 3 levels or more
    ratio = lambda key: rmt.statistics.gap_ratios(mixed.eigenvalues(key)).mean()
    exponent = lambda key: rmt.inference.fit_tail(jax.random.pareto(key, 2.0, (200,))).exponent.value
    with jax.debug_nans(True):
        for fn in (ratio, exponent):
            assert (jax.vmap(fn)(keys) > 0).all()
            assert (jax.jit(jax.vmap(fn))(keys) > 0).all()


def test_a_level_below_the_edge_does_not_stop_where_nan_is_an_error():
    with jax.debug_nans(True):
        assert np.isnan(rmt.inference.spike_estimates([1.5, 9.0], 100, 50, 1.0).singular).any()


def test_draws_may_be_nan_where_nan_is_an_error():
    masked = lambda key: rmt.statistics.gap_ratios(rmt.Mixed(rmt.GOE(8), 0.5).eigenvalues(key))
    logarithm = lambda key: jnp.log(-jax.random.uniform(key))
    with jax.debug_nans(True):
        assert not rmt.simulate(masked, jax.random.key(0), 4).mask.all()
        assert np.isnan(rmt.simulate(logarithm, jax.random.key(0), 4)).all()


def test_a_fit_at_the_boundary_does_not_stop_where_nan_is_an_error():
    nodes = np.polynomial.hermite.hermgauss(20)[0]  # the levels at β = ∞
    with jax.debug_nans(True):
        assert np.isnan(rmt.inference.fit_beta(nodes, by="levels").standard_error)


class _Stretched(rmt.laws.AbstractLaw):
    """A user's law, whose parameter is a number of Python."""

    width: float

    def _degrees(self):
        return {"width": 1}

    def _support(self):
        return jnp.asarray(0.0), jnp.asarray(self.width)

    def _pdf(self, x):
        return jnp.ones_like(x) / self.width


def test_parameters_of_a_law_may_be_numbers_of_python_without_jit():
    with jax.disable_jit():
        assert _Stretched(2.0).pdf(0.5) == 0.5


DRAWS = ("sample", "eigenvalues", "eigenphases", "moduli", "count_below", "block", "levels", "tridiagonal")
KEYED = [name for name in CASES if name.endswith(DRAWS) or name in WITH_KEYS or name.startswith("rmtjax.random")]


@pytest.mark.parametrize("name", daily(KEYED, only=WITH_KEYS))
def test_no_key_is_used_twice(name):
    runs("keys used twice", CASES[name])


@pytest.mark.parametrize("name", daily(dict.fromkeys([*ON_DEVICE[::9], *WITH_CONSTANTS]), only=WITH_CONSTANTS))
def test_programs_need_nothing_from_the_host(name):
    runs("no transfers", CASES[name])


def test_a_key_used_twice_and_a_nan_are_noticed():
    key = jax.random.key(0)
    with pytest.raises(jax.errors.KeyReuseError):
        runs("keys used twice", lambda: jax.random.normal(key) + jax.random.uniform(key))
    with pytest.raises(FloatingPointError):
        runs("NaN as an error", lambda: rmt.laws.Semicircle().cdf(jnp.nan))


def test_every_public_name_is_run():
    def has_case(name: str) -> bool:
        return any(case == name or case.startswith((f"{name}.", f"{name} ")) for case in CASES)

    assert [name for name in PUBLIC if not has_case(name) and not name.startswith(tuple(EXEMPT))] == []


def test_a_promotion_left_to_jax_is_noticed():
    for refused in (lambda: jnp.arange(3) * jnp.ones(3), lambda: jnp.ones((2, 3)) * jnp.ones(3)):
        with pytest.raises((TypeError, ValueError), match="promotion"):
            runs("strict promotion", refused)


@pytest.mark.skipif(not X64, reason="there is one precision")
def test_arguments_and_parameters_of_two_precisions_meet():
    single, double = jnp.float32(0.3), jnp.float64(1.5)
    assert rmt.laws.Semicircle(double).cdf(single).dtype == jnp.float64
    assert rmt.laws.Semicircle(single).cdf(double).dtype == jnp.float64
    assert rmt.laws.Semicircle(1.5).cdf(single).dtype == jnp.float32
    assert rmt.GOE(3, single).joint_logpdf(jnp.arange(3.0)).dtype == jnp.float64
    assert rmt.special.sine_kernel(single, double).dtype == jnp.float64
    # The draw, and so the count, does not depend on the precision of the points.
    key, goe = jax.random.key(0), rmt.GOE(40, single)
    levels = goe.eigenvalues(key)
    assert goe.count_below(key, jnp.float64(levels[10]) + 1e-5) == 11


@pytest.mark.skipif(not X64, reason="there is one precision")
def test_common_dtypes_are_those_of_standard_promotion():
    numbers = [jnp.float32(1), jnp.float64(1), jnp.complex64(1), jnp.complex128(1), 1.0, 1j, jnp.asarray(1.0)]
    for one in numbers:
        for other in numbers:
            with jax.numpy_dtype_promotion("standard"):
                expected = jnp.result_type(one, other)
            assert common_dtype(one, other) == expected, (one, other)
    tree = in_one_precision({"a": jnp.float32(1), "b": jnp.complex128(1), "c": jnp.arange(2), "d": 1.0})
    assert [leaf.dtype.name for leaf in tree.values()] == ["float64", "complex128", "int64", "float64"]


def test_cases_of_a_precision_are_of_that_precision():
    assert everything.cast_to(jnp.float32)(rmt.GOE(3, 1.2)).scale.dtype == jnp.float32
