"""The cases of `first_call.py`: the core at user-like sizes, and every public name of the test registry.

A case has a name, a target, and a function that prepares arguments and returns the function to be timed with them.
Objects are made inside the timed call, as a user makes them: a constructor compiles too.
"""

import contextlib
import inspect
import io
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # for the registry of the tests

Prepared = tuple[Callable, tuple]

# Names that are not functions of numbers, compile nothing of their own, or are called by another case.
SILENT = (
    r"rmtjax\.(adapters|benchmark|testing|plotting)\..*",
    r"rmtjax\.(ensembles|laws|simulation)\.Abstract.*",
    r"rmtjax\.(Circle|Histogram|Interval|Moments|PaddedMatrix|cite|enable_compilation_cache)",
    r"rmtjax\.inference\.(Denoised|DenoisedImage|DenoisedPatches|Fit|GoodnessOfFit|HardThreshold)",
    r"rmtjax\.inference\.(LargestRootTest|LikelihoodRatio|MarchenkoPasturFit|SignalRank|SpectraComparison)",
    r"rmtjax\.inference\.(Biwhitened|PopulationSpectrum|RankAboveNoise|levels_near)",
    r"rmtjax\.inference\.(SpectralDensityEstimate|SpectralOutliers|SpikeEstimates|TailCutOff|TailFit|WeightSpectra)",
    r"rmtjax\.simulation\.(\w+Result|Collect|Covariance|Draws|Extremes|Interrupted|Jackknife|Keep|KeptDraws)",
    r"rmtjax\.simulation\.(MemoryPlan|memory_plan|Part|Quantiles|RareEvent)",
    r"rmtjax\.statistics\.(Estimate|FormFactor|LevelRepulsion|PolynomialDegree|SharedDensity)",
    r"rmtjax\.spectra\.(Line|Unfolding)",
    r"rmtjax\.special\.(Airy|FredholmDeterminant)",
)


@dataclass(frozen=True)
class Case:
    """One call.

    Args:
        name: the name that `--only` looks at.
        prepare: gives the function to be timed and its arguments, in the process that times them.
        ratio: target of the processor time, relative to that of the reference; None if `seconds` is given.
        seconds: target of the clock time; None if `ratio` is given.
        warm: whether another process has filled a cache on disk before.
        library: whether the library is imported before the clock starts.
    """

    name: str
    prepare: Callable[[], Prepared]
    ratio: float | None = None
    seconds: float | None = None
    warm: bool = False
    library: bool = True


def cases() -> Iterator[Case]:
    """All cases, those of the core first."""
    yield from _scripts()
    yield from _core()
    yield from _core_in_jit()
    yield from _registry()


def reference() -> Prepared:
    """`jax.scipy.linalg.eigh_tridiagonal` at n = 100; the cost of compiling it does not depend on n."""
    import jax

    return partial(jax.scipy.linalg.eigh_tridiagonal, eigvals_only=True), _tridiagonal()


def _tridiagonal() -> tuple:
    import jax
    import jax.numpy as jnp

    return jax.random.normal(jax.random.key(1), (100,)), jnp.ones(99)


# Scripts as users write them


def _scripts() -> Iterator[Case]:
    yield Case("README, cold", _readme, seconds=5, library=False)
    yield Case("README, warm cache on disk", _readme, seconds=2, warm=True, library=False)
    yield Case("ten sizes of GOE", _ten_sizes, seconds=10)


def _readme() -> Prepared:
    (lines,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    code = compile(lines, "README.md", "exec")

    def run() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(code, {})

    return run, ()


def _ten_sizes() -> Prepared:
    import jax

    import rmtjax as rmt

    study = lambda key: [rmt.GOE(n).eigenvalues(key).mean() for n in range(50, 150, 10)]
    return study, (jax.random.key(0),)


# The core


def _core() -> Iterator[Case]:
    parts, levels, gradients = 0.7, 1.5, 2.5
    yield Case("SymTridiagonal(100).eigenvalues", _of_tridiagonal(lambda t: t.eigenvalues()), ratio=1.0)
    of_key = {
        "GOE(100).eigenvalues": lambda rmt, key: rmt.GOE(100).eigenvalues(key),
        "Wishart(100, 250).eigenvalues": lambda rmt, key: rmt.Wishart(100, 250).eigenvalues(key),
        "Jacobi(100, 150, 200).eigenvalues": lambda rmt, key: rmt.Jacobi(100, 150, 200).eigenvalues(key),
        "CUE(100).eigenphases": lambda rmt, key: rmt.CUE(100).eigenphases(key),
    }
    for name, fn in of_key.items():
        yield Case(name, _of_key(fn), levels)
    yield Case("GOE(100).count_below", _of_key(lambda rmt, key: rmt.GOE(100).count_below(key, 0.3)), parts)
    yield Case("eigvalsh(100×100)", _of_matrix(lambda rmt, a: rmt.eigvalsh(a)), parts)
    energy = lambda levels: (levels**2).sum()
    yield Case("gradient of SymTridiagonal(100)", _of_tridiagonal(lambda t: energy(t.eigenvalues()), True), gradients)
    of_scale = {
        "GOE(100, scale)": lambda rmt, key, s: energy(rmt.GOE(100, s).eigenvalues(key)),
        "Wishart(100, 250, 1, scale)": lambda rmt, key, s: energy(rmt.Wishart(100, 250, 1, s).eigenvalues(key)),
        "JacobiBeta(100, 99 + a, 150, 2)": lambda rmt, key, a: energy(
            rmt.JacobiBeta(100, 99 + a, 150.0, 2.0).eigenvalues(key)
        ),
        "CircularBeta(100, beta)": lambda rmt, key, beta: energy(rmt.CircularBeta(100, beta).eigenphases(key)),
    }
    for name, fn in of_scale.items():
        yield Case(f"gradient of {name}", _gradient(fn), gradients)
    yield Case("gradient of eigvalsh(100×100)", _of_matrix(lambda rmt, a: energy(rmt.eigvalsh(a)), True), gradients)


def _core_in_jit() -> Iterator[Case]:
    """What XLA takes for calls inside of a user's own `jit`, with all passes, once they are lowered."""
    targets = {"eigvalsh(100×100)": 0.2, "GOE(100).count_below": 1.0}
    for case in _core():
        if not case.name.startswith("gradient"):
            yield Case(f"compile jit of {case.name}", _compilation(case.prepare), targets.get(case.name, 1.2))
    counts = _of_tridiagonal(lambda t: t.count_below(0.3))
    yield Case("compile jit of SymTridiagonal(100).count_below", _compilation(counts), 1.0)


def _compilation(prepare: Callable[[], Prepared]) -> Callable[[], Prepared]:
    def prepared() -> Prepared:
        import jax

        fn, args = prepare()
        return jax.jit(fn).lower(*args).compile, ()

    return prepared


def _of_key(fn: Callable) -> Callable[[], Prepared]:
    def prepare() -> Prepared:
        import jax

        import rmtjax as rmt

        return partial(fn, rmt), (jax.random.key(0),)

    return prepare


def _gradient(fn: Callable) -> Callable[[], Prepared]:
    def prepare() -> Prepared:
        import jax

        import rmtjax as rmt

        return jax.grad(partial(fn, rmt), argnums=1), (jax.random.key(0), 1.5)

    return prepare


def _of_tridiagonal(fn: Callable, gradient: bool = False) -> Callable[[], Prepared]:
    def prepare() -> Prepared:
        import jax

        import rmtjax as rmt

        whole = lambda diagonal, off_diagonal: fn(rmt.SymTridiagonal(diagonal, off_diagonal))
        return jax.grad(whole, (0, 1)) if gradient else whole, _tridiagonal()

    return prepare


def _of_matrix(fn: Callable, gradient: bool = False) -> Callable[[], Prepared]:
    def prepare() -> Prepared:
        import jax

        import rmtjax as rmt

        a = jax.random.normal(jax.random.key(0), (100, 100))
        whole = partial(fn, rmt)
        return jax.grad(whole) if gradient else whole, (a + a.T,)

    return prepare


# The registry


def _registry() -> Iterator[Case]:
    from tests.registry import PUBLIC, Call

    by_hand = _by_hand()
    for name, entry in PUBLIC.items():
        target = {"seconds": 1.0} if name.startswith("rmtjax.laws.") else {"ratio": 2.0}
        short = name.removeprefix("rmtjax.")
        if isinstance(entry, Call):
            yield Case(short, partial(_call, name), **target)
        elif name in by_hand:
            yield Case(short, by_hand[name], **target)
        elif inspect.isfunction(entry) or name == "rmtjax.laws.HardEdge":
            for method in _methods(name):
                yield Case(f"{short}.{method}", partial(_method, name, method), **target)


def uncovered() -> list[str]:
    """Public names that no case calls and that are not silent."""
    from tests.registry import PUBLIC

    called = {f"rmtjax.{case.name}" for case in _registry()}
    called |= {name.rpartition(".")[0] for name in called}
    silent = lambda name: any(re.fullmatch(pattern, name) for pattern in SILENT)
    return [name for name in PUBLIC if name not in called and not silent(name)]


def _methods(name: str) -> list[str]:
    """The public methods of a class, without its properties."""
    import rmtjax as rmt

    cls = rmt
    for part in name.split(".")[1:]:
        cls = getattr(cls, part)
    names = (each for each in dir(cls) if not each.startswith("_"))
    return [each for each in names if inspect.isfunction(inspect.getattr_static(cls, each))]


def _call(name: str) -> Prepared:
    from tests.registry import PUBLIC

    return PUBLIC[name].fn, PUBLIC[name].args


def _method(name: str, method: str) -> Prepared:
    """A method of the registry's example, made anew in each call, with arguments by the names of its parameters."""
    import rmtjax as rmt
    from tests.registry import PUBLIC

    make = (lambda: rmt.laws.HardEdge(0.5)) if name == "rmtjax.laws.HardEdge" else PUBLIC[name]
    example = make()
    required = [
        parameter.name
        for parameter in inspect.signature(getattr(example, method)).parameters.values()
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    ]
    arguments = {parameter: _argument(parameter, example) for parameter in required}
    static = {parameter: value for parameter, value in arguments.items() if isinstance(value, int | str)}
    operands = {parameter: value for parameter, value in arguments.items() if parameter not in static}
    fn = lambda *values: getattr(make(), method)(**dict(zip(operands, values, strict=True)), **static)
    return fn, tuple(operands.values())


def _argument(parameter: str, example: Any) -> Any:
    import jax
    import jax.numpy as jnp

    import rmtjax as rmt

    n = getattr(example, "n", 0)
    plane = isinstance(example, rmt.ensembles.AbstractNonHermitianEnsemble)
    # Where symmetry pairs eigenvalues, the joint density is that of one eigenvalue of each pair.
    independent = getattr(example, "_independent_levels", getattr(example, "_independent_phases", lambda: n))()
    return {
        "key": lambda: jax.random.key(0),
        "x": lambda: jnp.array([0.2, 0.6, 1.3]),
        "r": lambda: jnp.array([0.2, 0.6, 1.3]),
        "radii": lambda: jnp.array([0.2, 0.6, 1.3]),
        "p": lambda: jnp.array([0.1, 0.5, 0.9]),
        "q": lambda: jnp.array([0.1, 0.5, 0.9]),
        "z": lambda: jnp.array([0.3 + 0.5j, -1.0 + 1.0j]),
        "g": lambda: jnp.array([0.1 + 0.1j]),
        "v": lambda: jnp.ones(n),
        "eigenvalues": lambda: jnp.linspace(0.1, 0.9, independent) * (1 + 1j if plane else 1),
        "eigenphases": lambda: jnp.linspace(0.1, 2.0, independent),
        "matrix": lambda: example.sample(jax.random.key(0)),
        "k": lambda: 3,
        "order": lambda: 2,
        "arrangement": lambda: "ascending",
        "levels": lambda: jnp.array([0.2, 0.6, 1.3]),
        "start": lambda: -3.0,
        "end": lambda: 3.0,
        "share": lambda: 0.5,
        "factor": lambda: 2.0,
        "shift": lambda: 1.0,
        "times": lambda: jnp.array([0.1, 0.5]),
        "time": lambda: 0.5,
    }[parameter]()


def _by_hand() -> dict[str, Callable[[], Prepared]]:
    """Functions that the registry leaves to their own tests."""
    import jax
    import jax.numpy as jnp

    import rmtjax as rmt

    key = lambda: jax.random.key(0)
    levels = lambda key: rmt.GOE(30).eigenvalues(key)
    histogram = lambda key: rmt.simulate(levels, key, 100, reduce=rmt.Histogram(jnp.linspace(-3, 3, 31))).counts
    rare = lambda key: rmt.simulate_rare(rmt.GUE(30), key, "largest", 3.0).log_probability
    repulsion = lambda levels: rmt.statistics.level_repulsion(levels, 1e-3)
    exponents = lambda levels: rmt.statistics.over_samples(repulsion, levels, combine=lambda k: k.exponent).value
    spaced = (jnp.cumsum(jax.random.exponential(key(), (200,))),)

    def outliers(diagonal: jax.Array) -> jax.Array:
        density = rmt.inference.spectral_density_of(jnp.multiply, key(), 100, args=(diagonal,), depth=20)
        return rmt.inference.spectral_outliers(density, rmt.laws.Uniform()).p_values

    return {
        "rmtjax.inference.denoise_image": lambda: (
            lambda image: rmt.inference.denoise_image(image, patch=(3, 3)).image,
            (jax.random.normal(key(), (20, 20, 6)),),
        ),
        "rmtjax.inference.fit_berry_robnik": lambda: (lambda x: rmt.inference.fit_berry_robnik(x).value, spaced),
        "rmtjax.inference.fit_crossover": lambda: (lambda x: rmt.inference.fit_crossover(x).value, spaced),
        "rmtjax.inference.population_spectrum": lambda: (
            lambda x: rmt.inference.population_spectrum(x, 60).levels,
            (rmt.Wishart(20, 60).eigenvalues(key()),),
        ),
        "rmtjax.inference.spectral_outliers": lambda: (outliers, (jnp.linspace(0, 1.2, 100),)),
        "rmtjax.inference.weight_spectra": lambda: (
            lambda w: rmt.inference.weight_spectra([w]).variance,
            (jax.random.normal(key(), (100, 50)),),
        ),
        "rmtjax.laws.circular_form_factor": lambda: (
            lambda times: rmt.laws.circular_form_factor(times, 30, 1),
            (jnp.arange(60),),
        ),
        "rmtjax.laws.circular_power_spectrum": lambda: (
            lambda waves: rmt.laws.circular_power_spectrum(waves, 30, 1),
            (jnp.arange(1, 16),),
        ),
        # A function that makes a law.
        "rmtjax.laws.wigner_cat": lambda: (lambda x: rmt.laws.wigner_cat(0.7, 1.5).pdf(x), (jnp.array([0.2, 0.7]),)),
        "rmtjax.laws.mean_complex_spacing_ratio": lambda: (lambda: rmt.laws.mean_complex_spacing_ratio(2), ()),
        "rmtjax.laws.mean_gap_ratio": lambda: (lambda: rmt.laws.mean_gap_ratio(2), ()),
        "rmtjax.laws.mean_superposed_gap_ratio": lambda: (
            lambda: rmt.laws.mean_superposed_gap_ratio([1, 1], [0.5, 0.5]),
            (),
        ),
        "rmtjax.laws.mean_participation_entropy": lambda: (lambda: rmt.laws.mean_participation_entropy(9, 2), ()),
        "rmtjax.random.chi": lambda: (rmt.random.chi, (key(), jnp.arange(1.0, 101.0))),
        "rmtjax.random.gamma": lambda: (rmt.random.gamma, (key(), jnp.arange(1.0, 101.0))),
        "rmtjax.simulate": lambda: (histogram, (key(),)),
        "rmtjax.simulate_rare": lambda: (rare, (key(),)),
        "rmtjax.statistics.over_samples": lambda: (exponents, (jnp.linspace(0, 1, 600).reshape(20, 30) ** 2,)),
    }
