"""The same work here and in other packages of the field, in one run on one machine: answers first, then times.

    make bench-peers

Each row names the work, what its error is measured against, and the error, the median seconds and, for this library,
the seconds of the first call, which compiles. The references are not ours: Fredholm determinants in ball arithmetic and
densities in 25 digits (`tests/golden/laws.json`), published means, exact laws, or the other package itself where it is
right. scikit-rmt 2.1.1 is not here: it cannot be imported with SciPy 1.12 or newer. `benchmarks/free_laws.py` compares
with freealg, and `benchmarks/inference.py` with NumPy and dipy. The record is `benchmarks/results/peers.json`.
"""

import functools
import json
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import beta_ensembles.gaussian
import beta_ensembles.statistics
import jax
import jax.numpy as jnp
import numpy as np
import powerlaw
from dppy.beta_ensembles import HermiteEnsemble
from inference import circumstances, medians, recorded
from sklearn.covariance import OAS, LedoitWolf
from TracyWidom import TracyWidom

import rmtjax as rmt

GOLDEN = Path(__file__).parents[1] / "tests" / "golden" / "laws.json"
# Atas, Bogomolny, Giraud and Roux (2013), Phys. Rev. Lett. 110, 084101, table 1: from matrices, to 1e-4.
MEAN_GAP_RATIOS = {1: 0.5307, 2: 0.5996, 4: 0.6744}


def row(of: str, turns: int, calls: dict[str, Callable[[], Any]], error: Callable[[Any], float]) -> dict[str, Any]:
    """Errors of the answers of each call, and their times; the first call is ours."""
    start = time.perf_counter()
    jax.block_until_ready(calls["rmtjax"]())
    first = time.perf_counter() - start
    errors = {name: float(error(call())) for name, call in calls.items()}
    times = medians(turns, **calls)
    found = {name: {"error": errors[name], "seconds": times[name]} for name in calls}
    found["rmtjax"]["first call"] = first
    return {"error of": of} | found


def named(package: str) -> str:
    """A package with its version."""
    return f"{package} {version(package)}"


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
        rows[f"Tracy and Widom, β = {beta}"] = row(
            text, turns, calls, lambda got, e=exact: abs(np.asarray(got) - e["cdf"]).max()
        )
        # A tail from the right, of itself.
        calls = {"rmtjax": lambda l=law, x=x: l.sf(x), named("TracyWidom"): lambda r=rival, x=exact["x"]: 1 - r.cdf(x)}
        relative = lambda got, e=exact: abs(np.asarray(got) / e["sf"] - 1)[e["x"] > 0].max()
        rows[f"Tracy and Widom, β = {beta}, tail"] = row(
            "probabilities above points beyond 0, relative", turns, calls, relative
        )
    return rows


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

        def deviations(got: Any) -> float:
            middle = jnp.sort(jnp.asarray(got), axis=1)[:, got.shape[1] // 4 : -got.shape[1] // 4]
            found = rmt.statistics.over_samples(lambda x: rmt.statistics.gap_ratios(x).mean(), middle)
            return abs(float((found.value - MEAN_GAP_RATIOS[1]) / found.standard_error))

        rows[f"{number} spectra of order {n}"] = row("the mean gap ratio, in standard errors", turns, calls, deviations)
    return rows


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


def power_laws(turns: int) -> dict[str, Any]:
    """The exponent of 2000 values of a Pareto law, whose minimum is to be found."""
    values = np.random.default_rng(0).pareto(1.5, 2000) + 1
    calls = {
        "rmtjax": lambda: rmt.inference.fit_tail(values),
        named("powerlaw"): lambda: powerlaw.Fit(values, verbose=False),
    }
    exponent = lambda fit: fit.power_law.alpha if isinstance(fit, powerlaw.Fit) else fit.exponent.value
    return {"exponent of a power law": row("the exponent", turns, calls, lambda fit: abs(float(exponent(fit)) - 2.5))}


PARTS = {
    "largest level": tracy_widom,
    "spacings": spacings,
    "spectra": spectra,
    "covariance": covariance,
    "power laws": power_laws,
}


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    recorded("peers.json", __doc__, PARTS, lambda name, turns: circumstances() | {"rows": PARTS[name](turns)}, None)
