"""Mistakes that a checker has to find: in each line with a comment, those of the rules that are named there, no others.

It is not run.
"""

import jax
import numpy as np

import rmtjax as rmt
from rmtjax import inference, laws, linalg, plotting, simulation, statistics

key = jax.random.key(0)
goe, law = rmt.GOE(5), laws.Semicircle()
draw, counts = goe.eigenvalues, rmt.Histogram([-3, 3])
levels = draw(key)

# Attributes and methods that do not exist.
print(goe.nothing)  # attr-defined, reportAttributeAccessIssue
print(law.radios)  # attr-defined, reportAttributeAccessIssue
print(goe.eigenvalue(key))  # attr-defined, reportAttributeAccessIssue
print(law.cfd(0.5))  # attr-defined, reportAttributeAccessIssue
print(goe.law().ratio)  # attr-defined, reportAttributeAccessIssue
print(rmt.GOES(5))  # attr-defined, reportAttributeAccessIssue
print(laws.TracyWisdom(2))  # attr-defined, reportAttributeAccessIssue
print(statistics.spacing(levels))  # attr-defined, reportAttributeAccessIssue
print(rmt.SymTridiagonal([1.0, 2.0], [0.5]).dense())  # attr-defined, reportAttributeAccessIssue
print(statistics.spacings(levels).median())  # attr-defined, reportAttributeAccessIssue

# β that is none, sizes that are none, and arguments of other names.
print(rmt.Wishart(5, 10, beta=3))  # arg-type, reportArgumentType
print(rmt.Ginibre(5, beta=0))  # arg-type, reportArgumentType
print(laws.TracyWidom(5))  # arg-type, reportArgumentType
print(laws.Spacing(beta=2.5))  # arg-type, reportArgumentType
print(laws.number_variance(0.5, 3))  # arg-type, reportArgumentType
print(rmt.GOE(5.5))  # arg-type, reportArgumentType
print(rmt.GOE(5, scales=2.0))  # call-arg, reportCallIssue
print(rmt.GOE())  # call-arg, reportCallIssue

# Names that are none of the choices.
print(goe.soft_edge("left"))  # arg-type, reportArgumentType
print(laws.TracyWidom(2, convention="tracy-wisdom"))  # arg-type, reportArgumentType
print(rmt.Mixed(goe, 0.5, normalize="orders"))  # arg-type, reportArgumentType
print(rmt.AltlandZirnbauer("E", 4))  # arg-type, reportArgumentType
print(rmt.Wigner(4, entries="gaussian"))  # arg-type, reportArgumentType
print(rmt.ErdosRenyi(4, 0.5, matrix="incidence"))  # arg-type, reportArgumentType
print(statistics.gap_ratios(levels, ties="keep"))  # arg-type, reportArgumentType
print(inference.shrink_covariance(np.eye(3), method="ledoit"))  # arg-type, reportArgumentType
print(inference.shrink_covariance(np.eye(3), method="spiked", loss="l2"))  # arg-type, reportArgumentType
print(inference.signal_rank(np.eye(3), method="kaiser"))  # arg-type, reportArgumentType
print(inference.denoise(np.eye(3), loss="l2"))  # arg-type, reportArgumentType
print(inference.fit_beta(levels, by="gaps"))  # call-overload, reportArgumentType, reportCallIssue
print(inference.kolmogorov_smirnov(levels, law, calibration="exact"))  # arg-type, reportArgumentType
print(rmt.simulate_rare(goe, key, "largest", 2.5, side="upper"))  # arg-type, reportArgumentType
print(plotting.spectral_density(levels, errors="bars"))  # arg-type, reportArgumentType

# Arguments of another kind.
print(law.pdf("0.5"))  # arg-type, reportArgumentType
print(law.pdf([0.5, "1"]))  # list-item, reportArgumentType
print(law.pdf(1j))  # arg-type, reportArgumentType
print(rmt.eigvalsh("matrix"))  # arg-type, reportArgumentType
print(rmt.eigvalsh(goe))  # arg-type, reportArgumentType
print(goe.sample(0.5))  # arg-type, reportArgumentType
print(statistics.number_variance(goe, 0.5))  # arg-type, reportArgumentType
print(statistics.unfold(levels, goe))  # arg-type, reportArgumentType
print(rmt.Spiked(law, [2.0]))  # arg-type, reportArgumentType
print(laws.LevelDensity(law))  # arg-type, reportArgumentType
print(rmt.simulate_rare(rmt.CUE(5), key, "largest", 2.5))  # arg-type, reportArgumentType
print(linalg.log_determinant(None))  # arg-type, reportArgumentType

# Results of simulations.
print(rmt.simulate(draw, key, 9, reduce=counts).mean)  # attr-defined, reportAttributeAccessIssue
print(rmt.simulate(draw, key, 9, reduce=rmt.Moments()).counts)  # attr-defined, reportAttributeAccessIssue
print(rmt.simulate(draw, key, 9, reduce=(counts, rmt.Moments()))[1].total)  # attr-defined, reportAttributeAccessIssue
print(rmt.simulate(draw, key, 9, reduce={"h": counts})["h"].variance)  # attr-defined, reportAttributeAccessIssue
print(rmt.simulate(draw, key, 9).counts)  # attr-defined, reportAttributeAccessIssue
print(rmt.simulate(draw, key, 9, reduce=law))  # call-overload, reportArgumentType, reportCallIssue
print(rmt.simulate(draw, key, 9, reducer=rmt.Moments()))  # call-overload, reportCallIssue
print(rmt.simulate(draw, key, 9, on_write_error="ignore"))  # call-overload, reportArgumentType, reportCallIssue
moments: simulation.MomentsResult = rmt.simulate(draw, key, 9, reduce=counts)  # assignment, reportAssignmentType
