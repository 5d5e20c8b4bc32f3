"""Names of `inference` for the packages above; they may change with any version."""

from rmtjax.inference._covariance.shrink import ShrinkageMethod as ShrinkageMethod
from rmtjax.inference._covariance.spiked import SpikedLoss as SpikedLoss
from rmtjax.inference._signal.judge import RankMethod as RankMethod
