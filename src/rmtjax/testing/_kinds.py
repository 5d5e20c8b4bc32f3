"""Parameters of every ensemble and law, as hypothesis strategies."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from hypothesis import strategies as st

from rmtjax import ensembles, laws
from rmtjax._promotion import like

_SCALE, _SHARE, _CORRELATION = st.floats(0.1, 10), st.floats(0.05, 1), st.floats(-0.9, 0.9)
_RATIO, _BETA, _DYSON = st.floats(0.1, 4), st.floats(0.5, 8), st.sampled_from([1, 2, 4])
_ENTRIES = st.sampled_from(["normal", "rademacher", "uniform"])
_CHIRAL = st.sampled_from(["AIII", "BDI", "CII"])  # These classes exist for every n.


def _numbers(size: int, low: float = -2, high: float = 2) -> st.SearchStrategy[Any]:
    return st.lists(st.floats(low, high), min_size=size, max_size=size).map(jnp.asarray)


def _weights(size: int) -> st.SearchStrategy[Any]:
    return _numbers(size, 0.1, 1).map(lambda values: values / values.sum())


def _gaussian(n: int) -> st.SearchStrategy[Any]:
    return st.one_of(*(st.builds(kind, st.just(n), _SCALE) for kind in (ensembles.GOE, ensembles.GUE, ensembles.GSE)))


def _wigner(n: int) -> st.SearchStrategy[Any]:
    return st.builds(ensembles.Wigner, st.just(n), _SCALE, st.floats(0, 4), _ENTRIES)


def _regular(n: int) -> tuple | None:
    """Arguments of a regular graph, whose number of edges, n · degree/2, must be whole."""
    degrees = [degree for degree in (2, 3, 4) if degree < n and n * degree % 2 == 0]
    return (st.just(n), st.sampled_from(degrees)) if degrees else None


# The arguments, one strategy each, for a number of levels n; None where there is no such ensemble. Static parameters
# have few values, because each value is compiled anew.
ENSEMBLES: dict[type, Callable[[int], tuple | None]] = {
    ensembles.AltlandZirnbauer: lambda n: (_CHIRAL, st.just(n), st.just(n % 2), _SCALE) if n > 1 else None,
    ensembles.Banded: lambda n: (st.just(n), st.just((n - 1) // 2), _SCALE) if n > 2 else None,
    ensembles.Bures: lambda n: (st.just(n),),
    ensembles.COE: lambda n: (st.just(n),),
    ensembles.CSE: lambda n: (st.just(n),),
    ensembles.CUE: lambda n: (st.just(n),),
    ensembles.CircularBeta: lambda n: (st.just(n), _BETA),
    ensembles.CorrelatedInverseWishart: lambda n: (_numbers(n, 0.1, 4).map(jnp.diag), st.floats(2 * n, 4 * n), _DYSON),
    ensembles.CorrelatedWishart: lambda n: (_numbers(n, 0.1, 4).map(jnp.diag), st.floats(2 * n, 4 * n), _DYSON),
    ensembles.Deformed: lambda n: (_gaussian(n), _numbers(n)),
    ensembles.Elliptic: lambda n: (st.just(n), _CORRELATION, _DYSON, _SCALE),
    ensembles.ErdosRenyi: lambda n: (st.just(n), _SHARE, st.sampled_from(["adjacency", "laplacian"])),
    ensembles.GOE: lambda n: (st.just(n), _SCALE),
    ensembles.GSE: lambda n: (st.just(n), _SCALE),
    ensembles.GUE: lambda n: (st.just(n), _SCALE),
    ensembles.GaussianBeta: lambda n: (st.just(n), _BETA, _SCALE),
    ensembles.Ginibre: lambda n: (st.just(n), _DYSON, _SCALE),
    ensembles.GinibreProduct: lambda n: (st.just(n), st.sampled_from([2, 3]), _DYSON, _SCALE),
    ensembles.HaarIsometry: lambda n: (st.just(n), st.just((n + 1) // 2), _DYSON),
    ensembles.HaarOrthogonal: lambda n: (st.just(n),),
    ensembles.HaarSpecialOrthogonal: lambda n: (st.just(n),),
    ensembles.HaarSymplectic: lambda n: (st.just(n),) if n % 2 == 0 else None,
    ensembles.HilbertSchmidt: lambda n: (st.just(n), st.sampled_from([n, n + 1])),
    ensembles.InducedGinibre: lambda n: (st.just(n), st.just(n + 1), _DYSON, _SCALE),
    ensembles.InverseWishart: lambda n: (st.just(n), st.just(2 * n), _DYSON, _SCALE),
    ensembles.Jacobi: lambda n: (st.just(n), st.just(n + 1), st.sampled_from([n - 1 or 1, n + 2]), _DYSON),
    ensembles.JacobiBeta: lambda n: (st.just(n), st.floats(4 * n, 8 * n), st.floats(4 * n, 8 * n), _BETA),
    ensembles.LaguerreBeta: lambda n: (st.just(n), st.floats(4 * n, 8 * n), _BETA, _SCALE),
    ensembles.Levy: lambda n: (st.just(n), st.floats(0.5, 1.9), _SCALE),
    ensembles.Mixed: lambda n: (_gaussian(n) | _wigner(n), _SHARE, st.sampled_from(["order", "reference"])),
    ensembles.RandomRegular: _regular,
    ensembles.RosenzweigPorter: lambda n: (st.just(n), st.floats(0.5, 2.5), _SCALE),
    ensembles.SampleCorrelation: lambda n: (st.just(n), st.floats(n + 1, 2 * n + 2), _DYSON),
    ensembles.Spherical: lambda n: (st.just(n), _DYSON),
    ensembles.Spiked: lambda n: (_gaussian(n), _numbers(1)),
    ensembles.TruncatedUnitary: lambda n: (st.just(n), st.sampled_from([1, n]), _DYSON),
    ensembles.VarianceProfile: lambda n: (_numbers(n, 0, 2).map(lambda v: v[:, None] * v[None]), _SCALE),
    ensembles.Wigner: lambda n: (st.just(n), _SCALE, st.floats(0, 4), _ENTRIES),
    ensembles.Wishart: lambda n: (st.just(n), st.sampled_from([n - 1 or 1, 2 * n]), _DYSON, _SCALE),
}

_SEMICIRCLE = st.builds(laws.Semicircle, _SCALE)
_POSITIVE = st.builds(laws.MarchenkoPastur, st.floats(0.1, 2), _SCALE)
_COIN = st.builds(laws.Empirical, _numbers(2), _weights(2))
_ARRANGEMENT = st.sampled_from(["ascending", "magnitude"])

LAWS: dict[type, tuple] = {
    laws.Affine: (_SEMICIRCLE, _SCALE, st.floats(-2, 2)),
    laws.Arcsine: (_SCALE,),
    laws.BerryRobnik: (st.floats(0, 1),),
    laws.BinomialSemicircle: (st.just(8), _SHARE, _SCALE),
    laws.Brody: (st.floats(0, 1),),
    laws.BuresLaw: (_SCALE,),
    laws.CircularLaw: (st.floats(1, 10), st.floats(0, 0.9)),
    laws.CircularPowerLaw: (st.sampled_from([1, 2, 3]), _SCALE),
    laws.ComplexSpacingRatio: (),
    laws.CovarianceProfileLaw: (
        _numbers(4, 0.05, 2).map(lambda values: values.reshape(2, 2)),
        st.floats(0.1, 4),
        _weights(2),
        _weights(2),
    ),
    laws.CrossoverSurmise: (st.floats(0, 1),),
    laws.DeformedSemicircle: (_numbers(2), _weights(2), _SCALE),
    laws.EigenvectorIntensity: (st.just(5), _DYSON),
    laws.EllipticLaw: (_CORRELATION, _SCALE),
    laws.Empirical: (_numbers(3), _weights(3)),
    laws.EquilibriumMeasure: (
        _numbers(2, 0.1, 2).map(lambda v: jnp.stack([v[0] - 1, v[1], 0 * v[0], v[0]])),
        st.just(1),
    ),
    laws.FreeCompression: (_COIN, _SHARE),
    laws.FreeLevy: (_SCALE,),
    laws.FreePoisson: (_RATIO, _SCALE),
    laws.FreePolynomial: (_numbers(2, 0.2, 2).map(lambda c: {"x": c[0], "xy": c[1], "yx": c[1]}),),
    laws.FreePower: (_COIN, st.floats(1, 4)),
    laws.FreeProduct: (_POSITIVE, _POSITIVE),
    laws.FreeSum: (_COIN, _SEMICIRCLE),
    laws.FussCatalan: (st.sampled_from([1, 2, 3]),),
    laws.GapRatio: (_DYSON,),
    laws.GapRatioSurmise: (_BETA,),
    laws.GeneralMarchenkoPastur: (_RATIO, _numbers(2, 0.1, 4), _weights(2)),
    laws.HardEdge: (st.floats(0.1, 20), _DYSON),
    laws.InterpolatedGapRatio: (st.floats(0, 10),),
    laws.InterpolatedSpacing: (st.floats(0, 10),),
    laws.InverseMarchenkoPastur: (st.floats(0.1, 0.9), _SCALE),
    laws.KestenMcKay: (st.floats(2, 12),),
    laws.LevelDensity: (_gaussian(4),),
    laws.MarchenkoPastur: (_RATIO, _SCALE),
    laws.Mixture: (_weights(2), st.tuples(_SEMICIRCLE, _SEMICIRCLE)),
    laws.Normal: (_SCALE,),
    laws.PeriodicPadding: (_SEMICIRCLE, _SHARE, _ARRANGEMENT, st.sampled_from([8, None])),
    laws.PoissonCrossoverSurmise: (st.floats(0, 4),),
    laws.PoissonGapRatio: (),
    laws.PoissonSpacing: (st.sampled_from([1, 2, 3]),),
    laws.PorterThomas: (_DYSON,),
    laws.QuarterCircle: (_SCALE,),
    laws.Semicircle: (_SCALE,),
    laws.SingleRing: (_numbers(3, 0.1, 4).map(lambda values: values + like(values, jnp.arange(3))),),
    laws.Spacing: (_DYSON, st.sampled_from([1, 2])),
    laws.SphericalLaw: (),
    laws.StochasticAiry: (_BETA,),
    laws.SuperposedSpacing: (st.just((1, 2)), _weights(2)),
    laws.Symmetrized: (st.builds(laws.MarchenkoPastur, st.floats(0.1, 0.9), _SCALE),),
    laws.TracyWidom: (
        _DYSON,
        st.sampled_from(["tracy-widom", "bornemann", "stochastic-airy"]),
        st.sampled_from([1, 2]),
    ),
    laws.TruncatedUnitaryLaw: (st.floats(0.1, 0.9),),
    laws.Uniform: (st.floats(-2, 0), st.floats(0.1, 2)),
    laws.VarianceProfileLaw: (_numbers(4, 0.05, 2).map(lambda values: values.reshape(2, 2)), _weights(2), _numbers(2)),
    laws.Wachter: (_RATIO, st.floats(1, 4)),
    laws.WignerSurmise: (_BETA,),
}
