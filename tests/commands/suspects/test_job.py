import csv
import io
import json
from math import ceil, sqrt

import numpy as np
import polars as pl
import pytest
from builders.command_line import on_command_line
from builders.reports import column, report
from builders.suspects import CELLS, diagnostics

from cfl_cli import Schema, UsageError, impute
from cfl_cli.cli.pages import render
from cfl_cli.commands.suspects.job import page, suspects

REPORT = report(
    column("job", wrong_cells_most=0.1), column("hat"), column("pet", wrong_cells_most=0.2)
)


def test_errors_are_added_up_down_the_list_with_what_chance_may_add():
    found = suspects(REPORT, CELLS)
    assert found.cells["rank"].to_list() == [1, 2, 3, 4, 5]
    assert found.cells["errors_expected"].to_list() == [0.75, 1.25, 1.5, None, None]
    # By hand: 0.99 + 0.8 + 0.5 and 1.645 standard deviations, no more than there are.
    most = ceil(2.29 + 1.645 * sqrt(0.0099 + 0.16 + 0.25))
    assert found.cells["errors_most"].to_list() == [1, 2, min(most, 3), None, None]
    assert found.errors(2).expected == 1.25
    assert found.errors(2).supposed == {0.01: 1.25, 0.03: pytest.approx(1.79), 0.1: None}
    assert [errors.length for errors in found.by_length] == [3]
    assert found.unknown_cfs == ("hat",)  # of exact cells it is never known
    found = suspects(REPORT, diagnostics(*[(n + 1, "job", "a", 5.0, 0.1, 0.2) for n in range(100)]))
    assert found.errors(100).at_most == ceil(20 + 1.645 * 4)
    assert [errors.length for errors in found.by_length] == [10, 20, 50, 100]


def test_one_cf_keeps_its_ranks_and_other_names_and_reasons_are_no_part_of_the_list():
    found = suspects(REPORT, CELLS, cfs=["pet"])
    assert found.cells.select("rank", "row", "errors_expected").rows() == [(3, 7, 0.25)]
    with pytest.raises(UsageError, match=r"pte.*did you mean 'pet'.*it has 'job', 'hat', 'pet'"):
        suspects(REPORT, CELLS, cfs=["pte"])
    others = CELLS.with_columns(
        why=pl.lit("impossible-value"), rank=pl.lit(None, pl.Int64), row=pl.lit(99, pl.Int64)
    )
    assert suspects(REPORT, pl.concat([CELLS, others])).cells.height == 5
    assert suspects(REPORT, others).cells.height == 0
    assert suspects(REPORT, others).errors(10) is None


def test_everything_is_in_the_json_and_what_an_older_version_lacks_is_not_recorded():
    earlier = CELLS.with_columns(pl.lit(None, pl.Float64).alias(name) for name in CELLS.columns[8:])
    found = suspects(REPORT, earlier)
    assert (found.recorded, found.known, found.cells.height) == (False, 0, 5)
    assert suspects(REPORT, CELLS.filter(pl.col("cf") == "hat")).recorded
    facts = json.loads(suspects(REPORT, CELLS).to_json(top=2))
    assert (facts["rows"], facts["listed"], len(facts["cells"])) == (1234, 5, 2)
    assert facts["errors"][0]["length"] == 3
    assert facts["cells"][0]["errors_expected"] == 0.75


def table(wrong, *, rows=600):
    """Return rows whose CF follows from x, some cells wrong, and which are."""
    rng = np.random.default_rng(1)
    truth = rng.integers(4, size=rows)
    at_fault = rng.random(rows) < wrong
    others = (truth + rng.integers(1, 4, rows)) % 4
    cells = np.where(at_fault, truth, others)
    x = truth + 0.1 * rng.standard_normal(rows)
    return pl.DataFrame({"x": x, "cf": np.array([*"abcd"])[cells]}), at_fault


SCHEMA = Schema.model_validate(
    {
        "version": "1",
        "columns": {
            "x": {"role": "ordinary", "type": "numeric"},
            "cf": {"role": "complementary", "values": [*"abcd"]},
        },
    }
)


@pytest.mark.parametrize("share", [0.0, 0.03, 0.08])
def test_no_more_of_the_first_cells_are_wrong_than_there_are_at_most(share):
    frame, at_fault = table(share)
    found = impute(frame, SCHEMA, k=10, iterations=20, gamma=0).suspects
    hits = at_fault[found.cells["row"].to_numpy()]
    assert (found.known > 0) == (share > 0)  # of an honest table so easy to predict, none is listed
    for errors in found.by_length:
        assert hits[: errors.length].sum() <= errors.at_most
        assert errors.expected <= errors.at_most
    if share:
        assert hits[:10].mean() > 0.5  # the first are mostly the wrong ones


def test_the_list_is_the_same_whatever_the_number_of_threads():
    frame, _ = table(0.03, rows=200)
    one, two = (
        impute(frame, SCHEMA, k=10, iterations=5, gamma=0, jobs=jobs).suspects for jobs in (1, 2)
    )
    assert one.cells.equals(two.cells)


def test_a_model_lists_the_suspect_cells_of_new_rows():
    frame, at_fault = table(0.02, rows=1200)
    model = impute(frame[:400], SCHEMA, k=10, iterations=20, gamma=0, keep_model=True).model
    found = model.apply(frame[400:]).suspects
    hits = at_fault[400:][found.cells["row"].to_numpy()]
    assert hits[:5].all()
    assert 0 < found.errors(5).expected <= found.errors(5).at_most == 5


def test_a_batch_without_rows_has_no_suspect_cell():
    frame, _ = table(0.02, rows=200)
    model = impute(frame, SCHEMA, k=10, iterations=5, gamma=0, keep_model=True).model
    assert model.apply(frame[:0]).suspects.cells.height == 0


MANY = diagnostics(*[(n + 1, "job", "a", 5.0, 0.1, 0.2) for n in range(30)])


def test_the_page_promises_an_order_and_no_count_of_wrong_cells():
    found = page(suspects(REPORT, MANY))
    assert found.title == "30 cells most likely to be wrong, most suspect first"
    text = render(found, "table")
    assert "expected" not in text
    assert "(0 to" not in text
    assert "can't show how many of them are wrong" in text.replace("\n", " ")
    assert "no suspect cells" in page(suspects(REPORT, MANY.clear())).title


@pytest.mark.parametrize(
    ("times", "word"),
    [
        (1.2, "hardly any, 1.2"),
        (3.0, "some, 3.0"),
        (99.96, "strong, 100.0"),
        (100.0, "very strong, 100.0"),
    ],
)
def test_the_likelihood_ratio_is_told_in_words(times, word):
    cells = diagnostics((12345, "job", "a", times, 0.1, 0.2))
    [fact] = page(suspects(REPORT, cells)).facts
    shown = {field.heading: field.show(fact) for field in page(suspects(REPORT, cells)).fields}
    assert (shown["row"], shown["evidence"]) == ("12345", word)


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
        ["1", "40", "job", "nurse", "0.100", "very strong, > 1000"],
        ["2", "7", "job", "-", "0.100", "strong, 30.5"],
        ["3", "7", "pet", "cat", "0.100", "some, 4.0"],
        ["4", "9", "hat", "<b>", "0.100", "some, 3.0"],
        ["5", "8", "job", "clerk", "0.100", "-"],
    ]
    notes = " ".join(found.notes)
    assert "If 1 % of all cells are wrong, about 2 of the first 3 are; if 3 %, 2." in notes
    assert "hat: the report has no upper limit of wrong cells, so these cells come last." in notes


@pytest.mark.parametrize("width", [80, 120])
def test_a_line_of_the_table_fits_the_terminal(width):
    text = render(page(suspects(REPORT, CELLS)), "table", width=width)
    line = next(line for line in text.splitlines() if "nurse" in line)
    assert len(line) <= width
    assert line.endswith("very strong, > 1000")


def test_every_format_has_the_cells():
    found = page(suspects(REPORT, CELLS))
    records = [*csv.DictReader(io.StringIO(render(found, "csv")))]
    assert [one["row"] for one in records] == ["40", "7", "7", "9", "8"]
    assert records[3]["probability_wrong"] == ""
    assert json.loads(render(found, "json"))["cells"][1]["value"] is None
    assert "| 1 | 40 | job | nurse |" in render(found, "md")
    assert "nurse" in suspects(REPORT, CELLS)._repr_html_()
    assert "&lt;b&gt;" in suspects(REPORT, CELLS)._repr_html_()
