"""The distances of drawn spectra from a law, by programs that serve any number of draws."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int

from rmtjax import _checks
from rmtjax._compile import compiled, is_small
from rmtjax._module import AbstractModule
from rmtjax._threefry import looped
from rmtjax._typing import KeyScalar
from rmtjax.ensembles import AbstractEnsemble, AbstractUnitaryEnsemble
from rmtjax.inference._goodness.distances import distance
from rmtjax.laws import AbstractLaw
from rmtjax.simulation import memory_plan, simulate
from rmtjax.spectra.internal import Levels, checked_values

Draw = Callable[[KeyScalar], Any]

# The number of draws in one call of the small program, whose last call makes fewer, and in one batch of a simulation,
# whose last batch is always full: 99, 199 and 999 draws cost one draw more. All 999 draws of GOE(100) in one batch
# would take a tenth less time, but a program of their own.
_CALL, _BATCH = 512, 100


def drawer(calibration: Any) -> Draw:
    """The function that draws the levels of one spectrum."""
    if isinstance(calibration, AbstractEnsemble):
        return calibration.eigenvalues
    if isinstance(calibration, AbstractUnitaryEnsemble):
        return calibration.eigenphases
    if not callable(calibration):
        must = "be 'independent', an ensemble with real levels, or a function of a key that returns levels"
        raise _checks.refusal("calibration", must, calibration)
    return calibration


def null(
    test: str, calibration: Any, law: Any, key: KeyScalar, draws: int, shape: tuple[int, ...]
) -> Float[Array, " draws"]:
    """The statistics of draws of the calibration, each with as many spectra as data of this shape.

    Draw i has the key `fold_in(key, i)`, as in `simulate`.

    Raises:
        ValueError: the calibration draws no levels, or another number of levels.
    """
    draw = drawer(calibration)
    found = jax.eval_shape(partial(_values, draw), _checks.typed_key(key))
    if found.shape != shape[-1:]:
        must = (
            f"draw {shape[-1]} values, as many as each spectrum of `levels` has (an ensemble draws levels; of spacings "
            "or ratios give a function of a key that draws them)"
        )
        raise _checks.refusal("calibration", must, found.shape)
    one = partial(_distance, draw, law, test=test, spectra=shape[:-1])
    known = isinstance(calibration, AbstractModule) and isinstance(law, AbstractLaw)
    # The small program needs known arguments, as nothing comes back to the host inside of a user's program. (The levels
    # alone may be traced.) A draw of n levels takes about n² steps.
    if known and is_small((calibration, law, key), work=draws * int(np.prod(shape)) * shape[-1]):
        dtype = jax.eval_shape(one, key).dtype
        bounds = [(start, min(start + _CALL, draws)) for start in range(0, draws, _CALL)]
        calls = [_some(test, shape[:-1], dtype, calibration, law, key, np.array(pair)) for pair in bounds]
        # Join the calls on the host, because every number of calls would be a program of its own.
        return jnp.asarray(np.concatenate(jax.device_get(calls))[:draws])
    some = max(draws, _BATCH) if 2 * draws > _BATCH else draws
    batch = _BATCH if some >= _BATCH <= memory_plan(one, key, some).batch_size else None
    drawn = simulate(one, key, some, batch_size=batch, progress=False)[:draws]
    # The data may lie on another mesh than the draws.
    return drawn if isinstance(drawn, Tracer) else jnp.asarray(jax.device_get(drawn))


@partial(compiled, static_argnums=(0, 1, 2))
def _some(
    test: str, spectra: tuple[int, ...], dtype: Any, calibration: Any, law: AbstractLaw, key: KeyScalar, bounds: Any
) -> Float[Array, " call"]:
    """The draws from one index to another, one after the other, in an array of static size."""
    draw, start = drawer(calibration), bounds[0]

    def one(i: Int[Array, ""], found: Float[Array, " call"]) -> Float[Array, " call"]:
        fresh = looped(jax.random.fold_in(key, i))
        return found.at[i - start].set(_distance(draw, law, fresh, test=test, spectra=spectra))

    return jax.lax.fori_loop(start, bounds[1], one, jnp.zeros(_CALL, dtype))


def _distance(draw: Draw, law: Any, key: KeyScalar, *, test: str, spectra: tuple[int, ...]) -> Float[Array, ""]:
    """The statistic of one draw, with as many spectra as the data; a fitted law is fitted anew."""
    for _ in spectra:
        draw = jax.vmap(draw)
    levels = draw(jax.random.split(key, spectra) if spectra else key)
    sample = checked_values(levels, name="calibration")
    return _checks.masked(all_valid(sample), distance(test, fitted(law, levels), sample.values, sample.mask)[0])


def fitted(law: Any, levels: Any) -> AbstractLaw:
    """The law itself, or the law that the user's function fits to the levels."""
    found = law if isinstance(law, AbstractLaw) else law(levels)
    if not isinstance(found, AbstractLaw):
        raise _checks.refusal("law", "return a law of `rmtjax.laws`", found)
    return found


def all_valid(sample: Levels) -> Any:
    """Whether the sample is valid, True or a traced boolean."""
    return True if sample.valid is True else jnp.all(sample.valid)


def _values(draw: Draw, key: KeyScalar) -> Array:
    return checked_values(draw(key), name="calibration").values
