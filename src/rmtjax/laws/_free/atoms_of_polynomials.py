r"""The atoms of polynomials in free variables.

Take generic matrices $X_i = U_i D_i U_i^*$ of order N, whose eigenvalues at the atoms of the variables have the
multiplicities k, and whose other eigenvalues are in general position. The polynomial has an atom at λ if and only if
the multiplicity ν(N, k) of its eigenvalue λ is of the order N, and the mass is the limit of ν/(dN) for coefficients of
order d, as k/N goes to the masses of the variables (Arizmendi, Cébron, Speicher and Yin 2021, arXiv:2107.11507). No
other matrices with these eigenvalues have λ less often, and matrices can be put together from blocks. So:

- *Places.* Diagonal matrices have λ at least as often, however their eigenvalues are paired. An atom is therefore an
  eigenvalue of $P(t_1, t_2, \dots)$ at numbers t, each an atom of its variable or arbitrary. Such t occur in each
  coupling of the variables.
- *Masses.* ν is subadditive, and homogeneous for large N; so it is convex. It is piecewise linear with whole
  coefficients. Each linear piece bounds it from below, and it is the largest of its pieces. Differences of ν give them.

Numbers that agree to some ten digits (single precision: five) count as equal.
"""

from collections.abc import Mapping
from functools import reduce
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Complex, Float, Int

# Levels that are nearer to each other, in units of a bound on all, are the same; others are farther by a factor.
_EXPONENT = 0.7
_CLEAR = 10.0
_ROUNDING = 64
_COUPLINGS = 24
_SIZE = 40
_STARTS = 3
_ROUNDS = 8
_CHECKS = 16


class PolynomialAtom(NamedTuple):
    """How an atom follows from those of the variables."""

    at: tuple[int, ...]  # one atom of each variable at which the polynomial has this eigenvalue; -1 for any number
    rank: int  # of the eigenvalue, in ascending order
    masses: tuple[tuple[int, ...], ...]  # d times the mass is the largest of 0 and these sums over 1 and all masses


class Variable(NamedTuple):
    """The atoms of a variable, and a bound on its support."""

    places: Float[np.ndarray, " k"]
    masses: Float[np.ndarray, " k"]
    radius: float


class _Pieces(NamedTuple):
    """The different atoms of a variable, and the rest of its law."""

    places: Float[np.ndarray, " g"]
    masses: Float[np.ndarray, " g"]
    groups: Int[np.ndarray, " k"]  # the piece of each atom; g for one in the rest
    rest: float
    others: Float[np.ndarray, "2 r"]  # atoms in the rest, and their shares of it
    radius: float

    @property
    def last(self) -> int:
        """The piece that takes what the other ones leave, the rest or, if there is none, the largest."""
        return int(np.argmax(self.masses)) if self.rest == 0 else self.masses.size

    def only(self, kept: Bool[np.ndarray, " g"]) -> "_Pieces":
        """Some of the pieces; the others join the rest."""
        number = np.where(kept, np.cumsum(kept) - 1, kept.sum())
        rest = self.rest + float(self.masses[~kept].sum())
        others = np.stack([self.places[~kept], self.masses[~kept] / (rest or 1)])
        return self._replace(
            places=self.places[kept],
            masses=self.masses[kept],
            groups=np.append(number, kept.sum())[self.groups],
            rest=rest,
            others=others,
        )


class _Candidate(NamedTuple):
    level: float
    at: tuple[int, ...]
    rank: int


def any_numbers(number: int) -> Float[np.ndarray, " l"]:
    """Numbers in general position, one for each variable, in units of its bound."""
    return 0.3 + np.modf(np.arange(1, number + 1) * (np.sqrt(5) - 1) / 2)[0] / 2


def atoms_of_polynomial(
    terms: Mapping[str, Complex[np.ndarray, "d d"]], variables: Mapping[str, Variable], eps: float
) -> tuple[PolynomialAtom, ...] | None:
    """The atoms, or None if the multiplicities of eigenvalues do not show them clearly.

    Args:
        terms: the coefficient of each word.
        variables: what is known of each variable.
        eps: the rounding of all numbers.
    """
    search = _Search(terms, variables, eps)
    candidates = search.candidates()
    return search.atoms(candidates) if candidates else ()


class _Search:
    def __init__(self, terms: Mapping[str, np.ndarray], variables: Mapping[str, Variable], eps: float):
        self.random, self.rounding = np.random.default_rng(0), _ROUNDING * eps
        self.order = len(next(iter(terms.values())))
        self.letters = tuple(variables)
        self.pieces = [_pieces(each, eps) for each in variables.values()]
        constant = terms.get("", np.zeros((self.order, self.order)))
        # A multiple of the identity only moves all levels.
        self.terms = {**terms, "": constant - np.trace(constant) / self.order * np.eye(self.order)}
        radii = {letter: each.radius for letter, each in zip(self.letters, self.pieces, strict=True)}
        sizes = (np.linalg.norm(value) * np.prod([radii[x] for x in word]) for word, value in self.terms.items())
        self.same = eps**_EXPONENT * max(sum(sizes), np.finfo(float).tiny)

    def candidates(self) -> list[_Candidate]:
        """Eigenvalues at numbers that occur in all of some couplings. Atoms that have no part in them join the rest."""
        couplings = [self._coupled() for _ in range(_COUPLINGS)]
        levels = np.sort(couplings[0][1].ravel())
        levels = levels[np.diff(levels, prepend=-np.inf) > self.same]
        for _, values in couplings[1:]:
            levels = levels[_are_among(levels, values, self.same)]
        if not levels.size:
            return []
        met = [met[_are_among(values, levels, self.same).any(axis=-1)] for met, values in couplings]
        numbers = [self._numbers(each) for each in met[0]]
        values = self.at_numbers(np.stack(numbers))
        found = []
        for level in levels:
            row, rank = np.unravel_index(np.argmin(abs(values - level)), values.shape)
            at = tuple(
                int(np.argmax(each.groups == g)) if g < each.places.size else -1
                for each, g in zip(self.pieces, met[0][row], strict=True)
            )
            found.append(_Candidate(float(values[row, rank]), at, int(rank)))
        together = np.concatenate(met)
        kept = [np.isin(np.arange(each.places.size), own) for each, own in zip(self.pieces, together.T, strict=True)]
        self.pieces = [each.only(chosen) for each, chosen in zip(self.pieces, kept, strict=True)]
        return found

    def atoms(self, candidates: list[_Candidate]) -> tuple[PolynomialAtom, ...] | None:
        """The candidates that are atoms, with their masses."""
        levels = np.array([each.level for each in candidates])
        found = [set[tuple[int, ...]]() for _ in candidates]
        shares = np.array([self.pieces[i].masses[g] for i, g in self._free()])
        orders = [_SIZE + 2 * i for i in range(_STARTS)]
        starts = [(order, self._near(order, shares, 4.0, 1)) for order in orders]
        for _ in range(_ROUNDS):
            for start in starts:
                for each, own in zip(found, self._linear(*start, levels), strict=True):
                    each.update(own)
            starts = self._wrong(levels, shares, found)
            if not starts:
                break
        else:
            return None
        mass = lambda own: max((np.append(1, shares) @ each for each in own), default=0)
        return tuple(
            PolynomialAtom(each.at, each.rank, tuple(sorted(map(self._of_all, own))))
            for each, own in zip(candidates, found, strict=True)
            if mass(own) > self.rounding
        )

    def at_numbers(self, t: Float[np.ndarray, "n l"]) -> Float[np.ndarray, "n d"]:
        """The eigenvalues of the polynomial at numbers."""
        factors = lambda word: [t[:, self.letters.index(letter)] for letter in word]
        words = [word for word in self.terms if word]
        values = [np.multiply.outer(np.prod(factors(word), axis=0), self.terms[word]) for word in words]
        return np.linalg.eigvalsh(sum(values) + self.terms[""])

    def _numbers(self, met: Int[np.ndarray, " l"]) -> Float[np.ndarray, " l"]:
        """The places of pieces, and arbitrary numbers for the rest."""
        some = any_numbers(len(self.letters)) * [each.radius for each in self.pieces]
        places = [np.append(each.places, x)[g] for each, x, g in zip(self.pieces, some, met, strict=True)]
        return np.array(places)

    def _coupled(self) -> tuple[Int[np.ndarray, "n l"], Float[np.ndarray, "n d"]]:
        """The pieces that meet in a random coupling, and the eigenvalues there."""
        shares = [np.append(each.masses, each.rest) if each.rest else each.masses for each in self.pieces]
        orders = [self.random.permutation(each.size) for each in shares]
        ends = [np.cumsum(each[order])[:-1] for each, order in zip(shares, orders, strict=True)]
        cuts = np.unique(np.clip(np.concatenate([[0, 1], *ends]), 0, 1))
        middle = (cuts[:-1] + np.diff(cuts) / 2)[np.diff(cuts) > self.rounding]
        met = [order[np.searchsorted(each, middle)] for order, each in zip(orders, ends, strict=True)]
        points = [
            np.where(g < each.places.size, np.append(each.places, 0)[g], self._generic(each, g.size))
            for each, g in zip(self.pieces, met, strict=True)
        ]
        return np.stack(met, axis=-1), self.at_numbers(np.stack(points, axis=-1))

    def _generic(self, pieces: _Pieces, number: int) -> Float[np.ndarray, " n"]:
        return pieces.radius * self.random.uniform(0.4, 1, number) * self.random.choice([-1, 1], number)

    def _free(self) -> list[tuple[int, int]]:
        """The pieces whose multiplicities can be chosen: all but the last of each variable."""
        return [(i, g) for i, each in enumerate(self.pieces) for g in range(each.places.size) if g != each.last]

    def _matrix(self, pieces: _Pieces, counts: Int[np.ndarray, " g"], size: int, whole: bool) -> np.ndarray:
        left = np.arange(counts.size + 1) == pieces.last
        counts = np.append(counts, 0) + (size - counts.sum()) * left
        rest = self._generic(pieces, int(counts[-1]))
        if whole:
            places, shares = pieces.others
            shares = np.append(shares, max(1 - shares.sum(), 0))
            chosen = self.random.choice(shares.size, rest.size, p=shares / shares.sum())
            rest = np.where(chosen < places.size, np.append(places, 0)[chosen], rest)
        levels = np.append(np.repeat(pieces.places, counts[:-1]), rest)
        turn = np.linalg.qr(self.random.normal(size=(size, size)) + 1j * self.random.normal(size=(size, size)))[0]
        return (turn * levels) @ turn.conj().T

    def _multiplicities(
        self, size: int, counts: Int[np.ndarray, " q"], levels: Float[np.ndarray, " c"], whole: bool = False
    ) -> Int[np.ndarray, " c"]:
        """How often a generic polynomial has the levels; if it is whole, with all atoms in the rests."""
        own = [np.zeros(each.places.size, int) for each in self.pieces]
        for (i, g), count in zip(self._free(), counts, strict=True):
            own[i][g] = count
        number = np.zeros(levels.size, int)
        for _ in range(_ROUNDS):
            parts = zip(self.letters, self.pieces, own, strict=True)
            matrices = {letter: self._matrix(each, count, size, whole) for letter, each, count in parts}
            product = lambda word, matrices=matrices: reduce(np.matmul, (matrices[x] for x in word), np.eye(size))
            found = np.linalg.eigvalsh(sum(np.kron(value, product(word)) for word, value in self.terms.items()))
            distances = abs(np.subtract.outer(levels, found)) / self.same
            number = (distances < 1).sum(axis=-1)
            if not ((distances > 1 / _CLEAR) & (distances < _CLEAR)).any():
                break
        return number

    def _near(self, size: int, shares: Float[np.ndarray, " q"], offset: float, least: int = 0) -> Int[np.ndarray, " q"]:
        """Random multiplicities near some shares, with room for two more. Small masses have the least one."""
        wanted = shares * size
        moved = wanted + self.random.uniform(-1, 1, shares.size) * np.minimum(offset, wanted / 2)
        counts = np.maximum(np.floor(moved + self.random.uniform(size=shares.size)).astype(int), least)
        of = np.array([i for i, _ in self._free()], int)
        for i in set(of):
            while counts[of == i].sum() > size - 2:
                counts[np.argmax(np.where(of == i, counts, 0))] -= 1
        return counts

    def _linear(
        self, size: int, counts: Int[np.ndarray, " q"], levels: Float[np.ndarray, " c"]
    ) -> list[list[tuple[int, ...]]]:
        """For each level the linear piece of its multiplicity, if there is only one around these."""
        here = self._multiplicities(size, counts, levels)
        slopes, linear = [], here > 0
        for unit, none in zip(np.eye(counts.size, dtype=int), counts == 0, strict=True):
            up = self._multiplicities(size, counts + unit, levels) - here
            other = self._multiplicities(size, counts + (2 if none else -1) * unit, levels) - here
            slopes.append(up)
            linear = linear & (other == (2 * up if none else -up))
        slopes = np.array(slopes, int).reshape(-1, levels.size)
        first, left = np.divmod(here - counts @ slopes, size)
        linear = linear & (left == 0)
        return [[(int(first[i]), *map(int, slopes[:, i]))] if linear[i] else [] for i in range(levels.size)]

    def _wrong(
        self, levels: Float[np.ndarray, " c"], shares: Float[np.ndarray, " q"], found: list[set[tuple[int, ...]]]
    ) -> list[tuple[int, Int[np.ndarray, " q"]]]:
        """Where to look for further pieces: around multiplicities that do not follow from those found."""
        starts = []
        for i in range(_CHECKS):
            size = _SIZE // 2 + int(self.random.integers(_SIZE))
            counts = self._near(size, shares, 2.0 * (i % 2), i // 2 % 2)
            expected = [max([0, *(int(np.dot(np.append(size, counts), each)) for each in own)]) for own in found]
            if (self._multiplicities(size, counts, levels, whole=True) != expected).any():
                starts.append((3 * size, self._near(3 * size, counts / size, 2.0, i // 2 % 2)))
        return starts

    def _of_all(self, piece: tuple[int, ...]) -> tuple[int, ...]:
        """The coefficients of 1 and of the masses of all atoms."""
        numbers = dict(zip(self._free(), piece[1:], strict=True))
        return piece[0], *(numbers.get((i, int(g)), 0) for i, each in enumerate(self.pieces) for g in each.groups)


def _are_among(values: np.ndarray, others: np.ndarray, distance: float) -> np.ndarray:
    """Which numbers are near to one of some others."""
    others = np.concatenate([[-np.inf], np.sort(others.ravel()), [np.inf]])
    place = np.searchsorted(others, values)
    return np.minimum(values - others[place - 1], others[place] - values) <= distance


def _pieces(variable: Variable, eps: float) -> _Pieces:
    radius = float(variable.radius) or 1.0
    present = np.flatnonzero(variable.masses > 0)
    present = present[np.argsort(variable.places[present])]
    places = variable.places[present]
    first = np.diff(places, prepend=-np.inf) > eps**_EXPONENT * radius
    groups = np.full(variable.places.size, first.sum())
    groups[present] = np.cumsum(first) - 1
    masses = np.bincount(groups[present], weights=variable.masses[present], minlength=int(first.sum()))
    rest = 1 - float(masses.sum())
    return _Pieces(places[first], masses, groups, rest if rest > _ROUNDING * eps else 0.0, np.zeros((2, 0)), radius)
