"""The check of ensembles passes right ensembles and finds planted errors."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from rmtjax import Mixed, PaddedMatrix, Spectrum, Wigner
from rmtjax.ensembles._core.semicircular import AbstractSemicircular
from rmtjax.testing import check_ensemble
from tests.testing.planted import Faulty, Fresh

KEY = jax.random.key(8)


class Static(AbstractSemicircular):
    """A Wigner ensemble with a continuous parameter in a static field."""

    n: int = eqx.field(static=True)
    scale: jax.Array = eqx.field(default_factory=lambda: jnp.asarray(1.0))
    shift: float = eqx.field(static=True, default=0.5)

    def _sample(self, key):
        return Wigner(self.n).sample(key) * self.scale


def _levels(change):
    return lambda base: lambda key: change(base.eigenvalues(key))


def _with(spectrum, **fields):
    """The spectrum with fields that its constructor would refuse."""
    return eqx.tree_at(lambda s: [getattr(s, name) for name in fields], spectrum, [*fields.values()])


def _matrix(change):
    return lambda base: lambda key: change(base.sample(key))


FAULTS = {
    "descending": ("eigenvalues", _levels(lambda v: v[::-1]), "do not ascend"),
    "too few": ("eigenvalues", _levels(lambda v: v[1:]), r"shape \(3,\), not \(4,\)"),
    "complex": ("eigenvalues", _levels(lambda v: v.astype(complex)), "not real"),
    "nan": ("eigenvalues", _levels(lambda v: v.at[2].set(jnp.nan)), "not finite"),
    "jit": (
        "eigenvalues",
        lambda base: lambda key: base.eigenvalues(key) * (1 if isinstance(key, jax.core.Tracer) else 1.0001),
        "check_vmap",
    ),
    "gradient": (
        "eigenvalues",
        lambda base: lambda key: base.eigenvalues(key) + 0 * jnp.sqrt(base.scale - base.scale),
        "derivative",
    ),
    "triangular": ("sample", _matrix(jnp.triu), "differs from its adjoint"),
    "transpose of complex": ("sample", _matrix(lambda h: jax.lax.complex(h, jnp.abs(h))), "differs from its adjoint"),
    "not square": ("sample", _matrix(lambda h: h[:2]), r"is \(2, 4\)"),
    "infinite": ("sample", _matrix(lambda h: h * jnp.inf), "sample is not finite"),
    "one draw": ("sample", lambda base: lambda key: base.sample(KEY), "one and the same sample"),
    "other levels": (
        "count_below",
        lambda base: lambda key, x: base.count_below(jax.random.fold_in(key, 1), x),
        "give",
    ),
    "complement": ("count_below", lambda base: lambda key, x: base.n - base.count_below(key, x), "give"),
    "off by one": ("count_below", lambda base: lambda key, x: base.count_below(key, x) + 1, "give"),
    "float": ("count_below", lambda base: lambda key, x: base.count_below(key, x).astype(float), "not integers"),
}  # fmt: skip


@pytest.mark.slow
def test_a_right_ensemble_passes():
    check_ensemble(Faulty(Wigner(4), "nothing", None), KEY)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_mistake_is_found(fault):
    method, replacement, message = FAULTS[fault]
    with pytest.raises(AssertionError, match=message):
        check_ensemble(Faulty(Wigner(4), method, replacement), KEY)


def test_a_matrix_that_is_not_hermitian_passes_on_request():
    check_ensemble(Faulty(Wigner(4), "sample", _matrix(jnp.triu)), KEY, hermitian=False)


@pytest.mark.parametrize(
    ("method", "replacement", "message"),
    [
        ("eigenvalues", _levels(lambda s: _with(s, values=s.values.at[-1].set(0))), "padding is"),
        ("eigenvalues", _levels(lambda s: _with(s, mask=s.mask | True)), "not finite"),
        ("eigenvalues", _levels(lambda s: Spectrum(s.values, s.mask & False)), "the order is 0"),
        ("sample", _matrix(lambda s: PaddedMatrix(s.values + 1, s.order)), "not zero outside its block"),
    ],
    ids=["spectrum", "mask", "order", "matrix"],
)
def test_wrong_padding_is_found(method, replacement, message):
    with pytest.raises(AssertionError, match=message):
        check_ensemble(Faulty(Mixed(Wigner(6), 0.3), method, replacement), KEY)


@pytest.mark.parametrize("wrap", [lambda e: e, lambda e: Mixed(e, 0.5)], ids=["itself", "nested"])
def test_a_continuous_parameter_in_a_static_field_is_found(wrap):
    with pytest.raises(AssertionError, match=r"shift` = 0.5 is a static field"):
        check_ensemble(wrap(Static(4)), KEY)


def test_a_second_compilation_is_found():
    with pytest.raises(AssertionError, match="compiled anew"):
        check_ensemble(Fresh(Wigner(4)), KEY)
