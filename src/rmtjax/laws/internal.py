"""What packages above `laws` take from it besides its public names: what ensembles say of their levels.

Nothing here checks its arguments or is part of the public interface; each docstring is the contract.
"""

from rmtjax.laws._composed.orders import clip_order as clip_order
from rmtjax.laws._finite_n.level_density import ClassicalSpectrum as ClassicalSpectrum
from rmtjax.laws._finite_n.orthogonal_polynomials import ClassicalEnsemble as ClassicalEnsemble
