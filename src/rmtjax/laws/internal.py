"""Names that packages above `laws` use besides the public ones: how ensembles describe their levels, tails.

Nothing here is part of the public interface or checks its arguments; each docstring is the contract.
"""

from rmtjax.laws._composed.orders import clip_order as clip_order
from rmtjax.laws._core.generalized_gamma import AbstractGeneralizedGamma as AbstractGeneralizedGamma
from rmtjax.laws._core.tabulated import smaller_tail as smaller_tail
from rmtjax.laws._finite_n.level_density import ClassicalSpectrum as ClassicalSpectrum
from rmtjax.laws._finite_n.orthogonal_polynomials import ClassicalEnsemble as ClassicalEnsemble
