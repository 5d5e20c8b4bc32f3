"""The scripts of `examples/` and the lines of the cheat sheet, run as a user does, at small sizes."""

import importlib
import re
import runpy
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib
import matplotlib.image
import matplotlib.pyplot as plt
import numpy as np
import pytest

import rmtjax as rmt
from tests.cases import further

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
DOCS = EXAMPLES.parent / "docs"


def load(name):
    return runpy.run_path(str(EXAMPLES / name))


@pytest.fixture(autouse=True)
def _as_for_a_user():
    """JAX's ordinary promotion, which the scripts may use, and no figure that is left open."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield
    plt.close("all")


def assert_is_a_picture(path):
    """Check that a picture is not blank: both halves hold several colours."""
    pixels = matplotlib.image.imread(path)[..., :3]
    assert min(pixels.shape[:2]) > 500
    for half in np.array_split(pixels, 2, axis=1):
        assert np.std(half) > 0.02
        assert len(np.unique(half.reshape(-1, 3).round(1), axis=0)) > 5


GALLERY = sorted(path.stem for path in (EXAMPLES / "gallery").glob("*.py"))


def test_scripts_of_the_gallery_are_short_and_shown(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    gallery_pages = importlib.import_module("gallery_pages")
    blocks = gallery_pages.BLOCK.findall((DOCS / "gallery" / "index.md").read_text())
    assert sorted(name for block in blocks for name in block.split()) == GALLERY
    for name in GALLERY:
        text = (EXAMPLES / "gallery" / f"{name}.py").read_text()
        assert text.count("\n") <= 40, name
        assert text.endswith(f'plt.savefig("{name}.png")\n')
        title, caption, _ = gallery_pages.title_caption_code(name)
        assert len(title) < 45
        assert caption.endswith(".")


@pytest.mark.slow
@pytest.mark.parametrize("name", GALLERY)
def test_gallery(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    before = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", False)
    try:
        with matplotlib.rc_context():
            load(f"gallery/{name}.py")
    finally:
        jax.config.update("jax_enable_x64", before)
    assert_is_a_picture(tmp_path / f"{name}.png")


@pytest.mark.parametrize("dtype", ["float32", *further("float64")])
def test_semicircle(tmp_path, capsys, dtype):
    output = tmp_path / "semicircle.png"
    before = jax.config.read("jax_enable_x64")
    load("wigner_semicircle.py")["main"](
        ["--n=100", "--matrices=20", "--bins=12", f"--dtype={dtype}", f"--output={output}"]
    )
    assert jax.config.read("jax_enable_x64") == before
    assert_is_a_picture(output)
    printed = capsys.readouterr().out
    assert str(output) in printed
    furthest = float(printed.split("semicircle: ")[1].split(",")[0])
    assert 0 < furthest < 0.03  # 2000 levels; with a scale wrong by sqrt(2) it is 0.09 and more


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [["--arrangement=ascending"], ["--arrangement=random", "--mixture=0.4", "--no-symmetrize"]],
    ids=["symmetrized", "plain"],
)
def test_cat(tmp_path, capsys, options):
    output = tmp_path / "cat.png"
    load("wigner_cat.py")["main"](["--n=20", "--matrices=10", "--bins=22", f"--output={output}", *options])
    assert_is_a_picture(output)
    assert str(output) in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("symmetrize", [True, False])
def test_cat_is_held_against_its_own_law(getkey, symmetrize):
    cat, edges, example = rmt.Mixed(rmt.GOE(60), 0.7), jnp.linspace(-2.4, 2.4, 13), load("wigner_cat.py")
    histogram = example["pooled"](cat, "ascending", symmetrize, edges, 150, getkey())
    assert histogram.total == 60 * 150 * (1 + symmetrize)
    if symmetrize:
        np.testing.assert_array_equal(histogram.counts, histogram.counts[::-1])
    else:
        assert abs(histogram.counts - histogram.counts[::-1]).max() > 100

    ax = example["picture"](histogram, cat, "ascending", symmetrize)
    x, density = ax.lines[0].get_data()
    # Only away from ±2, where the density at this order differs from its limit.
    for left, right, height in zip(edges[2:-3], edges[3:-2], histogram.density()[2:-2], strict=True):
        inside = (x > left) & (x < right)
        average = np.trapezoid(density[inside], x[inside]) / np.ptp(x[inside])
        assert height == pytest.approx(average, abs=0.02)


def test_cat_names_its_parts_only_where_the_formulas_hold():
    example = load("wigner_cat.py")
    histogram = rmt.simulation.HistogramResult(np.array([1, 1]), np.array([-2.0, 0.0, 2.0]), 0, 0)

    def parts(mixture, arrangement="ascending", symmetrize=True):
        cat = rmt.Mixed(rmt.GOE(20), mixture)
        return len(example["picture"](histogram, cat, arrangement, symmetrize).texts)

    assert parts(0.9) == 3
    assert parts(0.6) == parts(1.0) == parts(0.9, "random") == parts(0.9, symmetrize=False) == 0


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.complex64])
def test_descent_lowers_the_spectral_radius(dtype):
    descend = load("spectral_radius.py")["descend"]
    a = jnp.array([[2.0, 0.5, 0.0], [0.3, 1.0, 0.2], [0.1, 0.0, -0.5]], dtype)
    if jnp.iscomplexobj(a):
        a = 1j * a  # the same radius, and a gradient that points the other way if not conjugated
        wrong = descend(a, direction=lambda gradient: gradient)
        assert (jnp.diff(wrong) > 0).all()
    radii = descend(a)
    assert radii.shape == (6,)
    assert (jnp.diff(radii) < 0).all()
    assert radii[0] == pytest.approx(np.abs(np.linalg.eigvals(a)).max(), rel=1e-5)


@pytest.mark.slow
def test_network_learns_the_spectral_radius(capsys):
    load("spectral_radius.py")["main"](["--matrices=256", "--steps=60"])
    printed = capsys.readouterr().out
    errors = [float(line.split()[-1]) for line in printed.splitlines() if "root-mean-square" in line]
    assert errors[-1] < 0.4 * errors[0]
    last_line = printed.split("on new matrices: ")[1]
    learned, constant = float(last_line.split(";")[0]), float(last_line.split("guess: ")[1].split(";")[0])
    assert learned < constant


@pytest.mark.slow
def test_tracy_widom(tmp_path, capsys):
    output = tmp_path / "edge.png"
    load("tracy_widom.py")["main"](["--n=1000", "--matrices=400", "--bins=20", f"--output={output}"])
    assert_is_a_picture(output)
    printed = capsys.readouterr().out
    furthest = [float(line.split(": ")[1].split(";")[0]) for line in printed.splitlines() if "furthest" in line]
    # 400 levels; with the scale of another convention at beta = 4 it is 0.15 and more.
    assert len(furthest) == 3
    assert all(0 < distance < 0.11 for distance in furthest)


def test_matrix_of_the_spin_chain():
    matrices = load("spin_chain.py")["ring"]
    exchange, spins = matrices(8)
    assert exchange.shape == (70, 70)
    np.testing.assert_array_equal(spins.sum(axis=1), 0)
    np.testing.assert_array_equal(exchange, exchange.T)
    # The known energy of the ground state of 8 spins, and that of the ferromagnet.
    levels = np.linalg.eigvalsh(exchange)
    np.testing.assert_allclose(levels[[0, -1]], [-3.651093, 2.0], rtol=0, atol=1e-6)


def test_spin_chain_refuses_a_single_realisation_at_once(capsys):
    with pytest.raises(SystemExit):
        load("spin_chain.py")["main"](["--realisations=1"])
    assert "--realisations must be at least 2" in capsys.readouterr().err


@pytest.mark.slow
def test_spin_chain(tmp_path, capsys):
    output = tmp_path / "chain.png"
    load("spin_chain.py")["main"]([f"--output={output}"])
    assert_is_a_picture(output)
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("12 spins")]
    h, ratio, error = (np.array([float(line[i].strip(":,")) for line in lines]) for i in (4, 5, 7))
    # As published: the two limits, and the crossover near h = 2.5 at this length.
    for strength, beta in ((0.5, 1), (1.0, 1), (10.0, 0)):
        (at,) = np.flatnonzero(h == strength)
        assert abs(ratio[at] - rmt.laws.mean_gap_ratio(beta)) < 5 * error[at]
    assert (error < 0.008).all()
    verdicts = {strength: line[-1] for strength, line in zip(h, lines, strict=True)}
    assert [verdicts[strength] for strength in (0.5, 1, 2, 2.5, 3, 10)] == [
        *2 * ["chaotic"],
        *3 * ["between"],
        "localised",
    ]


@pytest.mark.slow
def test_hessian_outliers(tmp_path, capsys):
    output = tmp_path / "hessian.png"
    load("hessian_outliers.py")["main"](["--classes=4", f"--output={output}"])
    assert_is_a_picture(output)
    printed = capsys.readouterr().out.splitlines()
    assert [line.split(" outliers")[0] for line in printed] == ["Hessian: 3", "Gauss-Newton: 3"]
    hessian, gauss_newton = (np.array(line.split(", ")[1].split(), float) for line in printed)
    assert (hessian > 0.05).all()
    np.testing.assert_allclose(hessian, gauss_newton, rtol=0.1)


# From the tables of A. M. Odlyzko; numbers 6709 and 6710 are the close pair that Lehmer found.
ZEROS = {
    1: 14.134725141735,
    2: 21.022039638772,
    3: 25.010857580146,
    10: 49.773832477672,
    100: 236.524229665816,
    1000: 1419.422480945996,
    6709: 7005.062866175,
    6710: 7005.100564674,
}


def test_zeros_of_zeta():
    zeros = load("zeta_zeros.py")["first_zeros"]
    with jax.enable_x64(True):
        found = np.asarray(zeros(7000))
    assert found.shape == (7000,)
    assert (np.diff(found) > 0.03).all()
    for number, zero in ZEROS.items():
        # With three terms of the remainder the error of Z falls like t^(-7/4); a close pair magnifies it.
        assert found[number - 1] == pytest.approx(zero, abs=2e-9 + 0.02 * zero**-1.75, rel=0)


@pytest.mark.slow
def test_zeta_zeros(tmp_path, capsys):
    output = tmp_path / "zeros.png"
    load("zeta_zeros.py")["main"]([f"--output={output}"])
    assert_is_a_picture(output)
    printed = capsys.readouterr().out
    number = lambda after: float(printed.split(after)[1].split()[0])
    assert "100,000 zeros up to t = 74920.827499" in printed
    assert abs(number("at the last tenth: ")) < 0.001  # a pair that is missed anywhere makes it 2
    assert abs(number("ratio of the second half: ") - rmt.laws.mean_gap_ratio(2)) < 0.015
    assert number("ratio of the second half: ") < number("ratio of the first tenth: ")
    assert printed.split("nearest: ")[1].startswith("β = 2")
    assert number("from the GUE: ") > 0.3
    assert number("from Berry: ") < 0.03


@pytest.mark.slow
def test_mri_patches(tmp_path, capsys):
    output = tmp_path / "mri.png"
    load("mri_patches.py")["main"](["--size=32", f"--output={output}"])
    assert_is_a_picture(output)
    printed = capsys.readouterr().out
    number = lambda after: float(printed.split(after)[1].split()[0].strip("%,"))
    assert abs(number("noise level: ") - 0.05) < 0.001
    assert number("error: ") < 0.4 * 0.05
    assert 0.045 < number("residual: ") < 0.051
    assert abs(number("signal is ")) < 5


@pytest.mark.slow
def test_single_cell_counts(tmp_path, capsys):
    output = tmp_path / "cells.png"
    load("single_cell_counts.py")["main"](["--cells=300", f"--output={output}"])
    assert_is_a_picture(output)
    ranks = [int(line.split("rank ")[1].split()[0]) for line in capsys.readouterr().out.splitlines()]
    assert ranks[0] > 20
    assert ranks[1] > ranks[2]
    assert abs(ranks[2] - 6) <= 1


@pytest.mark.slow
def test_fmri_noise(tmp_path, capsys):
    output = tmp_path / "fmri.png"
    load("fmri_noise.py")["main"](["--size=24", f"--output={output}"])
    assert_is_a_picture(output)
    errors = [float(line.split("error ")[1]) for line in capsys.readouterr().out.splitlines()[:3]]
    assert errors[2] < 0.8 * errors[1] < errors[0]


def test_multi_host_on_one(tmp_path, capsys):
    options = ["--n=20", "--draws=200", f"--checkpoint={tmp_path / 'gue'}"]
    load("multi_host.py")["main"](options)
    printed = capsys.readouterr().out
    assert f"4,000 levels on {jax.device_count()} devices of 1 processes" in printed
    distance = float(printed.split("semicircle: ")[1])
    assert 0 < distance < 0.1  # 4000 levels in 100 bins; with a scale wrong by sqrt(2) it is 0.2
    # A second call finds everything done.
    load("multi_host.py")["main"](options)
    assert capsys.readouterr().out == printed


@pytest.mark.slow
def test_billion(tmp_path, capfd):
    options = ["--n=3000", "--matrices=60", "--every=2", "--devices=1", f"--checkpoint={tmp_path / 'goe'}"]
    load("billion.py")["main"](options)
    printed = capfd.readouterr().out
    assert "killed after" in printed
    assert printed.index("killed after") < printed.index("levels of 60 matrices")
    rows = np.array([line.replace("±", " ").split() for line in printed.splitlines() if "±" in line], float)
    assert len(rows) == 16
    _, _, mean, error, law, deviation = rows.T
    # The counts of 60 matrices follow the semicircle to a level, and fluctuate as little as repelling levels do.
    assert abs(mean - law).max() < 1.5
    assert (deviation < 2).all()
    assert (error > 0.05).all()


@pytest.mark.slow
def test_how_many_components(tmp_path, capsys):
    output = tmp_path / "components.png"
    load("how_many_components.py")["main"](["--matrices=60", f"--output={output}"])
    assert_is_a_picture(output)
    lines = [line for line in capsys.readouterr().out.splitlines() if "components, 3 in" in line]
    mean = {line[:27].strip(): float(line[27:].split()[0]) for line in lines}
    # One of the four components is below the threshold, and another is near it.
    assert 1.9 < mean["Tracy-Widom tests"] < 2.9
    assert mean["hard threshold"] < mean["parallel analysis"] < mean["Tracy-Widom tests"]
    assert 38 < mean["Kaiser: above the mean"] < 45
    assert mean["elbow: the largest drop"] < 2


@pytest.mark.slow
def test_power_law(tmp_path, capsys):
    output = tmp_path / "power_law.png"
    load("is_it_power_law.py")["main"]([f"--output={output}"])
    assert_is_a_picture(output)
    pareto, log_normal, equal = capsys.readouterr().out.split("exponent")[:3]
    assert "Pareto: power law" in pareto
    assert "log-normal: not a power law" in log_normal
    assert "equal: not a power law" in equal


@pytest.mark.slow
def test_zipf_words(tmp_path, capsys):
    output = tmp_path / "zipf_words.png"
    load("zipf_words.py")["main"]([f"--output={output}"])
    assert_is_a_picture(output)
    whole, real = capsys.readouterr().out.split("exponent")[1:3]
    assert abs(float(whole.split()[0]) - 1.96) < 0.02
    assert abs(float(real.split()[0]) - 2.65) < 0.02


@pytest.mark.slow
def test_portfolio_covariance(tmp_path, capsys):
    output = tmp_path / "portfolio.png"
    load("portfolio_covariance.py")["main"](["--assets=100", "--days=125", f"--output={output}"])
    assert_is_a_picture(output)
    lines = capsys.readouterr().out.splitlines()
    realised = {line.split()[0]: float(line.split()[-2]) for line in lines[:4]}
    best = float(lines[4].split()[2])
    assert best < realised["oracle"] < 1.02 * realised["QIS"] < realised["Ledoit-Wolf"] < 0.8 * realised["sample"]


@pytest.mark.slow
def test_late_starting_assets(tmp_path, capsys):
    output = tmp_path / "late.png"
    load("late_starting_assets.py")["main"](["--assets=60", "--days=160", f"--output={output}"])
    assert_is_a_picture(output)
    lines = capsys.readouterr().out.splitlines()
    complete, pairwise, dropped, sample = (float(line.split()[-1]) for line in lines[:4])
    assert complete < pairwise < min(dropped, sample)


@pytest.mark.slow
def test_add_spectra(tmp_path, capsys):
    output = tmp_path / "add.png"
    load("add_spectra.py")["main"](["--n=200", f"--output={output}"])
    assert_is_a_picture(output)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("atoms ")[1].split(",")[0] for line in lines] == ["0.00", "0.00", "0.40", "0.30"]
    assert max(float(line.split()[-1]) for line in lines) < 0.04


def test_every_line_of_the_cheat_sheet():
    text = (DOCS / "cheat_sheet.md").read_text()
    (cell,) = re.findall(r"^```{code-cell} ipython3\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    lines = [line for row in rows for line in re.findall(r"`([^`]+)`", row)]
    settings = [line for line in lines if "enable_compilation_cache" in line or "jax.config" in line]
    assert len(lines) > 40
    assert len(settings) == 2  # which belong to the whole process, and have their own tests
    names = {}
    exec(cell, names)
    for line in lines:
        if line not in settings:
            eval(line, names)
