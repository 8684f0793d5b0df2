"""An entry in the table is an option, its help, its variable and its check."""

from pathlib import Path

import typer
from typer.testing import CliRunner

from cfl_cli import commands
from cfl_cli.cli.options import takes
from cfl_cli.core import settings
from cfl_cli.core.settings import Bounds, Whole
from cfl_cli.errors import UsageError


def test_a_setting_that_is_added_to_the_table_is_an_option_of_its_commands(monkeypatch):
    entry = settings.Setting(
        name="floors",
        kind=Whole(Bounds(least=1, most=9)),
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
    @takes("build")
    def build(*, given: dict) -> None:
        seen.append(given)

    run = CliRunner().invoke
    assert run(app, ["--floors", "3"]).exit_code == 0
    assert run(app, [], env={"CFL_FLOORS": "4"}).exit_code == 0
    assert seen == [{"floors": 3}, {"floors": 4}]
    assert isinstance(run(app, ["--floors", "10"]).exception, UsageError)
    assert "How many floors the house has. Default: 2." in run(app, ["--help"]).stdout


def test_every_folder_of_a_command_is_in_the_list():
    folders = {path.parent.name for path in Path(commands.__file__).parent.glob("*/__init__.py")}
    assert folders == {*commands.COMMANDS.values()}
