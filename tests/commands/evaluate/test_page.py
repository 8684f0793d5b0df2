"""Scores against the truth as people and programs read them."""

import csv
import io
import json

from cfl_cli.cli.pages import render
from cfl_cli.commands.evaluate.job import ColumnScores, Evaluation, page

SHOWN = Evaluation(
    1234,
    (
        ColumnScores("job|x", 3, 1200, 10, 3, 2, 0.5, 0.25, 1 / 3, 0.1, 0.05),
        ColumnScores("ward\x1b", 40, 1234, 0, 0, 0, 1.0, 1.0, 0.0, 0.0, 0.0),
    ),
    ("beware",),
)


def test_the_table_has_a_line_for_every_cf_one_for_the_mean_and_notes():
    lines = render(page(SHOWN), "table").splitlines()
    assert lines[:6] == [
        "1,234 rows, 2 CFs",
        "",
        "CF       values  rows unanswered accuracy macro-F1 cross entropy entropy   ECE",
        "job|x         3 1,200         10    0.500    0.250         0.333   0.100 0.050",
        r"ward\x1b     40 1,234          0    1.000    1.000         0.000   0.000 0.000",
        "mean                                0.750    0.625         0.167   0.050 0.025",
    ]
    notes = " ".join(lines[6:])
    for words in (
        "job|x: 34 rows without a true value, counted in the entropy alone.",
        "job|x: 10 rows unanswered; accuracy, macro-F1 and ECE are those of the others.",
        "job|x: in 3 rows the cell rules out the true value: check that both tables have",
        "job|x: 2 rows with a confidence below 1e-10 in the true value; it counts as that",
        "warning: beware.",
    ):
        assert words in notes
    assert "ward" not in notes


def test_a_narrow_terminal_gets_every_score():
    lines = render(page(SHOWN), "table", width=40).splitlines()
    assert max(map(len, lines)) <= 40
    assert lines[2:11] == [
        "CF       values  rows unanswered",
        "         accuracy macro-F1 cross entropy",
        "         entropy   ECE",
        "job|x         3 1,200         10",
        "            0.500    0.250         0.333",
        "           0.100 0.050",
        r"ward\x1b     40 1,234          0",
        "            1.000    1.000         0.000",
        "           0.000 0.000",
    ]
    assert lines[11:13] == ["mean        0.750    0.625         0.167", "           0.050 0.025"]


def test_programs_get_full_precision():
    facts = json.loads(render(page(SHOWN), "json"))
    assert facts["columns"][0]["cross_entropy"] == 1 / 3
    assert facts["mean"]["cross_entropy"] == 1 / 6
    assert facts["warnings"] == ["beware"]
    rows = list(csv.DictReader(io.StringIO(render(page(SHOWN), "csv"))))
    assert [row["name"] for row in rows] == ["job|x", "ward\x1b", ""]
    assert float(rows[0]["cross_entropy"]) == 1 / 3
    assert rows[2]["known"] == ""
    assert r"| job\|x | 3 | 1,200 |" in render(page(SHOWN), "md")
