"""Sturm sweeps as kernels: a lane for each pair of a matrix and a shift, and all rows inside of one launch.

The kernels are written in Pallas and lowered by Triton. `count` goes over the rows once. `bisected` halves the bracket
of each wanted level until it has the width of rounding, with a sweep for each halving, all in one launch: 53 sweeps in
float64, where the search in `_sturm_search` takes about 20, but with many small launches around each of them. Which of
the two is faster on a GPU is for `benchmarks/gpu.py` to say.

The recurrence is that of the prepared matrix, `AbstractSturm.block`, and so are the scaling, the floor under
off-diagonals and the cuts. What Triton asks for: blocks of a power of 2, no complex numbers (the scan packs its state
into one), and no indexing of arrays in registers, so that the entries of a row are read one by one from memory, the
same for all lanes of a program. Triton's division of float32 is off by up to 2 ulp, as if the next off-diagonal were.

A launch takes a batch of matrices, with programs of lanes for each. `vmap` adds to the batch, or to the lanes where all
mapped points have the same matrix, because Pallas would add an axis to the grid, which CUDA limits to 65,535 programs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton
from jaxtyping import Array, Float, Int

from rmtjax._varying import shaped_like, varying_like
from rmtjax.linalg import _sturm

# Lanes of a program: one warp, the least, as sweeps are chains of dependent operations and gain from more processors.
LANES = 32


@dataclass(frozen=True)
class _Rows:
    """Some rows of one step, left in memory: what `AbstractSturm.block` reads instead of an array of numbers."""

    ref: Any  # the rows of all steps
    step: Int[Array, ""]
    first: int
    size: int

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.ref.dtype)

    @property
    def shape(self) -> tuple[int, int]:
        return self.ref.shape[1], self.size

    def __getitem__(self, place: tuple[int, int]) -> Float[Array, ""]:
        column, row = place
        return self.ref[self.step, column, self.first + row]


def count(
    matrix: _sturm.AbstractSturm, ratio: Float[Array, "*shape"], x: Float[Array, "*shape"], *, interpret: bool
) -> tuple[Float[Array, "*shape"], Int[Array, "*shape"]]:
    """`_sturm.count`, for any number of rows."""
    kinds = x.dtype, np.dtype(np.int32)
    ratio, below = _launch(_count_kernel, matrix, (ratio.ravel(), x.ravel()), kinds, interpret)
    return ratio.reshape(x.shape), below.reshape(x.shape)


def bisected(matrix: _sturm.AbstractSturm, level: Int[Array, " k"], *, interpret: bool) -> Float[Array, " k"]:
    """The levels of these numbers, in the units of the rows: where the count first exceeds the number."""
    return _launch(_bisection_kernel, matrix, (level,), (matrix.rows.dtype,), interpret)[0]


def _count_kernel(matrix: _sturm.AbstractSturm, ratio: Any, x: Any, new_ratio: Any, below: Any) -> None:
    new_ratio[:], below[:] = _sweep(matrix, ratio[:], x[:])


def _bisection_kernel(matrix: _sturm.AbstractSturm, level: Any, found: Any) -> None:
    dtype, level = np.dtype(matrix.rows.dtype), level[:]
    width = _sturm.width(dtype)

    def halved(_: Int[Array, ""], bracket: tuple) -> tuple:
        lower, upper = bracket
        middle = 0.5 * (lower + upper)
        above = _sweep(matrix, matrix.start(middle), middle)[1] > level
        return jnp.where(above, lower, middle), jnp.where(above, middle, upper)

    ends = matrix.lower - width, matrix.upper + width
    bracket = tuple(jnp.full(level.shape, end, dtype) for end in ends)
    # A bracket is at most 2 + 2 eps wide at first.
    lower, upper = jax.lax.fori_loop(0, 1 - int(np.log2(width)), halved, bracket)
    found[:] = 0.5 * (lower + upper)


def _sweep(
    matrix: _sturm.AbstractSturm, ratio: Float[Array, " lanes"], x: Float[Array, " lanes"]
) -> tuple[Float[Array, " lanes"], Int[Array, " lanes"]]:
    """The ratio after all rows and the number of sign changes; the rows of the matrix are a reference to memory."""
    rows, shift, sign = matrix.rows, matrix.shift(x), _sturm.sign_bit(x.dtype)
    steps, _, size = rows.shape
    block = _sturm.block(rows.dtype) // matrix.factors

    def step(number: Int[Array, ""], state: tuple) -> tuple:
        ratio, total = state
        some = [_Rows(rows, number, first, min(block, size - first)) for first in range(0, size, block)]
        ratio, changes = _sturm.sign_changes(matrix, some, ratio, shift, sign)
        return ratio, total + changes.astype(jnp.int32)

    return jax.lax.fori_loop(0, steps, step, (ratio, jnp.zeros(x.shape, jnp.int32)))


class _Launch(NamedTuple):
    """What is static about a launch: the kernel, and how its operands make a matrix.

    The operands are the rows of the matrices, their other numbers, and arrays with a number for each lane. All of them,
    and the results, have a first axis for the matrices.
    """

    kernel: Callable[..., None]
    structure: Any  # of a matrix without its rows
    kinds: tuple[np.dtype, ...]  # of the results, which have a number for each lane
    interpret: bool

    @property
    def parts(self) -> int:
        """Number of the operands that belong to the matrices."""
        return 1 + self.structure.num_leaves

    def __call__(self, *operands: Array) -> list[Array]:
        run = jax.custom_batching.custom_vmap(self.run)
        run.def_vmap(self.mapped)
        return run(*operands)

    def mapped(self, size: int, is_mapped: list[bool], *operands: Array) -> tuple[list[Array], list[bool]]:
        """Run with one more axis: more lanes where all points on it have the same matrices, else more matrices."""
        one_matrix = not any(is_mapped[: self.parts])
        repeated = [
            a if known or (one_matrix and place < self.parts) else jnp.broadcast_to(a, (size, *a.shape))
            for place, (a, known) in enumerate(zip(operands, is_mapped, strict=True))
        ]
        matrices, lanes = operands[-1].shape[-2:]
        if one_matrix:
            lined_up = [jnp.moveaxis(a, 0, 1).reshape(matrices, size * lanes) for a in repeated[self.parts :]]
            results = self(*operands[: self.parts], *lined_up)
            results = [jnp.moveaxis(a.reshape(matrices, size, lanes), 1, 0) for a in results]
        else:
            results = self(*(a.reshape(size * a.shape[1], *a.shape[2:]) for a in repeated))
            results = [a.reshape(size, matrices, lanes) for a in results]
        return results, [True] * len(results)

    def run(self, *operands: Array) -> list[Array]:
        """Launch the kernel."""
        (matrices, size), types = operands[-1].shape, [jax.typeof(a) for a in operands]
        if matrices * size == 0:
            return [jnp.zeros((matrices, size), kind) for kind in self.kinds]
        programs = -(-size // LANES)
        whole, lanes = operands[: self.parts], operands[self.parts :]
        lanes = [jnp.pad(a, ((0, 0), (0, programs * LANES - size))) for a in lanes]
        operands = tuple(varying_like(a, *types) for a in (*whole, *lanes))
        # The grid has one axis, as CUDA allows 2³¹ programs on the first and 65,535 on the others.
        place = lambda number: (number // programs, number % programs)
        block = pl.BlockSpec((None, LANES), place)
        results = pl.pallas_call(
            self.program,
            [shaped_like(operands[-1], (matrices, programs * LANES), kind) for kind in self.kinds],
            grid=(matrices * programs,),
            in_specs=[*(_of_one_matrix(a, programs) for a in whole), *[block] * len(lanes)],
            out_specs=[block] * len(self.kinds),
            compiler_params=triton.CompilerParams(num_warps=1),
            interpret=self.interpret,
            name=f"sturm{self.kernel.__name__}",
        )(*operands)
        return [result[:, :size] for result in results]

    def program(self, rows: Any, *refs: Any) -> None:
        """The kernel on references to memory: a block of lanes of one matrix."""
        numbers = [ref[0] for ref in refs[: self.parts - 1]]
        self.kernel(_with_rows(jax.tree.unflatten(self.structure, numbers), rows), *refs[self.parts - 1 :])


def _of_one_matrix(a: Array, programs: int) -> pl.BlockSpec:
    """The part of an operand that belongs to the matrix of a program."""
    return pl.BlockSpec((None, *a.shape[1:]), lambda number: (number // programs, *[0] * (a.ndim - 1)))


def _with_rows(matrix: _sturm.AbstractSturm, rows: Any) -> _sturm.AbstractSturm:
    return eqx.tree_at(lambda m: m.rows, matrix, rows, is_leaf=lambda leaf: leaf is None)


def _launch(
    kernel: Callable[..., None],
    matrix: _sturm.AbstractSturm,
    lanes: tuple[Array, ...],
    kinds: tuple[np.dtype, ...],
    interpret: bool,
) -> list[Array]:
    """Run a kernel with one lane for each entry of the arrays `lanes`."""
    numbers, structure = jax.tree.flatten(_with_rows(matrix, None))
    numbers = [
        jnp.reshape(a if isinstance(a, jax.Array) else jnp.asarray(a, matrix.rows.dtype), (1, 1)) for a in numbers
    ]
    operands = matrix.rows[None], *numbers, *(a[None] for a in lanes)
    return [result[0] for result in _Launch(kernel, structure, kinds, interpret)(*operands)]
