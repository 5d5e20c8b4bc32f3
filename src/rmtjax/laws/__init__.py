"""Probability laws of random-matrix theory: exact, vectorised, differentiable."""

from rmtjax.laws._composed.binomial_semicircle import BinomialSemicircle as BinomialSemicircle
from rmtjax.laws._composed.mixture import Mixture as Mixture
from rmtjax.laws._composed.periodic_padding import PeriodicPadding as PeriodicPadding
from rmtjax.laws._composed.periodic_padding import wigner_cat as wigner_cat
from rmtjax.laws._composed.symmetrized import Symmetrized as Symmetrized
from rmtjax.laws._core.base import AbstractLaw as AbstractLaw
from rmtjax.laws._core.planar import AbstractPlanarLaw as AbstractPlanarLaw
from rmtjax.laws._core.spectral import AbstractSpectralLaw as AbstractSpectralLaw
from rmtjax.laws._correlations.circular import circular_form_factor as circular_form_factor
from rmtjax.laws._correlations.circular import circular_number_variance as circular_number_variance
from rmtjax.laws._correlations.circular_power_spectrum import circular_power_spectrum as circular_power_spectrum
from rmtjax.laws._correlations.circular_rigidity import circular_rigidity as circular_rigidity
from rmtjax.laws._correlations.crossover import crossover_form_factor as crossover_form_factor
from rmtjax.laws._correlations.crossover_number_variance import crossover_number_variance as crossover_number_variance
from rmtjax.laws._correlations.gap_probabilities import bulk_gap_probabilities as bulk_gap_probabilities
from rmtjax.laws._correlations.gap_probabilities import hard_edge_gap_probabilities as hard_edge_gap_probabilities
from rmtjax.laws._correlations.gap_probabilities import soft_edge_gap_probabilities as soft_edge_gap_probabilities
from rmtjax.laws._correlations.gaussian_form_factor import gaussian_form_factor as gaussian_form_factor
from rmtjax.laws._correlations.gaussian_number_variance import gaussian_number_variance as gaussian_number_variance
from rmtjax.laws._correlations.hermite_gap_probabilities import hermite_gap_probabilities as hermite_gap_probabilities
from rmtjax.laws._correlations.linear_statistic import (
    circular_linear_statistic_variance as circular_linear_statistic_variance,
)
from rmtjax.laws._correlations.linear_statistic import linear_statistic_mean as linear_statistic_mean
from rmtjax.laws._correlations.linear_statistic import linear_statistic_variance as linear_statistic_variance
from rmtjax.laws._correlations.number_variance import number_variance as number_variance
from rmtjax.laws._correlations.number_variance import rigidity as rigidity
from rmtjax.laws._correlations.two_point import form_factor as form_factor
from rmtjax.laws._correlations.two_point import pair_correlation as pair_correlation
from rmtjax.laws._eigenvectors.participation import (
    mean_inverse_participation_ratio as mean_inverse_participation_ratio,
)
from rmtjax.laws._eigenvectors.participation import mean_participation_entropy as mean_participation_entropy
from rmtjax.laws._eigenvectors.porter_thomas import EigenvectorIntensity as EigenvectorIntensity
from rmtjax.laws._eigenvectors.porter_thomas import PorterThomas as PorterThomas
from rmtjax.laws._extremes.hard_edge import HardEdge as HardEdge
from rmtjax.laws._extremes.stochastic_airy import StochasticAiry as StochasticAiry
from rmtjax.laws._extremes.tracy_widom import TracyWidom as TracyWidom
from rmtjax.laws._finite_n.level_density import LevelDensity as LevelDensity
from rmtjax.laws._plane.elliptic import EllipticLaw as EllipticLaw
from rmtjax.laws._plane.radial import CircularLaw as CircularLaw
from rmtjax.laws._plane.radial import CircularPowerLaw as CircularPowerLaw
from rmtjax.laws._plane.radial import SphericalLaw as SphericalLaw
from rmtjax.laws._plane.radial import TruncatedUnitaryLaw as TruncatedUnitaryLaw
from rmtjax.laws._plane.single_ring import SingleRing as SingleRing
from rmtjax.laws._spacings.berry_robnik import BerryRobnik as BerryRobnik
from rmtjax.laws._spacings.brody import Brody as Brody
from rmtjax.laws._spacings.bulk_gap_ratio import GapRatio as GapRatio
from rmtjax.laws._spacings.complex_spacing_ratio import ComplexSpacingRatio as ComplexSpacingRatio
from rmtjax.laws._spacings.crossover_surmise import CrossoverSurmise as CrossoverSurmise
from rmtjax.laws._spacings.gap_ratio import GapRatioSurmise as GapRatioSurmise
from rmtjax.laws._spacings.gap_ratio import PoissonGapRatio as PoissonGapRatio
from rmtjax.laws._spacings.gap_ratio import mean_gap_ratio as mean_gap_ratio
from rmtjax.laws._spacings.interpolated import InterpolatedGapRatio as InterpolatedGapRatio
from rmtjax.laws._spacings.interpolated import InterpolatedSpacing as InterpolatedSpacing
from rmtjax.laws._spacings.mean_complex_spacing_ratio import mean_complex_spacing_ratio as mean_complex_spacing_ratio
from rmtjax.laws._spacings.poisson import PoissonSpacing as PoissonSpacing
from rmtjax.laws._spacings.poisson_crossover_surmise import PoissonCrossoverSurmise as PoissonCrossoverSurmise
from rmtjax.laws._spacings.spacing import Spacing as Spacing
from rmtjax.laws._spacings.superposed_gap_ratio import mean_superposed_gap_ratio as mean_superposed_gap_ratio
from rmtjax.laws._spacings.superposed_spacing import SuperposedSpacing as SuperposedSpacing
from rmtjax.laws._spacings.wigner_surmise import WignerSurmise as WignerSurmise
from rmtjax.laws._spectra.arcsine import Arcsine as Arcsine
from rmtjax.laws._spectra.bures import BuresLaw as BuresLaw
from rmtjax.laws._spectra.deformed_semicircle import DeformedSemicircle as DeformedSemicircle
from rmtjax.laws._spectra.free_poisson import FreePoisson as FreePoisson
from rmtjax.laws._spectra.fuss_catalan import FussCatalan as FussCatalan
from rmtjax.laws._spectra.general_marchenko_pastur import GeneralMarchenkoPastur as GeneralMarchenkoPastur
from rmtjax.laws._spectra.inverse_marchenko_pastur import InverseMarchenkoPastur as InverseMarchenkoPastur
from rmtjax.laws._spectra.kesten_mckay import KestenMcKay as KestenMcKay
from rmtjax.laws._spectra.marchenko_pastur import MarchenkoPastur as MarchenkoPastur
from rmtjax.laws._spectra.quarter_circle import QuarterCircle as QuarterCircle
from rmtjax.laws._spectra.semicircle import Semicircle as Semicircle
from rmtjax.laws._spectra.uniform import Uniform as Uniform
from rmtjax.laws._spectra.wachter import Wachter as Wachter
