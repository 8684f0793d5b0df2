import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from cfl_cli.commands.check.job import Checked, check, describe
from cfl_cli.encode.findings import Finding
from cfl_cli.run.cost import Cost, Plan
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


def test_a_column_whose_rows_share_cells_is_proposed_as_the_group():
    rng = np.random.default_rng(0)
    who, cells = np.tile(np.arange(60), 5), rng.choice(["a", "b", "c"], 60)
    table = pl.DataFrame({"x": rng.random(300), "flat": "u", "who": who, "cf": cells[who]})
    [shared] = [one for one in check(table, SCHEMA).warnings if one.code == "shared-cells"]
    assert shared.patch == {"group": "who"}
    assert shared.text.endswith("count as one: set `group: who`")


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
            "rows": [0],
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


def test_a_plan_in_words_says_every_number_and_warning():
    plan = Plan(12_345, 678, 3, 9, 2, 17, 1234.5, 98.76, 31.4, ())
    words = describe(Checked((), (Finding("odd", "odd", "even it", "x", warning=True),), plan))
    assert words.splitlines() == [
        "rows           12,345 (678 with distinct OFs)",
        "OFs            3, encoded as 9 features",
        "CFs            2 with 17 possible values",
        "memory, about  1,200 MB",
        "time, about    99 s with these settings",
        "model, about   31 MB",
        "warning: column 'x': odd: even it",
        "no problems and 1 warning found",
    ]


def test_a_time_that_may_be_far_off_has_a_range():
    plan = Plan(5, 5, 3, 9, 2, 17, 200.0, 90.0, None, (), factor=2.0)
    assert "time, about    90 s with these settings, mostly 45 to 180 s" in describe(
        Checked((), (), plan)
    )


@pytest.mark.parametrize(
    ("seconds", "others", "line"),
    [
        (90.0, {"auto": 300.0}, "auto: about 300 s, usually more accurate"),
        (90.0, {"auto": 9000.0}, None),
        (9000.0, {"graph": 90.0}, "graph: about 90 s, 100 times as fast; try it first"),
        (800.0, {"graph": 90.0}, None),
        (590.0, {"graph": 9.0}, None),
        (90.0, {"graph": 9.0, "auto": 300.0}, None),  # of boost, say
    ],
)
def test_what_graph_or_auto_would_take_is_said_where_it_helps_to_choose(seconds, others, line):
    costs = {name: Cost(one, 300.0) for name, one in others.items()}
    plan = Plan(5, 5, 3, 9, 2, 17, 200.0, seconds, None, (), others=costs)
    found = [one for one in describe(Checked((), (), plan)).splitlines() if "other" in one]
    assert found == ([f"other methods  {line}"] if line else [])


def test_graph_and_auto_are_foreseen_unless_one_is_the_method_or_cannot_be():
    assert [*check(TABLE, SCHEMA).plan.others] == ["auto"]
    assert [*check(TABLE, SCHEMA, method="auto").plan.others] == ["graph"]
    assert [*check(TABLE, SCHEMA, method="net").plan.others] == ["graph", "auto"]
    assert check(TABLE, SCHEMA, folds=0).plan.others == {}
    both = check(TABLE, SCHEMA, method="net", jobs=1).plan
    least, most = sorted(int(1e6 * one.memory_mb) for one in (both, both.others["auto"]))
    assert (
        "auto"
        not in check(
            TABLE, SCHEMA, method="net", jobs=1, max_memory=(least + most) // 2
        ).plan.others
    )
    facts = json.loads(check(TABLE, SCHEMA).to_json())["plan"]["others"]
    assert facts["auto"].keys() == {"seconds", "memory_mb"}
    alone = check(TABLE, SCHEMA, method="auto").plan
    assert facts["auto"]["seconds"] == pytest.approx(alone.seconds)


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.0, "0 s"), (0.0123, "0.012 s"), (59.9, "60 s"), (7654.0, "7,700 s")]
)
def test_a_time_is_said_to_two_digits(seconds, said):
    words = describe(Checked((), (), Plan(2, 2, 1, 1, 1, 2, 170.0, seconds, None, ())))
    assert f"time, about    {said} with" in words
    assert "model" not in words


def test_a_note_asks_how_exclusions_came_about_until_the_schema_says_so():
    [note] = check(TABLE, SCHEMA).notes
    assert "add `drawn: at-random`" in note
    assert json.loads(check(TABLE, SCHEMA).to_json())["notes"] == [note]
    known = {
        name: cf.model_copy(update={"drawn": "by-people"})
        for name, cf in SCHEMA.complementary.items()
    }
    said = SCHEMA.model_copy(update={"columns": {**SCHEMA.columns, **known}})
    assert check(TABLE, said).notes == ()
