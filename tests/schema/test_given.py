"""A schema as Python may give it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from cfl_cli import Schema, SchemaError, UsageError

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
    for given in (GIVEN, TEXT, path, str(path), {np.str_("version"): 1, **GIVEN}):
        assert Schema.of(given) == whole
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
            (
                "columns.code.values.0: expected text, found the number 1.0: write it as the cells "
                "do, such as '1'"
            ),
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
    assert str(caught.value) == (
        f"schema: no file 'shema.yml' in {tmp_path} (did you mean 'schema.yml'?): pass the path of "
        "a YAML file, a dict or a Schema"
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
