import csv
import io
import json

import pytest

from cfl_cli.cli.pages import render
from cfl_cli.cli.pages.history import ASCII, page
from cfl_cli.trust.drift import DriftCourse
from cfl_cli.trust.history import CfLine, History, Line
from cfl_cli.trust.intervals import Interval


def line(number, *, model="m", name="job", loss=0.05, since=None, limit=0.07, evidence=2.0):
    flags = ("drifted",) if since else ()
    accuracy = Interval(0.8, 0.7, 0.9)
    cf = CfLine(
        name, 400, -1.2, accuracy, loss, limit, evidence, flags, DriftCourse(drifted_since=since)
    )
    return Line(1, "9", model, number, f"{model}{number}", "new.csv", 500, (cf,))


STABLE = [line(number, loss=0.04 + 0.001 * (number % 5)) for number in range(1, 26)]
DRIFT = [line(number, loss=0.14, since=26, evidence=15_000.0) for number in range(26, 31)]
WHOLE = History((*STABLE, *DRIFT))


def test_the_table_has_the_last_figures_and_a_line_of_signs():
    text = render(page(WHOLE), "table", width=80)
    assert text.splitlines()[:5] == [
        "30 batches, 1 CF, 1 drifted",
        "",
        "CF    loss  limit least–most    drifted  batch 1    batch 11   batch 21",
        "job 0.1400 0.0700 0.0400–0.1400 since 26 ▃▃▃▃▃▃▃▃▃▃ ▃▃▃▃▃▃▃▃▃▃ ▃▃▃▃▃█████",
        "                                                                    ^^^^^",
    ]
    assert "Not shown in this width: batch 1." in render(page(WHOLE), "table", width=73)
    assert (
        "job: its cells have been predicted worse than those at fitting since batch 26: loss "
        "0.1400 there, against a limit of 0.0700; evidence 1 : 15,000."
    ) in text.replace("\n", " ")


@pytest.mark.parametrize(("width", "parts"), [(72, 2), (80, 3), (120, 7), (400, 18)])
def test_the_last_batches_that_fit_are_shown(width, parts):
    lines = [line(number) for number in range(1, 401)]
    text = render(page(History(tuple(lines))), "table", width=width)
    heading = text.splitlines()[2]
    assert heading.count("batch") == parts
    assert "batch 391" in heading
    assert max(map(len, text.splitlines())) <= width


def test_an_encoding_without_the_signs_gets_others_and_a_batch_without_a_loss_a_blank():
    gap = [line(1), line(2, loss=None, limit=None, evidence=None), line(3)]
    [shown] = [at for at in render(page(History(tuple(gap))), "table").splitlines() if "job" in at]
    assert shown.endswith("▆ ▆")
    none = History((line(1, loss=None, limit=None, evidence=None),))
    assert "nothing to judge drift by" in render(page(none), "table")
    for encoding in ("ascii", "latin-1", None, "no-such"):
        text = render(page(WHOLE, encoding=encoding), "table")
        assert "█" not in text
        assert ASCII[-1] * 5 in text


def test_only_the_last_model_is_drawn_and_all_are_in_csv_and_json():
    both = History((*STABLE, line(1, model="n", loss=0.06)))
    text = render(page(both), "table")
    assert text.startswith("1 batch, 1 CF, none drifted")
    assert "25 batches of 1 other model not shown" in text
    rows = list(csv.DictReader(io.StringIO(render(page(both), "csv"))))
    assert len(rows) == 26
    assert (rows[0]["model"], rows[0]["batch"], rows[-1]["loss"]) == ("m", "1", "0.06")
    assert (rows[0]["drifted"], rows[0]["accuracy_low"]) == ("false", "0.7")
    assert len(json.loads(render(page(both), "json"))["batches"]) == 26


def test_figures_are_in_markdown_and_neither_names_nor_an_empty_history_do_harm():
    text = render(page(WHOLE), "md")
    assert "| job | 0.1400 | 0.0700 | 0.0400–0.1400 | since 26 |" in text
    assert "█" not in text
    nasty = render(page(History((line(1, name="\x1b[31mred"),))), "table")
    assert "\x1b" not in nasty
    assert render(page(History(())), "table").startswith("0 batches, 0 CFs")
