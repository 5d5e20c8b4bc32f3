"""Functions of mathematical physics and the numerical tools beneath the laws."""

from rmtjax.special._airy import Airy as Airy
from rmtjax.special._airy import airy as airy
from rmtjax.special._bessel import bessel_j as bessel_j
from rmtjax.special._fredholm import FredholmDeterminant as FredholmDeterminant
from rmtjax.special._fredholm import fredholm_det as fredholm_det
from rmtjax.special._kernels import airy_kernel as airy_kernel
from rmtjax.special._kernels import bessel_kernel as bessel_kernel
from rmtjax.special._kernels import hermite_kernel as hermite_kernel
from rmtjax.special._kernels import sine_kernel as sine_kernel
from rmtjax.special._quadrature import integrate as integrate
