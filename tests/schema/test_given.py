"""A schema as Python may give it, and its text, which makes the same schema again."""

import json

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
from cfl_cli.schema.edit import put, spelled
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
    expected = f"schema: no file 'shema.yml' in {tmp_path} (did you mean 'schema.yml'?): pass the path of a YAML file, a dict or a Schema"
    assert str(caught.value) == expected
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


# Settings go into a schema's text, and every other byte of it stays.

COLUMNS = """\
version: 1  # of the format
columns:
  x: {role: ordinary, type: numeric}   # a number
  # what it is not
  cf:
    role: complementary
    values: [a, "b", 'ü']
"""
NEW = {"k": 30, "gamma": "auto"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "settings: {k: 30, gamma: auto}\n"),
        ("# the end", "# the end\nsettings: {k: 30, gamma: auto}"),
        ("...\n", "settings: {k: 30, gamma: auto}\n...\n"),
        ("settings: {k: 20}\n", "settings: {k: 30, gamma: auto}\n"),
        ("settings: {}", "settings: {k: 30, gamma: auto}"),
        ("settings: { k: '20', seed: 7, }", "settings: { k: 30, seed: 7, gamma: auto, }"),
        (
            "settings: {\n  gamma: 0, # first\n  seed: 7 # last\n}\n",
            "settings: {\n  gamma: auto, # first\n  seed: 7, k: 30 # last\n}\n",
        ),
        (
            "settings:\n  # n\n  k: 20  # few\n\n  seed: 7  # luck\n# end\n",
            "settings:\n  # n\n  k: 30  # few\n\n  seed: 7  # luck\n  gamma: auto\n# end\n",
        ),
        ("settings:\n k: 20", "settings:\n k: 30\n gamma: auto"),
        ("settings:\n k: |-\n  20\n", "settings:\n k: 30\n gamma: auto\n"),
        ("settings:\n ? k\n : 20\n", "settings:\n ? k\n : 30\n gamma: auto\n"),
        ("settings: {k: 30, gamma: auto}", "settings: {k: 30, gamma: auto}"),
    ],
)
def test_settings_are_put_where_they_belong(before, after):
    assert put(COLUMNS + before, NEW) == COLUMNS + after
    windows = (COLUMNS + before).replace("\n", "\r\n")
    assert put(windows, NEW) == (COLUMNS + after).replace("\n", "\r\n")
    assert put("\ufeff" + COLUMNS + before, NEW) == "\ufeff" + COLUMNS + after


def test_settings_in_the_middle_and_an_indented_schema_are_found():
    text = "settings:\n  k: 20\n" + COLUMNS
    assert put(text, NEW) == "settings:\n  k: 30\n  gamma: auto\n" + COLUMNS
    indented = "".join(f"  {line}\n" for line in COLUMNS.splitlines())
    assert put(indented, NEW) == indented + "  settings: {k: 30, gamma: auto}\n"


@pytest.mark.parametrize("settings", [None, {}, {"k": 20}, {"seed": 1, "gamma": 0.5}])
@pytest.mark.parametrize("indent", [None, 2])
def test_json_stays_json(settings, indent):
    schema = {
        "version": 1,
        "columns": {
            "x": {"role": "ordinary", "type": "numeric"},
            "cf": {"role": "complementary", "values": ["a", "b"]},
        },
    }
    if settings is not None:
        schema["settings"] = settings
    written = json.loads(put(json.dumps(schema, indent=indent), NEW))
    assert written.pop("settings") == {**(settings or {}), **NEW}
    assert written == {key: value for key, value in schema.items() if key != "settings"}


def test_a_value_is_spelled_so_that_it_is_read_back():
    for value in (20, 0.25, 1e-6, 1 / 3, 0.0, 1.0, 123456.789, 1e6, "auto"):
        text = put(COLUMNS, {"ridge": value} if value not in (0.0, "auto") else {"gamma": value})
        settings = Schema.parse(text).settings
        assert value in (settings.ridge, settings.gamma)
    assert [spelled(value) for value in (0.0, 3.0, 0.3, "auto")] == ["0", "3", "0.3", "auto"]


def test_a_schema_that_is_wrong_or_cannot_be_changed_alone_is_refused():
    open_ended = COLUMNS + "missing:\n  - |\n   x"
    Schema.parse(open_ended)
    with pytest.raises(SchemaError, match=r"schema: its settings .* settings: {k: 30, gamma"):
        put(open_ended, NEW)
    with pytest.raises(SchemaError, match=r"s\.yml:1:1"):
        put("version: 2\n", NEW, name="s.yml")


COMMENTS = st.sampled_from(["", "  # why", "   #: x, {y} 'z"])
VALUES = {
    "k": st.integers(1, 99),
    "iterations": st.one_of(st.integers(1, 500), st.just("auto")),
    "gamma": st.one_of(st.sampled_from([0, 0.25, 1.5]), st.just("auto")),
    "ridge": st.sampled_from([0.01, 0.3, 1.0, 2.5e-5]),
    "seed": st.integers(0, 9),
    "mode": st.sampled_from(["hard", "both"]),
}
SETTINGS = st.fixed_dictionaries({}, optional=VALUES)


@st.composite
def layouts(draw):
    """Return the parts of a schema's text: before its settings, the settings, and behind them."""
    settings = draw(SETTINGS)
    items = []
    for key, value in draw(st.permutations(list(settings.items()))):
        title = draw(st.sampled_from(["{}", '"{}"', "'{}'"])).format(key)
        said = draw(st.sampled_from(["{}", '"{}"', "'{}'"])).format(value)
        items.append(f"{title}: {said}")
    if not settings or draw(st.booleans()):
        comma = draw(st.sampled_from([",", ", ", " ,\n   ", ", # here\n  "]))
        text = "settings: {" + comma.join(items) + "}" + draw(COMMENTS) + "\n"
    else:
        indent = " " * draw(st.integers(1, 5))
        text = "settings:" + draw(COMMENTS) + "\n"
        for item in items:
            text += draw(st.sampled_from(["", "\n", f"{indent}# above\n", "# left\n"]))
            text += indent + item + draw(COMMENTS) + "\n"
    parts = ["", text, COLUMNS] if draw(st.booleans()) else [COLUMNS, text, ""]
    parts[2] += draw(st.sampled_from(["", "\n\n", "# the end\n"]))
    line_break = draw(st.sampled_from(["\n", "\r\n"]))
    parts = [part.replace("\n", line_break) for part in parts]
    if not parts[2] and draw(st.booleans()):
        parts[1] = parts[1].removesuffix(line_break)
    return parts, settings


@given(layouts(), SETTINGS)
def test_whatever_the_layout_all_else_stays(layout, new):
    (before, text, behind), old = layout
    written = put(before + text + behind, new)
    assert written.startswith(before)
    assert written.endswith(behind)
    middle = written[len(before) : len(written) - len(behind)]
    assert middle.endswith("\n") == text.endswith("\n")
    for mark in ("# why", "#: x, {y} 'z", "# above", "# left", "# here", "\r\n\r\n"):
        assert middle.count(mark) == text.count(mark)
    if "\r\n" in text:
        assert middle.count("\r\n") == middle.count("\n")
    expected = Schema.parse(before + text + behind).settings.override(**new)
    assert Schema.parse(written).settings == expected
    assert {*yaml.safe_load(written)["settings"]} == {*old, *new}
    assert put(written, new) == written
