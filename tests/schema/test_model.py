"""A schema is right as a whole, or says everything that is wrong with it and where."""

import json
from contextlib import suppress
from dataclasses import FrozenInstanceError
from pathlib import Path

import jsonschema
import pytest
import yaml
from builders.schemas import EXAMPLE, GOOD
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from cfl_cli.core.settings import SETTINGS, RunSettings, Settings
from cfl_cli.errors import SchemaError
from cfl_cli.schema.model import Complementary, Ignored, Ordinary, Schema, json_schema


def problems(build, *args, **keywords):
    with pytest.raises(SchemaError) as caught:
        build(*args, **keywords)
    return list(caught.value.texts)


def parsing(text):
    return problems(Schema.parse, text, "s.yml")


def with_columns(*lines, head="version: 1"):
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
    assert schema.settings == Settings(gamma=0.25)


def test_a_file_and_python_make_the_same_schema(tmp_path: Path):
    path = tmp_path / "schema.yml"
    path.write_text(with_columns(AGE, JOB) + "settings: {k: 7, gamma: 1e-1, keep_flagged: true}\n")
    settings = Settings(k=7, gamma=0.1, keep_flagged=True)
    assert Schema.load(path) == Schema(columns=GOOD, settings=settings)
    assert Schema.load(str(path)) == Schema(
        columns={"age": Ordinary(type="numeric"), "job": Complementary(values=("clerk", "nurse"))},
        settings={"k": 7, "gamma": 0.1, "keep_flagged": True},
    )


def test_what_is_left_out_has_its_default_and_a_columns_own_on_missing_wins():
    schema = Schema(columns=GOOD)
    assert schema.version == 1
    assert schema.missing == ("",)
    assert schema.on_missing == "fill"
    assert schema.settings == Settings(
        k=20, iterations=100, gamma=None, ridge=0.3, seed=0, correction=True, mode="hard"
    )
    assert not schema.settings.keep_flagged
    assert schema.run == RunSettings(jobs=None, fail_on_flag=False, overwrite=False)


def test_a_schema_cannot_be_changed():
    schema = Schema(columns=GOOD)
    with pytest.raises(ValidationError):
        schema.version = 2
    with pytest.raises(FrozenInstanceError):
        schema.settings.k = 0
    assert GOOD["age"] == {"role": "ordinary", "type": "numeric"}


def test_all_problems_are_reported_at_once_in_the_order_of_the_text():
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
        "s.yml:7:3: 'role' is missing (ordinary, complementary, identifier or ignore)",
        "s.yml:8:3: duplicate key 'town' (first at line 7)",
        "s.yml:9:9: expected a mapping (key: value), found 'numeric'",
        "s.yml:10:39: no cell can rule out 'a;b': it holds the separator ';'",
        "s.yml:10:44: no cell can rule out '=c': it starts with the exact mark '='",
        "s.yml:10:51: duplicate value 'd' (first as item 3)",
        "s.yml:11:15: expected at least 1, found 0",
        "s.yml:11:18: unknown key 'iteration' (did you mean 'iterations'?)",
        "s.yml:11:39: expected a number or auto, found 'nan'",
        "s.yml:11:51: expected at least 1e-06, found 0",
        "s.yml:11:60: expected less than 9223372036854775808, found 9223372036854775808",
        "s.yml:12:15: expected true or false, found 'yes'",
        "s.yml:12:26: expected hard, soft or both, found 'hrd' (did you mean 'hard'?)",
        "s.yml:12:37: expected at least 1, found 0",
        "s.yml:12:53: expected true or false, found nothing",
    ]


TYPES = "(numeric, binary, categorical, ordered or date)"


WRONG_COLUMNS = """\
^x: {role: ordinary}  →  'type' is missing TYPES
x: {role: ordinary, type: ^text}  →  unknown type 'text' for an ordinary column TYPES
x: {role: ordinary, type: ^[a]}  →  unknown type a list for an ordinary column TYPES
x: {role: ordinary, type: numeric, values: ^[1]}  →  a numeric column has no list of values; leave it out
x: {role: ordinary, type: binary, values: ^[a]}  →  expected exactly 2 values for a binary column, found 1
x: {role: ordinary, type: binary, values: ^[a, b, c]}  →  expected exactly 2 values for a binary column, found 3
x: {role: ordinary, type: binary, on_missing: ^fil}  →  unknown on_missing 'fil' for an ordinary column (did you mean 'fill'?)
x: {role: ordinary, ^<<: y, type: binary}  →  unknown key '<<' for an ordinary column (role, type, values, ignore_case, aliases, missing, on_missing, decimal, bounds, unit, scale, format or cycle)
x: {role: ordinary, type: categorical, values: ^[]}  →  expected at least 2 values, found 0
x: {role: ordinary, type: categorical, values: [a, ^[b]]}  →  expected text, found a list
x: {role: ordinary, type: categorical, values: [a, b, ^a]}  →  duplicate value 'a' (first as item 1)
x: {role: ordinary, type: date, cycle: [day, ^day]}  →  duplicate value 'day' (first as item 1)
x: {role: ordinary, type: categorical, values: [a, ^'']}  →  no cell can say '': it is listed under 'missing'
x: {role: complementary, values: ^[a]}  →  expected at least 2 values, found 1
x: {role: complementary, separator: ^''}  →  expected at least one character, found nothing
x: {role: complementary, exact:^ }  →  expected at least one character, found nothing
x: {role: complementary, exact: ^;, separator: ;}  →  ';' is the separator too; choose another mark
x: {role: complementary, values: [a, ^NA]}  →  no cell can say 'NA': it is listed under 'missing'
x: {role: complementary, exact: "=", exact_cells: ^randm}  →  expected random, found 'randm'
x: {role: complementary, exact: "=", exact_cells: ^true}  →  expected random, found 'true'
x: {role: complementary, exact: "=", exact_cells: ^[]}  →  expected random, found a list
x: {role: complementary, exact_cells: ^random}  →  no cell can be exact without a mark: add `exact`, such as exact: "="
x: {role: complementary, exact: "=", mechanism: ^fit}  →  fitting weights needs exact cells that are a random sample: add `exact_cells: random` if they are one, or give the weights
x: {role: complementary, exact: ^NA}  →  no cell can say 'NA': it is listed under 'missing'
x: {role: complementary, separator: ^NA}  →  no cell can say 'NA': it is listed under 'missing'
x: {role: complementary, drawn: ^randomly}  →  unknown way 'randomly' (did you mean 'at-random'?)
x: {role: complementary, drawn: ^by people}  →  unknown way 'by people' (did you mean 'by-people'?)
x: {role: complementary, values: [a, b, c], ordered: ^maybe}  →  expected true or false, found 'maybe'
x: {role: complementary, ordered: ^true}  →  an order needs the domain: list it under `values`, in order
x: {role: complementary, values: [a, b], ignore_case: ^1}  →  expected true or false, found '1'
x: {role: complementary, ignore_case: ^true}  →  needs the values: list them under `values`
x: {role: complementary, values: [a, A], ignore_case: ^true}  →  'a' and 'A' differ in letter case only
x: {role: complementary, values: [a, b], aliases: {c: ^[d]}}  →  unknown value 'c' (a or b)
x: {role: complementary, values: [a, b], aliases: {a: [^b]}}  →  'b' is a value itself
x: {role: complementary, values: [a, b], aliases: {a: [c], b: [^c]}}  →  'c' already means 'a'
x: {role: complementary, values: [a, b], aliases: {a: [^NA]}}  →  no cell can say 'NA': it is listed under 'missing'
x: {role: complementary, separator: ;, values: [a, b], aliases: {a: [^"c;"]}}  →  no cell can rule out 'c;': it holds the separator ';'
x: {role: ordinary, type: numeric, ignore_case: ^true}  →  a numeric column has no values that are spelled; leave it out
x: {role: ordinary, type: date, bounds: ^true}  →  only a numeric column has `bounds`; leave it out
x: {role: complementary, ^type: numeric}  →  unknown key 'type' for a complementary column (role, cells, hierarchy, codes, bins, separator, exact, exact_cells, values, shares, ordered, drawn, ignore_case, aliases, missing, blurred or mechanism)
x: {role: ordinary, type: numeric, format: ^"%Y"}  →  only a date column has `format`; leave it out
x: {role: ordinary, type: date, format: ^"%d.%m"}  →  '%d.%m' …
x: {role: ordinary, type: date, format: ^dd.mm.yyyy}  →  'dd.mm.yyyy' …
x: {role: ordinary, type: date, format: ^"%Q"}  →  '%Q' …
x: {role: ignore, ^type: numeric}  →  unknown key 'type' for an ignored column
x: {role: ^[a]}  →  unknown role a list (ordinary, complementary, identifier or ignore)
x:^  →  expected a mapping (key: value), found nothing
x: ^[a]  →  expected a mapping (key: value), found a list
"""


@pytest.mark.parametrize("case", WRONG_COLUMNS.splitlines())
def test_a_wrong_column_is_reported_at_the_place_of_the_caret(case):
    line, message = case.replace("TYPES", TYPES).split("  →  ")
    text = with_columns(line.replace("^", ""), AGE, JOB, head="version: 1\nmissing: ['', NA]")
    (said,) = parsing(text)
    begin, _, rest = f"s.yml:4:{line.index('^') + 3}: {message}".partition("…")
    assert said.startswith(begin) if rest == "" and message.endswith("…") else said == begin


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["1:1: the file is empty; start with 'version: 1'"]),
        ("# nothing yet\n", ["1:1: the file is empty; start with 'version: 1'"]),
        ("[a]", ["1:1: expected a mapping (key: value), found a list"]),
        ("\nhello", ["2:1: expected a mapping (key: value), found 'hello'"]),
        ("version: 1", ["1:1: 'columns' is missing"]),
        ("version: 1\ncolumns:\n", ["2:9: expected a mapping (key: value), found nothing"]),
        (with_columns(AGE, JOB, head="# no version"), [
            "2:1: 'version' is missing; add 'version: 1'"
        ]),
        (with_columns(AGE, JOB, head="version: 1.0"), [
            "1:10: this cfl reads version 1, found '1.0'"
        ]),
        (with_columns(AGE, JOB, head="version: 1\nmissing: [a, a]"), [
            "2:14: duplicate value 'a' (first as item 1)"
        ]),
        (with_columns(AGE), [
            "2:1: no complementary column: mark at least one, there is nothing to impute"
        ]),
        (with_columns(JOB, "a: {role: ignore, b: c}"), [
            "2:1: no ordinary column: mark at least one, rows are compared by them",
            "4:21: unknown key 'b' for an ignored column",
        ]),
        ("version: 1\ncolumns: {}", [
            "2:1: no complementary column: mark at least one, there is nothing to impute",
            "2:1: no ordinary column: mark at least one, rows are compared by them",
        ]),
        (with_columns(AGE, JOB) + "---\n", [
            "5:1: a second document starts here; only one is read"
        ]),
    ],
)  # fmt: skip
def test_a_wrong_schema_is_reported_with_its_place(text, expected):
    assert parsing(text) == [f"s.yml:{problem}" for problem in expected]


def test_a_role_that_cannot_be_read_may_be_the_one_that_lacks():
    assert len(parsing(with_columns(AGE, "job: {role: complimentary}"))) == 1


def test_python_sees_a_path_instead_of_a_place():
    columns = {"age": {"role": "ordinary", "type": "numerc"}, "job": {}, "new\nline": None, 3: 4}
    assert problems(Schema, columns=columns, foo=1) == [
        "columns.age.type: unknown type 'numerc' for an ordinary column (did you mean 'numeric'?)",
        "columns.job: 'role' is missing (ordinary, complementary, identifier or ignore)",
        "columns.new\\nline: expected a mapping (key: value), found nothing",
        "columns.3: expected text, found 3",
        "columns.3: expected a mapping (key: value), found 4",
        "foo: unknown key 'foo' (version, file, missing, on_missing, scale, columns, group or settings)",
    ]
    assert problems(Schema) == ["'columns' is missing"]
    assert problems(Schema, columns=5) == ["columns: expected a mapping (key: value), found 5"]
    assert problems(Ordinary) == [f"'type' is missing {TYPES}"]
    misspelt = problems(Ordinary, tpe="numeric")
    assert [one.split("'")[1] for one in misspelt] == ["tpe"]  # and not that `type` is missing
    assert problems(Settings, k=0) == ["k: expected at least 1, found 0"]


def test_problems_have_their_code_and_path_and_no_word_of_pydantic():
    with pytest.raises(SchemaError) as caught:
        Schema(columns=GOOD | {"x": {"role": "ignore", "y\n": 1}})
    (found,) = caught.value.problems
    assert (found.code, found.facts["path"]) == ("schema-unknown-key", "columns.x.y\n")
    text = with_columns("a: {}", "b: {role: ordinary, type: 1, values: {}}", "c: []", head="[]: {}")
    for message in parsing(text):
        assert "pydantic" not in message
        assert "Input" not in message


def only_schema_errors(text):
    with suppress(SchemaError):
        Schema.parse(text)


@given(st.text())
def test_any_text_is_a_schema_or_a_schema_error(text):
    only_schema_errors(text)


KEYS = ["version", "missing", "columns", "settings", "role", "type", "values", "separator", "k"]
WORDS = st.sampled_from(
    [*KEYS, "ordinary", "complementary", "ignore", "numeric", "binary", "1", "-1", "true", ""]
)
NODES = st.recursive(
    WORDS,
    lambda nodes: st.lists(nodes, max_size=4) | st.dictionaries(WORDS, nodes, max_size=6),
    max_leaves=30,
)


@given(st.dictionaries(WORDS, NODES))
def test_any_tree_of_the_right_words_is_a_schema_or_a_schema_error(tree):
    only_schema_errors(yaml.safe_dump(tree))
    with suppress(SchemaError):
        Schema(**tree)


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=2, unique=True))
def test_any_values_survive_the_file(values):
    listed = ", ".join(json.dumps(value, ensure_ascii=False) for value in values)
    quoted = "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in listed)
    schema = Schema.parse(with_columns(AGE, f"x: {{role: complementary, values: [{quoted}]}}"))
    assert schema.complementary["x"].values == tuple(values)


COLUMNS = with_columns(AGE, "id: {role: ignore}", JOB)
NO_CF = "column 'job' is complementary, and exclusions do not say which rows belong together: choose another column"


@pytest.mark.parametrize(
    ("line", "group"),
    [
        *(("", ()), ("group: []", ()), ("group: home", ("home",)), ("group: 01", ("01",))),
        ("group: [home, age, id]", ("home", "age", "id")),
        ("group: job", f"s.yml:6:1: {NO_CF}"),
        ("group: [age, job]", f"s.yml:6:14: {NO_CF}"),
        ("group: [age, age]", "s.yml:6:14: column 'age' is named twice; once is enough"),
        ("group: {home: age}", "s.yml:6:8: expected a list such as [a, b], found a mapping"),
        ("group: ['']", "s.yml:6:9: expected at least one character, found nothing"),
    ],
)
def test_one_column_or_several_are_named_listed_or_not_or_refused_with_their_place(line, group):
    if isinstance(group, str):
        assert parsing(COLUMNS + line) == [group]
    else:
        assert Schema.parse(COLUMNS + line).group == group
        assert Schema.parse(f"{line}\n{COLUMNS}").group == group


def test_the_json_schema_accepts_the_example_and_refuses_unknown_keys():
    schema = json.loads(json.dumps(json_schema()))
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    example = yaml.safe_load(EXAMPLE)
    assert example["columns"]["housing"]["values"] == [False, True]
    good = {"version": 1, "columns": GOOD}
    for right in (example, good, *(good | {"group": one} for one in ("home", ["home", "door"], 1))):
        assert validator.is_valid(right), right
    for wrong in ({"columns": GOOD}, {"version": 1}, good | {"version": 2}, good | {"columns": {}}):
        assert not validator.is_valid(wrong), wrong
    for entry in ({"colums": {}}, {"group": {"a": 1}}, {"group": [["home"]]}, {"group": None}):
        assert not validator.is_valid(good | entry), entry
    for settings in ({"kk": 3}, {"k": 0}, {"jobs": None}, {"mode": "hrd"}):
        assert not validator.is_valid(good | {"settings": settings}), settings
    for column in (
        {"type": "numeric"},
        {"role": "ordinary"},
        {"role": "complementary", "values": None},
        {"role": "complementary", "values": ["a"]},
        {"role": "ignore", "type": "numeric"},
    ):
        assert not validator.is_valid({"version": 1, "columns": {**GOOD, "x": column}}), column
    assert "belong together" in schema["properties"]["group"]["description"]


def test_the_json_schema_describes_itself_and_every_setting():
    schema = json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"] == "cfl schema"
    assert schema["description"]
    settings = schema["properties"]["settings"]["properties"]
    assert list(settings) == [name for name, one in SETTINGS.items() if one.in_schema]
    assert settings["k"]["default"] == Settings().k
    assert all(setting["description"].endswith(".") for setting in settings.values())
