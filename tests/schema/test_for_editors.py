"""Editors accept a right schema file, refuse a wrong one, and can explain every entry."""

import json

import jsonschema
import yaml
from builders.schemas import EXAMPLE, GOOD

from cfl_cli.core.settings import SETTINGS
from cfl_cli.schema.model import json_schema


def test_the_json_schema_accepts_the_example_and_refuses_unknown_keys():
    schema = json.loads(json.dumps(json_schema()))
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    example = yaml.safe_load(EXAMPLE)
    assert example["columns"]["housing"]["values"] == [False, True]
    assert validator.is_valid(example)
    assert validator.is_valid({"version": 1, "columns": GOOD})
    for wrong in (
        {"columns": GOOD},
        {"version": 1},
        {"version": 2, "columns": GOOD},
        {"version": 1, "columns": {}},
        {"version": 1, "columns": GOOD, "colums": {}},
        {"version": 1, "columns": GOOD, "settings": {"kk": 3}},
        {"version": 1, "columns": GOOD, "settings": {"k": 0}},
        {"version": 1, "columns": GOOD, "settings": {"jobs": None}},
        {"version": 1, "columns": GOOD, "settings": {"mode": "hrd"}},
        {"version": 1, "columns": {**GOOD, "x": {"type": "numeric"}}},
        {"version": 1, "columns": {**GOOD, "x": {"role": "ordinary"}}},
        {"version": 1, "columns": {**GOOD, "x": {"role": "complementary", "values": None}}},
        {"version": 1, "columns": {**GOOD, "x": {"role": "complementary", "values": ["a"]}}},
        {"version": 1, "columns": {**GOOD, "x": {"role": "ignore", "type": "numeric"}}},
    ):
        assert not validator.is_valid(wrong), wrong


def test_the_json_schema_describes_itself_and_every_setting():
    schema = json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"] == "cfl schema"
    assert schema["description"]
    settings = schema["properties"]["settings"]["properties"]
    assert list(settings) == [name for name, one in SETTINGS.items() if one.in_schema]
    assert all(setting["description"].endswith(".") for setting in settings.values())
