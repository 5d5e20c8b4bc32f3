"""Large matrices: their programs compile and run with all passes of XLA.

Some that read a transpose entry by entry took a minute to compile and then crashed.
"""

import sys

import jax
import jax.numpy as jnp
import pytest

import rmtjax as rmt
from tests.cases import further
from tests.instances import ENSEMBLES
from tests.processes import printed

_N = 1000
LARGE = {
    "AltlandZirnbauer": lambda: [rmt.AltlandZirnbauer(name, _N) for name in ("D", "DIII", "C", "CI")],
    "Banded": lambda: [rmt.Banded(_N, 10)],
    "Bures": lambda: [rmt.Bures(_N)],
    "COE": lambda: [rmt.COE(_N)],
    "CSE": lambda: [rmt.CSE(_N // 2)],
    "CUE": lambda: [rmt.CUE(_N)],
    "CorrelatedWishart": lambda: [rmt.CorrelatedWishart(jnp.eye(_N), _N)],
    "Deformed": lambda: [rmt.Deformed(rmt.GOE(_N), jnp.linspace(-1.0, 1.0, _N))],
    "Elliptic": lambda: [rmt.Elliptic(_N, 0.4, beta) for beta in (1, 2)],
    "ErdosRenyi": lambda: [rmt.ErdosRenyi(_N, 0.4, matrix) for matrix in ("adjacency", "laplacian")],
    "GOE": lambda: [rmt.GOE(_N)],
    "GSE": lambda: [rmt.GSE(_N // 2)],
    "GUE": lambda: [rmt.GUE(_N)],
    "Ginibre": lambda: [rmt.Ginibre(_N, beta) for beta in (1, 2)],
    "HilbertSchmidt": lambda: [rmt.HilbertSchmidt(_N, _N)],
    "Levy": lambda: [rmt.Levy(_N, 1.5)],
    "RosenzweigPorter": lambda: [rmt.RosenzweigPorter(_N, 1.3)],
    "Spiked": lambda: [rmt.Spiked(rmt.GOE(_N), [2.0])],
    "VarianceProfile": lambda: [rmt.VarianceProfile(jnp.ones((_N, _N)))],
    "Wigner": lambda: [rmt.Wigner(_N, entries=law) for law in ("normal", "rademacher", "uniform")],
    "Wishart": lambda: [rmt.Wishart(_N, _N, beta) for beta in (1, 2)],
}


# Those that were slow, and their kin.
DAILY = ("AltlandZirnbauer", "GOE", "GSE", "GUE", "Levy", "VarianceProfile", "Wigner")
FURTHER = tuple(name for name in LARGE if name not in DAILY)


def test_the_table_names_ensembles():
    assert set(LARGE) <= set(ENSEMBLES)


@pytest.mark.parametrize("names", ["daily", *further("further")])
def test_large_matrices_are_drawn_by_programs_with_all_passes(names):
    names = DAILY if names == "daily" else FURTHER
    said = printed(
        "-m", "tests.ensembles.test_large_matrices", *names, JAX_DISABLE_MOST_OPTIMIZATIONS="0", XLA_FLAGS=""
    )
    assert said.split() == [f"{name}:finite" for name in names]


if __name__ == "__main__":
    for name in sys.argv[1:]:
        drawn = [jax.jit(ensemble.sample)(jax.random.key(0)) for ensemble in LARGE[name]()]
        finite = all(jnp.isfinite(matrix).all() for matrix in drawn)
        print(f"{name}:{'finite' if finite else 'not finite'}")
