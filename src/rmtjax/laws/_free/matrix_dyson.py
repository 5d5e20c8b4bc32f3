r"""The solution of Dyson's equation of matrices, $G = (zJ - A - \sum_i T_i)^{-1}$.

A semicircular variable contributes the term $T_i = C_i G C_i$; other ones are in `free_letters.py`. The unknowns are
the coordinates y of the terms in spaces of matrices. Far above the axis they are nearly constant, and the solution on
the axis is the end of the path $x + ie$ for e from ∞ to 0. Newton's method goes along it in leaps, each shortened until
its own steps shrink at a given rate. Between two of its steps the means of y and of its image by the equation damp all
errors but the slow one, in the direction in which G is nearly singular; beside an infinite density Newton's method
alone converges only if they are small. A solution has a negative imaginary part of G or, where it is real, a negative
derivative (Helton, Rashidi Far and Speicher 2007, Int. Math. Res. Notices, rnm086). If it does not, the leaps have
ended on another branch, and the path is walked again with shorter ones. Where no path succeeds the solution is NaN.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float, Inexact, Int

from rmtjax._promotion import like
from rmtjax._varying import varying_like
from rmtjax.laws._core.half_plane import in_plane
from rmtjax.laws._free.free_letters import FreeLetters
from rmtjax.linalg.internal import inverse_of_each, solve_each

# The share of the distance to the axis that a leap leaves. Next to an end of a band none beyond 1/4 succeeds.
_LEAPS = np.array([0.0, 1 / 256, 1 / 16, 1 / 4, 1 / 2, 3 / 4, 0.9])
_RATE = 0.4
# A solution changes by less than this share in the equation.
_NEAR = 0.1
_MOST_STEPS = 500
_MOST_STARTS = 4
_FIRST_STEPS = 40
_AVERAGES = 3
# So many points are solved together, because most take 10 steps and a few take 100.
_LANES = 32


class Equation(NamedTuple):
    """The matrices J and A, a basis of the space of all terms T, and how the next terms follow from G."""

    corner: Complex[Array, "D D"]
    shift: Complex[Array, "D D"]
    basis: Complex[Array, "m D D"]
    duals: Complex[Array, "k D D"]  # the matrices D for which tr DG are the coordinates of the semicircular terms
    others: FreeLetters
    height: Float[Array, ""]  # so far above the axis the corner of G is nearly 1/z

    def energy(self, y: Complex[Array, "... m"]) -> Complex[Array, "... D D"]:
        """The sum of all terms."""
        return jnp.einsum("...m,mij->...ij", y, self.basis)

    def sum_of(self, y: Complex[Array, "... m"]) -> Complex[Array, "... D D"]:
        """The sum with A."""
        energy = self.energy(y)
        return energy + jnp.broadcast_to(self.shift, energy.shape)

    def resolvent(self, z: Complex[Array, "..."], y: Complex[Array, "... m"]) -> Complex[Array, "... D D"]:
        """The matrix G."""
        return inverse_of_each(jnp.multiply.outer(z, self.corner) - self.sum_of(y))

    def of_others(self, y: Complex[Array, "... m"]) -> Complex[Array, "... m-k"]:
        """The coordinates of the terms that are not semicircular."""
        return y[..., self.duals.shape[0] :]

    def next_terms(self, g: Complex[Array, "... D D"], others: Complex[Array, "... m-k"]) -> Complex[Array, "... m"]:
        """The semicircular terms that follow from G, with other ones."""
        return jnp.concatenate([jnp.einsum("mji,...ij->...m", self.duals, g), others], axis=-1)

    def image(self, z: Complex[Array, "..."], y: Complex[Array, "... m"]) -> Complex[Array, "... m"]:
        """The coordinates of the next terms."""
        g, others = self.resolvent(z, y), self.of_others(y)
        return self.next_terms(g, self.others.coordinates(g, others) if self.others.laws else others)

    def potential(self, g: Complex[Array, "... D D"], y: Complex[Array, "... m"]) -> Complex[Array, "..."]:
        r"""The sum of $\frac12 \operatorname{tr} G C G C$ and of the potentials of the other variables."""
        first = self.duals.shape[0]
        energy = jnp.einsum("...m,mij->...ij", y[..., :first], self.basis[:first])
        half = jnp.einsum("...ij,...ji->...", g, energy) / 2
        return half + self.others.potential(g, self.of_others(y)) if self.others.laws else half

    def newton(
        self, z: Complex[Array, "..."], y: Complex[Array, "... m"]
    ) -> tuple[Complex[Array, "... D D"], Complex[Array, "... m"], Complex[Array, "... m m"], Complex[Array, "... m"]]:
        """The matrix G, the image, the derivative of y less the image by y, and that of the image by z."""
        g, others, number = self.resolvent(z, y), self.of_others(y), self.basis.shape[0]
        directions = jnp.concatenate([self.basis, -self.corner[None]])
        turned = jnp.einsum("...ij,mjk,...kl->...mil", g, directions, g)
        slopes = jnp.einsum("nji,...mij->...nm", self.duals, turned)
        if self.others.laws:
            others, further = self.others.coordinates_and_slopes(g, others, turned)
            slopes = jnp.concatenate([slopes, further], axis=-2)
        rest = jnp.broadcast_to(jnp.eye(number, dtype=y.dtype), slopes[..., :-1].shape) - slopes[..., :-1]
        return g, self.next_terms(g, others), rest, slopes[..., -1]


class _Path(NamedTuple):
    """Where the walk stands at each point."""

    at: Complex[Array, "... m"]  # the solution
    height: Float[Array, "..."]  # at this distance above the point,
    trial: Complex[Array, "... m"]  # and Newton's method on its way to the next one,
    last: Float[Array, "..."]  # with the length of its last step; infinite before the first one
    leap: Int[Array, "..."]
    falls: Bool[Array, "..."]  # whether the derivative of the diagonal of G was negative at the last step
    done: Bool[Array, "..."]
    number: Int[Array, ""]


class _Starts(NamedTuple):
    found: Complex[Array, "... m"]
    done: Bool[Array, "..."]
    rate: Float[Array, ""]
    number: Int[Array, ""]


def matrix_dyson_solution(equation: Equation, z: Complex[Array, "..."]) -> Complex[Array, "... m"]:
    """The coordinates y of S[G], for z in the closed upper half plane; real outside of the support, NaN if not found.

    Derivatives are those of the implicit function theorem.
    """
    return with_derivatives(equation, z, found_solution(equation, z, beginning(equation)))


def found_solution(
    equation: Equation, z: Complex[Array, "..."], first: Complex[Array, " m"]
) -> Complex[Array, "... m"]:
    """The coordinates as constants, on paths from the `beginning`."""
    equation, z = jax.tree.map(jax.lax.stop_gradient, (equation, z))
    lanes, unknowns = z.ravel(), equation.basis.shape[0]
    if z.size <= _LANES:
        return _solution(equation, lanes, first).reshape(*z.shape, unknowns)
    lanes = jnp.pad(lanes, (0, -z.size % _LANES), mode="edge").reshape(-1, _LANES)
    found = jax.lax.map(lambda z: _solution(equation, z, first), lanes)
    return found.reshape(-1, unknowns)[: z.size].reshape(*z.shape, unknowns)


@jax.custom_jvp
def with_derivatives(
    equation: Equation, z: Complex[Array, "..."], y: Complex[Array, "... m"]
) -> Complex[Array, "... m"]:
    """The solution y, with its derivatives by the equation and the point."""
    del equation, z
    return y


@with_derivatives.defjvp
def _(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    equation, z, y = primals
    y = with_derivatives(equation, z, y)
    _, change = jax.jvp(lambda equation, z: equation.image(z, y), (equation, z), tangents[:2])
    return y, _over(equation.newton(z, y)[2], change[..., None])[..., 0]


def _solution(equation: Equation, z: Complex[Array, " k"], first: Complex[Array, " m"]) -> Complex[Array, "k m"]:
    height = equation.height
    first = jnp.broadcast_to(first, (*z.shape, *first.shape))

    def again(starts: _Starts) -> _Starts:
        path = _walked(equation, z, first, height, starts)
        found = jnp.where(starts.done[..., None], starts.found, _limit(equation, z, path.at))
        # A path that is lost farther from the axis has not seen the solution there.
        near = path.height <= float(jnp.finfo(height.dtype).eps) ** 0.5 * height
        # Nor has one that does not solve the equation as nearly as each step of a path does.
        solves = length_of(equation.image(z, found) - found) < _NEAR * (1 + length_of(found))
        right = near & solves & _is_right(equation, z, found, path.falls)
        return _Starts(found, starts.done | right, starts.rate / 3, starts.number + 1)

    none = _Starts(first, jnp.zeros_like(jnp.real(z), bool), like(height, _RATE), jnp.zeros((), jnp.int32))
    goes_on = lambda starts: ~jnp.all(starts.done) & (starts.number < _MOST_STARTS)
    starts = jax.lax.while_loop(goes_on, again, varying_like(none, equation, z))
    return jnp.where(starts.done[..., None], starts.found, jnp.nan)


def beginning(equation: Equation) -> Complex[Array, " m"]:
    """The solution far above the axis as constants, roughly, by iteration."""
    equation = jax.tree.map(jax.lax.stop_gradient, equation)
    z = jax.lax.complex(0 * equation.height, equation.height)
    rough = float(jnp.finfo(z.dtype).eps) ** 0.25

    def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        y, _, number = state
        image = equation.image(z, y)
        return image, length_of(image - y) / (1 + length_of(image)), number + 1

    first = jnp.full_like(equation.basis[:, 0, 0], -1j), jnp.full_like(jnp.real(z), jnp.inf), jnp.zeros((), jnp.int32)
    goes_on = lambda state: (state[1] > rough) & (state[2] < _FIRST_STEPS)
    return jax.lax.while_loop(goes_on, step, varying_like(first, equation))[0]


def _over(matrix: Complex[Array, "... m m"], vectors: Complex[Array, "... m k"]) -> Complex[Array, "... m k"]:
    """The solution of linear equations, which at the very end of a band are singular."""
    tiny = float(jnp.finfo(matrix.dtype).eps) ** 2
    matrix = matrix + jnp.broadcast_to(tiny * jnp.eye(matrix.shape[-1], dtype=matrix.dtype), matrix.shape)
    return solve_each(matrix, vectors)


def length_of(y: Inexact[Array, "... m"]) -> Float[Array, "..."]:
    """The largest coordinate."""
    return jnp.max(jnp.abs(y), axis=-1)


def _walked(
    equation: Equation, z: Complex[Array, "..."], first: Complex[Array, "... m"], height: Array, starts: _Starts
) -> _Path:
    unknown = jnp.full_like(jnp.real(z), jnp.inf)
    begin = _Path(
        at=first,
        height=jnp.broadcast_to(height, z.shape),
        trial=first,
        last=unknown,
        leap=jnp.zeros_like(unknown, jnp.int32),
        falls=jnp.ones_like(starts.done),
        done=starts.done,
        number=jnp.zeros((), jnp.int32),
    )
    goes_on = lambda path: ~jnp.all(path.done) & (path.number < _MOST_STEPS)
    least = float(jnp.finfo(height.dtype).eps) / 1024 * height
    step = lambda path: _step(equation, z, least, starts.rate, path)
    return jax.lax.while_loop(goes_on, step, varying_like(begin, equation, z))


def _step(equation: Equation, z: Complex[Array, "..."], least: Array, rate: Array, path: _Path) -> _Path:
    eps, share = float(jnp.finfo(least.dtype).eps), like(least, _LEAPS)[path.leap]
    height = jnp.where(path.height * share < least, 0, path.height * share)
    above, trial = jax.lax.complex(jnp.real(z), jnp.imag(z) + height), path.trial
    mean = lambda _, trial: (trial + equation.image(above, trial)) / 2
    trial = jax.lax.fori_loop(0, _AVERAGES, mean, trial)
    g, image, rest, moved = equation.newton(above, trial)
    residual = image - trial
    step, slope = jnp.moveaxis(_over(rest, jnp.stack([residual, moved], axis=-1)), -1, 0)
    there = trial + step
    turn = jnp.broadcast_to(equation.corner, g.shape) - equation.energy(slope)
    falls = _are_negative(-jnp.real(jnp.einsum("...ij,...jk,...ki->...i", g, turn, g)))
    unit = 1 + length_of(there)
    size = length_of(there - trial) / unit
    shrinks = size <= rate * path.last
    rounding = (size <= 4 * eps) | ((size < eps**0.5) & (size > path.last / 4))
    # Beside a pole of G every step is small.
    near = (length_of(residual) < _NEAR * unit) & jnp.isfinite(path.last)
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
        jnp.where(path.done, path.falls, falls),
        done,
        path.number + 1,
    )


def _limit(equation: Equation, z: Complex[Array, "..."], y: Complex[Array, "... m"]) -> Complex[Array, "... m"]:
    """The solution; on the axis the limit from above, real where its imaginary parts are rounding."""
    on_axis = jnp.imag(z) == 0
    # Beside an end the last leap may go to the conjugate solution.
    wrong = on_axis & (jnp.imag(jnp.trace(equation.resolvent(z, y), axis1=-2, axis2=-1)) > 0)
    y = jnp.where(wrong[..., None], jnp.conj(y), y)
    # At the distance δ inside of an end they are of the order of √δ, outside their rounding is one of eps/√δ.
    rounding = float(jnp.finfo(y.dtype).eps) ** 0.5
    real = on_axis & (jnp.max(jnp.abs(jnp.imag(y)), axis=-1) <= rounding * length_of(y))
    return jnp.where(real[..., None], in_plane(jnp.real(y)), y)


def _is_right(
    equation: Equation, z: Complex[Array, "..."], y: Complex[Array, "... m"], falls: Bool[Array, "..."]
) -> Bool[Array, "..."]:
    """Whether the diagonal of G has negative imaginary parts, or where it is real a negative derivative."""
    is_real = jnp.all(jnp.imag(y) == 0, axis=-1) & (jnp.imag(z) == 0)
    diagonal = jnp.diagonal(equation.resolvent(z, y), axis1=-2, axis2=-1)
    return jnp.where(is_real, falls, _are_negative(jnp.imag(diagonal)))


def _are_negative(numbers: Float[Array, "... D"]) -> Bool[Array, "..."]:
    """Whether all numbers are negative, but for rounding."""
    least = float(jnp.finfo(numbers.dtype).eps) ** 0.75
    return jnp.all(numbers <= least * jnp.max(jnp.abs(numbers), axis=-1, keepdims=True), axis=-1)
