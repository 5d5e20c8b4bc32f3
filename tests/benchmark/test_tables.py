"""The tables that the manual includes are those of the records."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from benchmarks import tables


@pytest.mark.parametrize("writer", tables.WRITERS, ids=lambda writer: writer.__name__)
def test_the_table_is_that_of_the_record(writer):
    assert (tables.TABLES / f"{writer.__name__}.md").read_text() == writer()


def test_no_table_is_left_over_or_without_a_page():
    names = {writer.__name__ for writer in tables.WRITERS}
    pages = "".join(path.read_text() for path in (tables.RESULTS.parents[1] / "docs").glob("*.md"))
    assert {path.stem for path in tables.TABLES.glob("*.md")} == names
    assert [name for name in names if f"results/tables/{name}.md" not in pages] == []


def test_where_another_package_is_faster_stands_first():
    rows = tables.peers_work().splitlines()[2:]
    ratios = [float(row.split(", ")[-1].removesuffix("× |")) for row in rows]
    assert len(ratios) > 20
    assert ratios == sorted(ratios)


def test_the_picture_shows_every_curve_and_the_first_calls(tmp_path, monkeypatch):
    curves = tables._record("peers")["costs"]["curves"]
    figure = tables.drawn_costs()
    assert len(figure.axes) == len(curves)
    for axes, (work, of_work) in zip(figure.axes, curves.items(), strict=True):
        assert axes.get_title() == work
        drawn = {line.get_label(): line for line in axes.lines}
        for name, curve in of_work.items():
            np.testing.assert_array_equal(drawn[name].get_xdata(), curve["n"])
            np.testing.assert_array_equal(drawn[name].get_ydata(), curve["seconds"])
        (first,) = [line for line in axes.lines if line.get_linestyle() == "--"]
        np.testing.assert_array_equal(first.get_ydata(), of_work["rmtjax"]["first call"])
    plt.close(figure)
    monkeypatch.setattr(tables, "TABLES", tmp_path)
    tables.write()
    assert (tmp_path / "peers_costs.png").exists()
