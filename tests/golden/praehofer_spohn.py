"""Makes praehofer_spohn.json from tables of others. Run as `python tests/golden/praehofer_spohn.py FOLDER`.

M. Prähofer and H. Spohn solved Painlevé II "numerically with very high precision" for J. Stat. Phys. 115, 255 (2004),
in a way that this library does not use. Their tables of 16 digits were at https://www-m5.ma.tum.de/KPZ (2003), and
https://github.com/patperry/kpztable has a copy. FOLDER holds F1, F2, U and V, each `.040.200.0016.txt`; every eighth
point of the bulk and some far out are kept.
"""

import json
import sys
from pathlib import Path

import numpy as np

FAR = [-40, -30, -20, -15, -12, 8, 10, 12, 16, 24, 40, 70, 100, 140]
# The columns of each table that are kept.
COLUMNS = {"U": {"U": 1, "log U": 4}, "V": {"V": 1, "log V": 4}, "F1": {"log F1'": 2}, "F2": {"log F2'": 2}}


def rows(folder):
    tables = {name: np.loadtxt(folder / f"{name}.040.200.0016.txt") for name in COLUMNS}
    points = sorted([*FAR, *np.arange(-10, 6.5, 0.5)])
    for s in points:
        row = {"s": float(s)}
        for name, columns in COLUMNS.items():
            (found,) = tables[name][tables[name][:, 0] == s]
            row |= {key: float(found[column]) for key, column in columns.items()}
        yield row


if __name__ == "__main__":
    content = {
        "source": "Prähofer and Spohn (2003), tables to J. Stat. Phys. 115, 255: F1 = exp(-(U+V)/2), F2 = exp(-V)",
        "generator": "tests/golden/praehofer_spohn.py",
        "digits": 16,
        "points": list(rows(Path(sys.argv[1]))),
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
