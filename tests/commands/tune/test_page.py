import csv
import io
import json
from dataclasses import replace

import pytest
from builders.command_line import SCHEMA
from builders.markdown import cells_of_markdown, paragraphs_of_markdown

from cfl_cli import Schema
from cfl_cli.cli.pages import RENDERERS, render
from cfl_cli.commands.tune import job
from cfl_cli.commands.tune.job import Trial, Tuning, page, summary
from cfl_cli.trust.intervals import Gain

SETTINGS = {"iterations": 100, "k": 20, "gamma": 0.25, "ridge": 0.3}
BETTER = {**SETTINGS, "iterations": "auto", "gamma": 0.0}
TRIALS = (
    Trial(SETTINGS, -3.25, Gain.of(0.0, 0.0)),
    Trial({**SETTINGS, "k": 5}, -3.5, Gain.of(-0.25, 0.125)),
    Trial(BETTER, -1 / 3, Gain.of(35 / 12, 0.1)),
)
TUNED = Tuning(
    TRIALS,
    (job.Test(2, Gain.of(2.5, 0.25), passed=True),),
    complete=True,
    rows=1500,
    searched_rows=1000,
    tested_rows=1500,
    seconds=12.34,
    warnings=("beware",),
    given=Schema.parse(SCHEMA),
)
KEPT = replace(TUNED, tests=(job.Test(1, Gain.of(0.01, 0.5), passed=False),), complete=False)


def test_the_table_has_a_line_for_every_trial():
    assert render(page(TUNED), "table").splitlines() == [
        "3 trials, trial 3 chosen",
        "",
        "trial iterations  k gamma ridge   score             gain status",
        "    1        100 20  0.25   0.3 -3.2500                - start",
        "    2        100  5  0.25   0.3 -3.5000 -0.2500 ± 0.1250",
        "    3       auto 20     0   0.3 -0.3333 +2.9167 ± 0.1000 tested, chosen",
    ]
    kept = render(page(KEPT), "table").splitlines()
    assert kept[0] == "3 trials, settings unchanged"
    assert kept[3].endswith(" start, chosen")
    assert kept[4].endswith(" tested")


def test_markdown_shows_the_same():
    text = render(page(TUNED), "md")
    assert paragraphs_of_markdown(text) == ["3 trials, trial 3 chosen"]
    heading, *rows = cells_of_markdown(text)
    assert heading == ["trial", *SETTINGS, "score", "gain", "status"]
    best = "3|auto|20|0|0.3|-0.3333|+2.9167 ± 0.1000|tested, chosen"
    assert rows[2] == best.split("|")


def test_csv_has_full_precision_and_is_empty_where_no_test_was_made():
    start, _, best = csv.DictReader(io.StringIO(render(page(TUNED), "csv")))
    assert list(best) == [
        "trial", *SETTINGS, "score", "gain", "gain_error", "tested_gain", "tested_gain_error",
        "chosen",
    ]  # fmt: skip
    assert float(best["score"]) == -1 / 3
    assert (best["iterations"], best["tested_gain"], best["chosen"]) == ("auto", "2.5", "true")
    assert (start["tested_gain"], start["tested_gain_error"], start["chosen"]) == ("", "", "false")


def test_json_holds_every_fact_but_the_time():
    facts = json.loads(render(page(TUNED), "json"))
    assert facts["chosen"] == BETTER
    assert facts["trials"][2] == {
        "trial": 3,
        **BETTER,
        "score": -1 / 3,
        "gain": {"value": 35 / 12, "low": 35 / 12 - 0.196, "high": 35 / 12 + 0.196, "error": 0.1},
    }
    assert [(test["trial"], test["passed"]) for test in facts["tests"]] == [(3, True)]
    assert (facts["rows"], facts["searched_rows"], facts["tested_rows"]) == (1500, 1000, 1500)
    assert facts["warnings"] == ["beware"]
    assert "seconds" not in facts


@pytest.mark.parametrize("form", RENDERERS)
def test_no_format_depends_on_how_long_it_took(form):
    assert render(page(TUNED), form) == render(page(replace(TUNED, seconds=99.0)), form)


def test_the_summary_says_what_was_done_and_what_came_of_it():
    assert list(summary(TUNED)) == [
        "3 trials on 1,000 of 1,500 rows in 12.3 s",
        (
            "iterations auto, k 20, gamma 0, ridge 0.3: clearly better than the start on held-out "
            "cells of 1,500 rows that the search did not use (gain +2.5000 ± 0.2500)"
        ),
        "chosen: iterations auto, k 20, gamma 0, ridge 0.3",
    ]
    lines = list(summary(KEPT))
    assert lines[1] == (
        "the search was stopped; a larger --budget or --trials may find better settings"
    )
    assert (
        "not clearly better than the start, or worse for one of the CFs, on held-out cells"
        in lines[2]
    )
    assert lines[3] == "settings unchanged: iterations 100, k 20, gamma 0.25, ridge 0.3"
