"""A schema as Python may give it, and its text, which makes the same schema again."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import yaml
from builders.schemas import EXAMPLE, GOOD
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli import UsageError
from cfl_cli.errors import SchemaError
from cfl_cli.schema.model import Complementary, Ordinary, Schema

TEXT = """\
version: 1
columns:
  smokes: {role: ordinary, type: binary, values: ["false", "true"], missing: ["9"]}
  grade: {role: ordinary, type: ordered, values: ["1", "2", "3"]}
  code: {role: complementary, values: ["0", "1", "2"], mechanism: {"0": 1, "1": 2, "2": 1}}
"""
GIVEN = {
    "columns": {
        "smokes": {
            "role": "ordinary",
            "type": "binary",
            "values": [False, np.True_],
            "missing": [9],
        },
        "grade": {"role": "ordinary", "type": "ordered", "values": range(1, 4)},
        "code": {
            "role": "complementary",
            "values": [0, np.int64(1), np.str_("2")],
            "mechanism": {0: 1, 1: np.float64(2), "2": "1"},
        },
    }
}


def with_values(values):
    return {
        **GIVEN,
        "columns": {**GIVEN["columns"], "code": {"role": "complementary", "values": values}},
    }


def domain_of(schema):
    return schema.columns["code"].model_dump()["values"]


def test_a_dict_a_path_a_text_and_a_schema_are_the_same(tmp_path):
    path = tmp_path / "schema.yml"
    path.write_text(TEXT)
    whole = Schema.parse(TEXT)
    assert Schema.of(whole) is whole
    for kind in (GIVEN, TEXT, path, str(path), {np.str_("version"): 1, **GIVEN}):
        assert Schema.of(kind) == whole
    assert {type(value) for value in domain_of(Schema.of(GIVEN))} == {str}
    assert Schema.parse(Schema.of(GIVEN).text) == whole  # it can be kept


@pytest.mark.parametrize(
    "values",
    [
        ("b", "a"),
        np.array(["b", "a"]),
        pd.Series(["b", "a", "b"]).unique(),
        pd.Index(["b", "a"]),
        pl.Series(["b", "a"]),
    ],
)
def test_values_may_be_any_list_with_an_order(values):
    assert domain_of(Schema.of(with_values(values))) == ("b", "a")


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (
            [1.0, 2.5],
            "columns.code.values.0: expected text, found the number 1.0: write it as the cells do, such as '1'",
        ),
        ([None, "a"], "columns.code.values.0: expected text, found nothing"),
        ({"a", "b"}, "columns.code.values: expected a list such as [a, b], found {'a', 'b'}"),
        (np.int64(3), "columns.code.values: expected a list such as [a, b], found 3"),
        (np.str_("ab"), "columns.code.values: expected a list such as [a, b], found 'ab'"),
        ([0, "0"], "columns.code.values.1: duplicate value '0' (first as item 1)"),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(values, problem):
    with pytest.raises(SchemaError) as caught:
        Schema.of(with_values(values))
    assert caught.value.texts[0].replace("{'b', 'a'}", "{'a', 'b'}") == problem


def test_a_path_that_leads_nowhere_is_said_with_the_one_that_may_be_meant(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.yml").write_text(TEXT)
    with pytest.raises(SchemaError) as caught:
        Schema.of("shema.yml")
    assert (
        str(caught.value)
        == f"schema: no file 'shema.yml' in {tmp_path} (did you mean 'schema.yml'?): pass the path of a YAML file, a dict or a Schema"
    )
    with pytest.raises(SchemaError, match=r"no file 'gone/schema.yml' in .*gone: pass"):
        Schema.of("gone/schema.yml")
    with pytest.raises(SchemaError, match=r"no file .*: pass"):
        Schema.of("a\0b")


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (3, "builtins.int"),
        (None, "builtins.NoneType"),
        (pl.DataFrame(), "polars.dataframe.frame.DataFrame; the table comes first"),
    ],
)
def test_what_cannot_be_a_schema_is_a_wrong_call(given, found):
    with pytest.raises(UsageError) as caught:
        Schema.of(given)
    assert str(caught.value) == (
        f"schema: expected a Schema, a dict, or the path or text of a YAML file, found {found}"
    )


FULL = yaml.safe_load("""\
version: 1
missing: ["", NA, "no", "~"]
on_missing: error
group: [house no, id]
columns:
  age: {role: ordinary, type: numeric, on_missing: fill}
  housing: {role: ordinary, type: binary, values: ["12:30", "01"]}
  region: {role: ordinary, type: categorical}
  job:
    {role: complementary, values: [clerk, nurse, "true"],
     mechanism: {clerk: 3, nurse: 1, "true": 1.0e-7}}
  ward:
    {role: complementary, values: [A, B, C], separator: "; ", exact: "=", exact_cells: random,
     mechanism: [[0, 0.1, 0.9], [0.3, 0, 0.7], [0.3333333333333333, 0.6666666666666666, 0]]}
  fit: {role: complementary, exact: "!", exact_cells: random, mechanism: fit}
  id: {role: ignore}
settings:
  {method: boost, gamma: 0.1, iterations: auto, calibration: false, jobs: 3, max_memory: 2GB,
   report: my report.json, fail_on_flag: true}
""")


def test_a_schema_keeps_the_text_it_was_read_from_until_it_is_changed(tmp_path):
    assert Schema.parse(EXAMPLE).text == EXAMPLE
    path = tmp_path / "schema.yml"
    path.write_bytes(EXAMPLE.replace("\n", "\r\n").encode("utf-8-sig"))
    assert Schema.load(path).text.encode() == path.read_bytes()
    assert Schema.parse(Schema.load(path).text) == Schema.load(path)
    assert Schema.parse(EXAMPLE) == Schema.parse(EXAMPLE + "# a comment")
    changed = Schema.parse(EXAMPLE).model_copy(update={"missing": ("?",)})
    assert Schema.parse(changed.text) == changed
    assert Schema.parse(changed.text).missing == ("?",)


def test_a_schema_made_in_python_is_written_an_entry_a_line():
    assert Schema(columns=GOOD, settings={"k": 7}).text == (
        "version: 1\n"
        'missing: [""]\n'
        "on_missing: fill\n"
        "columns:\n"
        "  age: {role: ordinary, type: numeric}\n"
        "  job: {role: complementary, values: [clerk, nurse]}\n"
        "group: []\n"
        "settings: {k: 7}\n"
    )


def test_all_that_a_schema_can_say_survives_its_text_to_the_bit():
    schema = Schema(**FULL)
    again = Schema.parse(schema.text)
    assert again == schema
    assert again.run == schema.run
    assert again.run.max_memory == 2 * 10**9
    assert list(again.columns) == list(FULL["columns"])
    assert again.complementary["ward"].mechanism == schema.complementary["ward"].mechanism
    assert again.text == schema.text == again.plain_text
    commented = Schema.parse(f"# a comment\n{schema.text}")
    assert (commented.text, commented.plain_text) == (f"# a comment\n{schema.text}", schema.text)


@given(st.lists(st.lists(st.floats(1e-100, 1e100), min_size=4, max_size=4), min_size=2, max_size=4))
def test_any_mechanism_survives_to_the_bit(weights):
    for row in weights:
        cf = Complementary(values=[*"abcd"], mechanism=row)
        schema = Schema(columns={"x": Ordinary(type="numeric"), "cf": cf})
        assert Schema.parse(schema.text) == schema


NAMES = st.text(st.characters(codec="utf-8"), max_size=20)
ODD = st.sampled_from(
    ["", " ", "a: b", "#", "? ", "- x", "\n", "'", '"\\"', "\x85\u2028", "é" * 2000]
)


@given(st.lists(NAMES | ODD, min_size=3, max_size=8, unique=True))
def test_any_names_and_values_survive(texts):
    of, cf, *others = texts
    columns = {
        of: {"role": "ordinary", "type": "categorical", "values": texts},
        cf: {"role": "complementary", "values": texts[::-1]},
        **{name: {"role": "ignore"} for name in others},
    }
    schema = Schema(columns=columns, missing=[], group=[name for name in others if name])
    assert Schema.parse(schema.text) == schema
    assert list(Schema.parse(schema.text).columns) == texts


def test_a_schema_that_no_file_could_hold_is_refused():
    cf = Complementary(values=[f"value {number}" for number in range(30_000)])
    schema = Schema(columns={"x": Ordinary(type="numeric"), "cf": cf})
    with pytest.raises(SchemaError, match="larger than 256 KiB"):
        _ = schema.text
