import subprocess
import sys
from dataclasses import FrozenInstanceError, fields

import pytest

from cfl_cli.core.settings import (
    AUTO,
    SETTINGS,
    RunSettings,
    Settings,
    override,
    raise_flaws,
    read_settings,
)
from cfl_cli.errors import SchemaError, UsageError
from cfl_cli.schema.model import Schema

EVERY = pytest.mark.parametrize("setting", SETTINGS.values(), ids=list(SETTINGS))


@EVERY
def test_an_entry_is_whole(setting):
    assert setting.help.endswith(".")
    assert setting.commands
    assert setting.read(setting.default) == setting.default
    assert setting.option == "--" + setting.name.replace("_", "-")


def test_the_two_types_share_no_name_and_make_up_the_table():
    names = [entry.name for table in (Settings, RunSettings) for entry in fields(table)]
    assert names == list(SETTINGS)
    assert len(set(names)) == len(names)
    assert all(
        setting.decides == hasattr(Settings(), setting.name) for setting in SETTINGS.values()
    )


def test_what_names_a_file_or_permits_something_has_no_variable():
    assert {name for name, setting in SETTINGS.items() if setting.env is None} == {
        "run_dir",
        "resume",
        "infer",
        "report",
        "diagnostics",
        "overwrite",
    }
    assert SETTINGS["max_memory"].env == "CFL_MAX_MEMORY"


def chosen(given):
    values, flaws = read_settings(given)
    raise_flaws(flaws)
    return override(Settings(), RunSettings(), values)


def test_text_is_read_as_its_kind():
    given = {"k": "7", "gamma": "1e-1", "iterations": AUTO, "correction": "false", "jobs": "2"}
    values, flaws = read_settings(given)
    assert not flaws
    assert values == {"k": 7, "gamma": 0.1, "iterations": AUTO, "correction": False, "jobs": 2}
    chosen, run = override(Settings(k=3, ridge=1.0), RunSettings(quiet=True), values)
    assert chosen == Settings(k=7, gamma=0.1, iterations=AUTO, correction=False, ridge=1.0)
    assert run == RunSettings(jobs=2, quiet=True)


def test_none_is_not_given():
    assert read_settings({"k": None}) == ({}, [])


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"k": "twenty"}, "k: expected a whole number, found 'twenty'"),
        ({"iterations": 1.5}, "iterations: expected a whole number or auto, found 1.5"),
        ({"gamma": "-1"}, "gamma: expected at least 0 or auto, found -1"),
        ({"budget": 0}, "budget: expected more than 0, found 0"),
        ({"min_confidence": 2}, "min_confidence: expected at most 1, found 2"),
        ({"ridge": float("inf")}, "ridge: expected a finite number, found inf"),
        (
            {"mode": "hrd"},
            "mode: expected hard, soft or both, found 'hrd' (did you mean 'hard'?)",
        ),
        ({"max_memory": "two"}, "max_memory: expected a size such as 500MB or 2GB, found 'two'"),
        ({"report": ""}, "report: expected at least one character, found nothing"),
        ({"quiet": "yes"}, "quiet: expected true or false, found 'yes'"),
        ({"kk": 3}, "kk: unknown key 'kk' (did you mean 'k'?)"),
        ({"folds": 1}, "folds: one fold would hide every row: expected 0, 2 or more, or auto"),
        (
            {"folds": 0, "gamma": AUTO},
            "gamma: auto chooses by hidden cells: it needs folds other than 0",
        ),
        (
            {"folds": 0, "method": "net"},
            (
                "method: net stops learning when hidden cells no longer gain: it needs folds "
                "other than 0"
            ),
        ),
    ],
)
def test_a_wrong_setting_is_named_with_what_was_expected_and_found(given, problem):
    with pytest.raises(UsageError) as caught:
        chosen(given)
    assert caught.value.texts == (problem,)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"resume": True}, "resume: goes on with a folder that run_dir names: add run_dir"),
        ({"workers": 2}, "workers: goes with engine='dask': add it, or leave workers out"),
        (
            {"scheduler": "tcp://localhost:8786", "engine": "local"},
            "scheduler: goes with engine='dask': add it, or leave scheduler out",
        ),
        (
            {"scheduler": "tcp://localhost:8786", "engine": "dask", "workers": 2},
            "workers: the workers are those of scheduler: leave one of the two out",
        ),
    ],
)
def test_options_of_a_run_that_do_not_go_together_are_refused(given, problem):
    with pytest.raises(UsageError) as caught:
        chosen(given)
    assert caught.value.texts == (problem,)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("engine", "dask"),
        ("scheduler", "tcp://localhost:8786"),
        ("workers", 2),
        ("run_dir", "run"),
        ("resume", True),
    ],
)
def test_where_one_run_is_done_is_not_for_a_schema_which_others_wrote(name, value):
    columns = {
        "age": {"role": "ordinary", "type": "numeric"},
        "job": {"role": "complementary", "values": ["a", "b"]},
    }
    with pytest.raises(SchemaError, match=f"{name}: not of a schema but of one run: give {name}"):
        Schema(columns=columns, settings={name: value})


def test_all_wrong_settings_are_reported_at_once():
    with pytest.raises(SchemaError) as caught:
        Settings(k=0, mode="hrd", gamma="much")
    assert [problem.partition(":")[0] for problem in caught.value.texts] == [
        "k",
        "gamma",
        "mode",
    ]


def test_settings_cannot_be_changed_and_can_be_keys():
    with pytest.raises(FrozenInstanceError):
        Settings().k = 3
    assert {Settings(k=3): 1}[Settings().override(k="3")] == 1


def test_a_schema_holds_settings_of_both_types():
    columns = {
        "age": {"role": "ordinary", "type": "numeric"},
        "job": {"role": "complementary", "values": ["a", "b"]},
    }
    schema = Schema(columns=columns, settings={"k": 5, "jobs": 2, "max_memory": "2GB"})
    assert schema.settings == Settings(k=5)
    assert schema.run == RunSettings(jobs=2, max_memory=2 * 10**9)
    assert schema != Schema(columns=columns, settings={"k": 5})


def test_the_table_imports_no_heavy_package():
    code = "import sys, cfl_cli.core.settings; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"numpy", "pydantic", "polars", "typer", "yaml"} & set(loaded)
