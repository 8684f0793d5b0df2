"""The page of suspect cells says how many are expected to be wrong, and what it leaves out."""

import csv
import io
import json

import pytest
from builders.reports import column, report
from builders.suspects import CELLS, diagnostics

from cfl_cli.cli.pages import render
from cfl_cli.commands.suspects.job import page, suspects
from cfl_cli.core.messages import on_command_line

REPORT = report(
    column("job", wrong_cells_most=0.1), column("hat"), column("pet", wrong_cells_most=0.2)
)
MANY = diagnostics(*[(n + 1, "job", "a", 5.0, 0.1, 0.2) for n in range(30)])


def test_the_sentence_on_top_says_how_many_are_expected_to_be_wrong_if_recorded():
    earlier = CELLS.with_columns(probability_wrong=None, probability_wrong_most=None)
    found = page(suspects(REPORT, earlier.cast(CELLS.schema)))
    assert found.title == "5 cells that fit least; it is not recorded how many of them are wrong"
    assert any("impute again" in note for note in found.notes)
    title = page(suspects(REPORT, MANY)).title
    assert (
        title
        == "Best guess: of the first 20 of 30 cells that fit least, about 2 (0 to 7) are wrong"
    )
    assert "no cell is suspect" in page(suspects(REPORT, MANY.clear())).title
    unknown = page(suspects(REPORT, CELLS, cfs=["hat"])).title
    assert unknown == "1 cell that fit least; it is not known how many of them are wrong"


def test_a_table_shows_twenty_cells_and_data_all_of_them():
    found = page(suspects(REPORT, MANY))
    assert (len(found.facts), len(found.records)) == (20, 30)
    assert found.notes[-1] == "10 more cells: `.cells` has all."
    with on_command_line():
        found = page(suspects(REPORT, MANY))
    assert found.notes[-1] == "10 more cells: --top 30, or --format csv or json."
    fewer = page(suspects(REPORT, MANY), top=3)
    assert (len(fewer.facts), len(fewer.records), len(json.loads(fewer.json)["cells"])) == (3, 3, 3)


def test_each_line_names_row_and_value_and_nothing_that_is_not_known():
    found = page(suspects(REPORT, CELLS))
    cells = [[field.show(fact) for field in found.fields] for fact in found.facts]
    assert cells == [
        ["1", "40", "job", "nurse", "0.100", "> 1,000", "0.75", "0.8", "1"],
        ["2", "7", "job", "-", "0.100", "30.5", "0.50", "1.2", "2"],
        ["3", "7", "pet", "cat", "0.100", "4.0", "0.25", "1.5", "3"],
        ["4", "9", "hat", "<b>", "0.100", "3.0", "-", "-", "-"],
        ["5", "8", "job", "clerk", "0.100", "-", "-", "-", "-"],
    ]
    assert found.title.startswith(
        "Best guess: of the first 3 of 5 cells that fit least, about 2 (0 to 3)"
    )
    notes = " ".join(found.notes)
    assert "Wrong, by the best guess: 2 of the first 3 (0 to 3)." in notes
    assert "If 1 % of all cells are wrong, 2 of the first 3 are; if 3 %, 2." in notes
    assert "hat: how likely cells are wrong is not known" in notes


@pytest.mark.parametrize("width", [80, 120])
def test_a_line_of_the_table_fits_the_terminal(width):
    text = render(page(suspects(REPORT, CELLS)), "table", width=width)
    line = next(line for line in text.splitlines() if "nurse" in line)
    assert len(line) <= width
    assert line.split()[-2:] == ["0.8", "1"]


def test_every_format_has_the_cells():
    found = page(suspects(REPORT, CELLS))
    records = [*csv.DictReader(io.StringIO(render(found, "csv")))]
    assert [one["row"] for one in records] == ["40", "7", "7", "9", "8"]
    assert records[3]["probability_wrong"] == ""
    assert json.loads(render(found, "json"))["cells"][1]["value"] is None
    assert "| 1 | 40 | job | nurse |" in render(found, "md")
    assert "nurse" in suspects(REPORT, CELLS)._repr_html_()
    assert "&lt;b&gt;" in suspects(REPORT, CELLS)._repr_html_()
