import csv
import io
import json
import re
from dataclasses import replace

import polars as pl
import pytest
from builders.markdown import cells_of_markdown, paragraphs_of_markdown
from builders.reports import CONTRACT_COLUMN, FLAGS, REPORTS, column, report
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from cfl_cli.cli.pages import render
from cfl_cli.cli.pages.layout import comma_separated, json_text
from cfl_cli.cli.pages.layout import markdown as as_markdown
from cfl_cli.cli.pages.layout import table as as_table
from cfl_cli.cli.pages.report import page, rows_page
from cfl_cli.errors import DataError
from cfl_cli.methods.interface import Part
from cfl_cli.run.diagnostics import KINDS
from cfl_cli.trust.heldout import Calibration
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import (
    BatchFacts,
    Confident,
    Drift,
    FittedMechanism,
    Report,
    Sources,
    ValueShare,
)

GOOD = json.loads(report(column(), column("ward"), timings={"encode": 0.1}).to_json())


def table(facts, **options):
    return render(page(facts), "table", **options)


def markdown(facts):
    return render(page(facts), "md")


def printable(text):
    return all(line.isprintable() for line in text.split("\n"))


TWO = report(column(flags=FLAGS, flagged=True, action="kept"), column("ward", domain_size=40))


def test_below_the_title_stands_what_can_be_used():
    known = {"estimated_accuracy": Interval(0.9, 0.85, 0.95), "hidden_cells": 99}
    known |= {"domain_size": 5, "break_even_bias": 100.0}
    good = [column(f"cf{number}", **known) for number in range(10)]
    flags = ("no-better-than-commonest",)
    facts = report(*good, column("ward", flags=flags, flagged=True, **known))
    named = ", ".join(f"cf{number}" for number in range(8))
    expected = f"Use: {named} and 2 others. Do not use: ward."
    assert table(facts).splitlines()[1] == expected
    assert paragraphs_of_markdown(markdown(facts))[1] == expected
    assert table(report(column())).splitlines()[1] == ""  # nothing was measured


def test_the_table_has_a_line_for_every_cf_and_color_only_when_asked_for():
    assert table(TWO).splitlines()[:6] == [
        "1,234 rows, 2 CFs, 1 flagged",
        "",
        "CF   values entropy                  reduction conf. flags                    action",
        "job       3 0.69 → 0.23 ████░░░░░░░░       67%  0.90 small-entropy-reduction, kept",
        "                                                     fallback-rows",
        "ward     40 0.69 → 0.23 ████░░░░░░░░       67%  0.90 -                        imputed",
    ]
    assert "\x1b[" in table(TWO, color=True)
    assert "\x1b[" not in table(TWO)


@pytest.mark.parametrize("width", [72, 92, 100, 112, 200])
def test_flags_are_never_broken_and_facts_of_hidden_cells_are_shown(width):
    half = Interval(0.5, 0.4, 0.6)
    facts = column(
        flags=("small-entropy-reduction", "no-better-than-commonest"),
        flagged=True,
        estimated_accuracy=half,
        commonest_accuracy=half,
        entropy_reduction_null=0.11,
    )
    text = table(report(facts), width=width)
    for whole in ("small-entropy-reduction", "no-better-than-commonest", "0.50 (0.40–0.60)"):
        assert whole in text
    assert "11%" in text
    assert ("█" in text) == (width >= 112)
    assert max(map(len, text.splitlines())) <= width


def test_every_flag_that_fired_is_explained_once_and_warnings_follow():
    text = table(TWO, width=400)
    for flag in FLAGS:
        assert len(re.findall(f"^{flag}: .", text, flags=re.MULTILINE)) == 1
    quiet = report(column(), warnings=("column 'x': odd",))
    assert table(quiet).splitlines()[-1] == ("warning: column 'x': odd.")


@pytest.mark.parametrize("basis", ["exact-cells", None])
def test_what_exact_cells_say_is_never_told_without_what_it_rests_on(basis):
    found = Interval(0.71, 0.65, 0.77)
    facts = column(exact_accuracy=found, hidden_exact_cells=212, accuracy_basis=basis)
    name, last = table(report(facts), width=400).splitlines()[-2:]
    assert name == "job:"
    assert last.startswith("- Tested on 212 held-out exact cells: 0.71 (0.65–0.77) correct. ")
    assert ("as the schema says" in last) == (basis is not None)
    assert ("set `exact_cells: random` in the schema" in last) == (basis is None)
    assert ("easy cases" in last) == (basis is None)


def test_where_rows_were_looked_up_exact_cells_give_no_advice():
    facts = column(exact_accuracy=Interval(0.7, 0.6, 0.8), accuracy_basis="audit")
    last = table(report(facts), width=400).splitlines()[-1]
    assert "if exact cells are a random sample." in last
    assert "schema" not in last


@pytest.mark.parametrize("taken", [True, False])
def test_what_was_fitted_is_told_with_both_audits_and_whether_it_was_taken(taken):
    uniform, fitted = Interval(0.4, 0.3, 0.5), Interval(0.5, 0.4, 0.6)
    fit = FittedMechanism((2.1, 0.7, 0.7), taken, uniform, fitted)
    facts = report(column(fitted_mechanism=fit))
    last = table(facts, width=400).splitlines()[-1]
    for said in ("2.1, 0.7, 0.7", "0.50 (0.40–0.60)", "0.40 (0.30–0.50)"):
        assert said in last
    assert ("not used" in last) == (not taken)
    [row] = csv.DictReader(io.StringIO(render(page(facts), "csv")))
    assert (row["fitted_weights"], row["fitted_taken"]) == ("2.1;0.7;0.7", str(taken).lower())
    assert (row["fitted_accuracy_value"], row["unfitted_accuracy_value"]) == ("0.5", "0.4")
    even = FittedMechanism((1.0, 1.0, 1.0), taken=False, uniform=uniform, fitted=None)
    assert "exact cells show uniform exclusions" in table(report(column(fitted_mechanism=even)))


NASTY = [
    "a\nb",
    "a\r\nb",
    "\x1b[31mred",
    "a\tb",
    "a\u2028b",
    "a\x85b",
    "\u202egnp.exe",
    "\x07",
    "a\0b",
]


@pytest.mark.parametrize("name", NASTY)
@pytest.mark.parametrize("color", [True, False])
def test_a_name_cannot_steer_the_terminal_or_break_its_line(name, color):
    facts = report(column(name), column("ward"), warnings=(f"column {name}",))
    text = re.sub(r"\x1b\[[0-9;]*m", "", table(facts, color=color))
    assert printable(text)
    assert len(text.splitlines()) == len(
        table(report(column("x"), column("ward"), warnings=("y",)), width=None).splitlines()
    )


@pytest.mark.parametrize("width", [72, 80, 99, 100, 120, 200])
def test_a_long_name_is_folded_within_the_width_and_nothing_of_it_is_lost(width):
    text = table(report(column("q" * 500), column("ward")), width=width)
    assert text.count("q") == 500
    assert max(map(len, text.splitlines())) <= width
    assert "imputed" in text


LONG = "a_rather_long_column_name_of_a_survey_question"


@pytest.mark.parametrize("width", [40, 60, 72, 80, 100, 120])
@pytest.mark.parametrize("cfs", [1, 4, 12])
def test_no_width_loses_a_column_and_lines_are_stacked_where_they_do_not_fit(width, cfs):
    interval = Interval(0.5, 0.4, 0.6)
    known = {
        "estimated_accuracy": interval,
        "hidden_cells": 9,
        "commonest_accuracy": Interval(0.45, 0.4, 0.5),
        "entropy_reduction_null": 0.11,
        "flags": ("no-better-than-commonest", "exclusions-not-uniform"),
    }
    names = [LONG, *(f"cf{number}" for number in range(1, cfs))]
    facts = report(*(column(name, **known) for name in names))
    lines = table(facts, width=width).splitlines()
    assert max(map(len, lines)) <= width
    lines = lines[lines.index("") :]
    head = next(number for number, line in enumerate(lines) if line.startswith(LONG[:10]))
    headings = " ".join(lines[:head]).split()
    shown = ["CF", "values", "reduction", "shuffled", "accuracy", "baseline", "flags", "action"]
    assert [word for word in headings if word != "entropy"] == shown
    body = " ".join(lines[head : lines.index("", head)])
    for cell in ("67%", "11%", "0.50 (0.40–0.60)", "0.45", *known["flags"], "imputed"):
        assert body.count(cell) == cfs
    assert not any("Not shown" in line for line in lines)


def test_over_and_underconfidence_are_told_where_they_are_clear():
    def off(name, *by):
        return column(name, calibration=Calibration(0.1, Interval(*by), (), ""))

    facts = report(
        off("a", 0.06, 0.03, 0.09),
        off("b", 0.06, -0.01, 0.13),
        off("c", -0.04, -0.06, -0.02),
        off("d", 0.08, 0.05, 0.11),
        off("e", 0.004, 0.001, 0.007),
    )
    than = "often than their confidence says."
    assert page(facts).notes == [
        f"a:\n- Overconfident by 0.06 (0.03–0.09): imputed values are correct less {than}",
        f"c:\n- Underconfident by 0.04 (0.02–0.06): imputed values are correct more {than}",
        f"d:\n- Overconfident by 0.08 (0.05–0.11): imputed values are correct less {than}",
    ]


@pytest.mark.parametrize("width", [1, 20, 39])
def test_a_terminal_that_is_too_narrow_gets_the_narrowest_table_there_is(width):
    narrowest = table(TWO, width=40)
    assert table(TWO, width=width) == narrowest
    for fact in ("67%", "0.90", "kept", "imputed"):
        assert fact in narrowest


def test_markdown_is_a_table_in_which_underscores_are_escaped_only_where_they_must():
    assert cells_of_markdown(markdown(TWO)) == [
        ["CF", "values", "entropy", "reduction", "conf.", "flags", "action"],
        ["job", "3", "0.69 → 0.23", "67%", "0.90", ", ".join(FLAGS), "kept"],
        ["ward", "40", "0.69 → 0.23", "67%", "0.90", "-", "imputed"],
    ]
    assert "| heart_rate_2 |" in markdown(report(column("heart_rate_2")))


@given(st.text(alphabet="ab_*`|\\<>[]()!&#~-:;. \n", min_size=1) | st.text(min_size=1))
@example("a|b")
@example("a\\|b")
@example("\\")
@example("__init__")
@example("*a* **b** `c` <script> [x](y) &lt; ~~d~~")
@example("a\nb\r\n| c |")
def test_any_name_comes_back_from_markdown_as_it_is_printed(name):
    text = markdown(report(column(name), column("ward")))
    escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    assert printable(text)
    rows = cells_of_markdown(text)
    assert [row[0] for row in rows] == ["CF", escaped.strip(" "), "ward"]
    assert {len(row) for row in rows} == {7}


def test_neither_a_warning_nor_a_method_in_the_title_becomes_markup():
    text = markdown(report(column(), warnings=("column '<b>*x*': `y`",)))
    html = MarkdownIt("commonmark").enable("table").render(text)
    assert "<p>warning: column '&lt;b&gt;*x*': `y`.</p>" in html
    facts = Report("0.1.0", 9, {"method": "<b>*x*"}, (column(),))
    assert paragraphs_of_markdown(markdown(facts)) == ["9 rows, 1 CF, method <b>*x*, none flagged"]


@given(REPORTS.filter(lambda facts: facts.columns))
def test_csv_holds_every_fact_of_every_cf(facts):
    rows = list(csv.DictReader(io.StringIO(render(page(facts), "csv"), newline="")))
    assert len(rows) == len(facts.columns)
    for row, one in zip(rows, facts.columns, strict=True):
        assert list(row) == list(rows[0])
        assert set(row) >= CONTRACT_COLUMN - {"estimated_accuracy"} | {
            f"{name}_{part}"
            for name in ("estimated_accuracy", "gain", "confident_accuracy")
            for part in ("value", "low", "high")
        }
        assert row["name"] == one.name
        assert row["flags"] == ";".join(one.flags)
        assert row["flagged"] == ("true" if one.flagged else "false")
        assert int(row["exact_cells"]) == one.exact_cells
        assert float(row["entropy_end"]) == one.entropy_end
        share = one.commonest_share
        assert row["commonest_share"] == ("" if share is None else repr(share))
        accuracy = one.estimated_accuracy
        assert row["estimated_accuracy_low"] == ("" if accuracy is None else repr(accuracy.low))


def test_csv_is_a_line_for_every_cf_and_json_the_report_and_both_end_their_lines():
    text = render(page(TWO), "csv")
    assert "\r" not in text
    assert [line.split(",")[0] for line in text.split("\n")] == ["name", "job", "ward", ""]
    assert Report.from_json(render(page(TWO), "json"), name="r") == TWO
    assert render(page(TWO), "json").endswith("}\n")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(sorted({*GOOD, *CONTRACT_COLUMN} - {"columns"})), JSON)
@example("flags", ["\x1b[31m"])
@example("action", "\x1b[2J")
@example("name", "\x1b]0;title\x07")
@example("rows", 10**4000)
@example("mean_confidence", 1e308)
def test_a_forged_fact_is_refused_or_shown_without_harm(key, value):
    facts = json.loads(json.dumps(GOOD))
    (facts if key in facts else facts["columns"][0])[key] = value
    try:
        read = Report.from_json(json.dumps(facts), name="r")
    except DataError:
        return
    assert Report.from_json(read.to_json(), name="r") == read
    assert printable(table(read))
    assert printable(markdown(read))
    assert render(page(read), "csv").startswith("name,")


def test_values_ruled_out_groups_and_powers_are_told_as_far_as_they_are_recorded():
    values = tuple(ValueShare(label, 0.5, 0.5) for label in ("flu", "a\x1bb", None))
    facts = report(column(impossible_values=(1, 2, 3), values=values))
    [note, _] = page(facts).notes
    assert note == "job:\n- Ruled out too often: flu, a\\x1bb, value 3."
    many = [
        replace(column(), name=f"c{place}", calibration_power=0.5 * (place + 1))
        for place in range(3)
    ]
    said = page(replace(report(*many), groups=1312)).notes
    assert (
        "Rows belong to 1,312 groups. Each group was kept in one fold and counts as one row."
    ) in said
    assert "c0:\n- Calibration lowered the confidences (power 0.50)." in said
    assert "c2:\n- Calibration raised the confidences (power 1.50)." in said
    assert not any(note.startswith("c1") for note in said)


def test_what_the_table_does_not_show_is_said_in_words():
    right = Interval(0.97, 0.95, 0.99)
    parts = (Part("graph", -1.0, 0.25), Part("net", -2.0, 0.0), Part("boost", -1.0, 0.75))
    facts = report(
        column(
            confident=Confident(0.9, right),
            low_confidence_cells=84,
            suspect_cells=2,
            impossible_values=(1, 3),
            method="auto",
            parts=parts,
            cautious_blend=True,
        ),
        column("ward", suspect_cells=1, wrong_cells_most=0.0281, wrong_cells_cost=0.352),
        column("bed", wrong_cells_most=0.0281, wrong_cells_cost=0.352),
    )
    facts = Report("0.1.0", 9, {"min_confidence": 0.6, "method": "auto"}, facts.columns)
    assert table(facts, width=200).splitlines()[0] == "9 rows, 3 CFs, method auto, none flagged"
    allowed = "get under 1 % of the estimate."
    assert page(facts).notes == [
        (
            "job:\n- Method auto blended boost 75%, graph 25%.\n"
            "- Exclusions are not random, so held-out cells can hardly rank the methods. The blend was "
            "made more cautious.\n"
            "- Ruled out too often: value 1, value 3.\n"
            "- 84 cells left empty, with a confidence below 0.6. About 0.97 (0.95–0.99) of the imputed "
            "cells are correct.\n"
            f"- 2 suspect cells: the values that they allow {allowed}"
        ),
        (
            f"ward:\n- 1 suspect cell: the values that it allows {allowed} Up to 2.8 % of the cells may "
            "be wrong, which could cost 35 % of their information."
        ),
        (
            "To list the rows of these cells, impute again with --diagnostics FILE, then add --rows "
            "to this command."
        ),
    ]
    listed = replace(facts, sources=Sources(diagnostics="cells.csv"))
    assert page(listed).notes[-1] == (
        "To list the rows of these cells, add --rows. It reads cells.csv."
    )


def test_an_accuracy_that_is_not_known_says_why_and_others_what_they_rest_on():
    half, why = Interval(0.5, 0.4, 0.6), "exclusions are not random (audit it)"
    known = {"accuracy_basis": "uniform", "estimated_accuracy": half, "hidden_cells": 9}
    unknown = {"accuracy_basis": "none", "accuracy_reason": why, "hidden_cells": 9}
    facts = report(column("a", **known), column("b", **unknown), column("c", **unknown))
    text = table(facts, width=200)
    assert text.count("not known") == 2  # lines of the table
    assert page(facts).notes == [
        "Next, for a, b, c: `cfl audit OUT --draw 100 --out rows.csv`.",
        "The accuracy of b, c can't be estimated: exclusions are not random (audit it).",
        "Accuracies are valid if every wrong value is equally likely to be ruled out (uniform).",
    ]
    both = report(column("a", **known), column("d", **{**known, "accuracy_basis": "mechanism"}))
    assert page(both).notes[2] == (
        "The accuracy of d is valid if cells follow the `mechanism` in the schema (mechanism)."
    )
    advice = "Another method may predict the flagged CFs better: try --method auto."
    biased = column(flagged=True, flags=("exclusions-not-uniform",), **unknown)
    useless = column(flagged=True, flags=("no-better-than-commonest",), **known)
    assert advice not in page(report(biased)).notes
    assert advice in page(report(biased, useless)).notes
    none = {"accuracy_basis": "none", "accuracy_reason": "no cells were held out (--folds 0)"}
    assert page(report(column("a", **none), column("b", **none))).notes == [
        "Next, for a, b: `--folds auto`.",
        "Accuracies can't be estimated: no cells were held out (--folds 0).",
    ]


def test_the_bias_that_a_cf_withstands_is_said_below_its_name():
    biases = {"a": (1.72, 2.1), "b": (1.3, None), "c": (100.0, 3.0)}
    facts = report(
        *(column(n, break_even_bias=b, unnoticed_bias=u) for n, (b, u) in biases.items()),
        column("d", accuracy_under_bias=Interval(0.5, 0.25, 0.75)),
    )
    facts = replace(facts, settings={"bias": 1.5})
    better = "It beats the baseline unless some wrong values are ruled out over"
    same = "that is the same in all rows would"
    assert page(facts).notes == [
        (
            f"a:\n- {better} 1.7 times as often as other values. A bias above 2.1 {same} have been "
            "detected."
        ),
        f"b:\n- {better} 1.3 times as often as other values. A bias {same} not have been detected.",
        (
            "d:\n- If some wrong values are ruled out up to 1.5 times as often as other values "
            "(--bias 1.5), the accuracy is 0.25–0.75."
        ),
    ]


@given(st.text(alphabet="ab_*`|\\<>[]()!&#~-+=:;. 1\n", min_size=1))
@example("# a")
@example("1. a")
@example("    a")
@example("- a")
@example("> a")
@example("---")
def test_any_name_comes_back_from_a_note_in_markdown(name):
    facts = report(column(name, suspect_cells=1))
    [title, heading, note, _] = paragraphs_of_markdown(markdown(facts))
    escaped = name.replace("\n", "\\n").lstrip(" ")
    assert title == "1,234 rows, 1 CF, none flagged"
    assert heading == f"{escaped}:"
    assert note == "1 suspect cell: the values that it allows get under 1 % of the estimate."


DRIFT = Drift(
    cells=400,
    loss=0.091,
    loss_at_fitting=0.06,
    limit=0.07,
    error=0.006,
    expected=0.061,
    expected_at_fitting=0.06,
    least_rise=0.02,
    evidence=15_000.0,
    alarm_at=5000.0,
    alarm=True,
    drifted_since=12,
)


def batch(*columns, **facts):
    about = {"rows_judged": 1234, "new_categories": {}, "out_of_range": {}, "number": 12}
    return report(*columns, batch=BatchFacts(**about | facts, model="m", checksum="b"))


def shown(facts, width=2000):
    return render(page(facts), "table", width=width)


def test_figures_at_fitting_stand_beside_those_of_the_batch():
    facts = column(
        estimated_accuracy=Interval(0.7, 0.6, 0.8),
        fitting_accuracy=Interval(0.9, 0.85, 0.95),
        drift=DRIFT,
    )
    for width in (72, 80, 120):
        text = shown(batch(facts), width)
        assert "at fitting" in text
        assert "0.70 (0.60–0.80) 0.90 (0.85–0.95)" in text
        assert max(map(len, text.splitlines())) <= width
    assert "0.0600 → 0.0910" in text
    assert text.startswith("1,234 rows of batch 12, 1 CF, none flagged")
    assert shown(batch(facts, number=None)).startswith("1,234 rows of a batch")
    assert "at fitting" not in shown(report(column()))


def test_a_drifted_cf_is_told_with_its_losses_and_if_the_rows_are_harder():
    text = shown(batch(column(flags=("drifted",), flagged=True, drift=DRIFT)))
    assert (
        "job:\n- New cells are predicted worse than those at fitting. Loss: 0.0600 → 0.0910 "
        "± 0.0060, evidence 1 : 15,000.\n- The model does not find these rows harder"
    ) in text
    later = shown(batch(column(flags=("drifted",), drift=DRIFT), number=14))
    assert "those at fitting since batch 12. Loss" in later
    harder = Drift(**{**vars(DRIFT), "expected": 0.085})
    text = shown(batch(column(flags=("drifted",), drift=harder)))
    assert "The model finds these rows harder, which explains 0.0250 of the rise." in text


def test_what_cannot_be_judged_or_shown_is_told():
    blind = Drift(**{**vars(DRIFT), "least_rise": None})
    text = shown(
        batch(
            column(drift=DRIFT),
            column("ward", drift=blind),
            column("unit", drift_reason="no cells were held out at fitting"),
        )
    )
    assert "could show without earlier ones, approximately: job 0.0200." in text
    assert "this one is too small to show a change of ward." in text
    assert "Drift was not evaluated for unit: no cells were held out at fitting." in text


def test_a_sample_and_shares_of_unusual_cells_are_told():
    many = {f"of{place}": place / 100 for place in range(1, 8)}
    text = shown(batch(column(), new_categories={"region": 0.02}, out_of_range=many))
    assert "Share of the rows with new categories: region 2.0 %." in text
    assert "of7 7.0 %, of6 6.0 %, of5 5.0 %, of4 4.0 %, of3 3.0 %, 2 other columns less." in text
    assert "under 0.1 %" in shown(batch(column(), out_of_range={"age": 0.0002}))
    assert "Figures were measured on a sample of 20 rows." in shown(batch(column(), rows_judged=20))
    assert "Figures were" not in shown(batch(column()))


@pytest.mark.parametrize("drift", [DRIFT, None])
def test_csv_has_the_facts_of_drift_one_by_one(drift):
    [row] = csv.DictReader(io.StringIO(render(page(batch(column(drift=drift))), "csv")))
    assert row["drift_loss"] == ("0.091" if drift else "")
    assert row["drift_alarm"] == ("true" if drift else "")
    assert "fitting_accuracy_low" in row
    assert "drift" not in row


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
    assert "correct cells of unusual rows" in note
    rows = [int(one["row"]) for one in csv.DictReader(io.StringIO(comma_separated(found)))]
    assert rows == [7, *(40 - n for n in range(12))]
    assert [one["row"] for one in json.loads(json_text(found))["cells"]] == rows


def test_without_cells_there_is_no_empty_table():
    found = rows_page(report(), listed())
    assert as_table(found) == as_markdown(found) == f"{found.title}\n"
    assert found.title.endswith("0 cells to look at")
