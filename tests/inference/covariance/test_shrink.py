"""Shrunk covariance matrices against the papers in NumPy and scikit-learn, and what holds for every method."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn import covariance

import rmtjax as rmt
from rmtjax.inference._core.data import without_mean
from tests.cases import further
from tests.inference.covariance import references

shrink = rmt.inference.shrink_covariance

# p below, at and above n after the mean is taken off.
SHAPES = [(25, 8), (21, 20), (20, 31)]
METHODS = ("qis", "lis", "gis", "analytical", "ledoit-wolf", "oas", "rie", "clipping", "spiked", "sample")
# To compile all methods for the three shapes takes 15 s.
FEW = [
    (method, shape) if method == "qis" and shape == SHAPES[2] else pytest.param(method, shape, marks=pytest.mark.slow)
    for method in METHODS
    for shape in SHAPES
    if method not in ("lis", "gis") or shape != SHAPES[2]
]


def _data(n: int, p: int, *, cplx: bool = False) -> np.ndarray:
    rng = np.random.default_rng(n)
    data = (rng.normal(size=(n, p)) + 1j * rng.normal(size=(n, p)) * cplx) * np.geomspace(1, 3, p) + 5
    return data if cplx else data.real


def _rows(data: np.ndarray) -> np.ndarray:
    return np.asarray(without_mean(jnp.asarray(data)))


@pytest.mark.parametrize(("n", "p"), SHAPES)
@pytest.mark.parametrize("method", ["qis", "analytical"])
def test_nonlinear_shrinkage_is_that_of_the_papers(method, n, p):
    data = _data(n, p)
    expected = getattr(references, method)(_rows(data))
    np.testing.assert_allclose(shrink(data, method=method), expected, rtol=1e-8, atol=1e-9 * abs(expected).max())


@pytest.mark.parametrize("method", ["oas", "rie", "clipping", "qis"])
def test_other_methods_are_those_of_the_papers(method):
    # The smallest level is below the edge for equal variances, so that the inverse Wishart law is another.
    data = _data(25, 8, cplx=method == "qis") * np.geomspace(1, 3, 8)
    expected = getattr(references, method)(_rows(data))
    np.testing.assert_allclose(shrink(data, method=method), expected, rtol=1e-9, atol=1e-9)


def test_ledoit_and_wolf_are_those_of_scikit_learn():
    data = _data(25, 8)
    centred, intensity = covariance.ledoit_wolf(data)
    assert 0.02 < intensity < 0.98
    np.testing.assert_allclose(shrink(data, method="ledoit-wolf"), centred * 25 / 24, rtol=1e-10)
    known = covariance.ledoit_wolf(data - 5, assume_centered=True)[0]
    np.testing.assert_allclose(shrink(data - 5, method="ledoit-wolf", center=False), known, rtol=1e-10)


def test_oas_differs_from_scikit_learn_by_a_term():
    data = _data(25, 8)
    rows = _rows(data)
    theirs, intensity = covariance.oas(rows, assume_centered=True)
    sample = rows.T @ rows / 24
    first, second, p = np.trace(sample), np.sum(sample**2), 8
    with_term = ((1 - 2 / p) * second + first**2) / ((25 - 2 / p) * (second - first**2 / p))
    without_term = (second + first**2) / (25 * (second - first**2 / p))
    np.testing.assert_allclose(intensity, without_term, rtol=1e-10)
    expected = (theirs * (1 - with_term) + (with_term - without_term) * first / p * np.eye(p)) / (1 - without_term)
    np.testing.assert_allclose(shrink(data, method="oas"), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("method", "shape"), FEW)
def test_variables_and_observations_may_be_permuted_scaled_and_moved(method, shape):
    n, p = shape
    data = _data(n, p)
    found = np.asarray(shrink(data, method=method))
    np.testing.assert_allclose(found, found.T, rtol=0, atol=1e-12)
    assert np.linalg.eigvalsh(found)[0] > (-1e-12 if method == "sample" else 0.01)
    rng = np.random.default_rng(0)
    columns, rows = rng.permutation(p), rng.permutation(n)
    other = shrink(1e3 * data[rows][:, columns] + np.arange(p), method=method)
    np.testing.assert_allclose(other, 1e6 * found[columns][:, columns], rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize(("method", "shape"), FEW)
def test_derivative_is_the_slope(method, shape):
    data = jnp.asarray(_data(*shape))
    rng = np.random.default_rng(1)
    weights, direction = rng.normal(size=(shape[1], shape[1])), rng.normal(size=shape)
    value = jax.jit(lambda x: jnp.sum(weights * shrink(x, method=method)))
    slope = jnp.sum(jax.jit(jax.grad(value))(data) * direction)
    step = 1e-5
    expected = (value(data + step * direction) - value(data - step * direction)) / (2 * step)
    np.testing.assert_allclose(slope, expected, rtol=1e-4, atol=1e-6 * float(jnp.abs(slope)) + 1e-7)


@pytest.mark.parametrize("method", ["qis", *further("analytical", "ledoit-wolf", "oas", "rie", "sample", "clipping")])
def test_derivatives_at_equal_levels(method):
    """Whitened data, whitened blocks of three sizes, and rows that are orthogonal to each other."""
    rng = np.random.default_rng(0)
    white = 40**0.5 * np.linalg.qr(rng.normal(size=(40, 6)))[0]
    rows = 20**0.5 * np.linalg.qr(rng.normal(size=(30, 20)))[0].T
    cases = [white, rows, white * np.array([1, 1, 1, 2, 2, 3])]
    for data in cases[
        : 2 if method == "rie" else 3
    ]:  # this has a corner where the smallest of several levels are equal
        direction, weights = (jnp.asarray(rng.normal(size=size)) for size in (data.shape, 2 * data.shape[1:]))
        total = jax.jit(lambda t: jnp.sum(weights * shrink(data + t * direction, method=method, center=False)))  # noqa: B023
        slope = jax.jvp(total, (0.0,), (1.0,))[1]
        wide, narrow = ((total(h) - total(-h)) / (2 * h) for h in (2e-4, 1e-4))
        np.testing.assert_allclose(slope, (4 * narrow - wide) / 3, rtol=1e-8, atol=1e-9)


def _degenerate(kind: str, n: int, p: int) -> np.ndarray:
    data = _data(n, p)
    if kind == "constant column":
        data[:, 3] = 0.1
    elif kind == "repeated column":
        data[:, 3] = data[:, 4]
    elif kind == "repeated rows":
        data[n // 2 :] = data[: n - n // 2]
    elif kind == "constant":
        data[:] = 0.1
    return data


@pytest.mark.parametrize(
    "options", [{"unit_diagonal": True}, *further({"half_life": 7.0}, {}, {"method": "analytical"})], ids=str
)
@pytest.mark.parametrize("shape", [SHAPES[0], *further((SHAPES[2],))])
def test_degenerate_data_have_finite_estimates_and_slopes(options, shape):
    fn = jax.jit(jax.value_and_grad(lambda x: jnp.sum(jnp.sin(shrink(x, **options)))))
    for kind in ("constant column", "repeated column", "repeated rows", "constant"):
        data = _degenerate(kind, *shape)
        estimate, (value, slope) = np.asarray(shrink(data, **options)), fn(data)
        assert np.isfinite(value), kind
        assert float(jnp.max(jnp.abs(slope))) < 1e4, kind
        assert np.linalg.eigvalsh(estimate)[0] > -1e-12, kind
        if options == {"unit_diagonal": True}:
            np.testing.assert_allclose(np.diagonal(estimate), 1, rtol=1e-12)


def _with_spikes(n: int, p: int) -> np.ndarray:
    data = np.random.default_rng(n).normal(size=(n, p))
    data[:, :2] *= 4
    return data


@pytest.mark.parametrize("method", ["qis", "spiked", "clipping", *further("rie", "analytical")])
def test_constant_and_repeated_columns_are_no_variables(method):
    data = _with_spikes(40, 14)
    data[:, 8:] /= 2**0.5
    # A repeated column is one column of √2 times the size in a direction between the two axes.
    repeated = np.concatenate([data, data[:, 8:], np.ones((40, 4))], axis=1)
    axes = np.zeros((24, 14))
    axes[:8, :8], axes[8:14, 8:], axes[14:20, 8:] = np.eye(8), np.eye(6) / 2**0.5, np.eye(6) / 2**0.5
    data[:, 8:] *= 2**0.5
    expected = axes @ np.asarray(shrink(data, method=method)) @ axes.T
    np.testing.assert_allclose(shrink(repeated, method=method), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("method", ["qis", "spiked", "clipping", *further("rie", "analytical")])
def test_repeated_rows_are_no_observations(method):
    data = _with_spikes(15, 31)
    found = np.asarray(shrink(np.concatenate([data, data]), method=method, center=False))
    np.testing.assert_allclose(found, shrink(data, method=method, center=False), rtol=1e-10, atol=1e-12)


def test_few_independent_rows_leave_a_positive_estimate():
    two = np.asarray(shrink(np.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])))
    assert np.trace(two) == pytest.approx(4.0)
    for found in (two, shrink(_degenerate("repeated rows", 20, 31))):
        assert np.linalg.eigvalsh(found)[0] > 0.1


def test_unit_diagonal_is_an_estimate_of_correlations():
    data = _data(25, 8)
    found = np.asarray(shrink(data * np.geomspace(1, 100, 8), unit_diagonal=True))
    np.testing.assert_allclose(np.diagonal(found), 1, rtol=1e-12)
    standard = references.qis(_rows(data / data.std(axis=0)))
    scale = np.sqrt(np.diagonal(standard))
    np.testing.assert_allclose(found, standard / scale[:, None] / scale, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("method", ["sample", "qis", "rie", "analytical", "ledoit-wolf"])
def test_correlations_of_columns_in_any_units(method):
    """The squares of the smallest columns are 0 beside those of the largest ones."""
    data = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32) @ (np.eye(4, dtype=np.float32) + 0.5)
    units = np.float32(2.0) ** np.array([0, -70, 60, -20], np.float32)
    expected = np.asarray(shrink(data, method=method, unit_diagonal=True))
    assert abs(expected[0, 1]) > 0.2
    np.testing.assert_array_equal(shrink(data * units, method=method, unit_diagonal=True), expected)
    narrow = units[:2]
    found = shrink(data[:, :2] * narrow, method=method, standardize=True)
    np.testing.assert_array_equal(found[0], shrink(data[:, :2], method=method, standardize=True)[0] * narrow)


def test_correlations_are_shrunk_and_variances_given_back():
    data = _data(25, 8) * np.geomspace(1, 100, 8)
    data[:, 3] = 0.1
    found, correlations = np.asarray(shrink(data, standardize=True)), np.asarray(shrink(data, unit_diagonal=True))
    np.testing.assert_allclose(np.diagonal(found), data.var(axis=0, ddof=1), rtol=1e-12, atol=1e-25)
    scale = data.std(axis=0, ddof=1)
    np.testing.assert_allclose(found, correlations * scale[:, None] * scale, rtol=1e-10, atol=1e-12)
    assert (found[3] == 0).all()
    weights = np.arange(25.0)
    weighted = shrink(data, standardize=True, weights=weights)
    np.testing.assert_allclose(
        np.diagonal(weighted), np.diagonal(np.cov(data.T, aweights=weights)), rtol=1e-12, atol=1e-25
    )


@pytest.mark.parametrize("method", ["qis", *further(*METHODS[1:-1])])
def test_single_precision_has_its_digits_and_range(method):
    data = _data(*SHAPES[0 if method in ("lis", "gis") else 2])
    expected, found = (shrink(jnp.asarray(data, dtype), method=method) for dtype in ("float64", "float32"))
    assert found.dtype == jnp.float32
    np.testing.assert_allclose(found, expected, rtol=0, atol=3e-5 * float(abs(expected).max()))
    for scale in (1e-20, 1e25):
        beyond = jnp.asarray(data * scale, jnp.float32)
        with pytest.raises(ValueError, match="`data` must have squares within the range"):
            shrink(beyond, method=method)
        assert np.isnan(jax.jit(lambda x: shrink(x, method=method))(beyond)).all()


def test_windows_and_batches():
    data = jnp.asarray(_data(25, 8))
    window = lambda start: shrink(jax.lax.dynamic_slice_in_dim(data, start, 20))
    found = jax.jit(jax.vmap(window))(jnp.arange(3))
    for start in range(3):
        np.testing.assert_allclose(found[start], shrink(data[start : start + 20]), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "lw"}, "`method` must be one of"),
        ({"loss": "stein"}, "`loss` must be left out"),
        ({"method": "spiked", "loss": "absolute"}, "`loss` must be one of"),
        ({"method": "spiked", "noise": -1.0}, "`noise` must be positive"),
        ({"method": "oas", "half_life": 3.0}, "`half_life` must be left out"),
        ({"half_life": 3.0, "weights": np.ones(25)}, "`half_life` must be left out where"),
        ({"half_life": 0.0}, "`half_life` must be positive"),
        ({"standardize": True, "unit_diagonal": True}, "`standardize` must be left out"),
        ({"weights": np.ones(24)}, r"`weights` must have the shape \(25,\)"),
        ({"weights": np.eye(25)[0]}, "leave at least 2 rows"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        shrink(_data(25, 8), **options)


def test_bad_data_are_refused():
    with pytest.raises(ValueError, match="at least 2 rows"):
        shrink(np.ones((1, 3)))
    data = _data(50, 20)
    # NumPy's correlations and inverses are Hermitian up to rounding.
    for matrix in (np.eye(3), np.corrcoef(data.T), np.linalg.inv(np.cov(data.T)), np.corrcoef(data.T).astype("f")):
        with pytest.raises(ValueError, match="Hermitian matrix"):
            shrink(matrix)
    with pytest.raises(ValueError, match=r"1 NaN, first nan at \[0, 0\]"):
        shrink(np.array([[np.nan, 1.0], [1.0, 2.0], [0.0, 1.0]]))
    with pytest.raises(ValueError, match="12 independent rows"):
        shrink(_data(12, 31), method="analytical")
    assert np.isnan(jax.jit(shrink)(np.array([[np.nan, 1.0], [1.0, 2.0], [0.0, 1.0]]))).all()


@pytest.mark.parametrize("method", ["qis", "analytical", "rie"])
def test_repeated_columns_do_not_depend_on_rounding(method):
    data = np.random.default_rng(5).normal(size=(30, 10))
    rotation = np.linalg.qr(np.random.default_rng(6).normal(size=(30, 30)))[0]
    twice = np.append(data, data, axis=1)
    estimates = [shrink(rows, method=method, center=False) for rows in (twice, rotation @ twice)]
    np.testing.assert_allclose(*estimates, rtol=1e-10, atol=1e-10)
    if method == "rie":
        # A constant column changes the others only by p/n, because its level 0 does not come from the data.
        beside = shrink(np.append(data, np.ones((30, 1)), axis=1), method=method)[:10, :10]
        loss = lambda matrix: np.sum((matrix - np.eye(10)) ** 2)
        assert loss(beside) < 2.5 * loss(shrink(data, method=method))
