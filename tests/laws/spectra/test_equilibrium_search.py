"""The number of cuts of random potentials, and where they are, against the least energy on a grid."""

from functools import cache

import numpy as np
import pytest

from rmtjax.laws import EquilibriumMeasure


@cache
def kernel(n):
    """Chebyshev's nodes, and -log|u - v| between them as the sum of 2 T_k(u) T_k(v)/k and log 2."""
    angles, k = (np.arange(n)[::-1] + 0.5) * np.pi / n, np.arange(1, n)
    waves = np.cos(np.outer(angles, k))
    return np.cos(angles), np.log(2) + (waves * (2 / k)) @ waves.T


def least_energy(c, start, end, n):
    """Points, the masses at them that have the least energy, and how much too high the potential is.

    The kernel's inverse has no positive entries beside its diagonal, so that no mass that is negative on some of the
    points is positive in the end.
    """
    u, logarithms = kernel(n)
    x = (start + end) / 2 + (end - start) / 2 * u
    potential, left = np.polyval([*c[::-1], 0], x), np.arange(n)
    while True:
        right = np.stack([np.ones(left.size), -potential[left]], axis=1)
        alike, from_potential = np.linalg.solve(2 * logarithms[np.ix_(left, left)], right).T
        level = (1 - from_potential.sum()) / alike.sum()
        masses = from_potential + level * alike
        if (masses > 0).all():
            everywhere = np.zeros(n)
            everywhere[left] = masses
            return x, everywhere, potential + 2 * logarithms @ everywhere - level
        left = left[masses > 0]


def cuts_on_a_grid(c):
    """The ends of the cuts, the step of the grid, and whether it leaves no doubt about the number of cuts."""
    lowest = [np.polyval([*c[::-1], 0], x.real) for x in np.roots((c * np.arange(1, c.size + 1))[::-1])]
    walls = np.roots([*c[::-1], -100 - min(lowest)])
    walls = walls[abs(walls.imag) < 1e-9 * abs(walls)].real
    start, end = walls.min(), walls.max()
    clear = True
    for n in (128, 128, 256):
        x, masses, excess = least_energy(c, start, end, n)
        change = np.diff(np.pad(masses > 0, 1).astype(int))
        first, last = np.flatnonzero(change == 1), np.flatnonzero(change == -1) - 1
        margin = (x[last[-1]] - x[first[0]]) / 10 + 2 * np.diff(x).max()
        start, end = max(start, x[first[0]] - margin), min(end, x[last[-1]] + margin)
        before, here, after = excess[:-2], excess[1:-1], excess[2:]
        # The next grid has no points outside.
        is_seen = (n == 256) | (x[1:-1] < start) | (x[1:-1] > end)
        is_bottom = (here < after) & (here < before) & (masses[1:-1] == 0) & is_seen
        # Between the points a narrow well is lower than at them, by up to an eighth of the second difference.
        least = here - (before + after - 2 * here) / 8
        clear = clear and (least[is_bottom] > 0.05).all()
    clear = clear and (last - first >= 5).all() and (first[1:] - last[:-1] >= 5).all()
    return np.stack([x[first], x[last]], axis=1).ravel(), np.diff(x).max(), clear


def potentials(degree, number):
    """Potentials with real zeros of V', with wells of equal depth in a rough ground, and of any form."""
    rng = np.random.default_rng(degree)
    for k in range(number):
        strength = 10 ** rng.uniform(-1, 2)
        if k % 3 == 0:
            yield strength * np.poly(rng.uniform(-2, 2, degree - 1))[::-1] / np.arange(1, degree + 1)
        elif k % 3 == 1:
            rough = rng.normal(size=degree) * 10 ** rng.uniform(-2, 0.5) * (np.arange(degree) < degree - 1)
            yield strength * np.poly(np.repeat(rng.uniform(-2, 2, degree // 2), 2))[::-1][1:] + rough
        else:
            c = rng.normal(size=degree) * 10 ** rng.uniform(-0.5, 0.5, degree)
            yield np.append(c[:-1], abs(c[-1]) + 0.1)


def accepted(c, cuts):
    try:
        return EquilibriumMeasure(c, cuts)
    except ValueError:
        return None


@pytest.mark.parametrize(
    ("degree", "number"), [(6, 30), *(pytest.param(degree, 900, marks=pytest.mark.slow) for degree in (4, 6, 8))]
)
def test_random_potentials(degree, number):
    seen = {1: 0, 2: 0, 3: 0}
    for c in potentials(degree, number):
        ends, step, clear = cuts_on_a_grid(c)
        if not clear:
            continue
        laws = {cuts: law for cuts in (1, 2) if (law := accepted(c, cuts)) is not None}
        number_of_cuts = ends.size // 2
        assert list(laws) == [n for n in (1, 2) if n == number_of_cuts], list(c)
        seen[min(number_of_cuts, 3)] += 1
        for law in laws.values():
            np.testing.assert_allclose(law.breakpoints(), ends, rtol=0, atol=2 * step, err_msg=str(list(c)))
    assert sum(seen.values()) > 0.85 * number
    assert seen[2] > 0.1 * number
    assert degree == 4 or seen[3] > 0
