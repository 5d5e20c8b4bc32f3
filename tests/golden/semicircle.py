"""Makes semicircle.json: the semicircle law at 30 digits. Run as `python tests/golden/semicircle.py`.

Every abscissa and probability is a float32 number, so that both precisions are compared with the same values.
"""

import json
from pathlib import Path

import mpmath

RADII = ("2.0", "0.75")
# Distances from the edges in units of the radius.
FRACTIONS = [2.0**-k for k in (20, 14, 9, 5, 3, 1)] + [0.71875, 0.96875, 1.0]
PROBABILITIES = [2.0**-k for k in (40, 24, 17, 10, 5, 2, 1)] + [0.625, 0.9375, 1 - 2.0**-10, 1 - 2.0**-20]
DIGITS = 30


def density(x, radius):
    return 2 / (mpmath.pi * radius**2) * mpmath.sqrt(radius**2 - x**2)


def distribution(x, radius):
    return (
        mpmath.mpf(1) / 2
        + x * mpmath.sqrt(radius**2 - x**2) / (mpmath.pi * radius**2)
        + mpmath.asin(x / radius) / mpmath.pi
    )


def quantile(p, radius):
    """The quantile by bisection in the angle, x = -radius cos(θ/2): the distribution function is (θ - sin θ)/2π."""
    lower, upper = mpmath.mpf(0), 2 * mpmath.pi
    for _ in range(250):
        middle = (lower + upper) / 2
        left = middle - mpmath.sin(middle) < 2 * mpmath.pi * p
        lower, upper = (middle, upper) if left else (lower, middle)
    return -radius * mpmath.cos(lower / 2)


def digits(number):
    return mpmath.nstr(number, DIGITS)


def table():
    points, inverses = [], []
    for text in RADII:
        radius = mpmath.mpf(text)
        for fraction in FRACTIONS:
            for sign in (-1, 1):
                x = sign * radius * (1 - mpmath.mpf(fraction))
                lower, upper = distribution(x, radius), distribution(-x, radius)
                values = {"pdf": density(x, radius), "cdf": lower, "sf": upper}
                values |= {f"log{name}": mpmath.log(value) for name, value in values.items()}
                points.append({"radius": float(radius), "x": float(x)} | {k: digits(v) for k, v in values.items()})
        for p in PROBABILITIES:
            inverses.append({"radius": float(radius), "p": p, "ppf": digits(quantile(mpmath.mpf(p), radius))})
    return {
        "source": "f(x) = 2 sqrt(R² - x²)/(π R²) and its integral in closed form, mpmath with 80 digits",
        "generator": "tests/golden/semicircle.py",
        "digits": DIGITS,
        "points": points,
        "quantiles": inverses,
    }


if __name__ == "__main__":
    mpmath.mp.dps = 80
    target = Path(__file__).with_suffix(".json")
    target.write_text(json.dumps(table(), indent=1, ensure_ascii=False) + "\n")
