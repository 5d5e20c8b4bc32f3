"""The recorded curves that the manual draws are those of the laws."""

import importlib
from pathlib import Path

import jax
import numpy as np
import pytest

from tests.instances import LAWS

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture
def pictures(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    # The expressions are those of a user, who leaves promotion to JAX.
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield importlib.import_module("law_pictures")


def test_every_law_has_its_curves(pictures):
    assert {name: curves["expressions"].tolist() for name, curves in pictures.recorded().items()} == {
        name: list(law.curves) for name, law in LAWS.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", LAWS)
def test_recorded_curves_are_those_of_the_law(pictures, name):
    recorded, computed = pictures.recorded()[name], pictures.computed(LAWS[name])
    assert recorded.keys() == computed.keys()
    for part in recorded.keys() - {"expressions", "bars", "bins", "dots", "below", "tail"}:
        size = np.abs(computed[part]).max(initial=0.0, where=np.isfinite(computed[part]))
        np.testing.assert_allclose(recorded[part], computed[part], rtol=1e-3, atol=1e-4 * size, err_msg=part)
    if "bars" in recorded:  # of draws, which may be other ones with another version of JAX
        np.testing.assert_allclose(recorded["bars"], computed["bars"], rtol=0, atol=0.1 * computed["bars"].max())
    if "tail" in recorded:
        seen = computed["tail"] > 1e-12
        np.testing.assert_allclose(recorded["tail"][seen], computed["tail"][seen], rtol=2e-3, err_msg="tail")
