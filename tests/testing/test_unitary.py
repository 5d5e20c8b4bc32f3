"""The check of unitary ensembles passes right ensembles and finds planted errors."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from rmtjax import CircularBeta
from rmtjax._module import AbstractModule
from rmtjax.testing import check_unitary_ensemble
from tests.testing.planted import Faulty, Fresh

KEY = jax.random.key(8)


def _after(method, change):
    return method, lambda base: lambda key: change(getattr(base, method)(key))


FAULTS = {
    "descending": (*_after("eigenphases", lambda v: v[::-1]), "do not ascend"),
    "too few": (*_after("eigenphases", lambda v: v[1:]), r"shape \(2,\), not \(3,\)"),
    "complex": (*_after("eigenphases", lambda v: v.astype(complex)), "not real"),
    "another turn": (*_after("eigenphases", lambda v: v + jnp.pi), "not in"),
    "the open end": (*_after("eigenphases", lambda v: v.at[0].set(-jnp.pi)), "not in"),
    "nan": (*_after("eigenphases", lambda v: v.at[2].set(jnp.nan)), "not in"),
    "jit": (
        "eigenphases",
        lambda base: lambda key: base.eigenphases(key) * (1 if isinstance(key, jax.core.Tracer) else 0.9999),
        "check_unitary_ensemble|check_vmap",
    ),
    "gradient": (
        "eigenphases",
        lambda base: lambda key: base.eigenphases(key) + 0 * jnp.sqrt(base.beta - base.beta),
        "derivative",
    ),
    "conjugate": (*_after("eigenvalues", jnp.conj), "eigenvalues against"),
    "real eigenvalues": (*_after("eigenvalues", jnp.real), "eigenvalues against"),
    "scaled": (*_after("sample", lambda u: 1.001 * u), "off 1 by"),
    "not square": (*_after("sample", lambda u: u[:2]), r"is \(2, 3\)"),
    "infinite": (*_after("sample", lambda u: u * jnp.inf), "sample is not finite"),
    "one draw": ("sample", lambda base: lambda key: base.sample(KEY), "one and the same sample"),
    "other phases": (
        "count_below",
        lambda base: lambda key, x: base.count_below(jax.random.fold_in(key, 1), x),
        "gives",
    ),
    "complement": ("count_below", lambda base: lambda key, x: base.n - base.count_below(key, x), "gives"),
    "float": ("count_below", lambda base: lambda key, x: base.count_below(key, x).astype(float), "not integers"),
}


@pytest.mark.slow
def test_a_right_ensemble_passes():
    check_unitary_ensemble(Faulty(CircularBeta(3, 1.7), "nothing", None), KEY)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_mistake_is_found(fault):
    method, replacement, message = FAULTS[fault]
    with pytest.raises(AssertionError, match=message):
        check_unitary_ensemble(Faulty(CircularBeta(3, 1.7), method, replacement), KEY)


class Static(AbstractModule):
    """An ensemble with a continuous parameter in a static field."""

    base: AbstractModule
    shift: float = eqx.field(static=True, default=0.5)


def test_a_continuous_parameter_in_a_static_field_is_found():
    with pytest.raises(AssertionError, match=r"ensemble.shift` = 0.5 is a static field"):
        check_unitary_ensemble(Static(CircularBeta(3, 1.7)), KEY)


def test_a_second_compilation_is_found():
    with pytest.raises(AssertionError, match="compiled anew"):
        check_unitary_ensemble(Fresh(CircularBeta(3, 1.7)), KEY)
