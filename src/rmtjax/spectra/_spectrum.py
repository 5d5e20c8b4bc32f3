"""A spectrum that knows which levels count, where they were looked for, and whether they are unfolded."""

import functools
import math
from collections.abc import Iterable
from typing import Annotated, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Int, Real

from rmtjax import _checks
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._ordering import in_order
from rmtjax._promotion import aligned, common_dtype, like
from rmtjax._typing import Arrangement, KeyScalar, MaskLike, RealLike, RealScalarLike
from rmtjax.spectra._domain import LINE, AbstractDomain, Circle, Interval, Line, of_each
from rmtjax.spectra._levels import ENDS, FARTHEST, VALID, AbstractSpectrum, Levels, checked, digits_kept, outermost
from rmtjax.spectra._masked import MaskedValues
from rmtjax.spectra._periodic import count_below, inside_block, repeated
from rmtjax.spectra._unfolding import Unfolding


class Spectrum(AbstractSpectrum):
    """Ascending levels that know which of them count, where they were looked for, and whether they are unfolded.

    Functions of `statistics`, `plotting` and `inference` that take an array of levels take a spectrum as well. An array
    is a spectrum on the line, all of whose levels count. A spectrum is checked once, when it is made. It is batched
    over leading axes, and an index chooses from these: `spectra[0]`. For a part of the levels take `bulk` or `middle`,
    which keep what was observed. A slice of an array begins and ends with a level, which biases means.

    Args:
        values: levels, ascending where they count; what does not count need not be a number. A masked array of NumPy
            or `MaskedValues` bring their own mask.
        mask: which levels count, by default all; it broadcasts to the levels. Levels on both sides of one that does not
            count are no neighbours. Sums and counts of levels leave out what does not count.
        domain: `Line()`, or an `Interval(start, end)` that was observed and in which no level is missing, or a
            `Circle(period)`. Their numbers may differ within a batch.
        unfolded: whether the mean density is 1; static. Statistics that need it refuse a spectrum that is not unfolded.

    Its `values` are `+inf` where no level counts, and its `domain` has numbers for each spectrum. If a function of
    `statistics` has unfolded it, `report` is an `Unfolding`, which says how well that worked.

    Raises:
        ValueError: the levels are not ascending numbers, lie outside of the domain, or lose their spacings in single
            precision; `mask` does not broadcast to them; the ends of the interval do not ascend; or the period is not
            positive. Under a transformation statistics of such spectra are NaN.

    Example:
        >>> import rmtjax as rmt
        >>> levels = Spectrum([0.3, 1.1, 2.4, 2.9], domain=rmt.Interval(0.0, 4.0), unfolded=True)
        >>> print(levels.count, levels.bulk(1.0, 3.0).count, f"{rmt.statistics.number_variance(levels, 1.0):.3f}")
        4 3 0.367
    """

    values: Real[Array, "*batch n"]
    mask: Bool[Array, "*batch n"]
    domain: Line | Interval | Circle
    unfolded: bool = eqx.field(static=True)
    _report: Unfolding | None = eqx.field(repr=False)
    # Whether each spectrum is valid, which a program knows only when it runs.
    _is_valid: Bool[Array | np.ndarray, "*batch"] = eqx.field(repr=False)
    # Whether what does not count stands behind all that does.
    _padded: bool = eqx.field(static=True, repr=False)

    def __init__(
        self,
        values: Annotated[RealLike, "*batch n"],
        mask: Annotated[MaskLike, "*batch n"] | None = None,
        domain: Line | Interval | Circle = LINE,
        *,
        unfolded: bool = False,
    ):
        if isinstance(mask, AbstractDomain):
            raise _checks.refusal("mask", "be booleans (`domain=` says where the levels were looked for)", mask)
        if not isinstance(unfolded, bool | np.bool_):
            raise _checks.refusal("unfolded", "be True or False", unfolded)
        if isinstance(values, AbstractModule) and not isinstance(values, MaskedValues):
            raise _checks.refusal("values", "be an array of levels", _checks.Words(type(values).__name__))
        _fill(self, checked(values, mask, domain, name="values"), unfolded, None)

    @classmethod
    def of(
        cls,
        spectra: Iterable[Annotated[RealLike, "_"]],
        domain: Line | Interval | Circle = LINE,
        *,
        unfolded: bool = False,
    ) -> "Spectrum":
        """A batch of spectra of several orders, such as those of symmetry sectors.

        Args:
            spectra: ascending levels, one vector for each spectrum, which may be empty.
            domain: where they were looked for, one for all or with an array of ends.
            unfolded: whether the mean density of each is 1; static.

        Returns:
            As many spectra as there are vectors, in arrays of the length of the longest.

        Raises:
            ValueError: there is no vector, or one of them is not a vector of ascending numbers.

        Example:
            >>> print(Spectrum.of([[-1.0, 0.5], [0.0], []]).values)
            [[-1.   0.5]
             [ 0.   inf]
             [ inf  inf]]
        """
        if isinstance(spectra, jax.Array | np.ndarray):
            spectra = _checks.real("spectra", spectra)
        if not isinstance(spectra, Iterable) or getattr(spectra, "ndim", 1) == 0:
            raise _checks.refusal("spectra", "be vectors of real numbers", spectra)
        given = [*spectra]
        if any(isinstance(vector, AbstractModule) for vector in given):
            must = "be arrays (a `Spectrum` knows more than its levels, which would be lost)"
            raise _checks.refusal("spectra", must, _checks.Words("a Spectrum among them"))
        vectors = [_checks.real("spectra", vector) for vector in given]
        for vector, each in zip(vectors, given, strict=True):
            if vector.ndim != 1:
                raise _checks.refusal("spectra", "be vectors of real numbers", each)
            _checks.in_range("spectra", each, vector)
            digits_kept("spectra", each, vector, np.ones(vector.shape, bool))
        if not vectors:
            raise _checks.refusal("spectra", "be at least one vector", vectors)
        sizes = [vector.size for vector in vectors]
        # An empty one has no precision of its own.
        dtype = common_dtype(*(vector for vector in vectors if vector.size)) if max(sizes) else vectors[0].dtype
        vectors = [vector.astype(dtype) for vector in vectors]
        xp: Any = jnp if any(isinstance(vector, Tracer) for vector in vectors) else np  # NumPy compiles nothing
        padding = [xp.full(max(sizes) - vector.size, math.inf, dtype) for vector in vectors]
        values = xp.stack([xp.concatenate(pair) for pair in zip(vectors, padding, strict=True)])
        mask = np.arange(max(sizes)) < np.array(sizes)[:, None]
        levels = checked(jnp.asarray(values), mask, domain, name="spectra", padded=True)
        return made(levels, unfolded)

    @property
    def report(self) -> Unfolding:
        """How well it was unfolded.

        Raises:
            ValueError: no function of `statistics` has unfolded it, or it is a part of what was unfolded.
        """
        if self._report is None:
            must = "be what a function of `statistics` has unfolded, and all of it, for a report"
            raise _checks.refusal("spectrum", must, self)
        return self._report

    @property
    def count(self) -> Int[Array, "*batch"]:
        """How many levels of each spectrum count."""
        return jnp.sum(self.mask, axis=-1)

    def bulk(self, start: RealLike, end: RealLike) -> "Spectrum":
        """The levels between two ends. The stretch between them counts as observed, so that means have no bias.

        Args:
            start: the lower end, a number or an array that broadcasts to the batch, within the interval that was
                observed.
            end: the upper end.

        Returns:
            A spectrum of the same length, of which the levels from `start` to `end` count. It has no report. On a
            circle its levels ascend from the first one after `start` on, through the seam.

        Raises:
            ValueError: the ends do not ascend, reach beyond the interval, or go more than once round the circle.

        Example:
            >>> import jax.numpy as jnp
            >>> print(Spectrum(jnp.arange(5.0), unfolded=True).bulk(0.5, 3.5).compressed())
            [1. 2. 3.]
        """
        ends = of_each("start", start, self.values), of_each("end", end, self.values)
        place = self.domain, self.values, self.mask, np.asarray(self.unfolded)
        kept = _checks.all_kept(
            VALID.kept("spectrum", self._is_valid),
            ENDS.kept("start, end", ends),
            _OBSERVED.kept("start, end", ends, *place),
        )
        values, mask = self.values, self.mask
        if isinstance(self.domain, Circle):
            values, mask = _from(ends[0], values, mask, self.domain.period, self._padded)
        return self._part(values, _inside(values, mask, *ends), Interval(*ends), kept)

    def middle(self, share: RealScalarLike) -> "Spectrum":
        """The middle of the spectrum, without equal parts at both of its ends.

        Args:
            share: how much is kept. Of an unfolded spectrum it is the share of the way from the first level to the
                last, or of the interval that was observed. Of one that is not unfolded it is the share of the levels,
                and the new interval ends halfway between two of them. Only the former has no bias: unfold first.

        Returns:
            A spectrum of the same length, of which the levels in the middle count, on an `Interval`.

        Raises:
            ValueError: the share is outside of (0, 1], or levels lie on a circle.

        Example:
            >>> import jax.numpy as jnp
            >>> print(Spectrum(jnp.arange(7.0) ** 3).middle(0.5).compressed())
            [ 8. 27. 64.]
        """
        share = _checks.scalar("share", share)
        kept = _checks.all_kept(VALID.kept("spectrum", self._is_valid), _checks.FRACTION.kept("share", share))
        if isinstance(self.domain, Circle):
            raise _checks.refusal("domain", "have ends (`bulk` takes a part of a circle)", self.domain)
        whole = (self.domain.start, self.domain.end) if isinstance(self.domain, Interval) else None
        ends = (_ends if self.unfolded else _ends_by_rank)(self.values, self.mask, whole, share)
        return self._part(self.values, _inside(self.values, self.mask, *ends), Interval(*ends), kept)

    def _part(self, values: Array, mask: Array, domain: AbstractDomain, kept: Any) -> "Spectrum":
        return made(Levels(values, mask, _checks.all_kept(self._is_valid, kept), False, domain), self.unfolded)

    def count_below(self, x: RealLike) -> Int[Array, "..."]:
        """Number of levels strictly below each x, for a spectrum without batch axes.

        Args:
            x: points of any shape.

        Returns:
            Integers of the shape of `x`.

        Example:
            >>> import jax.numpy as jnp
            >>> print(Spectrum.of([[-1.0, 0.5]])[0].count_below(jnp.array([0.5, jnp.inf])))
            [1 2]
        """
        points, valid = _checks.points("x", x)
        if self.values.ndim != 1:
            raise _checks.refusal("spectrum", "be a single one (use `jax.vmap` for several)", self.values.shape)
        levels = checked(self, name="spectrum")
        below = count_below(levels.compact, points)
        return _checks.masked(valid, levels.masked(jnp.minimum(below, like(below, self.count)), points.ndim))

    def periodic(self, arrangement: Arrangement, key: KeyScalar | None = None) -> Real[Array, "*batch n"]:
        r"""The spectrum, of at least one level, repeated cyclically up to length n, in ascending order.

        With $n = c k + r$, $0 \le r < k$, every level is taken c times and r of them once more. The arrangement says
        which ones, and decides the density of the result (see the manual, "Wigner's cat"): `"ascending"` repeats the r
        lowest levels, `"magnitude"` the r largest in absolute value, `"random"` r of them drawn at random. The repeated
        levels are exact duplicates, so spacing statistics should be taken from the spectrum itself.

        Args:
            arrangement: `"ascending"`, `"magnitude"` or `"random"`.
            key: needed by `"random"`, refused otherwise.

        Returns:
            n ascending levels, all of which count.

        Raises:
            ValueError: the arrangement does not exist, or a key is missing or superfluous.

        Example:
            >>> print(Spectrum.of([[-1.0, 0.5], [0.0, 1.0, 2.0]]).periodic("ascending")[0])
            [-1.  -1.   0.5]

        References:
            Süzen (2025), arXiv:2512.22169, there in the order of the eigensolver's output.
        """
        _checks.choice("arrangement", arrangement, Arrangement)
        if (key is None) == (arrangement == "random"):
            raise _checks.refusal("key", "be given for arrangement='random' and for no other", key)
        levels = checked(self, name="spectrum")
        return levels.masked(repeated(levels.compact, self.count, arrangement, key), 1)

    def _refuse_invalid(self) -> None:
        VALID.kept("spectrum", self._is_valid)

    def __getitem__(self, index: Any) -> "Spectrum":
        parts = index if isinstance(index, tuple) else (index,)
        axes = self.values.ndim
        if len(parts) >= axes or any(part is ... or part is None or np.ndim(part) >= axes for part in parts):
            must = "choose from the batch (`bulk` and `middle` give a part of the levels)"
            raise _checks.refusal("index", must, index)
        traced = any(isinstance(part, Tracer) for part in parts)
        chosen = tuple(np.asarray(part) if isinstance(part, list) else part for part in parts)
        np.empty(self.values.shape[:-1])[() if traced else chosen]  # NumPy's errors: JAX would take the last spectrum
        return jax.tree.map(lambda leaf: (jnp.asarray(leaf) if traced else leaf)[chosen], self)


def made(levels: Levels, unfolded: bool = False, report: Unfolding | None = None) -> Spectrum:
    """The spectrum of levels that have been checked."""
    spectrum = object.__new__(Spectrum)
    _fill(spectrum, levels, unfolded, report)
    return spectrum


def padded(values: Real[Array, "*batch n"], order: Int[Array, "*batch"]) -> Spectrum:
    """The spectrum whose levels are the first ones of an ascending array, as many as the order says."""
    mask = inside_block(order, values.shape[-1])
    return made(Levels(jnp.where(mask, values, 0), mask, True, at_end=True))


def _fill(spectrum: Spectrum, levels: Levels, unfolded: bool, report: Unfolding | None) -> None:
    fields = {
        "values": _with_inf(levels.values, levels.mask),
        "mask": levels.mask,
        "domain": levels.domain,
        "unfolded": bool(unfolded),
        "_report": report,
        "_is_valid": np.ones(levels.mask.shape[:-1], bool) if levels.valid is True else levels.valid,
        "_padded": levels.at_end,
    }
    for name, value in fields.items():
        object.__setattr__(spectrum, name, value)


@compiled
def _with_inf(values: Real[Array, "*batch n"], mask: Bool[Array, "*batch n"]) -> Real[Array, "*batch n"]:
    return jnp.where(mask, values, jnp.inf)


@compiled
def _inside(
    values: Real[Array, "*batch n"], mask: Bool[Array, "*batch n"], start: Any, end: Any
) -> Bool[Array, "*batch n"]:
    return mask & (values >= start[..., None]) & (values <= end[..., None])


@functools.partial(compiled, static_argnums=4)
def _from(
    start: Real[Array | np.ndarray, "*batch"],
    values: Real[Array, "*batch n"],
    mask: Bool[Array, "*batch n"],
    period: Real[Array | np.ndarray, "*batch"],
    padded: bool,
) -> tuple[Real[Array, "*batch n"], Bool[Array, "*batch n"]]:
    """One round of the levels of a circle, ascending from a point on."""
    start, period = start[..., None], period[..., None]
    finite = jnp.where(mask, values, start)
    later = finite + jnp.ceil((start - finite) / period) * period
    # The quotient may have been rounded to the next turn, and the sum to below the start.
    later = jnp.where(later - period >= start, later - period, later)
    later = jnp.where(later < start, later + period, later)
    n = values.shape[-1]
    last = jnp.sum(mask, axis=-1, keepdims=True) if padded else jnp.full((*mask.shape[:-1], 1), n)
    first = jnp.argmin(jnp.where(mask, later, jnp.inf), axis=-1, keepdims=True)
    place, last, first = aligned(jnp.arange(n), last, first)
    source = jnp.where(place < last, (place + first) % jnp.maximum(last, 1), place)
    turned = lambda each: jnp.take_along_axis(each, source, axis=-1)
    return turned(jnp.where(mask, later, jnp.inf)), turned(mask)


@compiled
def _ends(
    values: Real[Array, "*batch n"], mask: Bool[Array, "*batch n"], whole: tuple | None, share: Real[Array, ""]
) -> tuple[Real[Array, "*batch"], Real[Array, "*batch"]]:
    """The ends of the middle of a stretch, from the first level to the last where it is not known."""
    first, last = outermost(values, mask) if whole is None else whole
    some = last >= first
    first, last = jnp.where(some, first, 0), jnp.where(some, last, 0)
    left_out = (1 - like(first, share)) / 2 * (last - first)
    return first + left_out, last - left_out


@compiled
def _ends_by_rank(
    values: Real[Array, "*batch n"], mask: Bool[Array, "*batch n"], whole: tuple | None, share: Real[Array, ""]
) -> tuple[Real[Array, "*batch"], Real[Array, "*batch"]]:
    """Ends halfway between the levels in the middle and those that are left out."""
    first, last = outermost(values, mask) if whole is None else whole
    number = jnp.sum(mask, axis=-1, keepdims=True)
    left_out = jnp.floor((1 - like(values, share)) / 2 * like(values, number) + 0.5).astype(number.dtype)
    ascending = in_order(values)  # `+inf` where none counts
    at = lambda place: jnp.take_along_axis(ascending, place.clip(0, ascending.shape[-1] - 1), axis=-1)[..., 0]
    halfway = lambda place: (at(place - 1) + at(place)) / 2
    none = left_out[..., 0] == 0
    some = number[..., 0] > 0
    start, end = jnp.where(none, first, halfway(left_out)), jnp.where(none, last, halfway(number - left_out))
    return jnp.where(some, start, 0), jnp.where(some, end, 0)


def _observed(ends: Any, domain: Any, values: Any, mask: Any, unfolded: Any) -> Any:
    if isinstance(domain, Interval):
        return (domain.start <= ends[0]) & (ends[1] <= domain.end)
    if isinstance(domain, Circle):
        return ends[1] - ends[0] <= domain.period
    lowest, highest = outermost(values, mask)
    return (lowest - ends[0] <= FARTHEST) & (ends[1] - highest <= FARTHEST) | (lowest > highest) | ~unfolded


def _where(domain: Any, *_: Any) -> str:
    if isinstance(domain, Line):
        return f"be observed, and so end at most {FARTHEST:.0f} mean spacings beyond the levels"
    return "lie within the interval that was observed" if isinstance(domain, Interval) else "lie within one round"


_OBSERVED = _checks.Rule(_observed, _where)
