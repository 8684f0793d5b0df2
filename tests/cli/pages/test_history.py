import csv
import io
import json

import pytest

from cfl_cli.cli.pages import render
from cfl_cli.cli.pages.history import ASCII, page
from cfl_cli.trust.drift import DriftCourse, Pooled
from cfl_cli.trust.history import CfLine, History, Line
from cfl_cli.trust.intervals import Interval


def line(
    number, *, model="m", name="job", loss=0.05, since=None, limit=0.07, evidence=2.0, quiet=0
):
    flags = ("drifted",) if since and not quiet else ()
    accuracy = Interval(0.8, 0.7, 0.9)
    course = DriftCourse(drifted_since=since, quiet=Pooled(quiet, 400 * quiet, 1.0, 1.0))
    cf = CfLine(name, 400, -1.2, accuracy, loss, limit, evidence, flags, course)
    return Line(1, "9", model, number, f"{model}{number}", "new.csv", 500, (cf,))


STABLE = [line(number, loss=0.04 + 0.001 * (number % 5)) for number in range(1, 26)]
DRIFT = [line(number, loss=0.14, since=26, evidence=15_000.0) for number in range(26, 31)]
WHOLE = History((*STABLE, *DRIFT))


def test_the_table_has_the_last_figures_and_a_line_of_signs():
    text = render(page(WHOLE), "table", width=80)
    assert text.splitlines()[:5] == [
        "30 batches, 1 CF, 1 drifted in the last batch",
        "",
        "CF  last batch   loss  limit drift    batch 1    batch 11   batch 21",
        "job worse      0.1400 0.0700 since 26 ▃▃▃▃▃▃▃▃▃▃ ▃▃▃▃▃▃▃▃▃▃ ▃▃▃▃▃█████",
        "                                                                 ^^^^^",
    ]
    assert "Not shown in this width: batch 1." in render(page(WHOLE), "table", width=73)
    assert (
        "job: cells have been predicted worse than those at fitting since batch 26 (loss 0.1400, "
        "limit 0.0700, evidence 1 : 15,000)."
    ) in text.replace("\n", " ")


@pytest.mark.parametrize(
    ("normal", "drift", "history"),
    [
        (1, "in 8", "The history clears after 2 more such batches."),
        (2, "in 8", "The history clears after one more such batch."),
        (3, "in 8", "It is over. The last batch is predicted as well as at fitting."),
    ],
)
def test_a_history_with_one_bad_night_says_when_it_was_and_that_tonight_is_fine(
    normal, drift, history
):
    nights = [line(number, loss=0.05) for number in range(1, 8)]
    nights.append(line(8, loss=0.14, since=8, evidence=15_000.0))
    nights += [
        line(8 + quiet, loss=0.05, since=8 if quiet < 3 else None, quiet=quiet)
        for quiet in range(1, normal + 1)
    ]
    text = render(page(History(tuple(nights))), "table", width=80)
    assert text.startswith(f"{8 + normal} batches, 1 CF, none drifted in the last batch\n")
    assert f"job fine       0.0500 0.0700 {drift}" in text
    assert "job: drift in batch 8 (loss 0.1400" in text
    assert history in text.replace("\n", " ")
    assert max(map(len, text.splitlines())) <= 80
    [marks] = [at for at in text.splitlines() if at.strip() == "^"]
    assert marks.index("^") == text.splitlines()[2].index("batch 1") + 7


@pytest.mark.parametrize(("width", "parts"), [(72, 2), (80, 3), (120, 7), (400, 18)])
def test_the_last_batches_that_fit_are_shown(width, parts):
    lines = [line(number) for number in range(1, 401)]
    text = render(page(History(tuple(lines))), "table", width=width)
    heading = text.splitlines()[2]
    assert heading.count("batch") == parts + 1  # and the column "last batch"
    assert "batch 391" in heading
    assert max(map(len, text.splitlines())) <= width


def test_an_encoding_without_the_signs_gets_others_and_a_batch_without_a_loss_a_blank():
    gap = [line(1), line(2, loss=None, limit=None, evidence=None), line(3)]
    [shown] = [at for at in render(page(History(tuple(gap))), "table").splitlines() if "job" in at]
    assert shown.endswith("▆ ▆")
    none = History((line(1, loss=None, limit=None, evidence=None),))
    assert "drift can't be evaluated" in render(page(none), "table")
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
    assert "| job | worse | 0.1400 | 0.0700 | since 26 |" in text
    assert "█" not in text
    nasty = render(page(History((line(1, name="\x1b[31mred"),))), "table")
    assert "\x1b" not in nasty
    assert render(page(History(())), "table").startswith("0 batches, 0 CFs")
