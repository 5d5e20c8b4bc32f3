"""Laws that know which of their parameters carry the unit of the levels."""

from functools import reduce
from typing import Self

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax._module import AbstractModule
from rmtjax._units import unit_near


class AbstractScaledLaw(AbstractModule):
    """A law whose formulas only ever see parameters and points of order one.

    The unit is a power of two near the largest of the parameters, and 1 for parameters of order one. The public methods
    of subclasses divide parameters and points by their powers of the unit, and multiply each result by its power. So no
    formula has to mind that the square of a length may overflow.
    """

    def _degrees(self) -> dict[str, int]:
        """The names of the parameters that carry the unit, and the power of each to which the levels are proportional.

        A parameter that is a law, or a tuple of laws, has the degree 1.
        """
        return {}

    def _size(self) -> Float[Array, ""] | None:
        """The largest of the parameters that carry the unit, in the unit of the levels; None if there is none."""
        sizes = []
        for name, degree in self._degrees().items():
            value = getattr(self, name)
            if isinstance(value, tuple | AbstractScaledLaw):
                parts = [part._size() for part in (value if isinstance(value, tuple) else (value,))]
                if any(part is None for part in parts):
                    return None  # a part that cannot be scaled
                sizes += parts
            else:
                sizes.append(jnp.max(jnp.abs(value)) ** degree)
        return reduce(jnp.maximum, sizes) if sizes else None

    def _over(self, size: Float[Array, ""]) -> Self:
        """The law of X divided by the unit near a size, for X with this law."""
        names = list(self._degrees())

        def divided(name: str, degree: int) -> object:
            value = getattr(self, name)
            if isinstance(value, tuple):
                return tuple(part._over(size) for part in value)
            if isinstance(value, AbstractScaledLaw):
                return value._over(size)
            return value / unit_near(size, degree)

        values = [divided(name, degree) for name, degree in self._degrees().items()]
        return eqx.tree_at(lambda law: [getattr(law, name) for name in names], self, values)

    def _in_unit(self) -> tuple[Self, Array | float]:
        """The law of X/u for the unit u of this law, and u, which is 1 if no parameter carries a unit."""
        size = self._size()
        return (self, 1.0) if size is None else (self._over(size), unit_near(size))
