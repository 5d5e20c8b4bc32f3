r"""Edges of spectra: the variable in which the level next to an edge has a limiting law.

The number of levels enters the constants as $n + \tfrac12 - \tfrac1\beta$, and so do the other sizes of an ensemble.
That is $n - \tfrac12$ for β = 1, which Johnstone (2008), Ma (2012) and Johnstone and Ma (2012) proved to make the error
of the law $O(n^{-2/3})$ where n leaves $O(n^{-1/3})$; n for β = 2, to which the constants of El Karoui (2006) are equal
to this order; $n + \tfrac14$ for β = 4; and $n + \tfrac12$ for β = ∞, where the levels are the zeros of classical
polynomials and the centre is the turning point of their differential equation. Forrester and Trinh (2018, J. Math.
Phys. 59, 053302) found it for even β in the Gaussian and Laguerre ensembles. Tests hold it for β = 1, 2 and 4 against
exact laws.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._module import AbstractModule
from rmtjax._typing import RealLike
from rmtjax.laws import AbstractLaw, HardEdge, StochasticAiry, TracyWidom

# Few levels that hardly repel each other do not end like those of an Airy operator.
_POSITIVE = _checks.Rule(lambda size: size > 0, "be positive where the spectrum is to have an edge")
# The variables in which an edge is standardised, and the way back.
_VARIABLES = {
    "level": (lambda level: level, lambda y: y),
    "log": (jnp.log, jnp.exp),
    "logit": (lambda level: jnp.log(level) - jnp.log1p(-level), lambda y: 1 / (1 + jnp.exp(-y))),
}


class Edge(AbstractModule):
    r"""An edge of a spectrum: where it is, and in which variable the level next to it has a limiting law.

    With g the level itself, its logarithm or its logit,

    $$x = \pm \frac{g(\lambda) - c}{\sigma}$$

    grows outward from a soft edge and inward from a hard one. For the level next to the edge x has the distribution
    function of `law`, up to an error of the order $n^{-\mathtt{order}}$. Ensembles make such objects: `soft_edge`,
    `hard_edge`.

    Args:
        centre: c.
        scale: σ > 0.
        law: limiting law of x for the level next to the edge. The k-th level from a soft edge has that of
            `TracyWidom(beta, "stochastic-airy", order=k)`.
        side: `"upper"` or `"lower"`; static.
        kind: `"soft"` or `"hard"`; static.
        variable: g, `"level"`, `"log"` or `"logit"`; static.
        order: exponent of n in the error of the law; static.

    Example:
        >>> import jax, rmtjax as rmt
        >>> edge = rmt.Wishart(20, 80).soft_edge()  # is the largest sample variance more than noise?
        >>> print(f"{edge.levels(edge.law.isf(0.05)):.2f}")
        2.34

    References:
        Johnstone (2001), Ann. Statist. 29, 295, for the use in tests; the head of this module for the constants.
    """

    centre: Float[Array, ""]
    scale: Float[Array, ""]
    law: AbstractLaw
    side: str = eqx.field(static=True)
    kind: str = eqx.field(static=True)
    variable: str = eqx.field(static=True)
    order: float = eqx.field(static=True)

    def standardize(self, levels: RealLike) -> Float[Array, "..."]:
        """The variable x at each level. Far out in single precision see `GaussianBeta.edge_levels`."""
        return self._run("_standardize", _checks.real("levels", levels))

    def levels(self, x: RealLike) -> Float[Array, "..."]:
        """The level with the standardised variable x: critical values are `edge.levels(edge.law.isf(0.05))`."""
        return self._run("_levels", _checks.real("x", x))

    def _outward(self) -> int:
        return 1 if (self.side == "upper") == (self.kind == "soft") else -1

    def _standardize(self, levels: Float[Array, "..."]) -> Float[Array, "..."]:
        return self._outward() * (_VARIABLES[self.variable][0](levels) - self.centre) / self.scale

    def _levels(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return _VARIABLES[self.variable][1](self.centre + self._outward() * self.scale * x)


def effective_size(name: str, size: Float[Array, ""] | int, beta: Float[Array, ""]) -> Float[Array, ""]:
    """A number of levels or of degrees of freedom as it enters the constants of an edge; NaN where there is none."""
    return _POSITIVE(f"{name} + 1/2 - 1/beta", size + 0.5 - 1 / beta)


def soft_edge(
    beta: Float[Array, ""] | float,
    centre: Float[Array, ""],
    scale: Float[Array, ""],
    upper: bool,
    variable: str = "level",
) -> Edge:
    """A soft edge with constants of the second order, in units of the stochastic Airy operator."""
    law = StochasticAiry(beta) if isinstance(beta, jax.Array) else TracyWidom(int(beta), "stochastic-airy")
    return Edge(centre, scale, law, "upper" if upper else "lower", "soft", variable, 2 / 3)


def hard_edge(beta: object, alpha: Float[Array, ""], scale: Float[Array, ""], upper: bool) -> Edge:
    """A hard edge at 0, or the upper one at 1, for the exponent α of the weight there; known for β = 1, 2 and 4."""
    law = HardEdge(alpha, _checks.dyson_index(beta))
    return Edge(jnp.full_like(scale, float(upper)), scale, law, "upper" if upper else "lower", "hard", "level", 2)
