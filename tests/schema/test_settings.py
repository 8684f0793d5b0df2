"""One mapping in the file becomes the settings that decide the answer and those of the command."""

import pytest
from pydantic import ValidationError

from cfl_cli.core.settings import SETTINGS, Settings
from cfl_cli.schema.model import SETTINGS_FOR_EDITORS, answer_of


def flaws(entry):
    with pytest.raises(ValidationError) as caught:
        answer_of(entry)
    return {detail["loc"]: detail["msg"] for detail in caught.value.errors()}


def test_settings_that_are_built_already_are_taken_as_they_are():
    settings = Settings(k=7)
    assert answer_of(settings) is settings


@pytest.mark.parametrize("entry", ["k", ["k", "7"], None, 7])
def test_what_is_not_a_mapping_is_refused(entry):
    (message,) = flaws(entry).values()
    assert message.startswith("expected a mapping (key: value), found ")


def test_every_flaw_is_named_at_its_own_key():
    said = flaws({"k": "many", "kk": "7", "gamma": "-1", "seed": "1"})
    assert set(said) == {("k",), ("kk",), ("gamma",)}
    assert said["k",].endswith("found 'many'")
    assert "kk" in said["kk",]


def test_editors_know_every_setting_with_its_default_and_help():
    entries = SETTINGS_FOR_EDITORS["properties"]
    assert list(entries) == [name for name, one in SETTINGS.items() if one.in_schema]
    assert entries["k"]["default"] == Settings().k
    assert all(entry["description"] for entry in entries.values())
    assert SETTINGS_FOR_EDITORS["additionalProperties"] is False
