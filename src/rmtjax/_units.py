"""Units near a given size: powers of two, so that dividing by them and multiplying again rounds nothing.

A formula that squares lengths or takes their fourth powers overflows long before the lengths do. In a unit near the
largest length it is as good at 1e-30 as at 1. Parameters of laws may be powers of lengths, so laws use a coarse unit,
`unit_near`, which is 1 for sizes of order one. Data use the nearest power of two, `unit_of`.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from rmtjax._promotion import in_one_precision

# Units are powers of 2^8. Quadratic parameters need their square roots, which are powers of two as well.
_STEP = 8


def unit_near(size: Float[Array, "..."], root: int = 1) -> Float[Array, "..."]:
    """A power of 2^8 near a positive size, or a root of it; 1 for sizes from 1/2000 to 5000.

    A size divided by its unit always has the unit 1: XLA may turn a quotient by two units into a quotient by their
    product, which could overflow. The unit has the derivative 0; for a Python number it is weakly typed.

    Args:
        size: positive numbers; 0 has the smallest unit.
        root: which root of the unit to return: 1, 2, 4 or 8.
    """
    size, info = jax.lax.stop_gradient(size), jnp.finfo(size.dtype)
    small = jnp.sqrt(jnp.sqrt(jnp.sqrt(size)))
    small = jax.lax.reduce_precision(small, exponent_bits=info.nexp, mantissa_bits=0)
    # Neither the largest unit nor its reciprocal overflows.
    largest = 2.0 ** (info.maxexp // _STEP - 1)
    small = jnp.clip(small, 1 / largest, largest)
    return jnp.where((small >= 0.5) & (small <= 2), 1.0, small) ** (_STEP // root)


def unit_of(size: Float[Array, "..."]) -> Float[Array, "..."]:
    """The largest power of two up to a size that is not negative, with the derivative 0; 1 for 0, infinity and NaN.

    Its reciprocal is a normal number too, because XLA divides by multiplying: 3e38/2¹²⁷ is 0 on a CPU.
    """
    size, kind = jax.lax.stop_gradient(size), jnp.finfo(size.dtype)
    word = jnp.uint64 if kind.bits == 64 else jnp.uint32
    exponent = word(((1 << kind.nexp) - 1) << kind.nmant)
    power = jax.lax.bitcast_convert_type(jax.lax.bitcast_convert_type(size, word) & exponent, size.dtype)
    return jnp.where((power > 0) & (power < jnp.inf), jnp.minimum(power, 1 / float(kind.tiny)), 1)


def in_unit(
    values: Inexact[Array, "..."], axis: int | tuple[int, ...]
) -> tuple[Inexact[Array, "..."], Float[Array, "..."]]:
    """The values in a unit near the largest along these axes, and this unit, in which these axes have length 1."""
    unit = unit_of(largest_part(values, axis))
    return over(values, unit), unit


def largest_part(values: Inexact[Array, "..."], axis: int | tuple[int, ...]) -> Float[Array, "..."]:
    """The largest modulus along these axes, which get length 1; of complex values the largest part, without a root."""
    parts = (values.real, values.imag) if jnp.iscomplexobj(values) else (values,)
    sizes = [jnp.max(jnp.abs(jax.lax.stop_gradient(part)), axis=axis, keepdims=True, initial=0) for part in parts]
    return sizes[0] if len(sizes) == 1 else jnp.maximum(*sizes)


def over(values: Inexact[Array, "..."], unit: Float[Array, "..."]) -> Inexact[Array, "..."]:
    """The values divided by a power of two, by multiplying with its reciprocal, which takes less time."""
    return times(values, 1 / unit)


def times(value: Array, factor: Array | float) -> Array:
    """The product with a real number, by parts, because an infinite number times a complex one would be NaN."""
    if jnp.iscomplexobj(value):
        return jax.lax.complex(jnp.real(value) * factor, jnp.imag(value) * factor)
    return value * factor


def quotient(x: Array | float, unit: Array | float) -> Array:
    """A number divided by a length, in one precision, with derivatives that are right where they are normal numbers.

    JAX multiplies by the square of 1/unit, which in single precision is infinite at 1e-21 and 0 at 1e24.
    """
    x, unit = in_one_precision((x, unit))
    return _quotient(x, jnp.asarray(unit, jnp.result_type(x)) if jnp.iscomplexobj(x) else unit)


@jax.custom_jvp
def _quotient(x: Array, unit: Array) -> Array:
    return x / unit


@_quotient.defjvp
def _quotient_jvp(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    (x, unit), (dx, dunit) = primals, tangents
    value = _quotient(x, unit)
    # Infinity is infinite in every unit; it must not meet a tangent of 0.
    finite = jnp.where(jnp.isinf(value), 0, value)
    # Multiply by the reciprocal: XLA may turn a quotient by the unit and `value` into one by unit · x, again a square.
    return value, (dx - finite * dunit) * _quotient(jnp.ones_like(unit), unit)


def times_power(value: Array | float, base: Array | float, k: int) -> Array:
    """The value times the k-th power of a number; the power may overflow where the product does not."""
    value, dtype = jnp.asarray(value), jnp.result_type(value, base)
    if k <= 8:  # Multiplying one by one costs little then, and nothing overflows on the way.
        value = value * base**0
        for _ in range(k):
            value = value * base
        return value
    finite = lambda x: jnp.clip(x, float(jnp.finfo(jnp.result_type(x)).min), float(jnp.finfo(jnp.result_type(x)).max))
    # XLA may turn the power of a product into a product of powers, one infinite and one 0; `clip` prevents that.
    base = finite(base)

    def power(j: int) -> Array:
        # An infinite power must not meet a value of 0.
        raised = (base**j).astype(dtype)
        return jnp.where(value == 0, finite(raised), raised)

    return value * power(k // 2) * power(k - k // 2)
