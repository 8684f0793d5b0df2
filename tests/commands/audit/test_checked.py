from dataclasses import replace

import polars as pl
import pytest
from builders.audits import SCHEMA, VALUES, facts, filled, output, table

from cfl_cli.commands.audit.job import Draw, draw, read_answers, read_checked
from cfl_cli.errors import DataError, UsageError
from cfl_cli.schema.model import Schema

OUTPUT = output()
DRAWN = filled(draw(OUTPUT, 10).frame)
FIRST = DRAWN["cfl_row"][0]


def found(frame, **more):
    return read_checked({"f": frame, **more}, OUTPUT)[0].places.tolist()


def with_first(**cells):
    first = (
        DRAWN.head(1)
        .cast(pl.String)
        .with_columns(pl.lit(v, pl.String).alias(k) for k, v in cells.items())
    )
    return pl.concat([first, DRAWN.slice(1).cast(pl.String)])


def test_a_draw_is_written_in_words_and_read_again():
    draw_of = Draw(7, 100, "5f1c2ab9")
    assert str(draw_of) == "seed 7 rows 100 of 5f1c2ab9"
    assert Draw.parse(f" {draw_of} ") == draw_of
    for text in ("", "seed 7", "seed -1 rows 1 of 5f1c2ab9", f"seed {2**63} rows 1 of 5f1c2ab9"):
        assert Draw.parse(text) is None
    assert draw_of.rows(40).sum() == 40


@pytest.mark.parametrize(
    "frame",
    [
        DRAWN.reverse(),
        DRAWN.select(reversed(DRAWN.columns)),
        DRAWN.with_columns(note=pl.lit("was hard to find")),
        DRAWN.with_columns(pl.col("cfl_row").cast(pl.Float64)),
        with_first(cfl_row=f" {FIRST}.0 "),
        with_first(job=f"  {DRAWN['job'][0].upper()} "),
        pl.concat([DRAWN, DRAWN.head(2).clear(2)]),
    ],
)
def test_what_people_and_spreadsheets_do_to_a_file_does_not_matter(frame):
    assert found(frame) == found(DRAWN)


@pytest.mark.parametrize("cell", [None, "", "  ", "NA"])
def test_a_cell_that_is_left_empty_says_nothing(cell):
    missing_in = {"job": ("", "NA"), "pet": ("",)}.__getitem__
    places = read_checked({"f": with_first(job=cell)}, OUTPUT, missing_in=missing_in)[0].places
    assert (places >= 0).sum() == 9
    with pytest.raises(DataError, match="column 'pet': 'NA' is not"):
        read_checked({"f": with_first(pet="NA")}, OUTPUT, missing_in=missing_in)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (DRAWN.drop("cfl_row"), "f: no column 'cfl_row': pass a file that `draw` wrote"),
        (DRAWN.rename({"cfl_draw": "cfl draw"}), "no column 'cfl_draw' (did you mean 'cfl draw'?)"),
        (DRAWN.drop("job", "pet"), "f: no column of a CF: expected 'job', 'pet'"),
        (DRAWN.rename({"job": "jobb"}), "column 'jobb': not a CF (did you mean 'job'?)"),
        (DRAWN.with_columns(job=None, pet=None), "f: no true value was filled in"),
        (with_first(cfl_row="one"), "f: row 1, column 'cfl_row': 'one' is not a row number"),
        (with_first(cfl_row="1.5"), "'1.5' is not a row number"),
        (with_first(cfl_row=None), "an empty cell is not a row number"),
        (with_first(cfl_row="0"), "out.csv has no row 0"),
        (with_first(cfl_row="41"), "out.csv has no row 41"),
        (with_first(cfl_draw="by hand"), "column 'cfl_draw': has no record of the draw"),
        (pl.concat([DRAWN, DRAWN.tail(1)]), "occurs twice, in rows 10 and 11 of the file"),
        (with_first(job="nurs"), f"cfl_row {FIRST}, column 'job': 'nurs' is not a value of it"),
        (with_first(job="nurs"), "(did you mean 'nurse'?)"),
        (DRAWN.with_columns(job=pl.Series([[1]] * 10)), "'List(Int64)' is not a value"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_a_line(frame, words):
    with pytest.raises(DataError) as error:
        found(frame)
    assert words in str(error.value)


def test_a_row_that_was_not_drawn_is_refused():
    other = next(row for row in range(1, 41) if row not in DRAWN["cfl_row"])
    with pytest.raises(DataError, match=rf"f: cfl_row {other} was not drawn: remove the line"):
        found(with_first(cfl_row=str(other)))


def test_a_file_that_was_drawn_from_other_answers_is_refused_in_one_line():
    with pytest.raises(
        DataError, match=r"^f: the rows were drawn from a different output, not from out.csv: .*$"
    ):
        read_checked({"f": DRAWN}, output(wrong=9))


def test_files_may_share_rows_but_not_disagree_about_them():
    half = DRAWN.with_columns(job=pl.when(pl.int_range(10) < 5).then("job"))
    rest = DRAWN.with_columns(job=pl.when(pl.int_range(10) > 3).then("job"))
    assert found(half, g=rest) == found(DRAWN)
    with pytest.raises(
        DataError, match=rf"f: cfl_row {FIRST}, column 'job': another checked file has"
    ):
        read_checked({"g": DRAWN, "f": with_first(job="farmer")}, OUTPUT)


def test_a_row_that_is_twice_in_one_file_is_said_to_be_whatever_its_values():
    with pytest.raises(DataError) as error:
        found(pl.concat([DRAWN.cast(pl.String), with_first(job="farmer").head(1)]))
    [problem] = error.value.texts
    assert "occurs twice, in rows 1 and 11 of the file" in problem


def test_without_a_schema_a_value_that_was_never_answered_asks_for_it():
    plain = read_answers(table(), facts(), name="out.csv")
    with pytest.raises(DataError, match=r"'dog' is not among the imputed values.*or add schema$"):
        read_checked({"f": with_first(pet="dog")}, plain)
    assert read_checked({"f": with_first(pet="dog")}, OUTPUT)[1].places.max() == 1


def test_spellings_that_differ_by_case_alone_are_told_apart():
    frame = table().with_columns(pet_imputed=pl.Series(["Cat", "cat"] * 20))
    one = read_answers(frame, facts(), name="o")
    drawn = draw(one, 4, cfs=["pet"]).frame
    cats = read_checked({"f": drawn.with_columns(pet=pl.lit("cat"))}, one)[0]
    assert {*cats.places[cats.known].tolist()} == {cats.answers.values.index("cat")}
    with pytest.raises(DataError, match="'CAT' is not a value of it"):
        read_checked({"f": drawn.with_columns(pet=pl.lit("CAT"))}, one)


def test_many_problems_are_counted():
    with pytest.raises(DataError) as error:
        read_checked({"f": filled(draw(OUTPUT, 30).frame).with_columns(job=pl.lit("x"))}, OUTPUT)
    assert (len(error.value.texts), error.value.more) == (20, 10)


def soft(frame):
    confidences = {
        f"job__{value}": (frame["job_imputed"] == value).cast(pl.Float64) for value in VALUES
    }
    return frame.drop("job_imputed", "job_confidence").with_columns(**confidences)


def test_hard_columns_and_soft_ones_give_the_same_answers_and_fingerprint():
    hard = read_answers(table(), facts(), name="t")
    other = read_answers(soft(table()), facts(), name="t")
    assert hard.answers[0].texts.to_list() == other.answers[0].texts.to_list()
    assert hard.fingerprint == other.fingerprint
    assert hard.fingerprint != read_answers(table(wrong=9), facts(), name="t").fingerprint


def test_text_that_was_read_from_csv_gives_the_same_fingerprint():
    texts = table().cast(pl.String)
    assert read_answers(texts, facts(), name="t").fingerprint == output().fingerprint


def test_the_domain_is_known_from_the_schema_from_soft_columns_or_if_all_values_are_answered():
    job, pet = output().answers
    assert (job.values, job.is_whole, pet.values) == (
        ("clerk", "nurse", "farmer"),
        True,
        ("cat", "dog"),
    )
    assert job.candidates.sum() == 3 * 40 - 8  # eight cells rule out a value
    job, pet = output(schema=None).answers
    assert (job.values, job.is_whole, job.candidates) == (("clerk", "farmer", "nurse"), True, None)
    assert (pet.values, pet.is_whole) == (("cat",), False)
    job, _ = read_answers(soft(table(wrong=0)), facts(), name="t").answers
    assert (job.values, job.is_whole) == (("clerk", "nurse", "farmer"), True)


def test_an_empty_answer_is_none_and_a_cf_that_was_kept_has_none():
    frame = table().with_columns(job_imputed=pl.lit("").alias("job_imputed"))
    assert not read_answers(frame, facts(), name="t").answers[0].given.any()
    kept = read_answers(table(), facts(action="kept"), name="t")
    assert [answers.cf for answers in kept.answers] == ["pet"]
    with pytest.raises(UsageError, match="cfs='job': kept as observed"):
        kept.of(["job"])


def test_cfs_are_named_as_the_report_names_them():
    assert [answers.cf for answers in output().of(["pet"])] == ["pet"]
    with pytest.raises(
        UsageError, match=r"'jbo': not a CF in the report of out.csv \(did you mean"
    ):
        output().of(["jbo"])


@pytest.mark.parametrize(
    ("frame", "report", "schema", "words"),
    [
        (table().head(3), facts(), None, "3 rows, but its report has 40"),
        (table().drop("job_imputed"), facts(), None, "no imputed values of 'job': expected column"),
        (table(), facts(domain_size=4), SCHEMA, "has 4 values in its report and 3 in the schema"),
        (
            table(),
            facts(),
            Schema.parse(
                "version: 1\ncolumns:\n  age: {role: ordinary, type: numeric}\n"
                "  pet: {role: complementary, values: [cat, dog]}\n"
            ),
            "'job' is a CF of its report but not of the schema",
        ),
        (
            table().with_columns(job_imputed=pl.lit("smith")),
            facts(),
            SCHEMA,
            "column 'job_imputed': 'smith' is not a value of 'job'",
        ),
        (
            table().with_columns(job_imputed=pl.Series([[1]] * 40)),
            facts(),
            None,
            "column 'job_imputed' holds List",
        ),
        (
            soft(table()).with_columns(job__clerk=pl.lit("x")),
            facts(),
            None,
            "column 'job__clerk' does not hold a confidence in every row",
        ),
        (
            soft(table()).with_columns(job__note=pl.lit("x")),
            facts(),
            None,
            "or its schema, if other columns have such names",
        ),
    ],
)
def test_what_does_not_fit_its_report_or_schema_is_refused(frame, report, schema, words):
    with pytest.raises(DataError, match=r"^t: ") as error:
        read_answers(frame, report, schema, name="t")
    assert words in str(error.value)


def test_an_output_of_kept_cfs_alone_has_nothing_to_check():
    report = facts(action="kept")
    kept = replace(report, columns=tuple(replace(c, action="kept") for c in report.columns))
    with pytest.raises(DataError, match="every CF was kept as observed"):
        read_answers(table(), kept, name="t")
