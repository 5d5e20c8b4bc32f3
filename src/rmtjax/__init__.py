"""Random-matrix theory on JAX: draw from an ensemble, measure its spectrum, compare it with exact laws.

Data flows one way: key → ensemble → matrix → spectrum → law or statistic. Everything is a pure function of its
arguments and composes with `jit`, `vmap`, `grad` and sharding. Ensembles and the few central functions are at the top
level; `rmtjax.laws`, `rmtjax.linalg`, `rmtjax.random`, `rmtjax.simulation`, `rmtjax.special`, `rmtjax.spectra`,
`rmtjax.statistics` and `rmtjax.inference` hold the rest.
`rmtjax.plotting`, `rmtjax.testing`, `rmtjax.benchmark` and the modules of `rmtjax.adapters` are imported when they are
first used; `python -m rmtjax.doctor` checks the installation.
"""

from typing import TYPE_CHECKING

from rmtjax import _lazy, _version
from rmtjax import ensembles as ensembles
from rmtjax import inference as inference
from rmtjax import laws as laws
from rmtjax import linalg as linalg
from rmtjax import random as random
from rmtjax import simulation as simulation
from rmtjax import special as special
from rmtjax import spectra as spectra
from rmtjax import statistics as statistics
from rmtjax._cache import enable_compilation_cache as enable_compilation_cache
from rmtjax._cite import cite as cite
from rmtjax.ensembles import COE as COE
from rmtjax.ensembles import CSE as CSE
from rmtjax.ensembles import CUE as CUE
from rmtjax.ensembles import GOE as GOE
from rmtjax.ensembles import GSE as GSE
from rmtjax.ensembles import GUE as GUE
from rmtjax.ensembles import AltlandZirnbauer as AltlandZirnbauer
from rmtjax.ensembles import Banded as Banded
from rmtjax.ensembles import Bures as Bures
from rmtjax.ensembles import CircularBeta as CircularBeta
from rmtjax.ensembles import CircularBrownianMotion as CircularBrownianMotion
from rmtjax.ensembles import CorrelatedInverseWishart as CorrelatedInverseWishart
from rmtjax.ensembles import CorrelatedWishart as CorrelatedWishart
from rmtjax.ensembles import Deformed as Deformed
from rmtjax.ensembles import DysonBrownianMotion as DysonBrownianMotion
from rmtjax.ensembles import Elliptic as Elliptic
from rmtjax.ensembles import ErdosRenyi as ErdosRenyi
from rmtjax.ensembles import GaussianBeta as GaussianBeta
from rmtjax.ensembles import Ginibre as Ginibre
from rmtjax.ensembles import GinibreProduct as GinibreProduct
from rmtjax.ensembles import HaarIsometry as HaarIsometry
from rmtjax.ensembles import HaarOrthogonal as HaarOrthogonal
from rmtjax.ensembles import HaarSpecialOrthogonal as HaarSpecialOrthogonal
from rmtjax.ensembles import HaarSymplectic as HaarSymplectic
from rmtjax.ensembles import HilbertSchmidt as HilbertSchmidt
from rmtjax.ensembles import InducedGinibre as InducedGinibre
from rmtjax.ensembles import InverseWishart as InverseWishart
from rmtjax.ensembles import Jacobi as Jacobi
from rmtjax.ensembles import JacobiBeta as JacobiBeta
from rmtjax.ensembles import LaguerreBeta as LaguerreBeta
from rmtjax.ensembles import Levy as Levy
from rmtjax.ensembles import Mixed as Mixed
from rmtjax.ensembles import RandomRegular as RandomRegular
from rmtjax.ensembles import RosenzweigPorter as RosenzweigPorter
from rmtjax.ensembles import SampleCorrelation as SampleCorrelation
from rmtjax.ensembles import Spherical as Spherical
from rmtjax.ensembles import Spiked as Spiked
from rmtjax.ensembles import TruncatedUnitary as TruncatedUnitary
from rmtjax.ensembles import VarianceProfile as VarianceProfile
from rmtjax.ensembles import Wigner as Wigner
from rmtjax.ensembles import Wishart as Wishart
from rmtjax.linalg import PaddedMatrix as PaddedMatrix
from rmtjax.linalg import SymTridiagonal as SymTridiagonal
from rmtjax.linalg import eigh as eigh
from rmtjax.linalg import eigvalsh as eigvalsh
from rmtjax.linalg import spectral_radius as spectral_radius
from rmtjax.simulation import Histogram as Histogram
from rmtjax.simulation import Moments as Moments
from rmtjax.simulation import simulate as simulate
from rmtjax.simulation import simulate_rare as simulate_rare
from rmtjax.spectra import Circle as Circle
from rmtjax.spectra import Interval as Interval
from rmtjax.spectra import Spectrum as Spectrum

__version__ = _version.__version__

if TYPE_CHECKING:
    from rmtjax import adapters as adapters
    from rmtjax import benchmark as benchmark
    from rmtjax import plotting as plotting
    from rmtjax import testing as testing
else:  # a type checker would take every name for one of these modules
    __getattr__, __dir__ = _lazy.on_first_use(
        globals(),
        {
            "adapters": None,
            "benchmark": None,
            "plotting": _lazy.Extra("plot", "matplotlib"),
            "testing": _lazy.Extra("test", "hypothesis"),
        },
    )
