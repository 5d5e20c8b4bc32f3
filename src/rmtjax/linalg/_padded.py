"""Matrices and spectra of varying order in arrays of one static size."""

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Inexact, Int, Real

from rmtjax import _checks
from rmtjax._automatic import on_automatic_axes
from rmtjax._compile import compiled
from rmtjax._module import AbstractModule
from rmtjax._promotion import aligned, in_one_precision, like
from rmtjax._typing import Arrangement, ArrayLike, IntegerLike, KeyScalar, MaskLike, RealLike
from rmtjax.linalg._hermitian import hermitian_eigenvalues


def inside_block(order: Int[Array, "*batch"], n: int) -> Bool[Array, "*batch n"]:
    """Which of the n rows belong to the leading block of the given order."""
    return jnp.less(*aligned(jnp.arange(n, dtype=order.dtype), order[..., None]))


def _values_and_orders(values: object, order: object, axes: int) -> tuple[Array, Array]:
    """Both as arrays; the orders must be integers, one for each item of the batch."""
    values, order = _checks.numbers("values", values), _checks.whole("order", order)
    if values.ndim < axes:
        raise _checks.refusal("values", f"have at least {axes} axes", values.shape)
    if order.shape != values.shape[:-axes]:
        raise _checks.refusal("order", f"be integers of the batch shape {values.shape[:-axes]}", order)
    return values, order


class PaddedMatrix(AbstractModule):
    """A square matrix of order k ≤ n in an n×n array that is zero outside its leading k×k block.

    Args:
        values: the array, zero outside the block.
        order: 1 ≤ k ≤ n, the order of the matrix; may be traced.

    Raises:
        ValueError: `order` does not have an integer dtype or the shape of the batch.

    Example:
        >>> import jax.numpy as jnp
        >>> print(PaddedMatrix(jnp.diag(jnp.array([3.0, 0.0])), jnp.array(1)).mask)
        [[ True False]
         [False False]]
    """

    values: Inexact[Array, "*batch n n"]
    order: Int[Array, "*batch"]

    def __init__(self, values: Annotated[ArrayLike, "*batch n n"], order: Annotated[IntegerLike, "*batch"]):
        self.values, self.order = _values_and_orders(values, order, 2)

    @property
    def mask(self) -> Bool[Array, "*batch n n"]:
        """True inside the block."""
        rows = inside_block(self.order, self.values.shape[-1])
        return rows[..., :, None] & rows[..., None, :]


class PaddedSpectrum(AbstractModule):
    """The ascending spectrum of a matrix of order k ≤ n in an array of length n, padded with `+inf`.

    Args:
        values: ascending eigenvalues, `+inf` from index k on.
        order: 0 ≤ k ≤ n, the number of eigenvalues; may be traced.

    Raises:
        ValueError: `order` does not have an integer dtype or the shape of the batch. Statistics refuse one that is not
            the number of levels before the padding.

    Example:
        >>> import jax.numpy as jnp
        >>> spectrum = PaddedSpectrum(jnp.array([-1.0, 0.5, jnp.inf]), jnp.array(2))
        >>> print(spectrum.mask)
        [ True  True False]
    """

    values: Real[Array, "*batch n"]
    order: Int[Array, "*batch"]

    def __init__(self, values: Annotated[RealLike, "*batch n"], order: Annotated[IntegerLike, "*batch"]):
        self.values, self.order = _values_and_orders(values, order, 1)

    @classmethod
    def of(cls, spectra: Iterable[Annotated[RealLike, "_"]]) -> "PaddedSpectrum":
        """A batch of spectra of several orders, such as those of symmetry sectors.

        Args:
            spectra: ascending eigenvalues, one vector for each spectrum.

        Returns:
            As many spectra as there are vectors, padded to the length of the longest.

        Raises:
            ValueError: there is no vector, or one of them is not a vector of real numbers.

        Example:
            >>> import jax.numpy as jnp
            >>> print(PaddedSpectrum.of([jnp.array([-1.0, 0.5]), jnp.array([0.0])]).values)
            [[-1.   0.5]
             [ 0.   inf]]
        """
        if isinstance(spectra, jax.Array | np.ndarray):
            spectra = _checks.real("spectra", spectra)
        if not isinstance(spectra, Iterable) or getattr(spectra, "ndim", 1) == 0:
            raise _checks.refusal("spectra", "be vectors of real numbers", spectra)
        vectors = [_checks.vector("spectra", spectrum) for spectrum in spectra]
        if not vectors:
            raise _checks.refusal("spectra", "be at least one vector", vectors)
        orders = [vector.size for vector in vectors]
        pad = lambda vector: jnp.pad(vector, (0, max(orders) - vector.size), constant_values=jnp.inf)
        return cls(jnp.stack([pad(vector) for vector in vectors]), jnp.array(orders))

    @property
    def mask(self) -> Bool[Array, "*batch n"]:
        """True where there is an eigenvalue, False on the padding."""
        return inside_block(self.order, self.values.shape[-1])

    def count_below(self, x: RealLike) -> Int[Array, "..."]:
        """Number of eigenvalues strictly below each x, for a spectrum without batch axes.

        Args:
            x: points of any shape.

        Returns:
            Integers of the shape of `x`.

        Example:
            >>> import jax.numpy as jnp
            >>> spectrum = PaddedSpectrum(jnp.array([-1.0, 0.5, jnp.inf]), jnp.array(2))
            >>> print(spectrum.count_below(jnp.array([0.5, jnp.inf])))
            [1 2]
        """
        points, valid = _checks.points("x", x)
        return _checks.masked(valid, jnp.minimum(like(self.order, count_below(self.values, points)), self.order))

    def periodic(self, arrangement: Arrangement, key: KeyScalar | None = None) -> Real[Array, "*batch n"]:
        r"""The spectrum, of at least one level, repeated cyclically up to length n, in ascending order.

        With $n = c k + r$, $0 \le r < k$, every level is taken c times and r of them once more. The arrangement says
        which ones, and decides the density of the result (see the manual, "Wigner's cat"): `"ascending"` repeats the r
        lowest levels, `"magnitude"` the r largest in absolute value, `"random"` r of them drawn at random. The repeated
        levels are exact duplicates, so spacing statistics should be taken from the unpadded spectrum.

        Args:
            arrangement: `"ascending"`, `"magnitude"` or `"random"`.
            key: needed by `"random"`, refused otherwise.

        Returns:
            n ascending levels, without padding.

        Raises:
            ValueError: the arrangement does not exist, or a key is missing or superfluous.

        Example:
            >>> import jax.numpy as jnp
            >>> spectrum = PaddedSpectrum(jnp.array([-1.0, 0.5, jnp.inf]), jnp.array(2))
            >>> print(spectrum.periodic("ascending"))
            [-1.  -1.   0.5]

        References:
            Süzen (2025), arXiv:2512.22169 (there in the order of the eigensolver's output).
        """
        _checks.choice("arrangement", arrangement, Arrangement)
        if (key is None) == (arrangement == "random"):
            raise _checks.refusal("key", "be given for arrangement='random' and for no other", key)
        return _repeated(self.values, self.order, arrangement, key)


class MaskedValues(AbstractModule):
    """Values of which not all count: as many as there is room for, in an array of static size.

    An index chooses from the batch, or a range of the values: `spacings[0]`, `spacings[:, 10:20]`. There is no way to
    one plain array, as rows have different numbers of values: `values` and `mask` are two.

    Args:
        values: numbers; NaN where they do not count.
        mask: True where they do.

    Raises:
        ValueError: the shapes differ, or `mask` is not boolean.

    Example:
        >>> import jax.numpy as jnp
        >>> spacings = MaskedValues(jnp.array([0.5, jnp.nan, 1.5]), jnp.array([True, False, True]))
        >>> print(spacings.mean(), spacings.count())
        1.0 2
    """

    values: Inexact[Array, "*batch n"]
    mask: Bool[Array, "*batch n"]

    def __init__(self, values: Annotated[ArrayLike, "*batch n"], mask: Annotated[MaskLike, "*batch n"]):
        self.values, self.mask = _checks.numbers("values", values), jnp.asarray(_checks.booleans("mask", mask))
        if self.mask.shape != self.values.shape:
            raise _checks.refusal("mask", f"be booleans of the shape {self.values.shape}", mask)

    def count(self) -> Int[Array, "*batch"]:
        """How many values of each row count."""
        return jnp.sum(self.mask, axis=-1)

    def mean(self, function: Callable[[Array], Array] | None = None) -> Inexact[Array, "*batch"]:
        """The mean of those of each row that count; NaN where there are none.

        Args:
            function: elementwise, for the mean of a function of the values, of which it sees only those that count.

        Example:
            >>> import jax.numpy as jnp
            >>> spacings = MaskedValues(jnp.array([0.5, jnp.nan, 1.5]), jnp.array([True, False, True]))
            >>> print(spacings.mean(jnp.square))
            1.25
        """
        heights = self.values
        if function is not None:
            heights = _checks.numbers("function", function(first_for_rest(heights, self.mask)))
        if heights.shape != self.values.shape:
            raise _checks.refusal("function", f"return an array of the shape {self.values.shape}", heights.shape)
        return _mean(heights, self.mask)

    def __getitem__(self, index: Any) -> "MaskedValues":
        parts = index if isinstance(index, tuple) else (index,)
        whole = len(parts) == self.values.ndim or any(part is ... for part in parts)
        if whole and isinstance(parts[-1], int | np.integer | jax.Array | np.ndarray) and np.ndim(parts[-1]) == 0:
            raise _checks.refusal("index", "leave the last axis, as a range does", index)
        return MaskedValues(self.values[index], self.mask[index])

    def __iter__(self) -> Iterator["MaskedValues"]:
        return (self[row] for row in range(self.values.shape[0]))

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise _checks.refusal("MaskedValues", "be taken apart, into `values` and `mask`", self)


@compiled
def first_for_rest(values: Inexact[Array, "*batch n"], mask: Bool[Array, "*batch n"]) -> Inexact[Array, "*batch n"]:
    """The values, with the first that counts in the place of those that do not, or 1 where none does."""
    if values.size == 0:
        return values
    first = jnp.take_along_axis(values, jnp.argmax(mask, axis=-1, keepdims=True), axis=-1)
    some = jnp.any(mask, axis=-1, keepdims=True)
    return jnp.where(mask, values, jnp.where(some, jax.lax.stop_gradient(first), 1))


@compiled
def _mean(heights: Inexact[Array, "*batch n"], mask: Bool[Array, "*batch n"]) -> Inexact[Array, "*batch"]:
    count = jnp.sum(mask, axis=-1)
    total = jnp.sum(jnp.where(mask, heights, 0), axis=-1)
    return jnp.where(count > 0, total / like(total, jnp.maximum(count, 1)), jnp.nan)


def _ranks(score: Real[Array, "*batch n"], mask: Bool[Array, "*batch n"]) -> Int[Array, "*batch n"]:
    """Rank of each level by its score, padding last; of two levels with equal scores the lower comes first."""
    return jnp.argsort(jnp.argsort(jnp.where(mask, score, jnp.inf), axis=-1), axis=-1)


def _random_precedence(key: KeyScalar, mask: Bool[Array, "*batch n"]) -> Int[Array, "*batch n"]:
    return _ranks(jax.random.uniform(_checks.typed_key(key), mask.shape), mask)


def _multiplicity(precedence: Int[Array, " n"], order: Int[Array, ""]) -> Int[Array, " n"]:
    """How often periodic padding takes each level."""
    n = precedence.size
    copies, remainder = n // order, n % order
    extra = like(order, like(order, precedence) < remainder)
    return jnp.where(jnp.arange(n, dtype=order.dtype) < order, copies + extra, 0)


def _places_of_copies(multiplicity: Int[Array, " n"]) -> Int[Array, " n"]:
    """For each index of the padded spectrum, the index in the unpadded one that it copies."""
    ends = jnp.cumsum(multiplicity)
    return jnp.searchsorted(ends, jnp.arange(multiplicity.size, dtype=ends.dtype), side="right")


@on_automatic_axes
def _repeated(
    values: Real[Array, "*batch n"], order: Int[Array, "*batch"], arrangement: str, key: KeyScalar | None
) -> Real[Array, "*batch n"]:
    n = values.shape[-1]
    mask = inside_block(order, n)
    if arrangement == "ascending":
        precedence = jnp.broadcast_to(jnp.arange(n), values.shape)
    elif arrangement == "magnitude":
        precedence = _ranks(-jnp.abs(values), mask)
    else:
        assert key is not None
        precedence = _random_precedence(key, mask)
    multiplicity = jnp.vectorize(_multiplicity, signature="(n),()->(n)")(precedence, order)
    place = jnp.vectorize(_places_of_copies, signature="(n)->(n)")(multiplicity)
    return jnp.take_along_axis(values, place, axis=-1)


def periodic_counts(
    below: Int[Array, "..."], order: Int[Array, ""], n: int, arrangement: Arrangement, key: KeyScalar
) -> Int[Array, "..."]:
    """Counts for the periodically padded spectrum from those for the unpadded one, without any eigenvalue.

    The arrangement may not be `"magnitude"`, where the levels themselves decide which of them are repeated.
    """
    if arrangement == "ascending":
        order = like(below, order)
        return n // order * below + jnp.minimum(below, n % order)
    multiplicity = _multiplicity(_random_precedence(key, inside_block(order, n)), order)
    return jnp.pad(jnp.cumsum(multiplicity), (1, 0))[below]


@on_automatic_axes
def count_below(ascending: Real[Array, " n"], x: Real[Array, "..."]) -> Int[Array, "..."]:
    """Number of entries of an ascending array strictly below each x; -1 if any entry is NaN."""
    return _checks.masked(~jnp.isnan(ascending).any(), jnp.searchsorted(*in_one_precision((ascending, x)), side="left"))


def leading_block_spectrum(a: Inexact[Array, "n n"], order: Int[Array, ""]) -> PaddedSpectrum:
    """Spectrum of the leading block of a Hermitian matrix that is zero outside it, for a traced order.

    The whole matrix has the levels of the block and n - k zeros. The n - k consecutive levels that lie closest to 0 are
    removed; if a level of the block is closer to 0 than a computed zero, the two agree to rounding. (A large number on
    the outer diagonal would sort the padding to the end too, but would cost digits: the error is eps‖A‖.)
    """
    n = a.shape[-1]
    eigenvalues = hermitian_eigenvalues(a)
    zeros = n - order
    start = jnp.arange(n, dtype=order.dtype)
    last = jnp.clip(start + zeros - 1, 0, n - 1)
    distance = jnp.maximum(jnp.abs(eigenvalues), jnp.abs(eigenvalues[last]))
    first_zero = jnp.argmin(jnp.where(start + zeros <= n, distance, jnp.inf))
    place = jnp.where(start < like(start, first_zero), start, jnp.clip(start + zeros, 0, n - 1))
    return PaddedSpectrum(jnp.where(start < order, eigenvalues[place], jnp.inf), order)
