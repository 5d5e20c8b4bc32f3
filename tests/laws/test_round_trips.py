"""Distribution functions of every law at 20,000 points up to infinity: they are probabilities and can be inverted."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax import laws
from tests.cases import daily
from tests.instances import LAWS, made

EXAMPLES = {
    expression: name
    for name, law in LAWS.items()
    for expression in (law.example, law.curves[0])
    if isinstance(made(expression), laws.AbstractLaw)
}
# These went beyond 1, or were NaN far out; they are quick.
EVERY_DAY = [e for e in EXAMPLES if EXAMPLES[e] in ("QuarterCircle", "BerryRobnik", "FussCatalan", "Semicircle")]
SIZE = 20_000


@jax.jit
def methods(law, x):
    return law.cdf(x), law.sf(x), law.ppf(law.cdf(x))


@jax.jit
def quantiles(law, p):
    return law.ppf(p)


def points(law, dtype):
    """Quantiles, the neighbours of the ends, and numbers of every size."""
    info = np.finfo(dtype)
    near_one = 1 - np.geomspace(info.eps / 2, 1e-3, 1500)
    p = np.concatenate([np.linspace(1e-3, 1 - 1e-3, 3000), np.geomspace(1e-30, 1e-3, 1500), near_one])
    at = np.asarray(quantiles(law, jnp.asarray(p, dtype)))
    assert not np.isnan(at).any()
    at = at[np.isfinite(at)]
    ends = np.asarray(law.support(), dtype)
    ends = ends[np.isfinite(ends)]
    steps = info.eps * np.array([0, 1, 2, 3, 8, 64, 1e4])
    near = np.concatenate([ends[:, None] * (1 + steps), ends[:, None] * (1 - steps)], axis=None)
    wide = np.geomspace(4 * info.tiny, info.max / 4, 3000)
    x = np.concatenate([at, near, wide, -wide, [0, np.inf, -np.inf]])
    margin = 0.1 * np.ptp(at)
    even = np.linspace(at.min() - margin, at.max() + margin, SIZE - x.size)
    return np.sort(np.concatenate([x, even]).astype(dtype))


def least_distance(law, eps):
    """The distance of points whose probabilities are compared.

    Laws that search for each value have it at a point within some ulp. At k ulp from an end, where the mass grows like
    the power 3/2 of the distance, one ulp is the share 3/(2k) of it.
    """
    if type(law)._carrier is laws.AbstractLaw._carrier:
        return 0.0
    return 4 * eps * np.abs(law.support()).max()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("expression", daily(EXAMPLES, only=EVERY_DAY))
def test_probabilities_and_their_inverses(expression, dtype):
    law, eps = made(expression, dtype), np.finfo(dtype).eps
    x = points(law, dtype)
    below, above, back = (np.asarray(part, np.float64) for part in methods(law, jnp.asarray(x)))
    for part in (below, above):
        assert ((part >= 0) & (part <= 1)).all()
    np.testing.assert_allclose(below + above, 1, rtol=0, atol=64 * eps)
    # Each tail is monotone to the digits that laws of tables have.
    x, least = x.astype(np.float64), least_distance(law, eps)
    before, after = np.searchsorted(x, x - least) - 1, np.searchsorted(x, x + least, "right")
    assert (below[before] <= (1 + 512 * eps) * below)[before >= 0].all()
    assert (np.append(above, 0)[after] <= (1 + 512 * eps) * above).all()
    assert (below[[0, -1]] == [0, 1]).all()
    assert (above[[0, -1]] == [1, 0]).all()
    assert not np.isnan(back).any()
    assert np.isfinite(back[(below > 0) & (below < 1)]).all()
