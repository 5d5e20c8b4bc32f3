r"""Sample covariance matrices of data whose independent entries have different variances.

With $s_j = \sum_k u_k v_{kj} g_k$ and $\Psi(g) = -\frac1c \sum_j w_j \log(1 - c\,s_j)$ the function σ of the equation
$1/g = z - \sigma(g)$ has $u_i \sigma_i = \partial\Psi/\partial g_i$, as `AbstractDysonLaw` wants it. For g in the lower
half plane $1 - c\,s_j$ is in the upper one.

In a gap all g and s are real. The mass above it is the sum of the $u_i$ with $g_i < 0$ and of the $w_j/c$ with
$c\,s_j > 1$, because these are the logarithms of negative numbers in the potential.

The moments about a point t. With $g = y M(y)$, $y = 1/(z - t)$ and $\delta_j = 1/(1 - c\,s_j)$ the equations are
$\delta_j = 1 + c\,y \sum_k u_k v_{kj} M_k\,\delta_j$ and $M_i = 1 + y\,(\sum_j w_j v_{ij} \delta_j - t)\,M_i$, and give
one order after the other.
"""

import itertools
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Complex, Float

from rmtjax import _checks
from rmtjax._promotion import common_dtype, in_one_precision, like
from rmtjax._typing import RealLike, RealScalarLike
from rmtjax._varying import varying_like
from rmtjax.laws._core.half_plane import in_plane, upper_logs
from rmtjax.laws._free.dyson_law import AbstractDysonLaw
from rmtjax.laws._free.gaps import are_few
from rmtjax.laws._spectra.marchenko_pastur import MarchenkoPastur

_VARIANCES = _checks.Rule(lambda v: ((v > 0) & (v < np.inf)).all(), "be positive and finite")


class CovarianceProfileLaw(AbstractDysonLaw):
    r"""The law of the levels of $XX^*/m$ for n×m matrices X with independent entries of several variances.

    The rows of X are of p types with the frequencies u, the columns of q types with the frequencies w. An entry in a
    row of type i and a column of type j has the expectation 0 and the variance $v_{ij}$. As n, m → ∞ with n/m → c the
    Stieltjes transform is $G(z) = \sum_i u_i g_i(z)$ with the solution of

    $$\frac1{g_i} = z - \sum_j \frac{w_j v_{ij}}{1 - c \sum_k u_k v_{kj}\,g_k}$$

    in the lower half plane. The entries may be real or complex and of any distribution. Variances $v_{ij} = a_i b_j$
    are those of a separable covariance, as of data with correlated variables and correlated observations: then a and b
    are the eigenvalues of both covariance matrices.

    At 0 there is a point mass max(0, 1 - 1/c); at c = 1 the density diverges there. The mean is $u^T v\,w$. The density
    is right to some $10^{-14}$ (single precision: $10^{-6}$) at a point within some ulp of x. `bands` and `breakpoints`
    find the gaps if there are up to 6 types in all; of more types they have only the ends of the law, with a warning.

    Convention: `CovarianceProfileLaw([[v]], c)` is `MarchenkoPastur(c, sqrt(v))`.

    Args:
        variances: p×q finite variances v > 0.
        ratio: c > 0, the number of rows of X over the number of columns.
        weights: the frequencies u > 0 of the types of rows, with the sum 1; equal if None.
        column_weights: the frequencies w > 0 of the types of columns, with the sum 1; equal if None.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> law = CovarianceProfileLaw([[1.0, 2.0], [2.0, 8.0]], ratio=0.5)
        >>> print(f"{law.mean():.2f} {law.pdf(1.0):.3f}")
        3.25 0.272

    References:
        Girko (1990), Theory of Random Determinants, chapter 7; Hachem, Loubaton and Najim (2007), Ann. Appl. Probab.
        17, 875, theorem 2.4; Burda, Jurkiewicz and Wacław (2005), Phys. Rev. E 71, 026111, for separable covariances.
    """

    variances: Annotated[Float[Array, "p q"], _VARIANCES]
    ratio: Annotated[Float[Array, ""], _checks.POSITIVE]
    weights: Annotated[Float[Array, " p"], _checks.POSITIVE_PROBABILITIES]
    column_weights: Annotated[Float[Array, " q"], _checks.POSITIVE_PROBABILITIES]

    def __init__(
        self,
        variances: RealLike,
        ratio: RealScalarLike,
        weights: RealLike | None = None,
        column_weights: RealLike | None = None,
    ):
        array = self.variances = _checks.real("variances", variances)
        if array.ndim != 2:
            raise _checks.refusal("variances", "be one matrix", array.shape)
        self.ratio = _checks.scalar("ratio", ratio, nonzero=True)
        equal = lambda size: jnp.full_like(array, 1 / size, shape=(size,))
        frequencies = lambda name, given, size: _checks.of_shape(name, equal(size) if given is None else given, (size,))
        self.weights = frequencies("weights", weights, array.shape[0])
        self.column_weights = frequencies("column_weights", column_weights, array.shape[1])

    def _degrees(self) -> dict[str, int]:
        return {"variances": 1}

    def _profiles(self) -> tuple[Float[Array, "p q"], Float[Array, "p q"]]:
        """The variances times the frequencies of the rows, and times those of the columns."""
        variances, rows, columns = in_one_precision((self.variances, self.weights, self.column_weights))
        return variances * rows[:, None], variances * columns[None]

    def _start(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        """That of equal variances, off the axis: near 0 it has the size of the solution, with an atom or without."""
        scale = jnp.sqrt(jnp.mean(self.variances))
        z = self._beside_zero(z)
        return MarchenkoPastur(self.ratio, scale)._stieltjes(jax.lax.complex(jnp.real(z), jnp.imag(z) + jnp.abs(z)))

    def _beside_zero(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        """The point z; where it is 0, a positive number of no account."""
        eps = float(jnp.finfo(z.dtype).eps)
        return jnp.where(z == 0, like(z, eps**2 * self._carrier()[1]), z)

    def _dyson_map(self, z: Complex[Array, "..."], g: Complex[Array, "... p"]) -> Complex[Array, "... p"]:
        return super()._dyson_map(self._beside_zero(z), g)

    def _log_potential(self, w: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
        # At 0 the potentials are those beside it on the right, where an atom at 0 is not above but would be below.
        above, below = super()._log_potential(w)
        return jnp.stack([above, jnp.where(w == 0, in_plane(jnp.real(below)), below)])

    def _pdf(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.where(x == 0, jnp.where(self.ratio == 1, jnp.inf, 0), super()._pdf(x))

    def _ends(self, levels: Float[Array, " k"]) -> Float[Array, " 2k+2"]:
        # Both ends of the atom at 0, or the hard edge there, and what rounding puts below 0.
        ends = super()._ends(levels)
        least = jnp.where(self.ratio < 1, 0, 64 * float(jnp.finfo(ends.dtype).eps) * self._carrier()[1])
        ends = jnp.where(ends <= least, 0, ends)
        return ends.at[0].set(jnp.where(self.ratio < 1, ends[0], 0))

    def _denominators(self, g: Complex[Array, "... p"]) -> Complex[Array, "... q"]:
        """The numbers 1 - c s."""
        by_rows, _ = self._profiles()
        profile = (like(by_rows, self.ratio) * by_rows).astype(jnp.real(g).dtype)
        return jax.lax.complex(1 - jnp.real(g) @ profile, -(jnp.imag(g) @ profile))

    def _self_energy(self, g: Complex[Array, "... p"]) -> Complex[Array, "... p"]:
        return (1 / self._denominators(g)) @ like(g, self._profiles()[1]).T

    def _energy_matrix(self, g: Complex[Array, "... p"]) -> Complex[Array, "... p p"]:
        by_rows, by_columns = (like(g, profile) for profile in self._profiles())
        squares = like(g, self.ratio) / self._denominators(g) ** 2
        return jnp.einsum("ij,...j,kj->...ik", by_columns, squares, by_rows)

    def _functional(self, g: Complex[Array, "... p"]) -> Complex[Array, "..."]:
        logs = upper_logs(self._denominators(g))[0] @ like(g, self.column_weights)
        return (g * self._self_energy(g)) @ like(g, self.weights) + logs / like(g, self.ratio)

    def _carrier(self) -> tuple[Array, Array]:
        by_rows, by_columns = self._profiles()
        largest = jnp.max(jnp.sum(by_columns, axis=1)), like(by_rows, self.ratio) * jnp.max(jnp.sum(by_rows, axis=0))
        upper = (jnp.sqrt(largest[0]) + jnp.sqrt(largest[1])) ** 2
        return 0 * upper, upper

    def _is_bounded(self) -> bool:
        return True

    def _atoms(self) -> tuple[Float[Array, " 1"], Float[Array, " 1"]]:
        mass = jnp.maximum((self.ratio - 1) / self.ratio, 0)[None].astype(common_dtype(self.ratio, self.variances))
        return jnp.zeros_like(mass), mass

    def _jumps(self) -> tuple[Float[Array, " 1"], Float[Array, " 1"], Float[Array, " 1"]]:
        location, mass = self._atoms()
        return location, mass, 1 - mass

    def _gap_levels(self) -> Float[Array, " k"]:
        p, q = self.variances.shape
        atom = self._atoms()[1]
        if not are_few(2 ** min(p + q, 30) - 2):
            return atom[:0]
        masses = jnp.concatenate([*in_one_precision((self.weights, self.column_weights / self.ratio))])
        subsets = np.array(list(itertools.product([False, True], repeat=p + q)))[1:-1]
        return jnp.sort(jnp.clip(1 - like(masses, subsets) @ masses, like(masses, atom), 1))

    def _moments_about(self, centre: Array | float, k: int) -> Float[Array, " k+1"]:
        by_rows, by_columns = self._profiles()
        ratio, centre, index = like(by_rows, self.ratio), like(by_rows, centre), jnp.arange(k + 1)

        def step(order: Array, series: tuple[Array, Array]) -> tuple[Array, Array]:
            """The next order of M and of δ."""
            moments, delta = series
            back = order - 1 - index
            known = (back >= 0)[:, None]
            earlier, reversed_delta = jnp.where(known, moments[back], 0), jnp.where(known, delta[back], 0)
            shifts = delta @ by_columns.T - jnp.where(index == 0, centre, 0)[:, None]
            return (
                moments.at[order].set(jnp.sum(shifts * earlier, axis=0)),
                delta.at[order].set(ratio * jnp.sum((moments @ by_rows) * reversed_delta, axis=0)),
            )

        first = lambda profile: jnp.zeros((k + 1, profile), by_rows.dtype).at[0].set(1)
        start = varying_like((first(by_rows.shape[0]), first(by_rows.shape[1])), self, centre)
        moments, _ = jax.lax.fori_loop(1, k + 1, step, start)
        return moments @ like(by_rows, self.weights)
