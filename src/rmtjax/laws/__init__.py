"""Probability laws of the field: exact, vectorised, differentiable."""

from rmtjax.laws._base import AbstractLaw as AbstractLaw
from rmtjax.laws._binomial_semicircle import BinomialSemicircle as BinomialSemicircle
from rmtjax.laws._bures import Bures as Bures
from rmtjax.laws._deformed_semicircle import DeformedSemicircle as DeformedSemicircle
from rmtjax.laws._inverse_marchenko_pastur import InverseMarchenkoPastur as InverseMarchenkoPastur
from rmtjax.laws._kesten_mckay import KestenMcKay as KestenMcKay
from rmtjax.laws._marchenko_pastur import MarchenkoPastur as MarchenkoPastur
from rmtjax.laws._mixture import Mixture as Mixture
from rmtjax.laws._mixture import Symmetrized as Symmetrized
from rmtjax.laws._periodic_padding import PeriodicPadding as PeriodicPadding
from rmtjax.laws._periodic_padding import WignerCat as WignerCat
from rmtjax.laws._planar import AbstractPlanarLaw as AbstractPlanarLaw
from rmtjax.laws._planar import EllipticLaw as EllipticLaw
from rmtjax.laws._radial import CircularLaw as CircularLaw
from rmtjax.laws._radial import CircularPowerLaw as CircularPowerLaw
from rmtjax.laws._radial import SphericalLaw as SphericalLaw
from rmtjax.laws._radial import TruncatedUnitaryLaw as TruncatedUnitaryLaw
from rmtjax.laws._semicircle import Semicircle as Semicircle
from rmtjax.laws._uniform import Uniform as Uniform
from rmtjax.laws._wachter import Wachter as Wachter
