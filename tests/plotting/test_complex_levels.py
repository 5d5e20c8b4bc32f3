"""The plot of eigenvalues in the plane: points, shade and boundary, where a formula says where they are."""

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba

import rmtjax as rmt
from rmtjax import plotting
from tests.plotting.drawn import names

LEVELS = np.random.default_rng(0).normal(size=(3, 20, 2)) @ [1, 1j]


def boundary(ax):
    """The lines that are not points."""
    return [line.get_xydata() @ [1, 1j] for line in ax.lines if line.get_linestyle() == "-"]


def points(ax):
    return [line for line in ax.lines if line.get_marker() == "."]


@pytest.mark.parametrize(
    ("law", "inside"),
    [
        (rmt.laws.CircularLaw(1.5), lambda z: abs(z) / 1.5),
        (rmt.laws.EllipticLaw(0.5), lambda z: np.hypot(z.real / 1.5, z.imag / 0.5)),
        (rmt.laws.EllipticLaw(-0.8), lambda z: np.hypot(z.real / 0.2, z.imag / 1.8)),
    ],
)
def test_boundary_is_where_the_density_ends(law, inside):
    (line,) = boundary(plotting.complex_levels(LEVELS, law=law))
    np.testing.assert_allclose(inside(line), 1, rtol=1e-5)
    np.testing.assert_allclose(
        np.sort(np.angle(line[:-1])), np.linspace(-np.pi, np.pi, line.size)[:-1], rtol=0, atol=0.01
    )


def test_a_ring_has_two_boundaries():
    squares = np.array([1.0, 4.0])
    outer, inner = boundary(plotting.complex_levels(LEVELS, law=rmt.laws.SingleRing(np.sqrt(squares))))
    np.testing.assert_allclose(abs(outer) ** 2, squares.mean(), rtol=1e-5)
    np.testing.assert_allclose(abs(inner) ** 2, 1 / (1 / squares).mean(), rtol=1e-5)


def test_shade_is_the_density():
    ax = plotting.complex_levels(LEVELS, law=rmt.laws.EllipticLaw(0.5))
    (mesh,) = ax.collections
    corners, shade = mesh.get_coordinates(), mesh.get_array()
    area = np.diff(corners[0, :, 0])[None] * np.diff(corners[:, 0, 1])[:, None]
    assert np.sum(shade * area) == pytest.approx(1, rel=0.01)
    np.testing.assert_allclose(shade[shade > 0], 1 / (np.pi * 1.5 * 0.5), rtol=1e-5)


def test_a_law_that_fills_the_plane_has_no_boundary():
    law = rmt.Spherical(8).law()
    ax = plotting.complex_levels([0.1, 0.2j], law=law)
    assert boundary(ax) == []
    assert ax.get_xlim()[1] == pytest.approx(1.05 * float(law.radial_ppf(0.99)), rel=0.1)


def test_all_levels_that_count_are_drawn():
    counted = rmt.Spectrum([[-1.0, 0.5, 2.0]], [[True, True, False]])
    for levels, expected in ((LEVELS, LEVELS.ravel()), (jnp.asarray([3.0, 1.0]), [3, 1]), (counted, [-1, 0.5])):
        (drawn,) = points(plotting.complex_levels(levels))
        np.testing.assert_allclose(drawn.get_xydata() @ [1, 1j], expected)


def test_further_levels_have_another_colour_and_style_is_matplotlib_s():
    ax = plotting.complex_levels(LEVELS, law=rmt.laws.CircularLaw())
    assert plotting.complex_levels(LEVELS[0], ax=ax, label="more") is ax
    plotting.complex_levels(LEVELS[0], ax=ax, c="red", ms=7, label="red")
    first, second, third = points(ax)
    assert first.get_color() != second.get_color()
    assert to_rgba(third.get_color()) == to_rgba("red")
    assert third.get_markersize() == 7
    assert sorted(names(ax)) == ["60 levels", "boundary of the law", "more", "red"]
    assert len(plt.get_fignums()) == 1
    assert ax.get_aspect() == 1
