r"""Centre and scale of the edges of the Gaussian, Laguerre and Jacobi ensembles, with constants of the second order.

The number of levels enters the constants as $n + \tfrac12 - \tfrac1\beta$, and so do the other sizes of an ensemble:

- β = 1, $n - \tfrac12$: Johnstone (2008), Ma (2012) and Johnstone and Ma (2012) proved that this makes the error of the
  law $O(n^{-2/3})$, while n leaves $O(n^{-1/3})$.
- β = 2, n: the constants of El Karoui (2006) are equal to this order.
- Even β: Forrester and Trinh (2019, Nucl. Phys. B 938, 621) found it for the densities of the Gaussian and Laguerre
  ensembles.
- β = ∞, $n + \tfrac12$: the levels are the zeros of classical polynomials, and the centre is the turning point of their
  differential equation.

Tests hold it against exact laws (Gaussian: β = 1, 2 and 4; Laguerre and Jacobi: β = 2), simulations and the zeros.
"""

from typing import Any, cast

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._promotion import common_dtype
from rmtjax._typing import DysonIndex
from rmtjax.ensembles._core.edge import Edge, Variable
from rmtjax.laws import HardEdge, StochasticAiry, TracyWidom

Number = Float[Array, ""] | float
Numbers = Float[Array, "..."] | float
# A few levels that hardly repel each other do not end like the levels of an Airy operator.
_POSITIVE = _checks.Rule(lambda size: size > 0, "be positive where the spectrum is to have an edge")
# The largest exponents that `HardEdge` accepts.
_MOST = {1: 49, 2: 50, 4: 24}
_NEAR = _checks.Rule(lambda gap, beta: gap <= _MOST[beta], lambda beta: f"be at most {_MOST[beta]} for a hard edge")
_SOFT = _checks.Rule(lambda gap: gap > 0, "be positive for a soft edge (in a β-ensemble m is 2a/beta or 2b/beta)")


def gaussian_soft_edge(n: int, beta: Number, scale: Float[Array, ""], upper: bool) -> Edge:
    """The edge at ±2s of n levels in the convention of `GaussianBeta`."""
    size = _effective("n", n, beta, scale)
    centre = 2 * scale * jnp.sqrt(size / n)
    return _soft_edge(beta, centre if upper else -centre, scale * n**-0.5 * size ** (-1 / 6), upper)


def has_soft_edge(n: int, beta: Number) -> Any:
    """Whether n levels have an edge at this β; raises if β is known and they have none."""
    return _POSITIVE.kept("n + 1/2 - 1/beta", n + 0.5 - 1 / beta)


def laguerre_soft_edge(n: int, m: Number, beta: Number, unit: Float[Array, ""], upper: bool) -> Edge:
    r"""The edges $(\sqrt m \pm \sqrt n)^2$ of $XX^*$ with n levels, m degrees of freedom and $E|X_{ij}|^2 = 1$.

    Johnstone (2001), Ann. Statist. 29, 295; El Karoui (2006), Ann. Probab. 34, 2077; Ma (2012), Bernoulli 18, 322, who
    also takes logarithms at the lower edge. The term τ²/8 that he adds there is below the order of the error, and the
    error is smaller without it.
    """
    n_, m_ = _effective("n", n, beta, unit), _effective("m", m, beta, unit)
    if upper:
        centre, scale = _laguerre_constants(n_, m_, 1)
        return _soft_edge(beta, unit * centre, unit * scale, upper)
    centre, scale = _laguerre_constants(m_ - _SOFT("|m - n|", m_ - n_), m_, -1)
    return _soft_edge(beta, jnp.log(unit * centre), scale / centre, upper, "log")


def largest_laguerre_level(n: Numbers, m: Numbers, beta: int) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    r"""Centre and scale of the law of the largest level of $XX^*$ with $E|X_{ij}|^2 = 1$, elementwise in the sizes.

    They are the constants of `laguerre_soft_edge` for arrays of sizes above 1/beta - 1/2, and symmetric in n and m.
    """
    shift = 0.5 - 1 / beta
    n, m = (size if isinstance(size, int) else _checks.real("size", size) for size in (n, m))
    return _laguerre_constants(jnp.asarray(n + shift), jnp.asarray(m + shift), 1)


def _laguerre_constants(n: Array, m: Array, sign: int) -> tuple[Array, Array]:
    """Centre and scale of an edge from effective sizes."""
    root = jnp.sqrt(m) + sign * jnp.sqrt(n)
    return root**2, root * jnp.cbrt(1 / jnp.sqrt(n) + sign / jnp.sqrt(m))


def laguerre_hard_edge(n: int, m: Number, beta: Number, unit: Float[Array, ""]) -> Edge:
    r"""The variable $4 (n + \alpha/\beta) \lambda$ of the levels of $XX^*$, with an error $O(n^{-2})$.

    Bornemann (2016), Ann. Appl. Probab. 26, 1942, for β = 2; Forrester and Trinh (2019), arXiv:1903.08823, for every β.
    The factor is twice the sum of the effective sizes.
    """
    sizes = _effective("n", n, beta, unit) + _effective("m", m, beta, unit)
    return _hard_edge(n, m, beta, unit / (2 * sizes), upper=False)


def jacobi_soft_edge(n: int, m1: Number, m2: Number, beta: Number, upper: bool) -> Edge:
    """The edges of n levels in the variable log(x/(1 - x)) (Johnstone 2008, Ann. Statist. 36, 2638, theorem 1)."""
    n_, near, far = _sides(n, m1, m2, beta, upper)
    near = n_ + _SOFT("|m - n|", near - n_)
    centre, scale = _jacobi_constants(n_, far, near)
    return _soft_edge(beta, centre if upper else -centre, scale, upper, "logit")


def largest_jacobi_level(
    n: Numbers, m1: Numbers, m2: Numbers, beta: int
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    r"""Centre and scale of the law of the logit of the largest level of `Jacobi(n, m1, m2)`, elementwise in the sizes.

    They are the constants of `jacobi_soft_edge` for arrays of sizes with m2 > n, and symmetric in n and m1.
    """
    n, m1, m2 = (jnp.asarray(size + (0.5 - 1 / beta)) for size in (n, m1, m2))
    return _jacobi_constants(n, m1, m2)


def _jacobi_constants(n: Array, far: Array, near: Array) -> tuple[Array, Array]:
    """Centre and scale of an edge from effective sizes."""
    gamma, phi = (2 * jnp.arcsin(jnp.sqrt(size / (near + far))) for size in (n, far))
    centre = 2 * jnp.log(jnp.tan((gamma + phi) / 2))
    scale = jnp.cbrt(16 / ((near + far) * jnp.sin(gamma + phi)) ** 2 / (jnp.sin(gamma) * jnp.sin(phi)))
    return centre, scale


def jacobi_hard_edge(n: int, m1: Number, m2: Number, beta: Number, upper: bool) -> Edge:
    r"""The variable $(n + m_1)(2 m_2 + m_1 - n)\,x$ of the effective sizes at 0, with an error $O(n^{-2})$.

    By the differential equation, Jacobi polynomials of degree n are Bessel functions of $\sqrt s$ near 0 up to that
    order, $s = 4 (n + \tfrac{a+1}2)(n + b + \tfrac{a+1}2) x$, however large b is.
    """
    n_, near, far = _sides(n, m1, m2, beta, upper)
    return _hard_edge(n, m2 if upper else m1, beta, 1 / ((n_ + near) * (2 * far + near - n_)), upper)


def _sides(n: int, m1: Number, m2: Number, beta: Number, upper: bool) -> tuple[Array, Array, Array]:
    """Effective sizes: of the levels, and of the degrees of freedom on the side of the edge and on the other side."""
    like = jnp.asarray(1.0, common_dtype(m1, m2, beta))
    near, far = (m2, m1) if upper else (m1, m2)
    return _effective("n", n, beta, like), _effective("m", near, beta, like), _effective("m", far, beta, like)


def _effective(name: str, size: Number, beta: Number, like: Float[Array, ""]) -> Float[Array, ""]:
    """A number of levels or of degrees of freedom, as it enters the constants; NaN where there is no edge."""
    value = jnp.asarray(size + 0.5 - 1 / beta, common_dtype(like, beta, size))
    return _POSITIVE(f"{name} + 1/2 - 1/beta (of levels that are not forced)", value)


def _soft_edge(beta: Number, centre: Array, scale: Array, upper: bool, variable: Variable = "level") -> Edge:
    """An edge in units of the stochastic Airy operator."""
    varies = isinstance(beta, jax.Array)
    law = StochasticAiry(beta) if varies else TracyWidom(cast(DysonIndex, int(beta)), "stochastic-airy")
    return Edge(centre, scale, law, "upper" if upper else "lower", "soft", variable, 2 / 3)


def _hard_edge(n: int, m: Number, beta: Number, scale: Array, upper: bool) -> Edge:
    """An edge at 0, or the upper one at 1, known for β = 1, 2 and 4."""
    index = cast(DysonIndex, _checks.dyson_index(beta))
    law = HardEdge(_NEAR("m - n", jnp.asarray(m - n, scale.dtype), index) * index / 2 + index / 2 - 1, index)
    return Edge(jnp.full_like(scale, float(upper)), scale, law, "upper" if upper else "lower", "hard", "level", 2)
