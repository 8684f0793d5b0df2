"""A schema is right as a whole, or says everything that is wrong with it and where."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from cfl_cli.errors import SchemaError
from cfl_cli.schema import Complementary, Ignored, Ordinary, Schema, Settings

EXAMPLE = """\
version: 1
missing: ["", "NA"]                    # cells that hold nothing; default [""]
columns:
  age:       {role: ordinary, type: numeric}
  housing:   {role: ordinary, type: binary, values: [no, yes]}      # text, never booleans
  region:    {role: ordinary, type: categorical}
  job:       {role: complementary, values: [clerk, nurse, teacher, farmer]}
  diagnosis: {role: complementary, values: [A, B, C, D], separator: ";", exact: "="}
  id:        {role: ignore}            # columns not listed are ignored too
settings: {k: 20, iterations: 100, gamma: 0.25, ridge: 0.3, seed: 0}
"""

GOOD = {
    "age": {"role": "ordinary", "type": "numeric"},
    "job": {"role": "complementary", "values": ["clerk", "nurse"]},
}


def problems(build, *args, **keywords):
    with pytest.raises(SchemaError) as caught:
        build(*args, **keywords)
    return list(caught.value.problems)


def parsing(text):
    return problems(Schema.parse, text, "s.yml")


def with_columns(*lines, head="version: 1"):
    """Write a schema whose columns start in line 3."""
    return "\n".join([head, "columns:", *(f"  {line}" for line in lines), ""])


AGE = "age: {role: ordinary, type: numeric}"
JOB = "job: {role: complementary, values: [clerk, nurse]}"


def test_the_example_of_the_contract_is_read():
    schema = Schema.parse(EXAMPLE)
    assert schema.missing == ("", "NA")
    assert schema.ordinary == {
        "age": Ordinary(type="numeric"),
        "housing": Ordinary(type="binary", values=["no", "yes"]),
        "region": Ordinary(type="categorical"),
    }
    assert schema.complementary == {
        "job": Complementary(values=["clerk", "nurse", "teacher", "farmer"]),
        "diagnosis": Complementary(values=["A", "B", "C", "D"], separator=";", exact="="),
    }
    assert schema.columns["id"] == Ignored()
    assert schema.settings == Settings()
    assert schema.features == ["age", "housing", "region", "job", "diagnosis"]


def test_a_file_and_python_make_the_same_schema(tmp_path: Path):
    path = tmp_path / "schema.yml"
    path.write_text(with_columns(AGE, JOB) + "settings: {k: 7, gamma: 1e-1, keep_flagged: true}\n")
    settings = Settings(k=7, gamma=0.1, keep_flagged=True)
    assert Schema.load(path) == Schema(columns=GOOD, settings=settings)
    assert Schema.load(str(path)) == Schema(
        columns={"age": Ordinary(type="numeric"), "job": Complementary(values=("clerk", "nurse"))},
        settings={"k": 7, "gamma": 0.1, "keep_flagged": True},
    )


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path: Path):
    path = tmp_path / "schema.yml"
    path.write_bytes(EXAMPLE.replace("\n", "\r\n").encode("utf-8-sig"))
    assert Schema.load(path) == Schema.parse(EXAMPLE)


def test_the_order_is_the_order_of_the_file():
    names = ["z", "b", "y", "a"]
    lines = [f"{name}: {{role: ordinary, type: numeric}}" for name in names]
    assert list(Schema.parse(with_columns(*lines, JOB)).ordinary) == names


def test_what_is_left_out_has_its_default():
    schema = Schema(columns=GOOD)
    assert schema.version == 1
    assert schema.missing == ("",)
    assert schema.on_missing == "fill"
    assert schema.settings.model_dump() == {
        "k": 20,
        "iterations": 100,
        "gamma": 0.25,
        "ridge": 0.3,
        "seed": 0,
        "correction": True,
        "mode": "hard",
        "keep_flagged": False,
        "fail_on_flag": False,
        "jobs": None,
        "overwrite": False,
        "report": None,
        "quiet": False,
    }


def test_a_columns_own_on_missing_wins():
    columns = {
        **GOOD,
        "a": {"role": "ordinary", "type": "binary", "on_missing": "fill"},
        "b": {"role": "ordinary", "type": "binary", "on_missing": "error"},
    }
    filling = Schema(columns=columns)
    refusing = Schema(columns=columns, on_missing="error")
    assert [filling.fills_missing(name) for name in ("age", "a", "b")] == [True, True, False]
    assert [refusing.fills_missing(name) for name in ("age", "a", "b")] == [False, True, False]


def test_a_schema_cannot_be_changed():
    schema = Schema(columns=GOOD)
    with pytest.raises(ValidationError):
        schema.version = 2
    with pytest.raises(ValidationError):
        schema.settings.k = 0
    assert GOOD["age"] == {"role": "ordinary", "type": "numeric"}


def test_all_problems_are_told_at_once_in_the_order_of_the_text():
    text = """\
version: 2
missing: NA
colums: {}
columns:
  age: {role: ordinary, type: numerc}
  sex: {role: ordnary}
  town: {type: binary}
  town: {role: ignore}
  size: numeric
  job: {role: complementary, values: [a;b, =c, d, d], separator: ;, exact: =}
settings: {k: 0, iteration: 5, gamma: nan, ridge: 0, seed: 9223372036854775808,
  correction: yes, mode: hrd, jobs: 0, keep_flagged: }
"""
    assert parsing(text) == [
        "s.yml:1:10: this cfl reads version 1, found '2'",
        "s.yml:2:10: expected a list such as [a, b], found 'NA'",
        "s.yml:3:1: unknown key 'colums' (did you mean 'columns'?)",
        "s.yml:5:31: unknown type 'numerc' for an ordinary column (did you mean 'numeric'?)",
        "s.yml:6:15: unknown role 'ordnary' (did you mean 'ordinary'?)",
        "s.yml:7:3: 'role' is missing (ordinary, complementary or ignore)",
        "s.yml:8:3: the key 'town' stands here twice (first at line 7)",
        "s.yml:9:9: expected a mapping (key: value), found 'numeric'",
        "s.yml:10:39: no cell can rule out 'a;b': it holds the separator ';'",
        "s.yml:10:44: no cell can rule out '=c': it starts with the exact mark '='",
        "s.yml:10:51: 'd' stands here twice (first as item 3)",
        "s.yml:11:15: expected at least 1, found 0",
        "s.yml:11:18: unknown key 'iteration' (did you mean 'iterations'?)",
        "s.yml:11:39: expected a number, found 'nan'",
        "s.yml:11:51: expected more than 0, found 0.0",
        "s.yml:11:60: expected less than 9223372036854775808, found 9223372036854775808",
        "s.yml:12:15: expected true or false, found 'yes'",
        "s.yml:12:26: unknown mode 'hrd' (did you mean 'hard'?)",
        "s.yml:12:37: expected at least 1, found 0",
        "s.yml:12:53: expected true or false, found nothing",
    ]


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ("{role: ordinary}", "3: 'type' is missing (numeric, binary or categorical)"),
        ("{role: ordinary, type: text}", "26: unknown type 'text' for an ordinary column"
         " (numeric, binary or categorical)"),
        ("{role: ordinary, type: [a]}", "26: unknown type a list for an ordinary column"
         " (numeric, binary or categorical)"),
        ("{role: ordinary, type: numeric, values: [1]}",
         "43: a numeric column has no list of values; leave it out"),
        ("{role: ordinary, type: binary, values: [a]}",
         "42: expected exactly 2 values for a binary column, found 1"),
        ("{role: ordinary, type: binary, values: [a, b, c]}",
         "42: expected exactly 2 values for a binary column, found 3"),
        ("{role: ordinary, type: categorical, values: []}",
         "47: expected at least 2 values, found 0"),
        ("{role: ordinary, type: categorical, values: [a, [b]]}",
         "51: expected text, found a list"),
        ("{role: ordinary, type: categorical, values: [a, b, a]}",
         "54: 'a' stands here twice (first as item 1)"),
        ("{role: ordinary, type: categorical, values: [a, '']}",
         "51: no cell can say '': it is listed under 'missing'"),
        ("{role: ordinary, type: binary, on_missing: fil}",
         "46: unknown on_missing 'fil' for an ordinary column (did you mean 'fill'?)"),
        ("{role: complementary, values: [a]}", "33: expected at least 2 values, found 1"),
        ("{role: complementary, separator: ''}",
         "36: expected at least one character, found nothing"),
        ("{role: complementary, exact: }", "31: expected at least one character, found nothing"),
        ("{role: complementary, exact: ;, separator: ;}",
         "32: ';' is the separator too; choose another mark"),
        ("{role: complementary, values: [a, NA]}",
         "37: no cell can say 'NA': it is listed under 'missing'"),
        ("{role: complementary, exact: NA}",
         "32: no cell can say 'NA': it is listed under 'missing'"),
        ("{role: complementary, separator: NA}",
         "36: no cell can say 'NA': it is listed under 'missing'"),
        ("{role: complementary, type: numeric}",
         "25: unknown key 'type' for a complementary column (role, separator, exact or values)"),
        ("{role: ignore, type: numeric}", "18: unknown key 'type' for an ignored column"),
        ("{role: [ordinary]}", "10: unknown role a list (ordinary, complementary or ignore)"),
        ("{role: ordinary, <<: x, type: binary}", "20: unknown key '<<' for an ordinary column"
         " (role, type, values or on_missing)"),
        ("", "5: expected a mapping (key: value), found nothing"),
        ("[a]", "6: expected a mapping (key: value), found a list"),
    ],
)  # fmt: skip
def test_a_wrong_column_is_told_with_its_place(column, problem):
    column = f"x: {column}".rstrip()
    text = with_columns(column, AGE, JOB, head="{version: 1, missing: ['', NA]}"[1:-1])
    text = text.replace("version: 1, missing", "version: 1\nmissing").replace("\ncolumns", "\ncolumns")
    shifted = problem.split(":", 1)
    assert parsing(text) == [f"s.yml:4:{shifted[0]}:{shifted[1]}"]
