"""Where levels were looked for: the line, a part of it, or a circle."""

from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Real

from rmtjax import _checks
from rmtjax._module import AbstractModule
from rmtjax._typing import RealLike


class AbstractDomain(AbstractModule):
    """Where the levels of a spectrum were looked for."""


class Line(AbstractDomain):
    """The line, of which only the levels are known: statistics go from the first level to the last.

    Example:
        >>> import rmtjax as rmt
        >>> print(rmt.Spectrum([0.5, 1.5, 2.5]).domain)
        Line()
    """


# The domain of an array.
LINE = Line()


class Interval(AbstractDomain):
    """A part of the line that was observed, in which no level is missing.

    The empty space between an end and the nearest level was observed, too. So the ends give means over spectra no bias,
    as they would if they were levels.

    Args:
        start: the lower end, a number or an array that broadcasts to the batch of the spectrum.
        end: the upper end.

    Raises:
        ValueError: an end is no real number. `rmt.Spectrum` refuses ends that do not ascend, or leave a level outside.

    Example:
        >>> import rmtjax as rmt
        >>> zeros = [14.13, 21.02, 25.01, 30.42, 32.94, 37.59]  # of Riemann's zeta function, up to a height of 40
        >>> print(rmt.Spectrum(zeros, domain=Interval(0.0, 40.0)).count)
        6
    """

    start: Real[Array | np.ndarray, "*#batch"]
    end: Real[Array | np.ndarray, "*#batch"]

    def __init__(self, start: Annotated[RealLike, "*#batch"], end: Annotated[RealLike, "*#batch"]):
        self.start, self.end = _checks.real("start", start), _checks.real("end", end)


class Circle(AbstractDomain):
    """A circle: the first level comes after the last.

    Args:
        period: the length of the circle, e.g. 2π for phases; a number or an array that broadcasts to the batch.

    Raises:
        ValueError: the length is no real number. `rmt.Spectrum` refuses one that is not positive, or does not hold the
            levels.

    Example:
        >>> import rmtjax as rmt
        >>> fence = rmt.Spectrum([0.0, 1.0, 2.0, 3.0], domain=Circle(4.0), unfolded=True)
        >>> print(rmt.statistics.number_variance(fence, 0.5))
        0.25
    """

    period: Real[Array | np.ndarray, "*#batch"]

    def __init__(self, period: Annotated[RealLike, "*#batch"]):
        self.period = _checks.real("period", period)


def of_batch(domain: Any, values: Any) -> AbstractDomain:
    """The domain with numbers for each spectrum, in the dtype of the levels; in NumPy where they are known.

    Raises:
        ValueError: it is none, or its numbers do not broadcast to the batch.
    """
    if not isinstance(domain, AbstractDomain):
        raise _checks.refusal(
            "domain", "be `rmt.Interval(start, end)`, `rmt.Circle(period)` or `rmt.spectra.Line()`", domain
        )
    return jax.tree.map(lambda number: of_each("domain", number, values), domain)


def of_each(name: str, value: object, values: Any) -> Array | np.ndarray:
    """A number, or one for each spectrum; in NumPy, which compiles nothing, where it is known."""
    array = _checks.real(name, value)
    batch = values.shape[:-1]
    sizes = zip(array.shape[::-1], batch[::-1], strict=False)
    if array.ndim > len(batch) or any(size not in (1, n) for size, n in sizes):
        raise _checks.refusal(name, f"broadcast to the shape {batch} of the batch", array.shape)
    known = not isinstance(array, Tracer)
    array = (np.asarray(array) if known else array).astype(values.dtype)
    return (np if known else jnp).broadcast_to(array, batch)
