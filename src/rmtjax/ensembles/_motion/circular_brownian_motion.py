"""Dyson's Brownian motion on the circle."""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Complex, Float

from rmtjax import _checks
from rmtjax._promotion import complex_dtype
from rmtjax._typing import DysonIndex, KeyScalar, RealLike, RealScalarLike
from rmtjax.ensembles._circular.circular import COE, CSE, CUE
from rmtjax.ensembles._core.unitary import AbstractUnitaryEnsemble
from rmtjax.ensembles._motion.given_levels import GivenLevels, given_levels
from rmtjax.ensembles._motion.heat_kernel import unitary_motion
from rmtjax.ensembles._motion.motion import AbstractMotion
from rmtjax.linalg.internal import adjoint, unitary_phases
from rmtjax.random.internal import dual, self_dual_part
from rmtjax.special.internal import unit_circle

_START = {1: COE, 2: (CUE, COE), 4: CSE}


class CircularBrownianMotion(AbstractMotion):
    r"""Dyson's Brownian motion on the circle: Brownian motion of unitary matrices, and its eigenphases.

    The phases repel and never cross:

    $$d\theta_i = s \sqrt{\tfrac{2}{\beta n}}\,dB_i
        + \frac{s^2}{2n} \sum_{j \ne i} \cot\frac{\theta_i - \theta_j}{2}\,dt.$$

    The circular ensemble of the same β is its stationary law. No equation is integrated. A step is $U \to V U$ for
    β = 2, $S \to V S V^T$ for symmetric S (β = 1) and $S \to V S V^D$ for self-dual S (β = 4), with $V^D = Z V^T Z^T$.
    Here V is Brownian motion on the unitary group at the time s² t (β = 2) or s² t/2 (β = 1 and 4), which is drawn from
    its exact law: a proposal with the spectrum of a GUE is accepted or drawn again. For β = 2 a step of length t takes
    some max(4, n/10) s² t decompositions, O(n³) each, and at least one. From s² t = 160 + 4 log n on nothing is left of
    the start, and V is drawn at once; for β = 1 and 4 from twice this on, with the rows for n.

    Convention: locally the motion is that of `DysonBrownianMotion` with the same n, β and s. For β = 2 and a start at
    phases 0, $E \operatorname{tr} U = n e^{-s^2 t/2}$ and $E |\operatorname{tr} U|^2 = 1 + (n^2 - 1) e^{-s^2 t}$. For
    β = 4 a matrix has 2n rows and each phase twice; `eigenphases` returns n.

    Args:
        initial: the n phases at time 0 in any order, taken modulo 2π, differentiable: the matrix there is diagonal. Or
            the circular ensemble of the same β for the stationary process; a `COE` and β = 2 is the crossover to the
            CUE.
        beta: 1, 2 or 4; static.
        scale: s > 0, per square root of the time.

    Raises:
        ValueError: an argument is outside its range.
        NotImplementedError: a path is differentiated in its times or its scale, as a draw by rejection is no smooth
            function of them.

    Example:
        >>> import jax
        >>> motion = CircularBrownianMotion([0.0, 0.0, 0.0], beta=1)
        >>> path = motion.eigenphases(jax.random.key(0), [0.0, 0.5, 1.0])
        >>> print(path.shape, path[0] + 0.0)
        (3, 3) [0. 0. 0.]

    References:
        Dyson (1962), J. Math. Phys. 3, 1191, section 3; Menotti and Onofri (1981), Nucl. Phys. B 190, 288, for the
        heat kernel.
    """

    n: int = eqx.field(static=True)
    beta: DysonIndex = eqx.field(static=True)
    initial: GivenLevels | AbstractUnitaryEnsemble
    scale: Annotated[Float[Array, ""], _checks.POSITIVE]

    def __init__(self, initial: RealLike | AbstractUnitaryEnsemble, beta: DysonIndex = 2, scale: RealScalarLike = 1.0):
        self.beta = _checks.dyson_index(beta)
        if not isinstance(initial, AbstractUnitaryEnsemble):
            self.initial = given_levels(initial)
        elif isinstance(initial, _START[self.beta]):
            self.initial = initial
        else:
            raise _checks.refusal("initial", f"have the symmetry of beta = {self.beta}", initial)
        self.n = self.initial.n
        self.scale = _checks.scalar("scale", scale, nonzero=True)

    def eigenphases(self, key: KeyScalar, times: RealLike) -> Float[Array, "*times n"]:
        """The ascending phases in (-π, π] of the matrices `sample(key, times)`, with the same arguments and errors."""
        return self._along(self._levels_along, key, times)

    def _start(self, key: KeyScalar) -> Complex[Array, "rows rows"]:
        if isinstance(self.initial, GivenLevels):
            phases = jnp.repeat(self.initial.levels, self._multiplicity())
            matrix = jnp.diag(unit_circle(phases))
        else:
            matrix = self.initial._sample(key)
        return matrix.astype(complex_dtype(self.scale.dtype))

    @jax.default_matmul_precision("highest")
    def _moved(
        self, key: KeyScalar, matrix: Complex[Array, "rows rows"], duration: Float[Array, ""]
    ) -> Complex[Array, "rows rows"]:
        # Both factors of a symmetric or self-dual step move it, so they take half of the time.
        # The square of the scale alone might overflow.
        time = (self.scale * jnp.sqrt(duration)) ** 2 / (1 if self.beta == 2 else 2)
        v = unitary_motion(key, matrix.shape[0], time)
        if self.beta == 2:
            moved = _nearer_unitary(v @ matrix)
        elif self.beta == 1:
            moved = _nearer_unitary(v @ matrix @ v.T)
            moved = moved / 2 + moved.T / 2
        else:
            moved = self_dual_part(_nearer_unitary(v @ matrix @ dual(v)))
        return jnp.where(time > 0, moved, matrix)

    def _levels(self, matrix: Complex[Array, "rows rows"]) -> Float[Array, " n"]:
        return unitary_phases(matrix, symmetric=self.beta == 1, multiplicity=self._multiplicity())


def _nearer_unitary(u: Complex[Array, "rows rows"]) -> Complex[Array, "rows rows"]:
    """One step of Newton and Schulz towards the nearest unitary matrix: on a long way no rounding errors add up."""
    return 1.5 * u - u @ (adjoint(u) @ u) / 2
