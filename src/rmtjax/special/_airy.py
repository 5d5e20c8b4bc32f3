r"""Airy functions on the real line.

Near the origin the functions are tabulated as polynomials on panels in x. Further out, with
$\zeta = \tfrac23 |x|^{3/2}$, they are products of powers of $|x|$, of $e^{\pm\zeta}$ (x > 0) or a rotation by ζ
(x < 0), and of factors that are smooth in 1/ζ, which are tabulated as polynomials on panels in 1/ζ. A relative
error of ζ is amplified by ζ, so ζ is computed in twice the precision. `scripts/airy_table.py` makes the polynomials.
"""

import functools
import json
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._typing import RealLike
from rmtjax.special._double import pair_product, pair_root, two_thirds

# The table has two panels per unit of x up to |x| = 4, and beyond it eight of equal width in 1/ζ on each side.
_EDGE = 4.0
_SIDES = 8
_PER_UNIT = 2
_CENTRAL = int(2 * _EDGE * _PER_UNIT)
# From this x on Ai is 0 and Bi infinite in both precisions.
_OVERFLOW = 200.0


class Airy(NamedTuple):
    """Airy functions and their first derivatives at the same points, as `airy` returns them.

    Example:
        >>> print(f"{airy(0.0).bi:.5f}")
        0.61493
    """

    ai: Float[Array, "..."]
    ai_prime: Float[Array, "..."]
    bi: Float[Array, "..."]
    bi_prime: Float[Array, "..."]


def airy(x: RealLike) -> Airy:
    r"""Airy functions Ai, Bi and their derivatives, the solutions of $y'' = x y$.

    For x ≥ 0 the error is within 4 ulp. For x < 0 it is within 4 ulp of the envelope
    $\sqrt{\mathrm{Ai}^2 + \mathrm{Bi}^2}$ (for derivatives, of theirs), down to -10¹⁰ in float64 and -10⁵ in float32.
    Further out the phase loses its digits one by one; below $-\mathrm{eps}^{-4/3}$ none is left, and the value is NaN.
    Derivatives of all orders follow from the differential equation.

    Args:
        x: real numbers. Ai underflows to 0 and Bi overflows to infinity near x = 104 in float64, 26 in float32;
            at x = ±∞ the functions take their limits where these exist.

    Returns:
        The functions `ai` and `bi` and their derivatives `ai_prime` and `bi_prime`.

    Example:
        >>> print(f"{airy(0.0).ai:.6f} {airy(-2.0).bi_prime:.6f}")
        0.355028 0.278795

    References:
        Olver et al. (2010), NIST Digital Library of Mathematical Functions, chapter 9: definition 9.2, asymptotic
        expansions 9.7.
    """
    return Airy(*_compiled(_checks.real("x", x))[:4])


@jax.custom_jvp
def airy_and_excess(x: Float[Array, "..."]) -> tuple[Array, ...]:
    r"""The functions Ai, Ai', Bi, Bi' and, for x ≥ 0 only, the excess $(\mathrm{Ai}'/\mathrm{Ai})^2 - x$."""
    size = jnp.abs(x)
    far = size > _EDGE
    highest = jnp.where(x > 0, _OVERFLOW, _phase_limit(x.dtype))
    z = jnp.clip(size, _EDGE, highest.astype(x.dtype))
    root, root_error = pair_root(z)
    product, product_error = pair_product(z, root)
    zeta = two_thirds(product, product_error + z * root_error)
    rows = _polynomials(x, far, zeta[0])
    fourth = jnp.sqrt(root)
    right, left = _beyond(rows, zeta, fourth), _before(rows, zeta, fourth)
    outside = [jnp.where(x > 0, above, below) for above, below in zip(right, left, strict=True)]
    values = [jnp.where(far, there, here) for there, here in zip(outside, rows, strict=False)]
    unknown = x < -_phase_limit(x.dtype)
    values = [jnp.where(unknown, jnp.nan, value) for value in values]
    values[0], values[2] = (jnp.where(x == -jnp.inf, 0, values[k]) for k in (0, 2))
    excess = jnp.where(far, rows[4] / jnp.sqrt(jnp.maximum(size, _EDGE)), rows[4])
    return *values, excess


@airy_and_excess.defjvp
def _airy_jvp(primals: tuple, tangents: tuple) -> tuple[tuple, tuple]:
    (x,), (tangent,) = primals, tangents
    ai, ai_prime, bi, bi_prime, excess = value = airy_and_excess(x)
    # At infinity both y and x y have the limit 0, but the product there would be NaN.
    second = lambda y: jnp.where(y == 0, 0, x) * y
    # With R = -Ai'/Ai the excess is R² - x = R', and its derivative is 2 R R' - 1.
    right = x >= 0
    rate = jnp.sqrt(jnp.where(right, x + excess, 1))
    by_x = ai_prime, second(ai), bi_prime, second(bi), jnp.where(right & (excess > 0), 2 * rate * excess - 1, 0)
    return value, tuple(slope * tangent for slope in by_x)


# This is compiled, so that calls outside of `jit` do not trace it again.
_compiled = compiled(airy_and_excess)


def _phase_limit(dtype: np.dtype) -> float:
    """The |x| at which ζ, computed in twice the precision, has an absolute error of 1."""
    return float(jnp.finfo(dtype).eps) ** (-4 / 3)


@functools.cache
def _table(dtype: np.dtype) -> np.ndarray:
    """The coefficients by power, panel and row: highest power first, and only the powers that the precision needs."""
    regions = json.loads(Path(__file__).with_name("_airy_table.json").read_text())
    panels = np.array(regions["left"] + regions["centre"] + regions["right"])
    size = np.abs(panels).max(axis=-1, keepdims=True)
    needed = np.abs(panels) > np.finfo(dtype).eps / 16 * size
    return np.moveaxis(panels[..., needed.any(axis=(0, 1))], -1, 0)[::-1].astype(dtype)


def _polynomials(x: Float[Array, "..."], far: Array, zeta: Float[Array, "..."]) -> list[Array]:
    """The five rows of the table, evaluated at x."""
    s = 2 / 3 * _EDGE**1.5 / zeta * _SIDES
    side = jnp.clip(jnp.floor(s), 0, _SIDES - 1)
    first = jnp.where(x < 0, 0, _SIDES + _CENTRAL)
    central = jnp.clip(jnp.floor((x + _EDGE) * _PER_UNIT), 0, _CENTRAL - 1)
    index = jnp.where(far, first + side, _SIDES + central).astype(int)
    t = jnp.where(far, 2 * (s - side) - 1, 2 * _PER_UNIT * x - (2 * central + 1 - _CENTRAL))

    def horner(value: list[Array], column: Float[Array, "panels 5"]) -> tuple[list[Array], None]:
        return [column[index, row] + t * above for row, above in enumerate(value)], None

    return jax.lax.scan(horner, [jnp.zeros_like(t)] * 5, jnp.asarray(_table(x.dtype)))[0]


def _beyond(rows: list[Array], zeta: tuple[Array, Array], fourth: Float[Array, "..."]) -> tuple[Array, ...]:
    """The functions for large positive x, from the rows of the table, ζ and x^(1/4)."""
    hi, lo = zeta
    decay = jnp.exp(-hi) * (1 - lo)
    # exp(ζ) overflows before Bi does, so a factor exp(4) is applied last.
    growth, lead = jnp.exp(hi - 4) * (1 + lo), float(np.exp(4))
    return (
        rows[0] / fourth * decay,
        -rows[1] * fourth * decay,
        lead * rows[2] / fourth * growth,
        lead * rows[3] * fourth * growth,
    )


def _before(rows: list[Array], zeta: tuple[Array, Array], fourth: Float[Array, "..."]) -> tuple[Array, ...]:
    """The functions for large negative x: the rows of the table, rotated by ζ."""
    hi, lo = zeta
    cosine = jnp.cos(hi) * jnp.cos(lo) - jnp.sin(hi) * jnp.sin(lo)
    sine = jnp.sin(hi) * jnp.cos(lo) + jnp.cos(hi) * jnp.sin(lo)
    return (
        (rows[0] * cosine + rows[1] * sine) / fourth,
        (rows[2] * cosine + rows[3] * sine) * fourth,
        (rows[1] * cosine - rows[0] * sine) / fourth,
        (rows[3] * cosine - rows[2] * sine) * fourth,
    )
