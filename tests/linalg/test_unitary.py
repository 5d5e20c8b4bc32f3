"""Phases of dense unitary matrices: against LAPACK, at the cut, at double phases, near the pole, derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.linalg.internal import unitary_phases
from rmtjax.testing import check_derivatives
from tests.ensembles.draws import dense_phases

KINDS = {
    "symmetric": (rmt.COE, {"symmetric": True}),
    "unitary": (rmt.CUE, {}),
    "double": (rmt.CSE, {"multiplicity": 2}),
}
phases_of = jax.jit(unitary_phases, static_argnames=("symmetric", "multiplicity"))


@pytest.mark.float32
@pytest.mark.parametrize(("ensemble", "options"), KINDS.values(), ids=KINDS)
def test_phases_against_lapack(getkey, ensemble, options):
    for n in (1, 2, 60):
        u = ensemble(n).sample(getkey())
        found = np.asarray(phases_of(u, **options), np.float64)
        copies = options.get("multiplicity", 1)
        reference = dense_phases(np.asarray(u))[::copies]
        assert found.shape == (n,)
        assert (np.diff(found) > 0).all()
        np.testing.assert_allclose(
            np.exp(1j * found), np.exp(1j * reference), rtol=0, atol=60 * np.finfo(u.real.dtype).eps
        )


@pytest.mark.parametrize(
    "phases",
    [
        [0.0, 0.0, 0.0],
        [np.pi, np.pi, 1.0, 1.0],
        [2**0.5 - np.pi, 0.0, 1.0, 2.0],  # the pole of the first transform
        [2**0.5 - np.pi + 1e-12, 0.0, 1.0, 2.0],
        [-3.0, 3.0, 3.1, -3.1],
    ],
)
def test_special_phases(getkey, phases):
    # In general position; a phase of π may come out as -π, as rounding decides.
    v = rmt.CUE(len(phases)).sample(getkey())
    u = v @ jnp.diag(jnp.asarray(np.exp(1j * np.array(phases)), v.dtype)) @ v.conj().T
    found = np.asarray(phases_of(u), np.float64)
    apart = np.abs(np.exp(1j * found)[:, None] - np.exp(1j * np.array(phases))[None])
    atol = 30 * np.finfo(u.real.dtype).eps
    assert (apart.min(0) < atol).all()
    assert (apart.min(1) < atol).all()
    assert (np.diff(found) >= 0).all()


def test_first_and_second_derivatives(getkey):
    v = rmt.CUE(3).sample(getkey())

    def phases(start):
        turned = jax.lax.complex(jnp.cos(start), jnp.sin(start))
        return unitary_phases(turned[:, None] * v.astype(turned.dtype))

    start = jnp.array([0.1, 2.0, -1.0])
    check_derivatives(phases, start)
    check_derivatives(jax.grad(lambda x: phases(x)[0]), start)
