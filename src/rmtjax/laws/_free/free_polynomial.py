r"""Polynomials of independent matrices.

With the pencil $L(z) = zJ - A - \sum_i C_i x_i$ of `linearised.py` and $B = zJ - A - \sum_i T_i$, the potential is

$$d\,U(z) = \log |\det B| + \tfrac12 \sum \operatorname{tr} G C_i G C_i + \sum E \log \det(G (\Omega_i - C_i x_i))$$

for coefficients of order d, with the first sum over semicircular variables and the second over the other ones, where
$\Omega_i = G^{-1} + T_i$ in the rows of $C_i$ (`free_letters.py`). It is stationary in G and in all terms: the
derivatives of $\log \det B$ are $-\operatorname{tr} G\,dT_i$, those of the rest the same without the sign, and the
derivatives by G of the last sum vanish. And $d\,dU/dz = \operatorname{tr} JG$. It is $d \log z$ at infinity, as the
determinant of the lower blocks is ±1 for all values of the variables.

The moments of semicircular variables. With $D = (zJ - A)^{-1}$ and t = 1/z, $M = G D^{-1}$ solves
$M = 1 + D\,S[MD]\,M$ with $S[G] = \sum_i C_i G C_i$, and its corner is the series of the moments in t. Each turn of
this map makes one further pair of letters right.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Complex, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import in_one_precision, like
from rmtjax._typing import ArrayLike
from rmtjax._units import times_power
from rmtjax._varying import varying_like
from rmtjax.laws._core.base import FEW
from rmtjax.laws._core.half_plane import in_plane, quotient_of_one, upper_logs
from rmtjax.laws._core.orders import no_more_than
from rmtjax.laws._core.spectral import AbstractSpectralLaw
from rmtjax.laws._free.atoms import atoms_of, with_atoms
from rmtjax.laws._free.atoms_of_polynomials import PolynomialAtom
from rmtjax.laws._free.free_letters import FreeLetters, blocks_of
from rmtjax.laws._free.gaps import Lanes, are_few, levels_of_ends, lie_above, moved_with_the_mass, sums_of_levels
from rmtjax.laws._free.law_of_equation import AbstractLawOfEquation
from rmtjax.laws._free.linearised import Pencil, letters_of, pencil_of
from rmtjax.laws._free.matrix_dyson import Equation, matrix_dyson_solution
from rmtjax.laws._free.near_atoms import NearAtoms, solved_near_atoms
from rmtjax.laws._free.polynomial_terms import KNOWN_ATOMS, halved, laws_of_letters, places_of, static_atoms
from rmtjax.linalg.internal import (
    adjoint,
    general_eigensystem,
    inverse_of_each,
    log_determinant,
    one_by_one,
    solve_each,
)
from rmtjax.special.internal import square_root

_MOST_SUMS = 10_000


class FreePolynomial(AbstractLawOfEquation):
    r"""The law of a self-adjoint polynomial in free variables.

    It is the limiting law of the levels of $P(X, Y, \dots)$ for independent matrices of `GOE`, `GUE` or `Wigner`, of
    which each has the law `Semicircle(2.0)`, or for matrices of other laws with independent Haar eigenvectors. The
    polynomial is given by its words: `{"xy": 1, "yx": 1}` is the anticommutator XY + YX, and `{"xy": 1j, "yx": -1j}`
    the commutator i(XY - YX). With coefficients that are matrices it is the law of the block matrix
    $\sum_w c_w \otimes w$: `{"": a, "x": c}` is $a \otimes 1 + c \otimes X$.

    The density comes from Dyson's equation for a matrix whose first block is the resolvent of the polynomial. If the
    coefficients are numbers and each law has one band, the support is one interval. The density is right to some
    $10^{-14}$ (single precision: $10^{-6}$) at a point within some ulp of the length of the support from x. It may jump
    or be infinite at an end, as that of X² at 0, or inside, as that of X³ at 0; at the distance δ from there its
    relative error is a few eps/√δ. Such an end is found to some $10^{-10}$ if the polynomial is a power of one letter,
    with derivatives right to $10^{-7}$, and to some $10^{-6}$ otherwise (single precision: $10^{-3}$), without
    derivatives. A point takes about ten steps of Newton's method for a matrix of the order of the number of words,
    times that of the coefficients. A quantile takes up to 65 points, and so does a draw.

    The atoms follow from those of the letters, and for block matrices from parts without random entries. They are
    found from the multiplicities of eigenvalues of generic matrices, when the law is made, and that takes known
    numbers. So a law of letters with atoms cannot be made in a function under `jit` or `vmap`, but it can be an
    argument. `grad` of a function that makes it has the derivatives of all places and masses. Numbers that are
    changed afterwards, as by `tree_at`, keep the list of the atoms that were found. If two causes make one atom, as
    (P, Q) = (1, 0) and (1, 1) that of i(PQ - QP) at 0, the real part of the transform beside it may be right to
    some $10^{-6}$.

    Where no path to the axis succeeds, the law is taken from beside the point. That may be a point in a gap, at which
    the equation has a pole and the law has none, such as 0 for ABA where A and B have the levels ±1: the transform is
    right to some 1e-5 there, and the distribution function keeps its digits. If no path succeeds beside it either, the
    point has NaN.

    Convention: each variable without a law has mean 0 and variance 1, the support [-2, 2].

    Args:
        terms: the coefficient of each word, a number or a d×d matrix with d at most 16. A letter is a variable, and ""
            is the constant. The coefficient of the reversed word is the complex conjugate, of matrices the adjoint.
            The degree is at most 8. Which words there are is static.
        laws: the bounded laws of some letters. They need a routine of JAX for eigenvalues of general matrices, which
            TPUs do not have.

    Raises:
        ValueError: an argument is outside its range, or letters have atoms and not all numbers are known. If the masses
            of the atoms are not known either, all values are NaN.

    Example:
        >>> import rmtjax as rmt
        >>> law = FreePolynomial({"xy": 1.0, "yx": 1.0})
        >>> print(f"{law.var():.1f} {law.support()[1]:.4f}")
        2.0 3.3302
        >>> law = FreePolynomial({"xy": 1.0, "yx": 1.0}, {"y": rmt.laws.Uniform(-1.0, 1.0)})
        >>> print(f"{law.pdf(0.5):.3f}")
        0.361
        >>> projections = {"x": rmt.laws.Empirical([0.0, 1.0], [0.7, 0.3]), "y": rmt.laws.Empirical([0.0, 1.0])}
        >>> places, masses = FreePolynomial({"xy": 1j, "yx": -1j}, projections).atoms()
        >>> print(f"{masses[0]:.1f} at {places[0]:.0f}")
        0.4 at 0

    References:
        Belinschi, Mai and Speicher (2017), J. reine angew. Math. 732, 21; Helton, Rashidi Far and Speicher (2007), Int.
        Math. Res. Notices, rnm086, for the equation; Shlyakhtenko and Skoufranis (2015), Trans. Amer. Math. Soc. 367,
        6267, for the support; Arizmendi, Cébron, Speicher and Yin (2021), arXiv:2107.11507, for atoms.
    """

    coefficients: Annotated[Float[Array, " k"], _checks.ALL_FINITE]  # all real parts, then if complex imaginary parts
    laws: Annotated[tuple[AbstractSpectralLaw, ...], KNOWN_ATOMS, "found"]
    words: tuple[str, ...] = eqx.field(static=True)  # one of each and its reverse
    order: int = eqx.field(static=True)  # of the coefficients
    letters: tuple[str, ...] = eqx.field(static=True)  # those with laws
    found: tuple[PolynomialAtom, ...] | None = eqx.field(static=True, repr=False)  # None if not all numbers are known

    def __init__(self, terms: Mapping[str, ArrayLike], laws: Mapping[str, AbstractSpectralLaw] | None = None):
        self.words, coefficients = halved(terms)
        self.coefficients, self.order = coefficients.ravel(), coefficients.shape[-1]
        self.letters, self.laws = laws_of_letters(self.words, {} if laws is None else laws)
        self.found = static_atoms(self.words, self._parts_of_values(), self.letters, self.laws)

    def _degrees(self) -> dict[str, int]:
        return {"coefficients": 1}

    def _pencil(self) -> Pencil:
        return pencil_of(self.words, self.letters, self.order, len(self._parts_of_values()) == 2)

    def _parts_of_values(self) -> Float[Array, "p k d d"]:
        return self.coefficients.reshape(-1, len(self.words), self.order, self.order)

    def _values(self) -> Inexact[Array, "k d d"]:
        """The coefficients of the words."""
        real, *imaginary = self._parts_of_values()
        return in_plane(real) + 1j * in_plane(imaginary[0]) if imaginary else real

    def _matrices(self) -> Inexact[Array, "l D D"]:
        """The matrix A, and C for each letter."""
        pencil, values = self._pencil(), self._values()
        sums = jnp.einsum("wlij,wab->liajb", like(values, pencil.places), values).reshape(pencil.fixed.shape)
        return (sums + adjoint(sums)) / 2 + like(values, pencil.fixed)

    def _equation(self, z: Complex[Array, "..."]) -> Equation:
        pencil, (shift, *letters) = self._pencil(), like(z, self._matrices())
        entries, *blocks = (like(z, each) for each in (pencil.entries, pencil.blocks, pencil.entries_of_blocks))
        duals = sum((letters[i] @ entries @ letters[i] for i in pencil.semicircular), 0 * entries)
        places = zip(map(letters_of(self.words).index, self.letters), pencil.rows, strict=True)
        own = [blocks_of(letters[i], rows[None]) for i, rows in places]
        own = jnp.concatenate([like(z, np.zeros((0, *blocks[0].shape[2:]))), *own])
        return Equation(
            corner=like(z, np.diag(np.arange(shift.shape[0]) < self.order)),
            shift=shift,
            basis=like(z, pencil.basis),
            duals=duals,
            others=FreeLetters(self.laws, own, pencil.rows, *blocks),
            height=like(jnp.real(z), 16 * sum(map(jnp.abs, self._reach()))),
        )

    def _atoms(self) -> tuple[Float[Array, " k"], Float[Array, " k"]]:
        none = jnp.zeros_like(self.coefficients, shape=0)
        if not self.found:
            return none, none
        masses = jnp.concatenate([jnp.ones_like(none, shape=1), *(law._atoms()[1] for law in self.laws)])
        most = max(len(each.masses) for each in self.found)
        pieces = np.array([[*each.masses, *[(0,) * masses.size] * (most - len(each.masses))] for each in self.found])
        places = places_of(self.found, self.words, self._values(), self.letters, self.laws)
        return places, jnp.maximum(jnp.max(like(masses, pieces) @ masses, axis=-1), 0) / self.order

    def _solved_near(self, z: Complex[Array, "..."]) -> tuple[NearAtoms, Complex[Array, "... m"]]:
        """The solution at the points or, near atoms, as far from these as it is found."""
        places, masses = self._atoms()
        return solved_near_atoms(z, places, masses, self._reach()[1], self._equation)

    def _solved(self, z: Complex[Array, "..."]) -> tuple[Complex[Array, "..."], Complex[Array, "... m"]]:
        near, y = self._solved_near(z)
        return near.point, y

    def _stieltjes(self, z: Complex[Array, "..."]) -> Complex[Array, "..."]:
        near, y = self._solved_near(z)
        return near.transform(self._stieltjes_of(near.point, y))

    def _log_potential(self, w: Complex[Array, "..."]) -> Complex[Array, "2 ..."]:
        near, y = self._solved_near(w)
        y = jax.lax.stop_gradient(y)
        rest = near.rest(jax.lax.stop_gradient(self._stieltjes_of(near.point, y)))
        return near.potentials(self._log_potential_of(near.point, y), rest)

    def _solution(self, z: Complex[Array, "..."]) -> Complex[Array, "... m"]:
        return matrix_dyson_solution(self._equation(z), z)

    def _corner_and_lower(self, sums: Complex[Array, "... D D"]) -> tuple[Array, Array]:
        """The matrix H for which the corner of G is $(z + H)^{-1}$, and B below the corner."""
        d = self.order
        row, column, lower = sums[..., :d, d:], sums[..., d:, :d], sums[..., d:, d:]
        return row @ solve_each(lower, column) - sums[..., :d, :d], -lower

    def _h_of(self, z: Complex[Array, "..."], y: Complex[Array, "... m"]) -> Complex[Array, "..."]:
        """The function h = 1/G - z."""
        h, _ = self._corner_and_lower(self._equation(z).sum_of(y))
        if self.order == 1:
            return h[..., 0, 0]
        corner = inverse_of_each(_plus(z, h))
        return jnp.einsum("...ij,...ji->...", h, corner) / jnp.trace(corner, axis1=-2, axis2=-1)

    def _stieltjes_of(self, z: Complex[Array, "..."], y: Complex[Array, "... m"]) -> Complex[Array, "..."]:
        return quotient_of_one(z + self._h_of(z, y))

    def _subordination(self, w: Complex[Array, "..."]) -> tuple[Complex[Array, "..."], Complex[Array, "..."]]:
        def h(w: Complex[Array, "..."]) -> Complex[Array, "..."]:
            near, y = self._solved_near(w)
            return near.subordination(self._h_of(near.point, y), w)

        return jax.jvp(h, (w,), (jnp.ones_like(w),))

    def _log_potential_of(self, z: Complex[Array, "..."], y: Complex[Array, "... m"]) -> Complex[Array, "2 ..."]:
        equation = self._equation(z)
        g, others = map(jax.lax.stop_gradient, (equation.resolvent(z, y), equation.of_others(y)))
        y = equation.next_terms(g, others)
        h, lower = self._corner_and_lower(equation.sum_of(y))
        terms = equation.potential(g, y)
        # The determinant is positive where all terms are 0.
        rest = log_determinant(lower) - 1j * np.pi * (lower.shape[-1] // 2) + terms
        if self.order == 1:
            logs = upper_logs(z + h[..., 0, 0]) + rest[None]
            # The angles are known up to 2π. The first lies between 0 and π, the second between -π and 0.
            near = np.reshape([np.pi / 2, -np.pi / 2], (2, *[1] * z.ndim))
            return _with_angle(logs, like(jnp.real(z), near))
        # All eigenvalues of these matrices lie in the upper half plane.
        roots, first = general_eigensystem(_plus(z, h))[0], general_eigensystem(lower)[0]
        continuous = jnp.sum(jnp.imag(upper_logs(first)[0]), axis=-1) - np.pi * (lower.shape[-1] // 2)
        rest = _with_angle(rest, continuous + jnp.imag(terms))
        return (jnp.sum(upper_logs(roots), axis=-1) + rest[None]) / self.order

    def _gap_levels(self) -> Float[Array, " k"]:
        r"""The levels $(\sum \alpha - \sum \beta + m)/d$ modulo 1 for levels α, β of the laws and integers m.

        In a gap the matrices $C_i N$ have real eigenvalues or conjugate pairs, and the angles of $U_x$ at the former
        are π times levels, with the sign of their half plane. All other angles are multiples of π.
        """
        levels, d = in_one_precision([law._gap_levels() for law in self.laws]), self.order
        total, pairs = jnp.zeros_like(self.coefficients, shape=1), list(zip(levels, self._pencil().signs, strict=True))
        most = math.prod(math.comb(each.size + sign, sign) for each, signs in pairs for sign in signs)
        if most > _MOST_SUMS and not are_few(most):
            return total[:0]
        numbers = [sums_of_levels(each.size, *signs) for each, signs in pairs]
        if not are_few(d * math.prod(map(len, numbers)) - 1):
            return total[:0]
        for each, several in zip(levels, numbers, strict=True):
            total = jnp.add.outer(total, like(total, several) @ like(total, each)).ravel()
        total = jnp.add.outer(total, like(total, np.arange(d))).ravel()[1:] / d
        return jnp.sort(total - jnp.floor(total))

    def _reach(self) -> tuple[Array, Array]:
        """A number near the mean of the constant, and a bound on the distance of all levels from it."""
        values = self._values()
        radii = dict.fromkeys(letters_of(self.words), 2.0)
        radii |= {
            letter: jnp.max(jnp.abs(jnp.stack(law._carrier())))
            for letter, law in zip(self.letters, self.laws, strict=True)
        }
        centre, distances = 0 * jnp.real(values[0, 0, 0]), []
        for word, value in zip(self.words, values, strict=True):
            if word == "":
                centre = jnp.real(jnp.trace(value)) / self.order
                value = _plus(-centre, value)
            # Frobenius' norm bounds the spectral one.
            parts = jnp.stack([jnp.real(value), jnp.imag(value)])
            size = square_root(jnp.sum(parts**2)) * (1 + (word != word[::-1]))
            distances.append(math.prod((radii[letter] for letter in word), start=size))
        return centre, jnp.sum(jnp.stack(distances))

    def _ends(self, levels: Float[Array, " k"]) -> Float[Array, " 2k+2"]:
        ends = super()._ends(levels)
        if not self.found:
            return ends
        ends = with_atoms(atoms_of(self), ends, levels_of_ends(levels), lie_above(ends.size))
        return jnp.clip(ends, ends[0], ends[-1])

    def _carrier(self) -> tuple[Array, Array]:
        centre, reach = self._reach()
        return centre - reach, centre + reach

    def _is_bounded(self) -> bool:
        return True

    def _is_narrow(self, size: Float[Array, ""], lanes: Lanes) -> Bool[Array, " k"]:
        # An end with an infinite density has no interpolation, so the bisection goes on to the last digit.
        eps = float(jnp.finfo(size.dtype).eps)
        return lanes.upper - lanes.lower <= 2 * eps * jnp.maximum(size, jnp.abs(lanes.upper))

    def _polished(
        self, constant: AbstractLawOfEquation, lanes: Lanes, levels: Float[Array, " k"], size: Float[Array, ""]
    ) -> Float[Array, " 2k+2"]:
        eps = float(jnp.finfo(size.dtype).eps)
        middle, half = lanes.middle(), eps**0.5 * size / 2
        ends = super()._polished(constant, lanes._replace(lower=middle - half, upper=middle + half), levels, size)
        inside = middle + jnp.where(lie_above(middle.size), half, -half)
        other = moved_with_the_mass(self, middle, inside, levels_of_ends(levels))
        soft = (ends != middle) & (jnp.abs(ends - middle) <= eps**0.75 * size)
        return jnp.where(soft, ends, other)

    def _excess(self, x: Float[Array, " k"], y: Float[Array, "k m"], odd: Float[Array, "k m"]) -> Float[Array, " k"]:
        """The residual of the equation in the direction u in which it cannot be solved, the left null vector."""
        del odd
        z, y = in_plane(x), in_plane(y)
        _, image, rest, slope = self._equation(z).newton(z, y)
        u = _left_null_vector(jnp.real(jax.lax.stop_gradient(rest)))
        rate = jax.lax.stop_gradient(jnp.sum(u * jnp.real(slope), axis=-1))
        return jnp.sum(u * jnp.real(image - y), axis=-1) / jnp.where(rate == 0, 1, rate)

    def _series(self, constant: Inexact[Array, "d d"], k: int) -> Float[Array, " k+1"]:
        """The moments up to the order k of the polynomial with another constant, if all variables are semicircular."""
        matrices, d = self._matrices(), self.order
        kernel, letters = matrices[0, d:, d:], matrices[1:]
        half, size = kernel.shape[0] // 2, letters.shape[-1]
        # The inverse of the lower blocks of -A, and the first power of t.
        one = jnp.eye(half, dtype=letters.dtype)
        inverse = jnp.block([[0 * one, one], [one, kernel[:half, :half]]])
        lower, corner = jnp.pad(inverse, ((d, 0), (d, 0))), like(letters, np.diag(np.arange(size) < d))
        constant = jnp.pad(like(letters, constant), ((0, size - d), (0, size - d)))
        behind = np.subtract.outer(np.arange(k + 1), np.arange(k + 1))
        later = lambda series: jnp.concatenate([0 * series[:1], series[:-1]])

        def turn(_: Array, series: Inexact[Array, "k+1 D D"]) -> Inexact[Array, "k+1 D D"]:
            g = series @ lower[None] + later(series) @ corner[None]
            energy = jnp.einsum("lij,kjm,lmn->kin", letters, g, letters).at[0].add(constant)
            factors = lower[None] @ energy + corner[None] @ later(energy)
            factors = jnp.where((behind >= 0)[..., None, None], factors[np.maximum(behind, 0)], 0)
            return jnp.einsum("kjab,jbc->kac", factors, series).at[0].add(jnp.eye(size, dtype=letters.dtype))

        turns = 1 + k * (max(map(len, self.words)) // 2 + 1)
        start = varying_like(jnp.zeros((k + 1, size, size), letters.dtype), matrices, constant)
        series = jax.lax.fori_loop(0, turns, turn, start)
        return jnp.real(jnp.trace(series[:, :d, :d], axis1=-2, axis2=-1)) / d

    def _centred(self) -> tuple[Self, Array]:
        """The law without the mean of the constant, and this mean."""
        centre, parts = self._reach()[0], self._parts_of_values()
        if self.words[0] == "":
            parts = parts.at[0, 0].set(_plus(-centre, parts[0, 0]))
        return eqx.tree_at(lambda law: law.coefficients, self, parts.ravel()), centre

    def _constant(self) -> Inexact[Array, "d d"]:
        values = self._values()[0]
        return values if self.words[0] == "" else 0 * values

    def _moment(self, k: int) -> Float[Array, ""]:
        no_more_than(100, k)
        if self.laws:
            law, centre = self._centred()
            return law._mean_of_powers(k, origin=-centre)[0]
        if k <= FEW:
            return self._series(self._constant(), k)[k]
        # The carrier may be so wide that in its unit high moments would be 0.
        law, unit = self._in_unit()
        spread = jax.lax.stop_gradient(law._moment(FEW)) ** (1 / FEW)
        law = eqx.tree_at(lambda law: law.coefficients, law, law.coefficients / spread)
        return times_power(law._series(law._constant(), k)[k], unit * spread, k)

    def _central_moments(self, *orders: int) -> tuple[Float[Array, ""], ...]:
        law, _ = self._centred()
        if self.laws:
            return law._mean_of_powers(*orders)
        constant = law._constant()
        moments = law._series(_plus(-law._series(constant, 1)[1], constant), max(orders))
        return tuple(moments[k] for k in orders)


def _plus(number: Inexact[Array, "..."], matrix: Inexact[Array, "... d d"]) -> Inexact[Array, "... d d"]:
    """The sum of a number, times the identity, and a matrix."""
    one = jnp.eye(matrix.shape[-1], dtype=matrix.dtype)
    return jnp.multiply.outer(like(matrix, number), one) + matrix


@one_by_one
def _left_null_vector(matrix: Float[Array, "... m m"]) -> Float[Array, "... m"]:
    return jnp.linalg.svd(matrix)[0][..., -1]


def _with_angle(logs: Complex[Array, "..."], near: Float[Array, "..."]) -> Complex[Array, "..."]:
    """The logarithms with those angles, among all that differ by 2π, that are nearest to some."""
    turns = jnp.round(jax.lax.stop_gradient(jnp.imag(logs) - near) / (2 * np.pi))
    return jax.lax.complex(jnp.real(logs), jnp.imag(logs) - 2 * np.pi * turns)
