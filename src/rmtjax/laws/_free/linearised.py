r"""Self-adjoint linear pencils of polynomials, whose entries are linear in the coefficients.

A word of the polynomial is split in its middle, $w = u^* v$ or $w = u^* x v$ with a letter x. With the column s of all
ends v of half length, $P = c + \sum_i c_i x_i + s^* K s$, where K has the coefficients of even words and those of odd
words times their letter. The column solves $(1 - N) s = b$: b has the words of one letter, and N puts a letter before
a shorter word. So the Schur complement of the lower blocks of

$$L(z) = \begin{pmatrix} z - c - \sum_i c_i x_i & 0 & b^* \\ 0 & -K & 1 - N^* \\ b & 1 - N & 0 \end{pmatrix}$$

is z - P, and the first entry of $L^{-1}$ is the resolvent (Haagerup and Thorbjørnsen 2005, Ann. of Math. 162, 711).
All entries are linear in the variables and in the coefficients, and the determinant of the lower blocks is ±1.

With $L(z) = zJ - A - \sum_i C_i x_i$, the function $G(z) = E\,L(z)^{-1}$ of free semicircular variables solves
$G = (zJ - A - S[G])^{-1}$ with $S[G] = \sum_i C_i G C_i$. The matrices S[G] lie in a space that the words determine.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

# Pivots below this share of the largest number are rounding.
_CUT = 1e-7
_PROBES = 4


class Pencil(NamedTuple):
    """What the words of a polynomial determine."""

    fixed: np.ndarray  # A and all C_i, without the coefficients: letters + 1, d, d
    numbers: tuple[tuple[str, bool], ...]  # the word of each coefficient, and whether it is the imaginary part
    slopes: np.ndarray  # their derivatives by the coefficients: k, letters + 1, d, d
    basis: np.ndarray  # self-adjoint matrices that span all S[G]: m, d, d
    entries: np.ndarray  # the coordinates of Y in this basis are tr(entries Y): m, d, d
    sign: float  # the determinant of the lower blocks


@cache
def pencil_of(words: tuple[str, ...], is_complex: bool) -> Pencil:
    """The pencil of a polynomial with these words and their reverses."""
    letters = sorted(set("".join(words)))
    both = {*words, *(word[::-1] for word in words)}
    tails = sorted({word[len(word) - k :] for word in both for k in range(1, len(word) // 2 + 1)})
    n = len(tails)
    # The corner stands for the empty word in K; a column of K and a row of 1 - N for each other word.
    place = {"": 0} | {tail: i for i, tail in enumerate(tails, 1)}
    fixed = np.zeros((len(letters) + 1, 2 * n + 1, 2 * n + 1))
    for tail in tails:
        row, letter = n + place[tail], 1 + letters.index(tail[0])
        fixed[0, row, place[tail]] = -1
        fixed[letter, row, place[tail[1:]]] = 1 if tail[1:] else -1
    fixed = _hermitian(2 * fixed)
    numbers = [(word, False) for word in words]
    numbers += [(word, True) for word in words if is_complex and word != word[::-1]]
    slopes = np.zeros((len(numbers), *fixed.shape), complex if is_complex else float)
    for matrices, (word, is_imaginary) in zip(slopes, numbers, strict=True):
        half = len(word) // 2
        middle = word[half : len(word) - half]
        kind = 1 + letters.index(middle) if middle else 0
        number = (1 + (word != word[::-1])) * (1j if is_imaginary else 1)
        matrices[kind, place[word[:half][::-1]], place[word[len(word) - half :]]] = number
    slopes = _hermitian(slopes)
    return Pencil(fixed, tuple(numbers), slopes, *_invariant_space(fixed, slopes), (-1.0) ** n)


def _hermitian(matrices: np.ndarray) -> np.ndarray:
    return (matrices + np.conj(np.swapaxes(matrices, -2, -1))) / 2


def _invariant_space(fixed: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Self-adjoint matrices that span the least space with S[(zJ - A - Y)^{-1}] for all Y in it and coefficients.

    Each coordinate is an entry, so that small entries keep their digits beside large ones.
    """
    random, size = np.random.default_rng(0), fixed.shape[-1]
    corner, basis = np.zeros((size, size)), np.zeros((0, size, size))
    corner[0, 0] = 1
    normal = lambda *shape: random.normal(size=shape) + 1j * random.normal(size=shape)
    while True:
        images: list[np.ndarray] = []
        for _ in range(_PROBES):
            matrices = fixed + np.tensordot(random.normal(size=len(slopes)), slopes, 1)
            shift = matrices[0] + np.tensordot(normal(len(basis)), basis, 1)
            image = (matrices[1:] @ np.linalg.inv(normal() * corner - shift) @ matrices[1:]).sum(0)
            images += [_hermitian(image), _hermitian(1j * image)]
        together = np.concatenate([basis, images])
        rows = together.reshape(len(together), -1)
        rows, pivots = _reduced(np.concatenate([np.real(rows), np.imag(rows)], axis=1))
        found = (rows[:, : size**2] + 1j * rows[:, size**2 :]).reshape(-1, size, size)
        if len(found) == len(basis):
            # The entries are whole numbers, as far as the words are known.
            whole = np.round(found)
            found = np.where(np.abs(found - whole) < _CUT, whole, found)
            units = np.eye(2 * size**2)[pivots]
            entries = _hermitian((units[:, : size**2] + 1j * units[:, size**2 :]).reshape(-1, size, size))
            parts = (found, entries)
            return parts if np.iscomplexobj(slopes) else (np.real(found), np.real(entries))
        basis = found


def _reduced(rows: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """The reduced echelon form of a matrix, with the largest pivots, and their columns."""
    rows, pivots = rows.copy(), []
    rank = 0
    scale = np.abs(rows).max()
    while rank < len(rows):
        place = np.unravel_index(np.argmax(np.abs(rows[rank:]) > 0.1 * np.abs(rows[rank:]).max()), rows[rank:].shape)
        row, column = rank + place[0], place[1]
        if abs(rows[row, column]) <= _CUT * scale:
            break
        rows[[rank, row]] = rows[[row, rank]]
        rows[rank] /= rows[rank, column]
        others = np.arange(len(rows)) != rank
        rows[others] -= np.multiply.outer(rows[others, column], rows[rank])
        pivots.append(int(column))
        rank += 1
    return rows[:rank], pivots
