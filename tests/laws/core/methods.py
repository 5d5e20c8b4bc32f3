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
    # The contract is held in double precision; in single precision nothing else would need all of its program.
    single = _values if p is None else _values_and_quantile
    table = evaluate(law, x, p, everything if x.dtype == np.float64 else single)
    return table.pop("values") | table


def check_slopes(law, x, flat=()):
    """The derivatives of all methods in reverse mode are finite, and 0 by the points with the numbers `flat`."""
    x = np.asarray(x)
    # Of a sum of the methods with weights: no two of its terms cancel, and what is not finite in one is not in all.
    by_law, by_x = gradients(law, x)
    assert np.isfinite(by_x).all(), by_x
    assert (by_x[list(flat)] == 0).all(), by_x
    for leaf in jax.tree.leaves(by_law):
        assert leaf.dtype == x.dtype
        assert np.isfinite(leaf).all(), by_law
