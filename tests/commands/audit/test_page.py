"""The page of an audit in every format, and what the report shows of it."""

import csv
import io
import json

import polars as pl
import pytest
from builders.audits import filled, output

from cfl_cli.cli.pages import render, report
from cfl_cli.commands.audit.job import audit, draw
from cfl_cli.commands.audit.work import page


def audited(wrong=6):
    one = output(wrong=wrong)
    drawn = filled(draw(one, 20).frame)
    empty = pl.when(pl.int_range(20) > 0).then(pl.col("job"))
    return audit(one, {"f": drawn.with_columns(job=empty, pet=pl.lit(None, pl.String))})


def test_the_table_shows_the_accuracy_beside_what_was_estimated():
    found = audited()
    text = render(page(found), "table", width=80)
    job = found.audits["job"]
    assert text.startswith("40 rows, 1 CF audited\n")
    line = next(line for line in text.splitlines() if line.startswith("job"))
    shown = f"{job.accuracy.value:.2f} ({job.accuracy.low:.2f}–{job.accuracy.high:.2f})"
    assert line.split()[1:4] == ["40", "19", str(job.right)]
    assert f"{shown} 0.90 (0.80–0.95) yes" in line
    words = " ".join(text.split())
    assert "job: 1 row left empty; were they all wrong, the accuracy would be" in words
    assert f"for an interval 0.05 wide, about: {job.more_rows} for job." in words
    assert "pet: no answer checked." in words
    assert max(map(len, text.splitlines())) <= 80


def test_an_estimate_that_missed_is_said_to_be_too_high():
    found = audited(wrong=35)
    assert "job: what was estimated without truth was too high; do not" in render(page(found), "md")
    shown = " ".join(render(report.page(found.report), "table").split())
    assert "0.90 (0.80–0.95) was estimated without truth, which was too high." in shown


def test_the_page_says_how_to_draw_the_rows_to_check_more():
    one = output(n=400)
    found = audit(one, {"f": filled(draw(one, 20, seed=7).frame, n=400)})
    text = render(page(found), "md")
    assert f"--draw {found.larger.rows} --seed 7 holds the rows drawn so far, as long as" in text
    facts = json.loads(render(page(found), "json"))
    assert facts["larger_draw"] == {"rows": found.larger.rows, "seed": 7}


def test_a_cf_without_a_column_is_said_not_to_be_audited():
    one = output()
    drawn = filled(draw(one, 20).frame).drop("pet")
    found = audit(one, {"f": drawn, "g": drawn})
    assert "pet: no column in f, g, not audited." in render(page(found), "md")
    assert json.loads(render(page(found), "json"))["absent"] == ["pet"]
    assert "no column" not in render(page(audit(one, {"f": drawn}, cfs=["job"])), "md")


def test_a_cell_that_is_contradicted_may_be_an_exact_one():
    one = output()
    found = audit(one, {"f": draw(one, 40).frame.with_columns(job=pl.lit("farmer"))})
    words = "job: in 8 rows the cell rules out what is true: its exclusion or exact value is wrong."
    assert words in render(page(found), "md")


def test_programs_get_every_fact():
    found = audited()
    [record] = csv.DictReader(io.StringIO(render(page(found), "csv")))
    job = found.audits["job"]
    assert (record["name"], record["right"], record["estimate_held"]) == (
        "job",
        str(job.right),
        "true",
    )
    assert float(record["if_empty_wrong_low"]) == job.if_empty_wrong.low
    assert json.loads(render(page(found), "json"))["unchecked"] == ["pet"]


@pytest.mark.parametrize("form", ["table", "md"])
def test_the_report_says_that_its_accuracy_comes_from_an_audit(form):
    found = audited()
    job = found.audits["job"]
    text = " ".join(render(report.page(found.report), form).split())
    assert (
        f"job: accuracy by audit: {job.right} of 19 answers that were drawn and looked up" in text
    )
    assert "0.90 (0.80–0.95) was estimated without truth, which agrees." in text


def test_the_report_as_csv_has_the_audit_of_every_cf_or_empty_cells():
    found = audited()
    job, pet = csv.DictReader(io.StringIO(render(report.page(found.report), "csv")))
    assert (job["audit_checked"], job["accuracy_basis"]) == ("19", "audit")
    assert (pet["audit_checked"], pet["audit_accuracy_low"], pet["accuracy_basis"]) == ("", "", "")
    assert job.keys() == pet.keys()
