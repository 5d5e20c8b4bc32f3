"""Functions for the packages above `random`, besides its public ones: matrices and variates without checks.

Nothing here checks its arguments or is part of the public interface; each docstring is the contract.
"""

from rmtjax.random._bartlett import lower_band as lower_band
from rmtjax.random._bartlett import triangular_band as triangular_band
from rmtjax.random._bits import normal_variates as normal_variates
from rmtjax.random._bits import random_words as random_words
from rmtjax.random._gamma import log_ratio as log_ratio
from rmtjax.random._gamma import unchecked_chi as unchecked_chi
from rmtjax.random._gamma import unit_chi as unit_chi
from rmtjax.random._haar import haar_isometry as haar_isometry
from rmtjax.random._haar import special_orthogonal as special_orthogonal
from rmtjax.random._normal_matrices import dual as dual
from rmtjax.random._normal_matrices import gaussian_matrix as gaussian_matrix
from rmtjax.random._normal_matrices import quaternions as quaternions
from rmtjax.random._normal_matrices import self_dual_part as self_dual_part
