"""The rows that a report counts are listed first, then those that fit least of the others."""

import csv
import io
import json

import polars as pl
from builders.reports import report

from cfl_cli.cli.pages.layout import comma_separated, json_text, markdown, table
from cfl_cli.cli.pages.report import rows_page
from cfl_cli.run.diagnostics import KINDS


def listed(*cells):
    """Return diagnostics of (rank, row, CF, why, value, times as likely)."""
    rows = [
        (rank, row, cf, why, value, 0.1, 0.1, times, *([None] * (len(KINDS) - 8)))
        for rank, row, cf, why, value, times in cells
    ]
    return pl.DataFrame(rows, schema=KINDS, orient="row")


DOUBTFUL = [(n + 1, 40 - n, "job", "doubtful-cell", "a", 20.0 - n) for n in range(12)]


def test_doubtful_cells_come_one_by_one_behind_those_that_the_report_counts():
    cells = listed((2, 7, "job", "suspect-cell", "b", 19.5), *DOUBTFUL)
    found = rows_page(report(), cells)
    assert found.title.endswith("1 cell to look at")
    assert [(line.why, line.rows, line.times) for line in found.facts] == [
        ("suspect-cell", (7,), 19.5),
        *(("doubtful-cell", (40 - n,), 20.0 - n) for n in range(10)),
    ]
    note = next(note for note in found.notes if note.startswith("doubtful-cell"))
    assert "the 12 cells that fit least, of which 10 are shown" in note
    assert "honest cells of unusual rows" in note
    rows = [int(one["row"]) for one in csv.DictReader(io.StringIO(comma_separated(found)))]
    assert rows == [7, *(40 - n for n in range(12))]
    assert [one["row"] for one in json.loads(json_text(found))["cells"]] == rows


def test_without_cells_there_is_no_empty_table():
    found = rows_page(report(), listed())
    assert table(found) == markdown(found) == f"{found.title}\n"
    assert found.title.endswith("0 cells to look at")
