"""Decisions from data and spectra: goodness of fit, fits, signal and noise, covariance, spectra of large operators."""

from rmtjax.inference._signal.denoise import Denoised as Denoised
from rmtjax.inference._signal.denoise import denoise as denoise
from rmtjax.inference._signal.hard_threshold import HardThreshold as HardThreshold
from rmtjax.inference._signal.hard_threshold import optimal_hard_threshold as optimal_hard_threshold
from rmtjax.inference._signal.patches import DenoisedImage as DenoisedImage
from rmtjax.inference._signal.patches import DenoisedPatches as DenoisedPatches
from rmtjax.inference._signal.patches import denoise_image as denoise_image
from rmtjax.inference._signal.patches import denoise_patches as denoise_patches
from rmtjax.inference._signal.signal_rank import SignalRank as SignalRank
from rmtjax.inference._signal.effective_size import effective_sample_size as effective_sample_size
from rmtjax.inference._signal.hard_threshold import HardThreshold as HardThreshold
from rmtjax.inference._signal.hard_threshold import optimal_hard_threshold as optimal_hard_threshold
from rmtjax.inference._signal.judge import SignalRank as SignalRank
from rmtjax.inference._signal.largest_root import LargestRootTest as LargestRootTest
from rmtjax.inference._signal.largest_root import largest_root_test as largest_root_test
from rmtjax.inference._signal.largest_root import largest_root_test_of_groups as largest_root_test_of_groups
from rmtjax.inference._signal.signal_rank import signal_rank as signal_rank
from rmtjax.inference._signal.signal_rank import signal_rank_of_levels as signal_rank_of_levels
from rmtjax.inference._signal.spikes import SpikeEstimates as SpikeEstimates
from rmtjax.inference._signal.spikes import spike_estimates as spike_estimates
from rmtjax.inference._fits.marchenko_pastur import MarchenkoPasturFit as MarchenkoPasturFit
from rmtjax.inference._fits.marchenko_pastur import fit_marchenko_pastur as fit_marchenko_pastur
from rmtjax.inference._fits.tail import TailFit as TailFit
from rmtjax.inference._fits.tail import fit_tail as fit_tail
from rmtjax.inference._fits.tail_alternatives import LikelihoodRatio as LikelihoodRatio
