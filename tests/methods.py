"""The public methods of the objects in the registry, with example arguments, for the batteries over all of them."""

import inspect
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import rmtjax as rmt
from rmtjax import _module
from tests.registry import PUBLIC

KEY = jax.random.key(0)
X = jnp.asarray(0.25)
ORDER = jnp.asarray(2)
TIMES = jnp.array([0.1, 0.4])

OF_A_LAW = {name: (X,) for name in ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf", "ppf", "isf")}
OF_A_LAW |= {"mean": (), "var": (), "std": (), "median": (), "skewness": (), "kurtosis": ()}
OF_A_PLANAR_LAW = {name: (X,) for name in ("pdf", "logpdf", "radial_cdf", "radial_ppf")}
OF_AN_ENSEMBLE = {"sample": (KEY,), "eigenvalues": (KEY,), "count_below": (KEY, X)}
OF = {
    rmt.laws.AbstractLaw: {**OF_A_LAW, "sample": (KEY,)},
    rmt.laws.AbstractSpectralLaw: {"stieltjes": (X,), "hilbert": (X,), "log_potential": (X,)},
    rmt.ensembles.AbstractEnsemble: OF_AN_ENSEMBLE,
    rmt.ensembles.AbstractNestedEnsemble: {"leading_block": (KEY, ORDER), "leading_block_eigenvalues": (KEY, ORDER)},
    rmt.ensembles.AbstractUnitaryEnsemble: {**OF_AN_ENSEMBLE, "eigenphases": (KEY,)},
    rmt.ensembles.AbstractNonHermitianEnsemble: {**OF_AN_ENSEMBLE, "moduli": (KEY,)},
    rmt.laws.AbstractPlanarLaw: {**OF_A_PLANAR_LAW, "sample": (KEY,)},
    rmt.DysonBrownianMotion: {"sample": (KEY, TIMES), "eigenvalues": (KEY, TIMES)},
    rmt.CircularBrownianMotion: {"sample": (KEY, TIMES), "eigenphases": (KEY, TIMES)},
    rmt.HaarIsometry: {"sample": (KEY,)},
    rmt.Mixed: OF_AN_ENSEMBLE,
}

INSTANCES = {name: made() if inspect.isfunction(made) else made for name, made in PUBLIC.items()}


def methods(instance: Any) -> dict[str, tuple]:
    """Names of the public methods of an object that take only keys and numbers, with arguments for them."""
    return {name: args for base, of in OF.items() if isinstance(instance, base) for name, args in of.items()}


OF_A_POPULATION = {"logpdf": (jnp.eye(3),), "cholesky": (KEY,), "mean": ()}
# Further methods, which every object of the kind refuses to run with a bad parameter.
FURTHER = {
    rmt.laws.AbstractLaw: {"support": (), "breakpoints": (), "atoms": (), "moment": (2,)},
    rmt.laws.AbstractSpectralLaw: {"bands": (), "free_cumulant": (2,), "r_transform": (X,), "s_transform": (X,)},
    rmt.ensembles.AbstractEnsemble: {"law": (), "largest_eigenvalues": (KEY,), "smallest_eigenvalues": (KEY,)},
    rmt.ensembles.AbstractUnitaryEnsemble: {"law": ()},
    rmt.ensembles.AbstractNonHermitianEnsemble: {"law": ()},
    rmt.GOE: {"tridiagonal": (KEY,), "edge_levels": (KEY, 1), "soft_edge": (), "logpdf": (jnp.eye(4),)},
    rmt.GaussianBeta: {"tridiagonal": (KEY,), "edge_levels": (KEY, 1), "soft_edge": ()},
    rmt.Wishart: {"soft_edge": (), "hard_edge": ()},
    rmt.InverseWishart: {"logpdf": (jnp.eye(3),)},
    rmt.SampleCorrelation: {"logpdf": (jnp.eye(4),)},
    **dict.fromkeys((rmt.CorrelatedWishart, rmt.CorrelatedInverseWishart), OF_A_POPULATION),
    rmt.DysonBrownianMotion: {"law": (TIMES[0],)},
    rmt.Spiked: {"outliers": ()},
    rmt.Mixed: {"law": (), "periodic_eigenvalues": (KEY, "random")},
}


def further_methods(instance: Any) -> dict[str, tuple]:
    """More of its public methods, some of which compile a lot or do not exist for every law."""
    return {name: args for base, of in FURTHER.items() if isinstance(instance, base) for name, args in of.items()}


NAMES = [name for name, instance in INSTANCES.items() if methods(instance)]


def joint_logpdf_arguments(instance: Any) -> tuple | None:
    """Arguments of `joint_logpdf` where the object has a joint density."""
    number = getattr(instance, "_independent_levels", getattr(instance, "_independent_phases", lambda: None))()
    if number is None:
        return None
    levels = jnp.linspace(0.2, 0.9, number)
    try:
        jax.eval_shape(instance.joint_logpdf, levels)
    except NotImplementedError:
        return None
    return (levels,)


def only_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the methods of all objects trace their programs without compiling them, and return zeros of their shapes.

    When a program is made, and how a bad parameter changes its result, do not depend on what it computes. Zeros become
    NaN by the rule of a parameter only, where other numbers may do so by themselves. The functions that a hook calls
    are left as they are, since JAX keeps their traces for other tests.
    """
    real = _module._program

    def zeros(module: Any, operands: tuple, hook: Any, options: tuple) -> Any:
        with monkeypatch.context() as inside:
            inside.setattr(_module, "_program", real)
            result = jax.eval_shape(lambda *args: real(False)(*args, hook, options), module, operands)
        return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), result)

    program = jax.jit(zeros, static_argnums=(2, 3))
    monkeypatch.setattr(_module, "_program", lambda small: program)
