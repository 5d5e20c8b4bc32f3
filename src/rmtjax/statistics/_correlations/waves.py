"""Sums of waves, of which form factors and power spectra are made."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

# A number as the sum of two.
Halves = tuple[Float[Array, "..."], Float[Array, "..."]]

# A tile of this many numbers stays in the cache of a core.
_TILE = 1 << 15


def _polynomials(terms: int) -> tuple[list[float], list[float]]:
    """Polynomials in t² for sin(πt)/t, and with one more term for cos(πt), interpolated on |t| ≤ 1/2."""
    sine, cosine = lambda square: np.pi * np.sinc(np.sqrt(square)), lambda square: np.cos(np.pi * np.sqrt(square))
    through = lambda function, degree: np.polynomial.Chebyshev.interpolate(function, degree, domain=[0, 0.25])
    powers = lambda series: series.convert(kind=np.polynomial.Polynomial).coef.tolist()
    return powers(through(sine, terms - 1)), powers(through(cosine, terms))


# Enough terms for all digits of single and of double precision; Taylor's series would need far more.
_SINGLE, _DOUBLE = _polynomials(5), _polynomials(8)


def halves(x: Float[Array, "..."]) -> Halves:
    """Two numbers of half the digits, whose sum is x. Products of such numbers are exact."""
    kind = jnp.finfo(x.dtype)
    high = jax.lax.stop_gradient(jax.lax.reduce_precision(x, kind.nexp, kind.nmant // 2))
    return high, x - high


def product(x: Halves, y: Halves) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """The product, and its rounding error (Dekker 1971, Numer. Math. 18, 224)."""
    (a, b), (c, d) = x, y
    rounded = (a + b) * (c + d)
    return rounded, jax.lax.stop_gradient(((a * c - rounded) + a * d + b * c) + b * d)


def turns(x: Halves, tau: Halves, rest: Float[Array, "..."]) -> Float[Array, "..."]:
    """x(τ + rest). In single precision whole turns are left out: 10⁴ of them would leave three digits of the rest."""
    if jnp.finfo(rest.dtype).bits > 32:
        return (x[0] + x[1]) * (tau[0] + tau[1])  # twelve digits are left
    rounded, error = product(x, tau)
    return (rounded - jnp.round(rounded)) + (error + (x[0] + x[1]) * rest)


@jax.custom_jvp
def cosine_and_sine(turns: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Cosine and sine of 2π turns, by polynomials, which are vectorised: ten times as fast as the functions of JAX."""
    part = turns - jnp.round(turns)
    sine, cosine = _DOUBLE if jnp.finfo(turns.dtype).bits > 32 else _SINGLE
    half_sine, half_cosine = part * _polynomial(sine, part**2), _polynomial(cosine, part**2)
    return 1 - 2 * half_sine**2, 2 * half_sine * half_cosine


@cosine_and_sine.defjvp
def _slopes(primals: tuple, tangents: tuple) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """The slopes are the functions themselves, so reverse mode keeps no step of the polynomials."""
    cosine, sine = cosine_and_sine(*primals)
    slope = 2 * np.pi * tangents[0]
    return (cosine, sine), (-sine * slope, cosine * slope)


def _polynomial(coefficients: list[float], x: Float[Array, "..."]) -> Float[Array, "..."]:
    total = jnp.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total


def wave_sums(
    x: Float[Array, " n"], weights: Float[Array, "*batch n"], tau: Float[Array, " k"], rest: Float[Array, " k"]
) -> Complex[Array, "*batch k"]:
    """The sums of w exp(2πi(τ + rest)x) over the places x, in tiles of places and times that fit into the cache."""
    columns = max(min(_TILE // max(x.size, 1), tau.size), 1)
    tiles = [jnp.pad(part, (0, -tau.size % columns)).reshape(-1, columns) for part in (*halves(tau), rest)]
    places = halves(x[:, None])

    def of_tile(tile: list[Float[Array, " columns"]]) -> Complex[Array, "*batch columns"]:
        high, low, rest = (each[None] for each in tile)
        cosine, sine = cosine_and_sine(turns(places, (high, low), rest))
        total = lambda wave: jnp.matmul(weights, wave, precision="highest")
        return jax.lax.complex(total(cosine), total(sine))

    # Without the checkpoint a gradient in reverse mode would keep all waves.
    sums = jax.lax.map(jax.checkpoint(of_tile), tiles)
    return jnp.moveaxis(sums, 0, -2).reshape(*weights.shape[:-1], sums.shape[0] * columns)[..., : tau.size]
