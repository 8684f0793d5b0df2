"""An output of `impute` whose truth is known, made by hand."""

from dataclasses import replace

import polars as pl
from builders.reports import column, report

from cfl_cli.commands.audit import job as audit
from cfl_cli.schema.model import Schema
from cfl_cli.trust.intervals import Interval

VALUES = ["clerk", "nurse", "farmer"]
SCHEMA = Schema.parse("""\
version: 1
missing: ["", "NA"]
columns:
  age: {role: ordinary, type: numeric}
  job: {role: complementary, values: [clerk, nurse, farmer], separator: ";", exact: "="}
  pet: {role: complementary, values: [cat, dog]}
""")


def truth(n):
    return [VALUES[row % 2] for row in range(n)]


def table(n=40, wrong=10):
    answers = ["farmer"] * wrong + truth(n)[wrong:]
    return pl.DataFrame(
        {
            "id": [f"P{row:03}" for row in range(n)],
            "age": [20 + row for row in range(n)],
            "job": ["" if row % 5 else "farmer" for row in range(n)],
            "pet": ["dog"] * n,
            "job_imputed": answers,
            "job_confidence": [0.75] * n,
            "pet_imputed": ["cat"] * n,
            "pet_confidence": [1.0] * n,
        }
    )


def facts(n=40, **job):
    estimate = {"estimated_accuracy": Interval(0.9, 0.8, 0.95)}
    pet = column("pet", domain_size=2)
    return replace(report(column("job", **{**estimate, **job}), pet), rows=n)


def output(n=40, wrong=10, schema=SCHEMA, **job):
    return audit.read_answers(table(n, wrong), facts(n, **job), schema, name="out.csv")


def filled(drawn, n=40, **cells):
    rows = (drawn["cfl_row"] - 1).to_list()
    jobs = [truth(n)[row] for row in rows]
    return drawn.with_columns(
        job=pl.Series(jobs), **{"pet": pl.lit("cat"), **cells} if "pet" in drawn.columns else cells
    )
