r"""Laws of one eigenvalue: the transforms of Stieltjes, Hilbert and Voiculescu.

The hook for the Stieltjes transform is only called in the closed upper half plane; on the real axis it returns the
limit from above.
"""

import math
from collections.abc import Callable
from typing import Annotated, Self, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import aligned, common_dtype, in_one_precision, like
from rmtjax._typing import ArrayLike, KeyScalar, RealLike, RealScalarLike
from rmtjax._units import times, times_power, unit_near
from rmtjax.laws._core import fallbacks
from rmtjax.laws._core.base import FEW, AbstractLaw
from rmtjax.laws._core.half_plane import in_plane, quotient_of_one
from rmtjax.laws._core.orders import no_more_than
from rmtjax.laws._core.power_series import power

Transform = Callable[[Complex[Array, "..."]], Complex[Array, "..."]]
Part = TypeVar("Part", bound=AbstractLaw)


class AbstractSpectralLaw(AbstractLaw):
    r"""A law of one eigenvalue, with its transforms.

    A subclass defines the hooks of every law, and for what it has a formula also `_stieltjes`, `_free_cumulant`,
    `_r_transform` and `_s_transform`. The first two have fall-backs: the transform comes from the density.

    Convention: $G(z) = E\,(z - X)^{-1} \sim 1/z$, as in `rmtjax.statistics.stieltjes`. Its imaginary part is negative
    in the upper half plane, and the density is $-\frac1\pi \operatorname{Im} G(x + i0)$.
    """

    def _stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        """The transform at finite z with Im z ≥ 0; on the real axis it is the limit from above."""
        return fallbacks.stieltjes(self, z)

    def _subordination(self, w: Complex[Array, "..."]) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
        """The function h(w) = 1/G(w) - w, which maps the closed upper half plane into itself, and its derivative."""
        transform, slope = jax.jvp(self._stieltjes, (w,), (jnp.ones_like(w),))
        f = quotient_of_one(transform)
        return f - w, -slope * f**2 - 1

    def _log_potential(self, w: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
        """The potentials E log(w - X) and E log(X - w) for w in the closed upper half plane.

        On the real axis their imaginary parts are π times the mass above w and -π times the mass below w.
        """
        return fallbacks.log_potential(self, w)

    def _is_bounded(self) -> bool:
        """Whether both ends are finite for all parameters. A bounded law with breakpoints of its own says so."""
        return type(self)._breakpoints is AbstractLaw._breakpoints

    def _has_moments(self) -> bool:
        """Whether all moments are finite, whatever the parameters are; a law without them is refused as a free part."""
        return True

    def _extent(self) -> tuple[Array, Array]:
        """A finite interval that holds the law, but for the rounding of its mass."""
        if self._is_bounded():
            return self._carrier()
        points = self._breakpoints()
        return points[0], points[-1]

    def _gap_levels(self) -> Float[Array, " k"]:
        """The values of the distribution function between 0 and 1 that it may have in gaps of the support."""
        return jnp.zeros(0, common_dtype(*self._carrier()))

    def _bands(self) -> tuple[Float[Array, " 2k"], Float[Array, " k-1"]]:
        """The lower and the upper end of each band in turn, and the mass up to each band but the last."""
        levels = self._gap_levels()
        return (self._breakpoints() if levels.size else jnp.stack(self._support())), levels

    def _jumps(self) -> tuple[Float[Array, " k"], Float[Array, " k"], Float[Array, " k"]]:
        """The locations and masses of the atoms, and the mass above each one that has a mass."""
        locations, masses = self._atoms()
        return locations, masses, self._promised(locations, quantity="sf") if locations.size else masses

    def _free_cumulant(self, k: int) -> Float[Array, ""]:
        no_more_than(20, k)
        if k in (2, 3, 4):  # moments about 0 would cancel
            second, cumulant = self._central_moments(2, k)
            return cumulant - 2 * second**2 if k == 4 else cumulant
        law, unit = self._in_unit()
        moments = jnp.stack([law._moment(j) for j in range(k + 1)])
        cumulant = moments[1] if k == 1 else -power(moments, 1 - k)[k] / (k - 1)
        return times_power(jnp.where(jnp.abs(moments).max() < jnp.inf, cumulant, jnp.inf), unit, k)

    def _central_moments(self, *orders: int) -> tuple[Float[Array, ""], ...]:
        """The central moments as sums over the non-crossing partitions without singletons."""
        if type(self)._free_cumulant is AbstractSpectralLaw._free_cumulant:
            return super()._central_moments(*orders)  # the other fall-back uses moments about 0, which cancel
        pairs = lambda k: 2 * self._free_cumulant(2) ** 2 if k == 4 else 0
        return tuple(self._free_cumulant(k) + pairs(k) for k in orders)

    def _r_transform(self, g: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        raise NotImplementedError(f"No closed form of the R-transform of {type(self).__name__} is known.")

    def _s_transform(self, z: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        raise NotImplementedError(f"No closed form of the S-transform of {type(self).__name__} is known.")

    def stieltjes(self, z: ArrayLike) -> Complex[Array, "..."]:
        r"""Stieltjes (Cauchy) transform $G(z) = E\,(z - X)^{-1}$, with $G(\bar z) = \overline{G(z)}$.

        On the real axis it is the limit from above, $G(x + i0)$, whose imaginary part is -π times the density. At an
        atom and where the density diverges it is infinite, with the derivative 0.

        Args:
            z: complex or real points of any shape.
        """
        return self._run(self._promised_stieltjes, in_plane(_checks.numbers("z", z)))

    def hilbert(self, x: RealLike) -> Float[Array, "..."]:
        r"""Hilbert transform $\frac1\pi\,\mathrm{p.v.}\!\int \frac{f(y)}{x - y}\,dy$, atoms included.

        It is $\frac1\pi \operatorname{Re} G(x + i0)$.

        Args:
            x: real points of any shape.
        """
        return self._run(self._promised_hilbert, _checks.real("x", x))

    def log_potential(self, z: ArrayLike) -> Complex[Array, "..."]:
        r"""Logarithmic potential $U(z) = E \log(z - X)$, whose derivative is G, with $U(\bar z) = \overline{U(z)}$.

        On the real axis it is the limit from above, $E \log|x - X| + i \pi P(X > x)$, with the real part -inf at atoms.
        For a matrix M of order n whose levels have this law, $\log|\det(z - M)|$ is near $n \operatorname{Re} U(z)$.

        Args:
            z: complex or real points of any shape.
        """
        return self._run(self._promised_log_potential, in_plane(_checks.numbers("z", z)))

    def free_cumulant(self, k: int) -> Float[Array, ""]:
        """The k-th free cumulant, for an integer k from 1 to 10000; the first is the mean, the second the variance.

        Where there is no formula, k is at most 20, and digits cancel as k grows.
        """
        return self._run(self._promised_free_cumulant, k=_checks.integer("k", k, at_least=1, at_most=10_000))

    def r_transform(self, g: ArrayLike) -> Inexact[Array, "..."]:
        r"""Voiculescu's R-transform $R(g) = \sum_{k \ge 1} \kappa_k\,g^{k-1}$, continued from 0 along straight lines.

        Near 0 it solves $G(R(g) + 1/g) = g$. Free convolution adds R-transforms.

        Args:
            g: complex or real points of any shape; real points where R is not real give NaN.

        Raises:
            NotImplementedError: no closed form is known.
        """
        return self._run(self._promised_r_transform, _checks.numbers("g", g))

    def s_transform(self, z: ArrayLike) -> Inexact[Array, "..."]:
        r"""Voiculescu's S-transform, the solution of $S(z\,R(z))\,R(z) = 1$.

        Free multiplicative convolution multiplies S-transforms. A law of mean 0 has none.

        Args:
            z: complex or real points of any shape.

        Raises:
            NotImplementedError: no closed form is known, or the mean is 0.
        """
        return self._run(self._promised_s_transform, _checks.numbers("z", z))

    def bands(self) -> tuple[Float[Array, " k"], Float[Array, " k"], Float[Array, " k"]]:
        """Lower ends, upper ends and masses of the intervals that carry the law, point masses included.

        How many there are follows from the number of parameters, so that it can be compiled. Two bands that have
        merged touch at a point; a band that is absent has the mass 0 and no width.
        """
        return self._run(self._promised_bands)

    def scaled(self, factor: RealScalarLike) -> "Affine":
        """The law of c X for X with this law.

        Args:
            factor: c, finite and not 0; a negative number reflects the law.
        """
        return Affine(self, factor, 0.0)

    def shifted(self, shift: RealScalarLike) -> "Affine":
        """The law of X + c for X with this law.

        Args:
            shift: c, finite.
        """
        return Affine(self, 1.0, shift)

    def _everywhere(self, z: Complex[Array, "..."], function: Transform, at_infinity: float) -> Complex[Array, "..."]:
        """A function of the closed upper half plane in the whole plane, where it is mirrored at the axis."""
        below = jnp.imag(z) < 0
        infinite = jnp.isinf(jnp.real(z)) | jnp.isinf(jnp.imag(z))
        nan = jnp.isnan(z) & ~infinite
        values = function(jnp.where(infinite | nan, 1j, jnp.where(below, jnp.conj(z), z)))
        values = jnp.where(below, jnp.conj(values), values)
        return self._as_promised(jnp.where(infinite, at_infinity, jnp.where(nan, jnp.nan * (1 + 1j), values)), z)

    def _promised_stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        law, unit = self._in_unit()
        return times(law._everywhere(times(z, 1 / unit), law._stieltjes, 0.0), 1 / unit)

    def _promised_log_potential(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        law, unit = self._in_unit()
        values = law._everywhere(times(z, 1 / unit), law._potential_and_atoms, math.inf)
        return values + like(values, jnp.log(unit))

    def _promised_hilbert(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.real(self._promised_stieltjes(in_plane(x))) / jnp.pi

    def _potential_and_atoms(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        """The potential E log(z - X), infinite at atoms."""
        places, masses = self._atoms()
        at_atom = jnp.any(jnp.equal(*aligned(z[..., None], jnp.where(masses > 0, places, jnp.nan))), axis=-1)
        value = self._log_potential(z)[0]
        return jnp.where(at_atom, jax.lax.complex(jnp.full_like(value.real, -jnp.inf), value.imag), value)

    def _promised_bands(self) -> tuple[Float[Array, " k"], Float[Array, " k"], Float[Array, " k"]]:
        law, unit = self._in_unit()
        ends, levels = law._bands()
        return ends[::2] * unit, ends[1::2] * unit, self._as_promised(jnp.diff(levels, prepend=0, append=1))

    def _promised_free_cumulant(self, *, k: int) -> Float[Array, ""]:
        law, unit = self._in_unit() if k <= FEW else (self, 1.0)
        return self._as_promised(times_power(law._free_cumulant(k), unit, k))

    def _promised_r_transform(self, g: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        law, unit = self._in_unit()
        return self._as_promised(times(law._r_transform(times(g, unit)), unit), g)

    def _promised_s_transform(self, z: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        law, unit = self._in_unit()
        return self._as_promised(times(law._s_transform(z), 1 / unit), z)


def are_bounded(*laws: AbstractLaw) -> bool:
    """Whether all laws are known to be bounded."""
    return all(isinstance(law, AbstractSpectralLaw) and law._is_bounded() for law in laws)


def spectral_law(name: str, law: AbstractSpectralLaw) -> AbstractSpectralLaw:
    """The law in one precision, if it can be a part of another one."""
    if not isinstance(law, AbstractSpectralLaw):
        own = f"`{name}.law()`" if callable(getattr(law, "law", None)) else "`ensemble.law()` or `Empirical(levels)`"
        raise _checks.refusal(name, f"be a law of one eigenvalue with transforms, such as {own}", law)
    return in_one_precision(law)  # hooks compute with all parameters of a law at once


def with_moments(name: str, law: Part) -> Part:
    """The law, if it and all laws that it is made of have moments."""
    lacks_moments = lambda part: isinstance(part, AbstractSpectralLaw) and not part._has_moments()
    if any(map(lacks_moments, jax.tree.leaves(law, is_leaf=lacks_moments))):
        raise _checks.refusal(name, "be a law with finite moments", law)
    return law


class Affine(AbstractSpectralLaw):
    r"""The law of c X + d for X with a given law.

    The free cumulants are those of the law times $c^k$, and d is added to the first. `law.scaled(c)` and
    `law.shifted(d)` make it.

    Args:
        law: a law of one eigenvalue.
        factor: c, finite and not 0.
        shift: d, finite.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import rmtjax as rmt
        >>> law = rmt.laws.Semicircle(2.0).scaled(0.5).shifted(3.0)
        >>> print(f"{law.mean():.1f} {law.support()[1]:.1f}")
        3.0 4.0

    References:
        Nica and Speicher (2006), Lectures on the Combinatorics of Free Probability, lecture 12.
    """

    law: AbstractSpectralLaw
    factor: Annotated[Float[Array, ""], _checks.Rule(lambda c: (c != 0) & (abs(c) < math.inf), "be finite and not 0")]
    shift: Annotated[Float[Array, ""], _checks.FINITE]

    def __init__(self, law: AbstractSpectralLaw, factor: RealScalarLike = 1.0, shift: RealScalarLike = 0.0):
        self.law = spectral_law("law", law)
        self.factor = _checks.scalar("factor", factor, nonzero=True)
        self.shift = _checks.scalar("shift", shift)

    def _size(self) -> Float[Array, ""] | None:
        size = self.law._size()
        return jnp.maximum(jnp.abs(self.factor) * (1.0 if size is None else size), jnp.abs(self.shift))

    def _over(self, size: Float[Array, ""]) -> Self:
        law, unit, own = self.law, unit_near(size), self.law._size()
        if own is None:
            return type(self)(law, self.factor / unit, self.shift / unit)
        return type(self)(law._over(own), self.factor * (unit_near(own) / unit), self.shift / unit)

    def _place(self, x: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        """The point of the law that is moved to x."""
        return (x - like(x, self.shift)) / like(x, self.factor)

    def _moved(self, x: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        return like(x, self.factor) * x + like(x, self.shift)

    def _turned(self, one: Array | float, other: Array | float) -> tuple[Array, Array]:
        """The two, in reverse order if the law is reflected."""
        reflected = self.factor < 0
        return jnp.where(reflected, other, one), jnp.where(reflected, one, other)

    def _support(self) -> tuple[Array, Array]:
        return self._interval(self.law._support())

    def _interval(self, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        """An interval of the law, where it has been moved to."""
        lower, upper = map(self._moved, ends)
        return jnp.minimum(lower, upper), jnp.maximum(lower, upper)

    def _carrier(self) -> tuple[Array, Array]:
        return self._interval(self.law._carrier())

    def _is_bounded(self) -> bool:
        return are_bounded(self.law)

    def _extent(self) -> tuple[Array, Array]:
        return self._interval(self.law._extent())

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.law._on_support(self._place(x), quantity="pdf") / jnp.abs(self.factor)

    def _pdf_at_ends(self) -> tuple[Array | float, Array | float]:
        return self._turned(*(value / jnp.abs(self.factor) for value in self.law._pdf_at_ends()))

    def _tails(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        return self._turned(*self.law._on_support(self._place(x), quantity="tails"))

    def _ppf(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        return self._moved(self.law._everywhere_ppf(*self._turned(p, q)))

    def _sample(self, key: KeyScalar, shape: tuple[int, ...]) -> Float[Array, "..."]:
        return self._moved(self.law._sample(key, shape))

    def _moment(self, k: int) -> Float[Array, ""]:
        if k > FEW and self.law._has_moments():
            return super()._moment(k)  # the sum would cancel, or overflow on the way
        scaled = [self.factor**j * self.law._moment(j) for j in range(k + 1)]
        total = sum((math.comb(k, j) * scaled[j] * self.shift ** (k - j) for j in range(k + 1)), start=0 * self.factor)
        return jnp.where(jnp.isinf(scaled[k]), scaled[k], total)  # with earlier infinite ones the sum may be NaN

    def _central_moments(self, *orders: int) -> tuple[Float[Array, ""], ...]:
        return tuple(self.factor**k * m for k, m in zip(orders, self.law._central_moments(*orders), strict=True))

    def _breakpoints(self) -> Float[Array, " k"]:
        return jnp.sort(self._moved(self.law._breakpoints()))

    def _atoms(self) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        places, masses = self.law._atoms()
        return self._moved(places), masses

    def _gap_levels(self) -> Float[Array, " k"]:
        levels = self.law._gap_levels()
        return self._turned(levels, 1 - levels)[0]

    def _bands(self) -> tuple[Float[Array, " 2k"], Float[Array, " k-1"]]:
        ends, levels = self.law._bands()
        return jnp.sort(self._moved(ends)), jnp.sort(self._turned(levels, 1 - levels)[0])

    def _in_half_plane(self, w: Complex[Array, "..."]) -> Complex[Array, "..."]:
        """The point of the law, mirrored into the upper half plane."""
        w = self._place(w)
        return jnp.where(self.factor < 0, jnp.conj(w), w)

    def _back(self, value: Complex[Array, "..."]) -> Complex[Array, "..."]:
        return jnp.where(self.factor < 0, jnp.conj(value), value)

    def _stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        return self._back(self.law._stieltjes(self._in_half_plane(z))) / like(z, self.factor)

    def _subordination(self, w: Complex[Array, "..."]) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
        h, slope = map(self._back, self.law._subordination(self._in_half_plane(w)))
        return like(w, self.factor) * h - like(w, self.shift), slope

    def _log_potential(self, w: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
        logs = self.law._log_potential(self._in_half_plane(w))
        return jnp.where(self.factor < 0, jnp.conj(logs[::-1]), logs) + jnp.log(like(w, jnp.abs(self.factor)))

    def _free_cumulant(self, k: int) -> Float[Array, ""]:
        return times_power(self.law._free_cumulant(k), self.factor, k) + (self.shift if k == 1 else 0)

    def _r_transform(self, g: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        factor = like(g, self.factor)
        return factor * self.law._r_transform(factor * g) + like(g, self.shift)
