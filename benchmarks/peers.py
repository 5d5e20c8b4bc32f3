"""The same work here and in other packages of the field, in one run on one machine: answers first, then times.

    make bench-peers

Each row names the work, what its error is measured against, and the error, the median seconds and the seconds of the
first call, which compiles here. The references are not ours: Fredholm determinants in ball arithmetic and densities in
25 digits (`tests/golden/laws.json`), published means, exact laws, or the other package itself where it is right.
Packages that cannot live beside this library have environments of their own (`apart.py`). `costs` measures how time and
memory grow with n, each point in a fresh process, and `claims` runs lines whose answer is wrong in another package.
`benchmarks/free_laws.py` compares with freealg, and `benchmarks/inference.py` with NumPy and dipy. The record is
`benchmarks/results/peers.json`, and `tables.py` makes tables and a picture from it.
"""

import functools
import json
import os
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import apart
import beta_ensembles.gaussian
import beta_ensembles.statistics
import jax
import jax.numpy as jnp
import numpy as np
import powerlaw
import tables
from dipy.denoise.localpca import mppca
from dppy.beta_ensembles import HermiteEnsemble
from inference import circumstances, decays, medians, recorded
from matfree import decomp, funm, stochtrace
from skfolio.moments import DenoiseCovariance, DetoneCovariance
from sklearn.covariance import OAS, LedoitWolf
from TracyWidom import TracyWidom

import rmtjax as rmt

GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "laws.json"
# Atas, Bogomolny, Giraud and Roux (2013), Phys. Rev. Lett. 110, 084101, table 1: from matrices, to 1e-4.
MEAN_GAP_RATIOS = {1: 0.5307, 2: 0.5996, 4: 0.6744}


class Apart(NamedTuple):
    """A package in an environment of its own, its work in `peer_work.py`, and the parameters."""

    package: str
    work: str
    parameters: dict[str, Any]


def row(
    of: str,
    turns: int,
    calls: dict[str, Callable[[], Any]],
    error: Callable[[Any], float],
    other: Apart | None = None,
    change: Callable[[Any], Any] = lambda answer: answer,
) -> dict[str, Any]:
    """Errors of the answers of each call, and their times; the answer from another environment is changed first."""
    start = time.perf_counter()
    jax.block_until_ready(calls["rmtjax"]())
    first = time.perf_counter() - start
    errors = {name: float(error(call())) for name, call in calls.items()}
    times = medians(turns, **calls)
    found = {name: {"error": errors[name], "seconds": times[name]} for name in calls}
    found["rmtjax"]["first call"] = first
    if other is not None and installed(other.package):
        numbers, answer = apart.run(other.package, other.work, turns, **other.parameters)
        found[named(other.package)] = {"error": float(error(change(answer))), "seconds": numbers["seconds"]}
    return {"error of": of} | found


def named(package: str) -> str:
    """A package with its version."""
    known = apart.versions(package, package)[package] if package in apart.ENVIRONMENTS else version(package)
    return f"{package} {known}"


def installed(package: str) -> bool:
    """Whether a package is there, in its own environment if it needs one."""
    try:
        apart.interpreter(package)
    except apart.NotInstalled as error:
        print(f"{package}: {error}", flush=True)
        return False
    return True


def golden(law: str) -> dict[str, np.ndarray]:
    """The reference values of a law."""
    (entry,) = [each for each in json.loads(GOLDEN.read_text())["laws"] if each["law"] == law]
    keys = ("x", "pdf", "cdf", "sf")
    return {key: np.array([float(point[key]) for point in entry["points"]]) for key in keys}


def tracy_widom(turns: int) -> dict[str, Any]:
    """Probabilities of the largest level, at points from far tail to far tail."""
    rows = {}
    for beta in (1, 2, 4):
        exact, law, rival = golden(f"TracyWidom({beta})"), rmt.laws.TracyWidom(beta), TracyWidom(beta)
        x = jnp.asarray(exact["x"])
        calls = {"rmtjax": functools.partial(law.cdf, x), named("TracyWidom"): lambda r=rival, x=exact["x"]: r.cdf(x)}
        text = "the distribution function, largest difference"
        scikit = Apart("scikit-rmt", "tracy_widom", {"beta": beta, "x": exact["x"].tolist()})
        rows[f"Tracy and Widom, β = {beta}"] = row(
            text, turns, calls, lambda got, e=exact: abs(np.asarray(got) - e["cdf"]).max(), scikit
        )
        # A tail from the right, of itself.
        calls = {"rmtjax": lambda l=law, x=x: l.sf(x), named("TracyWidom"): lambda r=rival, x=exact["x"]: 1 - r.cdf(x)}
        relative = lambda got, e=exact: abs(np.asarray(got) / e["sf"] - 1)[e["x"] > 0].max()
        rows[f"Tracy and Widom, β = {beta}, tail"] = row(
            "probabilities above points beyond 0, relative", turns, calls, relative, scikit, lambda cdf: 1 - cdf
        )
    return rows


def bulk(turns: int) -> dict[str, Any]:
    """The law of Marčenko and Pastur."""
    exact, law = golden("MarchenkoPastur(0.25)"), rmt.laws.MarchenkoPastur(0.25)
    x = jnp.asarray(exact["x"])
    text, off = "the distribution function, largest difference", lambda got: abs(np.asarray(got) - exact["cdf"]).max()
    other = Apart("scikit-rmt", "marchenko_pastur", {"ratio": 0.25, "x": exact["x"].tolist()})
    return {"Marčenko and Pastur": row(text, turns, {"rmtjax": functools.partial(law.cdf, x)}, off, other)}


def spacings(turns: int) -> dict[str, Any]:
    """Densities of spacings, and mean gap ratios."""
    rival, rows = named("beta-ensembles"), {}
    for beta in (1, 2, 4):
        exact, law = golden(f"Spacing({beta}, 1)"), rmt.laws.Spacing(beta)
        s = jnp.asarray(exact["x"])
        calls = {
            "rmtjax": functools.partial(law.pdf, s),
            rival: lambda beta=beta, s=exact["x"]: beta_ensembles.statistics.pdf_s(beta, s),
        }
        off = lambda got, e=exact: abs(np.asarray(got) - e["pdf"]).max()
        rows[f"density of spacings, β = {beta}"] = row("the density, largest difference", turns, calls, off)
        calls = {
            "rmtjax": functools.partial(rmt.laws.mean_gap_ratio, beta),
            rival: functools.partial(beta_ensembles.statistics.mean_ratio, beta),
        }
        off = lambda got, beta=beta: abs(float(got) - MEAN_GAP_RATIOS[beta])
        rows[f"mean gap ratio, β = {beta}"] = row("the mean, of which four digits are published", turns, calls, off)
    return rows


def dense(n: int, spectra: int) -> np.ndarray:
    """Spectra of the GOE as everyone begins: NumPy, whole matrices."""
    a = np.random.default_rng(0).normal(size=(spectra, n, n))
    return np.linalg.eigvalsh(a + np.swapaxes(a, 1, 2))


def spectra(turns: int) -> dict[str, Any]:
    """Draws of spectra of the GOE, checked by the mean gap ratio in the middle half."""
    rows = {}
    for n, number in ((50, 1000), (500, 100)):
        hermite = HermiteEnsemble(beta=1)
        calls = {
            "rmtjax": lambda n=n, number=number: rmt.simulate(rmt.GOE(n).eigenvalues, jax.random.key(0), number),
            named("numpy"): functools.partial(dense, n, number),
            named("dppy"): lambda n=n, k=number, h=hermite: np.stack(
                [h.sample_banded_model(size_N=n, random_state=seed) for seed in range(k)]
            ),
            named("beta-ensembles"): lambda n=n, k=number: beta_ensembles.gaussian.spectra(1, n, k, 0, verbose=False),
        }

        other = Apart("scikit-rmt", "spectra", {"n": n, "number": number})
        rows[f"{number} spectra of order {n}"] = row(
            "the mean gap ratio, in standard errors", turns, calls, deviations, other
        )
    return rows | wisharts(turns, p=50, n=100, number=1000)


def deviations(got: Any) -> float:
    """How far the mean gap ratio of the middle half is from the published one."""
    middle = jnp.sort(jnp.asarray(got), axis=1)[:, got.shape[1] // 4 : -got.shape[1] // 4]
    found = rmt.statistics.over_samples(lambda x: rmt.statistics.gap_ratios(x).mean(), middle)
    return abs(float((found.value - MEAN_GAP_RATIOS[1]) / found.standard_error))


def wisharts(turns: int, p: int, n: int, number: int) -> dict[str, Any]:
    """Draws of spectra of real Wishart matrices, checked by the mean of the trace of the square, which is exact."""

    def off(got: Any) -> float:
        unit = n if np.mean(got) < 10 else 1  # levels here are of X Xᵀ/n
        each = ((unit * np.asarray(got)) ** 2).sum(axis=1)
        return abs(each.mean() - n * p * (n + p + 1)) / (each.std() / number**0.5)

    def whole() -> np.ndarray:
        a = np.random.default_rng(0).normal(size=(number, p, n))
        return np.linalg.eigvalsh(a @ np.swapaxes(a, 1, 2))

    calls = {
        "rmtjax": lambda: rmt.simulate(rmt.Wishart(p, n).eigenvalues, jax.random.key(0), number),
        named("numpy"): whole,
    }
    other = Apart("scikit-rmt", "wishart_spectra", {"p": p, "n": n, "number": number})
    text = "the mean of tr W², in standard errors"
    return {f"{number} spectra of Wishart matrices, {p} × {n}": row(text, turns, calls, off, other)}


def covariance(turns: int) -> dict[str, Any]:
    """Covariance matrices of 200 variables from 400 observations."""
    truth = np.repeat([1.0, 3.0, 10.0], [40, 80, 80])
    data = np.random.default_rng(0).normal(size=(400, 200)) * np.sqrt(truth)
    array, scale = jnp.asarray(data), np.linalg.norm(np.diag(truth))
    off = lambda got: np.linalg.norm(np.asarray(got) - np.diag(truth)) / scale
    scikit = named("scikit-learn")
    calls = {
        "rmtjax": functools.partial(rmt.inference.shrink_covariance, array),
        f"{scikit}, LedoitWolf": lambda: LedoitWolf().fit(data).covariance_,
        f"{scikit}, OAS": lambda: OAS().fit(data).covariance_,
    }
    linear = {
        "rmtjax": lambda: rmt.inference.shrink_covariance(array, method="ledoit-wolf", center=False),
        f"{scikit}, LedoitWolf": lambda: LedoitWolf(assume_centered=True).fit(data).covariance_,
    }
    same = linear[f"{scikit}, LedoitWolf"]()
    return {
        "covariance matrix, best method of each": row(
            "the covariance matrix, relative, in Frobenius' norm", turns, calls, off
        ),
        "covariance matrix, method of Ledoit and Wolf (2004)": row(
            "the difference to scikit-learn", turns, linear, lambda got: abs(np.asarray(got) - same).max()
        ),
    }


def factors(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """A covariance matrix of a market and three groups, and observations of it."""
    rng = np.random.default_rng(0)
    loadings = np.concatenate([0.5 + 0.1 * rng.normal(size=(p, 1)), 0.7 * np.kron(np.eye(3), np.ones((p // 3, 1)))], 1)
    truth = loadings @ loadings.T + np.eye(p)
    return truth, rng.normal(size=(n, 4)) @ loadings.T + rng.normal(size=(n, p))


def levels_of_noise(turns: int) -> dict[str, Any]:
    """Correlations whose levels up to the edge of noise become equal, and correlations without the market."""
    truth, data = factors(400, 210)
    array, skfolio = jnp.asarray(data), named("skfolio")
    clipped = {
        "rmtjax": lambda: rmt.inference.shrink_covariance(array, method="clipping", standardize=True),
        f"{skfolio}, DenoiseCovariance": lambda: DenoiseCovariance().fit(data).covariance_,
    }
    off = lambda got: np.linalg.norm(np.asarray(got) - truth) / np.linalg.norm(truth)

    def correlations(got: Any) -> np.ndarray:
        root = np.sqrt(np.diag(got))
        return np.asarray(got) / np.outer(root, root)

    detoned = {
        "rmtjax": lambda: rmt.inference.detone(jnp.corrcoef(array, rowvar=False), unit_diagonal=True),
        f"{skfolio}, DetoneCovariance": lambda: DetoneCovariance(nearest=False).fit(data).covariance_,
    }
    same = correlations(detoned[f"{skfolio}, DetoneCovariance"]())
    return {
        "covariance matrix, levels of noise made equal": row(
            "the covariance matrix, relative, in Frobenius' norm", turns, clipped, off
        ),
        "correlations without the market": row(
            "the difference to skfolio", turns, detoned, lambda got: abs(correlations(got) - same).max()
        ),
    }


def images(turns: int) -> dict[str, Any]:
    """Noise taken out of overlapping patches of 3 × 3 × 3 pixels at 20 times."""
    signal, noisy = decays(14, 14, 14, k=20)
    array = jnp.asarray(noisy)
    calls = {
        "rmtjax": lambda: rmt.inference.denoise_image(array, patch=(3, 3, 3)).image,
        f"{named('dipy')}, mppca": lambda: mppca(noisy, patch_radius=1),
    }
    off = lambda got: np.std(np.asarray(got) - signal)
    return {"image of 14 × 14 × 14 × 20 without its noise of 0.1": row("the image, its deviation", turns, calls, off)}


def product(v: jax.Array, a: jax.Array) -> jax.Array:
    """A matrix times a vector."""
    return a @ v


def log_determinant(turns: int) -> dict[str, Any]:
    """The log-determinant of a matrix of order 1000 by 80 of Lanczos' steps for each of 8 vectors."""
    x = np.random.default_rng(0).normal(size=(1000, 2000))
    matrix = x @ x.T / 2000 + np.eye(1000)
    a, right = jnp.asarray(matrix), np.linalg.slogdet(matrix)[1] / 1000
    integrand = funm.monte_carlo_funm_sym_logdet(decomp.tridiag_sym(80))
    sampler = stochtrace.sampler_signs(jnp.zeros(1000), num=8)
    estimate = stochtrace.estimator_monte_carlo(integrand, sampler)
    traced = jax.jit(lambda key: estimate(lambda v: a @ v, key) / 1000)

    def here() -> Any:
        of = rmt.inference.spectral_density_of(product, jax.random.key(0), 1000, args=(a,), depth=80, probes=8)
        return of.mean(jnp.log).value

    calls = {"rmtjax": here, named("matfree"): lambda: traced(jax.random.key(0))}
    text = "log det / n, of which the probes leave 1e-2"
    return {"log-determinant by Lanczos' steps": row(text, turns, calls, lambda got: abs(float(got) - right))}


def power_laws(turns: int) -> dict[str, Any]:
    """The exponent of 2000 values of a Pareto law, whose minimum is to be found."""
    values = np.random.default_rng(0).pareto(1.5, 2000) + 1
    calls = {
        "rmtjax": lambda: rmt.inference.fit_tail(values),
        named("powerlaw"): lambda: powerlaw.Fit(values, verbose=False),
    }
    exponent = lambda fit: fit.power_law.alpha if isinstance(fit, powerlaw.Fit) else fit.exponent.value
    return {"exponent of a power law": row("the exponent", turns, calls, lambda fit: abs(float(exponent(fit)) - 2.5))}


# Which package does which work of `costs`; where there is no better way, a histogram and the largest are of all levels.
COSTS = {
    "levels": ("rmtjax", "numpy", "scipy", "dppy", "beta-ensembles", "scikit-rmt"),
    "histogram": ("rmtjax", "numpy", "scipy", "scikit-rmt"),
    "largest": ("rmtjax", "numpy", "scipy", "scikit-rmt"),
}
SIZES, MOST_SECONDS, MOST_MEGABYTES = (10**2, 10**3, 10**4, 10**5, 10**6), 10.0, 4000.0


def semicircle(x: np.ndarray) -> np.ndarray:
    """The distribution function of the semicircle from -2 to 2."""
    return 0.5 + x * np.sqrt(np.maximum(4 - x**2, 0)) / (4 * np.pi) + np.arcsin(np.clip(x / 2, -1, 1)) / np.pi


def check(work: str, n: int, answer: np.ndarray) -> None:
    """Refuse an answer that no draw of the GOE has: levels are rigid, and the largest is next to the edge."""
    if work == "levels":
        off = n * abs((np.arange(n) + 0.5) / n - semicircle(np.sort(answer))).max()
    elif work == "histogram":
        off = abs(np.cumsum(answer) - n * semicircle(np.linspace(-2, 2, 101)[1:])).max()
    else:
        off = abs(float(answer.squeeze()) - 2) * n ** (2 / 3)
    if off > 10:
        raise ValueError(f"{work} of order {n} is off by {off}")


def curve(package: str, work: str, turns: int) -> dict[str, Any]:
    """Costs for growing n, as far as one call stays within the limits; then once more for an n √10 as large."""
    names = ("n", "seconds", "first call", "peak MB")
    points: dict[str, list[Any]] = {name: [] for name in names}

    def measure(n: int) -> None:
        numbers, answer = apart.run(package, work, turns, n=n)
        check(work, n, answer)
        for name, value in ({"n": n} | numbers).items():
            if name in points:
                points[name].append(value)
        print(f"{work}, {package}, n = {n}: {numbers}", flush=True)

    def fits(power: float) -> bool:
        """Whether the next call stays within the limits if it costs more by the last factor, to this power."""
        if len(points["n"]) < 2:
            return True
        (before, seconds), (less, most) = points["seconds"][-2:], points["peak MB"][-2:]
        return (
            seconds * max(seconds / before, 10) ** power < MOST_SECONDS
            and most * max(most / max(less, 1), 1) ** power < MOST_MEGABYTES
        )

    for n in SIZES:
        if fits(1):
            measure(n)
        elif fits(0.5):
            measure(round(n / 10**0.5))
            break
        else:
            break
    exponent = np.polyfit(np.log(points["n"][1:]), np.log(points["seconds"][1:]), 1)[0]  # from 1000 on
    return points | {"exponent": round(float(exponent), 2)}


def costs(turns: int) -> dict[str, Any]:
    """Curves of each work and package."""
    return {
        work: {
            named(package) if package != "rmtjax" else package: curve(package, work, turns)
            for package in packages
            if installed(package)
        }
        for work, packages in COSTS.items()
    }


class Claim(NamedTuple):
    """What is computed, the package, lines that leave the answer in `found`, what is right, and why."""

    of: str
    package: str
    lines: str
    right: float
    source: str


CLAIMS = (
    Claim(
        "variance of the diagonal of the GOE in tridiagonal form (entries beside it: χ² of n-1, n-2, …)",
        "scikit-rmt",
        """from skrmt.ensemble import GaussianEnsemble
goe = GaussianEnsemble(beta=1, n=2000, tridiagonal_form=True, random_state=0)
found = goe.matrix.diagonal().var()""",
        2.0,
        "Dumitriu and Edelman (2002), theorem 2.1; so has its own dense form",
    ),
    Claim(
        "different levels of a GSE of order 10 in tridiagonal form",
        "scikit-rmt",
        """from skrmt.ensemble import GaussianEnsemble
gse = GaussianEnsemble(beta=4, n=10, tridiagonal_form=True, random_state=0)
found = len(set(gse.eigvals().round(6)))""",
        10.0,
        "each level of its dense form, of order 20, comes twice",
    ),
    Claim(
        "integral of the joint density of the levels of a GOE of order 1",
        "scikit-rmt",
        """import numpy as np
from scipy.integrate import quad
from skrmt.ensemble import GaussianEnsemble
goe = GaussianEnsemble(beta=1, n=1)
found = quad(lambda x: goe.joint_eigval_pdf(np.array([x])), -20, 20)[0]""",
        1.0,
        "a density",
    ),
    Claim(
        "integral of the joint density of the levels of a 1 × 3 Wishart matrix",
        "scikit-rmt",
        """import numpy as np
from scipy.integrate import quad
from skrmt.ensemble import WishartEnsemble
wishart = WishartEnsemble(beta=1, p=1, n=3)
found = quad(lambda x: wishart.joint_eigval_pdf(np.array([x])), 0, 80)[0]""",
        1.0,
        "a density, of χ² with 3 degrees of freedom",
    ),
    Claim(
        "Marčenko and Pastur's probability of levels below 0.01 for twice as many rows as columns",
        "scikit-rmt",
        """from skrmt.ensemble.spectral_law import MarchenkoPasturDistribution
found = MarchenkoPasturDistribution(ratio=2.0).cdf(0.01)""",
        0.5,
        "half of the levels are 0",
    ),
    Claim(
        "deviation of the noise that its denoiser finds in images of nothing but noise",
        "scikit-rmt",
        """import numpy as np
from skrmt.denoise import MarchenkoPasturPCADenoiser
images = np.random.default_rng(0).normal(size=(50, 16, 16))
found = MarchenkoPasturPCADenoiser().fit(images).sigma_""",
        1.0,
        "the noise put in; it takes the middle of the support for the median of the law",
    ),
    Claim(
        "mean gap ratio of levels that are given in a small unit",
        "leymosun",
        """import numpy as np
from leymosun.spectral import mean_adjacent_gap_ratio
a = np.random.default_rng(0).normal(size=(100, 100, 100))
found = mean_adjacent_gap_ratio(1e-9 * np.linalg.eigvalsh(a + a.transpose(0, 2, 1)))[0]""",
        0.5307,
        "a ratio has no unit; Atas and others (2013), table 1",
    ),
    Claim(
        "density of the semicircle of radius 2 at 3",
        "leymosun",
        """from leymosun.gaussian import wigner
found = wigner([3.0])[0]""",
        0.0,
        "outside of its support",
    ),
    Claim(
        "rigidity of the GOE at length 1/2, where its range begins by default",
        "empyricalRMT",
        """import numpy as np
from empyricalRMT.ensemble import GOE
found = GOE.spectral_rigidity(L=np.array([0.5]))[0]""",
        0.0324,
        "a mean of squares, L/15 for small L; the formula is that of large L",
    ),
)


def claims(turns: int) -> list[dict[str, Any]]:
    """What each of the lines gives."""
    found = []
    for claim in CLAIMS:
        if installed(claim.package):
            answer = apart.run("lines", "found", 0, environment=claim.package, text=claim.lines).answer
            found.append(claim._asdict() | {"package": named(claim.package), "found": round(float(answer), 4)})
    return found


def environments(turns: int) -> dict[str, Any]:
    """What has an environment of its own, why, and which; or why it could not be made."""
    found = {}
    for package, environment in apart.ENVIRONMENTS.items():
        try:
            of = ", ".join(f"{name} {number}" for name, number in apart.versions(package, package, "numpy").items())
        except apart.NotInstalled as error:
            of = f"could not be installed: {error}"
        found[package] = {"why": environment.why, "environment": of}
    return found


# Each part, and the name of what it returns.
PARTS: dict[str, tuple[str, Callable[[int], Any]]] = {
    "largest level": ("rows", tracy_widom),
    "spacings": ("rows", spacings),
    "spectra": ("rows", spectra),
    "covariance": ("rows", covariance),
    "power laws": ("rows", power_laws),
    "levels of noise": ("rows", levels_of_noise),
    "images": ("rows", images),
    "log-determinant": ("rows", log_determinant),
    "bulk": ("rows", bulk),
    "costs": ("curves", costs),
    "claims": ("claims", claims),
    "environments": ("packages", environments),
}


def measured(name: str, turns: int) -> dict[str, Any]:
    """A part with its circumstances, the load of the machine among them."""
    load = {"load before": round(os.getloadavg()[0], 1)}
    kind, part = PARTS[name]
    return circumstances() | load | {kind: part(turns)}


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    recorded("peers.json", __doc__, PARTS, measured, None)
    tables.write()
