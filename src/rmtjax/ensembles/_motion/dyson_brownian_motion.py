"""Dyson's Brownian motion on the line."""

import math
from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import complex_dtype, in_one_precision, like
from rmtjax._typing import DysonIndex, KeyScalar, RealLike, RealScalarLike
from rmtjax.ensembles._core.base import AbstractEnsemble
from rmtjax.ensembles._gaussian.matrices import GOE, GSE, GUE
from rmtjax.ensembles._motion.given_levels import GivenLevels, given_levels
from rmtjax.ensembles._motion.motion import AbstractMotion
from rmtjax.laws import AbstractLaw, AbstractSpectralLaw, DeformedSemicircle, FreeSum, Semicircle
from rmtjax.linalg.internal import hermitian_eigenvalues
from rmtjax.special.internal import exp_slope, square_root

_NOISE = {1: GOE, 2: GUE, 4: GSE}


class DysonBrownianMotion(AbstractMotion):
    r"""Dyson's Brownian motion: a Hermitian matrix whose entries are independent Brownian motions, and its levels.

    $dH = s\,dW - \theta H\,dt$, where $W(t)$ has the law of $\sqrt t$ times a GOE, GUE or GSE of scale 1. The levels
    repel and never cross:

    $$d\lambda_i = s \sqrt{\tfrac{2}{\beta n}}\,dB_i
        + \frac{s^2}{n} \sum_{j \ne i} \frac{dt}{\lambda_i - \lambda_j} - \theta \lambda_i\,dt.$$

    No equation is integrated. A matrix at the time t + τ is $e^{-\theta\tau} H(t) + s \sqrt v\,G$ with an independent
    Gaussian matrix G of scale 1 and $v = (1 - e^{-2\theta\tau})/(2\theta)$, whatever the length of τ. So a path at k
    times takes k decompositions, O(n³) each, and `eigenvalues` holds one matrix at a time.

    Convention: the entries of W have the variances of the Gaussian ensembles, $E|W_{ij}|^2 = t/n$ off the diagonal, so
    that times and levels stay of order 1 as n → ∞. For θ = 0 a start at 0 fills [-2s√t, 2s√t]. For θ > 0 the motion
    is an Ornstein–Uhlenbeck process. Its stationary law is that of the Gaussian ensemble of scale $s/\sqrt{2\theta}$:
    with s = 1 and θ = 1/2 a `GOE(n)` stays one, and $E \operatorname{tr} H(t) H(t') = e^{-\theta|t - t'|}
    E \operatorname{tr} H(t)^2$. For β = 4 a matrix has 2n rows and each level twice; `eigenvalues` returns n.

    Args:
        initial: the n levels at time 0 in any order, differentiable: the matrix there is diagonal. Or an ensemble that
            draws the matrix at time 0: real for β = 1, with n rows (no `GSE`) for β = 2, real or with a density of
            quaternions, as `GSE`, for β = 4. For the stationary process it is the Gaussian ensemble; a GOE at time 0
            and β = 2 is the crossover to the GUE.
        beta: 1, 2 or 4; static.
        scale: s > 0, in units of the levels per square root of the time; differentiable.
        reversion: θ ≥ 0, per time; differentiable.

    Raises:
        ValueError: an argument is outside its range, or the start does not have the symmetry of β.

    Example:
        >>> import jax
        >>> motion = DysonBrownianMotion([-1.0, 0.0, 1.0], beta=2)
        >>> path = motion.eigenvalues(jax.random.key(0), [0.0, 0.1, 0.2])
        >>> print(path.shape, path[0].round(3) + 0.0)
        (3, 3) [-1.  0.  1.]

    References:
        Dyson (1962), J. Math. Phys. 3, 1191; Anderson, Guionnet and Zeitouni (2010), An Introduction to Random
        Matrices, theorem 4.3.2; Mehta (2004), Random Matrices, chapter 9.
    """

    n: int = eqx.field(static=True)
    beta: DysonIndex = eqx.field(static=True)
    initial: AbstractEnsemble
    scale: Annotated[Float[Array, ""], _checks.POSITIVE]
    reversion: Annotated[Float[Array, ""], _checks.NONNEGATIVE]

    def __init__(
        self,
        initial: RealLike | AbstractEnsemble,
        beta: DysonIndex = 2,
        scale: RealScalarLike = 1.0,
        reversion: RealScalarLike = 0.0,
    ):
        self.beta = _checks.dyson_index(beta)
        self.initial = initial if isinstance(initial, AbstractEnsemble) else given_levels(initial)
        self.n = self.initial.n
        self.scale = _checks.scalar("scale", scale, nonzero=True)
        self.reversion = _checks.scalar("reversion", reversion)
        _check_symmetry(self.initial, self.beta)

    def eigenvalues(self, key: KeyScalar, times: RealLike) -> Float[Array, "*times n"]:
        """The ascending levels of the matrices `sample(key, times)`, with the same arguments and errors."""
        return self._along(self._levels_along, key, times)

    def law(self, time: RealScalarLike) -> AbstractLaw:
        r"""The law of one level at a time t > 0 as n → ∞: the free sum of the decayed start and a semicircle.

        For n levels at the start it is `laws.DeformedSemicircle`, of these n levels. For an ensemble it is the
        `laws.FreeSum` of its law.

        Raises:
            NotImplementedError: the law of the ensemble at the start is not known.
            ValueError: `time` is not a positive finite number.
        """
        time = _checks.scalar("time", time, nonzero=True)
        valid = _checks.POSITIVE.kept("time", time)
        self, time = in_one_precision((self, time))
        return _checks.masked(_checks.all_kept(valid, self._valid()), self._law(time))

    def _law(self, time: Float[Array, ""]) -> AbstractLaw:
        decay, radius = self._decay(time), 2 * self._spread(time)
        if isinstance(self.initial, GivenLevels):
            levels = self.initial.levels
            return DeformedSemicircle(decay * levels, jnp.full_like(levels, 1 / self.n), radius)
        start = self.initial._law()
        if not (isinstance(start, AbstractSpectralLaw) and start._has_moments()):
            raise NotImplementedError(
                f"{type(start).__name__} at the start has no transforms, so it cannot be part of a sum."
            )
        return FreeSum(start.scaled(decay), Semicircle(radius))

    def _felt(self, duration: Float[Array, ""]) -> Float[Array, ""]:
        """The duration, or that after which the start is forgotten, if it is shorter: e^{-θt} is never 0."""
        reverts = self.reversion > 0
        longest = -0.9 * math.log(float(jnp.finfo(duration.dtype).tiny)) / jnp.where(reverts, self.reversion, 1)
        return jnp.where(reverts, jnp.minimum(duration, longest), duration)

    def _decay(self, duration: Float[Array, ""]) -> Float[Array, ""]:
        return jnp.exp(-self.reversion * self._felt(duration))

    def _spread(self, duration: Float[Array, ""]) -> Float[Array, ""]:
        """The scale of the Gaussian matrix that is added within this time, s √v."""
        duration = self._felt(duration)
        return self.scale * square_root(duration * exp_slope(-2 * self.reversion * duration))

    def _start(self, key: KeyScalar) -> Inexact[Array, "rows rows"]:
        matrix = self.initial._sample(key)
        if matrix.shape[0] == self.n and self.beta == 4:
            matrix = jnp.kron(matrix, jnp.eye(2, dtype=matrix.dtype))
        return matrix.astype(self.scale.dtype if self.beta == 1 else complex_dtype(self.scale.dtype))

    def _moved(
        self, key: KeyScalar, matrix: Inexact[Array, "rows rows"], duration: Float[Array, ""]
    ) -> Inexact[Array, "rows rows"]:
        noise = _NOISE[self.beta](self.n, jnp.ones_like(self.scale))._sample(key)
        return like(matrix, self._decay(duration)) * matrix + like(noise, self._spread(duration)) * noise

    def _levels(self, matrix: Inexact[Array, "rows rows"]) -> Float[Array, " n"]:
        return hermitian_eigenvalues(matrix)[:: self._multiplicity()]


def _check_symmetry(initial: AbstractEnsemble, beta: DysonIndex) -> None:
    """Refuse a start whose matrices do not have the symmetry of the motion."""
    matrix = jax.eval_shape(initial._sample, jax.random.key(0))
    real, rows = not jnp.issubdtype(matrix.dtype, jnp.complexfloating), matrix.shape[0] // initial.n
    if beta == 1 and not real:
        raise _checks.refusal("initial", "have real matrices for beta = 1", initial)
    if beta == 2 and rows == 2:
        raise _checks.refusal("initial", "have n rows for beta = 2", initial)
    if beta == 4 and not (real or _is_quaternionic(initial)):
        raise _checks.refusal("initial", "have real matrices, or quaternions as a `GSE`, for beta = 4", initial)


def _is_quaternionic(initial: AbstractEnsemble) -> bool:
    """Whether the density of the matrices is one of quaternions. Double levels alone do not make a matrix self-dual."""
    try:
        return initial._components() == 4
    except NotImplementedError:
        return False
