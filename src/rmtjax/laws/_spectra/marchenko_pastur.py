r"""The Marčenko-Pastur law.

Derivation of the distribution function. X X* and X* X have the same non-zero eigenvalues, so with $q^2 = \min(c, 1/c)$
and $x = s^2 \max(c, 1)\,y$ the continuous parts for all c form one family, with the mass $\min(1, 1/c)$. In the angle φ
of `mass_from_end`, with $y = 1 + q^2 - 2q\cos φ$, the mass below x is H(φ) times this mass.
"""

from abc import abstractmethod
from typing import Annotated

import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import like
from rmtjax._typing import RealScalarLike
from rmtjax.laws._core.half_plane import edge_root, pole, reciprocal, slope_of_r, upper_logs
from rmtjax.laws._core.spectral import AbstractSpectralLaw
from rmtjax.laws._spectra.mass_from_end import mass_from_end


class AbstractMarchenkoPastur(AbstractSpectralLaw):
    """The Marčenko-Pastur law, whatever its parameters."""

    @abstractmethod
    def _ratio_and_scale(self) -> tuple[Array, Array]:
        """The ratio c and the scale s."""

    def _ends(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """The ends of the continuous part."""
        c, scale = self._ratio_and_scale()
        root = jnp.sqrt(c)
        return (scale * ((1 - c) / (1 + root))) ** 2, (scale * (1 + root)) ** 2

    def _support(self) -> tuple[Array, Array]:
        lower, upper = self._ends()
        return jnp.where(self._ratio_and_scale()[0] > 1, 0, lower), upper

    def _atoms(self) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        c, _ = self._ratio_and_scale()
        mass = jnp.where(c > 1, (c - 1) / c, 0)
        return self._support()[0][None], mass[None]

    def _jumps(self) -> tuple[Float[Array, " k"], Float[Array, " k"], Float[Array, " k"]]:
        location, mass = self._atoms()
        return location, mass, 1 - mass

    def _is_bounded(self) -> bool:
        return True

    def _breakpoints(self) -> Float[Array, " k"]:
        return jnp.stack([self._support()[0], *self._ends()])

    def _half_angle(self, x: Float[Array, "..."]) -> tuple[Array, Array, Array, Array]:
        """Whether x is in the continuous part, not in a gap above the atom; x (or the midpoint), sin(φ/2), cos(φ/2)."""
        c, scale = self._ratio_and_scale()
        lower, upper = self._ends()
        inside = (x > lower) & (x < upper)
        x = jnp.where(inside, x, lower / 2 + upper / 2)
        width = 4 * scale**2 * jnp.sqrt(c)
        return inside, x, jnp.sqrt((x - lower) / width), jnp.sqrt((upper - x) / width)

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        inside, x, sine, cosine = self._half_angle(x)
        c, _ = self._ratio_and_scale()
        # Divide by √x twice: at ratio 1 dividing by x has the derivative 0/0 for x near 0, long before it overflows.
        return jnp.where(inside, 2 / jnp.pi * cosine * (sine / jnp.sqrt(x)) / jnp.sqrt(c * x), 0)

    def _tails(self, x: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
        """The masses, from the formula at the top of the file."""
        inside, x, sine, cosine = self._half_angle(x)
        c, scale = self._ratio_and_scale()
        root = jnp.sqrt(c)
        larger = jnp.where(c > 1, root, 1)
        q, side = root / larger**2, jnp.sqrt(x) / (scale * larger)
        # 1 - q without cancellation; the derivative of an absolute value would be wrong at c = 1.
        gap = jnp.where(c > 1, c - 1, 1 - c) / ((1 + root) * larger)
        # Only the mass from the nearer end is computed; the other mass is its complement, which never exceeds 1.
        right = cosine < sine
        sine, cosine = jnp.where(right, cosine, sine), jnp.where(right, sine, cosine)
        tail = mass_from_end(~right, sine, cosine, side, q, gap)
        lower = jnp.where(inside, jnp.where(right, 1 - tail, tail), 0)
        upper = jnp.where(inside, jnp.where(right, tail, 1 - tail), 1)
        parts = jnp.where(c > 1, c, 1)
        return self._first_atom() + lower / parts, upper / parts

    def _moment(self, k: int) -> Float[Array, ""]:
        # The moment is the product of the quotients of successive moments, which grow from the mean to the upper end.
        c, scale = self._ratio_and_scale()
        mean, one = scale**2, jnp.ones_like(c * scale)

        def step(j: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
            moment, quotient = state
            j = like(quotient, j)
            quotient = ((2 * j - 1) * (1 + c) - (j - 2) * (1 - c) * ((1 - c) / quotient)) / (j + 1)
            return moment * (quotient * mean), quotient

        return jax.lax.fori_loop(2, k + 1, step, (one * mean, one))[0] if k else one

    def _var(self) -> Float[Array, ""]:
        c, scale = self._ratio_and_scale()
        return c * scale**4

    def _stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        # The continuous part (for c > 1, of the companion law) solves a quadratic equation. This form does not cancel.
        c, scale = self._ratio_and_scale()
        centre = scale**2 * jnp.where(c > 1, c - 1, 1 - c)
        continuous = (z - like(z, centre) + edge_root(z, *self._ends())) / 2
        return pole(z, 0.0, self._atoms()[1][0]) + reciprocal(continuous * like(z, jnp.where(c > 1, c, 1)))

    def _subordination(self, w: Complex[Array, "..."]) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
        # R(G) = s² k solves k (k + c - 1) = (k - 1) w/s².
        c, scale = (like(w, parameter) for parameter in self._ratio_and_scale())
        k = self._r_over_mean(w)[1]
        return -(scale**2) * k, slope_of_r((k - 1) ** 2 / c)

    def _log_potential(self, w: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
        # The potential is G R(G) - ∫ R - log G, with R integrated from 0 to G, and F - c s² = F/k.
        c, scale = (like(w, parameter) for parameter in self._ratio_and_scale())
        rest, k = self._r_over_mean(w)
        log = upper_logs(k * rest)
        return (1 / rest)[None] + log + (upper_logs(rest) - log) / c + 2 * jnp.log(scale)

    def _r_over_mean(self, w: Complex[Array, "..."]) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
        """F/s² - c and R(G)/s²."""
        c, scale = self._ratio_and_scale()
        w, root = (each / like(w, scale**2) for each in (w, edge_root(w, *self._ends())))
        larger = jnp.where(c > 1, c - 1, 1 - c)
        a = (w - like(w, larger) + root) / 2
        rest = a - like(w, jnp.where(c > 1, 1, c))
        return rest, jnp.where(c > 1, w, a) / jnp.where(c > 1, a, rest)

    def _gap_levels(self) -> Float[Array, " 1"]:
        return self._atoms()[1]

    def _bands(self) -> tuple[Float[Array, " 4"], Float[Array, " 1"]]:
        atom = self._support()[0]
        return jnp.stack([atom, atom, *self._ends()]), self._gap_levels()

    def _free_cumulant(self, k: int) -> Float[Array, ""]:
        c, scale = self._ratio_and_scale()
        return scale**2 * (scale**2 * c) ** (k - 1)

    def _r_transform(self, g: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        c, scale = (like(g, parameter) for parameter in self._ratio_and_scale())
        return scale**2 / (1 - c * scale**2 * g)

    def _s_transform(self, z: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        c, scale = (like(z, parameter) for parameter in self._ratio_and_scale())
        return 1 / (scale**2 * (1 + c * z))


class MarchenkoPastur(AbstractMarchenkoPastur):
    r"""The Marčenko-Pastur law, the limiting spectral density of sample covariance matrices.

    With $x_\pm = s^2(1 \pm \sqrt c)^2$ for the ratio c and the scale s,

    $$f(x) = \frac{\sqrt{(x_+ - x)(x - x_-)}}{2\pi c s^2 x}, \qquad x_- < x < x_+,$$

    and for $c > 1$ there is a point mass $1 - 1/c$ at 0. At $c = 1$ the density diverges as $x^{-1/2}$ at $x_- = 0$.
    The mean is $s^2$, the variance $c s^4$, $E X^k = s^{2k} \sum_{j=1}^k N(k, j)\,c^{j-1}$ with the Narayana numbers
    $N(k, j) = \frac1k \binom kj \binom k{j-1}$, the free cumulants are $\kappa_k = s^{2k} c^{k-1}$,
    $R(g) = s^2/(1 - c s^2 g)$ and $S(z) = s^{-2}/(1 + cz)$. All values are right to a few ulp, however small a tail is,
    at a point within a few ulp of x: the ends $x_\pm$ of the continuous part are rounded.

    `atoms()` always has one entry, because the presence of the atom may depend on a traced ratio: 0 with mass
    $1 - 1/c$ for $c > 1$, otherwise the lower end of the support with mass 0. At $c = 1$, where the mass has a kink,
    its derivative is 0.

    Convention: the law of one eigenvalue of $W = XX^*/m$ with X n×m, $E|X_{ij}|^2 = s^2$ and $n/m \to c$.

    Args:
        ratio: c > 0, the number of rows of X over the number of columns.
        scale: s > 0, the standard deviation of an entry of X.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> law = MarchenkoPastur(ratio=2.0)
        >>> print(f"{law.cdf(0.0):.2f} {law.pdf(1.0):.5f} {law.moment(3):.1f}")
        0.50 0.15915 11.0

    References:
        Marčenko and Pastur (1967), Math. USSR Sb. 1, 457; Bai and Silverstein (2010), Spectral Analysis of Large
        Dimensional Random Matrices, equation 3.1.1 and lemma 3.1.
    """

    ratio: Annotated[Float[Array, ""], _checks.POSITIVE]
    scale: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, ratio: RealScalarLike, scale: RealScalarLike = 1.0):
        self.ratio = _checks.scalar("ratio", ratio, nonzero=True)
        self.scale = _checks.scalar("scale", scale, nonzero=True)

    def _degrees(self) -> dict[str, int]:
        return {"scale": 2}

    def _ratio_and_scale(self) -> tuple[Array, Array]:
        return self.ratio, self.scale
