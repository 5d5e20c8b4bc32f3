"""Names that packages above `laws` use besides the public ones: how ensembles describe their levels.

Nothing here is part of the public interface or checks its arguments; each docstring is the contract.
"""

from rmtjax.laws._composed.orders import clip_order as clip_order
from rmtjax.laws._finite_n.level_density import ClassicalSpectrum as ClassicalSpectrum
from rmtjax.laws._finite_n.orthogonal_polynomials import ClassicalEnsemble as ClassicalEnsemble
