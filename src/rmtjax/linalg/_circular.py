r"""Eigenphases of unitary matrices given by Verblunsky coefficients, by Sturm counts on the circle.

On the unit circle the ratios $b_k(z) = z \Phi_k(z)/\Phi_k^*(z)$ of Szegő's orthogonal polynomials are unimodular, and
$b_{k+1} = z\,(b_k - \bar\alpha_k)/(1 - \alpha_k b_k)$: a rotation by θ after an isometry of the disc. Up to a rotation
that can be pushed through to the end, the isometry is the one that takes $\gamma_k$ to 0 and fixes 1, where $\gamma_k$
is $\bar\alpha_k$ times a phase (Killip and Stoiciu 2009, section 2; Valkó and Virág 2017, section 3). In the upper
half-plane, $w = i\,(1 + b)/(1 - b) = x/y$, the isometry is affine, and the rotation turns the real vector (x, y) by
θ/2.

An affine map keeps the sign of y, and a rotation by θ/2 in (0, π) changes it at most once. So the number of eigenphases
below θ is the number of sign changes, as for Sturm sequences: O(n) operations for each θ, without a matrix. The
recurrence runs from the last coefficient to the first (inverse and reflected) and starts at the boundary $e^{i\eta}$:

$$\begin{pmatrix} x \\ y \end{pmatrix} \to \begin{pmatrix} \cos\delta & \sin\delta \\ -\sin\delta & \cos\delta
\end{pmatrix} \begin{pmatrix} 1 - |\gamma|^2 & 2 \operatorname{Im} \gamma \\ 0 & |1 - \gamma|^2 \end{pmatrix}
\begin{pmatrix} x \\ y \end{pmatrix}, \qquad \frac{x_0}{y_0} = \cot\frac\eta2.$$

The angle is δ = (θ + π)/2, for θ in (-π, π).
"""

import math
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from rmtjax._compile import compiled
from rmtjax._varying import varying_like
from rmtjax.linalg import _sturm, _sturm_search


class Verblunsky(NamedTuple):
    """The angle η in (0, 2π), and modulus r, complement 1 - r² and angle of each γ, from the last γ to the first."""

    boundary: Float[Array, ""]
    modulus: Float[Array, " n-1"]
    complement: Float[Array, " n-1"]
    angle: Float[Array, " n-1"]

    @property
    def n(self) -> int:
        """Number of eigenphases."""
        return self.modulus.size + 1

    def affine(self) -> tuple[Float[Array, " n"], Float[Array, " n"], Float[Array, " n"]]:
        """1 - |γ|², 2 Im γ and |1 - γ|²; the first row is the identity, because there is one more rotation than γ."""
        r, c = self.modulus, self.complement
        stretch = (c / (1 + r)) ** 2 + 4 * r * jnp.sin(self.angle / 2) ** 2
        first = lambda column, value: jnp.pad(column, (1, 0), constant_values=value)
        return first(c, 1), first(2 * r * jnp.sin(self.angle), 0), first(stretch, 1)


class Circular(_sturm.AbstractSturm):
    """A unitary matrix with its eigenphases in units of π; the ratio is x/y."""

    rows: Float[Array, "steps 3 rows"]  # 1 - |γ|², 2 Im γ, |1 - γ|²
    exponent: Int[Array, ""]
    lower: float
    upper: float
    boundary: Float[Array, ""]
    factors: ClassVar[int] = 2
    behind: ClassVar[int] = 0

    def shift(self, x: _sturm.Numbers) -> _sturm.Shift:
        half = math.pi / 2 * jnp.clip(x, -1, 1)
        # The floor keeps the angle inside (0, π) at the ends too, whatever the rounding of π.
        return -jnp.sin(half), jnp.maximum(jnp.cos(half), jnp.finfo(x.dtype).eps)

    def start(self, x: _sturm.Numbers) -> _sturm.Numbers:
        return jnp.broadcast_to(self.boundary, x.shape)

    def block(self, row: Float[Array, "3 block"], ratio: _sturm.Numbers, shift: _sturm.Shift) -> _sturm.BlockResult:
        ratio, lift = _sturm.cut(ratio)
        cosine, sine = shift
        x, y = ratio * lift, jnp.broadcast_to(lift, ratio.shape)
        minors = [y]
        for j in range(row.shape[1]):
            x, y = row[0, j] * x + row[1, j] * y, row[2, j] * y
            x, y = cosine * x + sine * y, cosine * y - sine * x
            minors.append(y)
        return x / _sturm.nonzero(y), minors


def _prepare(coefficients: Verblunsky, rows: int = _sturm.ROWS) -> tuple[Circular, int]:
    """The matrix, and the number of levels at -π that its padding adds: a padded row always changes the sign."""
    squeeze, shear, stretch = coefficients.affine()
    least = _sturm.floor(squeeze.dtype)
    packed = _sturm.packed(rows, (_sturm.floored(squeeze), least), (shear, 1.0), (_sturm.floored(stretch), least))
    ratio = 1 / jnp.tan(coefficients.boundary / 2)
    return Circular(packed, jnp.int32(0), -1.0, 1.0, ratio), packed.shape[0] * packed.shape[2] - coefficients.n


@compiled
def eigenphase_counts(coefficients: Verblunsky, x: _sturm.Numbers) -> Int[Array, "*shape"]:
    """Number of eigenphases in (-π, π) strictly below each x."""
    coefficients, x = jax.lax.stop_gradient((coefficients, x))
    matrix, padding = _prepare(coefficients)
    points = jnp.clip(x.astype(coefficients.modulus.dtype) / math.pi, -1, 1)
    below = _sturm.total_count(matrix, points) - padding
    return jnp.where(x <= -math.pi, 0, jnp.where(x >= math.pi, coefficients.n, below))


@jax.custom_jvp
def _eigenphases(coefficients: Verblunsky) -> Float[Array, " n"]:
    """All eigenphases, ascending in (-π, π]."""
    n = coefficients.n
    matrix, padding = _prepare(coefficients, _sturm_search.rows_in_a_step(n, coefficients.modulus.dtype))
    return math.pi * _sturm_search.eigenvalues(matrix, padding + n, padding, padding + n)


@_eigenphases.defjvp
def _eigenphases_jvp(primals: tuple, tangents: tuple) -> tuple:
    """The derivative by the implicit function theorem: the last y vanishes at an eigenphase."""
    (coefficients,), (change,) = primals, tangents
    phases = eigenphases(coefficients)
    _, by_phase = jax.jvp(lambda phases: _last(phases, coefficients), (phases,), (jnp.ones_like(phases),))
    _, by_change = jax.jvp(lambda coefficients: _last(phases, coefficients), (coefficients,), (change,))
    return phases, -by_change / by_phase


eigenphases = compiled(_eigenphases)


def _last(phases: Float[Array, " k"], coefficients: Verblunsky) -> Float[Array, " k"]:
    """The last y, up to a positive factor that is treated as constant."""
    cosine, sine = -jnp.sin(phases / 2), jnp.cos(phases / 2)

    def step(vector: tuple, row: tuple) -> tuple[tuple, None]:
        (x, y), (squeeze, shear, stretch) = vector, row
        x, y = squeeze * x + shear * y, stretch * y
        x, y = cosine * x + sine * y, cosine * y - sine * x
        length = jax.lax.stop_gradient(jnp.maximum(jnp.abs(x), jnp.abs(y)))
        return (x / length, y / length), None

    half = coefficients.boundary / 2
    rows = coefficients.affine()
    start = [jnp.broadcast_to(part, phases.shape) for part in (jnp.cos(half), jnp.sin(half))]
    return jax.lax.scan(step, tuple(varying_like(start, phases, rows)), rows)[0][1]
