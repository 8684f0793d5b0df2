from dataclasses import replace

import pytest
from builders.reports import column, report

from cfl_cli.cli.pages.screen import cell_len, screen
from cfl_cli.trust import LABELS, REASONS, Verdict
from cfl_cli.trust.intervals import Interval

SURE = {
    "drawn": "at-random",
    "estimated_accuracy": Interval(0.95, 0.93, 0.98),
    "commonest_accuracy": Interval(0.3, 0.2, 0.4),
}


def test_it_has_a_heading_a_line_for_each_cf_and_what_to_do_next():
    poor = column("shelf", flags=("no-better-than-commonest",), flagged=True, **SURE)
    assert screen(report(column("fault", **SURE), poor), source="out.csv") == (
        "1,234 rows, method graph  accuracy          baseline  reason\n"
        "fault  use                0.95 (0.93–0.98)      0.30\n"
        "shelf  do not use         0.95 (0.93–0.98)      0.30  no better than baseline\n"
        "Next, for shelf: add --keep-flagged. All figures: cfl report out.csv --details\n"
    )


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("name", ["diagnosis", "a" * 90, "診断" * 30, "tab\tbed"])
def test_no_line_is_wider_than_the_terminal_or_breaks(name, width):
    facts = report(
        column(name, flags=("exclusions-not-uniform",), flagged=True),
        *(column(f"cf {number}", **SURE) for number in range(9)),
    )
    text = screen(facts, source="some-folder/with-a-long-name.parquet", width=width)
    lines = text.splitlines()
    assert len(lines) == 2 + len(facts.columns)
    assert max(map(cell_len, lines)) <= width


def test_every_reason_has_a_few_words_that_fit():
    assert {*LABELS} == {*REASONS}
    assert max(map(len, LABELS.values())) <= 26


def test_columns_left_as_observed_are_named():
    kept = column(flags=("no-better-than-commonest",), flagged=True, action="kept", **SURE)
    facts = report(kept)
    assert facts["job"].verdict == Verdict.DO_NOT_USE
    assert screen(facts, source=None).endswith("Left as observed: job. All figures: --details\n")


@pytest.mark.parametrize(
    ("source", "named"),
    [("a b.csv", "'a b.csv'"), ("a.csv.report.json", "OUT"), ("a.cfl", "OUT"), ("x" * 90, "OUT")],
)
def test_a_step_names_the_table_where_that_is_known_and_fits(source, named):
    facts = report(column("OUT", flags=("exclusions-not-uniform",), flagged=True))
    text = screen(replace(facts, answers_sha256="0" * 64), source=source, width=100)
    (step,) = text.splitlines()[2:]
    assert step.startswith(f"Next, for OUT: cfl audit {named} --draw 100 --out rows.csv")


@pytest.mark.parametrize("number", [1, 2, 8])
@pytest.mark.parametrize("name", ["診断" * 7, *("x" * length for length in (10, 30, 60))])
@pytest.mark.parametrize("flag", ["no-better-than-commonest", "exclusions-not-uniform"])
def test_long_names_neither_hide_where_all_figures_are_nor_look_alike(name, number, flag):
    cfs = [column(f"{name}{k}", flags=(flag,), flagged=True, **SURE) for k in range(number)]
    lines = screen(report(*cfs), source="somewhere/imputed.parquet").splitlines()
    assert len(lines) == 2 + number
    assert len({line.split("  ")[0] for line in lines[1:-1]}) == number
    assert lines[-1].endswith("--details")
    assert max(map(cell_len, lines)) <= 80


def test_nobody_is_told_to_use_columns_of_which_nothing_is_known():
    last = screen(report(column()), source=None).splitlines()[-1]
    assert last == "Nothing was measured. All figures: --details"
