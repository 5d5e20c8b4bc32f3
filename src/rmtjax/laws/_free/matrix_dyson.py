r"""The solution of Dyson's equation of matrices, $G = (zJ - A - S[G])^{-1}$ with $S[G] = \sum_i C_i G C_i$.

The unknowns are the coordinates y of S[G] in a space of matrices. Far above the axis they are nearly constant, and the
solution on the axis is the end of the path $x + ie$ for e from ∞ to 0. Newton's method goes along it, by leaps as long
as its own steps shrink at a given rate. Between two of its steps the means of y and of its image by the equation damp
all errors but the slow one, in the direction in which G is nearly singular; beside an infinite density Newton's method
alone converges only if they are small. A solution has a negative imaginary part of G or, where it is real, a negative
derivative (Helton, Rashidi Far and Speicher 2007, Int. Math. Res. Notices, rnm086). If it does not, the leaps have
ended on another branch, and the path is walked again with shorter ones.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float, Int

from rmtjax._promotion import like
from rmtjax.laws._core.half_plane import in_plane

# The share of the distance to the axis that a leap leaves. Next to an end of a band none beyond 1/4 succeeds.
_LEAPS = np.array([0.0, 1 / 256, 1 / 16, 1 / 4, 1 / 2, 3 / 4, 0.9])
_RATE = 0.4
_MOST_STEPS = 500
_MOST_STARTS = 4
_FIRST_STEPS = 40
_AVERAGES = 3
# So many points are solved together, because most take 10 steps and a few take 100.
_LANES = 32


class Equation(NamedTuple):
    """The matrices J and A, a basis of the space of S[G], and the matrices D for which tr DG are its coordinates."""

    corner: Complex[Array, "d d"]
    shift: Complex[Array, "d d"]
    basis: Complex[Array, "m d d"]
    duals: Complex[Array, "m d d"]

    def energy(self, y: Complex[Array, "... m"]) -> Complex[Array, "... d d"]:
        """The matrix S[G]."""
        return jnp.einsum("...m,mij->...ij", y, self.basis)

    def sum_of(self, y: Complex[Array, "... m"]) -> Complex[Array, "... d d"]:
        """The sum A + S[G]."""
        energy = self.energy(y)
        return energy + jnp.broadcast_to(self.shift, energy.shape)

    def resolvent(self, z: Complex[Array, "..."], y: Complex[Array, "... m"]) -> Complex[Array, "... d d"]:
        """The matrix G."""
        return jnp.linalg.inv(jnp.multiply.outer(z, self.corner) - self.sum_of(y))

    def coordinates(self, g: Complex[Array, "... d d"]) -> Complex[Array, "... m"]:
        """The coordinates of S[G]."""
        return jnp.einsum("mji,...ij->...m", self.duals, g)

    def rest(self, g: Complex[Array, "... d d"]) -> Complex[Array, "... m m"]:
        """The derivative of the residual, y less the coordinates of S[G]."""
        turned = jnp.einsum("...ij,mjk,...kl->...mil", g, self.basis, g)
        slopes = jnp.einsum("nji,...mij->...nm", self.duals, turned)
        return jnp.broadcast_to(jnp.eye(slopes.shape[-1], dtype=slopes.dtype), slopes.shape) - slopes


class _Path(NamedTuple):
    """Where the walk stands at each point."""

    at: Complex[Array, "... m"]  # the solution
    height: Float[Array, "..."]  # at this distance above the point,
    trial: Complex[Array, "... m"]  # and Newton's method on its way to the next one,
    last: Float[Array, "..."]  # with the length of its last step; infinite before the first one
    leap: Int[Array, "..."]
    done: Bool[Array, "..."]
    number: Int[Array, ""]


class _Starts(NamedTuple):
    found: Complex[Array, "... m"]
    done: Bool[Array, "..."]
    rate: Float[Array, ""]
    number: Int[Array, ""]


def equation_of(
    corner: np.ndarray,
    shift: Complex[Array, "d d"],
    letters: Complex[Array, "l d d"],
    basis: np.ndarray,
    entries: np.ndarray,
) -> Equation:
    """The equation of a pencil.

    Args:
        corner: J.
        shift: A.
        letters: all C.
        basis: self-adjoint matrices that span the space of S[G].
        entries: as many matrices E for which tr(E S[G]) are the coordinates.
    """
    duals = jnp.einsum("lij,mjk,lkn->min", letters, like(shift, entries), letters)
    return Equation(like(shift, corner), shift, like(shift, basis), duals)


@jax.custom_jvp
def matrix_dyson_solution(equation: Equation, z: Complex[Array, "..."]) -> Complex[Array, "... m"]:
    """The coordinates y of S[G], for z in the closed upper half plane; real outside of the support.

    Derivatives are those of the implicit function theorem.
    """
    lanes, unknowns = z.ravel(), equation.duals.shape[0]
    if z.size <= _LANES:
        return _solution(equation, lanes).reshape(*z.shape, unknowns)
    lanes = jnp.pad(lanes, (0, -z.size % _LANES), mode="edge").reshape(-1, _LANES)
    found = jax.lax.map(lambda z: _solution(equation, z), lanes)
    return found.reshape(-1, unknowns)[: z.size].reshape(*z.shape, unknowns)


@matrix_dyson_solution.defjvp
def _(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    equation, z = primals
    y = matrix_dyson_solution(equation, z)
    image = lambda equation, z: equation.coordinates(equation.resolvent(z, y))
    _, change = jax.jvp(image, primals, tangents)
    return y, _over(equation.rest(equation.resolvent(z, y)), change)


def _solution(equation: Equation, z: Complex[Array, " k"]) -> Complex[Array, "k m"]:
    start = jnp.sum(jnp.abs(equation.duals)) + jnp.sum(jnp.abs(equation.shift)) + 1
    far = jax.lax.complex(0 * start, start / float(jnp.finfo(start.dtype).eps))
    plain = lambda _, y: equation.coordinates(equation.resolvent(far, y))
    first = jax.lax.fori_loop(0, _FIRST_STEPS, plain, jnp.zeros_like(equation.duals[:, 0, 0]))
    first = jnp.broadcast_to(first, (*z.shape, *first.shape))

    def again(starts: _Starts) -> _Starts:
        found = _walked(equation, z, first, 16 * start, starts)
        found = jnp.where(starts.done[..., None], starts.found, _limit(equation, z, found))
        return _Starts(found, starts.done | _is_right(equation, z, found), starts.rate / 3, starts.number + 1)

    none = _Starts(first, jnp.zeros_like(jnp.real(z), bool), like(start, _RATE), jnp.zeros((), jnp.int32))
    goes_on = lambda starts: ~jnp.all(starts.done) & (starts.number < _MOST_STARTS)
    return jax.lax.while_loop(goes_on, again, none).found


def _over(matrix: Complex[Array, "... m m"], vector: Complex[Array, "... m"]) -> Complex[Array, "... m"]:
    """The solution of linear equations, which at the very end of a band are singular."""
    tiny = float(jnp.finfo(matrix.dtype).eps) ** 2
    matrix = matrix + jnp.broadcast_to(tiny * jnp.eye(matrix.shape[-1], dtype=matrix.dtype), matrix.shape)
    return jnp.linalg.solve(matrix, vector[..., None])[..., 0]


def _length(y: Complex[Array, "... m"]) -> Float[Array, "..."]:
    return jnp.max(jnp.abs(y), axis=-1)


def _walked(
    equation: Equation, z: Complex[Array, "..."], first: Complex[Array, "... m"], height: Array, starts: _Starts
) -> Complex[Array, "... m"]:
    unknown = jnp.full_like(jnp.real(z), jnp.inf)
    begin = _Path(
        at=first,
        height=jnp.broadcast_to(height, z.shape),
        trial=first,
        last=unknown,
        leap=jnp.zeros_like(unknown, jnp.int32),
        done=starts.done,
        number=jnp.zeros((), jnp.int32),
    )
    goes_on = lambda path: ~jnp.all(path.done) & (path.number < _MOST_STEPS)
    least = float(jnp.finfo(height.dtype).eps) / 1024 * height
    return jax.lax.while_loop(goes_on, lambda path: _step(equation, z, least, starts.rate, path), begin).at


def _step(equation: Equation, z: Complex[Array, "..."], least: Array, rate: Array, path: _Path) -> _Path:
    eps, share = float(jnp.finfo(least.dtype).eps), like(least, _LEAPS)[path.leap]
    height = jnp.where(path.height * share < least, 0, path.height * share)
    above, trial = jax.lax.complex(jnp.real(z), jnp.imag(z) + height), path.trial
    for _ in range(_AVERAGES):
        trial = (trial + equation.coordinates(equation.resolvent(above, trial))) / 2
    g = equation.resolvent(above, trial)
    residual = equation.coordinates(g) - trial
    there = trial + _over(equation.rest(g), residual)
    unit = 1 + _length(there)
    size = _length(there - trial) / unit
    shrinks = size <= rate * path.last
    rounding = (size <= 4 * eps) | ((size < eps**0.5) & (size > path.last / 4))
    # Beside a pole of G every step is small.
    near = (_length(residual) < 0.1 * unit) & jnp.isfinite(path.last)
    ended = ~path.done & near & jnp.where(height == 0, rounding, shrinks & (size < eps**0.25))
    failed = ~path.done & ~ended & (~jnp.isfinite(size) | (~shrinks & (size > eps**0.5)))
    # At an end, or where the density is infinite, the path comes no nearer to the axis.
    lost = failed & ((path.height <= least) | (path.leap == _LEAPS.size - 1))
    done = path.done | (ended & (height == 0)) | lost
    leap = jnp.clip(path.leap + jnp.where(failed, 1, 0) - jnp.where(ended, 1, 0), 0, _LEAPS.size - 1)
    at = jnp.where(ended[..., None], there, path.at)
    return _Path(
        at,
        jnp.where(ended, height, path.height),
        jnp.where((done | failed)[..., None], at, there),
        jnp.where(ended | failed, jnp.inf, size),
        leap,
        done,
        path.number + 1,
    )


def _limit(equation: Equation, z: Complex[Array, "..."], y: Complex[Array, "... m"]) -> Complex[Array, "... m"]:
    """The solution; on the axis the limit from above, real where its imaginary parts are rounding."""
    on_axis = jnp.imag(z) == 0
    # Beside an end the last leap may go to the conjugate solution.
    wrong = on_axis & (jnp.imag(equation.resolvent(z, y)[..., 0, 0]) > 0)
    y = jnp.where(wrong[..., None], jnp.conj(y), y)
    # At the distance δ inside of an end they are of the order of √δ, outside their rounding is one of eps/√δ.
    rounding = float(jnp.finfo(y.dtype).eps) ** 0.5
    real = on_axis & (jnp.max(jnp.abs(jnp.imag(y)), axis=-1) <= rounding * _length(y))
    return jnp.where(real[..., None], in_plane(jnp.real(y)), y)


def _is_right(equation: Equation, z: Complex[Array, "..."], y: Complex[Array, "... m"]) -> Bool[Array, "..."]:
    """Whether the diagonal of G has negative imaginary parts, or where it is real a negative derivative."""
    g = equation.resolvent(z, y)
    derivative = lambda shift: -jnp.einsum("...ij,...jk,...ki->...i", g, shift, g)
    corner = jnp.broadcast_to(equation.corner, g.shape)
    moved = -jnp.einsum("...ij,...jk,...kl->...il", g, corner, g)
    slope = _over(equation.rest(g), equation.coordinates(moved))
    slope = derivative(corner - equation.energy(slope))
    is_real = jnp.all(jnp.imag(y) == 0, axis=-1) & (jnp.imag(z) == 0)
    signs = jnp.where(is_real[..., None], jnp.real(slope), jnp.imag(jnp.diagonal(g, axis1=-2, axis2=-1)))
    least = float(jnp.finfo(signs.dtype).eps) ** 0.75
    return jnp.all(signs <= least * jnp.max(jnp.abs(signs), axis=-1, keepdims=True), axis=-1)
