r"""Powers of a law under free addition, and corners of matrices.

The subordinate point w of the sum of t free copies is the fixed point of $z + (t - 1) h_a(w)$, with $F(z) = F_a(w)$ and
$h(z) = t\,h_a(w)$. The derivative of $t\,U_a(w) - (t - 1) \log F_a(w)$ is $G\,(t\,dw - (t - 1)\,dF) = G\,dz$.
"""

import math
from abc import abstractmethod
from typing import Annotated

import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import like
from rmtjax._typing import RealScalarLike
from rmtjax.laws._core.half_plane import upper_logs
from rmtjax.laws._core.spectral import AbstractSpectralLaw
from rmtjax.laws._free.atoms import Atoms, atoms_of
from rmtjax.laws._free.convolution import AbstractFreeConvolution, free_part
from rmtjax.laws._free.fixed_point import Parts
from rmtjax.laws._free.gaps import are_few


class AbstractFreePower(AbstractFreeConvolution):
    """A multiple, by s, of the sum of t free copies of a law."""

    @abstractmethod
    def _part(self) -> tuple[AbstractSpectralLaw, Array, Array]:
        """The law, t and s."""

    def _parts(self) -> tuple[AbstractSpectralLaw, ...]:
        return (self._part()[0],)

    def _around(self, *intervals: tuple[Array, Array]) -> tuple[Array, Array]:
        _, copies, scale = self._part()
        ((lower, upper),) = intervals
        return copies * scale * lower, copies * scale * upper

    def _gap_levels(self) -> Float[Array, " k"]:
        part, copies, _ = self._part()
        levels = part._gap_levels()
        # In a gap F has one sign, and log F the angle 0 or π.
        both = jnp.concatenate([1 - copies * (1 - levels), copies * levels])
        return jnp.sort(jnp.clip(both, 0, 1)) if are_few(levels.size) else levels[:0]

    def _jumps(self) -> Atoms:
        part, copies, scale = self._part()
        places, masses, above = atoms_of(part)
        left = jnp.maximum(1 - copies * (1 - masses), 0)
        return Atoms(copies * scale * places, left, copies * above)

    def _at_parts(self, z: Complex[Array, "..."], w: Complex[Array, "..."]) -> Parts:
        return (self._part()[0]._subordination(w),)

    def _self_map(self, z: Complex[Array, "..."], parts: Parts) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
        more, scale = self._numbers_like(z)
        ((h, slope),) = parts
        return z / scale + more * h, more * slope

    def _h_at(
        self, z: Complex[Array, "..."], w: Complex[Array, "..."], parts: Parts
    ) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
        more, scale = self._numbers_like(w)
        ((h, slope),) = parts
        rest = 1 - more * slope
        return scale * (1 + more) * h, (1 + more) * slope / jnp.where(rest == 0, jnp.inf, rest)

    def _log_potential_at(
        self, z: Complex[Array, "..."], w: Complex[Array, "..."], parts: Parts
    ) -> Complex[Array, "2 ..."]:
        more, scale = self._numbers_like(w)
        ((h, _),) = parts
        potentials = (1 + more) * self._part()[0]._log_potential(w) - more * upper_logs(w + h) + jnp.log(scale)
        # They belong to the z of which w is the subordinate point without error. The transform takes them to this one.
        missed, f = z / scale - w + more * h, w + h
        small = jnp.abs(missed) <= float(jnp.finfo(w.dtype).eps) ** 0.5 * jnp.abs(f)
        return potentials + jnp.where(small, missed / jnp.where(small & (f != 0), f, 1), 0)[None]

    def _numbers_like(self, w: Complex[Array, "..."]) -> tuple[Array, Array]:
        """The numbers t - 1 and s."""
        _, copies, scale = self._part()
        return like(w, copies - 1), like(w, scale)

    def _r_transform(self, g: Inexact[Array, "..."]) -> Inexact[Array, "..."]:
        part, copies, scale = self._part()
        factor = like(g, scale)
        return like(g, copies) * factor * part._r_transform(factor * g)

    def _free_cumulant(self, k: int) -> Float[Array, ""]:
        part, copies, scale = self._part()
        return copies * scale**k * part._free_cumulant(k)


class FreePower(AbstractFreePower):
    r"""The law of a sum of t free copies of a variable, for any real t ≥ 1: the free convolution power.

    The free cumulants and the R-transform are multiplied by t. With $F = 1/G$ and $h = F - z$, the subordinate point
    solves $w = z + (t - 1)\,h_a(w)$, and $F(z) = F_a(w)$. An atom of mass m at x becomes one of mass $1 - t(1 - m)$ at
    tx, if that is positive. The accuracy is that of `FreeSum`.

    Args:
        law: a law of one eigenvalue.
        copies: t ≥ 1, finite.

    Raises:
        ValueError: an argument is outside its range, or the law has no moments. Powers with t < 1 exist only for
            some laws.

    Example:
        >>> import rmtjax as rmt
        >>> law = FreePower(rmt.laws.Empirical([-1.0, 1.0]), 3)  # the 3-regular tree
        >>> print(f"{law.pdf(0.0):.5f} {rmt.laws.KestenMcKay(3).pdf(0.0):.5f}")
        0.15005 0.15005

    References:
        Nica and Speicher (1996), Amer. J. Math. 118, 799; Belinschi and Bercovici (2004), Math. Z. 248, 665, theorem
        2.5; Huang (2015), Int. Math. Res. Notices 2015, 4269, for the support.
    """

    law: AbstractSpectralLaw
    copies: Annotated[
        Float[Array, ""],
        _checks.Rule(lambda t: (t >= 1) & (t < math.inf), "be finite and at least 1 (a corner is `FreeCompression`)"),
    ]

    def __init__(self, law: AbstractSpectralLaw, copies: RealScalarLike):
        self.law = free_part("law", law)
        self.copies = _checks.scalar("copies", copies)

    def _degrees(self) -> dict[str, int]:
        return {"law": 1}

    def _part(self) -> tuple[AbstractSpectralLaw, Array, Array]:
        return self.law, self.copies, jnp.ones_like(self.copies)


class FreeCompression(AbstractFreePower):
    r"""The law of a corner: of a leading block of the share p of the rows and columns of a large matrix.

    The matrix has the spectrum of a given law, and eigenvectors without any preference: $A = U D U^*$ with a Haar
    unitary (or orthogonal) U. The law of its corner is `FreePower(law, 1/p)` scaled by p (Nica and Speicher), so
    $R(g) = R_a(pg)$ and $\kappa_k = p^{k - 1} \kappa_k(a)$. An atom of mass m at x becomes one of mass
    $1 - (1 - m)/p$ at x, if that is positive. The accuracy is that of `FreeSum`.

    Args:
        law: a law of one eigenvalue.
        share: p in (0, 1], the size of the block over the size of the matrix.

    Raises:
        ValueError: an argument is outside its range, or the law has no moments.

    Example:
        >>> import rmtjax as rmt
        >>> law = FreeCompression(rmt.laws.Semicircle(2.0), 0.25)
        >>> print(f"{law.var():.4f} {law.support()[1]:.4f}")  # the semicircle law of radius 1
        0.2500 1.0000

    References:
        Nica and Speicher (2006), Lectures on the Combinatorics of Free Probability, corollary 14.11.
    """

    law: AbstractSpectralLaw
    share: Annotated[
        Float[Array, ""], _checks.Rule(lambda p: (p > 0) & (p <= 1), "be in (0, 1], k / n for k of n rows")
    ]

    def __init__(self, law: AbstractSpectralLaw, share: RealScalarLike):
        self.law = free_part("law", law)
        self.share = _checks.scalar("share", share)

    def _degrees(self) -> dict[str, int]:
        return {"law": 1}

    def _around(self, *intervals: tuple[Array, Array]) -> tuple[Array, Array]:
        return intervals[0]

    def _part(self) -> tuple[AbstractSpectralLaw, Array, Array]:
        return self.law, 1 / self.share, self.share
