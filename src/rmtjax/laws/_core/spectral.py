r"""Laws of one eigenvalue: the transforms of Stieltjes, Hilbert and Voiculescu.

The hook for the Stieltjes transform is only called in the closed upper half plane; on the real axis it returns the
limit from above. In this half plane $\sqrt{z - a}$ lies in the first quadrant. Therefore $\sqrt{z - a}\sqrt{z - b}$ is
the root that behaves as z at infinity, and the sums in the denominators of the laws' formulas do not cancel.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, TypeVar

import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import complex_dtype, like
from rmtjax._typing import ArrayLike, RealLike
from rmtjax._units import times, times_power
from rmtjax.laws._core.base import FEW, AbstractLaw
from rmtjax.laws._core.orders import no_more_than
from rmtjax.laws._core.power_series import power

T = TypeVar("T", bound=Any)


class AbstractSpectralLaw(AbstractLaw):
    r"""A law of one eigenvalue, with its transforms.

    A subclass defines the hooks of every law and `_stieltjes`, and if it has formulas also `_free_cumulant`,
    `_r_transform` and `_s_transform`. Only free cumulants have a fall-back.

    Convention: $G(z) = E\,(z - X)^{-1} \sim 1/z$, as in `rmtjax.statistics.stieltjes`. Its imaginary part is negative
    in the upper half plane, and the density is $-\frac1\pi \operatorname{Im} G(x + i0)$.
    """

    @abstractmethod
    def _stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        """The transform at finite z with Im z ≥ 0; on the real axis it is the limit from above."""

    def _free_cumulant(self, k: int) -> Float[Array, ""]:
        no_more_than(20, k)
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
        return self._run(self._promised_stieltjes, _in_plane(_checks.numbers("z", z)))

    def hilbert(self, x: RealLike) -> Float[Array, "..."]:
        r"""Hilbert transform $\frac1\pi\,\mathrm{p.v.}\!\int \frac{f(y)}{x - y}\,dy$, atoms included.

        It is $\frac1\pi \operatorname{Re} G(x + i0)$.

        Args:
            x: real points of any shape.
        """
        return self._run(self._promised_hilbert, _checks.real("x", x))

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

    def _everywhere_stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        below = jnp.imag(z) < 0
        infinite = jnp.isinf(jnp.real(z)) | jnp.isinf(jnp.imag(z))
        nan = jnp.isnan(z) & ~infinite
        values = self._stieltjes(jnp.where(infinite | nan, 1j, jnp.where(below, jnp.conj(z), z)))
        values = jnp.where(below, jnp.conj(values), values)
        return self._as_promised(jnp.where(infinite, 0, jnp.where(nan, jnp.nan * (1 + 1j), values)), z)

    # As in `AbstractLaw`, these methods call the hooks of the law in its own unit.

    def _promised_stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        law, unit = self._in_unit()
        return times(law._everywhere_stieltjes(times(z, 1 / unit)), 1 / unit)

    def _promised_hilbert(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.real(self._promised_stieltjes(_in_plane(x))) / jnp.pi

    def _promised_free_cumulant(self, *, k: int) -> Float[Array, ""]:
        law, unit = self._in_unit() if k <= FEW else (self, 1.0)
        return self._as_promised(times_power(law._free_cumulant(k), unit, k))

    def _promised_r_transform(self, g: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        law, unit = self._in_unit()
        return self._as_promised(times(law._r_transform(times(g, unit)), unit), g)

    def _promised_s_transform(self, z: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        law, unit = self._in_unit()
        return self._as_promised(times(law._s_transform(z), 1 / unit), z)


def free_cumulant_of_moments(moments: Sequence[T]) -> T:
    r"""The k-th free cumulant from the moments $m_0, \dots, m_k$, numbers of any type, such as fractions.

    With $M(z) = \sum_j m_j z^j$, Lagrange inversion of $C(z M(z)) = M(z)$ gives $-\frac1{k-1} [z^k] M(z)^{1-k}$. The
    coefficients of the power follow from Euler's recursion.

    References:
        Nica and Speicher (2006), Lectures on the Combinatorics of Free Probability, lecture 16.
    """
    k = len(moments) - 1
    if k == 1:
        return moments[1]
    raised: list[Any] = [moments[0]]
    for j in range(1, k + 1):
        raised.append(sum(((1 - k) * i - (j - i)) * moments[i] * raised[j - i] for i in range(1, j + 1)) / j)
    return -raised[k] / (k - 1)


def catalan(m: int) -> int:
    """The m-th Catalan number."""
    return math.comb(2 * m, m) // (m + 1)


def catalan_share(m: int) -> float:
    """The m-th Catalan number divided by 4^m, which never overflows."""
    return catalan(m) / 4**m


def upper_sqrt(z: Complex[Array, "..."]) -> Complex[Array, "..."]:
    """The square root in the first quadrant, for z in the closed upper half plane; the derivative at 0 is 0."""
    zero = z == 0
    root = jnp.sqrt(jnp.where(zero, 1, z))
    # On the negative axis the sign of a zero imaginary part would otherwise choose the root.
    return jnp.where(zero, 0, jnp.where(jnp.imag(root) < 0, -root, root))


def edge_root(z: Complex[Array, "..."], lower: Array, upper: Array) -> Complex[Array, "..."]:
    """The root of (z - lower)(z - upper) that behaves as z at infinity, for z in the closed upper half plane."""
    return upper_sqrt(z - like(z, lower)) * upper_sqrt(z - like(z, upper))


def reciprocal(z: Complex[Array, "..."]) -> Complex[Array, "..."]:
    """The reciprocal 1/z; at 0 it is +inf, with the derivative 0."""
    zero = z == 0
    return jnp.where(zero, jnp.inf, 1 / jnp.where(zero, 1, z))


def pole(z: Complex[Array, "..."], location: Array | float, mass: Array) -> Complex[Array, "..."]:
    """The contribution of an atom to the Stieltjes transform; its mass may be 0."""
    present = mass > 0
    return jnp.where(present, reciprocal((z - like(z, location)) / like(z, jnp.where(present, mass, 1))), 0)


def _in_plane(x: Inexact[Array, "..."]) -> Complex[Array, "..."]:
    # A sum leaves the precision of Python's numbers open.
    return x + 0j if x.weak_type else x.astype(complex_dtype(x.dtype))
