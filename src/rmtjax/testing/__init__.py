"""Tools for testing users' own code: hypothesis strategies, and checks.

`check_composable` checks that a function works under JAX transformations as the functions of the library do.
`check_ensemble`, `check_unitary_ensemble` and `check_law` check users' own ensembles and laws against their contracts.
The package needs the extra `test`.
"""

from rmtjax.testing._composable import check_composable as check_composable
from rmtjax.testing._derivatives import check_derivatives as check_derivatives
from rmtjax.testing._derivatives import check_second_derivative as check_second_derivative
from rmtjax.testing._dtypes import check_dtypes as check_dtypes
from rmtjax.testing._ensemble import check_ensemble as check_ensemble
from rmtjax.testing._law import check_law as check_law
from rmtjax.testing._strategies import ensembles as ensembles
from rmtjax.testing._strategies import hermitian_matrices as hermitian_matrices
from rmtjax.testing._strategies import keys as keys
from rmtjax.testing._strategies import laws as laws
from rmtjax.testing._strategies import spectra as spectra
from rmtjax.testing._transformations import check_jit as check_jit
from rmtjax.testing._transformations import check_vmap as check_vmap
from rmtjax.testing._unitary import check_unitary_ensemble as check_unitary_ensemble
