r"""Symmetric matrices whose independent entries have different variances.

The moments about c. With $M_i(t) = \sum_k E_i[(X - c)^k]\,t^k$ for the rows of type i, the equation of the law is
$M_i = 1 + t\,(a_i - c)\,M_i + t^2\,(\sum_j w_j v_{ij} M_j)\,M_i$, and gives one order after the other.
"""

import itertools
from typing import Annotated, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float

from rmtjax import _checks
from rmtjax._promotion import in_one_precision, like
from rmtjax._typing import RealLike
from rmtjax._units import over, unit_near
from rmtjax._varying import varying_like
from rmtjax.laws._free.dyson_law import AbstractDysonLaw
from rmtjax.laws._free.gaps import are_few
from rmtjax.linalg.internal import hermitian_part


def _is_profile(v: Array) -> Bool[Array, ""]:
    return ((v >= 0) & (v < np.inf)).all() & (v.diagonal() > 0).all()


class VarianceProfileLaw(AbstractDysonLaw):
    r"""The law of the levels of symmetric matrices with independent entries of several variances.

    The rows are of n types, with the frequencies w. An entry between a row of type i and a column of type j of the
    N×N matrix has the variance $v_{ij}/N$, and the expectation is $a_i$ on the diagonal and 0 elsewhere. As N → ∞ the
    Stieltjes transform is $G(z) = \sum_i w_i g_i(z)$ with the solution of

    $$\frac1{g_i} = z - a_i - \sum_j w_j v_{ij}\,g_j$$

    in the lower half plane. The entries may be real or complex and of any distribution. `VarianceProfile(v).law()` has
    one type for each row. If $\sum_j w_j v_{ij}$ is the same for all rows and all means are 0, the law is `Semicircle`;
    with constant v and any means it is `DeformedSemicircle`.

    The mean is $\sum_i w_i a_i$. The density is continuous. If all v are positive, its bands end like square roots,
    with cusps where two bands meet. It is right to some $10^{-14}$ (single precision: $10^{-6}$) at a point
    within some ulp of x. One value takes 10 to 50 steps of O(n²), and its derivative by x or a parameter O(n³). `bands`
    and `breakpoints` find the gaps of up to 6 types, or of up to 65 without `weights`, if they are wider than
    $10^{-11}$ of the support; of more types they have only its ends, with a warning.

    Convention: `VarianceProfileLaw([[v]])` is `Semicircle(2 sqrt(v))`.

    Args:
        variances: n×n finite variances v ≥ 0, positive on the diagonal; the symmetric part is used.
        weights: the frequencies w > 0 of the types, with the sum 1; equal if None.
        means: the expectations a of the entries on the diagonal; 0 if None.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> law = VarianceProfileLaw([[1.0, 0.1], [0.1, 4.0]], [0.75, 0.25])
        >>> print(f"{law.var():.2f} {law.pdf(0.0):.2f}")
        0.85 0.35

    References:
        Ajanki, Erdős and Krüger (2017), Commun. Pure Appl. Math. 70, 1672, theorems 2.1 and 2.6; Wegner (1979), Phys.
        Rev. B 19, 783, for blocks.
    """

    variances: Annotated[
        Float[Array, "n n"], _checks.Rule(_is_profile, "be finite, not negative, and positive on the diagonal")
    ]
    weights: Annotated[Float[Array, " n"], _checks.POSITIVE_PROBABILITIES]
    means: Annotated[Float[Array, " n"], _checks.ALL_FINITE]
    are_equal: bool = eqx.field(static=True)  # the frequencies

    def __init__(self, variances: RealLike, weights: RealLike | None = None, means: RealLike | None = None):
        array = _checks.real("variances", variances)
        if array.ndim != 2:
            raise _checks.refusal("variances", "be one square matrix", array.shape)
        self.variances = _checks.square_matrix("variances", array)
        shape = array.shape[:1]
        self.are_equal = weights is None
        weights = jnp.full_like(array, 1 / shape[0], shape=shape) if weights is None else weights
        self.weights = _checks.of_shape("weights", weights, shape)
        self.means = _checks.of_shape("means", jnp.zeros_like(array, shape=shape) if means is None else means, shape)

    def _size(self) -> Float[Array, ""]:
        return jnp.maximum(*in_one_precision((jnp.sqrt(jnp.max(self.variances)), jnp.max(jnp.abs(self.means)))))

    def _over(self, size: Float[Array, ""]) -> Self:
        # XLA turns a quotient by two units into one by their product, which may overflow or be 0.
        parts = lambda law: (law.variances, law.means)
        unit = unit_near(size)
        return eqx.tree_at(parts, self, (over(over(self.variances, unit), unit), self.means / unit))

    def _profile(self) -> Float[Array, "n n"]:
        """The variances times the frequencies of the columns."""
        variances, masses = in_one_precision((self.variances, self.weights))
        return hermitian_part(variances) * masses[None]

    def _self_energy(self, g: Complex[Array, "... n"]) -> Complex[Array, "... n"]:
        profile = self._profile().T.astype(jnp.real(g).dtype)
        return jax.lax.complex(jnp.real(g) @ profile, jnp.imag(g) @ profile)

    def _shifts(self, g: Complex[Array, "... n"]) -> Complex[Array, "... n"]:
        return like(g, self.means).reshape([1] * (g.ndim - 1) + [-1]) + self._self_energy(g)

    def _energy_matrix(self, g: Complex[Array, "... n"]) -> Complex[Array, "... n n"]:
        return jnp.broadcast_to(like(g, self._profile()), (*g.shape, g.shape[-1]))

    def _functional(self, g: Complex[Array, "... n"]) -> Complex[Array, "..."]:
        return (g * self._self_energy(g)) @ like(g, self.weights) / 2

    def _carrier(self) -> tuple[Array, Array]:
        reach = 2 * jnp.sqrt(jnp.max(jnp.sum(self._profile(), axis=1)))
        means = like(reach, self.means)
        return jnp.min(means) - reach, jnp.max(means) + reach

    def _is_bounded(self) -> bool:
        return True

    def _gap_levels(self) -> Float[Array, " k"]:
        """In a gap each g is real, and the mass above the gap is the frequency of the types with positive g."""
        masses, n = self.weights, self.weights.size
        if not are_few(n - 1 if self.are_equal else 2 ** min(n, 30) - 2):
            return masses[:0]
        if self.are_equal:
            return jnp.cumsum(masses)[:-1]
        subsets = np.array(list(itertools.product([False, True], repeat=n)))[1:-1]
        return jnp.sort(like(masses, subsets) @ masses)

    def _moments_about(self, centre: Array | float, k: int) -> Float[Array, " k+1"]:
        profile = self._profile()
        shifts, index = like(profile, self.means) - like(profile, centre), jnp.arange(k + 1)

        def step(order: Array, moments: Float[Array, "k n"]) -> Float[Array, "k n"]:
            others = jnp.where((index <= order - 2)[:, None], moments[order - 2 - index], 0)
            value = shifts * moments[order - 1] + jnp.sum((moments @ profile.T) * others, axis=0)
            return moments.at[order].set(value)

        first = jnp.zeros((k + 1, shifts.size), profile.dtype).at[0].set(1)
        return jax.lax.fori_loop(1, k + 1, step, varying_like(first, profile, shifts)) @ like(profile, self.weights)
