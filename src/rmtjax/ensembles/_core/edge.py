"""The record of an edge: the variable in which the level next to it has a limiting law."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._module import AbstractModule
from rmtjax._typing import RealLike, RealScalarLike, Side
from rmtjax._units import quotient
from rmtjax.laws import AbstractLaw
from rmtjax.special.internal import log_one_plus

Kind = Literal["soft", "hard"]
Variable = Literal["level", "log", "logit"]
# The variables in which an edge is standardised, and the way back.
_VARIABLES: dict[Variable, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "level": (lambda level: level, lambda y: y),
    "log": (jnp.log, jnp.exp),
    "logit": (lambda level: jnp.log(level) - log_one_plus(-level), lambda y: 1 / (1 + jnp.exp(-y))),
}


class Edge(AbstractModule):
    r"""An edge of a spectrum: where it is, and in which variable the level next to it has a limiting law.

    With g the level itself, its logarithm or its logit,

    $$x = \pm \frac{g(\lambda) - c}{\sigma}$$

    grows outward from a soft edge and inward from a hard edge. For the level next to the edge, x has the distribution
    function of `law`, up to an error of the order $n^{-\mathtt{rate}}$. The methods `soft_edge` and `hard_edge` of
    ensembles return such objects.

    Args:
        centre: the number c, in units of g.
        scale: σ > 0.
        law: limiting law of x for the level next to the edge. For the k-th level from a soft edge it is
            `TracyWidom(beta, "stochastic-airy", order=k)`.
        side: `"upper"` or `"lower"`; static.
        kind: `"soft"` or `"hard"`; static.
        variable: g, `"level"`, `"log"` or `"logit"`; static.
        rate: exponent of 1/n in the error of the law; static.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax, rmtjax as rmt
        >>> edge = rmt.Wishart(20, 80).soft_edge()  # is the largest sample variance more than noise?
        >>> print(f"{edge.levels(edge.law.isf(0.05)):.2f}")
        2.34

    References:
        Johnstone (2001), Ann. Statist. 29, 295, for the use in tests.
    """

    centre: Float[Array, ""]
    scale: Annotated[Float[Array, ""], _checks.POSITIVE]
    law: AbstractLaw
    side: Side = eqx.field(static=True)
    kind: Kind = eqx.field(static=True)
    variable: Variable = eqx.field(static=True)
    rate: float = eqx.field(static=True)

    def __init__(
        self,
        centre: RealScalarLike,
        scale: RealScalarLike,
        law: AbstractLaw,
        side: Side,
        kind: Kind,
        variable: Variable = "level",
        rate: float = 2 / 3,
    ):
        self.centre, self.scale = _checks.scalar("centre", centre), _checks.scalar("scale", scale, nonzero=True)
        self.law, self.rate = law, rate
        self.side = _checks.choice("side", side, Side)
        self.kind = _checks.choice("kind", kind, Kind)
        self.variable = _checks.choice("variable", variable, Variable)

    def standardize(self, levels: RealLike) -> Float[Array, "..."]:
        """The variable x at each level; `GaussianBeta.edge_levels` keeps more digits of it in single precision."""
        return self._run(self._standardize, _checks.real("levels", levels))

    def levels(self, x: RealLike) -> Float[Array, "..."]:
        """The level with the standardised variable x: critical values are `edge.levels(edge.law.isf(0.05))`."""
        return self._run(self._levels, _checks.real("x", x))

    def _outward(self) -> int:
        return 1 if (self.side == "upper") == (self.kind == "soft") else -1

    def _standardize(self, levels: Float[Array, "..."]) -> Float[Array, "..."]:
        return quotient(self._outward() * (_VARIABLES[self.variable][0](levels) - self.centre), self.scale)

    def _levels(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return _VARIABLES[self.variable][1](self.centre + self._outward() * self.scale * x)
