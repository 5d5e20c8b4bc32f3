r"""Polynomials of independent Gaussian matrices.

With the pencil $L(z) = zJ - A - \sum_i C_i x_i$ of `linearised.py` and $B = zJ - A - S[G]$, the potential is

$$U(z) = \log |\det B| + \tfrac12 \operatorname{tr} G S[G]$$

up to a constant angle, because it is stationary in G: the derivative of the logarithm is $-\operatorname{tr} G\,dS[G]$,
that of the trace is the same without the sign, and $dU/dz = \operatorname{tr} JG$. It is $\log z$ at infinity, as the
determinant of the lower blocks is ±1 for all values of the variables. The angle is known up to 2π and lies between 0
and π.

The moments. With $D = (zJ - A)^{-1}$ and t = 1/z, $M = G D^{-1}$ solves $M = 1 + D\,S[MD]\,M$, and its first entry is
the series of the moments in t. Each turn of this map makes one further pair of letters right.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Complex, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import in_one_precision, like
from rmtjax._typing import RealScalarLike
from rmtjax._units import times_power
from rmtjax.laws._core.base import FEW
from rmtjax.laws._core.half_plane import in_plane, quotient_of_one, upper_logs
from rmtjax.laws._core.orders import no_more_than
from rmtjax.laws._free.from_transforms import AbstractLawOfTransforms
from rmtjax.laws._free.gaps import Lanes, bisected, in_gap, with_quantiles
from rmtjax.laws._free.linearised import Pencil, pencil_of
from rmtjax.laws._free.matrix_dyson import Equation, equation_of, matrix_dyson_solution
from rmtjax.laws._free.soft_ends import soft_ends
from rmtjax.linalg.internal import hermitian_part

_HIGHEST_DEGREE = 8


class FreePolynomial(AbstractLawOfTransforms):
    r"""The law of a self-adjoint polynomial in free semicircular variables.

    It is the limiting law of the levels of $P(X, Y, \dots)$ for independent matrices of `GOE`, `GUE` or `Wigner`, of
    which each has the law `Semicircle(2.0)`. The polynomial is given by its words: `{"xy": 1, "yx": 1}` is the
    anticommutator XY + YX, and `{"xy": 1j, "yx": -1j}` the commutator i(XY - YX).

    The density comes from Dyson's equation for a matrix whose first block is the resolvent of the polynomial. The
    support is one interval without atoms. The density is right to some $10^{-14}$ (single precision: $10^{-6}$) at a
    point within some ulp of x. It may be infinite at an end, as that of X² at 0, or inside, as that of X³ at 0; at the
    distance δ from there its relative error is a few eps/√δ, and such an end is found to $10^{-14}$ if the polynomial
    is a single word, and to some $10^{-6}$ otherwise (single precision: $10^{-3}$), without derivatives. A point takes
    about ten steps of Newton's method for a matrix of the order of the number of words.

    Convention: each variable has mean 0 and variance 1, the support [-2, 2].

    Args:
        terms: the coefficient of each word. A letter is a variable, and "" is the constant. The coefficient of the
            reversed word is the complex conjugate. The degree is at most 8. Which words there are is static.

    Raises:
        ValueError: an argument is outside its range.

    Example:
        >>> law = FreePolynomial({"xy": 1.0, "yx": 1.0})
        >>> print(f"{law.var():.1f} {law.support()[1]:.4f}")
        2.0 3.3302

    References:
        Belinschi, Mai and Speicher (2017), J. reine angew. Math. 732, 21; Helton, Rashidi Far and Speicher (2007), Int.
        Math. Res. Notices, rnm086, for the equation; Shlyakhtenko and Skoufranis (2015), Trans. Amer. Math. Soc. 367,
        for the support.
    """

    coefficients: Annotated[Float[Array, " k"], _checks.ALL_FINITE]  # real parts of all words, then imaginary parts
    words: tuple[str, ...] = eqx.field(static=True)  # one of each and its reverse
    is_complex: bool = eqx.field(static=True)

    def __init__(self, terms: Mapping[str, RealScalarLike | complex]):
        self.words, self.coefficients, self.is_complex = _halved(terms)

    def _degrees(self) -> dict[str, int]:
        return {"coefficients": 1}

    def _pencil(self) -> Pencil:
        return pencil_of(self.words, self.is_complex)

    def _matrices(self) -> Inexact[Array, "l d d"]:
        """The matrix A, and C for each letter."""
        pencil = self._pencil()
        coefficients = in_plane(self.coefficients) if self.is_complex else self.coefficients
        sums = jnp.einsum("k,klij->lij", coefficients, like(coefficients, pencil.slopes))
        return sums + like(coefficients, pencil.fixed)

    def _equation(self, z: Complex[Array, "..."]) -> Equation:
        matrices = like(z, self._matrices())
        corner = np.zeros(matrices.shape[1:])
        corner[0, 0] = 1
        return equation_of(corner, matrices[0], matrices[1:], self._pencil().basis, self._pencil().entries)

    def _h_of(self, sums: Complex[Array, "... d d"]) -> Complex[Array, "..."]:
        """The function h = 1/G - z, as the Schur complement of the corner."""
        row, column = sums[..., :1, 1:], sums[..., 1:, :1]
        return (row @ jnp.linalg.solve(sums[..., 1:, 1:], column))[..., 0, 0] - sums[..., 0, 0]

    def _h(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        equation = self._equation(z)
        return self._h_of(equation.sum_of(matrix_dyson_solution(equation, z)))

    def _stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        return quotient_of_one(z + self._h(z))

    def _subordination(self, w: Complex[Array, "..."]) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
        return jax.jvp(self._h, (w,), (jnp.ones_like(w),))

    def _log_potential(self, w: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
        equation = self._equation(w)
        return self._log_potential_of(equation, w, matrix_dyson_solution(equation, w))

    def _log_potential_of(
        self, equation: Equation, w: Complex[Array, "..."], y: Complex[Array, "... m"]
    ) -> Complex[Array, "2 ..."]:
        """The potentials at w, from the solution y there."""
        g = jax.lax.stop_gradient(equation.resolvent(w, y))
        y = equation.coordinates(g)
        sums, half = equation.sum_of(y), jnp.einsum("...ij,...ji->...", g, equation.energy(y)) / 2
        phase, size = jnp.linalg.slogdet(-sums[..., 1:, 1:])
        rest = jnp.log(phase * self._pencil().sign) + half + like(w, size)
        logs = upper_logs(w + self._h_of(sums)) + rest[None]
        # The angles are known up to 2π. The first lies between 0 and π, the second between -π and 0.
        angle = jnp.imag(logs) + like(size, np.reshape([np.pi / 2, 3 * np.pi / 2], (2, *[1] * w.ndim)))
        turns = jnp.floor(jax.lax.stop_gradient(angle) / (2 * np.pi))
        return jax.lax.complex(jnp.real(logs), jnp.imag(logs) - 2 * np.pi * turns)

    def _reach(self) -> tuple[Array, Array]:
        """The constant, and a bound on the rest."""
        weights = [(1 + (word != word[::-1])) * 2.0 ** len(word) * (word != "") for word, _ in self._pencil().numbers]
        reach = jnp.abs(self.coefficients) @ like(self.coefficients, weights)
        return self.coefficients[0] if self.words[0] == "" else 0 * reach, reach

    def _carrier(self) -> tuple[Array, Array]:
        constant, reach = self._reach()
        return constant - reach, constant + reach

    def _is_bounded(self) -> bool:
        return True

    def _ends(self, levels: Float[Array, " k"]) -> Float[Array, " 2k+2"]:
        constant = jax.tree.map(jax.lax.stop_gradient, self)
        lower, upper = constant._carrier()
        size = upper - lower
        eps = float(jnp.finfo(size.dtype).eps)

        def probe(x: Float[Array, " m"], levels: Float[Array, " m"]) -> tuple[Array, Array, Array]:
            z = in_plane(x)
            equation = constant._equation(z)
            y = matrix_dyson_solution(equation, z)
            is_real = jnp.all(jnp.imag(y) == 0, axis=-1)
            return *in_gap(is_real, constant._log_potential_of(equation, z, y), levels), x

        def is_narrow(lanes: Lanes) -> Bool[Array, " m"]:
            return lanes.upper - lanes.lower <= 2 * eps * jnp.maximum(size, jnp.abs(lanes.upper))

        # An end with an infinite density has no interpolation, so the bisection goes on to the last digit.
        lanes = bisected(probe, levels, lower - size / 64, upper + size / 64, is_narrow)
        middle, half = lanes.middle(), eps**0.5 * size / 2
        wide = lanes._replace(lower=middle - half, upper=middle + half)
        ends = self._polished(constant, wide)
        ends = jnp.where(jnp.abs(ends - middle) <= eps**0.75 * size, ends, middle)
        return with_quantiles(self, ends, lanes, levels)

    def _polished(self, constant: Self, lanes: Lanes) -> Float[Array, " m"]:
        """The ends by interpolation in the squared density, with their derivatives by the parameters."""

        def solution(x: Float[Array, "... m"]) -> tuple[Array, Array, Array]:
            z = in_plane(x)
            equation = constant._equation(z)
            g = equation.resolvent(z, matrix_dyson_solution(equation, z))
            even = hermitian_part(g)
            odd = (even - g) * 1j
            return jnp.real(odd[..., 0, 0]), even, odd

        def excess(x: Float[Array, " m"], g: Complex[Array, "m d d"], v: Complex[Array, "m d d"]) -> Float[Array, " m"]:
            z = in_plane(x)
            equation = self._equation(z)
            sums = equation.sum_of(equation.coordinates(g))
            residual = jnp.multiply.outer(z, equation.corner) - sums - jnp.linalg.inv(g)
            return jnp.real(jnp.einsum("mij,mji->m", v, residual)) / jnp.real(v[:, 0, 0])

        return soft_ends(lanes, solution, excess)

    def _moments_without_constant(self, shift: Array, k: int) -> Float[Array, " k+1"]:
        """The moments up to the order k of the polynomial with another constant."""
        matrices = self._matrices()
        kernel, letters = matrices[0, 1:, 1:], matrices[1:]
        half, size = kernel.shape[0] // 2, letters.shape[-1]
        # The inverse of the lower blocks of -A, and the first power of t.
        one = jnp.eye(half, dtype=letters.dtype)
        inverse = jnp.block([[0 * one, one], [one, kernel[:half, :half]]])
        lower, corner = jnp.pad(inverse, ((1, 0), (1, 0))), like(letters, np.diag(np.arange(size) == 0))
        behind = np.subtract.outer(np.arange(k + 1), np.arange(k + 1))
        later = lambda series: jnp.concatenate([0 * series[:1], series[:-1]])

        def turn(_: Array, series: Inexact[Array, "k+1 d d"]) -> Inexact[Array, "k+1 d d"]:
            g = series @ lower[None] + later(series) @ corner[None]
            energy = jnp.einsum("lij,kjm,lmn->kin", letters, g, letters).at[0].add(like(letters, shift) * corner)
            factors = lower[None] @ energy + corner[None] @ later(energy)
            factors = jnp.where((behind >= 0)[..., None, None], factors[np.maximum(behind, 0)], 0)
            return jnp.einsum("kjab,jbc->kac", factors, series).at[0].add(jnp.eye(size, dtype=letters.dtype))

        turns = 1 + k * (max(map(len, self.words)) // 2 + 1)
        series = jax.lax.fori_loop(0, turns, turn, jnp.zeros((k + 1, size, size), letters.dtype))
        return jnp.real(series[:, 0, 0])

    def _moment(self, k: int) -> Float[Array, ""]:
        no_more_than(100, k)
        if k <= FEW:
            return self._moments_without_constant(self._reach()[0], k)[k]
        # The carrier may be so wide that in its unit high moments would be 0.
        law, unit = self._in_unit()
        spread = jax.lax.stop_gradient(law._moment(FEW)) ** (1 / FEW)
        law = eqx.tree_at(lambda law: law.coefficients, law, law.coefficients / spread)
        return times_power(law._moments_without_constant(law._reach()[0], k)[k], unit * spread, k)

    def _central_moments(self, *orders: int) -> tuple[Float[Array, ""], ...]:
        zero = 0 * self._reach()[0]
        moments = self._moments_without_constant(-self._moments_without_constant(zero, 1)[1], max(orders))
        return tuple(moments[k] for k in orders)


def _halved(terms: Any) -> tuple[tuple[str, ...], Float[Array, " k"], bool]:
    """One of each word and its reverse, and their coefficients."""
    if not isinstance(terms, Mapping) or not all(isinstance(word, str) for word in terms):
        raise _checks.refusal("terms", 'be a mapping from words to coefficients, as {"xy": 1.0, "yx": 1.0}', terms)
    degree = max(map(len, terms), default=0)
    if not 1 <= degree <= _HIGHEST_DEGREE:
        raise _checks.refusal("terms", f"have a word of 1 to {_HIGHEST_DEGREE} letters, and none longer", list(terms))
    if not all(word.isalpha() for word in terms if word):
        raise _checks.refusal("terms", 'have words of letters only, as "xxy" for x²y', list(terms))
    given = in_one_precision([_checks.numbers(f"terms[{word!r}]", value) for word, value in terms.items()])
    if any(value.shape != () for value in given):
        raise _checks.refusal("terms", "have scalars as coefficients", terms)
    coefficients = dict(zip(terms, given, strict=True))
    for word, value in coefficients.items():
        other = coefficients.get(word[::-1])
        known = not isinstance(value, Tracer) and not isinstance(other, Tracer)
        if other is None or (known and not jnp.isnan(value) and complex(value) != complex(other).conjugate()):
            must = f"be self-adjoint: the coefficient of {word[::-1]!r} is the conjugate of that of {word!r}"
            raise _checks.refusal("terms", must, None if other is None else complex(other))
    if all(not isinstance(value, Tracer) and value == 0 for word, value in coefficients.items() if word):
        raise _checks.refusal("terms", "have coefficients that are not all 0", terms)
    words = tuple(sorted(word for word in terms if word <= word[::-1]))
    both = [(jnp.real, False), (jnp.imag, True)]
    is_complex = any(map(jnp.iscomplexobj, given))
    numbers = [
        (part(coefficients[word]) + (-1 if is_imaginary else 1) * part(coefficients[word[::-1]])) / 2
        for part, is_imaginary in both[: 1 + is_complex]
        for word in words
        if not (is_imaginary and word == word[::-1])
    ]
    return words, jnp.stack(numbers), is_complex
