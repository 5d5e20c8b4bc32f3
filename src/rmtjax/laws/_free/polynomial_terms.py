"""The arguments of laws of polynomials: words with coefficients, laws of letters, and the atoms that follow."""

import math
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Bool, Float, Inexact

from rmtjax import _checks
from rmtjax._promotion import in_one_precision, like
from rmtjax._staging import at_once, is_traced
from rmtjax.laws._core.spectral import AbstractSpectralLaw, spectral_law
from rmtjax.laws._free.atoms_of_polynomials import PolynomialAtom, Variable, any_numbers, atoms_of_polynomial
from rmtjax.laws._free.linearised import letters_of
from rmtjax.linalg.internal import adjoint, hermitian_eigenvalues

_HIGHEST_DEGREE = 8
_HIGHEST_ORDER = 16


def _has_no_atoms(laws: tuple[AbstractSpectralLaw, ...], found: tuple[PolynomialAtom, ...] | None) -> Bool[Array, ""]:
    """Whether the atoms of the polynomial have been found, or the letters have none."""
    masses = [jnp.all(law._atoms()[1] == 0) for law in laws]
    return jnp.all(jnp.asarray(masses, bool)) if found is None else jnp.asarray(True)


KNOWN_ATOMS = _checks.Rule(
    _has_no_atoms,
    "be laws without atoms, as not all numbers are known (make the law outside of `jit` and `vmap`, which take it as "
    "an argument)",
)


def laws_of_letters(words: tuple[str, ...], laws: Any) -> tuple[tuple[str, ...], tuple[AbstractSpectralLaw, ...]]:
    """The letters that have laws, and these."""
    letters = letters_of(words)
    if not isinstance(laws, Mapping):
        raise _checks.refusal("laws", f"be a mapping from letters among {', '.join(letters)} to laws", laws)
    if strange := [letter for letter in laws if letter not in letters]:
        raise _checks.refusal("laws", f"have letters of the words, which are {', '.join(letters)}", strange)
    given = {letter: spectral_law(f"laws[{letter!r}]", laws[letter]) for letter in letters if letter in laws}
    for letter, law in given.items():
        if not law._is_bounded():
            must = "have a bounded support (`FreeSum` takes other laws; or make an `Empirical` of its quantiles)"
            raise _checks.refusal(f"laws[{letter!r}]", must, law)
    return tuple(given), tuple(given.values())


def halved(terms: Any) -> tuple[tuple[str, ...], Float[Array, "p k d d"]]:
    """One of each word and its reverse, and their coefficients."""
    if not isinstance(terms, Mapping) or not all(isinstance(word, str) for word in terms):
        raise _checks.refusal("terms", 'be a mapping from words to coefficients, as {"xy": 1.0, "yx": 1.0}', terms)
    degree = max(map(len, terms), default=0)
    if degree == 0:
        raise _checks.refusal("terms", "have a word that is not empty", list(terms))
    if degree > _HIGHEST_DEGREE:
        raise _checks.refusal("terms", f"have words of at most {_HIGHEST_DEGREE} letters", list(terms))
    if not all(word.isalpha() for word in terms if word):
        raise _checks.refusal("terms", 'have words of letters only, as "xxy" for x²y', list(terms))
    given = in_one_precision([_checks.numbers(f"terms[{word!r}]", value) for word, value in terms.items()])
    shapes = {value.shape for value in given} - {()}
    order = max([shape[0] for shape in shapes], default=1) if all(shapes) else 1
    if shapes - {(order, order)} or not 1 <= order <= _HIGHEST_ORDER:
        must = f"have numbers, or square matrices of one order up to {_HIGHEST_ORDER}, as coefficients"
        raise _checks.refusal("terms", must, [value.shape for value in given])
    # A number stands for a multiple of the identity.
    given = [value if value.ndim else value[None, None] * like(value, np.eye(order)) for value in given]
    coefficients = dict(zip(terms, given, strict=True))
    for word, value in coefficients.items():
        other = coefficients.get(word[::-1])
        known = not isinstance(value, Tracer) and not isinstance(other, Tracer)
        if other is None:
            must = f"be self-adjoint: {word!r} needs {word[::-1]!r}, with the conjugate coefficient"
            raise _checks.refusal("terms", must, list(terms))
        if known and not _are_adjoint(np.asarray(value), np.asarray(other)):
            must = f"be self-adjoint: the coefficient of {word[::-1]!r} is the conjugate of that of {word!r}"
            raise _checks.refusal("terms", must, other)
    if all(not isinstance(value, Tracer) and (value == 0).all() for word, value in coefficients.items() if word):
        raise _checks.refusal("terms", "have coefficients that are not all 0", terms)
    words = tuple(sorted(word for word in terms if word <= word[::-1]))
    halves = [(coefficients[word] + adjoint(coefficients[word[::-1]])) / 2 for word in words]
    parts = (jnp.real, jnp.imag) if any(map(jnp.iscomplexobj, given)) else (jnp.real,)
    return words, jnp.stack([jnp.stack(list(map(part, halves))) for part in parts])


def static_atoms(
    words: tuple[str, ...],
    parts: Float[Array, "p k d d"],
    letters: tuple[str, ...],
    laws: tuple[AbstractSpectralLaw, ...],
) -> tuple[PolynomialAtom, ...] | None:
    """How the atoms follow from those of the laws, or None if that takes numbers that are not known.

    Args:
        words: one of each word and its reverse.
        parts: their coefficients, real and imaginary.
        letters: those with laws.
        laws: these.
    """
    if parts.shape[-1] == 1 and all(law._atoms()[0].size == 0 for law in laws):
        return ()
    # Under `grad` alone a parameter is a tracer around a known number.
    known = jax.tree.map(lambda leaf: jax.lax.stop_gradient(leaf) if isinstance(leaf, Tracer) else leaf, (parts, laws))
    if is_traced(known):
        return None
    with at_once():
        parts, laws = jax.tree.map(lambda leaf: np.asarray(leaf) if isinstance(leaf, jax.Array) else leaf, known)
        found = [tuple(map(np.asarray, (*law._atoms(), *law._carrier()))) for law in laws]
    numbers = [parts, *(array for each in found for array in each)]
    if not all(np.isfinite(each).all() for each in numbers):
        return None
    variables = dict.fromkeys(letters_of(words), Variable(np.zeros(0), np.zeros(0), 2.0))
    for letter, (places, masses, *ends) in zip(letters, found, strict=True):
        variables[letter] = Variable(places.astype(float), masses.astype(float), float(np.abs(ends).max()))
    values = np.tensordot([1, 1j][: len(parts)], parts.astype(float), 1)
    terms = {word: value for word, value in zip(words, values, strict=True)}
    terms |= {word[::-1]: adjoint(value) for word, value in terms.items() if word != word[::-1]}
    atoms = atoms_of_polynomial(terms, variables, max(float(np.finfo(each.dtype).eps) for each in numbers))
    if atoms is None:
        must = "have atoms, and the polynomial levels at them, that are equal or clearly apart (merge close atoms)"
        raise _checks.refusal("laws", must, laws)
    return atoms


def places_of(
    atoms: tuple[PolynomialAtom, ...],
    words: tuple[str, ...],
    values: Inexact[Array, "k d d"],
    letters: tuple[str, ...],
    laws: tuple[AbstractSpectralLaw, ...],
) -> Float[Array, " a"]:
    """The places of the atoms, as eigenvalues of the polynomial at atoms of the variables.

    Args:
        atoms: these.
        words: one of each word and its reverse.
        values: their coefficients.
        letters: those with laws.
        laws: these.
    """
    all_letters, own, order = letters_of(words), dict(zip(letters, laws, strict=True)), values.shape[-1]
    real = jnp.real(values)
    numbers = {}
    for i, (letter, some) in enumerate(zip(all_letters, any_numbers(len(all_letters)), strict=True)):
        places, radius = jnp.zeros_like(real, shape=0), jnp.full_like(real, 2, shape=())
        if letter in own:
            places, radius = own[letter]._atoms()[0], jnp.max(jnp.abs(jnp.stack(own[letter]._carrier())))
        # Where any number will do it is 0, or one in general position, so that the eigenvalue keeps its rank.
        any_number = some * jax.lax.stop_gradient(radius) if order > 1 else 0 * radius
        numbers[letter] = jnp.append(places, any_number)[np.array([atom.at[i] for atom in atoms])]
    total = jnp.zeros_like(values, shape=(len(atoms), order, order))
    for word, value in zip(words, values, strict=True):
        product = math.prod((numbers[letter] for letter in word), start=jnp.ones_like(real, shape=len(atoms)))
        part = jnp.multiply.outer(like(values, product), value)
        total = total + (part if word == word[::-1] else part + adjoint(part))
    if order == 1:
        return jnp.real(total[:, 0, 0])
    return hermitian_eigenvalues(total)[np.arange(len(atoms)), np.array([atom.rank for atom in atoms])]


def _are_adjoint(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two numbers are conjugate, or two matrices adjoint but for rounding."""
    rounding = 64 * np.finfo(a.dtype).eps * np.abs(a).max(initial=0, where=np.isfinite(a)) * (len(a) > 1)
    return bool(np.allclose(a, b.conj().T, rtol=0, atol=rounding, equal_nan=True))
