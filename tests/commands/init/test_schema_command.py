import json

from builders.command_line import cfl


def test_schema_prints_a_json_schema(folder):
    assert json.loads(cfl("schema").stdout)["$schema"].startswith("https://json-schema.org/")
