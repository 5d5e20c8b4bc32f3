"""Levels as statistics compute with them: the one place where they are checked."""

import dataclasses
import math
import sys
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Inexact
from typing_extensions import TypeAliasType

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._ordering import in_order
from rmtjax._promotion import like
from rmtjax._typing import ArrayLike, RealLike
from rmtjax.spectra._ascending import ASCENDING, FINITE, all_count
from rmtjax.spectra._domain import LINE, AbstractDomain, Circle, Interval, of_batch
from rmtjax.spectra._masked import AbstractMasked, MaskedValues, first_for_rest

if TYPE_CHECKING:
    from rmtjax.spectra._spectrum import Spectrum

LevelsLike = TypeAliasType("LevelsLike", "RealLike | Spectrum")
ValuesLike = TypeAliasType("ValuesLike", "RealLike | Spectrum | MaskedValues")
PlanarLevelsLike = TypeAliasType("PlanarLevelsLike", ArrayLike | MaskedValues)


class AbstractSpectrum(AbstractMasked):
    """Levels that were checked when the spectrum was made."""

    domain: eqx.AbstractVar[AbstractDomain]
    unfolded: eqx.AbstractVar[bool]
    _is_valid: eqx.AbstractVar[Bool[Array | np.ndarray, "*batch"]]
    _padded: eqx.AbstractVar[bool]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Levels:
    """Levels that were checked, with 0 where none counts."""

    values: Inexact[Array, "*batch n"]
    mask: Bool[Array, "*batch n"]
    # Whether each spectrum is valid: True, or booleans of the batch under a transformation.
    valid: Any
    # Whether it is known that what does not count stands behind all that does. That saves running sums and maxima,
    # which are slow to compile.
    at_end: bool = dataclasses.field(metadata={"static": True})
    domain: AbstractDomain = LINE

    def where(self, kept: Any) -> "Levels":
        """The same levels, where spectra are valid only if something else holds as well."""
        return dataclasses.replace(self, valid=_checks.all_kept(self.valid, kept))

    def masked(self, result: Any, axes: int) -> Any:
        """The result, with NaN for spectra that are not valid; `axes` of its axes stand behind those of the batch."""
        valid = self.valid if self.valid is True else self.valid.reshape(*self.valid.shape, *(1,) * axes)
        return _checks.masked(valid, result)

    @property
    def compact(self) -> Float[Array, "*batch n"]:
        """The levels that count, ascending, with `+inf` behind them."""
        return _compact(self)

    @property
    def ranks(self) -> Float[Array, "*#batch n"]:
        """The staircase at each level that counts, halfway up its step (1/2, 3/2 and so on)."""
        if not self.at_end:
            return ranks(self.mask, self.values.dtype)
        return jnp.broadcast_to(jnp.arange(self.mask.shape[-1], dtype=self.values.dtype) + 0.5, self.mask.shape)

    @property
    def number(self) -> Float[Array, "*batch 1"]:
        """How many levels count, in their dtype."""
        return like(self.values, jnp.sum(self.mask, axis=-1, keepdims=True))

    @property
    def filled(self) -> Inexact[Array, "*batch n"]:
        """The levels for a user's function, where the lowest that counts takes the place of those that do not."""
        return first_for_rest(self.values, self.mask)


def ranks(mask: Bool[Array, "*batch n"], dtype: Any) -> Float[Array, "*batch n"]:
    """The staircase of `Levels.ranks` for any mask."""
    return jnp.cumsum(mask, axis=-1).astype(dtype) - 0.5


def outermost(values: Any, mask: Any) -> tuple[Any, Any]:
    """The first and the last of the levels that count; inf and -inf without any."""
    return (values.min(axis=-1, where=mask, initial=math.inf), values.max(axis=-1, where=mask, initial=-math.inf))


def origin(first: Any, last: Any) -> Any:
    """What spectra with these ends are measured from: the first level where all are far from 0, and else 0.

    Sums of levels and lengths, and products of levels and times, have the rounding of the levels, 0.06 in single
    precision near 10⁶. Numbers of which none is more than twice another have exact differences. It is a constant to
    derivatives.
    """
    # Without any level both ends may be infinite.
    far = (first <= last) & (last < math.inf) & ((first > 0) & (last <= 2 * first) | (last < 0) & (first >= 2 * last))
    return jax.lax.stop_gradient(jnp.where(far, first, 0))


def extent(values: Any, mask: Any) -> Any:
    """The distance from the first level to the last, 0 without any."""
    lowest, highest = outermost(values, mask)
    return (highest - lowest).clip(0)


def checked(
    levels: Any,
    mask: Any = None,
    domain: AbstractDomain | None = None,
    *,
    name: str = "levels",
    spaced: bool = True,
    padded: bool = False,
) -> Levels:
    """Ascending levels on the last axis; what does not count need not be a number.

    Args:
        levels: an array, or a spectrum, which was checked when it was made.
        mask: which levels of an array count.
        domain: where the levels of an array were looked for.
        name: name of the argument, for errors.
        spaced: whether distances between levels matter.
        padded: whether it is known that what does not count stands behind all that does.

    Raises:
        ValueError: they are not real, not ascending where they count, or have no axis; `mask` is no mask of them; their
            spacings are lost in single precision; or they lie outside of the domain.
    """
    if isinstance(levels, AbstractSpectrum):
        return _of_spectrum(levels, name)
    values, inside, at_end = _with_mask(levels, mask, name)
    values, at_end = _checks.real(name, values), at_end or padded
    if spaced:
        digits_kept(name, levels, values, inside)
    valid = ASCENDING.kept(name, values, inside, at_end)
    domain = LINE if domain is None else of_batch(domain, values)
    valid = _checks.all_kept(valid, _within("domain", domain, values, inside))
    return Levels(*_zeroed(values, inside), valid, at_end, domain)


def validity(spectrum: AbstractSpectrum) -> Bool[Array | np.ndarray, "*batch"]:
    """Which spectra of a batch have levels that passed the checks; inside a program nothing else says so."""
    return spectrum._is_valid


def unit_density(levels: LevelsLike, *, name: str = "levels") -> Levels:
    """Levels of mean spacing 1: an unfolded spectrum, or an array whose density allows it.

    Raises:
        ValueError: as for `checked`; a spectrum is not unfolded; or independent levels of unit density would be as many
            as those of an array, or as few, with a probability of e⁻³⁶ at most.
    """
    refuse_raw(levels, name=name)
    spectra = checked(levels, name=name)
    if isinstance(levels, AbstractSpectrum):
        return spectra
    return spectra.where(_UNFOLDED.kept(name, spectra.values, spectra.mask))


def refuse_raw(levels: object, *, name: str = "levels") -> None:
    """Refuse a spectrum that is known to have another unit than its mean spacing."""
    if isinstance(levels, AbstractSpectrum) and not levels.unfolded:
        must = f"be unfolded ({_UNFOLD}; `unfolded=True` says that it is)"
        raise _checks.refusal(name, must, _checks.Words("a spectrum that is not"))


def checked_in_plane(levels: Any, *, name: str = "levels") -> Levels:
    """Real or complex levels in any order, finite where they count.

    Raises:
        ValueError: they are not finite where they count, or have no axis.
    """
    if isinstance(levels, AbstractSpectrum):
        return _of_spectrum(levels, name)
    values, mask, at_end = _with_mask(levels, None, name)
    return Levels(*_zeroed(values, mask), FINITE.kept(name, values, mask), at_end)


def checked_values(values: Any, *, name: str = "levels") -> Levels:
    """Real levels, spacings, ratios or other numbers in any order, finite where they count.

    Raises:
        ValueError: they are not real, not finite where they count, or have no axis; or how they vary is lost in single
            precision.
    """
    spectra = checked_in_plane(values, name=name)
    _checks.real(name, spectra.values)
    _checks.deviations_kept(name, values, spectra.values, None, spectra.mask)
    return spectra


def mask_of(name: str, mask: object, shape: tuple[int, ...]) -> Bool[Array | np.ndarray, "*batch n"]:
    """Booleans, broadcast to the shape of the levels."""
    array = _checks.booleans(name, mask)
    if array.ndim > len(shape):
        raise _checks.refusal(name, "be booleans that broadcast to the levels", mask)
    try:
        if array.shape == shape:
            return array
        return (jnp if isinstance(array, jax.Array) else np).broadcast_to(array, shape)
    except ValueError:
        raise _checks.refusal(name, f"broadcast to the shape {shape} of the levels", array.shape) from None


def _of_spectrum(spectrum: AbstractSpectrum, name: str) -> Levels:
    values, mask = _zeroed(spectrum.values, spectrum.mask)
    rule = _VALID_UNFOLDED if spectrum.unfolded else VALID
    return Levels(values, mask, rule.kept(name, spectrum._is_valid), spectrum._padded, spectrum.domain)


def _at(wrong: np.ndarray) -> str:
    return f", the first at {list(map(int, np.argwhere(wrong)[0]))}" if wrong.ndim else ""


def _not_valid(valid: np.ndarray) -> str:
    return f"{(~valid).sum()} of {valid.size} that are not{_at(~valid)}"


VALID = _checks.Rule(lambda valid: valid, "be spectra of ascending numbers in their domain", _not_valid)
_VALID_UNFOLDED = VALID._replace(
    fault=lambda valid: (
        f"{_not_valid(valid)}. Where the report of an unfolding is not `monotone`, take a lower degree or a wider "
        "kernel"
    )
)


def _with_mask(levels: Any, mask: Any, name: str) -> tuple[Array, Any, bool]:
    """Levels, which of them count, and whether the others are known to be at the end."""
    if isinstance(levels, np.ma.MaskedArray):
        levels = MaskedValues(_checks.numbers(name, levels.data), jnp.asarray(~np.ma.getmaskarray(levels)))
    if isinstance(levels, list | tuple) and len({np.shape(spectrum) for spectrum in levels}) > 1:
        got = _checks.Words("spectra of different lengths")
        raise _checks.refusal(name, "be one array, or a spectrum, as `rmt.Spectrum.of(spectra)` makes", got)
    at_end, inside = mask is None, True if mask is None else mask
    if isinstance(levels, MaskedValues):
        inside = levels.mask if mask is None else levels.mask & mask_of("mask", mask, levels.mask.shape)
        levels, at_end = levels.values, False
    values = _checks.numbers(name, levels)
    if values.ndim == 0:
        raise _checks.refusal(name, "have an axis of levels", values.shape)
    return values, mask_of("mask", inside, values.shape), at_end


def _within(name: str, domain: AbstractDomain, values: Any, mask: Any) -> Any:
    """Whether the levels of each spectrum lie in the domain."""
    if isinstance(domain, Circle):
        kept = _checks.POSITIVE.kept(name, domain.period)
        return _checks.all_kept(kept, _HOLDS.kept(name, domain.period, values, mask))
    if isinstance(domain, Interval):
        ends = domain.start, domain.end
        kept = ENDS.kept(name, ends)
        return _checks.all_kept(kept, _AROUND.kept(name, ends, values, mask))
    return True


def _first(wrong: np.ndarray, *numbers: Any) -> str:
    """The numbers of the first spectrum that is wrong, and its place in a batch."""
    place = tuple(map(int, np.argwhere(wrong)[0]))
    text = ", ".join(str(np.broadcast_to(number, wrong.shape)[place]) for number in numbers)
    return f"{text} at {list(place)}" if place else text


def _ascending_ends(ends: Any) -> Any:
    return (ends[0] < ends[1]) & (abs(ends[0]) < math.inf) & (abs(ends[1]) < math.inf)


ENDS = _checks.Rule(
    _ascending_ends, "be a pair of ascending finite numbers", lambda ends: _first(~_ascending_ends(ends), *ends)
)
_HOLDS = _checks.Rule(
    lambda period, *levels: period >= extent(*levels),
    "be at least the distance from the first level to the last",
    lambda period, *levels: _first(~(period >= extent(*levels)), period),
)


def around(ends: Any, values: Any, mask: Any) -> Any:
    """Whether the levels of each spectrum that count lie between two ends; True where none counts."""
    lowest, highest = outermost(values, mask)
    return (ends[0] <= lowest) & (highest <= ends[1])


_AROUND = _checks.Rule(
    around,
    "hold all levels (`bulk` takes those of an interval)",
    lambda ends, *levels: _first(~around(ends, *levels), *ends),
)


def _unfolded(values: Any, mask: Any) -> Any:
    """Whether independent levels of unit density could be so many or so few, for each spectrum that has any.

    By Chernoff's bound the probability is at most exp(N - W - N log(N/W)) for N levels in a length W.
    """
    number, length = (mask.sum(axis=-1) - 1).clip(0), extent(values, mask)
    some = (number > 0) & (length > 0)
    xp = np if isinstance(some, np.ndarray) else jnp
    number = number if xp is np else like(values, number)
    logarithm = xp.log(xp.where(some, number, 1) / xp.where(some, length, 1))
    return (length - number + number * logarithm <= FARTHEST) | (length <= 0) | ~mask.any(axis=-1)


def _spacing(values: np.ndarray, mask: np.ndarray) -> str:
    number, wrong = np.maximum(mask.sum(axis=-1) - 1, 1), ~_unfolded(values, mask)
    mean = extent(values, mask) / number
    return f"a mean spacing of {_checks.entry(mean, wrong)}" if mean.ndim else f"{mean:.3g}"


# e⁻³⁶ is the rounding unit of float64: no spectrum is lost by chance.
FARTHEST = -math.log(sys.float_info.epsilon)
_UNFOLD = "by `statistics.unfold(levels, law)`, or where no law is known by `statistics.unfold_polynomial(levels, 9)`"
_UNFOLDED = _checks.Rule(
    _unfolded, f"have a mean spacing of 1, {_UNFOLD} (a `Spectrum` says by `unfolded=True` that it has)", _spacing
)


# The rounding of a level that is refused, in units of the mean spacing.
_MOST_ROUNDED = 0.01


def digits_kept(name: str, levels: Any, values: Array, mask: Any) -> None:
    """Refuse numbers of the host whose spacings are lost where 64-bit types are off."""
    if isinstance(levels, AbstractModule) or isinstance(values, Tracer) or isinstance(mask, Tracer):
        return
    given = levels if isinstance(levels, jax.Array) else np.asarray(levels)
    short = given.dtype.kind == "f" and given.dtype.itemsize < 8
    if values.dtype != jnp.float32 or short or given.size == 0:
        return
    given = np.asarray(given, np.float64)
    inside = np.asarray(mask) & np.isfinite(given)
    size = np.max(abs(given), axis=-1, where=inside, initial=0)
    span = np.max(given, -1, where=inside, initial=-math.inf) - np.min(given, -1, where=inside, initial=math.inf)
    rounding = np.where(inside, given, 0) - np.where(inside, values, 0)
    rounded = np.max(abs(rounding), axis=-1)
    spacing = span / np.maximum(inside.sum(-1) - 1, 1)
    # Levels that are equal up to their rounding in 64 bits have no spacings to lose.
    lost = (rounded > _MOST_ROUNDED * spacing) & (span > 100 * np.finfo(np.float64).eps * size)
    if lost.any():
        share = np.max(rounded / np.where(lost, spacing, math.inf))
        must = f"keep their spacings in {values.dtype.name} (set `jax_enable_x64`, or subtract an origin)"
        raise _checks.refusal(name, must, _checks.Words(f"levels rounded by {share:.2g} of their mean spacing"))


@compiled
def _compact(spectra: Levels) -> Float[Array, "*batch n"]:
    ascending = jnp.where(spectra.mask, spectra.values, jnp.inf)
    return ascending if spectra.at_end else in_order(ascending)


def _zeroed(values: Inexact[Array, "*batch n"], mask: Any) -> tuple[Array, Array]:
    """The levels, with 0 where they do not count, and the mask."""
    return (values, jnp.asarray(mask)) if all_count(mask) else _with_zeros(values, mask)


@compiled
def _with_zeros(values: Inexact[Array, "*batch n"], mask: Any) -> tuple[Array, Array]:
    return jnp.where(mask, values, 0), jnp.asarray(mask)
