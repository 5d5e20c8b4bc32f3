"""Quantiles of tiny probabilities, from both ends, with their derivatives."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rmtjax import laws
from tests.cases import daily, further
from tests.instances import LAWS, made

# Every law on the line by its example, and those that have branches which that does not reach.
EXAMPLES = {name: law.example for name, law in LAWS.items() if isinstance(made(law.example), laws.AbstractLaw)}
EXAMPLES |= {
    "MarchenkoPastur, atom": "MarchenkoPastur(2.0)",
    "Mixture, unequal": "Mixture([0.25, 0.75], [Semicircle(1.0), Uniform(0.5, 2.0)])",
    "LevelDensity, more levels": "LevelDensity(GUE(10))",
    "HardEdge, large order": "HardEdge(50.0, 2)",
}
# These compile soonest.
SHORT = ["BuresLaw", "PoissonSpacing"]


@jax.jit
def both(law, p):
    return law.ppf(p), law.isf(p), law.logcdf(law.ppf(p)), law.logsf(law.isf(p))


@jax.jit
def slopes(law, p):
    parameters, rest = eqx.partition(law, eqx.is_inexact_array)
    total = lambda name: lambda parameters, p: jnp.sum(getattr(eqx.combine(parameters, rest), name)(p))
    return {name: jax.grad(total(name), (0, 1))(parameters, p) for name in ("ppf", "isf")}


@pytest.mark.float32(further=True)
@pytest.mark.parametrize("name", daily(EXAMPLES, only=SHORT))
def test_tiny_probabilities_from_both_ends(name):
    dtype = jnp.zeros(0).dtype
    law, info = made(EXAMPLES[name], dtype), np.finfo(dtype)
    eps, tiny = float(info.eps), float(info.tiny)
    p = np.array([tiny**0.9, tiny**0.5, eps**2, eps, 1e-3, 0.3, 0.7], dtype)
    lower_quantiles, upper_quantiles, log_f, log_sf = map(np.asarray, both(law, p))
    lower, upper = (float(end) for end in law.support())
    atom = float(law.cdf(lower)) if np.isfinite(lower) else 0
    below_atom = p < 1 - atom
    upper_quantiles, log_sf = upper_quantiles[below_atom], log_sf[below_atom]
    largest = float(info.max)
    for x, reached, end, rest, beyond in (
        (lower_quantiles, log_f, lower, atom, law.cdf(-largest)),
        (upper_quantiles, log_sf, upper, 0, law.sf(largest)),
    ):
        # A finite end takes the quantiles within its rounding, or within the smallest number; an atom takes its mass.
        ulp = max(8 * eps * abs(end), tiny) if np.isfinite(end) else 0
        log_p = np.log(p[: x.size])
        resolved = (np.abs(x - end) > 64 * ulp) & (p[: x.size] > rest) if np.isfinite(end) else np.isfinite(x)
        # A quantile is infinite where the largest number is too small.
        assert (p[: x.size][np.isinf(x)] <= float(beyond)).all()
        assert resolved[-2:].all() or rest
        allowed = 200 * eps * np.maximum(1, -log_p) * (1e4 if name.startswith(("StochasticAiry", "HardEdge")) else 1)
        near_end = eps * abs(end) / np.maximum(np.abs(x - end), tiny) if np.isfinite(end) else 0
        error = np.abs(reached - log_p)
        assert (error < allowed + 8 * near_end)[resolved].all(), error / allowed
        np.testing.assert_allclose(x[~resolved], end, rtol=0, atol=64 * ulp)
    for by_parameters, by_p in slopes(law, p[2:]).values():
        assert np.isfinite(by_p).all()
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(by_parameters))


@pytest.mark.float32
def test_a_quantile_at_the_end_has_the_derivative_of_the_end():
    for q in (1e-10, 1e-20, 1e-30):
        np.testing.assert_allclose(jax.grad(lambda r, q=q: laws.Semicircle(r).isf(q))(3.0), 1, rtol=1e-5)
        np.testing.assert_allclose(jax.grad(lambda r, q=q: laws.Semicircle(r).ppf(q))(3.0), -1, rtol=1e-5)


@pytest.mark.float32(further=True)
@pytest.mark.parametrize("order", [1, 2, 5])
def test_slopes_of_fuss_catalan_at_the_upper_end_go_as_the_cube_root(order):
    law, q = laws.FussCatalan(order), jnp.array([1e-6, 1e-9, 1e-15, 1e-21, 1e-36, 1e-300])
    # Beyond these, x is the end up to rounding.
    number = 2 if q.dtype == np.float32 else 4
    slope = jax.vmap(jax.grad(law.isf))(q)
    np.testing.assert_allclose((slope[1:] / slope[:-1])[: number - 1], [10, 1e2, 1e2][: number - 1], rtol=1e-3)
    assert jnp.isfinite(slope).all()
    np.testing.assert_allclose(law.isf(q[number:]), law.support()[1], rtol=8 * np.finfo(q.dtype).eps)


@pytest.mark.parametrize(("alpha", "beta"), further((50.0, 2), (24.0, 1), (50.0, 4)))
def test_the_upper_tail_of_the_hard_edge_is_reached_at_large_orders(alpha, beta):
    law = laws.HardEdge(alpha, beta)
    q = np.array([1e-200, 1e-300])
    np.testing.assert_allclose(law.logsf(law.isf(q)), np.log(q), rtol=1e-9)
