"""Spectra of given matrices: pure, differentiable functions of arrays."""

from rmtjax.linalg._general import spectral_radius as spectral_radius
from rmtjax.linalg._hermitian import eigh as eigh
from rmtjax.linalg._hermitian import eigvalsh as eigvalsh
from rmtjax.linalg._matrix_function import matrix_function as matrix_function
from rmtjax.linalg._padded import PaddedMatrix as PaddedMatrix
from rmtjax.linalg._scalars import log_determinant as log_determinant
from rmtjax.linalg._scalars import schatten_norm as schatten_norm
from rmtjax.linalg._sharded_product import sharded_product as sharded_product
from rmtjax.linalg._tridiagonal import SymTridiagonal as SymTridiagonal
