"""Probability measures on matrices: immutable objects with `sample`, `eigenvalues`, `counts` and `law`."""

from rmtjax.ensembles._base import AbstractEnsemble as AbstractEnsemble
from rmtjax.ensembles._base import AbstractNestedEnsemble as AbstractNestedEnsemble
from rmtjax.ensembles._circular import COE as COE
from rmtjax.ensembles._circular import CSE as CSE
from rmtjax.ensembles._circular import CUE as CUE
from rmtjax.ensembles._circular import CircularBeta as CircularBeta
from rmtjax.ensembles._deformed import Deformed as Deformed
from rmtjax.ensembles._density_matrices import Bures as Bures
from rmtjax.ensembles._density_matrices import HilbertSchmidt as HilbertSchmidt
from rmtjax.ensembles._elliptic import Elliptic as Elliptic
from rmtjax.ensembles._gaussian import GaussianBeta as GaussianBeta
from rmtjax.ensembles._gaussian_invariant import GOE as GOE
from rmtjax.ensembles._gaussian_invariant import GSE as GSE
from rmtjax.ensembles._gaussian_invariant import GUE as GUE
from rmtjax.ensembles._ginibre import Ginibre as Ginibre
from rmtjax.ensembles._ginibre import GinibreProduct as GinibreProduct
from rmtjax.ensembles._ginibre import InducedGinibre as InducedGinibre
from rmtjax.ensembles._gram import CorrelatedWishart as CorrelatedWishart
from rmtjax.ensembles._gram import SampleCorrelation as SampleCorrelation
from rmtjax.ensembles._graphs import ErdosRenyi as ErdosRenyi
from rmtjax.ensembles._graphs import RandomRegular as RandomRegular
from rmtjax.ensembles._haar import HaarIsometry as HaarIsometry
from rmtjax.ensembles._haar import HaarOrthogonal as HaarOrthogonal
from rmtjax.ensembles._haar import HaarSpecialOrthogonal as HaarSpecialOrthogonal
from rmtjax.ensembles._haar import HaarSymplectic as HaarSymplectic
from rmtjax.ensembles._inverse_wishart import InverseWishart as InverseWishart
from rmtjax.ensembles._jacobi import Jacobi as Jacobi
from rmtjax.ensembles._jacobi import JacobiBeta as JacobiBeta
from rmtjax.ensembles._laguerre import LaguerreBeta as LaguerreBeta
from rmtjax.ensembles._levy import Levy as Levy
from rmtjax.ensembles._mixed import Mixed as Mixed
from rmtjax.ensembles._non_hermitian import AbstractNonHermitianEnsemble as AbstractNonHermitianEnsemble
from rmtjax.ensembles._rosenzweig_porter import RosenzweigPorter as RosenzweigPorter
from rmtjax.ensembles._spherical import Spherical as Spherical
from rmtjax.ensembles._spiked import Spiked as Spiked
from rmtjax.ensembles._symmetry_classes import AltlandZirnbauer as AltlandZirnbauer
from rmtjax.ensembles._truncated_unitary import TruncatedUnitary as TruncatedUnitary
from rmtjax.ensembles._unitary import AbstractUnitaryEnsemble as AbstractUnitaryEnsemble
from rmtjax.ensembles._variance_profile import Banded as Banded
from rmtjax.ensembles._variance_profile import VarianceProfile as VarianceProfile
from rmtjax.ensembles._wigner import Wigner as Wigner
from rmtjax.ensembles._wishart import Wishart as Wishart

# Other names of the same measures.
CircularQuaternion = HaarSymplectic
CircularReal = HaarOrthogonal
HaarUnitary = CUE
