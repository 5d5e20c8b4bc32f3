"""The exact law of one eigenvalue at finite n."""

import math
from functools import partial
from typing import Annotated, Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from rmtjax import _checks
from rmtjax._typing import KeyScalar
from rmtjax.laws._core.base import AbstractLaw
from rmtjax.laws._core.tabulated import not_too_far
from rmtjax.laws._finite_n.orthogonal_polynomials import ClassicalEnsemble, log_density, log_tail
from rmtjax.laws._finite_n.table import breakpoints, moment, table
from rmtjax.special import bracketed_root


class ClassicalSpectrum(NamedTuple):
    """The spectrum of an ensemble as that of a classical one times a unit, with further levels exactly at 0 and 1."""

    ensemble: ClassicalEnsemble
    unit: Array
    zeros: int = 0
    ones: int = 0


@runtime_checkable
class _Ensemble(Protocol):
    """What `LevelDensity` asks of an ensemble; `AbstractEnsemble` answers None."""

    def _classical_spectrum(self) -> ClassicalSpectrum | None: ...


class LevelDensity(AbstractLaw):
    r"""The exact law of one eigenvalue of an invariant ensemble of finite size n, $f(x) = R_1(x)/n$.

    It is the expected density of all n levels. For β = 2 it is $\frac1n \sum_{k<n} \varphi_k(x)^2$ with the orthonormal
    functions of the weight, of Hermite, Laguerre or Jacobi; for β = 1 and 4 this and one product more. Probabilities
    and moments are its integrals. Right to about $10^{-13}$ in float64 and $10^{-6}$ in float32, both tails in relative
    error, at a point within a few ulp of x.

    Between its tails the density is tabulated as polynomials on panels, on the host and once for each ensemble up to
    its scale, with O(n²) operations: about a second at n = 1000 for β = 1 and 2, ten times that for β = 4. Beyond, and
    in every `ppf`, it takes O(n) operations for each point; `sample` does without.

    Convention: that of the ensemble. Levels that are forced, at 0 for `Wishart` with n > m and at 0 and 1 for `Jacobi`,
    are point masses.

    Args:
        ensemble: `GOE`, `GUE`, `GSE`, `Wishart` or `Jacobi`. Differentiable in its scale.

    Raises:
        ValueError: `ensemble` is none of these, or all its levels are forced.

    Example:
        >>> import rmtjax as rmt
        >>> law = LevelDensity(rmt.GUE(2))
        >>> print(f"{law.pdf(0.0):.5f} {law.moment(2):.1f} {law.sf(4.0):.2e}")
        0.28209 1.0 1.35e-07

    References:
        Mehta (2004), Random Matrices, chapters 6 and 7; Adler, Forrester, Nagao and van Moerbeke (2000),
        J. Stat. Phys. 99, 141, for β = 1 and 4.
    """

    unit: Annotated[Float[Array, ""], _checks.POSITIVE]
    classical: ClassicalEnsemble = eqx.field(static=True)
    zeros: int = eqx.field(static=True)
    ones: int = eqx.field(static=True)

    def __init__(self, ensemble: Any):
        known = isinstance(ensemble, _Ensemble) and not isinstance(ensemble, type)
        spectrum = ensemble._classical_spectrum() if known else None
        if spectrum is None:
            must = "be an ensemble with a known level density, as GOE(10), of GOE, GUE, GSE, Wishart and Jacobi"
            raise _checks.refusal("ensemble", must, ensemble)
        self.classical, self.unit, self.zeros, self.ones = spectrum
        if self.classical.n == 0:
            raise _checks.refusal("ensemble", "have levels that are not forced to be 0 or 1", ensemble)

    def _total(self) -> int:
        """The number of all levels."""
        return self.classical.n + self.zeros + self.ones

    def _fraction(self) -> float:
        """The share of the levels that have a density."""
        return self.classical.n / self._total()

    def _support(self) -> tuple[Array, Array]:
        lower, upper = self.classical.weight.ends
        return lower + 0 * self.unit, upper + 0 * self.unit

    def _atoms(self) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        forced = ((0, self.zeros), (1, self.ones))
        there = np.array([(place, number / self._total()) for place, number in forced if number])
        places, masses = there.reshape(-1, 2).T
        return jnp.asarray(places, self.unit.dtype), jnp.asarray(masses, self.unit.dtype)

    def _breakpoints(self) -> Float[Array, " k"]:
        return self.unit * jnp.asarray(breakpoints(self.classical), self.unit.dtype)

    def _pdf_at_ends(self) -> tuple[Array, Array]:
        return self._at_hard_edge(upper=False), self._at_hard_edge(upper=True)

    def _at_hard_edge(self, *, upper: bool) -> Array:
        """The density at a hard edge, where it is not 0 and finite: that so near that it is the same."""
        own = self.classical.reflected() if upper else self.classical
        if own is None or not math.isfinite(own.weight.ends[0]) or own.power != 0:
            return 0 * self.unit
        return self._fraction() * float(np.exp(log_density(own, np, np.array(1e-30)))) / self.unit

    def _beyond(self, x: Float[Array, "..."], *, upper: bool) -> tuple[Bool[Array, "..."], Float[Array, "..."]]:
        """Whether x lies in that soft tail, in the unit of the weight, and itself or else the end of the tail."""
        edges = table(self.classical).edges
        end = jnp.asarray(edges[-upper], x.dtype)
        outside = x > end if upper else x < end
        return outside, jnp.where(outside, not_too_far(x), end)

    def _logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        x = x / self.unit
        height = table(self.classical).logpdf(x)
        for outside, y in self._soft_tails(x):
            height = jnp.where(outside, log_density(self.classical, jnp, y), height)
        return height + math.log(self._fraction()) - jnp.log(self.unit)

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        x = x / self.unit
        height = table(self.classical).pdf(x)
        for outside, y in self._soft_tails(x):
            height = jnp.where(outside, jnp.exp(log_density(self.classical, jnp, y)), height)
        return self._fraction() * height / self.unit

    def _soft_tails(self, x: Float[Array, "..."]) -> list[tuple[Bool[Array, "..."], Float[Array, "..."]]]:
        """`_beyond` for both tails in one, where there are any."""
        soft = [self._beyond(x, upper=upper) for upper in (False, True) if table(self.classical).powers[upper] is None]
        if len(soft) < 2:
            return soft
        (low, y), (high, z) = soft
        return [(low | high, jnp.where(low, y, z))]

    def _tail(self, x: Float[Array, "..."], *, upper: bool) -> Float[Array, "..."]:
        """The share of the levels with a density that lies above x, or below."""
        x, middle = x / self.unit, table(self.classical)
        near = middle.tail(x, upper=upper)
        if middle.powers[upper] is not None:
            return near
        outside, y = self._beyond(x, upper=upper)
        return jnp.where(outside, jnp.exp(_log_tail(self.classical, upper, y)), near)

    def _logtail(self, x: Float[Array, "..."], *, upper: bool) -> Float[Array, "..."]:
        """The logarithm of the same."""
        x, middle = x / self.unit, table(self.classical)
        near = middle.logtail(x, upper=upper)
        if middle.powers[upper] is not None:
            return near
        outside, y = self._beyond(x, upper=upper)
        return jnp.where(outside, _log_tail(self.classical, upper, y), near)

    def _cdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.zeros / self._total() + self._fraction() * self._tail(x, upper=False)

    def _sf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.ones / self._total() + self._fraction() * self._tail(x, upper=True)

    def _logcdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.log(self._cdf(x)) if self.zeros else math.log(self._fraction()) + self._logtail(x, upper=False)

    def _logsf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.log(self._sf(x)) if self.ones else math.log(self._fraction()) + self._logtail(x, upper=True)

    def _sample(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        middle, dtype = table(self.classical), self.unit.dtype
        first, last = (jnp.full(shape, middle.edges[end], dtype) for end in (0, -1))
        u = jax.random.uniform(key, shape, dtype) / self._fraction() - self.zeros / self.classical.n
        # The soft tails have less than 1e-13 of the mass.
        share = lambda x: jnp.where(u < 0.5, middle.tail(x, upper=False) - u, 1 - u - middle.tail(x, upper=True))
        level = self.unit * bracketed_root(share, first, last)
        return jnp.where(u < 0, 0, jnp.where(u > 1, 1, level)) if self.zeros or self.ones else level

    def _moment(self, k: int) -> Float[Array, ""]:
        exact = (self.zeros if k == 0 else 0) + self.ones
        return (exact / self._total() + self._fraction() * moment(self.classical, k, 0.0)) * self.unit**k

    def _central_moments(self, *orders: int) -> tuple[Float[Array, ""], ...]:
        mean = self.ones / self._total() + self._fraction() * moment(self.classical, 1, 0.0)
        exact = lambda k: (self.zeros * (-mean) ** k + self.ones * (1 - mean) ** k) / self._total()
        return tuple((exact(k) + self._fraction() * moment(self.classical, k, mean)) * self.unit**k for k in orders)


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _log_tail(ensemble: ClassicalEnsemble, upper: bool, x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The tail of the levels with its derivative, the density."""
    return log_tail(ensemble, jnp, x, upper=upper)


@_log_tail.defjvp
def _log_tail_jvp(ensemble: ClassicalEnsemble, upper: bool, primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    value = _log_tail(ensemble, upper, *primals)
    slope = jnp.exp(log_density(ensemble, jnp, *primals) - value)
    return value, (-slope if upper else slope) * tangents[0]
