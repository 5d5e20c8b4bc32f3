"""Makes _airy_table.json, the piecewise polynomials of `airy`. Run as `python scripts/airy_table.py`.

Each panel holds five rows of coefficients in a local variable t in [-1, 1], lowest first, interpolated at Chebyshev
points with 50 digits. With ζ = 2/3 |x|^(3/2) and s = (EDGE/|x|)^(3/2) the rows are

- centre, |x| ≤ EDGE, panels in x: Ai, Ai', Bi, Bi', g;
- right, x ≥ EDGE, panels in s: x^(1/4) e^ζ Ai, -x^(-1/4) e^ζ Ai', x^(1/4) e^-ζ Bi, x^(-1/4) e^-ζ Bi', √x g;
- left, x ≤ -EDGE, panels in s: the rotation by ζ taken from (Ai, Bi) |x|^(1/4) and from (Ai', Bi') |x|^(-1/4);

where g = (Ai'/Ai)² - x on the positive axis; on the negative axis 0 takes its place.
"""

import json
from pathlib import Path

import mpmath

EDGE = 4
PER_UNIT = 2  # panels per unit of x in the centre
SIDE = 8  # panels in s on each side
NUM_NODES = 26
CUTOFF = mpmath.mpf(2) ** -58
TARGET = Path(__file__).parents[1] / "src" / "rmtjax" / "special" / "_airy_table.json"


def functions(x):
    """The functions Ai, Ai', Bi and Bi'."""
    return [f(x, derivative=order) for f in (mpmath.airyai, mpmath.airybi) for order in (0, 1)]


def centre(x):
    """The rows of the centre at x."""
    ai, ai_prime, bi, bi_prime = functions(x)
    return [ai, ai_prime, bi, bi_prime, (ai_prime / ai) ** 2 - x if x > 0 else mpmath.mpf(0)]


def right(s):
    """The rows of the right side at s."""
    x = EDGE / mpmath.cbrt(s) ** 2
    root, growth = mpmath.root(x, 4), mpmath.exp(2 * x * mpmath.sqrt(x) / 3)
    ai, ai_prime, bi, bi_prime = functions(x)
    g = (ai_prime / ai) ** 2 - x
    return [root * growth * ai, -growth * ai_prime / root, root * bi / growth, bi_prime / growth / root, root**2 * g]


def left(s):
    """The rows of the left side at s."""
    z = EDGE / mpmath.cbrt(s) ** 2
    root, zeta = mpmath.root(z, 4), 2 * z * mpmath.sqrt(z) / 3
    cosine, sine = mpmath.cos(zeta), mpmath.sin(zeta)
    ai, ai_prime, bi, bi_prime = functions(-z)
    turned = lambda a, b: [a * cosine - b * sine, a * sine + b * cosine]
    return [*turned(root * ai, root * bi), *turned(ai_prime / root, bi_prime / root), mpmath.mpf(0)]


def polynomial(values):
    """The coefficients in t of the interpolant through values at the Chebyshev points cos((j + 1/2)π/n)."""
    n = len(values)
    angles = [(j + mpmath.mpf(1) / 2) * mpmath.pi / n for j in range(n)]
    chebyshev = [2 * mpmath.fdot(values, [mpmath.cos(k * angle) for angle in angles]) / n for k in range(n)]
    chebyshev[0] /= 2
    coefficients = [mpmath.mpf(0)] * n
    before, now = [mpmath.mpf(1)], [mpmath.mpf(0), mpmath.mpf(1)]
    for weight in chebyshev:
        for power, c in enumerate(before):
            coefficients[power] += weight * c
        after = [mpmath.mpf(0)] + [2 * c for c in now]
        for power, c in enumerate(before):
            after[power] -= c
        before, now = now, after
    return coefficients


def panel(fn, start, end):
    """The rows of one panel."""
    angles = [(j + mpmath.mpf(1) / 2) * mpmath.pi / NUM_NODES for j in range(NUM_NODES)]
    samples = [fn(start + (end - start) * (1 + mpmath.cos(angle)) / 2) for angle in angles]
    rows = [polynomial(column) for column in zip(*samples, strict=True)]
    return [[float(c) if abs(c) > CUTOFF * max(map(abs, row)) else 0.0 for c in row] for row in rows]


def panels(name):
    """The intervals of one of the three regions."""
    if name == "centre":
        return [
            (mpmath.mpf(k) / PER_UNIT, mpmath.mpf(k + 1) / PER_UNIT) for k in range(-EDGE * PER_UNIT, EDGE * PER_UNIT)
        ]
    return [(mpmath.mpf(k) / SIDE, mpmath.mpf(k + 1) / SIDE) for k in range(SIDE)]


def table():
    """The panels of all regions, padded to the length of the longest row."""
    regions = {"left": left, "centre": centre, "right": right}
    made = {name: [panel(fn, *ends) for ends in panels(name)] for name, fn in regions.items()}
    length = max(k + 1 for region in made.values() for rows in region for row in rows for k, c in enumerate(row) if c)
    return {name: [[row[:length] for row in rows] for rows in region] for name, region in made.items()}


if __name__ == "__main__":
    mpmath.mp.dps = 50
    made = table()
    lines = [
        f' "{name}": [\n' + ",\n".join("  " + json.dumps(rows) for rows in region) + "\n ]"
        for name, region in made.items()
    ]
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n")
