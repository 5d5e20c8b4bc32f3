"""Functions for the packages above `linalg`, besides its public ones: reduced models, blocks of traced order.

Nothing here checks its arguments or is part of the public interface; each docstring is the contract.
"""

from rmtjax.linalg._bidiagonal import block_singular_counts as block_singular_counts
from rmtjax.linalg._bidiagonal import block_singular_values as block_singular_values
from rmtjax.linalg._bidiagonal import block_square_counts as block_square_counts
from rmtjax.linalg._circular import Verblunsky as Verblunsky
from rmtjax.linalg._circular import eigenphase_counts as eigenphase_counts
from rmtjax.linalg._circular import eigenphases as eigenphases
from rmtjax.linalg._decompose import adjoint as adjoint
from rmtjax.linalg._decompose import decompose as decompose
from rmtjax.linalg._decompose import decompose_one_by_one as decompose_one_by_one
from rmtjax.linalg._decompose import hermitian_part as hermitian_part
from rmtjax.linalg._decompose import one_by_one as one_by_one
from rmtjax.linalg._eigensystem import general_eigensystem as general_eigensystem
from rmtjax.linalg._eigensystem import general_eigenvalues as general_eigenvalues
from rmtjax.linalg._entries import AbstractEntries as AbstractEntries
from rmtjax.linalg._entries import HermiteEntries as HermiteEntries
from rmtjax.linalg._entries import LaguerreEntries as LaguerreEntries
from rmtjax.linalg._hermitian import hermitian_eigenvalues as hermitian_eigenvalues
from rmtjax.linalg._linear_equations import inverse_of_each as inverse_of_each
from rmtjax.linalg._linear_equations import log_determinant as log_determinant
from rmtjax.linalg._linear_equations import solve_each as solve_each
from rmtjax.linalg._matrix_function import divided_differences as divided_differences
from rmtjax.linalg._padded import leading_block_spectrum as leading_block_spectrum
from rmtjax.linalg._singular_function import singular_function_tangent as singular_function_tangent
from rmtjax.linalg._stream import counts_of_stream as counts_of_stream
from rmtjax.linalg._tridiagonal import block_counts as block_counts
from rmtjax.linalg._tridiagonal import block_eigenvalues as block_eigenvalues
from rmtjax.linalg._unitary import unitary_phases as unitary_phases
