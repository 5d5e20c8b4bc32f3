"""Functions of mathematical physics and the numerical tools beneath the laws."""

from rmtjax.special._quadrature import gauss_legendre as gauss_legendre
from rmtjax.special._quadrature import integrate as integrate
from rmtjax.special._root import bracketed_root as bracketed_root
