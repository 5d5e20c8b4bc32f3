"""Transforms and potentials from the density alone, against closed forms, SciPy and the laws' own formulas."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

import rmtjax as rmt
from rmtjax.laws import (
    BuresLaw,
    FreeSum,
    LevelDensity,
    MarchenkoPastur,
    Mixture,
    Semicircle,
    Symmetrized,
    Uniform,
    Wachter,
)
from rmtjax.laws._core import fallbacks
from rmtjax.laws._core.cauchy import cauchy_integrals

LAWS = {
    "semicircle": Semicircle(2.0),
    "a hard edge": MarchenkoPastur(1.0),
    "an atom": MarchenkoPastur(2.0),
    "two atoms": Wachter(0.75, 0.5),
    "jumps": Uniform(0.0, 1.0),
}
DTYPE = jnp.zeros(0).dtype.type
SINGLE = DTYPE == np.float32


def points(law):
    """Points of the axis and above it, inside, outside, and close to both ends."""
    panels = law.breakpoints()
    lower, upper = float(panels[0]), float(panels[-1])
    width = upper - lower
    near = width * np.logspace(-6 if SINGLE else -12, -1, 8)
    middle = np.linspace(lower - width / 3, upper + width / 3, 41)
    x = np.concatenate([middle, lower + near, lower - near, upper - near, upper + near])
    return jnp.asarray((x[:, None] + 1j * width * np.array([0, 1e-9, 1e-3, 0.1, 3.0])).ravel())


@pytest.mark.float32
@pytest.mark.parametrize("name", LAWS)
def test_transforms_are_those_of_the_formulas(name):
    law = LAWS[name]
    z = points(law)
    got, right = np.asarray(fallbacks.stieltjes(law, z)), np.asarray(law.stieltjes(z))
    # A rounding of the point moves a transform that diverges at an end, or has a slope like that of a root.
    distance = np.min(np.abs(np.asarray(z)[:, None] - np.asarray(law.breakpoints())), axis=1)
    rounding = float(jnp.finfo(z.dtype).eps)
    size = 1 + float(law.breakpoints()[-1]) * rounding / np.maximum(distance, rounding) / (100 * rounding)
    finite = np.isfinite(right)
    assert finite.sum() > 100
    got, right, size = got[finite], right[finite], size[finite]
    np.testing.assert_array_less(np.abs(got - right) / np.abs(right), 200 * rounding * size)


@pytest.mark.float32
def test_where_two_panels_meet_nothing_is_lost():
    """A point at which panels meet, also where a panel between them is empty, or at 0, is like its neighbours."""
    joined = Mixture([0.5, 0.25, 0.25], [Semicircle(2.0), Uniform(-3.0, 0.0), Uniform(0.0, 3.0)])
    parts = (Semicircle(2.0), Uniform(-3.0, 3.0))
    z = jnp.array([0.0, -2.0, 2.0], complex)
    tolerance = {"rtol": 0, "atol": 1e-3 if SINGLE else 1e-7}  # the root at the ends of the semicircle
    exact = lambda of: sum(of(part) for part in parts) / 2
    np.testing.assert_allclose(joined.stieltjes(z), exact(lambda law: law.stieltjes(z)), **tolerance)
    np.testing.assert_allclose(joined._log_potential(z), exact(lambda law: law._log_potential(z)), **tolerance)
    twice = Mixture([0.5, 0.25, 0.25], [Uniform(-1.0, 1.0), Uniform(-1.0, 0.5), Semicircle(1.0)])
    at, beside = twice._log_potential(jnp.array([0.5, 0.5 + 1e-6], complex)).T
    assert abs(at - beside).max() < 1e-4
    assert joined.stieltjes(z[:1]).imag == pytest.approx(-np.pi * float(joined.pdf(0.1)), rel=0.01)


@pytest.mark.float32
@pytest.mark.parametrize("name", ["semicircle", "a hard edge", "an atom", "jumps"])
def test_potentials_are_those_of_the_formulas(name):
    law = LAWS[name]
    z = points(law)
    z = z[z != 0]  # the atom
    got, right = fallbacks.log_potential(law, z), law._log_potential(z)
    np.testing.assert_allclose(got, right, rtol=0, atol=4e-5 if SINGLE else 1e-13)


def test_beside_a_joint_of_two_panels_nothing_is_lost():
    """With the double exponential map, whose points of z crowd about the axis there, this is off by 1e-6."""
    law = Semicircle(2.0)
    z = (0.3 + np.concatenate([-np.logspace(-15, -2, 14), np.logspace(-15, -2, 14)])) + 0j
    got = cauchy_integrals(lambda x: law._pdf(x)[None], jnp.array([-2.0, 0.3, 2.0]), jnp.asarray(z))[0]
    np.testing.assert_allclose(got, law.stieltjes(jnp.asarray(z)), rtol=1e-12)


def test_a_gaussian_density():
    law = LevelDensity(rmt.GUE(1))
    std = float(law.std())
    z = jnp.array([0.0, 0.3, -1.2, 2.0 + 1e-6j, 0.5 + 2j, 5 + 0.1j]) * std
    # G is -i √π w(ζ)/(√2 s) with Faddeeva's function at ζ = z/(√2 s).
    right = -1j * np.sqrt(np.pi / 2) / std * scipy.special.wofz(np.asarray(z) / np.sqrt(2) / std)
    np.testing.assert_allclose(law.stieltjes(z), right, rtol=1e-12)


def test_many_levels_and_composed_laws():
    x = jnp.linspace(-1.9, 1.9, 7)
    law = LevelDensity(rmt.GUE(40))
    np.testing.assert_allclose(-jnp.imag(law.stieltjes(x)) / np.pi, law.pdf(x), rtol=1e-10)
    parts = MarchenkoPastur(2.0), Uniform(-1.0, 0.5)
    z = jnp.array([0.3, 0.1 + 0.2j, 2.0, -3.0 + 1j])
    mixture = Mixture([0.25, 0.75], parts)
    right = 0.25 * parts[0].stieltjes(z) + 0.75 * parts[1].stieltjes(z)
    np.testing.assert_allclose(mixture.stieltjes(z), right, rtol=1e-12)
    base = MarchenkoPastur(0.25)
    mirrored = (base.stieltjes(z) - jnp.conj(base.stieltjes(-jnp.conj(z)))) / 2
    np.testing.assert_allclose(Symmetrized(base).stieltjes(z), mirrored, rtol=1e-12)
    bures = BuresLaw(0.7)
    np.testing.assert_allclose(bures.free_cumulant(2), bures.var(), rtol=1e-12)


def test_a_law_without_formulas_is_a_part_of_a_sum():
    class Plain(rmt.laws.AbstractSpectralLaw):
        """The semicircle law on [-1, 1], by its density."""

        def _support(self):
            return -jnp.ones(()), jnp.ones(())

        def _pdf(self, x):
            return 2 / jnp.pi * jnp.sqrt(1 - x * x)

    x = jnp.array([-1.9, -0.4, 0.7, 1.2])
    law, right = FreeSum(Plain(), Uniform(-1.0, 1.0)), FreeSum(Semicircle(1.0), Uniform(-1.0, 1.0))
    np.testing.assert_allclose(law.pdf(x), right.pdf(x), rtol=1e-11)
    np.testing.assert_allclose(law.cdf(x), right.cdf(x), rtol=1e-10)


def test_derivatives():
    slope = jax.grad(lambda x, radius: fallbacks.stieltjes(Semicircle(radius), x + 0j).real, argnums=(0, 1))
    # Re G is 2 x/R² inside.
    np.testing.assert_allclose(slope(0.7, 2.0), (0.5, -4 * 0.7 / 8), rtol=1e-11)


def test_an_empty_panel_leaves_derivatives_finite():
    """The slope of a square root is infinite at its end, where an empty panel would take its value."""

    def value(a):
        panels = jnp.stack([a, a, a + 1])
        return cauchy_integrals(lambda x: jnp.sqrt(x - a)[None], panels, jnp.asarray(3 + 1j))[0].real

    # The integral of √x/(z - x) over [0, 1] is √z log((√z + 1)/(√z - 1)) - 2, and a moves z by -1.
    root = lambda a: np.sqrt(3 + 1j - a)
    exact = lambda a: (root(a) * np.log((root(a) + 1) / (root(a) - 1)) - 2).real
    np.testing.assert_allclose(value(jnp.asarray(0.25)), exact(0.25), rtol=1e-13)
    slope = (exact(0.25 + 1e-5) - exact(0.25 - 1e-5)) / 2e-5
    np.testing.assert_allclose(jax.grad(value)(0.25), slope, rtol=1e-8)


def test_beside_a_hard_edge_all_digits_are_right():
    """There the points of z of the double exponential map have densities of both signs: it is off by 1e-9."""
    law, distance = MarchenkoPastur(1.0), np.logspace(-12, -2, 11)
    z = jnp.asarray(np.concatenate([distance, -distance, distance * 1j, distance * (1 + 1j)]))
    np.testing.assert_allclose(fallbacks.stieltjes(law, z), law.stieltjes(z), rtol=1e-13)
