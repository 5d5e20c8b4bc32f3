"""Aliases for the argument types that public signatures share.

Axis glossary: `n` matrix size, `m` samples, `k` requested levels or bins, `q` quadrature nodes.
Shapes are written in jaxtyping annotations; a one-axis shape has a leading space (`Float[Array, " n"]`). An argument
that need not be an array of JAX yet names its shape as `Annotated[ArrayLike, "*batch n n"]`.

Aliases for arrays have a name at run time too, so that `help()` shows `x: RealLike` instead of a long union. A choice
among names or numbers is a `Literal`, which `_checks.choice` reads.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

# The manual looks for `typing.overload`; not seeing this one, it shows the one signature of the function itself.
from typing import overload as overload

import jax
import numpy as np
from jaxtyping import Array, Key
from typing_extensions import TypeAliasType

if TYPE_CHECKING:
    # Type checkers report jaxtyping's `PyTree` as an error wherever a result has this type.
    PyTree: TypeAlias = Any
else:
    from jaxtyping import PyTree as PyTree

KeyScalar = Key[Array, ""]


class _HasArray(Protocol):
    """An object that NumPy makes an array of, such as a column of a table."""

    def __array__(self) -> np.ndarray[Any, Any]: ...


_Real = jax.Array | np.ndarray | np.generic | int | float
_Number = _Real | complex
# Lists of up to three axes. An alias that contained itself would admit any text, because its letters are texts.
_RealLists = Sequence[_Real | Sequence[_Real | Sequence[_Real]]]
_NumberLists = Sequence[_Number | Sequence[_Number | Sequence[_Number]]]

RealScalarLike = TypeAliasType("RealScalarLike", _Real)
RealLike = TypeAliasType("RealLike", _Real | _HasArray | _RealLists)
ArrayLike = TypeAliasType("ArrayLike", _Number | _HasArray | _NumberLists)
IntegerLike = TypeAliasType("IntegerLike", jax.Array | np.ndarray | np.integer[Any] | int | Sequence[int])
# Which of the values count.
MaskLike = TypeAliasType(
    "MaskLike", jax.Array | np.ndarray | np.bool_ | bool | Sequence[bool | Sequence[bool | Sequence[bool]]]
)
# The two ends of an interval.
IntervalLike = TypeAliasType("IntervalLike", tuple[RealLike, RealLike] | Sequence[float] | jax.Array | np.ndarray)

DysonIndex = Literal[1, 2, 4]
DysonIndexOrZero = Literal[0, 1, 2, 4]  # 0 stands for independent levels.
RealOrComplex = Literal[1, 2]
Side = Literal["upper", "lower"]
Arrangement = Literal["ascending", "magnitude", "random"]
ShrinkageMethodOfLevels = Literal["qis", "lis", "gis", "analytical", "oas", "rie", "clipping", "spiked"]
ShrinkageMethod = Literal[ShrinkageMethodOfLevels, "ledoit-wolf", "sample"]
ShrinkageTarget = Literal["identity", "diagonal", "constant-correlation", "one-factor", "two-parameter"]
Missing = Literal["pairwise", "drop"]
SpikedLoss = Literal["frobenius", "operator", "nuclear", "stein", "entropy", "divergence", "frechet"]
RankMethodOfLevels = Literal["tracy-widom", "exact", "hard-threshold"]
RankMethodWithoutKey = Literal[RankMethodOfLevels, "parallel-analysis", "deflated-parallel-analysis"]
RankMethod = TypeAliasType("RankMethod", Literal[RankMethodWithoutKey, "permutation", "random-signs"])
