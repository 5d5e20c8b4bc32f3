"""The exact law of one eigenvalue at finite n."""

import math
from collections.abc import Callable
from functools import partial
from typing import Annotated, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from rmtjax import _checks
from rmtjax._typing import KeyScalar
from rmtjax._units import times_power
from rmtjax.laws._core.orders import as_number, no_more_than
from rmtjax.laws._core.spectral import AbstractSpectralLaw
from rmtjax.laws._core.tabulated import not_too_far
from rmtjax.laws._finite_n.orthogonal_polynomials import ClassicalEnsemble, Side, log_density, log_tail
from rmtjax.laws._finite_n.table import breakpoints, moment, table
from rmtjax.special.internal import bracketed_root


class ClassicalSpectrum(NamedTuple):
    """The spectrum of an ensemble: a classical one times a unit, and further levels exactly at 0 and 1."""

    ensemble: ClassicalEnsemble
    unit: Array
    zeros: int = 0
    ones: int = 0


@runtime_checkable
class _Ensemble(Protocol):
    """The hook that `LevelDensity` asks of an ensemble; in `AbstractEnsemble` it returns None."""

    def _classical_spectrum(self) -> ClassicalSpectrum | None: ...


class LevelDensity(AbstractSpectralLaw):
    r"""The exact law of one eigenvalue of an invariant ensemble of finite size n, $f(x) = R_1(x)/n$.

    It is the mean density of the n levels. For β = 2 it is $\frac1n \sum_{k<n} \varphi_k(x)^2$ with the orthonormal
    functions of the Hermite, Laguerre or Jacobi weight; for β = 1 and 4 it has one more product. Probabilities and
    moments are its integrals. The relative error of values, also in both tails, is about $10^{-13}$ in float64 and
    $10^{-6}$ in float32, at a point within a few ulp of x.

    Between the tails the density is tabulated as polynomials on panels, on the host, once for each ensemble whatever
    its scale. This takes O(n²) operations: half a second at n = 1000 for β = 1 and 2, ten times as long for β = 4.
    Points in the tails, and every `ppf`, take O(n) operations each; `sample` only uses the table.

    Convention: the same levels as in the ensemble. Forced levels, 0 for `Wishart` with n > m and 0 and 1 for `Jacobi`,
    are atoms.

    Args:
        ensemble: `GOE`, `GUE`, `GSE`, `Wishart` or `Jacobi`. Differentiable in its scale.

    Raises:
        ValueError: `ensemble` is of another kind, or all its levels are forced.

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

    def __init__(self, ensemble: _Ensemble):
        known = isinstance(ensemble, _Ensemble) and not isinstance(ensemble, type)
        spectrum = ensemble._classical_spectrum() if known else None
        if spectrum is None:
            must = "be an ensemble with a known level density, as GOE(10), of GOE, GUE, GSE, Wishart and Jacobi"
            raise _checks.refusal("ensemble", must, ensemble)
        self.classical, self.unit, self.zeros, self.ones = spectrum
        if self.classical.n == 0:
            raise _checks.refusal("ensemble", "have levels that are not forced to be 0 or 1", ensemble)

    def _degrees(self) -> dict[str, int]:
        return {"unit": 1}

    def _total(self) -> int:
        """The number of levels, including the forced ones."""
        return self.classical.n + self.zeros + self.ones

    def _fraction(self) -> float:
        """The share of the levels that have a density."""
        return self.classical.n / self._total()

    def _support(self) -> tuple[Array, Array]:
        lower, upper = self.classical.weight.ends
        return lower + 0 * self.unit, upper + 0 * self.unit

    def _is_bounded(self) -> bool:
        return all(map(math.isfinite, self.classical.weight.ends))

    def _atoms(self) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        forced = ((0, self.zeros), (1, self.ones))
        there = np.array([(place, number / self._total()) for place, number in forced if number])
        places, masses = there.reshape(-1, 2).T
        return jnp.asarray(places, self.unit.dtype), jnp.asarray(masses, self.unit.dtype)

    def _breakpoints(self) -> Float[Array, " k"]:
        return self.unit * jnp.asarray(breakpoints(self.classical), self.unit.dtype)

    def _pdf_at_ends(self) -> tuple[Array, Array]:
        return self._at_hard_edge(Side.LOWER), self._at_hard_edge(Side.UPPER)

    def _at_hard_edge(self, side: Side) -> Array:
        """The density at a hard edge, from a point next to it, or 0 where it is infinite."""
        own = self.classical if side is Side.LOWER else self.classical.reflected()
        if own is None or not math.isfinite(own.weight.ends[0]) or own.power != 0:
            return 0 * self.unit
        return self._fraction() * float(np.exp(log_density(own, np, np.array(1e-30)))) / self.unit

    def _beyond(self, x: Float[Array, "..."], side: Side) -> tuple[Bool[Array, "..."], Float[Array, "..."]]:
        """Whether x, in the unit of the weight, lies in this soft tail; and x, or else the end of the tail."""
        end = jnp.asarray(table(self.classical).edges[-side], x.dtype)
        outside = x < end if side is Side.LOWER else x > end
        return outside, jnp.where(outside, not_too_far(x), end)

    def _logpdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        height = self._joined(x, table(self.classical).logpdf, self._log_density, *Side)
        return height + math.log(self._fraction()) - jnp.log(self.unit)

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        height = self._joined(x, table(self.classical).pdf, lambda y: jnp.exp(self._log_density(y)), *Side)
        return self._fraction() * height / self.unit

    def _log_density(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return log_density(self.classical, jnp, x)

    def _joined(self, x: Float[Array, "..."], inside: Callable, beyond: Callable, *sides: Side) -> Float[Array, "..."]:
        """The function `inside` of x in the unit of the weight, but `beyond` in the soft tails of these sides."""
        x = x / self.unit
        values = inside(x)
        tails = [self._beyond(x, side) for side in sides if side not in table(self.classical).powers]
        if len(tails) == 2:
            # One evaluation serves both tails.
            (low, y), (high, z) = tails
            tails = [(low | high, jnp.where(low, y, z))]
        return jnp.where(tails[0][0], beyond(tails[0][1]), values) if tails else values

    def _tail(self, x: Float[Array, "..."], side: Side) -> Float[Array, "..."]:
        """The share of the levels with a density that lies beyond x."""
        beyond = lambda y: jnp.exp(_log_tail(self.classical, side, y))
        return self._joined(x, lambda y: table(self.classical).tail(y, side), beyond, side)

    def _logtail(self, x: Float[Array, "..."], side: Side) -> Float[Array, "..."]:
        """The logarithm of `_tail`."""
        inside = lambda y: table(self.classical).logtail(y, side)
        return self._joined(x, inside, lambda y: _log_tail(self.classical, side, y), side)

    def _cdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.zeros / self._total() + self._fraction() * self._tail(x, Side.LOWER)

    def _sf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.ones / self._total() + self._fraction() * self._tail(x, Side.UPPER)

    def _logcdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.log(self._cdf(x)) if self.zeros else math.log(self._fraction()) + self._logtail(x, Side.LOWER)

    def _logsf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.log(self._sf(x)) if self.ones else math.log(self._fraction()) + self._logtail(x, Side.UPPER)

    def _sample(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        middle, dtype = table(self.classical), self.unit.dtype
        first, last = (jnp.full(shape, middle.edges[end], dtype) for end in (0, -1))
        u = jax.random.uniform(key, shape, dtype) / self._fraction() - self.zeros / self.classical.n
        # The soft tails, which hold less than 1e-13 of the mass, are left out.
        share = lambda x: jnp.where(u < 0.5, middle.tail(x, Side.LOWER) - u, 1 - u - middle.tail(x, Side.UPPER))
        level = self.unit * bracketed_root(share, first, last)
        return jnp.where(u < 0, 0, jnp.where(u > 1, 1, level)) if self.zeros or self.ones else level

    def _moment(self, k: int) -> Float[Array, ""]:
        no_more_than(100, k)
        # In units of the farthest level the moments are of the order 1.
        farthest = float(abs(table(self.classical).edges).max())
        exact = ((self.zeros if k == 0 else 0) + self.ones / farthest**k) / self._total()
        share = as_number(exact + self._fraction() * moment(self.classical, k, 0.0, farthest))
        return times_power(share, self.unit * farthest, k)

    def _central_moments(self, *orders: int) -> tuple[Float[Array, ""], ...]:
        mean = self.ones / self._total() + self._fraction() * moment(self.classical, 1, 0.0)
        exact = lambda k: (self.zeros * (-mean) ** k + self.ones * (1 - mean) ** k) / self._total()
        return tuple((exact(k) + self._fraction() * moment(self.classical, k, mean)) * self.unit**k for k in orders)


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _log_tail(ensemble: ClassicalEnsemble, side: Side, x: Float[Array, "..."]) -> Float[Array, "..."]:
    """The function `log_tail`, with its derivative from the density."""
    return log_tail(ensemble, jnp, x, side)


@_log_tail.defjvp
def _log_tail_jvp(ensemble: ClassicalEnsemble, side: Side, primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    value = _log_tail(ensemble, side, *primals)
    slope = jnp.exp(log_density(ensemble, jnp, *primals) - value)
    return value, -side.sign * slope * tangents[0]
