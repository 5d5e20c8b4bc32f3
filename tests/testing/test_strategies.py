"""The strategies draw what they promise, degenerate cases included."""

import subprocess
import sys

import hypothesis
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given

from rmtjax import GOE, Mixed, Wigner
from rmtjax.testing import ensembles, hermitian_matrices, keys, spectra

N = 4


def exists(strategy, condition):
    """Whether some draw has a property."""
    settings = hypothesis.settings(max_examples=500, derandomize=True, database=None, deadline=None)
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


@given(ensembles(N))
def test_ensembles_have_the_size(ensemble):
    assert ensemble.n == N


@pytest.mark.parametrize(
    "condition",
    [
        lambda e: isinstance(e, GOE),
        lambda e: isinstance(e, Wigner) and e.entries == "rademacher" and e.diagonal_variance == 0,
        lambda e: isinstance(e, Mixed) and e.normalize == "reference" and e.mixture < 0.5,
        lambda e: isinstance(e, Mixed) and isinstance(e.base, Wigner) and e.base.scale > 2,
    ],
    ids=["GOE", "sign matrix", "mixed", "mixed Wigner"],
)
def test_every_kind_of_ensemble_occurs(condition):
    exists(ensembles(N), lambda e: bool(condition(e)))


@given(ensembles(N, mixed=False))
def test_mixed_ensembles_can_be_left_out(ensemble):
    assert not isinstance(ensemble, Mixed)


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
