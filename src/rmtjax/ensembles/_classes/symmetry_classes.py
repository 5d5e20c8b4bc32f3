r"""The ten symmetry classes of Altland and Zirnbauer.

The τ are Pauli matrices that act on the two halves of H; X is a p×q matrix with p + q = n and p - q = ν; the S are real
symmetric and the A real antisymmetric matrices. All of these are independent. H commutes with a time reversal T,
anticommutes with a charge conjugation C (both are antiunitary), or anticommutes with their product, a chirality.

| class | H | T² | C² | real components | β | α |
|---|---|---|---|---|---|---|
| AIII | X and X* off the diagonal, complex | | | 2pq | 2 | 1 + 2ν |
| BDI | X and X* off the diagonal, real | 1 | 1 | pq | 1 | ν |
| CII | X and X* off the diagonal, quaternion | -1 | -1 | 4pq | 4 | 3 + 4ν |
| D | i A | | 1 | n(n - 1)/2 | 2 | 2ν, ν = 0 or 1 |
| DIII | i A τ_z + i A' τ_x | -1 | 1 | n(n - 1) | 4 | 1 + 4ν, ν = 0 or 1 |
| C | i A + S τ_z + S' τ_x + S'' τ_y, of k rows | | -1 | k(2k + 1) | 2 | 2 |
| CI | S τ_z + S' τ_x, of k rows | 1 | -1 | k(k + 1) | 1 | 1 |

The spectrum consists of k = (n - ν)/2 pairs ±ε and ν zeros. If $\operatorname{tr} H^2 = 2 \sum_{i=1}^k \varepsilon_i^2$
counts each Kramers pair (T² = -1) once, one convention serves all classes: the density of H is
$\propto \exp(-\frac{\beta n}{8 s^2} \operatorname{tr} H^2)$. The density of the positive levels is then

$$\prod_{i<j} |\varepsilon_i^2 - \varepsilon_j^2|^\beta \prod_i \varepsilon_i^\alpha\,
e^{-\frac{\beta n}{4 s^2} \varepsilon_i^2}$$

up to a constant. In every row of the table the number of real components is $k(\alpha + 1) + k(k - 1)\beta$, which are
the degrees of freedom of $\sum \varepsilon^2$. The ε² are the levels of a Laguerre β-ensemble with
$a = \frac{\alpha + 1}2 + (k - 1) \frac\beta2$.
"""

from collections.abc import Callable
from typing import Annotated, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float, Inexact, Int

from rmtjax import _checks
from rmtjax._promotion import common_dtype, like
from rmtjax._typing import KeyScalar, RealScalarLike
from rmtjax._units import quotient
from rmtjax.ensembles._core.base import AbstractEnsemble
from rmtjax.ensembles._core.symmetric import antisymmetric, mirrored
from rmtjax.ensembles._gaussian.beta import AbstractGaussian
from rmtjax.ensembles._gaussian.matrices import GOE, GSE, GUE
from rmtjax.ensembles._laguerre.beta import bidiagonal_entries
from rmtjax.laws import Semicircle
from rmtjax.linalg.internal import block_singular_counts, block_singular_values
from rmtjax.random.internal import gaussian_matrix
from rmtjax.special.internal import log_laguerre, log_vandermonde

Symmetry = Literal["A", "AI", "AII", "AIII", "BDI", "CII", "D", "C", "DIII", "CI"]
_WIGNER_DYSON = {"A": GUE, "AI": GOE, "AII": GSE}  # the classes without pairs ±ε
# (β, α at ν = 0) for each class beyond Wigner and Dyson's.
_INDICES = {"AIII": (2, 1), "BDI": (1, 0), "CII": (4, 3), "D": (2, 0), "DIII": (4, 1), "C": (2, 2), "CI": (1, 1)}
_CHIRAL = ("AIII", "BDI", "CII")  # H is made of X and X*
_MOST_ZERO_MODES = {"D": 1, "DIII": 1, "C": 0, "CI": 0, "A": 0, "AI": 0, "AII": 0}  # chiral classes: n - 1


class AltlandZirnbauer(AbstractEnsemble):
    r"""Gaussian Hamiltonians of the ten symmetry classes, by Cartan's names.

    The Wigner–Dyson classes "A", "AI" and "AII" are GUE, GOE and GSE. The chiral classes "AIII", "BDI" and "CII" are
    $H = \begin{pmatrix} 0 & X \\ X^* & 0 \end{pmatrix}$, where X is complex, real or of quaternions, and p×q with
    p + q = n and p - q = ν. The Bogoliubov–de Gennes classes are, with A real antisymmetric and S real symmetric,

    - "D": $H = iA$ in the Majorana basis, so $\bar H = -H$;
    - "C": $\begin{pmatrix} a & b \\ b^* & -a^T \end{pmatrix}$ with Hermitian a and complex symmetric b;
      $\tau_y \bar H \tau_y = -H$;
    - "DIII": $\begin{pmatrix} iA & iA' \\ iA' & -iA \end{pmatrix}$, $\bar H = -H$ and $\tau_y \bar H \tau_y = H$;
    - "CI": $\begin{pmatrix} S & S' \\ S' & -S \end{pmatrix}$, $\bar H = H$ and $\tau_y \bar H \tau_y = -H$.

    Outside the Wigner–Dyson classes the levels are ν zeros and pairs ±ε. The positive ones, which `joint_logpdf` takes,
    have the joint density $\propto \prod_{i<j} |\varepsilon_i^2 - \varepsilon_j^2|^\beta \prod_i \varepsilon_i^\alpha
    e^{-\beta n \varepsilon_i^2/(4 s^2)}$. They come from the bidiagonal model of `LaguerreBeta`, in O(n) memory, and
    are accurate to 4 eps of the norm: small levels keep digits that a Laguerre matrix with their squares would lose.

    | | AIII | BDI | CII | D | DIII | C | CI |
    |---|---|---|---|---|---|---|---|
    | β | 2 | 1 | 4 | 2 | 4 | 2 | 1 |
    | α | 1 + 2ν | ν | 3 + 4ν | 2ν | 1 + 4ν | 2 | 1 |

    Convention: the density of H is $\propto \exp\big(-\frac{\beta n}{8 s^2} \operatorname{tr} H^2\big)$, and the
    spectrum fills [-2s, 2s] as n → ∞ at fixed ν. Then $E|X_{ij}|^2 = 2 s^2/n$. In "D", "C" and "CI",
    $E|H_{ij}|^2 = s^2/n$ off the diagonals of the blocks. On these diagonals it is 0 in "D", $s^2/n$ for a and
    $2 s^2/n$ for b in "C", and $2 s^2/n$ in "CI". In "DIII" it is $s^2/(2n)$ off the diagonals and 0 on them. Samples
    of "AII", "CII" and "DIII" have 2n rows and every eigenvalue twice; the trace counts each pair once, and
    `eigenvalues` returns the n different ones. Quaternions are 2×2 blocks as in `GSE`.

    Args:
        symmetry: "A", "AI", "AII", "AIII", "BDI", "CII", "D", "C", "DIII" or "CI"; static.
        n: number of eigenvalues, including zeros and both members of each pair; static.
        zero_modes: ν, the number of eigenvalues that are exactly 0; static. In a chiral class it has the parity of n
            and is below n. In "D" (class B if n is odd) and "DIII" it is 0 for even and 1 for odd n. In "C" and "CI",
            where n is even, it is 0; in the Wigner–Dyson classes it is 0 for every n.
        scale: s > 0, differentiable.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> import jax
        >>> levels = AltlandZirnbauer("D", 5, zero_modes=1).eigenvalues(jax.random.key(0))
        >>> print(levels[2], bool((levels == -levels[::-1]).all()))
        0.0 True

    References:
        Altland and Zirnbauer (1997), Phys. Rev. B 55, 1142; Verbaarschot (1994), Phys. Rev. Lett. 72, 2531, for the
        chiral classes; Ivanov (2002), J. Math. Phys. 43, 126, for the zero modes of D and DIII; Dumitriu and Edelman
        (2002), J. Math. Phys. 43, 5830, theorem 3.4.
    """

    symmetry: Symmetry = eqx.field(static=True)
    n: int = eqx.field(static=True)
    zero_modes: int = eqx.field(static=True)
    scale: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, symmetry: Symmetry, n: int, zero_modes: int = 0, scale: RealScalarLike = 1.0):
        self.symmetry = _checks.choice("symmetry", symmetry, Symmetry)
        self.n = _checks.integer("n", n, at_least=1)
        self.zero_modes = _checks.integer("zero_modes", zero_modes, at_least=0)
        self.scale = _checks.scalar("scale", scale, nonzero=True)
        most = _MOST_ZERO_MODES.get(symmetry, self.n - 1)
        if self.zero_modes > most:
            raise _checks.refusal("zero_modes", f"be at most {most} in class {symmetry} with n = {self.n}", zero_modes)
        if symmetry not in _WIGNER_DYSON and (self.n - self.zero_modes) % 2:
            parity = "odd" if self.zero_modes % 2 else "even"
            other = 1 - self.zero_modes % 2
            hint = f" (zero_modes = {other} takes the others)" if most >= other else ""
            raise _checks.refusal("n", f"be {parity} in class {symmetry} with zero_modes = {self.zero_modes}{hint}", n)

    def _wigner_dyson(self) -> AbstractGaussian:
        return _WIGNER_DYSON[self.symmetry](self.n, self.scale)

    def _parameters(self) -> tuple[int, float, int]:
        """The number of pairs, and a and β of the Laguerre ensemble of their squares."""
        beta, alpha = _INDICES[self.symmetry]
        pairs = (self.n - self.zero_modes) // 2
        return pairs, (alpha + beta * self.zero_modes + 1) / 2 + (pairs - 1) * beta / 2, beta

    def _positive_levels(self, key: KeyScalar) -> Float[Array, " k"]:
        pairs, *_ = self._parameters()
        if pairs == 0:
            return jnp.zeros(0, self.scale.dtype)
        return self._unit() * block_singular_values(0, pairs, *self._bidiagonal(key), jnp.int32(pairs))

    def _bidiagonal(self, key: KeyScalar) -> tuple[Float[Array, " k"], Float[Array, " k-1"]]:
        pairs, a, beta = self._parameters()
        return bidiagonal_entries(key, pairs, *jnp.asarray([a, beta], self.scale.dtype))

    def _unit(self) -> Float[Array, ""]:
        """The factor that turns singular values of `_bidiagonal` into levels."""
        _, a, beta = self._parameters()
        return 2 * self.scale * (a / (beta * self.n)) ** 0.5

    def _sample(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        if self.symmetry in _WIGNER_DYSON:
            return self._wigner_dyson()._sample(key)
        pairs, _, beta = self._parameters()
        if self.symmetry in _CHIRAL:
            x = gaussian_matrix(key, self.n - pairs, pairs, beta, self.scale.dtype)
            return like(x, (2 / self.n) ** 0.5 * self.scale) * _off_diagonal(x)
        size = self.n if self.symmetry in ("D", "DIII") else pairs
        h = _BOGOLIUBOV_DE_GENNES[self.symmetry](key, size, self.scale.dtype)
        return like(h, (2 / (beta * self.n)) ** 0.5 * self.scale) * h

    def _eigenvalues(self, key: KeyScalar) -> Float[Array, " n"]:
        if self.symmetry in _WIGNER_DYSON:
            return self._wigner_dyson()._eigenvalues(key)
        positive = self._positive_levels(key)
        return jnp.concatenate([-positive[::-1], jnp.zeros(self.zero_modes, positive.dtype), positive])

    def _count_below(self, key: KeyScalar, x: Float[Array, "..."], chunk: int | None) -> Int[Array, "..."]:
        if self.symmetry in _WIGNER_DYSON:
            return self._wigner_dyson()._count_below(key, x, chunk)
        pairs, nearer = self._parameters()[0], jnp.zeros(x.shape, jnp.int32)
        if pairs > 0:
            nearer = block_singular_counts(*self._bidiagonal(key), jnp.int32(pairs), quotient(jnp.abs(x), self._unit()))
        return jnp.where(x > 0, pairs + self.zero_modes + nearer, pairs - nearer)

    def _degree_in_scale(self) -> int:
        return 1

    def _law(self) -> Semicircle:
        return Semicircle(2 * self.scale)

    def _independent_levels(self) -> int:
        return self.n if self.symmetry in _WIGNER_DYSON else (self.n - self.zero_modes) // 2

    def _joint_logpdf(self, levels: Float[Array, " k"]) -> Float[Array, ""]:
        if self.symmetry in _WIGNER_DYSON:
            return self._wigner_dyson()._joint_logpdf(levels)
        pairs, a, beta = self._parameters()
        if pairs == 0:  # the only matrix is 0, and no level has a density
            return jnp.zeros((), common_dtype(levels, self.scale))
        unit = self.scale * (2 / (beta * self.n)) ** 0.5
        positive = jnp.all(levels > 0)
        # The squares x = (ε/unit)² have the Laguerre density with the weight exp(-x/2); dx = 2 √x dε/unit.
        root = quotient(jnp.where(positive, levels, jnp.arange(1, pairs + 1, dtype=levels.dtype)), unit)
        power = 2 * a - (pairs - 1) * beta - 1
        height = beta * log_vandermonde(root**2) + power * jnp.sum(jnp.log(root)) - jnp.sum(root**2) / 2
        constant = log_laguerre(pairs, *jnp.asarray([a, beta], root.dtype)) + pairs * jnp.log(unit / 2)
        return jnp.where(positive, height - constant, -jnp.inf)


def _off_diagonal(x: Inexact[Array, "p q"]) -> Inexact[Array, "n n"]:
    p, q = x.shape
    return jnp.block([[jnp.zeros((p, p), x.dtype), x], [x.conj().T, jnp.zeros((q, q), x.dtype)]])


def _class_d(key: KeyScalar, n: int, dtype: jnp.dtype) -> Complex[Array, "n n"]:
    a = antisymmetric(jax.random.normal(key, (n, n), dtype))
    return jax.lax.complex(jnp.zeros_like(a), a)


def _class_diii(key: KeyScalar, n: int, dtype: jnp.dtype) -> Complex[Array, "2n 2n"]:
    imaginary = _traceless(*(antisymmetric(jax.random.normal(part, (n, n), dtype)) for part in jax.random.split(key)))
    return jax.lax.complex(jnp.zeros_like(imaginary), imaginary)


def _class_c(key: KeyScalar, k: int, dtype: jnp.dtype) -> Complex[Array, "2k 2k"]:
    key_real, key_symmetric, key_antisymmetric = jax.random.split(key, 3)
    s = _symmetric(key_symmetric, k, dtype)
    a = 0.5**0.5 * antisymmetric(jax.random.normal(key_antisymmetric, (k, k), dtype))
    return jax.lax.complex(_class_ci(key_real, k, dtype), jnp.block([[a, -s], [s, a]]))


def _class_ci(key: KeyScalar, k: int, dtype: jnp.dtype) -> Float[Array, "2k 2k"]:
    return _traceless(*(_symmetric(part, k, dtype) for part in jax.random.split(key)))


_BOGOLIUBOV_DE_GENNES: dict[str, Callable[[KeyScalar, int, jnp.dtype], Inexact[Array, "rows rows"]]] = {
    "D": _class_d,
    "DIII": _class_diii,
    "C": _class_c,
    "CI": _class_ci,
}


def _traceless(a: Float[Array, "n n"], b: Float[Array, "n n"]) -> Float[Array, "2n 2n"]:
    """The matrix a τ_z + b τ_x."""
    return jnp.block([[a, b], [b, -a]])


def _symmetric(key: KeyScalar, n: int, dtype: jnp.dtype) -> Float[Array, "n n"]:
    """A symmetric matrix of normal entries with variance 1 on the diagonal and ½ off it."""
    return jnp.where(jnp.eye(n, dtype=bool), 1, 0.5**0.5) * mirrored(jax.random.normal(key, (n, n), dtype))
