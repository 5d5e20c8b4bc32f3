"""Denoised matrices against the papers' formulas in NumPy, the best values of a 2 × 2 problem, and simulation."""

from functools import partial
from typing import get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from rmtjax.inference import denoise, denoise_patches, optimal_hard_threshold, signal_rank
from rmtjax.inference._signal.singular_values import Loss, shrunk

N, P = 12, 7


def data(*, cplx: bool = False, transposed: bool = False) -> np.ndarray:
    """Noise of level 1 with a strong and a weak component."""
    rng = np.random.default_rng(5)
    normal = lambda *shape: (
        rng.normal(size=shape) if not cplx else rng.normal(size=(*shape, 2)).view(complex)[..., 0] / np.sqrt(2)
    )
    signal = normal(N, 2) * np.array([4.0, 2.0]) @ normal(2, P)
    matrix = signal + normal(N, P)
    return matrix.T if transposed else matrix


def reference(y: np.ndarray, sigma: float | None, loss: str) -> np.ndarray:
    """Written from the papers: singular values in units of sqrt(N) σ, for a matrix that is not taller than wide."""
    if y.shape[0] > y.shape[1]:
        return reference(y.T, sigma, loss).T
    m, n = y.shape
    beta = m / n
    u, s, vh = np.linalg.svd(y, full_matrices=False)
    if sigma is None:
        threshold = optimal_hard_threshold(m, n)
        sigma = np.median(s) * float(threshold.median_rule / threshold.known_noise) / np.sqrt(n)
    new = []
    for value in s / (sigma * np.sqrt(n)):
        bulk = value**2 - beta - 1
        if value <= 1 + np.sqrt(beta):
            new.append(0.0)
            continue
        x = np.sqrt((bulk + np.sqrt(bulk**2 - 4 * beta)) / 2)
        left, right = np.sqrt((x**4 - beta) / (x**4 + beta * x**2)), np.sqrt((x**4 - beta) / (x**4 + x**2))
        new.append(
            {
                "frobenius": np.sqrt(bulk**2 - 4 * beta) / value,
                "operator": x * min(left, right) / max(left, right),
                "nuclear": max(0, (x**4 - beta - np.sqrt(beta) * x * value) / (x**2 * value)),
                "hard": value if value > float(optimal_hard_threshold(m, n).known_noise) else 0.0,
            }[loss]
        )
    return (u * (np.array(new) * sigma * np.sqrt(n))) @ vh


@pytest.mark.parametrize("loss", get_args(Loss))
def test_against_the_papers_formulas(loss):
    y = data()
    result, other = denoise(y, loss=loss), denoise(y.T, loss=loss)
    np.testing.assert_allclose(result.matrix, reference(y, None, loss), rtol=0, atol=1e-10)
    # With another ratio than the smaller over the larger side this fails by a tenth.
    np.testing.assert_allclose(other.matrix, result.matrix.T, rtol=0, atol=1e-10)
    assert 1 <= result.rank == np.linalg.matrix_rank(result.matrix)
    assert (result.n, result.p, other.n, other.p) == (N, P, P, N)
    y = data(cplx=True)
    np.testing.assert_allclose(denoise(y, loss=loss, noise=0.8).matrix, reference(y, 0.8, loss), rtol=0, atol=1e-10)


def block(x: float, beta: float) -> tuple[float, np.ndarray, np.ndarray]:
    """The place where a singular value x appears, and its vectors in their two planes; in units of the noise."""
    s = np.sqrt((x**2 + 1) * (x**2 + beta)) / x
    cosines = np.sqrt((x**4 - beta) / (x**4 + x**2 * np.array([beta, 1.0])))
    left, right = np.stack([cosines, np.sqrt(1 - cosines**2)], axis=-1)
    return s, left, right


NORMS = {"frobenius": "fro", "operator": 2, "nuclear": "nuc"}


def best(x: float, beta: float, loss: str) -> tuple[float, float]:
    """The best new singular value and the loss that it leaves, by a search."""
    _, left, right = block(x, beta)
    cost = lambda eta: np.linalg.norm(np.diag([x, 0]) - eta * np.outer(left, right), NORMS[loss])
    found = minimize_scalar(cost, bounds=(0, 2 * x), method="bounded", options={"xatol": 1e-10})
    return (found.x, found.fun) if found.fun < cost(0.0) else (0.0, x)


@pytest.mark.parametrize("loss", NORMS)
def test_no_other_value_has_a_smaller_loss(loss):
    for beta in (0.2, 1.0):
        for x in (1.05 * beta**0.25, 1.7, 6.0):
            s = block(x, beta)[0]
            value = float(shrunk(jnp.asarray(s), jnp.asarray(1.0), beta, loss))
            np.testing.assert_allclose(value, best(x, beta, loss)[0], rtol=0, atol=2e-5)


@pytest.mark.parametrize("cplx", [False, True])
def test_derivative_is_that_of_differences(cplx):
    rng = np.random.default_rng(1)
    y = data(cplx=cplx, transposed=cplx)
    along = rng.normal(size=y.shape) + (1j * rng.normal(size=y.shape) if cplx else 0)
    function = lambda y: denoise(y).matrix
    slope = jax.jvp(function, (y,), (along,))[1]
    step = 1e-6 * along
    np.testing.assert_allclose(slope, (function(y + step) - function(y - step)) / 2e-6, rtol=0, atol=1e-7)


def test_derivative_at_equal_singular_values_and_at_the_edge():
    function = lambda y: denoise(y, noise=0.3).matrix
    along = np.random.default_rng(1).normal(size=(N, P))
    y = jnp.zeros((N, P)).at[jnp.arange(P), jnp.arange(P)].set(jnp.array([5.0, 5, 5, 1, 1, 0, 0]))
    slope = jax.jvp(function, (y,), (along,))[1]
    np.testing.assert_allclose(
        slope, (function(y + 1e-6 * along) - function(y - 1e-6 * along)) / 2e-6, rtol=0, atol=1e-6
    )
    edge = (1 + np.sqrt(P / N)) * np.sqrt(N) * 0.3
    for s in (edge, edge * (1 + 1e-15)):
        assert np.isfinite(jax.jvp(function, (s * y / 5,), (along,))[1]).all()


def test_mean_is_taken_away_and_added_again():
    y = data() + 50.0
    result = denoise(y, center=True)
    deviations = y - y.mean(0)
    u, s, vh = np.linalg.svd(deviations, full_matrices=False)
    np.testing.assert_allclose(result.singular_values, s, rtol=0, atol=1e-10)
    # n - 1 independent rows: the median rule and the edge have β = 7/11.
    beta, scale = P / (N - 1), float(result.noise) * np.sqrt(N - 1)
    np.testing.assert_allclose(
        result.shrunk_values, shrunk(jnp.asarray(s), scale, beta, "frobenius"), rtol=0, atol=1e-10
    )
    np.testing.assert_allclose(
        result.matrix, y.mean(0) + (u * np.asarray(result.shrunk_values)) @ vh, rtol=0, atol=1e-10
    )


def test_batch_and_noise_of_each():
    y = np.stack([data(), 3 * data()])
    result = denoise(y, noise=np.array([1.0, 3.0]))
    np.testing.assert_allclose(result.matrix[1], 3 * result.matrix[0], rtol=0, atol=1e-10)
    assert result.rank.shape == (2,)
    np.testing.assert_allclose(jax.vmap(lambda y: denoise(y).noise)(y), denoise(y).noise, rtol=1e-12)


@pytest.mark.parametrize("dtype", [pytest.param("float32", marks=pytest.mark.float32), "float64"])
def test_weak_components_beside_strong_ones(dtype):
    """A component a hundred thousand times the noise in single precision: its square would swallow the noise."""
    rng = np.random.default_rng(2)
    noise = rng.normal(size=(40, 30))
    strong, weak = np.outer(np.ones(40), np.ones(30)), np.outer(rng.normal(size=40), rng.normal(size=30))
    result = denoise(jnp.asarray(1e5 * strong + 2 * weak + noise, dtype))
    assert result.matrix.dtype == dtype
    assert result.rank == 2
    np.testing.assert_allclose(result.noise, 1.0, rtol=0.1)
    small = denoise(jnp.asarray(1e-25 * (2 * weak + noise), dtype), loss="nuclear")
    assert small.rank == 1


def test_without_noise_nothing_changes():
    y = jnp.outer(jnp.arange(1.0, N + 1), jnp.ones(P))
    result = denoise(y)
    assert result.noise < 1e-14
    np.testing.assert_allclose(result.matrix, y, rtol=1e-12)
    assert not denoise(0 * y).matrix.any()


def test_symmetric_matrices_are_data():
    i = np.arange(P)
    hankel = np.cos(0.7 * (i[:, None] + i))
    noise = np.random.default_rng(0).normal(size=(P, P))
    y = 20 * hankel + (noise + noise.T) / 2**0.5
    result = denoise(y, noise=1.0)
    assert result.rank == 2
    np.testing.assert_allclose(result.matrix, result.matrix.T, rtol=0, atol=1e-12)
    np.testing.assert_allclose(result.matrix, reference(y, 1.0, "frobenius"), rtol=0, atol=1e-10)
    for other in (signal_rank, denoise_patches):
        with pytest.raises(ValueError, match="observations × variables, got a Hermitian matrix"):
            other(y)


def test_refuses_what_is_no_data():
    y = data()
    for arguments, message in (
        ({"loss": "spectral"}, "`loss` must be one of 'frobenius', 'operator', 'nuclear', 'hard'"),
        ({"noise": -1.0}, "`noise` must be positive and finite"),
        ({"noise": np.ones(3)}, "`noise` must be a number, or have the shape"),
        ({"center": 2}, "`center` must be one of"),
    ):
        with pytest.raises(ValueError, match=message):
            denoise(y, **arguments)
    with pytest.raises(ValueError, match="1 NaN"):
        denoise(np.where(y == y[3, 2], np.nan, y))
    with pytest.raises(ValueError, match="at least 3 rows"):
        denoise(y[:2], center=True)
    assert np.isnan(jax.jit(partial(denoise, loss="hard"))(y, noise=0.0).matrix).all()


def planted(key: jax.Array, n: int, p: int, x: np.ndarray) -> tuple[jax.Array, jax.Array]:
    """Components x sqrt(max(n, p)) with uniform vectors, and the same in noise of level 1."""
    left, right, noise = jax.random.split(key, 3)
    u = jnp.linalg.qr(jax.random.normal(left, (n, x.size)))[0]
    v = jnp.linalg.qr(jax.random.normal(right, (p, x.size)))[0]
    signal = (u * jnp.asarray(x * max(n, p) ** 0.5, u.dtype)[None]) @ v.T
    return signal, signal + jax.random.normal(noise, (n, p))


LOSS_OF = {"frobenius": lambda s: jnp.sum(s**2), "operator": lambda s: s[0], "nuclear": jnp.sum}


@pytest.mark.slow
@pytest.mark.heavy
@pytest.mark.parametrize("loss", NORMS)
@pytest.mark.parametrize(("n", "p", "known"), [(500, 500, True), (300, 600, False), (800, 200, True)])
def test_reaches_the_asymptotic_loss(getkey, loss, n, p, known):
    """100 draws: the mean loss is the asymptotic one within its error and the distance of the sizes from the limit.

    Shrinking by the formula of a square matrix, or by thresholds, misses it by more than a tenth.
    """
    beta = min(n, p) / max(n, p)
    x = np.array([3.0, 1.8]) * beta**0.25
    if loss == "operator":
        x = x[:1]

    @jax.jit
    def losses(key: jax.Array) -> jax.Array:
        signal, y = planted(key, n, p, x)
        found = denoise(y, loss=loss, noise=1.0 if known else None).matrix
        # The difference has rank 2 r, so its singular values come from two small factors.
        error = jnp.linalg.svd(signal - found, compute_uv=False)
        return LOSS_OF[loss](error / max(n, p) ** 0.5)

    values = np.array([losses(key) for key in jax.random.split(getkey(), 100)])
    exact = sum(best(each, beta, loss)[1] ** (2 if loss == "frobenius" else 1) for each in x)
    # The operator norm at the best value is the larger one of two equal numbers, so fluctuations of either move it up.
    finite = values.std(ddof=1) if loss == "operator" else 0.01 * exact
    assert abs(values.mean() - exact) < 5 * values.std(ddof=1) / 10 + finite


@pytest.mark.slow
def test_squared_error_is_below_that_of_every_threshold(getkey):
    n, p, x = 120, 80, np.array([1.3])
    errors = []
    for key in jax.random.split(getkey(), 60):
        signal, y = map(np.asarray, planted(key, n, p, x))
        u, s, vh = np.linalg.svd(y, full_matrices=False)
        cut = np.linspace(0.7, 1.3, 13)[:, None] * (np.sqrt(n) + np.sqrt(p))
        hard, soft = s * (s > cut), np.maximum(s - cut, 0)
        new = [denoise(y, noise=1.0).shrunk_values, *hard, *soft]
        errors.append([np.sum(((u * np.asarray(values)) @ vh - signal) ** 2) for values in new])
    best_of_all, *others = np.mean(errors, axis=0)
    assert best_of_all < 0.97 * min(others)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(12, 8), (60, 40), (40, 60), (200, 200)])
def test_matrices_of_low_rank_have_their_rank(shape, dtype):
    """NumPy gives the same rank; the other singular values are rounding and no signal."""
    rng = np.random.default_rng(0)
    table = np.outer(rng.integers(1, 9, shape[0]), rng.integers(1, 9, shape[1]))
    product = rng.normal(size=(shape[0], 3)) @ rng.normal(size=(3, shape[1]))
    for matrix in (table, product):
        data = jnp.asarray(matrix, dtype)
        rank = np.linalg.matrix_rank(np.asarray(data))
        for options in ({}, {"loss": "hard"}, {"noise": 1e-30}):
            found = denoise(data, **options)
            assert found.rank == rank
            np.testing.assert_allclose(found.matrix, data, rtol=0, atol=1e3 * np.finfo(dtype).eps * abs(data).max())
        for rule in ("mp-pca", "frobenius"):
            patches = denoise_patches(data, rule=rule, center=False)
            assert patches.rank == rank
