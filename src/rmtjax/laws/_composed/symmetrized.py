"""A law pooled with its mirror image."""

from typing import Annotated

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._typing import KeyScalar
from rmtjax.laws._core.base import AbstractLaw
from rmtjax.laws._core.spectral import AbstractSpectralLaw, are_bounded

# The rule for laws without point masses; a law may list point masses whose mass is 0.
CONTINUOUS = _checks.Rule(
    lambda law: law._atoms()[1].size == 0 or (law._atoms()[1] == 0).all(), "be a law without point masses"
)


class Symmetrized(AbstractSpectralLaw):
    r"""A law pooled with its mirror image, $\tfrac12\,(f(x) + f(-x))$.

    Args:
        base: a law without point masses.

    Raises:
        ValueError: `base` has point masses.

    Example:
        >>> import rmtjax as rmt
        >>> law = Symmetrized(rmt.laws.PeriodicPadding(rmt.laws.Semicircle(), 0.9, "ascending"))
        >>> print(f"{law.cdf(0.0):.2f}")
        0.50

    References:
        Süzen (2025), arXiv:2512.22169, where the symmetrised spectrum is Wigner's cat.
    """

    base: Annotated[AbstractLaw, CONTINUOUS]

    def __init__(self, base: AbstractLaw):
        self.base = base

    def _degrees(self) -> dict[str, int]:
        return {"base": 1}

    def _support(self) -> tuple[Array, Array]:
        lower, upper = self.base._promised_support()
        reach = jnp.maximum(jnp.abs(lower), jnp.abs(upper))
        return -reach, reach

    def _is_bounded(self) -> bool:
        return are_bounded(self.base)

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        density = self.base._promised(jnp.stack([x, -x]), quantity="pdf")
        return density.sum(axis=0) / 2

    def _tails(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        below, above = self.base._promised(jnp.stack([x, -x]), quantity="tails")
        return (below[0] + above[1]) / 2, (above[0] + below[1]) / 2

    def _sample(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        key_base, key_sign = jax.random.split(key)
        draws = self.base.sample(key_base, shape)
        return draws * jax.random.rademacher(key_sign, shape, draws.dtype)

    def _moment(self, k: int) -> Float[Array, ""]:
        moment = self.base.moment(k)
        return moment if k % 2 == 0 else 0 * moment

    def _var(self) -> Float[Array, ""]:
        return self.base.moment(2)

    def _breakpoints(self) -> Float[Array, " k"]:
        points = self.base._promised_breakpoints()
        return jnp.sort(jnp.concatenate([points, -points]))
