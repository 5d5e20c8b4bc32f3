"""Inverse Wishart matrices: exact moments, dense against reduced, joint density, law."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats

import rmtjax as rmt
from rmtjax.testing import check_derivatives
from tests.cases import further
from tests.ensembles.draws import dense_levels, drawn
from tests.statistical import ERROR_RATE, assert_law, assert_mean

SCALE = 0.7


@pytest.mark.parametrize(
    ("n", "m", "beta"),
    [
        pytest.param(2, 6, 4, marks=pytest.mark.float32(further=True)),
        *further((3, 12, 1), (3, 3, 1), (3, 9, 2), (1, 2, 2)),
    ],
)
def test_exact_laws(getkey, n, m, beta):
    levels, matrices = drawn(rmt.InverseWishart(n, m, beta, SCALE), 20_000, getkey())
    dense = dense_levels(matrices, n)
    # The smallest level of an ill-conditioned sample may be lost in rounding; the reduced model keeps it.
    dense = np.maximum(dense, np.finfo(levels.dtype).eps * dense.max(-1, keepdims=True) / 10)
    unit = SCALE**2 * beta * m
    for x in (levels.astype(np.float64), dense):
        assert (x > 0).all()
        assert_mean(
            np.log(x).sum(-1), n * np.log(unit / 2) - scipy.special.digamma(beta / 2 * (m - np.arange(n))).sum()
        )
        if m > 2 * n:  # so that the square has a mean too
            assert_mean(x.sum(-1), n * SCALE**2 * m / (m - n + 1 - 2 / beta))
    # A diagonal entry is the unit over a χ² variate of β(m - n + 1) degrees (Muirhead 1982, theorem 3.2.12).
    assert_law(unit / matrices[:, 0, 0].real, scipy.stats.chi2(beta * (m - n + 1)).cdf)
    for k in range(n):
        assert scipy.stats.ks_2samp(levels[:, k], dense[:, k]).pvalue > ERROR_RATE


def test_matrices_without_an_inverse_are_refused():
    with pytest.raises(ValueError, match="`m` must be an integer of at least 3, got 2"):
        rmt.InverseWishart(3, 2)


def test_the_law_of_square_matrices_is_free_and_stable(getkey):
    law = rmt.InverseWishart(3, 3, scale=SCALE).law()
    assert isinstance(law, rmt.laws.FreeLevy)
    assert law.scale == SCALE
    levels = np.asarray(drawn(rmt.InverseWishart(40, 40, 2, SCALE), 400, getkey())[0])
    # Levels are rigid: a mean count has an error of 0.03 levels, and differs from n F(x) by as much.
    for x in (0.15, 0.5, 2.0, 30.0, 1000.0):
        assert abs((levels > x).sum(-1).mean() - 40 * float(law.sf(x))) < 0.2


def test_joint_density():
    x = np.array([0.1, 0.7, 2.0])
    ensemble = rmt.InverseWishart(1, 3, 2, SCALE)
    got = [float(ensemble.joint_logpdf(x[i : i + 1])) for i in range(3)]
    np.testing.assert_allclose(got, scipy.stats.invgamma(3, scale=3 * SCALE**2).logpdf(x), rtol=1e-12)
    # Two levels 1/u and 1/v, at Gauss–Legendre nodes in u < v.
    ensemble = rmt.InverseWishart(2, 4, 2, SCALE)
    nodes, weights = np.polynomial.legendre.leggauss(80)
    v = 15 * (nodes + 1)
    u = v[:, None] * (nodes + 1) / 2
    levels = np.stack([1 / u, np.broadcast_to(1 / v[:, None], u.shape)], axis=-1)
    density = np.exp(jax.jit(jax.vmap(jax.vmap(ensemble.joint_logpdf)))(levels))
    mass = np.sum(density / (u**2 * v[:, None] ** 2) * v[:, None] / 2 * weights * 15 * weights[:, None])
    np.testing.assert_allclose(2 * mass, 1, rtol=1e-9)
    assert ensemble.joint_logpdf(jnp.array([-1.0, 1.0])) == -jnp.inf
    check_derivatives(lambda e, x: e.joint_logpdf(x), ensemble, jnp.array([0.4, 1.1]))


def test_derivative(getkey):
    key = getkey()
    check_derivatives(lambda scale: rmt.InverseWishart(3, 4, 2, scale).eigenvalues(key), jnp.asarray(SCALE))
