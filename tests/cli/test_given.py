"""An entry in the table is an option, its help, its variable and its check."""

import inspect
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from typer.testing import CliRunner

from cfl_cli import commands
from cfl_cli.cli.options import (
    Columns,
    default_of,
    given,
    settings_of,
    takes,
)
from cfl_cli.core import settings
from cfl_cli.core.settings import Number, Setting, Switch, Whole
from cfl_cli.errors import UsageError

DOORS = Setting("doors", Whole(least=1), 2, "How many doors.", "method")
NAMES = Setting("names", Columns(), None, "Whose doors.", "input")


def test_values_come_from_the_command_line_else_from_the_environment(monkeypatch):
    assert given([DOORS], {"doors": None}) == ({}, {})
    monkeypatch.setenv("CFL_DOORS", "3")
    assert given([DOORS], {"doors": None}) == ({"doors": 3}, {"doors": "CFL_DOORS"})
    assert given([DOORS], {"doors": "4"}) == ({"doors": 4}, {})


def test_several_problems_come_together(monkeypatch):
    monkeypatch.setenv("CFL_NAMES", "a b\nc")
    assert given([NAMES], {"names": None})[0] == {"names": ["a b", "c"]}
    with pytest.raises(UsageError) as caught:
        given([DOORS, DOORS], {"doors": "none"})
    assert caught.value.texts == ("doors: expected a whole number, found 'none'",) * 2


def test_a_setting_that_is_added_to_the_table_is_an_option_of_its_commands(monkeypatch):
    entry = settings.Setting(
        name="floors",
        kind=Whole(least=1, most=9),
        default=2,
        help="How many floors the house has.",
        panel="method",
        commands=("build",),
        decides=True,
    )
    monkeypatch.setitem(settings.SETTINGS, "floors", entry)
    seen = []
    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    @app.command()
    @takes("build:run_build")
    def build(*, given: dict) -> None:
        """Build a house."""

    job = SimpleNamespace(run_build=lambda *, given: seen.append(given))
    monkeypatch.setitem(sys.modules, "cfl_cli.commands.build", job)

    run = CliRunner().invoke
    assert run(app, ["--floors", "3"]).exit_code == 0
    assert run(app, [], env={"CFL_FLOORS": "4"}).exit_code == 0
    assert seen == [{"floors": 3}, {"floors": 4}]
    assert isinstance(run(app, ["--floors", "10"]).exception, UsageError)
    assert "How many floors the house has. Default: 2." in run(app, ["--help"]).stdout


def test_a_command_keeps_its_own_parameters_and_name():
    @takes("impute.work:run_impute", doors=[DOORS])
    def impute(data: str, *, given: dict, doors: dict) -> None:
        """Impute."""

    names = [*inspect.signature(impute).parameters]
    expected = ["data", *(setting.name for setting in settings_of("impute")), "doors"]
    assert names == expected
    assert impute.__name__ == "impute"
    assert impute.variables["doors"] == "CFL_DOORS"
    assert "overwrite" not in impute.variables


@pytest.mark.parametrize(
    ("option", "text"),
    [
        (DOORS, "2"),
        (NAMES, ""),
        (Setting("share", Number(), 0.0, "", "run"), "0"),
        (Setting("share", Number(), None, "", "run", default_text="none"), "none"),
        (Setting("loud", Switch(), True, "", "run"), "on"),
    ],
)
def test_defaults_are_said_in_one_way(option, text):
    assert default_of(option) == text


def test_every_folder_of_a_command_is_in_the_list():
    folders = {path.parent.name for path in Path(commands.__file__).parent.glob("*/__init__.py")}
    assert folders == {*commands.COMMANDS.values()}


@pytest.mark.parametrize(("name", "folder"), commands.COMMANDS.items())
def test_the_job_of_a_command_takes_what_the_command_takes(name, folder):
    command = getattr(import_module(f"cfl_cli.commands.{folder}"), name)
    module, _, job = command.job.partition(":")
    done_by = getattr(import_module(f"cfl_cli.commands.{module}"), job)
    wanted = inspect.signature(command.__wrapped__).parameters
    assert [*inspect.signature(done_by).parameters] == [*wanted]
