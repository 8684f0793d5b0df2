"""The settings in a schema: one mapping in the file, two types in Python."""

from collections.abc import Mapping
from typing import Any

from cfl_cli.core.entries import SettingsTable, entries
from cfl_cli.core.messages import seen
from cfl_cli.core.settings import SETTINGS, RunSettings, Settings, read
from cfl_cli.core.wording import option
from cfl_cli.schema.validation import problem, refuse, refused


def answer_of(entry: object) -> Settings:
    """Return the settings that decide the answer, or refuse with all that is wrong with `entry`."""
    if isinstance(entry, Settings):
        return entry
    if not isinstance(entry, Mapping):
        raise refused(f"expected a mapping (key: value), found {seen(entry)}")
    values, flaws = read({str(name): value for name, value in entry.items()})
    flaws += [
        (name, f"not of a schema but of one run: give {option(name)} instead")
        for name in values
        if not SETTINGS[name].in_schema
    ]
    settings = Settings().replaced(values)
    refuse(
        problem(message, name, kind="said" if name in SETTINGS else "lacking")
        for name, message in flaws or settings.contradictions()
    )
    return settings


def run_of(entry: object) -> RunSettings:
    """Return the settings of the command in an entry that `answer_of` has taken."""
    return RunSettings().replaced(read(entry)[0] if isinstance(entry, Mapping) else {})


def entry_of(*tables: SettingsTable) -> dict[str, Any]:
    """Return the entry that says what settings say: those that are not as by default."""
    return {
        setting.name: getattr(table, setting.name)
        for table in tables
        for setting in entries(type(table))
        if setting.in_schema and getattr(table, setting.name) != setting.default
    }


SETTINGS_FOR_EDITORS: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        setting.name: {
            **setting.kind.json_schema(),
            **({} if setting.default is None else {"default": setting.default}),
            "description": setting.help,
        }
        for setting in SETTINGS.values()
        if setting.in_schema
    },
}
