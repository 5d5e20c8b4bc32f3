"""What packages above `statistics` use besides its public names: the checks of levels.

Nothing here is part of the public interface; each docstring is the contract.
"""

from rmtjax.statistics._levels import Levels as Levels
from rmtjax.statistics._levels import LevelsLike as LevelsLike
from rmtjax.statistics._levels import PlanarLevelsLike as PlanarLevelsLike
from rmtjax.statistics._levels import checked_values as checked_values
