"""The mixed-matrix ensemble: a fresh binomial order for every draw."""

from typing import Annotated, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from rmtjax import _checks
from rmtjax._module import AbstractModule
from rmtjax._promotion import like
from rmtjax._typing import Arrangement, KeyScalar, RealLike, RealScalarLike
from rmtjax._units import quotient
from rmtjax.ensembles._core.base import AbstractNestedEnsemble
from rmtjax.laws import AbstractLaw, PeriodicPadding, Symmetrized
from rmtjax.laws.internal import clip_order
from rmtjax.linalg import PaddedMatrix
from rmtjax.spectra import Spectrum
from rmtjax.spectra.internal import count_below, padded, periodic_counts


def _keys(key: KeyScalar) -> Key[Array, "3"]:
    """Keys for the order, for the block and for a random arrangement."""
    return jax.random.split(_checks.typed_key(key), 3)


Normalize = Literal["order", "reference"]


class Mixed(AbstractModule):
    r"""The mixed-matrix ensemble (MMES) over a nested base ensemble of size N.

    Each draw has its own order, $n \sim \mathrm{Bin}(N, \mu)$ clipped to [2, N], and is the leading n×n block of a base
    sample. Arrays keep the static size N, so one compilation serves all orders.

    Convention: `normalize="order"` scales each draw by its own order, so that all spectra fill the same interval, ±2
    for `GOE(N)`; `normalize="reference"` leaves the entries as they are in the matrix of size N, so that a spectrum
    fills $\pm 2\sqrt{n/N}$. Nothing is repeated: a spectrum says which of its N places hold a level. Periodic padding,
    which produces Wigner's cat, must be requested by name, through `arrangement`.

    For one key, `count_below` counts the levels that `eigenvalues` returns; `sample` is a different draw from the
    measure.

    Args:
        base: a nested ensemble, e.g. `GOE(N)`.
        mixture: μ in (0, 1].
        normalize: `"order"` or `"reference"`.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax, rmtjax as rmt
        >>> spectrum = Mixed(rmt.GOE(6), mixture=0.5).eigenvalues(jax.random.key(1))
        >>> print(spectrum.values.shape, bool(2 <= spectrum.count <= 6))
        (6,) True

    References:
        Süzen (2021), HAL hal-03464130; Süzen (2025), arXiv:2512.22169.
    """

    base: AbstractNestedEnsemble
    mixture: Annotated[Float[Array, ""], _checks.FRACTION]
    normalize: Normalize = eqx.field(static=True)

    def __init__(self, base: AbstractNestedEnsemble, mixture: RealScalarLike, normalize: Normalize = "order"):
        if not isinstance(base, AbstractNestedEnsemble):
            raise _checks.refusal("base", "be a nested ensemble such as `GOE(n)` or `Wigner(n)`", base)
        self.base = base
        self.mixture = _checks.scalar("mixture", mixture)
        self.normalize = _checks.choice("normalize", normalize, Normalize)

    @property
    def n(self) -> int:
        """N, the largest order."""
        return self.base.n

    def sample(self, key: KeyScalar) -> PaddedMatrix:
        """A matrix of random order, zero outside its leading block."""
        return self._run(self._sample, _checks.typed_key(key))

    def _sample(self, key: KeyScalar) -> PaddedMatrix:
        key_order, key_block, _ = _keys(key)
        order = self._order(key_order)
        block = self.base._leading_block(key_block, order)
        return PaddedMatrix(like(block, self._factor(order)) * block, self.base._rows(order))

    def eigenvalues(self, key: KeyScalar) -> Spectrum:
        """The spectrum of a draw of random order; not that of `sample(key)` with the same key."""
        return self._run(self._eigenvalues, _checks.typed_key(key))

    def _eigenvalues(self, key: KeyScalar) -> Spectrum:
        return self._spectrum(*_keys(key)[:2])

    def _spectrum(self, key_order: KeyScalar, key_block: KeyScalar) -> Spectrum:
        order = self._order(key_order)
        spectrum = self.base._leading_block_eigenvalues(key_block, order)
        return padded(self._factor(order) * spectrum.values, order)

    def periodic_eigenvalues(self, key: KeyScalar, arrangement: Arrangement) -> Float[Array, " n"]:
        """The spectrum `eigenvalues(key)` repeated cyclically up to length N; see `Spectrum.periodic`."""
        _checks.choice("arrangement", arrangement, Arrangement)
        return self._run(self._periodic_eigenvalues, _checks.typed_key(key), arrangement=arrangement)

    def _periodic_eigenvalues(self, key: KeyScalar, *, arrangement: Arrangement) -> Float[Array, " n"]:
        key_order, key_block, key_arrangement = _keys(key)
        spectrum = self._spectrum(key_order, key_block)
        return spectrum.periodic(arrangement, key_arrangement if arrangement == "random" else None)

    def count_below(self, key: KeyScalar, x: RealLike, arrangement: Arrangement | None = None) -> Int[Array, "..."]:
        """The number of levels of the draw that lie strictly below each x.

        Args:
            key: a typed key.
            x: points of any shape.
            arrangement: None counts `eigenvalues(key)`; a name counts `periodic_eigenvalues(key, arrangement)`.
        """
        points, valid = _checks.points("x", x)
        if arrangement is not None:
            _checks.choice("arrangement", arrangement, Arrangement)
        counts = self._run(self._count_below, _checks.typed_key(key), points, arrangement=arrangement)
        return _checks.masked(valid, counts)

    def _count_below(
        self, key: KeyScalar, points: Float[Array, "..."], *, arrangement: Arrangement | None
    ) -> Int[Array, "..."]:
        if arrangement == "magnitude":  # which levels are repeated depends on their values
            return count_below(self._periodic_eigenvalues(key, arrangement=arrangement), points)
        key_order, key_block, key_arrangement = _keys(key)
        order = self._order(key_order)
        below = self.base._leading_block_counts(key_block, order, quotient(points, self._factor(order)))
        if arrangement is None:
            return below
        return periodic_counts(below, order, self.n, arrangement, key_arrangement)

    def law(self, arrangement: Arrangement | None = None, symmetrized: bool = False) -> AbstractLaw:
        """The law of a level, pooled over draws.

        Args:
            arrangement: None for the spectra as they are; a name for the periodically padded spectra.
            symmetrized: whether the levels are pooled with their mirror images.

        Returns:
            With `normalize="order"`, the base law, or its `PeriodicPadding` at finite N. With `"reference"`, the
            binomial mixture of block laws at finite N, or the padding of the block law at order μN in the limit
            N → ∞. Over a `Wishart` base, whose law depends on the order, the law at order μN replaces both the base law
            and the mixture.
        """
        law = _checks.masked(self._valid(), self._law(arrangement))
        return Symmetrized(law) if symmetrized else law

    def _law(self, arrangement: Arrangement | None) -> AbstractLaw:
        by_order = self.normalize == "order"
        if arrangement is None:
            return (self.base._rescaled_law if by_order else self.base._binomial_law)(self.mixture)
        if by_order:
            return PeriodicPadding(self.base._rescaled_law(self.mixture), self.mixture, arrangement, order=self.n)
        return PeriodicPadding(self.base._block_law(self.mixture), self.mixture, arrangement)

    def _order(self, key: KeyScalar) -> Int[Array, ""]:
        # A binomial variate counts n independent trials. Counting them is exact for any μ, and cheap next to n rows.
        trials = jax.random.bernoulli(key, self.mixture, (self.n,))
        return clip_order(jnp.sum(trials), self.n)

    def _factor(self, order: Int[Array, ""]) -> Float[Array, ""] | float:
        return self.base._rescaling(order) if self.normalize == "order" else 1.0
