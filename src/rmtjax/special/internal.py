"""Functions that packages above `special` use besides its public ones: weights, logarithms of integrals, tails.

None of these functions is part of the public interface, and few check their arguments; each docstring is the contract.
"""

from rmtjax.special._chebyshev import chebyshev_coefficients as chebyshev_coefficients
from rmtjax.special._chebyshev import chebyshev_nodes as chebyshev_nodes
from rmtjax.special._chebyshev import chebyshev_series as chebyshev_series
from rmtjax.special._chebyshev import piecewise_chebyshev as piecewise_chebyshev
from rmtjax.special._classical_weights import AbstractWeight as AbstractWeight
from rmtjax.special._classical_weights import HermiteWeight as HermiteWeight
from rmtjax.special._classical_weights import JacobiWeight as JacobiWeight
from rmtjax.special._classical_weights import LaguerreWeight as LaguerreWeight
from rmtjax.special._classical_weights import Values as Values
from rmtjax.special._elementary import exp_slope as exp_slope
from rmtjax.special._elementary import log_one_minus_exp as log_one_minus_exp
from rmtjax.special._elementary import log_one_plus as log_one_plus
from rmtjax.special._elementary import log_slope as log_slope
from rmtjax.special._elementary import logarithm as logarithm
from rmtjax.special._elementary import square_root as square_root
from rmtjax.special._elementary import t_minus_sin_t as t_minus_sin_t
from rmtjax.special._elementary import unit_circle as unit_circle
from rmtjax.special._elementary import whole_powers as whole_powers
from rmtjax.special._error_functions import erf_ratio as erf_ratio
from rmtjax.special._error_functions import erfcx as erfcx
from rmtjax.special._error_functions import log_normal_cdf as log_normal_cdf
from rmtjax.special._faddeeva import faddeeva as faddeeva
from rmtjax.special._fredholm import nodes_and_weights as nodes_and_weights
from rmtjax.special._gauss import gauss_hermite as gauss_hermite
from rmtjax.special._gauss import gauss_laguerre as gauss_laguerre
from rmtjax.special._gauss import gauss_legendre as gauss_legendre
from rmtjax.special._incomplete import log_beta_density as log_beta_density
from rmtjax.special._incomplete import log_beta_tails as log_beta_tails
from rmtjax.special._incomplete import log_gamma_density as log_gamma_density
from rmtjax.special._incomplete import log_gamma_quotient as log_gamma_quotient
from rmtjax.special._incomplete import log_gamma_step as log_gamma_step
from rmtjax.special._incomplete import log_gamma_tails as log_gamma_tails
from rmtjax.special._kernels import hermite_functions as hermite_functions
from rmtjax.special._kernels import scaled_gaussian as scaled_gaussian
from rmtjax.special._quadrature import inside_a_panel as inside_a_panel
from rmtjax.special._quadrature import panel_nodes as panel_nodes
from rmtjax.special._root import bracketed_root as bracketed_root
from rmtjax.special._root import implicit_root as implicit_root
from rmtjax.special._selberg import log_circular_vandermonde as log_circular_vandermonde
from rmtjax.special._selberg import log_dyson as log_dyson
from rmtjax.special._selberg import log_flags as log_flags
from rmtjax.special._selberg import log_laguerre as log_laguerre
from rmtjax.special._selberg import log_mehta as log_mehta
from rmtjax.special._selberg import log_selberg as log_selberg
from rmtjax.special._selberg import log_vandermonde as log_vandermonde
from rmtjax.special._sine_integral import auxiliary as auxiliary
from rmtjax.special._sine_integral import cosine_integral as cosine_integral
from rmtjax.special._sine_integral import sine_integral as sine_integral
from rmtjax.special._sine_integral import sine_tail as sine_tail
from rmtjax.special._student import decimals as decimals
from rmtjax.special._student import student_interval as student_interval
from rmtjax.special._student import student_multiple as student_multiple
