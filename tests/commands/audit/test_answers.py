"""What an output answers, with and without its schema."""

from dataclasses import replace

import polars as pl
import pytest
from builders.audits import SCHEMA, VALUES, facts, output, table

from cfl_cli.commands.audit.job import read_answers
from cfl_cli.errors import DataError, UsageError
from cfl_cli.schema.model import Schema


def soft(frame):
    """Return the same answers as confidences."""
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
        (table().drop("job_imputed"), facts(), None, "no answers for 'job': expected column"),
        (table(), facts(domain_size=4), SCHEMA, "has 4 values by its report and 3 by the schema"),
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
