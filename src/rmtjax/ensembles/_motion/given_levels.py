"""A fixed diagonal matrix, as an ensemble."""

from typing import Annotated

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._typing import KeyScalar, RealLike
from rmtjax.ensembles._core.base import AbstractEnsemble
from rmtjax.laws import Empirical


class GivenLevels(AbstractEnsemble):
    """The diagonal matrix of given levels, where a motion starts."""

    n: int = eqx.field(static=True)
    levels: Annotated[Float[Array, " n"], _checks.ALL_FINITE]

    def __init__(self, levels: Float[Array, " n"]):
        self.n, self.levels = levels.shape[0], levels

    def _sample(self, key: KeyScalar) -> Float[Array, "n n"]:
        return jnp.diag(self.levels)

    def _law(self) -> Empirical:
        return Empirical(self.levels, jnp.full_like(self.levels, 1 / self.n))


def given_levels(levels: RealLike) -> GivenLevels:
    """The start at levels or phases that a user gives."""
    array = _checks.vector("initial", _checks.weakly_typed("initial", levels))
    return GivenLevels(_checks.ALL_FINITE("initial", array))
