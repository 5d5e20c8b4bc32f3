"""The law of variance profiles: closed forms, Newton's method along the axis, bands, derivatives, drawn matrices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import rmtjax as rmt
from rmtjax.laws import DeformedSemicircle, Semicircle, VarianceProfileLaw
from tests.cases import DTYPES

EXACT = {np.float32: 3e-6, np.float64: 1e-14}
# With one band and with several, with frequencies and without.
PROFILES = {
    "one type": ([[0.7]], None, [0.3]),
    "full": ([[1.0, 0.25], [0.25, 4.0]], [0.75, 0.25], None),
    "nearly blocks": ([[1.0, 1e-3, 0.0], [1e-3, 0.05, 1e-3], [0.0, 1e-3, 0.3]], [0.2, 0.5, 0.3], [-2.0, 0.0, 2.0]),
    "five": (np.exp(-np.abs(np.subtract.outer(np.arange(5), np.arange(5)))), None, [-3.0, -1.0, 0.0, 0.5, 4.0]),
}


def law_of(name):
    return VarianceProfileLaw(*PROFILES[name])


def by_newton(law, x):
    """The solution at real x in NumPy: Newton's method with steps of Im z from far above down to the axis."""
    means = np.asarray(law.means, float)
    masses = np.asarray(law.weights, float)
    profile = np.asarray(law.variances, float) * masses
    solutions = []
    for point in np.asarray(x, float):
        g = np.full(means.size, 1 / (point + 1e3j))
        for height in [*10.0 ** np.arange(3, -16, -0.25), 0.0]:
            for _ in range(60):
                error = 1 / g - (point + 1j * height - means) + profile @ g
                move = np.linalg.solve(np.diag(1 / g**2) - profile, error)
                while (g + move).imag.max() > 0 and np.abs(move).max() > 1e-13 * np.abs(g).max():
                    move = move / 2
                g = g + move
                if np.abs(move).max() < 1e-14 * np.abs(g).max():
                    break
        solutions.append(g)
    return np.array(solutions) @ masses


@pytest.mark.parametrize("dtype", DTYPES)
def test_closed_forms(dtype):
    x = np.linspace(-3.1, 3.1, 201, dtype=dtype)
    rows_of_one_sum = np.asarray([[0.5, 1.5, 1.0], [1.5, 0.25, 1.25], [1.0, 1.25, 0.75]], dtype)
    places, masses = np.asarray([[-1.2, 0.9], [0.4, 0.6]], dtype)
    two_points = VarianceProfileLaw(np.full((2, 2), 0.16, dtype), masses, places)
    cases = (
        (VarianceProfileLaw(rows_of_one_sum), Semicircle(np.asarray(2.0, dtype))),
        (two_points, DeformedSemicircle(places, masses, 0.8)),
    )
    for law, closed in cases:
        for method in ("pdf", "cdf"):
            ours, exact = getattr(law, method)(x), getattr(closed, method)(x)
            assert ours.dtype == dtype
            np.testing.assert_allclose(ours, exact, rtol=0, atol=EXACT[dtype])
        np.testing.assert_allclose(law.support(), closed.support(), rtol=EXACT[dtype])
        np.testing.assert_allclose(law.moment(6), closed.moment(6), min(1e-5, 100 * EXACT[dtype]))
        np.testing.assert_allclose(law.kurtosis(), closed.kurtosis(), min(2e-5, 100 * EXACT[dtype]))
    ends, exact = two_points.bands(), cases[1][1].bands()
    np.testing.assert_allclose([ends[0][0], ends[1][0]], [exact[0][0], exact[1][0]], rtol=EXACT[dtype])


@pytest.mark.parametrize("name", PROFILES)
def test_density_is_that_of_newtons_method(name):
    law = law_of(name)
    lower, upper = law.support()
    x = np.linspace(lower - 0.1, upper + 0.1, 61)
    reference = by_newton(law, x)
    np.testing.assert_allclose(law.pdf(x), -reference.imag / np.pi, rtol=0, atol=2e-14)
    np.testing.assert_allclose(law.hilbert(x), reference.real / np.pi, rtol=0, atol=2e-14)


@pytest.mark.float32
def test_the_middle_of_a_symmetric_law():
    # There the real parts are 0, and no real number is near to the solution.
    place = np.arange(1, 21, dtype=np.float32) / 20
    law = VarianceProfileLaw(10 * np.outer(place, place) * np.exp(-10 * np.abs(np.subtract.outer(place, place))))
    x = np.linspace(-1, 1, 1001, dtype=np.float32)
    assert x[500] == 0
    density = law.pdf(x)
    np.testing.assert_allclose(density[500], density[499], rtol=1e-3)
    np.testing.assert_allclose(density, density[::-1], rtol=1e-4)


@pytest.mark.parametrize(("name", "number"), [("one type", 1), ("full", 1), ("nearly blocks", 3), ("five", 3)])
def test_bands_carry_their_masses(name, number):
    law = law_of(name)
    lower, upper, masses = law.bands()
    np.testing.assert_allclose(law.cdf(upper), np.cumsum(masses), rtol=0, atol=1e-13)
    gaps = np.asarray(lower[1:] - upper[:-1])
    assert (gaps >= 0).all()
    assert (gaps > 1e-6).sum() == number - 1
    # The density rises like a square root from each end that has been found.
    for end, inward in ((lower[0], 1), (upper[-1], -1), (lower[1:][gaps > 1e-6], 1)):
        near, far = (np.asarray(law.pdf(end + inward * d)) / np.sqrt(d) for d in (1e-11, 1e-9))
        np.testing.assert_allclose(near, far, rtol=2e-3)
        assert (law.pdf(end - inward * 1e-13) == 0).all()


def test_derivatives_are_those_of_differences():
    variances, weights, means = map(jnp.asarray, PROFILES["nearly blocks"])
    along = jnp.asarray([[1.0, 0.5, 0.2], [0.5, -0.3, 0.1], [0.2, 0.1, 0.4]])
    x = jnp.array([0.1, 1.9])

    @jax.jit
    def quantities(t):
        law = VarianceProfileLaw(variances * (1 + t * along), weights, means * (1 + t) + t * weights)
        numbers = law.pdf(x), law.cdf(x), jnp.stack([law.support()[1], law.moment(5)]), law.bands()[0]
        return jnp.concatenate(numbers)

    slope = jax.jacfwd(quantities)(0.0)
    np.testing.assert_allclose(slope, (quantities(1e-5) - quantities(-1e-5)) / 2e-5, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(jax.jacrev(quantities)(0.0), slope, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(
    ("dtype", "power"), [pytest.param(np.float32, 48, marks=pytest.mark.float32), (np.float64, 500)]
)
def test_units_change_nothing(dtype, power):
    variances, weights, means = (np.asarray(p, dtype) for p in PROFILES["nearly blocks"])
    one = VarianceProfileLaw(variances, weights, means)
    x = np.asarray([-2.1, 0.1, 1.9], dtype)
    for c in (np.asarray(2.0, dtype) ** k for k in (-power, power)):
        scaled = VarianceProfileLaw(variances * c**2, weights, means * c)
        np.testing.assert_array_equal(scaled.cdf(c * x), one.cdf(x))
        np.testing.assert_array_equal(c * scaled.pdf(c * x), one.pdf(x))
        np.testing.assert_array_equal(np.stack(scaled.support()) / c, np.stack(one.support()))
        np.testing.assert_allclose(scaled.std() / c, one.std(), rtol=1e-6)


@pytest.mark.float32
@pytest.mark.parametrize("unit", [2.0**-123, 2.0**126])
def test_variances_near_the_ends_of_single_precision(unit):
    variances = np.array([[1.0, 0.5], [0.5, 2.0]], np.float32)
    one, scaled = VarianceProfileLaw(variances), VarianceProfileLaw(variances * np.float32(unit))
    np.testing.assert_allclose(np.stack(scaled.support()) / unit**0.5, np.stack(one.support()), rtol=1e-6)
    np.testing.assert_allclose(scaled.std() / unit**0.5, one.std(), rtol=1e-6)


def test_transforms_off_the_axis():
    law = law_of("full")
    z = jnp.array([0.3 + 1e-16j, 1.0 + 0.1j, -2.5 + 1e-8j, 1e3 + 1e3j, 1e200 + 1j])
    np.testing.assert_allclose(jax.vmap(jax.grad(law.log_potential, holomorphic=True))(z), law.stieltjes(z), rtol=1e-13)
    np.testing.assert_allclose(law.stieltjes(jnp.conj(z)), jnp.conj(law.stieltjes(z)), rtol=1e-15)
    # Far away the transform is that of the moments.
    far = 60.0 + 20.0j
    moments = [float(law.moment(k)) for k in range(13)]
    np.testing.assert_allclose(law.stieltjes(far), np.polyval(moments[::-1], 1 / far) / far, rtol=1e-14)


def test_as_a_part_of_a_sum():
    # The types do not feel independent noise: a semicircle is added to each variance.
    law = rmt.laws.FreeSum(law_of("full"), Semicircle(1.0))
    variances, weights, _ = PROFILES["full"]
    whole = VarianceProfileLaw(np.add(variances, 0.25), weights)
    x = np.linspace(-2.5, 2.5, 21)
    np.testing.assert_allclose(law.pdf(x), whole.pdf(x), rtol=0, atol=1e-13)
    np.testing.assert_allclose(law.cdf(x), whole.cdf(x), rtol=0, atol=1e-13)


def test_levels_of_drawn_matrices(getkey):
    variances, types = np.array([[0.2, 0.1], [0.1, 6.0]]), np.repeat([0, 1], [150, 50])
    ensemble = rmt.VarianceProfile(variances[types][:, types] / 200)
    law, blocks = ensemble.law(), VarianceProfileLaw(variances, [0.75, 0.25])
    x = np.linspace(-2, 2, 15)
    np.testing.assert_allclose(law.cdf(x), blocks.cdf(x), rtol=0, atol=1e-13)
    levels = jax.vmap(ensemble.eigenvalues)(jax.random.split(getkey(), 40))
    empirical = np.mean(np.asarray(levels)[..., None] <= x, axis=(0, 1))
    np.testing.assert_allclose(empirical, blocks.cdf(x), rtol=0, atol=6e-3)
    # A law that only knows the mean variance is elsewhere.
    assert np.abs(empirical - Semicircle(2 * jnp.sqrt(blocks.var())).cdf(x)).max() > 0.03


def test_many_types_have_the_ends_of_the_support_only():
    law = VarianceProfileLaw(np.ones((7, 7)), np.arange(1, 8) / 28)
    with pytest.warns(UserWarning, match="There may be 126 gaps, more than 64"):
        lower, upper, masses = law.bands()
    np.testing.assert_allclose([lower[0], upper[0], masses[0]], [-2, 2, 1], rtol=1e-13)


def test_refusals():
    for arguments, message in (
        (([1.0],), "`variances` must be one square matrix"),
        (([[1.0, 1.0]],), "`variances` must have square matrices"),
        (([[0.0, 1.0], [1.0, 1.0]],), "`variances` must be finite, not negative, and positive on the diagonal"),
        (([[1.0]], [0.5]), "`weights` must be positive and sum to 1"),
        (([[1.0]], None, [1.0, 2.0]), "`means`"),
    ):
        with pytest.raises(ValueError, match=message):
            VarianceProfileLaw(*arguments)
