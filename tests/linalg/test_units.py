"""Spectra of given matrices do not depend on their unit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rmtjax import linalg, statistics
from tests.instances import SYMMETRIC

DTYPE = np.dtype(jnp.zeros(0).dtype)
INFO = np.finfo(DTYPE)
# The power of the unit that a result has; logarithms of three levels have three times that of the unit.
POWERS = {"levels": 1, "vectors": 0, "slopes": 0, "norms": 1, "root": 0.5, "radius": 1, "trace": -1, "density": -1}
POWERS |= {"tridiagonal levels": 1, "tridiagonal vectors": 0, "tridiagonal slopes": 0, "counts": 0}


@jax.jit
def table(c):
    x = jnp.asarray([-1.0, 0.3, 1.2], DTYPE)
    a, general = c * jnp.asarray(SYMMETRIC, DTYPE), c * jnp.asarray(np.vander([0.5, -1.0, 1.5]), DTYPE)
    t = linalg.SymTridiagonal(c * x, c * x[:2])
    levels, vectors = linalg.eigh(a)
    return {
        "levels": linalg.eigvalsh(a),
        "vectors": vectors,
        "slopes": jax.jacobian(linalg.eigvalsh)(a),
        "norms": jnp.stack([linalg.schatten_norm(a, p) for p in (1.0, 2.0, 3.5, jnp.inf)]),
        "root": linalg.matrix_function(jnp.sqrt, a),
        "radius": linalg.spectral_radius(general),
        "trace": statistics.stieltjes(levels, jax.lax.complex(c * x, c * (0 * x + 0.3))),
        "density": statistics.spectral_density(levels, c * x, 0.3 * c),
        "logarithms": jnp.stack([linalg.log_determinant(a), t.log_determinant()]),
        "tridiagonal levels": t.eigenvalues(),
        "tridiagonal vectors": t.eigenvectors(),
        "tridiagonal slopes": jax.jacobian(lambda d: linalg.SymTridiagonal(d, t.off_diagonal).eigenvalues())(
            t.diagonal
        ),
        "counts": t.count_below(c * x),
    }


@pytest.mark.float32
def test_spectra_are_the_same_in_every_unit():
    one = jax.tree.map(np.asarray, table(jnp.ones((), DTYPE)))
    most = INFO.maxexp // 2 - 10

    @given(st.integers(-most, most))
    @example(-most)
    @example(most)
    def in_powers_of_four(k):
        c = np.longdouble(4.0) ** k
        for name, got in table(jnp.asarray(4.0**k, DTYPE)).items():
            expected = one[name] + 3 * np.log(c) if name == "logarithms" else one[name] * c ** POWERS[name]
            limit = 32 * INFO.eps * abs(expected).max()
            np.testing.assert_allclose(got, expected, rtol=0, atol=float(limit), err_msg=name)

    in_powers_of_four()
