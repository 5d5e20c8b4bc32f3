"""The ends and masses of the bands of every spectral law have their derivatives by the parameters, in both modes."""

import inspect

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import rmtjax as rmt
from rmtjax.laws import AbstractSpectralLaw
from tests.instances import LAWS, made

SPECTRAL = [
    case.of
    for name, law in LAWS.items()
    for case in law.contract
    if inspect.isclass(kind := getattr(rmt.laws, name)) and issubclass(kind, AbstractSpectralLaw)
]
# Two levels of gaps coincide there, and part for other parameters. The law of Fuss and Catalan has no parameter.
KINKS = ("MarchenkoPastur(1.0, 0.7)", "CovarianceProfileLaw(")


@pytest.mark.slow
@pytest.mark.parametrize("of", [of for of in SPECTRAL if not of.startswith((*KINKS, "FussCatalan("))])
def test_derivatives_of_bands(of):
    """A sweep of all parameters but weights, which would leave their sum, by differences and in both modes."""
    parameters, static = eqx.partition(made(of), eqx.is_inexact_array)
    at, rebuilt = ravel_pytree(parameters)
    paths, _ = jax.tree.flatten_with_path(parameters)
    moves = [np.full(np.size(leaf), "weights" not in str(path)) for path, leaf in paths]
    way = 0.2 * np.random.default_rng(0).normal(size=at.size) * np.concatenate(moves) * np.asarray(at)
    finite = lambda ends: jnp.where(jnp.isinf(ends), 0, ends)
    bands = jax.jit(lambda t: finite(jnp.concatenate(eqx.combine(rebuilt(at + t * jnp.asarray(way)), static).bands())))
    _, slopes = jax.jvp(bands, (0.0,), (1.0,))
    np.testing.assert_allclose(jax.jacrev(bands)(0.0), slopes, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(slopes, (bands(1e-6) - bands(-1e-6)) / 2e-6, rtol=0, atol=1e-5)
