"""The methods of a law at the points of a test, from the programs that its contract compiles as well."""

import jax
import numpy as np

from rmtjax.testing._law_evaluation import METHODS as METHODS
from rmtjax.testing._law_evaluation import evaluate, everything, gradients, tabulated


@jax.jit
def _values(law, x, p):
    return {"values": tabulated(law, x)}


@jax.jit
def _values_and_quantile(law, x, p):
    return {"values": tabulated(law, x), "ppf": law.ppf(p)}


def methods_at(law, x, p=None):
    """All methods at points x, in their dtype, and the quantiles of p; in double precision the slopes as well."""
    x = np.asarray(x)
    # The contract is tested in double precision; in single precision no other test would need the whole program.
    single = _values if p is None else _values_and_quantile
    table = evaluate(law, x, p, everything if x.dtype == np.float64 else single)
    return table.pop("values") | table


def check_slopes(law, x, flat=()):
    """Checks that reverse-mode derivatives of all methods are finite, and 0 by the points with the indices `flat`."""
    x = np.asarray(x)
    # A weighted sum of the methods is differentiated: no two terms cancel, and one that is not finite makes all so.
    by_law, by_x = gradients(law, x)
    assert np.isfinite(by_x).all(), by_x
    assert (by_x[list(flat)] == 0).all(), by_x
    for leaf in jax.tree.leaves(by_law):
        assert leaf.dtype == x.dtype
        assert np.isfinite(leaf).all(), by_law
