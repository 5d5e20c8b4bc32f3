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
    assert (np.diff(below) >= -512 * eps * below[1:]).all()
    assert (np.diff(above) <= 512 * eps * above[:-1]).all()
    assert (below[[0, -1]] == [0, 1]).all()
    assert (above[[0, -1]] == [1, 0]).all()
    assert not np.isnan(back).any()
    assert np.isfinite(back[(below > 0) & (below < 1)]).all()
