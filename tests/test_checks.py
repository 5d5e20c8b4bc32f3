"""Which arguments are accepted, and the error messages for the others."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
import scipy.stats

import rmtjax as rmt

INTEGERS = [np.array([[2, 1], [1, 2]]), [[2, 1], [1, 2]], jnp.array([[2, 1], [1, 2]], jnp.int8)]


@pytest.mark.float32
@pytest.mark.parametrize("a", INTEGERS, ids=["numpy", "list", "int8"])
def test_matrices_of_whole_numbers_are_matrices(a):
    default = jnp.zeros(0).dtype
    for got, expected in [
        (rmt.eigvalsh(a), [1, 3]),
        (rmt.eigh(a)[0], [1, 3]),
        (rmt.spectral_radius(a), 3),
        (rmt.linalg.log_determinant(a), np.log(3)),
        (rmt.linalg.schatten_norm(a, 1), 4),
    ]:
        assert got.dtype == default
        np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_an_adjacency_matrix_of_booleans():
    cycle = np.roll(np.eye(4, dtype=bool), 1, axis=0)
    np.testing.assert_allclose(rmt.eigvalsh(cycle | cycle.T), [-2, 0, 0, 2], rtol=0, atol=1e-14)


def test_a_matrix_of_something_else_is_refused():
    with pytest.raises(ValueError, match="`a` must hold real or complex numbers, not random keys, got 'key<fry>'"):
        rmt.eigvalsh(jax.random.split(jax.random.key(0), (2, 2)))


def test_a_traced_size_is_named_as_such():
    message = r"`n` must be an integer of at least 1, known before tracing \(static\), got"
    with pytest.raises(ValueError, match=message):
        jax.jit(lambda n: rmt.GOE(n).scale)(3)
    with pytest.raises(ValueError, match=message):
        jax.vmap(lambda n: rmt.CUE(n).n)(jnp.arange(1, 4))


@pytest.mark.float32
@pytest.mark.parametrize("value", [1e300, np.float64(1e300), 10**300], ids=["float", "numpy", "integer"])
def test_what_overflows_single_precision_is_named_as_such(value):
    make = [
        lambda: rmt.GOE(3, value),
        lambda: rmt.laws.GeneralMarchenkoPastur(0.5, [1.0, value]),
        lambda: rmt.eigvalsh([[1.0, 0.0], [0.0, value]]),
        lambda: rmt.Histogram([1.0, value]),
        lambda: rmt.inference.shrink_covariance([[1.0], [value]]),
        lambda: rmt.statistics.Estimate(jnp.asarray(1.0), jnp.asarray(1.0), 9).z_score(value),
    ]
    if jax.config.read("jax_enable_x64"):
        assert [float(leaf) for leaf in jax.tree.leaves(make[0]())] == [1e300]
        return
    for call, name in zip(make, ("scale", "population", "a", "edges", "data", "reference"), strict=True):
        largest = r"3.4e\+38, the largest float32 \(`jax_enable_x64` allows for more\)"
        with pytest.raises(ValueError, match=rf"`{name}` must not exceed {largest}, got .*1(e\+300|0{{300}})"):
            call()
    # A point may be larger than every number of the dtype.
    assert rmt.laws.Semicircle().cdf(float(value)) == 1


@pytest.mark.float32
def test_a_wide_whole_number_is_a_number():
    np.testing.assert_allclose(rmt.GOE(3, 2**70).scale, 2.0**70)


def test_the_density_of_a_batch_asks_for_vmap():
    with pytest.raises(ValueError, match=r"must have the shape \(4,\) \(use `jax.vmap` for several\), got \(3, 4\)"):
        rmt.GOE(4).joint_logpdf(np.zeros((3, 4)))
    with pytest.raises(ValueError, match=r"must have the shape \(4,\), got \(3,\)"):
        rmt.GOE(4).joint_logpdf(np.zeros(3))


def test_long_arrays_are_not_shown_whole():
    values = np.linspace(0.5, 1.5, 60).reshape(3, 20)
    with pytest.raises(ValueError, match=r"`x` must be real, got complex128 of shape \(3, 20\)\.$"):
        rmt.laws.Semicircle().pdf(1j * values)
    broken = values.copy()
    broken[1, 4] = np.nan
    with pytest.raises(
        ValueError, match=r"`times` must be finite, got float64 of shape \(3, 20\) with nan at \[1, 4\]\.$"
    ):
        rmt.statistics.form_factor(jnp.arange(3.0), broken)
    with pytest.raises(
        ValueError, match=r"must be positive and finite, got float64 of shape \(3, 20\) from -0.5 to 1.5"
    ):
        rmt.statistics.level_repulsion(jnp.arange(3.0), np.where(values == 0.5, -0.5, values))
    with pytest.raises(ValueError, match=r"must be finite and strictly ascending, got Array\(\[0., 0.\]"):
        rmt.statistics.level_density(jnp.arange(3.0), [0.0, 0.0])


@pytest.mark.float32
def test_what_is_zero_in_a_program_is_not_positive():
    tiny = float(jnp.finfo(jnp.result_type(float)).tiny)
    for make, name in (
        (rmt.laws.Semicircle, "radius"),
        (lambda scale: rmt.GOE(3, scale), "scale"),
        (lambda beta: rmt.GaussianBeta(3, beta), "beta"),
        (lambda width: rmt.statistics.spectral_density([1.0], [1.0], width), "width"),
    ):
        make(tiny)
        smallest = rf"`{name}` must be positive, and at least .* the smallest float\d\d"
        for small in (tiny / 2, np.float64(tiny / 8)):
            with pytest.raises(ValueError, match=smallest):
                make(small)
            with pytest.raises(ValueError, match=rf"`{name}` must be positive"):
                make(jnp.asarray(small))
        with pytest.raises(ValueError, match=rf"`{name}` must be positive( and finite)?, got 0.0"):
            make(0.0)
    if not jax.config.read("jax_enable_x64"):
        with pytest.raises(ValueError, match=r"at least 1.2e-38, the smallest float32 .*, got 1e-50"):
            rmt.GOE(3, 1e-50)


@pytest.mark.float32
def test_what_single_precision_does_not_tell_apart_is_named_as_such():
    for make, name in (
        (lambda ends: rmt.laws.Uniform(*ends), "upper"),
        (rmt.Histogram, "edges"),
        (lambda ends: rmt.special.fredholm_det(lambda x, y: x * y, ends, num_nodes=6), "interval"),
    ):
        for kind in (tuple, list, np.asarray):
            ends = kind([1e9, 1e9 + 30])
            if jax.config.read("jax_enable_x64"):
                make(ends)
                continue
            with pytest.raises(ValueError, match=rf"`{name}` must be numbers that float32 tells apart .*0{{7}}3"):
                make(ends)


GOE = rmt.GOE(4)
LEVELS = np.array([-1.1, 0.2, 0.9, 1.4])
SPARSE = scipy.sparse.csr_matrix(np.diag(LEVELS))
KEY = jax.random.key(0)
WORDS = {
    "sparse data": (lambda: rmt.inference.shrink_covariance(SPARSE), r"`\.toarray\(\)` makes an array"),
    "sparse matrix": (lambda: rmt.eigvalsh(SPARSE), r"`\.toarray\(\)` makes an array"),
    "swapped": (lambda: rmt.simulate(GOE.eigenvalues, 10, KEY), "got a random key|typed key"),  # pyright: ignore
    "over samples": (lambda: rmt.statistics.over_samples(LEVELS[None], np.mean), "which comes before the samples"),  # pyright: ignore
    "ensemble": (lambda: rmt.simulate(GOE, KEY, 10), r"such as a method of an ensemble \(`goe\.eigenvalues`\)"),  # pyright: ignore
    "bins": (lambda: rmt.Histogram(50), r"`jnp\.linspace\(low, high, 51\)` for 50 bins"),  # pyright: ignore
    **{
        f"SciPy's {name}": (
            lambda law=law: rmt.inference.kolmogorov_smirnov(LEVELS, law, calibration="independent"),
            r"`law` must .* test `cdf\(levels\)` against `laws\.Uniform\(\)`",
        )
        for name, law in {"law": scipy.stats.norm, "frozen": scipy.stats.norm(), "cdf": scipy.stats.norm.cdf}.items()
    },
}


@pytest.mark.parametrize("name", WORDS)
def test_an_error_says_what_to_write_instead(name):
    call, message = WORDS[name]
    with pytest.raises(ValueError, match=message):
        call()
