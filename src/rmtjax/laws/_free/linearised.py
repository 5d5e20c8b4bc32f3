r"""Self-adjoint linear pencils of polynomials, whose entries are linear in the coefficients.

A word of the polynomial is split in its middle, $w = u^* v$ or $w = u^* x v$ with a letter x. With the column s of all
ends v of half length, $P = c + \sum_i c_i x_i + s^* K s$, where K has the coefficients of even words and those of odd
words times their letter. The column solves $(1 - N) s = b$: b has the words of one letter, and N puts a letter before
a shorter word. So the Schur complement of the lower blocks of

$$L(z) = \begin{pmatrix} z - c - \sum_i c_i x_i & 0 & b^* \\ 0 & -K & 1 - N^* \\ b & 1 - N & 0 \end{pmatrix}$$

is z - P, and the first block of $L^{-1}$ is the resolvent (Haagerup and Thorbjørnsen 2005, Ann. of Math. 162, 711).
All entries are linear in the variables and in the coefficients, which may be matrices; then all ones are unit matrices.
The determinant of the lower blocks is ±1.

With $L(z) = zJ - A - \sum_i C_i x_i$, the function $G(z) = E\,L(z)^{-1}$ of free variables solves
$G = (zJ - A - \sum_i T_i)^{-1}$, where $T_i = C_i G C_i$ for a semicircular variable, and $T_i = q(C_i N) C_i$ with
functions q and N for another one (`free_letters.py`). The sum of the first and each of the others lie in spaces that
the words determine.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

# Pivots below this share of the largest number are rounding.
_CUT = 1e-7
_PROBES = 6


class Pencil(NamedTuple):
    """What the words of a polynomial determine. Matrices have the order D."""

    fixed: np.ndarray  # A and all C_i, without the coefficients: letters + 1, D, D
    places: np.ndarray  # where the coefficient of each word stands: k, letters + 1, D/d, D/d
    semicircular: tuple[int, ...]  # the letters with this law
    basis: np.ndarray  # self-adjoint matrices that span the sum of their T, then the T of each other letter: m, D, D
    entries: np.ndarray  # the coordinates of the sum Y, which come first, are tr(entries Y): k, D, D
    rows: np.ndarray  # the rows of C_i that are not 0 for each other letter; D stands for none: l, s
    blocks: np.ndarray  # the rest of the basis in these rows: m - k, l, s, s
    entries_of_blocks: np.ndarray
    signs: tuple[tuple[int, int], ...]  # how many positive and negative eigenvalues these C_i have at most


def letters_of(words: tuple[str, ...]) -> tuple[str, ...]:
    """The letters in the order of the alphabet."""
    return tuple(sorted(set("".join(words))))


@cache
def pencil_of(words: tuple[str, ...], others: tuple[str, ...], order: int, is_complex: bool) -> Pencil:
    """The pencil of a polynomial with these words and their reverses.

    Args:
        words: one of each word and its reverse.
        others: the letters that are not semicircular.
        order: the order of the coefficients.
        is_complex: whether they are complex.
    """
    letters = letters_of(words)
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
    fixed = np.kron(_hermitian(2 * fixed), np.eye(order))
    places = np.zeros((len(words), len(letters) + 1, 2 * n + 1, 2 * n + 1))
    for matrices, word in zip(places, words, strict=True):
        half = len(word) // 2
        middle = word[half : len(word) - half]
        kind = 1 + letters.index(middle) if middle else 0
        matrices[kind, place[word[:half][::-1]], place[word[len(word) - half :]]] = 1 + (word != word[::-1])
    kinds = [tuple(i for i, letter in enumerate(letters) if letter not in others)]
    kinds += [(letters.index(letter),) for letter in others]
    random = _Random(fixed, places, order, is_complex)
    spaces = _invariant_spaces(random, kinds)
    drawn = np.stack([random.matrices()[1:] for _ in range(_PROBES)])
    chosen = [kind[0] for kind in kinds[1:]]
    rows = [np.flatnonzero(np.abs(drawn[:, i]).sum((0, 1))) for i in chosen]
    size = max(map(len, rows), default=0)
    rows = np.array([np.pad(each, (0, size - len(each)), constant_values=fixed.shape[-1]) for each in rows], int)
    rows = rows.reshape(len(others), size)
    levels = [np.linalg.eigvalsh(drawn[:, i]) for i in chosen]
    return Pencil(
        fixed,
        places,
        kinds[0],
        np.concatenate([basis for basis, _ in spaces]),
        spaces[0][1],
        rows,
        _blocks([basis for basis, _ in spaces[1:]], rows),
        _blocks([entries for _, entries in spaces[1:]], rows),
        tuple((int((each > _CUT).sum(-1).max()), int((each < -_CUT).sum(-1).max())) for each in levels),
    )


def _blocks(matrices: list[np.ndarray], rows: np.ndarray) -> np.ndarray:
    """The matrices of each letter in its rows, and zeros in those of the other letters."""
    letters, size = rows.shape
    blocks = [np.zeros((0, letters, size, size))]
    for i, each in enumerate(matrices):
        padded = np.pad(each, ((0, 0), (0, 1), (0, 1)))
        own = padded[:, rows[i][:, None], rows[i][None, :]]
        blocks.append(own[:, None] * (np.arange(letters) == i)[:, None, None])
    return np.concatenate(blocks)


def _hermitian(matrices: np.ndarray) -> np.ndarray:
    """The self-adjoint parts."""
    return (matrices + np.conj(np.swapaxes(matrices, -2, -1))) / 2


class _Random:
    """Pencils with random coefficients."""

    def __init__(self, fixed: np.ndarray, places: np.ndarray, order: int, is_complex: bool):
        self.random, self.fixed, self.places = np.random.default_rng(0), fixed, places
        self.order, self.is_complex = order, is_complex

    def complex_normal(self, *shape: int) -> np.ndarray:
        return self.random.normal(size=shape) + 1j * self.random.normal(size=shape)

    def matrices(self) -> np.ndarray:
        """The matrices A and C_i."""
        coefficients = self.complex_normal(len(self.places), self.order, self.order)
        coefficients = coefficients if self.is_complex else np.real(coefficients)
        sums = np.einsum("wlij,wab->liajb", self.places, coefficients)
        return self.fixed + _hermitian(sums.reshape(self.fixed.shape))

    def images(self, kinds: list[tuple[int, ...]], bases: list[np.ndarray]) -> list[np.ndarray]:
        """The sum of the T of each kind, for a random sum of all T; with a random R-transform for other letters."""
        matrices = self.matrices()
        corner = np.kron(np.diag(np.arange(self.places.shape[-1]) == 0), np.eye(self.order))
        energy = np.sum([np.tensordot(self.complex_normal(len(basis)), basis, 1) for basis in bases], axis=0)
        g = np.linalg.inv(self.complex_normal() * corner - matrices[0] - energy)
        first, *rest = kinds
        images = [np.sum([0 * g, *(matrices[1 + i] @ g @ matrices[1 + i] for i in first)], axis=0)]
        for (i,) in rest:
            c = matrices[1 + i]
            images.append(self.complex_normal() * np.linalg.solve(np.eye(len(c)) - self.complex_normal() * c @ g, c))
        return images


def _invariant_spaces(random: _Random, kinds: list[tuple[int, ...]]) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each kind self-adjoint matrices that span the least space with its T for all T in these spaces.

    With them come the matrices E for which tr(EY) are the coordinates. Each is an entry of Y, so that small entries
    keep their digits beside large ones.
    """
    size = random.fixed.shape[-1]
    bases = [np.zeros((0, size, size)) for _ in kinds]
    while True:
        probes = [random.images(kinds, bases) for _ in range(_PROBES)]
        spaces = [_span(basis, list(images)) for basis, images in zip(bases, zip(*probes, strict=True), strict=True)]
        if all(len(found) == len(basis) for (found, _), basis in zip(spaces, bases, strict=True)):
            return spaces if random.is_complex else [(np.real(found), np.real(each)) for found, each in spaces]
        bases = [found for found, _ in spaces]


def _span(basis: np.ndarray, images: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """A basis of the self-adjoint matrices that span some matrices, with its coordinates."""
    size = basis.shape[-1]
    parts = [_hermitian(factor * image) for image in images for factor in (1, 1j)]
    together = np.concatenate([basis, parts])
    rows = together.reshape(len(together), -1)
    rows, pivots = _reduced(np.concatenate([np.real(rows), np.imag(rows)], axis=1))
    found = (rows[:, : size**2] + 1j * rows[:, size**2 :]).reshape(-1, size, size)
    # The entries are whole numbers, as far as the words are known.
    whole = np.round(found)
    found = np.where(np.abs(found - whole) < _CUT, whole, found)
    units = np.eye(2 * size**2)[pivots]
    return found, _hermitian((units[:, : size**2] + 1j * units[:, size**2 :]).reshape(-1, size, size))


def _reduced(rows: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """The reduced echelon form of a matrix, with the largest pivots, and their columns."""
    rows, pivots = rows.copy(), []
    rank = 0
    scale = np.abs(rows).max(initial=0)
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
