"""Probability measures on matrices: immutable objects with `sample`, `eigenvalues`, `count_below` and `law`."""

from rmtjax.ensembles._circular.circular import COE as COE
from rmtjax.ensembles._circular.circular import CSE as CSE
from rmtjax.ensembles._circular.circular import CUE as CUE
from rmtjax.ensembles._circular.circular import CircularBeta as CircularBeta
from rmtjax.ensembles._circular.haar import HaarIsometry as HaarIsometry
from rmtjax.ensembles._circular.haar import HaarOrthogonal as HaarOrthogonal
from rmtjax.ensembles._circular.haar import HaarSpecialOrthogonal as HaarSpecialOrthogonal
from rmtjax.ensembles._circular.haar import HaarSymplectic as HaarSymplectic
from rmtjax.ensembles._classes.density_matrices import Bures as Bures
from rmtjax.ensembles._classes.density_matrices import HilbertSchmidt as HilbertSchmidt
from rmtjax.ensembles._classes.symmetry_classes import AltlandZirnbauer as AltlandZirnbauer
from rmtjax.ensembles._composed.deformed import Deformed as Deformed
from rmtjax.ensembles._composed.mixed import Mixed as Mixed
from rmtjax.ensembles._composed.spiked import Spiked as Spiked
from rmtjax.ensembles._core.base import AbstractEnsemble as AbstractEnsemble
from rmtjax.ensembles._core.base import AbstractNestedEnsemble as AbstractNestedEnsemble
from rmtjax.ensembles._core.edge import Edge as Edge
from rmtjax.ensembles._core.non_hermitian import AbstractNonHermitianEnsemble as AbstractNonHermitianEnsemble
from rmtjax.ensembles._core.unitary import AbstractUnitaryEnsemble as AbstractUnitaryEnsemble
from rmtjax.ensembles._gaussian.beta import GaussianBeta as GaussianBeta
from rmtjax.ensembles._gaussian.matrices import GOE as GOE
from rmtjax.ensembles._gaussian.matrices import GSE as GSE
from rmtjax.ensembles._gaussian.matrices import GUE as GUE
from rmtjax.ensembles._jacobi.beta import JacobiBeta as JacobiBeta
from rmtjax.ensembles._jacobi.matrices import Jacobi as Jacobi
from rmtjax.ensembles._laguerre.beta import LaguerreBeta as LaguerreBeta
from rmtjax.ensembles._laguerre.inverse_wishart import InverseWishart as InverseWishart
from rmtjax.ensembles._laguerre.sample_covariance import CorrelatedWishart as CorrelatedWishart
from rmtjax.ensembles._laguerre.sample_covariance import SampleCorrelation as SampleCorrelation
from rmtjax.ensembles._laguerre.wishart import Wishart as Wishart
from rmtjax.ensembles._plane.elliptic import Elliptic as Elliptic
from rmtjax.ensembles._plane.ginibre import Ginibre as Ginibre
from rmtjax.ensembles._plane.ginibre import GinibreProduct as GinibreProduct
from rmtjax.ensembles._plane.ginibre import InducedGinibre as InducedGinibre
from rmtjax.ensembles._plane.spherical import Spherical as Spherical
from rmtjax.ensembles._plane.truncated_unitary import TruncatedUnitary as TruncatedUnitary
from rmtjax.ensembles._wigner.graphs import ErdosRenyi as ErdosRenyi
from rmtjax.ensembles._wigner.graphs import RandomRegular as RandomRegular
from rmtjax.ensembles._wigner.levy import Levy as Levy
from rmtjax.ensembles._wigner.rosenzweig_porter import RosenzweigPorter as RosenzweigPorter
from rmtjax.ensembles._wigner.variance_profile import Banded as Banded
from rmtjax.ensembles._wigner.variance_profile import VarianceProfile as VarianceProfile
from rmtjax.ensembles._wigner.wigner import Wigner as Wigner

# Other names for the same measures.
CircularQuaternion = HaarSymplectic
CircularReal = HaarOrthogonal
HaarUnitary = CUE
