"""A schema names the columns whose equal cells say which rows belong together."""

import jsonschema
import pytest
from builders.schemas import GOOD

from cfl_cli.errors import SchemaError
from cfl_cli.schema.edit import put
from cfl_cli.schema.model import Schema, json_schema

COLUMNS = """version: 1
columns:
  age: {role: ordinary, type: numeric}
  id: {role: ignore}
  job: {role: complementary, values: [clerk, nurse]}
"""


@pytest.mark.parametrize(
    ("line", "group"),
    [
        ("", ()),
        ("group: []", ()),
        ("group: home", ("home",)),
        ("group: 01", ("01",)),
        ("group: [home, age, id]", ("home", "age", "id")),
    ],
)
def test_one_column_or_several_are_named_listed_or_not(line, group):
    assert Schema.parse(COLUMNS + line).group == group
    assert Schema.parse(f"{line}\n{COLUMNS}").group == group


NO_CF = (
    "column 'job' is complementary, and exclusions do not say which rows belong together: name "
    "another column"
)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("group: job", f"s:6:1: {NO_CF}"),
        ("group: [age, job]", f"s:6:14: {NO_CF}"),
        ("group: [age, age]", "s:6:14: column 'age' is named twice; once is enough"),
        ("group: {home: age}", "s:6:8: expected a list such as [a, b], found a mapping"),
        ("group: ['']", "s:6:9: expected at least one character, found nothing"),
    ],
)
def test_what_cannot_name_a_group_is_refused_with_its_place(line, problem):
    with pytest.raises(SchemaError) as caught:
        Schema.parse(COLUMNS + line, "s")
    assert list(caught.value.texts) == [problem]


def test_editors_accept_a_name_and_a_list_and_explain_them():
    schema = json_schema()
    validator = jsonschema.Draft202012Validator(schema)
    for group in ("home", ["home", "door"], 1):
        assert validator.is_valid({"version": 1, "columns": GOOD, "group": group})
    for group in ({"a": 1}, [["home"]], None):
        assert not validator.is_valid({"version": 1, "columns": GOOD, "group": group})
    assert "belong together" in schema["properties"]["group"]["description"]


def test_settings_are_put_beside_a_group():
    assert put(COLUMNS + "group: home\n", {"k": 7}) == COLUMNS + "group: home\nsettings: {k: 7}\n"
