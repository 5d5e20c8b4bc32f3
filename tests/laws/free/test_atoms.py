"""Atoms of sums, powers and products, and the probabilities beside them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax.laws import Empirical, FreePower, FreeProduct, FreeSum, GeneralMarchenkoPastur, MarchenkoPastur
from rmtjax.laws._free.atoms import atoms_of

EPS = float(jnp.finfo(jnp.zeros(0).dtype).eps)


def empirical(levels, first):
    return Empirical(jnp.asarray(levels), jnp.asarray([first, 1 - first]))


# The law, an atom of it, and the masses below and above the atom, which are sums of those of the parts.
CASES = {
    "sum": (lambda: FreeSum(empirical([0.0, 0.79], 0.4766), MarchenkoPastur(3.3, 1.4)), 0.79, 0.4766, 1 / 3.3),
    "product": (lambda: FreeProduct(empirical([1.5, 3.2], 0.4), empirical([0.6, 2.5], 0.3)), 8.0, 0.7, 0.0),
    "power": (lambda: FreePower(empirical([-0.93, 0.71], 0.27), 1.7), 1.207, 1.7 * 0.27, 0.0),
}


@jax.jit
def tails(law, x):
    return law.cdf(x), law.sf(x), jax.vmap(law.cdf)(x), jnp.imag(law.log_potential(x)) / jnp.pi


@pytest.mark.float32
@pytest.mark.parametrize("name", CASES)
def test_masses_at_an_atom_and_within_its_rounding(name):
    make, place, below, above = CASES[name]
    law = make()
    places, masses = map(np.asarray, law.atoms())
    nearest = places[np.argmin(np.where(masses > 0, abs(places - place), np.inf))]
    np.testing.assert_allclose(nearest, place, rtol=8 * EPS)
    x = nearest + np.spacing(nearest) * np.array(
        [-1000, -100, -20, -8, -4, -3, -2, -1, 0, 1, 2, 3, 4, 8, 20, 100, 1000]
    )
    x = x.astype(nearest.dtype)
    cdf, sf, one_by_one, angle = map(np.asarray, tails(law, x))
    up_to = np.where(x < nearest, below, 1 - above)
    for got in (cdf, one_by_one, 1 - sf):
        np.testing.assert_allclose(got, up_to, rtol=0, atol=32 * EPS)
    # The angle has the mass above a point, the sum of masses here as well.
    np.testing.assert_allclose(angle, np.where(x < nearest, 1 - below, above), rtol=0, atol=32 * EPS)


@pytest.mark.float32
@pytest.mark.parametrize(
    ("law", "places"),
    [
        (lambda: FreeProduct(empirical([1.36, 1.41], 0.6), empirical([0.184, 1.09], 0.267)), {1: 1.482, 3: 1.537}),
        (lambda: FreeProduct(MarchenkoPastur(0.31, 1.16), MarchenkoPastur(1.587, 1.865)), {1: 0.0}),
    ],
    ids=["two spectra", "two Wishart matrices"],
)
def test_a_band_of_an_atom_has_no_width(law, places):
    # The second atom is 0.001 from a band: a search for the end of its gap had a third of the digits fewer.
    law = law()
    lower, upper, _ = map(np.asarray, law.bands())
    atoms = np.asarray(law.atoms()[0])
    for band, place in places.items():
        nearest = atoms[np.argmin(abs(atoms - place))]
        assert abs(nearest - place) < 1e-3
        assert lower[band] == upper[band] == nearest
    np.testing.assert_allclose(law.support()[0], lower[0], rtol=256 * EPS)


@pytest.mark.float32
def test_equal_levels_are_one_atom():
    dice, coin = Empirical([1.0, 5.0, 1.0, 1.0]), Empirical([2.0, 0.0, 0.0, 0.0])
    for law, at, expected in ((FreeSum(dice, coin), 1.0, 0.5), (FreePower(dice, 1.5), 1.5, 0.625)):
        places, masses = map(np.asarray, law.atoms())
        np.testing.assert_allclose(masses[places == at].sum(), expected, rtol=4 * EPS)
        np.testing.assert_allclose([law.cdf(at), law.sf(at)], [expected, 1 - expected], rtol=16 * EPS)


JUMPS = {
    "points": Empirical([1.0, 5.0, 1.0, 2.0], [0.1, 0.2, 0.3, 0.4]),
    "a Wishart matrix": MarchenkoPastur(2.5, 1.3),
    "a population": GeneralMarchenkoPastur(2.0, [1.0, 5.0]),
    "moved points": Empirical([1.0, 5.0, 1.0], [0.1, 0.2, 0.7]).scaled(-2.0).shifted(1.0),
    # Pairs of levels without a mass stand at the places of those with one, before it and after it.
    "a sum": FreeSum(Empirical([0.0, 1.0], [0.7, 0.3]), Empirical([0.0, 1.0], [0.6, 0.4])),
    "a sum in the other order": FreeSum(Empirical([0.0, 1.0], [0.6, 0.4]), Empirical([0.0, 1.0], [0.7, 0.3])),
    "a product": FreeProduct(Empirical([0.0, 1.0], [0.2, 0.8]), Empirical([1.0, 2.0], [0.6, 0.4])),
    "a power": FreePower(Empirical([0.0, 1.0, 1.0], [0.1, 0.6, 0.3]), 1.2),
}


@jax.jit
def atoms_and_tails(law):
    atoms = atoms_of(law)
    return *atoms, law.cdf(atoms.places), law.sf(atoms.places)


@pytest.mark.parametrize("name", JUMPS)
def test_parts_know_the_masses_above_their_atoms(name):
    places, masses, above, cdf, sf = map(np.asarray, atoms_and_tails(JUMPS[name]))
    with_mass = masses > 0
    assert with_mass.any()
    np.testing.assert_allclose(above[with_mass], sf[with_mass], rtol=0, atol=1e-14)
    np.testing.assert_allclose(cdf + sf, 1, rtol=0, atol=1e-14)
    # All of the mass at a place is at one entry.
    total = [np.sum(masses[places == place]) for place in places[with_mass]]
    np.testing.assert_allclose(masses[with_mass], total, rtol=1e-15)
