r"""The product of two free positive variables.

With the subordinate points w and $v = -z/h_a(w)$ the fixed point is that of $-z/h_b(-z/h_a(w))$, and
$y = z\,G(z) - 1 = w\,G_a(w) - 1 = v\,G_b(v) - 1$ (Belinschi and Bercovici), so $h(z) = z\,h_a(w)/w$ and
$z = w v\,y/(1 + y)$. The derivative of $U_a(w) + U_b(v) + \log y$ is G, because
$G_a\,dw + G_b\,dv = (1 + y)\,d\log(wv) = (1 + y)\,[d\log z - d\log y + d\log(1 + y)] = (1 + y)\,d\log z - d\log y$.

On the whole upper half plane the map is a self-map for every z there, if $h_b$ is continued below the axis by
$h_b(\bar v) = \overline{h_b(v)}$: $-h_a(w)$ has an argument between $\arg w - \pi$ and 0, so v never crosses the
positive axis.
"""

from typing import Annotated, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import in_one_precision, like
from rmtjax._units import unit_near
from rmtjax.laws._core.half_plane import upper_logs
from rmtjax.laws._core.orders import no_more_than
from rmtjax.laws._core.power_series import diagonal_of_powers
from rmtjax.laws._core.spectral import AbstractSpectralLaw, Affine
from rmtjax.laws._free.atoms import Atoms, atoms_of_pairs
from rmtjax.laws._free.convolution import AbstractFreeConvolution, free_part
from rmtjax.laws._free.fixed_point import Parts
from rmtjax.laws._free.pairs import levels_of_pairs

_POSITIVE = _checks.Rule(
    lambda law: (law._carrier()[0] >= 0) & (law._carrier()[1] > 0),
    "be a law of numbers that are not negative and not all 0 (where B is signed, with C, the root of A: "
    '`FreePolynomial({"cbc": 1.0}, ...)`)',
)


class FreeProduct(AbstractFreeConvolution):
    r"""The law of $A^{1/2} B A^{1/2}$ for free positive A and B, the free multiplicative convolution.

    It is the limiting spectral density of $A^{1/2}\,U B U^*\,A^{1/2}$ for large positive semidefinite matrices A and B
    with these spectra and a Haar unitary (or orthogonal) U, independent of them. The S-transforms multiply. There is an
    atom at 0 with the larger of the masses at 0, and one at xy > 0 if the atoms of the parts at x and y have masses of
    more than 1 together; its mass is what is more than 1. The mean is the product of the means. The accuracy is that of
    `FreeSum`.

    Args:
        a: a law of one eigenvalue with support in [0, ∞), not only at 0.
        b: another one.

    Raises:
        ValueError: a part is not a spectral law, has no moments, has negative levels or is only at 0; from `moment`, if
            a part has an infinite end and the order is above 20.

    Example:
        >>> import rmtjax as rmt
        >>> law = FreeProduct(rmt.laws.MarchenkoPastur(1.0), rmt.laws.MarchenkoPastur(1.0))
        >>> print(f"{law.pdf(1.0):.5f} {rmt.laws.FussCatalan(2).pdf(1.0):.5f}")
        0.17898 0.17898

    References:
        Voiculescu (1987), J. Operator Theory 18, 223; Belinschi and Bercovici (2007), J. Anal. Math. 101, 357;
        Belinschi (2003), Integral Equations Operator Theory 46, 377, for atoms.
    """

    a: Annotated[AbstractSpectralLaw, _POSITIVE]
    b: Annotated[AbstractSpectralLaw, _POSITIVE]

    def __init__(self, a: AbstractSpectralLaw, b: AbstractSpectralLaw):
        self.a, self.b = free_part("a", a), free_part("b", b)

    def _size(self) -> Float[Array, ""] | None:
        sizes = self.a._size(), self.b._size()
        return None if sizes[0] is None or sizes[1] is None else sizes[0] * sizes[1]

    def _over(self, size: Float[Array, ""]) -> Self:
        first = self.a._size()
        if first is None:
            return self
        return type(self)(self.a._over(first), self.b._over(size / unit_near(first)))

    def _unit_of_first(self) -> Float[Array, ""]:
        size = self.a._size()
        return jnp.ones(()) if size is None or self._size() is None else unit_near(size)

    def _parts(self) -> tuple[AbstractSpectralLaw, ...]:
        return self.a, self.b

    def _around(self, *intervals: tuple[Array, Array]) -> tuple[Array, Array]:
        (low, high), (lower, upper) = intervals
        return low * lower, high * upper

    def _scale_at(self, z: Complex[Array, "..."]) -> Float[Array, "..."]:
        # Beside an atom at 0 the subordinate point is a multiple of z.
        spread, distance = super()._scale_at(z), jax.lax.stop_gradient(jnp.abs(z))
        return jnp.where(distance == 0, spread, jnp.minimum(spread, distance))

    def _gap_levels(self) -> Float[Array, " k"]:
        return levels_of_pairs(self.a, self.b)

    def _jumps(self) -> Atoms:
        atoms = atoms_of_pairs(self.a, self.b, jnp.multiply)
        at_zero = [jnp.sum(jnp.where(place == 0, mass, 0)) for place, mass in (self.a._atoms(), self.b._atoms())]
        zero = jnp.maximum(*at_zero)[None]
        others = atoms._replace(masses=jnp.where(atoms.places == 0, 0, atoms.masses))
        return jax.tree.map(lambda *parts: jnp.concatenate(parts), Atoms(0 * zero, zero, 1 - zero), others)

    def _at_parts(self, z: Complex[Array, "..."], w: Complex[Array, "..."]) -> Parts:
        first = _not_lost(self.a, w)
        return first, _reflected(self.b, -z / first[0])

    def _self_map(self, z: Complex[Array, "..."], parts: Parts) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
        first, second = _factors_of_slope(z, parts)
        return -z / parts[1][0], first * second

    def _h_at(
        self, z: Complex[Array, "..."], w: Complex[Array, "..."], parts: Parts
    ) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
        (h_a, slope_a), (h_b, _) = parts
        first, second = _factors_of_slope(z, parts)
        rest = 1 - first * second
        slope = -(1 + second) / h_b / jnp.where(rest == 0, jnp.inf, rest)
        ratio = h_a / w
        return z * ratio, ratio + z / w * (slope_a - ratio) * slope

    def _log_potential_at(
        self, z: Complex[Array, "..."], w: Complex[Array, "..."], parts: Parts
    ) -> Complex[Array, "2 ..."]:
        (h, _), _ = parts
        # The moment transform zG - 1 = -h/(w + h) is in the lower half plane.
        return self.a._log_potential(w) + self.b._log_potential(-z / h) - upper_logs(-(w + h) / h)

    def _moment_of_parts(self, k: int) -> Float[Array, ""]:
        r"""The moment from those of the parts: $\psi(z) = \sum_k m_k z^k$ has the inverse $w\,S(w)/(1 + w)$."""
        no_more_than(20, k)
        if k == 0:
            return jnp.ones_like(self._spread())
        of_part = lambda law: _inverse_series(jnp.stack([law._moment(j) for j in range(1, k + 1)]))
        product = jnp.convolve(*in_one_precision((of_part(self.a), of_part(self.b))))[:k]
        return _inverse_series(product + jnp.roll(product, 1).at[0].set(0))[k - 1]

    def _central_moments(self, *orders: int) -> tuple[Float[Array, ""], ...]:
        if self._is_bounded():
            return super()._central_moments(*orders)
        # Free cumulants of the parts over their means: a sum over the non-crossing partitions and their complements.
        (a, mean), (b, other) = map(_relative_cumulants, (self.a, self.b))
        second = a[2] + b[2]
        third = a[3] + 3 * a[2] * b[2] + b[3]
        fourth = a[4] + 4 * (a[3] * b[2] + a[2] * b[3]) + 2 * a[2] * b[2] * (a[2] + b[2]) + b[4]
        central = {2: second, 3: third, 4: fourth + 2 * second**2}
        return tuple((mean * other) ** k * central[k] for k in orders)

    def _s_transform(self, z: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        return self.a._s_transform(z) * self.b._s_transform(z)


def _relative_cumulants(law: AbstractSpectralLaw) -> tuple[dict[int, Float[Array, ""]], Float[Array, ""]]:
    """The free cumulants of X/E X of the orders 2 to 4, and the mean."""
    mean = law._moment(1)
    return {k: law._free_cumulant(k) / mean**k for k in (2, 3, 4)}, mean


def _inverse_series(series: Float[Array, " k"]) -> Float[Array, " k"]:
    """The inverse function of x times a series is y times this series, by Lagrange's formula."""
    orders = np.arange(1, series.size + 1)
    return (
        diagonal_of_powers(series / series[0], jnp.asarray(-orders))
        / like(series, orders)
        / series[0] ** like(series, orders)
    )


def _factors_of_slope(z: Complex[Array, "..."], parts: Parts) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
    """The derivative of the map is their product. Beside a hard edge at 0 the square of z/(h_a h_b) would underflow."""
    (h_a, slope_a), (h_b, slope_b) = parts
    quotient = z / h_b / h_a
    return quotient * slope_a, quotient * slope_b


def _reflected(
    law: AbstractSpectralLaw, v: Complex[Array, "..."]
) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
    """The function h and its derivative, also below the axis."""
    below = jnp.imag(v) < 0
    h, slope = _not_lost(law, jnp.where(below, jnp.conj(v), v))
    return jnp.where(below, jnp.conj(h), h), jnp.where(below, jnp.conj(slope), slope)


def _not_lost(
    law: AbstractSpectralLaw, w: Complex[Array, "..."]
) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
    """The function h and its derivative. Next to an end at 0 that comes from a shift, h may be all rounding, even 0."""
    h, slope = law._subordination(w)
    if isinstance(law, Affine):
        rounding = like(h, 2 * float(jnp.finfo(h.dtype).eps) * jnp.abs(law.shift))
        h = jnp.where(jnp.abs(h) <= jnp.abs(rounding), 1j * rounding, h)
    return h, slope
