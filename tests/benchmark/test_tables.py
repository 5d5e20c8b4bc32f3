"""The tables that the manual includes are those of the records."""

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
    assert ratios == sorted(ratios)
    assert ratios[0] < 1 < ratios[-1]


def test_the_picture_is_drawn(tmp_path):
    tables.draw_costs(tmp_path / "costs.png")
    assert (tmp_path / "costs.png").stat().st_size > 20_000
