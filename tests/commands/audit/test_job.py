import csv
import io
import json
from collections import Counter

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from builders.audits import SCHEMA, facts, filled, output, table, truth

from cfl_cli.cli.pages import render, report
from cfl_cli.commands.audit.job import audit, draw, read_answers, write_back
from cfl_cli.commands.audit.work import page
from cfl_cli.errors import DataError, SchemaError, UsageError
from cfl_cli.trust.intervals import Interval
from cfl_cli.trust.report import Confident, share


def test_the_table_to_check_has_row_numbers_keys_and_an_empty_column_per_cf():
    drawn = draw(output(), 5, keys=["id"])
    assert drawn.frame.columns == ["cfl_row", "id", "job", "pet", "cfl_draw"]
    assert drawn.frame["job"].null_count() == drawn.frame["pet"].null_count() == 5
    rows = drawn.frame["cfl_row"].to_list()
    assert rows == sorted(rows)
    assert drawn.frame["id"].to_list() == [f"P{row - 1:03}" for row in rows]
    assert drawn.of == 40
    shown = draw(output(), 5, cfs=["job"], show_answers=True).frame
    assert shown.columns == ["cfl_row", "job", "job_imputed", "cfl_draw"]
    assert shown["job_imputed"].to_list() == [table()["job_imputed"][row - 1] for row in rows]


def test_the_same_seed_draws_the_same_rows_and_fewer_of_them_are_among_more():
    ten = draw(output(), 10).frame["cfl_row"].to_list()
    assert draw(output(), 10, cfs=["pet"]).frame["cfl_row"].to_list() == ten
    assert {*ten} < {*draw(output(), 20).frame["cfl_row"].to_list()}
    assert draw(output(), 10, seed=1).frame["cfl_row"].to_list() != ten


def test_other_answers_draw_other_rows_so_that_rows_learned_from_are_not_favored():
    assert (
        not draw(output(), 10).frame["cfl_row"].equals(draw(output(wrong=9), 10).frame["cfl_row"])
    )


def test_every_row_is_drawn_about_as_often():
    one = output()
    times = Counter(
        row for seed in range(400) for row in draw(one, 10, seed=seed).frame["cfl_row"].to_list()
    )
    spread = np.array([times[row + 1] for row in range(40)])
    chi_square = ((spread - 100) ** 2 / 75).sum()  # variance of a count: 400 · ¼ · ¾
    assert chi_square < 65  # 39 expected, 65 in one case of 200


def test_rows_without_an_answer_are_not_drawn_and_not_counted():
    frame = table().with_columns(
        pl.when(pl.int_range(40) < 25).then(pl.col("job_imputed")).otherwise(None)
    )
    confident = Confident(0.6, Interval(0.7, 0.6, 0.8))
    one = read_answers(frame, facts(confident=confident), name="o")
    drawn = draw(one, 20, cfs=["job"])
    assert (drawn.of, max(drawn.frame["cfl_row"]) <= 25) == (25, True)
    found = audit(one, {"f": filled(drawn.frame)}).audits["job"]
    assert (found.answers, found.drawn, found.checked) == (25, 20, 20)
    assert found.estimate == confident.accuracy
    assert found.former_accuracy == Interval(0.9, 0.8, 0.95)
    both = audit(one, {"f": filled(draw(one, 20).frame)}).audits["job"]
    assert both.drawn == both.checked < 20


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rows": 0}, "rows=0: expected 1 to 40"),
        ({"rows": 41}, "rows=41: expected 1 to 40"),
        ({"keys": ["ID"]}, r"keys='ID': not a column of out.csv \(did you mean 'id'\?\)"),
        ({"keys": ["job"]}, "keys='job': the file for the audit already has a column of this name"),
        (
            {"keys": ["pet_imputed"]},
            "keys='pet_imputed': holds imputed values: use show_answers=True",
        ),
        ({"keys": ["id", "id"]}, "keys='id': named twice"),
        ({"cfs": ["dog"]}, "cfs='dog'"),
    ],
)
def test_a_draw_that_makes_no_sense_is_refused(options, words):
    with pytest.raises(UsageError, match=words):
        draw(output(), **{"rows": 5, **options})


def test_the_audit_counts_what_is_right_and_the_report_says_so():
    one = output()
    drawn = draw(one, 20).frame
    rows = drawn["cfl_row"].to_list()
    right = sum(row > 10 for row in rows)  # the first ten answers are wrong
    found = audit(one, {"f": filled(drawn)})
    job = found.audits["job"]
    assert (job.answers, job.drawn, job.checked, job.empty, job.right) == (40, 20, 20, 0, right)
    assert job.accuracy == share(right, 20, 40)
    assert (job.estimate, job.former_basis) == (Interval(0.9, 0.8, 0.95), None)
    column, pet = found.report.columns
    assert (column.estimated_accuracy, column.accuracy_basis) == (job.accuracy, "audit")
    assert column.audit == job
    assert (pet.audit.right, pet.audit.estimate, pet.audit.estimate_held) == (20, None, None)
    assert json.loads(found.to_json())["columns"][0]["right"] == right


def test_an_audit_leaves_nothing_that_rests_on_how_exclusions_came_about():
    bias = {"break_even_bias": 1.4, "unnoticed_bias": 3.0}
    one = output(**bias, accuracy_under_bias=Interval(0.9, 0.6, 1.0), accuracy_basis="uniform")
    column, _ = audit(one, {"f": filled(draw(one, 20).frame)}).report.columns
    assert (column.break_even_bias, column.unnoticed_bias, column.accuracy_under_bias) == (
        None,
    ) * 3
    assert column.audit.former_basis == "uniform"


def test_a_second_audit_keeps_what_was_estimated_before_the_first():
    one = output()
    drawn = filled(draw(one, 20).frame)
    once = audit(one, {"f": drawn})
    twice = audit(read_answers(table(), once.report, name="o"), {"f": drawn})
    assert twice.audits["job"].former_accuracy == Interval(0.9, 0.8, 0.95)
    assert twice.audits["job"].estimate == Interval(0.9, 0.8, 0.95)
    assert twice.audits["pet"].estimate is None


def test_rows_left_empty_or_deleted_are_counted_alike():
    one = output()
    drawn = filled(draw(one, 20).frame)
    some = pl.int_range(20) < 3
    empty = drawn.with_columns(job=pl.when(some).then(None).otherwise(pl.col("job")))
    deleted = drawn.filter(~some)
    left = audit(one, {"f": empty}).audits["job"]
    assert (left.checked, left.empty) == (17, 3)
    assert audit(one, {"f": deleted}).audits["job"] == left
    assert left.if_empty_wrong == share(left.right, 20, 40)


def test_two_draws_count_a_row_once():
    one = output()
    first, second = (filled(draw(one, 15, seed=seed).frame) for seed in (0, 1))
    found = audit(one, {"a": first, "b": second}).audits["job"]
    rows = {*first["cfl_row"], *second["cfl_row"]}
    assert len(rows) < 30
    assert found.drawn == found.checked == len(rows)
    assert found.right == sum(row > 10 for row in rows)
    pasted = audit(one, {"c": pl.concat([first, second]).unique("cfl_row")}).audits["job"]
    assert pasted == found


def test_a_cf_of_which_nothing_was_found_out_stays_as_it_was():
    one = output()
    found = audit(one, {"f": filled(draw(one, 20).frame, pet=pl.lit(None))})
    assert (found.unchecked, [*found.audits]) == (("pet",), ["job"])
    assert found.report.columns[1] == one.report.columns[1]
    only = audit(one, {"f": filled(draw(one, 20).frame)}, cfs=["pet"])
    assert ([*only.audits], only.report.columns[0].audit) == (["pet"], None)


def test_cells_that_rule_out_what_is_true_are_counted_if_the_schema_is_known():
    frame = table().with_columns(job=pl.Series(truth(40)))  # every cell rules out the truth
    drawn = draw(read_answers(frame, facts(), name="o"), 20).frame
    without = audit(read_answers(frame, facts(), name="o"), {"f": filled(drawn)})
    assert without.audits["job"].contradicted is None
    known = audit(read_answers(frame, facts(), SCHEMA, name="o"), {"f": filled(drawn)})
    assert known.audits["job"].contradicted == 20


def test_a_larger_draw_holds_the_rows_drawn_so_far_and_makes_the_interval_as_narrow_as_wanted():
    one = output(n=2000, wrong=400)
    small = filled(draw(one, 100, seed=3).frame, n=2000)
    found = audit(one, {"f": small})
    assert found.larger.seed == 3
    assert found.larger.rows == 100 + found.audits["job"].more_rows
    large = draw(one, found.larger.rows, seed=3).frame
    assert {*small["cfl_row"]} <= {*large["cfl_row"]}
    new = filled(large.filter(~pl.col("cfl_row").is_in(small["cfl_row"].implode())), n=2000)
    both = audit(one, {"f": small, "g": new}).audits["job"]
    assert (both.checked, both.empty) == (found.larger.rows, 0)
    assert both.accuracy.high - both.accuracy.low == pytest.approx(0.05, abs=0.01)


def test_a_larger_draw_allows_for_rows_that_are_left_empty():
    one = output(n=2000, wrong=400)
    half = filled(draw(one, 100, cfs=["job"]).frame, n=2000).with_columns(
        job=pl.when(pl.int_range(100) % 2 == 0).then("job")
    )
    found = audit(one, {"f": half})
    assert found.larger.rows == 100 + 2 * found.audits["job"].more_rows


def test_no_larger_draw_is_named_where_none_holds_the_rows_or_none_is_needed():
    one = output()
    first, second = (filled(draw(one, 10, seed=seed).frame) for seed in (0, 1))
    assert audit(one, {"f": first}).larger is not None
    assert audit(one, {"f": first, "g": second}).larger is None
    assert audit(one, {"f": filled(draw(one, 40).frame)}).larger is None


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
    assert "job: 1 row left empty. The accuracy would be" in words
    assert f"For an interval 0.05 wide, check about {job.more_rows} (job) more rows." in words
    assert "pet: no imputed value was checked." in words
    assert max(map(len, text.splitlines())) <= 80


def test_an_estimate_that_missed_is_said_to_be_too_high():
    found = audited(wrong=35)
    assert "job: the estimate before the audit was too high. Do not" in render(page(found), "md")
    shown = " ".join(render(report.page(found.report), "table").split())
    assert "The estimate was 0.90 (0.80–0.95), which was too high." in shown


def test_the_page_says_how_to_draw_the_rows_to_check_more():
    one = output(n=400)
    found = audit(one, {"f": filled(draw(one, 20, seed=7).frame, n=400)})
    text = render(page(found), "md")
    assert f"draw={found.larger.rows}, seed=7 includes the rows that you already checked" in text
    assert "pass both tables with checked." in text
    facts = json.loads(render(page(found), "json"))
    assert facts["larger_draw"] == {"rows": found.larger.rows, "seed": 7}


def test_a_cf_without_a_column_is_said_not_to_be_audited():
    one = output()
    drawn = filled(draw(one, 20).frame).drop("pet")
    found = audit(one, {"f": drawn, "g": drawn})
    assert "pet: not audited, because f, g lacks its column." in render(page(found), "md")
    assert json.loads(render(page(found), "json"))["absent"] == ["pet"]
    assert "no column" not in render(page(audit(one, {"f": drawn}, cfs=["job"])), "md")


def test_a_cell_that_is_contradicted_may_be_an_exact_one():
    one = output()
    found = audit(one, {"f": draw(one, 40).frame.with_columns(job=pl.lit("farmer"))})
    words = (
        "job: In 8 rows the cell rules out the true value. Its exclusion or exact value is wrong."
    )
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
    assert f"- Accuracy by audit: {job.right} of 19 checked values are correct." in text
    assert "The estimate was 0.90 (0.80–0.95), which agrees." in text


def test_the_report_as_csv_has_the_audit_of_every_cf_or_empty_cells():
    found = audited()
    job, pet = csv.DictReader(io.StringIO(render(report.page(found.report), "csv")))
    assert (job["audit_checked"], job["accuracy_basis"]) == ("19", "audit")
    assert (pet["audit_checked"], pet["audit_accuracy_low"], pet["accuracy_basis"]) == ("", "", "")
    assert job.keys() == pet.keys()


OUTPUT = output()
DATA = table().select("id", "age", "job", "pet")
DRAWN = draw(OUTPUT, 10, cfs=["job"]).frame
CHECKED = audit(OUTPUT, {"f": filled(DRAWN)}).checked
ROWS = [row - 1 for row in DRAWN["cfl_row"]]


def expected():
    cells = DATA["job"].to_list()
    for row in ROWS:
        cells[row] = f"={truth(40)[row]}"
    return DATA.with_columns(job=pl.Series(cells))


def test_types_of_arrow_tables_stay_and_numbers_equal_their_text():
    arrow = DATA.with_columns(pl.col("age").cast(pl.Float32)).to_arrow()
    written, _ = write_back(arrow, OUTPUT, CHECKED, SCHEMA)
    assert isinstance(written, pa.Table)
    assert written.schema == arrow.schema
    assert written.column("job").to_pylist() == expected()["job"].to_list()
    texts = DATA.cast(pl.String)
    assert write_back(texts, OUTPUT, CHECKED, SCHEMA)[0].equals(expected().cast(pl.String))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (DATA.head(39), "39 rows, but out.csv has 40"),
        (DATA.reverse(), "row 1, column 'id' differs: rows are matched by their order"),
        (
            DATA.with_columns(age=DATA["age"] + (pl.int_range(40, eager=True) == 6)),
            "row 7, column 'age'",
        ),
        (DATA.rename({"age": "years"}), "its column 'years' is not in out.csv"),
        (DATA.drop("job"), "it has no column 'job'"),
    ],
)
def test_another_table_is_refused_without_showing_its_cells(data, words):
    with pytest.raises(DataError, match=r"^d: out\.csv was not made from this table") as error:
        write_back(data, OUTPUT, CHECKED, SCHEMA, name="d")
    assert words in str(error.value)
    assert "P0" not in str(error.value)


def test_the_output_itself_is_refused_with_the_way_out():
    words = r"^o: has imputed values in column 'job_imputed': pass the table that out\.csv was made from"
    with pytest.raises(DataError, match=words):
        write_back(table(), OUTPUT, CHECKED, SCHEMA, name="o")


def test_a_cf_without_a_mark_for_exact_cells_is_refused_with_the_ways_out():
    both = audit(OUTPUT, {"f": filled(draw(OUTPUT, 10).frame)}).checked
    with pytest.raises(SchemaError, match="column 'pet' has no mark for exact cells: add `exact`"):
        write_back(DATA, OUTPUT, both, SCHEMA)
