r"""Spacings of several independent sequences of levels, superposed.

Derivation. In the unit of the mean spacing of all levels, let sequence i have the density $f_i$. In its own unit let
$E_i$ be its probability of an empty interval and $F_i$ its law of spacings, so that $-E_i' = 1 - F_i$. An interval of
length s is empty with probability $E(s) = \prod_i E_i(f_i s)$, and the spacings have the tail -E' and the density E''.
With $h_i = f_i (1 - F_i)/E_i$, $p_i = f_i^2 F_i'/E_i$ at $f_i s$ and $\bar E_i = \prod_{j \ne i} E_j$

$$P(S > s) = E \sum_i h_i, \qquad p(s) = E \Big[\sum_i p_i + 2\sum_{i<j} h_i h_j\Big], \qquad
P(S \le s) = \sum_i f_i \big[F_i + (1 - F_i)(1 - \bar E_i)\big] .$$

All terms are positive, so nothing cancels in either tail.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float

from rmtjax import _checks
from rmtjax._promotion import aligned, like
from rmtjax._typing import DysonIndexOrZero, KeyScalar, RealLike
from rmtjax.laws._core import positive_axis
from rmtjax.laws._core.log_space import AbstractLogarithmicLaw
from rmtjax.laws._spacings.empty_interval import distance_to_level, log_empty
from rmtjax.laws._spacings.spacing import Spacing
from rmtjax.special.internal import log_one_minus_exp

T = TypeVar("T")


class _Logarithms(NamedTuple):
    """Logarithms of E, F, 1 - F and the density for each sequence in its own unit, along the last axis."""

    empty: Array
    below: Array
    above: Array
    density: Array


class SuperposedSpacing(AbstractLogarithmicLaw):
    r"""The law of spacings of independent sequences of levels that are superposed.

    $$p(s) = \frac{d^2}{ds^2} \prod_i E_i(f_i s)$$

    Here $E_i(s)$ is the probability that an interval of length s holds no level of a sequence of unit density, exactly
    for each β. Such spectra come from unused symmetries: the eigenvalues of m blocks of equal size have $f_i = 1/m$.
    Levels of different sequences do not repel, and $p(0) = 1 - \sum_i f_i^2$, where the sum leaves out the independent
    levels, β = 0. One sequence alone is `Spacing`; many tend to `PoissonSpacing`. `BerryRobnik` is a closed form for
    β = 0 and 1 with Wigner's surmise in the place of the exact law.

    All methods are right to some ten ulp, and both tails in relative error. Moments beyond the mean are numerical.

    Convention: mean 1, for all levels together.

    Args:
        betas: β of each sequence, at least one: 0 (independent levels), 1, 2 or 4; static.
        fractions: positive shares $f_i$ of the levels that belong to the sequences, with sum 1. They are divided by
            their sum, so derivatives are taken along the simplex.

    Raises:
        ValueError: an argument is outside its range, or the numbers of β and fractions differ.

    Example:
        >>> law = SuperposedSpacing([1, 1], [0.5, 0.5])
        >>> print(f"{law.pdf(0.0):.2f} {law.pdf(1.0):.5f} {law.logsf(20.0):.2f}")
        0.50 0.50770 -137.29

    References:
        Rosenzweig and Porter (1960), Phys. Rev. 120, 1698; Mehta (2004), Random Matrices, appendix A.2.
    """

    betas: tuple[DysonIndexOrZero, ...] = eqx.field(static=True)
    fractions: Annotated[Float[Array, " k"], _checks.POSITIVE_PROBABILITIES]

    def __init__(self, betas: Sequence[DysonIndexOrZero], fractions: RealLike):
        if not isinstance(betas, Sequence | np.ndarray | jax.Array) or getattr(betas, "ndim", 1) == 0 or not len(betas):
            raise _checks.refusal("betas", "be a sequence of at least one number", betas)
        self.betas = tuple(_checks.dyson_index(beta, DysonIndexOrZero, "betas") for beta in betas)
        weights = _checks.weakly_typed("fractions", fractions)
        self.fractions = _checks.of_shape("fractions", weights, (len(self.betas),))

    def _shares(self) -> Float[Array, " k"]:
        return self.fractions / self.fractions.sum()

    def _support(self) -> tuple[Array, Array]:
        zero = 0 * self.fractions[0]
        return zero, jnp.inf + zero

    def _breakpoints(self) -> Float[Array, " k"]:
        # The panels double in length, up to where the slowest decay, e^{-s}, underflows.
        zero = 0 * self.fractions[0]
        return jnp.append(zero, like(zero, 800 * 2.0 ** np.arange(-12, 1)) + zero)

    def _pdf_at_ends(self) -> tuple[Array | float, Array | float]:
        f = self._shares()
        repelling = jnp.array([beta > 0 for beta in self.betas])
        # Sum the products of unlike fractions, and the squares for independent levels: no term is negative.
        return f @ (f.sum() - f) + jnp.sum(jnp.where(repelling, 0, f**2)), 0.0

    def _logarithms(self, x: Float[Array, "..."]) -> _Logarithms:
        def logarithms(beta: DysonIndexOrZero, s: Array) -> _Logarithms:
            if not beta:
                return _Logarithms(-s, log_one_minus_exp(-s), -s, -s)
            law = Spacing(beta)
            return _Logarithms(log_empty(law, s), *law._log_tails(s), law._logpdf(s))

        return self._by_sequence(logarithms, jnp.multiply(*aligned(x[..., None], self._shares())))

    def _by_sequence(self, fn: Callable[..., T], *values: Array) -> T:
        """Apply a function of β to values along the last axis, once for all sequences with the same β."""
        numbers = {beta: [i for i, each in enumerate(self.betas) if each == beta] for beta in sorted(set(self.betas))}
        parts = [fn(beta, *(value[..., jnp.array(own)] for value in values)) for beta, own in numbers.items()]
        back = np.argsort([i for own in numbers.values() for i in own])
        return jax.tree.map(lambda *columns: jnp.concatenate(columns, -1)[..., back], *parts)

    def _logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        logs, log_f = self._logarithms(x), jax.lax.broadcast_to_rank(jnp.log(self._shares()), x.ndim + 1)
        terms = [2 * log_f + logs.density - logs.empty]
        if len(self.betas) > 1:
            hazards = jnp.exp(log_f + logs.above - logs.empty)
            pairs = jnp.sum(hazards[..., 1:] * jnp.cumsum(hazards[..., :-1], -1), -1)
            terms.append(jnp.log(2 * pairs)[..., None])
        return jnp.sum(logs.empty, -1) + logsumexp(jnp.concatenate(terms, -1), axis=-1)

    def _nearer_tail(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """The logarithm of F below x = 1, and of 1 - F from there on."""
        logs, log_f = self._logarithms(x), jax.lax.broadcast_to_rank(jnp.log(self._shares()), x.ndim + 1)
        above = jnp.sum(logs.empty, -1) + logsumexp(log_f + logs.above - logs.empty, axis=-1)
        below = [log_f + logs.below]
        if len(self.betas) > 1:
            # The own term is left out of the sum: a difference of sums would lose the digits of small fractions.
            others = logs.empty @ jnp.asarray(1 - jnp.eye(len(self.betas)), x.dtype)
            below.append(log_f + logs.above + log_one_minus_exp(others))
        return jnp.where(x < 1, logsumexp(jnp.concatenate(below, -1), axis=-1), above)

    def _logcdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        nearer = self._nearer_tail(x)
        return jnp.where(x < 1, nearer, log_one_minus_exp(nearer))

    def _logsf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        nearer = self._nearer_tail(x)
        return jnp.where(x < 1, log_one_minus_exp(nearer), nearer)

    def _ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        return positive_axis.ppf(self, p, q, 800 + 0 * self.fractions[0])

    def _sample(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        f = self._shares()
        key_choice, key_same, key_other = jax.random.split(key, 3)
        # The present level belongs to one sequence, in which the next level is a spacing away. In the other sequences
        # the next level is as far as from any point. The nearest of all is the next level.
        chosen = jax.random.choice(key_choice, len(self.betas), shape, p=f)
        same, other = (jax.random.exponential(k, (*shape, len(self.betas)), f.dtype) for k in (key_same, key_other))
        same, other = (jnp.maximum(each, jnp.finfo(f.dtype).tiny) for each in (same, other))

        def spacing(beta: DysonIndexOrZero, same: Array, other: Array) -> tuple[Array, Array]:
            if not beta:
                return same, other
            law = Spacing(beta)
            return law._ppf(-jnp.expm1(-same), jnp.exp(-same)), distance_to_level(law, -other)

        same, other = self._by_sequence(spacing, same, other)
        number, chosen, f = aligned(jnp.arange(len(self.betas)), chosen[..., None], f)
        return jnp.min(jnp.where(number == chosen, same, other) / f, -1)

    def _moment(self, k: int) -> Float[Array, ""]:
        return self.fractions[0] ** 0 if k < 2 else super()._moment(k)
