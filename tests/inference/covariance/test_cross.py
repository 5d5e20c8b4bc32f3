"""Cleaned cross-covariance matrices: nearly as near to the truth as the best singular values for their vectors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.inference import clean_cross_covariance
from tests.cases import further

SIZES = [(300, 60, 90), *further((300, 90, 60), (200, 100, 300), (60, 60, 60))]


def _draw(rng: np.random.Generator, n: int, truth: np.ndarray, *, cplx: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Rows x and y with E x_j ȳ_k = truth."""
    normal = lambda columns: rng.normal(size=(n, columns)) + (1j * rng.normal(size=(n, columns)) if cplx else 0)
    p, q = truth.shape
    x = normal(p) / (2**0.5 if cplx else 1)
    return x, x @ truth.conj() + normal(q)


@pytest.mark.parametrize(("n", "p", "q"), SIZES)
@pytest.mark.parametrize("cplx", [False, *further(True)])
def test_loss_is_nearly_that_of_the_oracle(n, p, q, cplx):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(p, q)) / np.sqrt(max(p, q)) * 0.5
    truth = truth + 1j * truth[::-1] if cplx else truth
    losses = np.zeros(3)
    for _ in range(3):
        x, y = _draw(rng, n, truth, cplx=cplx)
        sample = x.T @ y.conj() / n
        u, _, vh = np.linalg.svd(sample, full_matrices=False)
        best = np.einsum("ji,jk,ik->i", u.conj(), truth, vh.conj()).real
        cleaned = np.asarray(clean_cross_covariance(x, y, center=False))
        losses += [np.linalg.norm(each - truth) ** 2 for each in (sample, cleaned, (u * best) @ vh)]
    assert 0.96 < (losses[0] - losses[1]) / (losses[0] - losses[2]) < 1


def test_independent_sets_have_next_to_no_covariance():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(300, 60)) + 3, rng.normal(size=(300, 90)) * 5
    # The sample has the norm 5 √(60 · 90 / 300) = 21.
    assert np.linalg.norm(clean_cross_covariance(x, y)) < 2


def test_units_and_order_do_not_matter():
    rng = np.random.default_rng(2)
    x, y = _draw(rng, 300, rng.normal(size=(60, 90)) * 0.1)
    found = np.asarray(clean_cross_covariance(x, y))
    np.testing.assert_allclose(clean_cross_covariance(10 * x[::-1] + 2, 3 * y[::-1]), 30 * found, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(clean_cross_covariance(y, x), found.T, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(("p", "q"), [(6, 4), *further((4, 6))])
@pytest.mark.parametrize("cplx", [False, *further(True)])
def test_derivative_is_the_slope(p, q, cplx):
    """Where singular values are equal too: repeated columns leave several of them 0."""
    rng = np.random.default_rng(4)
    x, y = _draw(rng, 30, rng.normal(size=(p, q)), cplx=cplx)
    other, step = rng.normal(size=(p, q)), 1e-5
    value = jax.jit(lambda x, y: jnp.sum(other * jnp.real(clean_cross_covariance(x, y))))
    gradients = jax.jit(jax.grad(value, (0, 1)))
    twice = lambda data: np.concatenate([data[:, :1], data[:, :1], data[:, :1], data[:, 3:]], axis=1)
    for left, right in ((x, y), (twice(x), y), (twice(x), twice(y))):
        dx, dy = _draw(rng, 30, rng.normal(size=(p, q)), cplx=cplx)
        ahead, behind = (float(value(left + d * dx, right + d * dy)) for d in (step, -step))
        slope = sum(np.sum(np.real(g * d)) for g, d in zip(gradients(left, right), (dx, dy), strict=True))
        np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=1e-6)


def test_constant_data_have_finite_derivatives():
    x, y = np.random.default_rng(5).normal(size=(30, 6)), np.ones((30, 4))
    gradients = jax.jit(jax.grad(lambda x, y: jnp.sum(clean_cross_covariance(x, y)), (0, 1)))
    for pair in ((x, y), (np.ones((30, 6)), x[:, :4]), (np.ones((30, 6)), y)):
        for gradient in gradients(*pair):
            np.testing.assert_array_equal(gradient, 0)


def test_other_rows_are_refused():
    with pytest.raises(ValueError, match=r"`y` must have the rows of `x`"):
        clean_cross_covariance(np.random.default_rng(0).normal(size=(5, 3)), np.ones((4, 3)))


def test_data_beyond_the_range_of_single_precision_are_refused():
    x, y = _draw(np.random.default_rng(3), 100, np.eye(8))
    single = lambda data, scale: jnp.asarray(data * scale, jnp.float32)
    for scale in (1e-20, 1e25):
        for name, pair in (("x", (single(x, scale), single(y, 1))), ("y", (single(x, 1), single(y, scale)))):
            with pytest.raises(ValueError, match=f"`{name}` must have squares within the range"):
                clean_cross_covariance(*pair)
            assert np.isnan(jax.jit(clean_cross_covariance)(*pair)).all()
