"""Probability measures on matrices: immutable objects with `sample`, `eigenvalues`, `counts` and `law`."""

from rmtjax.ensembles._base import AbstractEnsemble as AbstractEnsemble
from rmtjax.ensembles._base import AbstractNestedEnsemble as AbstractNestedEnsemble
from rmtjax.ensembles._circular import COE as COE
from rmtjax.ensembles._circular import CSE as CSE
from rmtjax.ensembles._circular import CUE as CUE
from rmtjax.ensembles._circular import CircularBeta as CircularBeta
from rmtjax.ensembles._gaussian import GaussianBeta as GaussianBeta
from rmtjax.ensembles._gaussian_invariant import GOE as GOE
from rmtjax.ensembles._gaussian_invariant import GSE as GSE
from rmtjax.ensembles._gaussian_invariant import GUE as GUE
from rmtjax.ensembles._laguerre import LaguerreBeta as LaguerreBeta
from rmtjax.ensembles._mixed import Mixed as Mixed
from rmtjax.ensembles._unitary import AbstractUnitaryEnsemble as AbstractUnitaryEnsemble
from rmtjax.ensembles._wigner import Wigner as Wigner
from rmtjax.ensembles._wishart import Wishart as Wishart
