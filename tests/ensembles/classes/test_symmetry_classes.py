"""The ten symmetry classes: their symmetries to the last bit, exact laws of the levels, dense against reduced."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

import rmtjax as rmt
from rmtjax import AltlandZirnbauer
from rmtjax.testing import check_derivatives
from tests.cases import daily, further
from tests.ensembles.draws import dense_levels, drawn
from tests.ensembles.laguerre.test_laguerre import assert_laguerre
from tests.statistical import ERROR_RATE, assert_law, assert_mean

SCALE = 0.7
DRAWS = 6000
# Class, n, ν; β and α as in Ivanov (2002), table 1; and the number of real components, counted entry by entry.
CASES = {
    ("AIII", 4, 0): (2, 1, 2 * 2 * 2),
    ("AIII", 5, 1): (2, 3, 2 * 3 * 2),
    ("BDI", 4, 0): (1, 0, 2 * 2),
    ("BDI", 6, 2): (1, 2, 4 * 2),
    ("CII", 4, 0): (4, 3, 4 * 2 * 2),
    ("CII", 3, 1): (4, 7, 4 * 2 * 1),
    ("D", 4, 0): (2, 0, 6),
    ("D", 5, 1): (2, 2, 10),
    ("DIII", 4, 0): (4, 1, 2 * 6),
    ("DIII", 5, 1): (4, 5, 2 * 10),
    ("C", 4, 0): (2, 2, 4 + 2 * 3),
    ("C", 2, 0): (2, 2, 1 + 2),
    ("CI", 6, 0): (1, 1, 6 + 6),
}
# These run less often: every day there is one case of each class, with zero modes where it has them.
FURTHER = [("AIII", 4, 0), ("BDI", 4, 0), ("CII", 4, 0), ("D", 4, 0), ("DIII", 4, 0), ("C", 2, 0)]
KRAMERS = ("AII", "CII", "DIII")


def assert_symmetries(symmetry, h, p):
    """Checks the relations that define each class, to the last bit."""
    rows = h.shape[-1]

    if symmetry in ("AIII", "BDI", "CII"):
        p = 2 * p if symmetry == "CII" else p
        chirality = np.diag([1.0] * p + [-1.0] * (rows - p))
        np.testing.assert_array_equal(chirality @ h @ chirality, -h)
    tau_y = np.kron([[0, -1j], [1j, 0]], np.eye(rows // 2)) if rows % 2 == 0 else None
    if symmetry in ("BDI", "CI", "AI"):
        assert not np.iscomplexobj(h)
    if symmetry in ("D", "DIII"):
        np.testing.assert_array_equal(h.conj(), -h)
    if symmetry == "DIII":
        np.testing.assert_array_equal(tau_y @ h.conj() @ tau_y, h)
    if symmetry in ("C", "CI"):
        np.testing.assert_array_equal(tau_y @ h.conj() @ tau_y, -h)
    if symmetry in ("CII", "AII"):
        time_reversal = np.kron(np.eye(rows // 2), [[0, 1], [-1, 0]])
        np.testing.assert_array_equal(time_reversal @ h.conj() @ time_reversal.T, h)


# One case of each kind for every day: chiral, of antisymmetric and of symmetric matrices.
KINDS = [("AIII", 5, 1), ("DIII", 5, 1), ("C", 4, 0)]
CASES_AND_SINGLE = [
    pytest.param(*case, marks=pytest.mark.float32(further=True) if case in KINDS else pytest.mark.slow)
    for case in CASES
]


@pytest.mark.parametrize(("symmetry", "n", "zero_modes"), CASES_AND_SINGLE)
def test_symmetries_and_exact_laws(getkey, symmetry, n, zero_modes):
    beta, alpha, components = CASES[symmetry, n, zero_modes]
    levels, matrices = drawn(AltlandZirnbauer(symmetry, n, zero_modes, SCALE), DRAWS, getkey())
    copies, pairs, eps = 2 if symmetry in KRAMERS else 1, (n - zero_modes) // 2, np.finfo(levels.dtype).eps
    assert matrices.shape == (DRAWS, copies * n, copies * n)
    assert_symmetries(symmetry, matrices, n - pairs)
    np.testing.assert_array_equal(levels, -levels[:, ::-1])
    np.testing.assert_array_equal(levels[:, pairs : n - pairs], 0)
    dense = dense_levels(matrices, n, ulps=50)
    rounding = 50 * eps * dense.max()
    np.testing.assert_allclose(dense, -dense[:, ::-1], rtol=0, atol=rounding)
    np.testing.assert_allclose(dense[:, pairs : n - pairs], 0, rtol=0, atol=rounding)
    positive, dense = levels[:, n - pairs :], dense[:, n - pairs :]
    assert (positive > 0).all()
    # The convention: 2 Σε² = tr H² has the mean (number of components)·4s²/(βn).
    a, unit = (alpha + 1) / 2 + (pairs - 1) * beta / 2, 2 * SCALE**2 / (beta * n)
    assert 2 * a * pairs == components
    for spectrum in (positive, dense):
        assert_laguerre(spectrum.astype(np.float64) ** 2, a, beta, unit)
    square = (np.abs(matrices.astype(np.result_type(matrices, np.float64))) ** 2).sum((-1, -2)) / (2 * copies)
    assert_law(square / unit, scipy.stats.chi2(components).cdf)
    for k in range(pairs):
        assert scipy.stats.ks_2samp(positive[:, k], dense[:, k]).pvalue > ERROR_RATE


@pytest.mark.float32
@pytest.mark.parametrize(("symmetry", "rows"), [("D", 1), ("DIII", 2)])
def test_a_single_zero_mode(getkey, symmetry, rows):
    # The only antisymmetric matrix of one row is 0.
    ensemble, key, x = AltlandZirnbauer(symmetry, 1, 1, SCALE), getkey(), jnp.array([-1.0, 0.0, 1e-30, 2.0])
    np.testing.assert_array_equal(ensemble.sample(key), np.zeros((rows, rows)))
    levels, counts = jax.jit(lambda e, key: (e.eigenvalues(key), e.count_below(key, x)))(ensemble, key)
    np.testing.assert_array_equal(levels, [0.0])
    np.testing.assert_array_equal(counts, [0, 0, 1, 1])
    assert levels.dtype == ensemble.scale.dtype
    assert ensemble.joint_logpdf(jnp.zeros(0)) == 0
    for n, zero_modes in ((1, 0), (2, 1), (3, 3)):
        with pytest.raises(ValueError, match=r"`(n|zero_modes)` must be"):
            AltlandZirnbauer(symmetry, n, zero_modes)


@pytest.mark.parametrize("symmetry", ["DIII", *further("AIII", "BDI", "CII", "D", "C", "CI")])
def test_variances_of_entries(getkey, symmetry):
    # Variances in units of s²/n off the diagonals of the blocks, and on the diagonal of the first block.
    n, blocks = 6, {"D": (1, 0), "DIII": (1 / 2, 0), "C": (1, 1), "CI": (1, 2)}
    _, h = drawn(AltlandZirnbauer(symmetry, n, 0, SCALE), DRAWS, getkey())
    square = np.abs(h) ** 2 * n / SCALE**2
    if symmetry in blocks:
        off, on = blocks[symmetry]
        half = h.shape[-1] // 2
        assert_mean(square[:, 1, 0], off)
        assert_mean(square[:, 2, half], off)
        assert_mean(square[:, 0, 0], on) if on else np.testing.assert_array_equal(square[:, 0, 0], 0)
        if symmetry in ("C", "CI"):
            assert_mean(square[:, 1, half + 1], 2)
        if symmetry == "DIII":
            np.testing.assert_array_equal(square[:, 1, half + 1], 0)
    elif symmetry == "CII":
        assert_mean(square[:, 0, n] + square[:, 0, n + 1], 2)
    else:
        assert_mean(square[:, 0, n // 2], 2)
    # Real and imaginary parts share the variance.
    if symmetry in ("AIII", "C"):
        column = n // 2 + (symmetry == "C")
        assert_mean(h[:, 0, column].real ** 2 - h[:, 0, column].imag ** 2, 0)


@pytest.mark.parametrize(
    ("symmetry", "n", "zero_modes", "beta"),
    [("CI", 6, 0, 1), ("DIII", 6, 0, 4), *further(("AIII", 6, 0, 2), ("BDI", 7, 1, 1))],
)
def test_smallest_level_at_the_hard_edge(getkey, symmetry, n, zero_modes, beta):
    # For α = 1 the density in ε² has no power: the smallest ε² is exponential of the rate k βn/(4 s²).
    levels, _ = drawn(AltlandZirnbauer(symmetry, n, zero_modes, SCALE), DRAWS, getkey())
    smallest = levels[:, (n + zero_modes) // 2] ** 2
    assert_law(smallest, scipy.stats.expon(scale=4 * SCALE**2 / (beta * n * (n - zero_modes) / 2)).cdf)


@pytest.mark.slow
def test_the_other_three_are_the_gaussian_ensembles(getkey):
    key, x = getkey(), jnp.linspace(-2, 2, 5)
    for symmetry, make in [("A", rmt.GUE), ("AI", rmt.GOE), ("AII", rmt.GSE)]:
        ensemble, gaussian = AltlandZirnbauer(symmetry, 3, scale=SCALE), make(3, SCALE)
        np.testing.assert_array_equal(ensemble.sample(key), gaussian.sample(key))
        np.testing.assert_array_equal(ensemble.eigenvalues(key), gaussian.eigenvalues(key))
        np.testing.assert_array_equal(ensemble.count_below(key, x), gaussian.count_below(key, x))
        assert ensemble.joint_logpdf(x[:3]) == gaussian.joint_logpdf(x[:3])
        assert ensemble.law().radius == gaussian.law().radius
        sample = np.asarray(ensemble.sample(key))
        np.testing.assert_array_equal(sample, sample.conj().T)
        assert_symmetries(symmetry, sample, None)


@pytest.mark.parametrize(("symmetry", "n", "zero_modes"), daily(CASES, but=FURTHER))
def test_joint_density_of_positive_levels(symmetry, n, zero_modes):
    beta, alpha, _ = CASES[symmetry, n, zero_modes]
    # Polar coordinates of two levels, ε = r (cos φ, sin φ), with Gauss–Legendre nodes in both.
    ensemble = AltlandZirnbauer(symmetry, n, zero_modes, SCALE)
    pairs = (n - zero_modes) // 2
    nodes, weights = np.polynomial.legendre.leggauss(120)
    density = jax.jit(jax.vmap(lambda x: jnp.exp(ensemble.joint_logpdf(x))))
    if pairs == 1:
        x = 4 * SCALE * (nodes + 1)
        exact = scipy.stats.chi(alpha + 1, scale=SCALE * (2 / (beta * n)) ** 0.5).pdf(x)
        np.testing.assert_allclose(density(x[:, None]), exact, rtol=1e-10, atol=1e-300)
    if pairs == 2:
        # Half of the quadrant, where |ε₁² - ε₂²|^β is smooth.
        angle, radius = np.pi / 8 * (nodes + 1), 4 * SCALE * (nodes + 1)
        levels = radius[:, None, None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        values = np.asarray(density(levels.reshape(-1, 2))).reshape(levels.shape[:2])
        mass = (values * radius[:, None] * weights[:, None] * weights).sum() * np.pi / 8 * 4 * SCALE
        np.testing.assert_allclose(2 * mass, 1, rtol=1e-9)
    assert ensemble.joint_logpdf(-jnp.arange(1.0, pairs + 1)) == -jnp.inf


TWO_PAIRS = [(symmetry, n, zero_modes) for symmetry, n, zero_modes in CASES if n - zero_modes == 4]


@pytest.mark.parametrize(("symmetry", "n", "zero_modes"), daily(TWO_PAIRS, only=[("AIII", 5, 1)]))
def test_derivatives_of_the_joint_density(symmetry, n, zero_modes):
    ensemble = AltlandZirnbauer(symmetry, n, zero_modes, SCALE)
    check_derivatives(lambda e, x: e.joint_logpdf(x), ensemble, jnp.array([0.4, 0.9]))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: AltlandZirnbauer("B", 4), ValueError, "`symmetry` must be one of 'A', 'AI', .*, got 'B'"),
        (lambda: AltlandZirnbauer("C", 5), ValueError, "`n` must be even in class C with zero_modes = 0, got 5"),
        (
            lambda: AltlandZirnbauer("D", 5),
            ValueError,
            r"even in class D .* \(zero_modes = 1 takes the others\), got 5",
        ),
        (
            lambda: AltlandZirnbauer("D", 4, 1),
            ValueError,
            r"odd in class D .* \(zero_modes = 0 takes the others\), got 4",
        ),
        (lambda: AltlandZirnbauer("AIII", 6, 3), ValueError, "`n` must be odd in class AIII"),
        (lambda: AltlandZirnbauer("BDI", 4, 4), ValueError, "`zero_modes` must be at most 3 in class BDI with n = 4"),
        (lambda: AltlandZirnbauer("DIII", 4, 2), ValueError, "`zero_modes` must be at most 1 in class DIII"),
        (lambda: AltlandZirnbauer("CI", 4, 2), ValueError, "`zero_modes` must be at most 0 in class CI"),
        (lambda: AltlandZirnbauer("AI", 4, 2), ValueError, "`zero_modes` must be at most 0 in class AI"),
        (
            lambda: AltlandZirnbauer("D", 4).joint_logpdf(jnp.ones(4)),
            ValueError,
            r"must have the shape \(2,\), got \(4,\)",
        ),
    ],
)
def test_bad_input(make, error, message):
    with pytest.raises(error, match=message):
        make()
