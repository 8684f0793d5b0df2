"""A check finds everything, whatever else is wrong, and says what a run costs if nothing is."""

import json

import pandas as pd
import polars as pl

from cfl_cli.commands.check.job import check
from cfl_cli.schema.model import Schema

SCHEMA = Schema(
    columns={
        "x": {"role": "ordinary", "type": "numeric"},
        "flat": {"role": "ordinary", "type": "categorical"},
        "cf": {"role": "complementary", "values": ["a", "b", "c"]},
    },
    settings={"k": 3},
)
TABLE = pl.DataFrame(
    {"x": [str(n * n % 97) for n in range(30)], "flat": "u", "cf": list("abc") * 10}
)


def test_a_table_that_fits_has_a_plan_and_problems_hide_no_warnings():
    found = check(TABLE, SCHEMA)
    assert found.problems == ()
    assert [one.code for one in found.warnings] == ["constant"]
    assert found.plan.rows == 30
    bad = TABLE.with_columns(
        x=pl.Series(["no number", *TABLE["x"][1:]]), cf_imputed=pl.lit("taken")
    )
    found = check(bad, SCHEMA)
    assert [one.code for one in found.problems] == ["column-name", "not-a-number"]
    assert [one.code for one in found.warnings] == ["constant"]
    assert found.plan is None


def test_five_rows_are_too_few_whatever_k_is():
    found = check(TABLE.head(3), SCHEMA)
    [few] = [one for one in found.problems if one.code == "few-rows"]
    assert few.text == (
        "3 rows are too few to estimate from: use a fitted model (Model.apply), or add rows"
    )
    assert "set k to 29 or less" in check(TABLE, SCHEMA, k=30).problems[0].text


def test_json_has_the_same_for_programs():
    bad = TABLE.with_columns(x=pl.Series(["1,5", *TABLE["x"][1:]]))
    facts = json.loads(check(bad, SCHEMA).to_json())
    [problem] = facts["problems"]
    assert (
        problem.items()
        >= {
            "column": "x",
            "cause": "decimal",
            "count": 1,
            "rows": [1],
            "example": "1,5",
            "fix": 'set decimal: ","',
            "patch": {"columns": {"x": {"decimal": ","}}},
        }.items()
    )
    assert facts["plan"] is None
    assert json.loads(check(TABLE, SCHEMA).to_json())["plan"]["rows"] == 30


def test_columns_of_one_name_are_a_problem_and_no_error():
    twice = pd.concat([TABLE.to_pandas(), TABLE.to_pandas()[["x"]]], axis=1)
    [found] = check(twice, SCHEMA, name="t").problems
    assert (found.code, found.text) == (
        "duplicate-column",
        "t: duplicate column 'x': rename one of them",
    )
