"""Probability laws of the field: exact, vectorised, differentiable."""

from rmtjax.laws._base import AbstractLaw as AbstractLaw
from rmtjax.laws._binomial_semicircle import BinomialSemicircle as BinomialSemicircle
from rmtjax.laws._marchenko_pastur import MarchenkoPastur as MarchenkoPastur
from rmtjax.laws._mixture import Mixture as Mixture
from rmtjax.laws._mixture import Symmetrized as Symmetrized
from rmtjax.laws._periodic_padding import PeriodicPadding as PeriodicPadding
from rmtjax.laws._periodic_padding import WignerCat as WignerCat
from rmtjax.laws._semicircle import Semicircle as Semicircle
from rmtjax.laws._uniform import Uniform as Uniform
