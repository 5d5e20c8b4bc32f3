"""Standard errors from the spread of a statistic over independent spectra."""

import math
from collections.abc import Callable
from typing import Any, Generic

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from typing_extensions import TypeVar

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._promotion import aligned, common_dtype
from rmtjax._staging import is_traced
from rmtjax._typing import PyTree, overload
from rmtjax._units import in_unit, times
from rmtjax.special.internal import decimals, student_interval
from rmtjax.spectra import MaskedValues, Spectrum

S = TypeVar("S")
T = TypeVar("T", default=Any)


class Estimate(AbstractModule, Generic[T]):
    """An uncertain number, or a structure of them, with its standard error: a mean over samples, or a fitted parameter.

    Its text is value ± standard error, with two digits of the error, and an exponent for very large or small numbers.
    A format applies to both numbers.

    Args:
        value: the number, in the structure of the statistic.
        standard_error: the error, in the same structure.
        samples: number of samples that the error comes from; None where a formula gives it.

    Example:
        >>> import jax.numpy as jnp
        >>> estimate = Estimate(jnp.asarray(0.53071), jnp.asarray(0.00213), 30)
        >>> print(estimate, f"or {estimate:.3f},", *(f"{end:.3f}" for end in estimate.interval()))
        0.5307 ± 0.0021 or 0.531 ± 0.002, 0.526 0.535
    """

    value: T
    standard_error: T
    samples: int | None = eqx.field(static=True, default=None)

    def interval(self, confidence: float = 0.95) -> tuple[T, T]:
        """Confidence intervals, by Student's distribution with `samples` - 1 degrees of freedom, or the normal one.

        Args:
            confidence: probability that the interval holds the true value, between 0 and 1.

        Returns:
            The lower and the upper ends.

        Raises:
            ValueError: `confidence` is outside its range, or values are complex.
        """
        if any(jnp.iscomplexobj(leaf) for leaf in jax.tree.leaves(self.value)):
            raise _checks.refusal("value", "be real for an interval", _checks.Words("complex numbers"))
        freedom = math.inf if self.samples is None else self.samples - 1
        return student_interval(confidence, self.value, self.standard_error, freedom)

    def z_score(self, reference: PyTree) -> T:
        """How many standard errors the value is above a reference, such as a curve of `laws`.

        Args:
            reference: numbers in the structure of the value.

        Returns:
            (value - reference) / standard_error.

        Raises:
            ValueError: `reference` has another structure, is not numeric, or does not broadcast against the value.

        Example:
            >>> import jax.numpy as jnp
            >>> print(f"{Estimate(jnp.asarray(0.535), jnp.asarray(0.002), 30).z_score(0.5307):.2f}")
            2.15
        """
        values, structure = jax.tree.flatten(self.value)
        try:
            references = structure.flatten_up_to(reference)
        except (TypeError, ValueError):
            raise _checks.refusal("reference", "have the structure of the value", reference) from None
        expected = structure.unflatten(map(_reference, references, values))
        return jax.tree.map(_errors_above, self.value, self.standard_error, expected)

    def __str__(self) -> str:
        return format(self, "")

    def __format__(self, spec: str) -> str:
        leaves = self.value, self.standard_error
        if is_traced(leaves):
            return repr(self)
        words = lambda value, error: _checks.Words(_written(np.asarray(value), np.asarray(error), spec))
        return str(jax.tree.map(words, *leaves))


def _reference(given: Any, value: Any) -> Array:
    """Numbers to compare the value with."""
    array = _checks.numbers("reference", given)
    _checks.in_range("reference", given, array)
    try:
        np.broadcast_shapes(array.shape, np.shape(value))
    except ValueError:
        must = f"broadcast against the value of shape {np.shape(value)}"
        raise _checks.refusal("reference", must, array.shape) from None
    return array


def _errors_above(value: Array, error: Array, expected: Array) -> Array:
    value, error, expected = aligned(value, error, expected)
    return (value - expected) / error


# Larger numbers, and errors with more than seven decimals, are written with an exponent.
_LONGEST = 1e12


def _written(value: np.ndarray, error: np.ndarray, spec: str) -> str:
    """Numbers with their errors as text. Without a format the errors have two digits."""
    if value.ndim:
        return f"[{', '.join(_written(*each, spec) for each in zip(value, error, strict=True))}]"
    if not spec:
        known = 0 < error < math.inf
        digits = decimals(float(error)) if known else 0
        if known and (digits >= 8 or max(abs(value), error) > _LONGEST):
            # The value is written down to the second digit of the error.
            exponent = lambda x: math.floor(math.log10(x))
            behind = exponent(abs(value)) - exponent(error) + 1 if abs(value) > error else 1
            return f"{value[()]:.{behind}e} ± {error[()]:.1e}"
        spec = f".{digits}f" if known else ".6g"
    return f"{value[()]:{spec}} ± {error[()]:{spec}}"


@overload
def over_samples(statistic: Callable[..., T], *samples: PyTree, combine: None = None) -> Estimate[T]: ...
@overload
def over_samples(statistic: Callable[..., S], *samples: PyTree, combine: Callable[[S], T]) -> Estimate[T]: ...
def over_samples(
    statistic: Callable[..., PyTree], *samples: PyTree, combine: Callable[[PyTree], PyTree] | None = None
) -> Estimate:
    r"""Mean and standard error of a statistic over independent samples, such as spectra of independent matrices.

    Levels of one matrix depend on each other, so an error estimated from them is wrong. The error over independent
    matrices is right, whatever their law. A function of several means, such as a skewness, takes the jackknife:

    $$\hat\theta = m\,f(\bar t) - \frac{m - 1}m \sum_i f(\bar t_{(i)}), \qquad
    \sigma^2 = \frac{m - 1}m \sum_i \big[f(\bar t_{(i)}) - \overline{f(\bar t_{(\cdot)})}\big]^2$$

    with the means $\bar t_{(i)}$ over all samples but one. The jackknife multiplies rounding errors by m, so it takes
    known samples of single precision in double precision; under a transformation it does not. The reducers
    `rmt.Moments` and `simulation.Jackknife` do the same for a stream of samples that does not fit into memory.

    Args:
        statistic: a function of all samples at once, such as `lambda levels: number_variance(levels, lengths)`. It
            returns any pytree of arrays whose leading axis is that of the samples. NaN is not left out. If it returns
            a record, such as a `FormFactor`, give `combine`: errors of its properties do not follow from its fields.
        samples: pytrees of arrays, all with the same leading axis of length m ≥ 2, e.g. levels `(m, n)`.
        combine: a function of the means that returns a pytree of arrays. By default the result is the means.

    Returns:
        An `Estimate`: `value`, `standard_error`, `samples`.

    Raises:
        ValueError: the leading axes differ, or have fewer than two samples.
        ValueError: `statistic` returns `MaskedValues`, a `Spectrum`, or a record without `combine`.
        ValueError: `statistic` returns NumPy numbers of double precision that differ too little for JAX's default
            single precision.

    Example:
        >>> import jax, rmtjax as rmt
        >>> levels = jax.vmap(rmt.GOE(50).eigenvalues)(jax.random.split(jax.random.key(0), 100))
        >>> ratio = over_samples(lambda levels: rmt.statistics.gap_ratios(levels).mean(), levels)
        >>> print(f"{ratio:.3f}", bool(abs(ratio.z_score(rmt.laws.mean_gap_ratio(1))) < 4))
        0.529 ± 0.004 True

    References:
        Efron and Stein (1981), Ann. Statist. 9, 586; Miller (1974), Biometrika 61, 1, for the jackknife.
    """
    if not callable(statistic):
        raise _checks.refusal("statistic", "be a function, which comes before the samples", statistic)
    lengths = {np.shape(leaf)[0] if np.ndim(leaf) else 0 for leaf in jax.tree.leaves(samples)}
    if len(lengths) != 1 or min(lengths) < 2:
        got = _checks.Words(f"axes of length {sorted(lengths)}")
        raise _checks.refusal("samples", "have one leading axis in common, of at least 2 samples", got)
    number = lengths.pop()
    given = statistic(*samples)
    for node in _records(given):
        kind = _checks.Words(type(node).__name__)
        if isinstance(node, MaskedValues | Spectrum):
            must = "return numbers that all count, such as the `mean()` of each spectrum"
            raise _checks.refusal("statistic", must, kind)
        if combine is None:
            raise _checks.refusal("combine", f"be a function of the mean {kind}, which returns arrays", None)
    each = jax.tree.map(lambda leaf: _checks.numbers("statistic", leaf), given)
    for known, leaf in zip(jax.tree.leaves(given), jax.tree.leaves(each), strict=True):
        if leaf.shape[:1] != (number,):
            must = f"return arrays with a leading axis of length {number}, one entry for each sample"
            raise _checks.refusal("statistic", f"{must} (a single spectrum has no spread)", leaf.shape)
        _checks.deviations_kept("statistic", known, leaf, 0)
    if combine is None:
        return Estimate(*_mean_and_error(each), number)
    if is_traced(each):
        return Estimate(*_jackknife(combine, each), number)
    # The jackknife multiplies rounding errors by the number of samples: known samples are computed in 64 bits.
    single = common_dtype(*jax.tree.leaves(each)) in (jnp.float32, jnp.complex64)
    wide = jax.tree.map(lambda leaf: np.asarray(leaf, np.result_type(leaf.dtype, np.float64)), each)
    with jax.enable_x64(True):
        found = _jackknife(combine, wide)
    rounded = lambda leaf: jnp.asarray(np.asarray(leaf, np.complex64 if np.iscomplexobj(leaf) else np.float32))
    value, error = jax.tree.map(rounded, found) if single else found
    return Estimate(value, error, number)


def _jackknife(combine: Callable[[PyTree], PyTree], each: PyTree) -> tuple[PyTree, PyTree]:
    parts = jax.vmap(combine)(_means(each))
    for node in _records(parts):
        raise _checks.refusal("combine", "return arrays", _checks.Words(type(node).__name__))
    return _jackknifed(parts)


def _records(tree: Any) -> list[AbstractModule]:
    """The records of a tree."""
    is_record = lambda node: isinstance(node, AbstractModule)
    return [node for node in jax.tree.leaves(tree, is_leaf=is_record) if is_record(node)]


@compiled
def _mean_and_error(each: PyTree) -> tuple[PyTree, PyTree]:
    def mean(leaf: jax.Array) -> jax.Array:
        scaled, unit = in_unit(leaf, 0)
        return times(jnp.mean(scaled, axis=0), unit[0])

    def error(leaf: jax.Array) -> jax.Array:
        scaled, unit = in_unit(leaf, 0)
        # A large mean has a rounding error; differences from the first sample are exact.
        return jnp.std(scaled - scaled[:1], axis=0, ddof=1) / leaf.shape[0] ** 0.5 * unit[0]

    return jax.tree.map(mean, each), jax.tree.map(error, each)


@compiled
def _means(each: PyTree) -> PyTree:
    """The mean over all samples, followed by the means over all samples but one."""

    def of_leaf(leaf: jax.Array) -> jax.Array:
        scaled, unit = in_unit(leaf, 0)
        total, number = jnp.sum(scaled, axis=0, keepdims=True), leaf.shape[0]
        # A total less its only summand is exactly 0, so that a quotient of such means is NaN.
        return times(jnp.concatenate([total / number, (total - scaled) / (number - 1)]), unit)

    return jax.tree.map(of_leaf, each)


@compiled
def _jackknifed(parts: PyTree) -> tuple[PyTree, PyTree]:
    """The function of the means without its bias of first order, and its standard error."""

    def value(part: jax.Array) -> jax.Array:
        scaled, unit = in_unit(part, 0)
        # The difference comes first, so that only its rounding error is multiplied by the number of samples.
        return times(scaled[0] - (part.shape[0] - 2) * jnp.mean(scaled[1:] - scaled[:1], axis=0), unit[0])

    def error(part: jax.Array) -> jax.Array:
        number = part.shape[0] - 1
        scaled, unit = in_unit(part[1:], 0)
        deviation = scaled - jnp.mean(scaled, axis=0, keepdims=True)
        return jnp.sqrt((number - 1) / number * jnp.sum(jnp.abs(deviation) ** 2, axis=0)) * unit[0]

    return jax.tree.map(value, parts), jax.tree.map(error, parts)
