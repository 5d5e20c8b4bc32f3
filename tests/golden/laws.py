"""Adds to laws.json what it lacks: laws at 25 digits, by mpmath and python-flint. With `--all`, in ten minutes, all.

Each law is written down here once more, as its density with the ends between which it is smooth, or as its distribution
function where the literature has only that. Probabilities are quadratures of the density from the nearer side, so that
no closed form of the library enters. Abscissae and parameters are float32 numbers, so that both precisions are compared
with the same values.
"""

import functools
import itertools
import json
import math
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import mpmath
import numpy as np
from flint import arb, ctx
from mpmath import exp, inf, mp, mpf, pi, sqrt

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "scripts"))
import gap_ratio_table  # noqa: E402
import spacing_table  # noqa: E402
import tracy_widom_table  # noqa: E402
from ball_arithmetic import chebyshev_coefficients, gauss_legendre  # noqa: E402

DIGITS, WORKING_DIGITS, BITS = 25, 50, 512
# Points for bounded laws: fractions of each band, and distances from a hard edge, where its power law shows.
FRACTIONS = (2.0**-4, 2.0**-2, 0.5, 0.75, 1 - 2.0**-4)
CLOSE = (2.0**-30, 2.0**-14)
# Points for laws on the half-line with mean 1, and for ratios.
DECAYING = (2.0**-10, 0.25, 1.0, 2.0, 6.0)
RATIOS = (2.0**-20, 0.125, 0.5, 0.75, 1 - 2.0**-10)


class Law(NamedTuple):
    """A law on the line: the expression that makes it in the library, and its definition."""

    source: str
    density: Callable[[mpf], mpf]
    joints: tuple
    points: Iterable[float]
    atoms: tuple[tuple[float, mpf], ...] = ()


def single(x) -> float:
    """The float32 number next to x."""
    return float(np.float32(float(x)))


def inside(*joints, hard=()) -> list[float]:
    """Points inside each band, and some next to hard edges."""
    bands = list(itertools.pairwise(joints))
    points = [low + (high - low) * t for low, high in bands for t in FRACTIONS]
    middle = (joints[0] + joints[-1]) / 2
    points += [edge + (d if edge < middle else -d) for edge in hard for d in (CLOSE if edge == 0 else CLOSE[1:])]
    return sorted(map(single, points))


def panels(density: Callable, start: mpf, end: mpf) -> list[mpf]:
    """Panels from `start` to an infinite end: doubling multiples of the decay length, until nothing is left."""
    sign, eps = mpmath.sign(end), mpf(10) ** -WORKING_DIGITS
    step = mpf(2) ** -40
    decay = abs(density(start) / ((density(start + sign * step) - density(start)) / step)) / 4
    length, points = min(max(decay, mpf(2) ** -20), mpf(1)), [start]
    while length < 1e8 and (len(points) < 8 or density(points[-1]) > eps * density(start)):
        points.append(points[-1] + sign * length)
        length *= mpf("1.5")
    return points


def mass(density: Callable, joints: tuple, lower: mpf, upper: mpf) -> mpf:
    """Integral of the density; substituted powers of 8 at the ends of the bands smooth any singularity there."""
    inner = [lower, *(mpf(j) for j in joints if lower < j < upper), upper]
    if mpmath.isinf(upper):
        inner = [*inner[:-1], *panels(density, inner[-2], upper)[1:]]
    if mpmath.isinf(lower):
        inner = [*panels(density, inner[1], lower)[:0:-1], *inner[1:]]
    total = mpf(0)
    for a, b in itertools.pairwise(inner):
        half, middle = (b - a) / 2, (a + b) / 2
        # Points that round to the end itself contribute nothing.
        left = lambda t, a=a, half=half: density(a + half * t**8) * 8 * t**7 if a + half * t**8 > a else mpf(0)
        right = lambda t, b=b, half=half: density(b - half * t**8) * 8 * t**7 if b - half * t**8 < b else mpf(0)
        # The stopping rule of mpmath is absolute: a factor makes it relative.
        size = max(density(middle), density(a + half / 64), density(b - half / 64)) or mpf(1)
        total += half * size * sum(mpmath.quad(lambda t, f=f, size=size: f(t) / size, [0, 1]) for f in (left, right))
    return total


def values(law: Law) -> list[dict]:
    rows = []
    lower, upper = mpf(law.joints[0]), mpf(law.joints[-1])
    for point in law.points:
        x = mpf(point)
        below = mass(law.density, law.joints, lower, x) + sum(m for at, m in law.atoms if at <= x)
        above = mass(law.density, law.joints, x, upper) + sum(m for at, m in law.atoms if at > x)
        assert abs(below + above - 1) < mpf(10) ** -(DIGITS + 3), (law.source, point, below + above)
        rows.append({"x": point, "pdf": law.density(x), "cdf": below, "sf": above})
    return rows


# Laws of spectra.


def semicircle(radius):
    joints = (-mpf(radius), mpf(radius))
    density = lambda x: 2 / (pi * mpf(radius) ** 2) * sqrt(max(mpf(radius) ** 2 - x**2, 0))
    return Law("Wigner 1958", density, joints, inside(*joints))


def quarter_circle(radius):
    whole = semicircle(radius)
    joints = (mpf(0), mpf(radius))
    return Law("the absolute value of a semicircle variate", lambda x: 2 * whole.density(x), joints, inside(*joints))


def arcsine(radius):
    joints = (-mpf(radius), mpf(radius))
    density = lambda x: 1 / (pi * sqrt((joints[1] - x) * (x - joints[0])))
    return Law("the arcsine law", density, joints, inside(*joints, hard=joints))


def normal(std):
    density = lambda x: exp(-((x / mpf(std)) ** 2) / 2) / (sqrt(2 * pi) * mpf(std))
    return Law("normal", density, (-inf, -1, 1, inf), [-20.0, -3.0, -0.25, 0.0, 0.75, 2.0, 8.0, 30.0])


def uniform(lower, upper):
    return Law("uniform", lambda x: 1 / (mpf(upper) - lower), (lower, upper), inside(lower, upper))


def marchenko_pastur(ratio, scale=1.0, power=1):
    """The law of Y, or of scale²/Y with the power -1."""
    c, unit = mpf(ratio), mpf(scale) ** 2
    low, high = (1 - sqrt(c)) ** 2, (1 + sqrt(c)) ** 2
    f = lambda y: sqrt(max((high - y) * (y - low), 0)) / (2 * pi * c * y)
    atoms = ((0.0, 1 - 1 / c),) if c > 1 else ()
    if power == -1:
        density = lambda x: f(unit / x) * unit / x**2
        joints = (unit / high, unit / low)
        return Law("Marčenko and Pastur 1967, of the reciprocal", density, joints, inside(*joints))
    joints = (low * unit, high * unit)
    points = inside(*joints, hard=(0,) if c == 1 else ())
    return Law("Marčenko and Pastur 1967", lambda x: f(x / unit) / unit, joints, points, atoms)


def free_poisson(rate, jump):
    lam, alpha = mpf(rate), mpf(jump)
    joints = tuple(alpha * (1 + s * sqrt(lam)) ** 2 for s in (-1, 1))
    density = lambda x: sqrt(max(4 * lam * alpha**2 - (x - alpha * (1 + lam)) ** 2, 0)) / (2 * pi * alpha * x)
    atoms = ((0.0, 1 - lam),) if lam < 1 else ()
    return Law("Nica and Speicher 2006, proposition 12.11", density, joints, inside(*joints), atoms)


def free_levy() -> list[dict]:
    """The law of 1/(2t)² for t of the quarter circle of radius 1, so that no integral reaches to infinity."""
    density = lambda x: sqrt(4 * x - 1) / (2 * pi * x**2)
    points = {single(x): 1 / (2 * sqrt(mpf(single(x)))) for x in (0.26, 0.5, 1, 4, 100, 1e6, 1e12)}
    rows = values(quarter_circle(1)._replace(points=points.values()))
    return [
        {"x": x, "pdf": density(mpf(x)), "cdf": row["sf"], "sf": row["cdf"]}
        for x, row in zip(points, rows, strict=True)
    ]


def fuss_catalan_2():
    def density(x):
        r = 27 + 3 * sqrt(max(81 - 12 * x, 0))
        top = 2 ** (mpf(1) / 3) * r ** (mpf(2) / 3) - 6 * mpmath.cbrt(x)
        return 2 ** (mpf(1) / 3) * sqrt(3) / (12 * pi) * top / (x ** (mpf(2) / 3) * mpmath.cbrt(r))

    joints = (mpf(0), mpf("6.75"))
    return Law("Penson and Życzkowski 2011, equation 7", density, joints, inside(*joints, hard=(0,)))


def wachter(a, b):
    a, b = mpf(a), mpf(b)
    joints = tuple(((sqrt(a * (a + b - 1)) + s * sqrt(b)) / (a + b)) ** 2 for s in (-1, 1))
    density = lambda x: (a + b) * sqrt(max((joints[1] - x) * (x - joints[0]), 0)) / (2 * pi * x * (1 - x))
    atoms = tuple((at, 1 - mpf(p)) for at, p in ((0.0, a), (1.0, b)) if p < 1)
    hard = [edge for edge, p in zip((0, 1), (a, b), strict=True) if p == 1]
    return Law("Wachter 1980, theorem 3.1", density, joints, inside(*joints, hard=hard), atoms)


def kesten_mckay(degree):
    d = mpf(degree)
    edge = 2 * sqrt(d - 1)
    density = lambda x: d * sqrt(max(edge**2 - x**2, 0)) / (2 * pi * (d**2 - x**2))
    if degree == 2:
        return arcsine(2.0)._replace(source="McKay 1981, theorem 1.1")
    return Law("McKay 1981, theorem 1.1", density, (-edge, edge), inside(-edge, edge))


def bures():
    a = 3 * sqrt(mpf(3))

    def density(x):
        root = sqrt(max((a / x) ** 2 - 1, 0))
        # The product of the two bases is 1.
        power = (a / x + root) ** (mpf(2) / 3)
        return (power - 1 / power) / (4 * pi * sqrt(3))

    return Law("Sommers and Życzkowski 2004, equation 4.3", density, (mpf(0), a), inside(mpf(0), a, hard=(0,)))


def cubic_root(b, c, d):
    """The positive imaginary part of a root of u³ + bu² + cu + d, or 0, by Cardano's formula."""
    p, q = c - b**2 / 3, 2 * b**3 / 27 - b * c / 3 + d
    inner = (q / 2) ** 2 + (p / 3) ** 3
    if inner <= 0:
        return mpf(0)
    cube_roots = [mpmath.sign(y) * mpmath.cbrt(abs(y)) for y in (-q / 2 - sqrt(inner), -q / 2 + sqrt(inner))]
    return sqrt(mpf(3)) / 2 * (cube_roots[1] - cube_roots[0])


def deformed_semicircle():
    """Two points at ±1 and a semicircle of radius 1: G solves a cubic equation."""

    # G = 4(x - u) and u³ - xu² - 3u/4 + x = 0.
    density = lambda x: 4 / pi * cubic_root(-x, -mpf(3) / 4, x)
    # Where the discriminant vanishes.
    edges = sorted(sqrt(e) for e in mpmath.polyroots(_discriminant(), maxsteps=500, extraprec=200))
    joints = (-edges[1], -edges[0], edges[0], edges[1])
    points = [p for band in (joints[:2], joints[2:]) for p in inside(*band)]
    return Law("Pastur 1972, for two points: a cubic equation", density, joints, [*points, 0.0])


def general_marchenko_pastur():
    """Half of the population has the variance 1, half 16, and the ratio is 1/16: two bands."""
    c, t = mpf(1) / 16, 16

    def density(x):
        # x = -1/m + c/2 [1/(1 + m) + t/(1 + tm)], times m(1 + m)(1 + tm), by descending powers.
        lead = x * t
        rest = (x * (1 + t) + t - c * t, x + 1 + t - c * (1 + t) / 2, mpf(1))
        return cubic_root(*(k / lead for k in rest)) / (pi * c)

    # z'(m) = 0, a polynomial of degree 4.
    one, many = mpmath.matrix([[1, 2, 1]]), mpmath.matrix([[t**2, 2 * t, 1]])
    square = [sum(one[i] * many[k - i] for i in range(3) if 0 <= k - i < 3) for k in range(5)]
    slope = [square[k] - (c / 2 * (many[k] + t**2 * one[k]) if k < 3 else 0) for k in range(5)]
    z = lambda m: -1 / m + c / 2 * (1 / (1 + m) + t / (1 + t * m))
    joints = tuple(sorted(mpmath.re(z(m)) for m in mpmath.polyroots(slope, maxsteps=500, extraprec=200)))
    points = [p for band in (joints[:2], joints[2:]) for p in inside(*band)]
    return Law("Silverstein and Choi 1995: a cubic equation", density, joints, points)


def _discriminant():
    """The discriminant of u³ - x u² - 3u/4 + x in x²: b²c² - 4c³ - 4b³d - 27d² + 18bcd, b = -x, c = -3/4, d = x."""
    c = mpf(-3) / 4
    return [mpf(4), c**2 - 27 - 18 * c, -4 * c**3]


def variance_profile():
    """Three quarters of the rows have the variance 1 among themselves, the others 4; ¼ between them: a quartic."""
    a, s, t, b = mpf(3) / 4, mpf(1) / 16, mpf(3) / 16, mpf(1)

    # 1/g = z - a g - s k is solved for k, and put into 1/k = z - t g - b k, times (s g)².
    top = lambda z: [-a, z, mpf(-1)]

    def quartic(z):
        first, second = top(z), [a * b - s * t, s * z - b * z, b]
        terms = [sum(first[i] * second[k - i] for i in range(3) if 0 <= k - i < 3) for k in range(5)]
        terms[2] -= s**2
        return terms

    def density(x):
        for g in mpmath.polyroots(quartic(x), maxsteps=2000, extraprec=400):
            k = mpmath.polyval(top(x), g) / (s * g)
            if max(mpmath.im(g), mpmath.im(k)) < -(mpf(10) ** -WORKING_DIGITS):
                return -mpmath.im(3 * g + k) / (4 * pi)
        return mpf(0)

    value = lambda g, x: mpmath.polyval(quartic(x), g)
    slope = lambda g, x: mpmath.polyval(quartic(x), g, derivative=1)[1]
    _, edge = mpmath.findroot(lambda g, x: (value(g, x), slope(g, x)), (mpf("0.63203"), mpf("2.1185")))
    # The density is smooth inside, but singular points are not far from the axis.
    joints = (-edge, *(mpf(k) / 2 for k in (-3, -2, -1, 0, 1, 2, 3)), edge)
    return Law("Ajanki, Erdős and Krüger 2017, theorem 2.1: a quartic", density, joints, inside(-edge, edge))


def covariance_profile():
    """One type of rows and two of columns, with the variances 1 and 4: a cubic equation."""

    # 1/g = x - 1/(2 - g) - 2/(1 - 2g), as v/(2 (1 - v g/2)) is 1/(2 - g) for v = 1 and 2/(1 - 2g) for v = 4.
    def cubic(x):
        """That times g (2 - g)(1 - 2g), the highest power first."""
        return [2 * x, 2 - 5 * x, 2 * x, mpf(-2)]

    def density(x):
        roots = mpmath.polyroots(cubic(x), maxsteps=2000, extraprec=400)
        return max(mpf(0), *(mpmath.im(g) for g in roots)) / pi

    def end(*start):
        value = lambda g, x: mpmath.polyval(cubic(x), g)
        slope = lambda g, x: mpmath.polyval(cubic(x), g, derivative=1)[1]
        return mpmath.findroot(lambda g, x: (value(g, x), slope(g, x)), start)[1]

    lower, upper = end(mpf("-2.4848"), mpf("0.15556")), end(mpf("0.24873"), mpf("8.5712"))
    joints = (lower, mpf("0.5"), 1, 2, 3, 4, 6, upper)
    return Law("Burda, Jurkiewicz and Wacław 2005: a cubic", density, joints, inside(lower, upper))


def anticommutator():
    """All even free cumulants of XY + YX are 2, so R = 2g/(1 - g²), and G solves z G³ + G² - z G + 1 = 0."""
    edge = sqrt((11 + 5 * sqrt(mpf(5))) / 2)

    def density(x):
        if x == 0:
            return 1 / pi
        roots = mpmath.polyroots([x, 1, -x, 1], maxsteps=2000, extraprec=400)
        return max(-mpmath.im(root) for root in roots) / pi

    # Singular points are not far from the axis.
    joints = (-edge, *(mpf(k) / 2 for k in range(-5, 6)), edge)
    return Law("Nica and Speicher 1998: a cubic equation", density, joints, inside(-edge, edge))


# Laws made of others.


def mixture():
    first, second = semicircle(2.0), uniform(-1.0, 2.0)
    density = lambda x: first.density(x) / 4 + (second.density(x) * 3 / 4 if x > -1 else 0)
    return Law("its two parts", density, (-2, -1, 2), inside(-2, -1, 2))


def quartic_potential():
    """The potential x²/2 + x⁴/4, whose end b solves b²/2 + 3b⁴/8 = 2."""
    square = 2 * (sqrt(mpf(13)) - 1) / 3
    density = lambda x: (x**2 + 1 + square / 2) * sqrt(max(square - x**2, 0)) / (2 * pi)
    joints = (-sqrt(square), sqrt(square))
    return Law("Brézin, Itzykson, Parisi and Zuber 1978", density, joints, inside(*joints))


def double_well():
    """The potential x⁴/4 - 2x², with the square roots of 2 and 6 as ends."""
    density = lambda x: abs(x) * sqrt(max((x**2 - 2) * (6 - x**2), 0)) / (2 * pi)
    low, high = sqrt(mpf(2)), sqrt(mpf(6))
    points = inside(-high, -low) + inside(low, high)
    return Law("its Stieltjes transform, in closed form", density, (-high, -low, low, high), points)


def symmetrized():
    base = marchenko_pastur(0.25)
    low, high = base.joints
    density = lambda x: base.density(abs(x)) / 2 if abs(x) > low else mpf(0)
    return Law("its two parts", density, (-high, -low, low, high), inside(-high, -low) + inside(low, high))


def binomial_semicircle(order, mu):
    """A mixture with radius 2 at the largest order and orders clipped to [2, N]."""
    law = {n: mpmath.binomial(order, n) * mpf(mu) ** n * (1 - mpf(mu)) ** (order - n) for n in range(order + 1)}
    law[2] += law.pop(0) + law.pop(1)
    mean = sum(n * p for n, p in law.items())
    parts = [(n * p / mean, semicircle(2 * sqrt(mpf(n) / order))) for n, p in law.items()]
    radii = [part.joints[1] for _, part in parts]
    joints = (*sorted(-r for r in radii), *sorted(radii))
    points = inside(-2, 0, 2)
    return Law("Süzen 2021, a sum of semicircles", lambda x: sum(w * f.density(x) for w, f in parts), joints, points)


def cat(mu, ears):
    """A padded semicircle of radius 2 whose lowest levels come twice, or the mean of that and its mirror image."""
    base, rho = semicircle(2.0), 1 / mpf(mu) - 1
    below = lambda x: mpf(1) / 2 + x * sqrt(4 - x**2) / (4 * pi) + mpmath.asin(x / 2) / pi
    joint = mpmath.findroot(lambda x: below(x) - rho, -0.5)
    lower = lambda x: mpf(mu) * base.density(x) * (2 if x < joint else 1)
    if ears == 1:
        return Law("Süzen 2025", lower, (-2, joint, 2), inside(-2, joint, 2))
    joints = (-2, *sorted((joint, -joint)), 2)
    return Law("Süzen 2025", lambda x: (lower(x) + lower(-x)) / 2, joints, inside(*joints))


# Laws of spacings and of components.


def wigner_surmise(beta):
    b = mpf(beta)
    g1, g2 = mpmath.gamma((b + 1) / 2), mpmath.gamma((b + 2) / 2)
    rate = (g2 / g1) ** 2
    density = lambda s: 2 * g2 ** (b + 1) / g1 ** (b + 2) * s**b * mpmath.exp(-rate * s**2)
    return Law("Wigner's surmise: Mehta 2004, equation 1.5.1, for any β", density, (0, inf), DECAYING)


def poisson(k):
    density = lambda s: s**k / mpmath.factorial(k) * mpmath.exp(-s)
    return Law("the waiting time of a Poisson process", density, (0, inf), DECAYING)


def brody(q):
    q = mpf(q)
    b = mpmath.gamma((q + 2) / (q + 1)) ** (q + 1)
    density = lambda s: (q + 1) * b * s**q * mpmath.exp(-b * s ** (q + 1))
    return Law("Brody 1973", density, (0, inf), DECAYING)


def berry_robnik(rho):
    r, t = mpf(rho), 1 - mpf(rho)
    k = sqrt(pi) / 2 * t
    bell = lambda s: 2 * k / sqrt(pi) * mpmath.exp(-((k * s) ** 2))
    # The second derivative of exp(-ρs) erfc(ks).
    density = lambda s: mpmath.exp(-r * s) * (r**2 * mpmath.erfc(k * s) + 2 * (r + k**2 * s) * bell(s))
    return Law("Berry and Robnik 1984", density, (0, inf), DECAYING)


def crossover_surmise(epsilon):
    e = mpf(epsilon)
    c = 1 - e**2
    # The length of a normal vector with the deviations 1, 1 and ε, and its mean as that over the directions.
    mean = 2 * sqrt(2 / pi) * mpmath.quad(lambda u: sqrt(1 - c * u**2), [0, 1])
    length = lambda t: t / sqrt(c) * mpmath.exp(-(t**2) / 2) * mpmath.erf(t * sqrt(c / 2) / e)
    return Law("Lenz and Haake 1990", lambda s: mean * length(s * mean), (0, inf), DECAYING)


def poisson_crossover_surmise(coupling):
    c = mpf(coupling)
    mean = sqrt(pi) * mpmath.hyperu(mpf(-1) / 2, 0, c**2)
    scaled = lambda y: mpmath.exp(y**2) * mpmath.erfc(y)

    def density(s):
        # The average of Rice's law over the exponential distance, as the angular integral of an error function.
        t = mean * s / (2 * c)
        count = int(60 + 10 * t)
        # Where t is large only small angles count.
        angles = count if t < c + 12 else int(count * 5 / t)
        total = sum(scaled(c - t * mpmath.cospi((k + mpf(0.5)) / count)) for k in range(angles))
        return mean * t * mpmath.exp(-(t**2)) * sqrt(pi) / count * total

    return Law("Lenz and Haake 1991", density, (0, inf), DECAYING)


def gap_ratio(beta):
    b = mpf(beta)
    f = lambda r: (r + r**2) ** b / (1 + r + r**2) ** (1 + 3 * b / 2)
    total = mpmath.quad(f, [0, 0.5, 1])
    return Law("Atas et al. 2013, equation 7", lambda r: f(r) / total, (0, 1), RATIOS)


def poisson_gap_ratio():
    return Law("Atas et al. 2013", lambda r: 2 / (1 + r) ** 2, (0, 1), RATIOS)


def porter_thomas(beta):
    h = mpf(beta) / 2
    density = lambda x: h**h / mpmath.gamma(h) * x ** (h - 1) * mpmath.exp(-h * x)
    return Law("Porter and Thomas 1956", density, (0, inf), DECAYING)


def eigenvector_intensity(n, beta):
    a, b = mpf(beta) / 2, mpf(beta) * (n - 1) / 2
    density = lambda x: (x / n) ** (a - 1) * (1 - x / n) ** (b - 1) / (n * mpmath.beta(a, b))
    return Law("a component of a uniform unit vector", density, (0, n), (2.0**-20, 0.125, 1.0, n / 2, n - 0.125))


# The smallest level at a hard edge, where it has a closed form.


def hard_edge(alpha, beta):
    """The density, from 1 - F = exp(-βs/8) times 1, I_0(√s), exp(-√s/2) or cosh √s."""
    falling = lambda s: mpmath.exp(-mpf(beta) * s / 8)
    densities = {
        (0.0, beta): lambda s: mpf(beta) / 8 * falling(s),
        (1.0, 2): lambda s: falling(s) * mpmath.besseli(2, sqrt(s)) / 4,
        (-0.5, 1): lambda s: falling(s) * mpmath.exp(-sqrt(s) / 2) * (mpf(1) / 8 + 1 / (4 * sqrt(s))),
        (1.0, 4): lambda s: falling(s) * (mpmath.cosh(sqrt(s)) - mpmath.sinh(sqrt(s)) / sqrt(s)) / 2,
    }
    points = (2.0**-20, 0.25, 2.0, 8.0, 30.0, 60.0)
    return Law("Edelman 1991; Forrester 1993", densities[alpha, beta], (0, inf), points)


# Levels of ensembles of two.


def pair(weight: Callable, beta: int, joints: tuple, points: Iterable[float]) -> Law:
    """One of two levels with joint density |x - y|^β w(x) w(y), for even β, from moments of the weight."""
    total = lambda k: mpmath.quad(lambda y: y**k * weight(y), joints)
    moments = [total(k) for k in range(beta + 1)]
    marginal = lambda x: (
        weight(x)
        * sum(mpmath.binomial(beta, k) * x**k * (-1) ** (beta - k) * moments[beta - k] for k in range(beta + 1))
    )
    norm = mpmath.quad(marginal, joints)
    return Law("the joint density of two levels", lambda x: marginal(x) / norm, (joints[0], joints[-1]), points)


def gaussian_pair(beta):
    """A level of GUE(2) or GSE(2), with the weight exp(-βnx²/4)."""
    weight = lambda x: mpmath.exp(-mpf(beta) / 2 * x**2)
    return pair(weight, beta, (-inf, -2, 0, 2, inf), (-6.0, -2.0, -0.5, 0.0, 1.0, 3.0, 8.0))


def goe_pair():
    """A level of GOE(2), with the weight exp(-x²/2) and |x - y|: the inner integral is that of a normal law."""
    inner = lambda x: 2 * mpmath.exp(-(x**2) / 2) + x * sqrt(2 * pi) * mpmath.erf(x / sqrt(mpf(2)))
    marginal = lambda x: mpmath.exp(-(x**2) / 2) * inner(x)
    norm = mpmath.quad(marginal, [-inf, -2, 0, 2, inf])
    points = (-6.0, -2.0, -0.5, 0.0, 1.0, 3.0, 8.0)
    return Law("the joint density of two levels", lambda x: marginal(x) / norm, (-inf, inf), points)


def wishart_pair():
    """A level of Wishart(2, 4, 2), with the weight x² exp(-4x)."""
    weight = lambda x: x**2 * mpmath.exp(-4 * x)
    return pair(weight, 2, (0, 1, 3, inf), (2.0**-10, 0.125, 0.5, 1.0, 2.0, 8.0))


# Laws in the plane: the density on the real axis, and the probability of a disc.


def planar(density: Callable, radii: Iterable[float], disc: Callable | None = None) -> list[dict]:
    """Values for a density that depends on |z| only, unless the probability of a disc is given."""
    disc = disc or (lambda r: mpmath.quad(lambda x: 2 * pi * x * density(x), [0, r / 4, r]))
    return [{"x": r, "pdf": density(mpf(r)), "radial_cdf": disc(mpf(r))} for r in radii]


def ellipse(correlation):
    a, b = 1 + mpf(correlation), 1 - mpf(correlation)
    reach = lambda angle: a * b / sqrt((b * mpmath.cos(angle)) ** 2 + (a * mpmath.sin(angle)) ** 2)

    def disc(r):
        # The angle where circle and ellipse meet.
        meet = 0 if r <= b else mpmath.acos(sqrt((r**2 - b**2) / (a**2 - b**2)) * a / r)
        outside = mpmath.quad(lambda t: reach(t) ** 2 / 2, [meet, (meet + pi / 2) / 2, pi / 2]) if r > b else 0
        return 4 * (meet * r**2 / 2 + outside) / (pi * a * b) if r > b else r**2 / (a * b)

    return planar(lambda x: 1 / (pi * a * b) if x < a else mpf(0), (0.25, 0.75, 1.25), disc)


def single_ring():
    """The law for the singular values 1 and 2: the sum of the theorem, solved as a quadratic equation in p."""

    def disc(r):
        # (t - 1)(pt + (1 - p)4) + (t - 4)(pt + 1 - p) = 0 is linear in p for two values.
        t = r**2
        return (8 - 5 * t) / (2 * (t - 1) * (t - 4)) if 1.6 < t < 2.5 else mpf(t >= 2.5)

    return planar(lambda r: mpmath.diff(disc, r) / (2 * pi * r), (1.3125, 1.4375, 1.5625), disc)


def complex_spacing_ratio():
    """Ginibre matrices, conditioned on a level at the origin: the determinant of two points, nothing divided out."""
    nodes = [((number(x) + 1) * 10, number(w) * 10) for x, w in gauss_legendre(160)]

    def rows(s):
        # Γ(j + 2, s) by its recurrence.
        values = [exp(-s) * (1 + s)]
        for j in range(1, 90):
            values.append((j + 1) * values[-1] + exp(-s) * s ** (j + 1))
        return values

    gammas = [rows(s) for s, _ in nodes]
    empty = [mpmath.fprod(g / mpmath.gamma(j + 2) for j, g in enumerate(row)) for row in gammas]
    weights = [w * s**3 * p for (s, w), p in zip(nodes, empty, strict=True)]
    power = lambda x, row: mpmath.polyval([1 / g for g in reversed(row)], x)
    cross = lambda x, row: mpmath.polyval([1 / g**2 for g in reversed(row)], x)

    def integral(t, mixed):
        terms = zip(nodes, weights, gammas, strict=True)
        parts = (w * exp(-s * (1 + t)) * (power(s, g) * power(s * t, g) - mixed(s, g)) for (s, _), w, g in terms)
        return t / pi * mpmath.fsum(parts)

    density = lambda x: integral(x**2, lambda s, g: power(s * x, g) ** 2)
    circle = lambda t: integral(t, lambda s, g: cross(s**2 * t, g))
    rule = [((number(x) + 1) / 2, number(w) / 2) for x, w in gauss_legendre(30)]
    disc = lambda r: pi * r**2 * mpmath.fsum(w * circle(x * r**2) for x, w in rule)
    return planar(density, (2.0**-10, 0.25, 0.75, 1 - 2.0**-6), disc)


PLANAR = {
    "CircularLaw(2.0)": lambda: planar(lambda r: 1 / (4 * pi), (0.25, 1.0, 1.75)),
    "CircularPowerLaw(2)": lambda: planar(lambda r: 1 / (2 * pi * r), (0.0625, 0.5, 0.9375)),
    "EllipticLaw(0.5)": lambda: ellipse(0.5),
    "SphericalLaw()": lambda: planar(lambda r: 1 / (pi * (1 + r**2) ** 2), (0.0625, 1.0, 8.0)),
    "TruncatedUnitaryLaw(0.5)": lambda: planar(lambda r: 1 / (pi * (1 - r**2) ** 2), (0.0625, 0.5, 0.6875)),
    "SingleRing([1.0, 2.0])": single_ring,
    "ComplexSpacingRatio()": complex_spacing_ratio,
}


# Tables of Fredholm determinants, in ball arithmetic.


def number(ball: arb) -> mpf:
    return mpf(ball.mid().str(40, radius=False))


@functools.cache
def edge(x: float, stretch: str) -> list[tuple[arb, arb]]:
    """F and F' for all rows of the Tracy-Widom table at a multiple of x, as functions of x."""
    ctx.prec = BITS
    factor = {"1": arb(1), "√2": arb(2).sqrt(), "2^⅔": arb(4).root(3)}[stretch]
    step, rule, s = arb(10) ** -30, gauss_legendre(100), arb(x) * factor
    below, here, above = (tracy_widom_table.distributions(s + k * step, rule) for k in (-1, 0, 1))
    return [(f, factor * (up - low) / (2 * step)) for low, f, up in zip(below, here, above, strict=True)]


def tracy_widom(row: int, stretch: str) -> list[dict]:
    rows = []
    for x in (-7.0, -4.0, -2.5, -1.0, 0.5, 2.0, 6.0):
        f, slope = edge(x, stretch)[tracy_widom_table.ROWS.index(row)]
        rows.append({"x": x, "pdf": number(slope), "cdf": number(f), "sf": number(1 - f)})
    return rows


def spacing(beta: int, k: int) -> list[dict]:
    rows = []
    for s in (0.0078125, 0.25, 0.75, 1.25, 2.0, 4.0, 8.0):
        ctx.prec = 1200
        # A spacing of β = 4 is half of one of β = 1 that has 2k + 1 levels inside.
        row, stretch = ((1, 2 * k + 1), 2) if beta == 4 else ((beta, k), 1)
        sf, slope = spacing_table.spacings(arb(stretch * s))[spacing_table.SPACINGS.index(row)]
        rows.append({"x": s, "pdf": number(stretch * slope), "cdf": number(1 - sf), "sf": number(sf)})
    return rows


def superposed(*sequences: tuple[int, float]) -> list[dict]:
    """Spacings of sequences of given β and share, as divided differences of the product of their empty intervals."""
    empty = {
        0: lambda s: (-s).exp(),
        1: lambda s: spacing_table.parity_probabilities(s)[0][0],
        2: lambda s: math.prod(values[0] for values in spacing_table.parity_probabilities(s)),
        4: lambda s: sum(values[0] for values in spacing_table.parity_probabilities(2 * s)) / 2,
    }
    rows = []
    for s in (2.0**-10, 0.25, 0.875, 1.25, 2.0, 6.0, 12.0):
        ctx.prec = 1200
        step = arb(s) * spacing_table.STEP
        points = (arb(s) - step, arb(s), arb(s) + step)
        below, here, above = (math.prod(empty[beta](share * x) for beta, share in sequences) for x in points)
        sf, slope = (below - above) / (2 * step), (below - 2 * here + above) / step**2
        rows.append({"x": s, "pdf": number(slope), "cdf": number(1 - sf), "sf": number(sf)})
    return rows


def bulk_gap_ratio(beta: int) -> list[dict]:
    ctx.prec, nodes = gap_ratio_table.BITS, 20
    series = [arb(gap_ratio_table.node(beta, k, nodes)) for k in range(nodes)]
    law, rows = gap_ratio_table.Law(beta, chebyshev_coefficients(series)), []
    for r in RATIOS:
        v, y = arb(r) / (1 + arb(r)), (1 - arb(r)) / (1 + arb(r))
        # The density is computed at the point itself.
        density = 2 * (1 - v) ** 2 * gap_ratio_table.fraction_density(beta, v)
        cdf, sf = v ** (beta + 1) * law.lower(v), y * law.upper(y)
        rows.append({"x": r, "pdf": number(density), "cdf": number(cdf), "sf": number(sf)})
    return rows


LAWS = {
    "Semicircle(2.0)": lambda: semicircle(2.0),
    "Semicircle(0.75)": lambda: semicircle(0.75),
    "QuarterCircle(2.0)": lambda: quarter_circle(2.0),
    "Arcsine(2.0)": lambda: arcsine(2.0),
    "Normal(1.0)": lambda: normal(1.0),
    "Uniform(-1.0, 2.0)": lambda: uniform(-1.0, 2.0),
    "MarchenkoPastur(0.25)": lambda: marchenko_pastur(0.25),
    "MarchenkoPastur(1.0)": lambda: marchenko_pastur(1.0),
    "MarchenkoPastur(4.0, 0.5)": lambda: marchenko_pastur(4.0, 0.5),
    "InverseMarchenkoPastur(0.25)": lambda: marchenko_pastur(0.25, power=-1),
    "FreePoisson(0.25, 2.0)": lambda: free_poisson(0.25, 2.0),
    "FreePoisson(4.0)": lambda: free_poisson(4.0, 1.0),
    "FussCatalan(2)": fuss_catalan_2,
    "Wachter(1.0, 3.0)": lambda: wachter(1.0, 3.0),
    "Wachter(2.5, 1.5)": lambda: wachter(2.5, 1.5),
    "Wachter(0.5, 0.75)": lambda: wachter(0.5, 0.75),
    "KestenMcKay(2.0)": lambda: kesten_mckay(2.0),
    "KestenMcKay(3.0)": lambda: kesten_mckay(3.0),
    "KestenMcKay(10.0)": lambda: kesten_mckay(10.0),
    "BuresLaw()": bures,
    "EquilibriumMeasure([0.0, 0.5, 0.0, 0.25])": quartic_potential,
    "EquilibriumMeasure([0.0, -2.0, 0.0, 0.25], 2)": double_well,
    "DeformedSemicircle([-1.0, 1.0], [0.5, 0.5], 1.0)": deformed_semicircle,
    "GeneralMarchenkoPastur(0.0625, [1.0, 16.0])": general_marchenko_pastur,
    "Mixture([0.25, 0.75], [Semicircle(2.0), Uniform(-1.0, 2.0)])": mixture,
    "Symmetrized(MarchenkoPastur(0.25))": symmetrized,
    "Affine(Semicircle(2.0), -0.5, 0.0)": lambda: semicircle(1.0),
    "FreeSum(Empirical([-1.0, 1.0]), Semicircle(1.0))": deformed_semicircle,
    "VarianceProfileLaw([[1.0, 0.25], [0.25, 4.0]], [0.75, 0.25])": variance_profile,
    "CovarianceProfileLaw([[1.0, 4.0]], 0.5)": covariance_profile,
    'FreePolynomial({"xy": 1.0, "yx": 1.0})': anticommutator,
    "FreePower(Empirical([-1.0, 1.0]), 3.0)": lambda: kesten_mckay(3.0),
    "FreeCompression(Semicircle(2.0), 0.25)": lambda: semicircle(1.0),
    "FreeProduct(MarchenkoPastur(1.0), MarchenkoPastur(1.0))": fuss_catalan_2,
    "FreeProduct(Empirical([1.0, 16.0]), MarchenkoPastur(0.0625))": general_marchenko_pastur,
    "BinomialSemicircle(6, 0.5)": lambda: binomial_semicircle(6, 0.5),
    'PeriodicPadding(Semicircle(2.0), 0.75, "ascending")': lambda: cat(0.75, 1),
    "wigner_cat(0.75)": lambda: cat(0.75, 2),
    "WignerSurmise(0.5)": lambda: wigner_surmise(0.5),
    "WignerSurmise(1.0)": lambda: wigner_surmise(1.0),
    "WignerSurmise(2.0)": lambda: wigner_surmise(2.0),
    "WignerSurmise(4.0)": lambda: wigner_surmise(4.0),
    "PoissonSpacing()": lambda: poisson(0),
    "PoissonSpacing(4)": lambda: poisson(3),
    "Brody(0.5)": lambda: brody(0.5),
    "BerryRobnik(0.25)": lambda: berry_robnik(0.25),
    "BerryRobnik(0.75)": lambda: berry_robnik(0.75),
    "CrossoverSurmise(0.0625)": lambda: crossover_surmise(0.0625),
    "CrossoverSurmise(0.5)": lambda: crossover_surmise(0.5),
    "PoissonCrossoverSurmise(0.25)": lambda: poisson_crossover_surmise(0.25),
    "PoissonCrossoverSurmise(1.0)": lambda: poisson_crossover_surmise(1.0),
    "GapRatioSurmise(1.0)": lambda: gap_ratio(1.0),
    "GapRatioSurmise(2.0)": lambda: gap_ratio(2.0),
    "GapRatioSurmise(4.0)": lambda: gap_ratio(4.0),
    "PoissonGapRatio()": poisson_gap_ratio,
    "PorterThomas(1)": lambda: porter_thomas(1),
    "PorterThomas(2)": lambda: porter_thomas(2),
    "PorterThomas(4)": lambda: porter_thomas(4),
    "EigenvectorIntensity(10, 1)": lambda: eigenvector_intensity(10, 1),
    "EigenvectorIntensity(4, 2)": lambda: eigenvector_intensity(4, 2),
    "HardEdge(0.0, 2)": lambda: hard_edge(0.0, 2),
    "HardEdge(1.0, 2)": lambda: hard_edge(1.0, 2),
    "HardEdge(0.0, 1)": lambda: hard_edge(0.0, 1),
    "HardEdge(-0.5, 1)": lambda: hard_edge(-0.5, 1),
    "HardEdge(1.0, 4)": lambda: hard_edge(1.0, 4),
    "LevelDensity(GOE(2))": goe_pair,
    "LevelDensity(GUE(2))": lambda: gaussian_pair(2),
    "LevelDensity(GSE(2))": lambda: gaussian_pair(4),
    "LevelDensity(Wishart(2, 4, 2))": wishart_pair,
}
# The row of the table and the stretch of the argument.
EDGES = {
    "TracyWidom(1)": ((1, 1), "1"),
    "TracyWidom(2)": ((2, 1), "1"),
    "TracyWidom(4)": ((1, 2), "√2"),
    'TracyWidom(4, "bornemann")': ((1, 2), "1"),
    'TracyWidom(4, "stochastic-airy")': ((1, 2), "2^⅔"),
    "TracyWidom(2, order=2)": ((2, 2), "1"),
    "StochasticAiry(1.0)": ((1, 1), "1"),
    "StochasticAiry(2.0)": ((2, 1), "1"),
    "StochasticAiry(4.0)": ((1, 2), "2^⅔"),
}
SPACINGS = {f"Spacing({beta}, {k + 1})": (beta, k) for beta, k in ((1, 0), (2, 0), (4, 0), (1, 1), (2, 1), (4, 1))}
BULK_GAP_RATIOS = {f"GapRatio({beta})": beta for beta in (1, 2, 4)}
# Interpolated laws where they are exact: in between there is no other source.
SPACINGS |= {"InterpolatedSpacing(2.0)": (2, 0)}
BULK_GAP_RATIOS |= {"InterpolatedGapRatio(2.0)": 2}

SUPERPOSED = {
    "SuperposedSpacing([1, 1], [0.5, 0.5])": ((1, 0.5), (1, 0.5)),
    "SuperposedSpacing([0, 1, 2, 4], [0.125, 0.25, 0.5, 0.125])": ((0, 0.125), (1, 0.25), (2, 0.5), (4, 0.125)),
}


def entry(expression: str) -> dict:
    """The entry of the table for one law."""
    mp.dps = WORKING_DIGITS
    if expression in EDGES:
        source, rows = "Fredholm determinants in ball arithmetic", tracy_widom(*EDGES[expression])
    elif expression in SPACINGS:
        source, rows = "Fredholm determinants in ball arithmetic", spacing(*SPACINGS[expression])
    elif expression in SUPERPOSED:
        source, rows = "Fredholm determinants in ball arithmetic", superposed(*SUPERPOSED[expression])
    elif expression in BULK_GAP_RATIOS:
        source, rows = "bordered Fredholm determinants, 18 digits", bulk_gap_ratio(BULK_GAP_RATIOS[expression])
    elif expression == "FreeLevy(1.0)":
        source, rows = "Biane, in Bercovici and Pata 1999", free_levy()
    elif expression in PLANAR:
        source, rows = "the density in the plane", PLANAR[expression]()
    else:
        law = LAWS[expression]()
        source, rows = law.source, values(law)
    text = lambda v: v if isinstance(v, float) else mpmath.nstr(v, DIGITS)
    return {"law": expression, "source": source, "points": [{k: text(v) for k, v in row.items()} for row in rows]}


def table(known: dict[str, dict]) -> dict:
    """All laws; those that are known are taken as they are."""
    expressions = (*LAWS, *EDGES, *SPACINGS, *SUPERPOSED, *BULK_GAP_RATIOS, "FreeLevy(1.0)", *PLANAR)
    laws = [known[expression] if expression in known else entry(expression) for expression in expressions]
    return {"generator": "tests/golden/laws.py", "digits": DIGITS, "laws": laws}


if __name__ == "__main__":
    target = Path(__file__).with_suffix(".json")
    before = {} if "--all" in sys.argv else {law["law"]: law for law in json.loads(target.read_text())["laws"]}
    target.write_text(json.dumps(table(before), indent=1, ensure_ascii=False) + "\n")
