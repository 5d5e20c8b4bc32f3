"""Functions of mathematical physics and the numerical tools beneath the laws."""

from rmtjax.special._airy import Airy as Airy
from rmtjax.special._airy import airy as airy
from rmtjax.special._bessel import bessel_j as bessel_j
from rmtjax.special._chebyshev import chebyshev_coefficients as chebyshev_coefficients
from rmtjax.special._chebyshev import chebyshev_nodes as chebyshev_nodes
from rmtjax.special._chebyshev import chebyshev_series as chebyshev_series
from rmtjax.special._chebyshev import piecewise_chebyshev as piecewise_chebyshev
from rmtjax.special._fredholm import FredholmDeterminant as FredholmDeterminant
from rmtjax.special._fredholm import fredholm_det as fredholm_det
from rmtjax.special._gauss import gauss_hermite as gauss_hermite
from rmtjax.special._gauss import gauss_jacobi as gauss_jacobi
from rmtjax.special._gauss import gauss_laguerre as gauss_laguerre
from rmtjax.special._gauss import gauss_legendre as gauss_legendre
from rmtjax.special._kernels import airy_kernel as airy_kernel
from rmtjax.special._kernels import bessel_kernel as bessel_kernel
from rmtjax.special._kernels import hermite_kernel as hermite_kernel
from rmtjax.special._kernels import sine_kernel as sine_kernel
from rmtjax.special._quadrature import integrate as integrate
from rmtjax.special._root import bracketed_root as bracketed_root
