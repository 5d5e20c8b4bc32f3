"""What the packages above take from the spectra besides their public names."""

from rmtjax.spectra._ascending import in_order as in_order
from rmtjax.spectra._domain import LINE as LINE
from rmtjax.spectra._domain import AbstractDomain as AbstractDomain
from rmtjax.spectra._domain import of_each as of_each
from rmtjax.spectra._levels import ENDS as ENDS
from rmtjax.spectra._levels import Levels as Levels
from rmtjax.spectra._levels import LevelsLike as LevelsLike
from rmtjax.spectra._levels import PlanarLevelsLike as PlanarLevelsLike
from rmtjax.spectra._levels import ValuesLike as ValuesLike
from rmtjax.spectra._levels import around as around
from rmtjax.spectra._levels import checked as checked
from rmtjax.spectra._levels import checked_in_plane as checked_in_plane
from rmtjax.spectra._levels import checked_values as checked_values
from rmtjax.spectra._levels import extent as extent
from rmtjax.spectra._levels import mask_of as mask_of
from rmtjax.spectra._levels import origin as origin
from rmtjax.spectra._levels import outermost as outermost
from rmtjax.spectra._levels import refuse_raw as refuse_raw
from rmtjax.spectra._levels import unit_density as unit_density
from rmtjax.spectra._levels import validity as validity
from rmtjax.spectra._masked import first_for_rest as first_for_rest
from rmtjax.spectra._periodic import count_below as count_below
from rmtjax.spectra._periodic import inside_block as inside_block
from rmtjax.spectra._periodic import periodic_counts as periodic_counts
from rmtjax.spectra._spectrum import made as made
from rmtjax.spectra._spectrum import padded as padded
