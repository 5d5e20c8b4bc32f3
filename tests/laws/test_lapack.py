"""No program of a law has a batched call of LAPACK.

Two of them side by side can each wait forever for the other's thread (jaxlib 0.10 on two cores).
"""

import re

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import rmtjax as rmt
from tests.instances import LAWS, made

# Those that solve linear equations or have eigenvalues of matrices.
OF_MATRICES = ("EquilibriumMeasure", "FreePolynomial", "HardEdge", "VarianceProfileLaw", "CovarianceProfileLaw")
# A parameter of another kind than in the table.
FURTHER = (
    'FreePolynomial({"x": 0.4, "xy": 0.7, "yx": 0.7}, {"x": Uniform(-1.0, 2.0)})',
    'FreePolynomial({"": [[1.5, 0.5], [0.5, -1.5]], "x": [[0.5, 0.0], [0.0, 0.25]]})',
)
# Over a batch of parameters it factorises in a loop, which no other one stands beside.
NOT_OVER_A_BATCH = ("StochasticAiry",)


def programs(law, x):
    if isinstance(law, rmt.laws.AbstractPlanarLaw):
        return law.radial_cdf(x), law.sample(jax.random.key(0), (8,))
    found = [law.pdf(x), law.cdf(x), law.sample(jax.random.key(0), (8,))]
    return [*found, law.stieltjes(jax.lax.complex(x, x))] if isinstance(law, rmt.laws.AbstractSpectralLaw) else found


def batched_calls(fn, *args):
    text = jax.jit(fn).lower(*args).as_text()
    calls = re.findall(r"custom_call @(lapack_\w+)\(.*?: \(tensor<((?:\d+x)+)", text)
    return sorted({f"{name} of {shape}" for name, shape in calls if shape.count("x") > 2})


@pytest.mark.parametrize("dtype", [float, complex])
def test_a_batched_call_is_seen(dtype):
    matrices = jnp.ones((3, 4, 4), dtype)
    assert len(batched_calls(jnp.linalg.solve, matrices, matrices)) == 2
    assert batched_calls(jnp.linalg.solve, matrices[0], matrices[0]) == []


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(law.example, marks=[] if name in OF_MATRICES else pytest.mark.slow, id=name)
        for name, law in LAWS.items()
    ]
    + [pytest.param(expression, marks=pytest.mark.slow) for expression in FURTHER],
)
def test_no_batched_call(expression):
    law, x = made(expression), jnp.linspace(0.1, 0.9, 8)
    assert batched_calls(programs, law, x) == []
    arrays, rest = eqx.partition(law, eqx.is_inexact_array)
    several = jax.tree.map(lambda a: jnp.stack([a, a]), arrays)
    if jax.tree.leaves(several) and type(law).__name__ not in NOT_OVER_A_BATCH:
        mapped = jax.vmap(lambda arrays, x: programs(eqx.combine(arrays, rest), x), (0, None))
        assert batched_calls(mapped, several, x) == []
