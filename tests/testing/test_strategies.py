"""The strategies draw all that they promise, with degenerate cases."""

import inspect
import subprocess
import sys

import hypothesis
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rmtjax as rmt
from rmtjax.testing import ensembles, hermitian_matrices, keys, laws, spectra
from rmtjax.testing._kinds import ENSEMBLES, LAWS

N = 4


def exists(strategy, condition):
    """Whether some draw has a property."""
    settings = hypothesis.settings(max_examples=2000, derandomize=True, database=None, deadline=None)
    hypothesis.find(strategy, condition, settings=settings)


@given(keys())
def test_keys_are_typed(key):
    assert jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
    assert key.shape == ()


@pytest.mark.parametrize("dtype", [float, complex, "float32", "complex64"])
def test_matrices_are_exactly_hermitian(dtype):
    @given(hermitian_matrices(N, dtype))
    def check(a):
        assert a.shape == (N, N)
        assert a.dtype == jnp.zeros(0, dtype).dtype
        assert np.array_equal(a, a.conj().T)
        assert np.abs(a).max() <= 1.1e3

    check()


@pytest.mark.parametrize("dtype", [float, "float32"])
def test_spectra_ascend(dtype):
    @given(spectra(N, dtype))
    def check(levels):
        assert levels.shape == (N,)
        assert levels.dtype == jnp.zeros(0, dtype).dtype
        assert (np.diff(levels) >= 0).all()

    check()


@pytest.mark.parametrize(
    "condition",
    [
        lambda s: (np.diff(s) == 0).any() and np.ptp(s) > 0,
        lambda s: np.ptp(s) == 0 and s[0] != 0,
        lambda s: not s.any(),
        lambda s: np.count_nonzero(s) == 1,
        lambda s: (s > 0).all() and s[-1] / s[0] > 1e7,
        lambda s: np.abs(s).max() > 100,
        lambda s: 0 < np.abs(s).max() < 2e-3,
        lambda s: len(set(s.tolist())) == N and s[0] < 0 < s[-1],
    ],
    ids=["ties", "all equal", "zero", "rank one", "graded", "large", "small", "generic"],
)
def test_every_kind_of_spectrum_occurs(condition):
    exists(spectra(N), lambda s: bool(condition(np.asarray(s))))


@pytest.mark.parametrize(
    "condition",
    [
        lambda a: np.abs(np.imag(a)).max() > 0.1,
        lambda a: not a.any(),
        lambda a: np.array_equal(a, np.diag(np.diag(a))) and a.any(),
        lambda a: np.linalg.matrix_rank(a) == 1 and np.count_nonzero(a) == N * N,
    ],
    ids=["complex", "zero", "diagonal", "rank one"],
)
def test_every_kind_of_matrix_occurs(condition):
    exists(hermitian_matrices(N, complex), lambda a: bool(condition(np.asarray(a))))


# Every small size that a kind exists for.
SIZES = {kind: [n for n in (1, 2, 3, N, 5) if arguments(n) is not None] for kind, arguments in ENSEMBLES.items()}


def is_concrete(kind):
    return inspect.isclass(kind) and not inspect.isabstract(kind) and not getattr(kind, "__abstractvars__", frozenset())


def test_every_class_has_a_strategy():
    every = lambda package: {kind for kind in vars(package).values() if is_concrete(kind)}
    no_ensembles = {rmt.ensembles.Edge, rmt.DysonBrownianMotion, rmt.CircularBrownianMotion}
    assert every(rmt.ensembles) - no_ensembles == ENSEMBLES.keys()
    assert every(rmt.laws) == LAWS.keys()


@pytest.mark.parametrize("kind", ENSEMBLES, ids=lambda kind: kind.__name__)
def test_ensembles_have_the_class_and_the_size(kind):
    @hypothesis.settings(max_examples=8)
    @given(st.sampled_from(SIZES[kind]).flatmap(lambda n: st.tuples(st.just(n), ensembles(n, kind))))
    def check(drawn):
        n, ensemble = drawn
        assert type(ensemble) is kind
        assert ensemble.n == n

    check()


@pytest.mark.parametrize("kind", LAWS, ids=lambda kind: kind.__name__)
def test_laws_have_the_class(kind):
    @hypothesis.settings(max_examples=8)
    @given(laws(kind))
    def check(law):
        assert type(law) is kind

    check()


@pytest.mark.parametrize(
    ("strategy", "condition"),
    [
        (ensembles(N), lambda e: isinstance(e, rmt.Wigner) and e.entries == "rademacher" and e.scale > 2),
        (ensembles(N), lambda e: isinstance(e, rmt.Jacobi) and e.beta == 4),
        (ensembles(N, rmt.Mixed), lambda e: e.normalize == "reference" and e.mixture < 0.5),
        (ensembles(N, rmt.ensembles.AbstractUnitaryEnsemble), lambda e: isinstance(e, rmt.HaarSymplectic)),
        (ensembles(N, rmt.ensembles.AbstractNonHermitianEnsemble), lambda e: isinstance(e, rmt.Ginibre)),
        (laws(), lambda law: isinstance(law, rmt.laws.TracyWidom) and law.beta == 4),
        (laws(rmt.laws.AbstractPlanarLaw), lambda law: isinstance(law, rmt.laws.SingleRing)),
    ],
    ids=["Wigner", "Jacobi", "Mixed", "unitary", "non-Hermitian", "law", "planar law"],
)
def test_every_kind_occurs(strategy, condition):
    exists(strategy, lambda drawn: bool(condition(drawn)))


def test_kinds_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="`kinds` must be classes of which the library has one"):
        ensembles(3, rmt.HaarSymplectic)
    with pytest.raises(ValueError, match="`kinds` must be classes of which the library has one"):
        laws(rmt.GOE)


@pytest.mark.parametrize("strategy", [spectra, hermitian_matrices, ensembles])
@pytest.mark.parametrize("n", [0, 2.0, True])
def test_a_wrong_size_is_refused_at_once(strategy, n):
    with pytest.raises(ValueError, match="`n` must be an integer of at least 1"):
        strategy(n)


def test_without_hypothesis_the_message_says_what_to_install():
    script = """
import sys
sys.modules["hypothesis"] = None
import rmtjax
try:
    import rmtjax.testing
except ImportError as error:
    assert 'pip install "rmtjax[test]"' in str(error), error
else:
    raise SystemExit("imported without hypothesis")
"""
    subprocess.run([sys.executable, "-c", script], check=True)
