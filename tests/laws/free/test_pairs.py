"""Sums, powers and products of parts with any parameters keep the contract of laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rmtjax.laws import (
    CovarianceProfileLaw,
    DeformedSemicircle,
    Empirical,
    FreeCompression,
    FreePower,
    FreeProduct,
    FreeSum,
    MarchenkoPastur,
    Semicircle,
    VarianceProfileLaw,
)
from rmtjax.testing import check_law


def numbers(low, high, size):
    return st.lists(st.floats(low, high), min_size=size, max_size=size).map(np.array)


# No round numbers.
_UNEVEN = np.array([0.1371, 0.2913, 0.1737])


def shares(size):
    return numbers(0.05, 1.0, size).map(lambda w: (w + _UNEVEN[:size]) / (w + _UNEVEN[:size]).sum())


def atoms(size, low=-2.0):
    # Steps keep two atoms apart, as a band between atoms at a distance of 1e-9 has no digits.
    places = st.tuples(st.floats(low, low + 2), numbers(0.05, 2.0, size - 1))
    return st.builds(lambda p, w: Empirical(p[0] + np.append(0, np.cumsum(p[1])), w), places, shares(size))


def atoms_apart(law):
    """Where the masses of two atoms add up to 1, bands meet or the density diverges, and values have few digits."""
    masses = np.add.outer(*(part.atoms()[1] for part in (law.a, law.b)))
    return (np.abs(masses - 1) > 0.01).all()


WISHART = st.builds(MarchenkoPastur, st.floats(0.1, 5.0).map(lambda ratio: 1.0123 * ratio), st.floats(0.5, 2.0))
OTHER = st.builds(MarchenkoPastur, st.floats(0.1, 5.0).map(lambda ratio: 1.1317 * ratio), st.floats(0.5, 2.0))
NOISE = st.builds(Semicircle, st.floats(0.2, 3.0))
POSITIVE = atoms(2, low=0.1)
KINDS = {
    "two spectra": st.builds(FreeSum, atoms(2), atoms(3)).filter(atoms_apart),
    "a spectrum and a Wishart matrix": st.builds(FreeSum, atoms(2), WISHART),
    "noise and a Wishart matrix": st.builds(FreeSum, NOISE, WISHART),
    "a difference": st.builds(lambda a, b: FreeSum(a, b.scaled(-1.0)), WISHART, OTHER),
    "a power": st.builds(FreePower, atoms(3), st.floats(1.05, 4.0)),
    "a corner": st.builds(FreeCompression, atoms(2), st.floats(0.1, 0.95)),
    "a population": st.builds(FreeProduct, POSITIVE, WISHART),
    "two populations": st.builds(FreeProduct, POSITIVE, POSITIVE).filter(atoms_apart),
    "a product of Wishart matrices": st.builds(FreeProduct, WISHART, OTHER),
    "a product with noise": st.builds(lambda a, b, c: FreeSum(FreeProduct(a, b), c), POSITIVE, WISHART, NOISE),
    "a spectrum with noise": st.builds(DeformedSemicircle, numbers(-2, 2, 3), shares(3), st.floats(0.3, 3.0)),
    "a profile of data": st.builds(
        lambda v, c, u, w: CovarianceProfileLaw(v.reshape(2, 2), c, u, w),
        numbers(0.05, 3.0, 4),
        st.floats(0.1, 5.0),
        shares(2),
        shares(2),
    ),
    "a profile": st.builds(
        lambda m, w, a: VarianceProfileLaw(m.reshape(2, 2) @ m.reshape(2, 2).T + 0.05, w, a),
        numbers(0.0, 1.0, 4),
        shares(2),
        numbers(-1.0, 1.0, 2),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_pairs_keep_the_contract(name):
    @settings(max_examples=12, deadline=None, derandomize=True)
    @given(KINDS[name])
    def keeps(law):
        check_law(law, reverse_mode=False, num_draws=2000)

    keeps()
