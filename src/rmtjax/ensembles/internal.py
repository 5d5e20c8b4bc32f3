"""Functions for the packages above `ensembles`, besides its public ones: constants of edges for arrays of sizes.

Nothing here checks its arguments or is part of the public interface; each docstring is the contract.
"""

from rmtjax.ensembles._core.edge_constants import largest_jacobi_level as largest_jacobi_level
from rmtjax.ensembles._core.edge_constants import largest_laguerre_level as largest_laguerre_level
