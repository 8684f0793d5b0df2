import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
import typer
from builders.command_line import cfl
from typer.testing import CliRunner

from cfl_cli import commands
from cfl_cli.cli.help import ENVIRONMENT, HelpEntry, HelpPage, help_text
from cfl_cli.cli.options import FORMAT, INPUT_FORMAT, SNIFFING, Data, settings_of, takes
from cfl_cli.cli.pages import RENDERERS
from cfl_cli.commands import COMMANDS, GROUPS
from cfl_cli.core import settings
from cfl_cli.core.settings import Settings, Whole
from cfl_cli.errors import UsageError
from cfl_cli.tables.formats import FORMATS


def shown(*command, width=80, by="--help"):
    return cfl(*command, by, COLUMNS=str(width)).stdout


def options_in(text):
    return set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", text, re.MULTILINE))


def test_help_states_the_defaults_that_hold():
    text = " ".join(shown("impute", by="--help-all").split())
    stated = {
        name: text.split(f"--{name} ")[1].split("Default: ")[1].split(". ")[0]
        for name in ("mode", "k", "iterations", "gamma", "ridge", "seed")
    }
    assert stated.pop("gamma") == "0.25; auto if few rows have distinct OFs"
    for name, default in stated.items():
        assert default == str(getattr(Settings(), name))


def test_the_first_page_explains_cf_and_of_and_goes_to_stderr_if_nobody_asked():
    result = cfl()
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Usage: ")
    text = shown()
    assert "exclusion column (complementary feature, CF)" in " ".join(text.split())
    assert "feature column (ordinary feature, OF)" in " ".join(text.split())
    assert re.findall(r"^  (\w+) ", text, re.MULTILINE)[: len(COMMANDS)] == [*COMMANDS]


def test_the_first_page_leads_with_the_commands_of_a_first_day():
    text = shown()
    assert re.findall(r"^(\S.*):$", text, re.MULTILINE)[: len(GROUPS)] == [*GROUPS]
    assert [*COMMANDS][:5] == ["init", "check", "impute", "report", "run"]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_lists_what_people_use_and_help_all_lists_every_option(command):
    few, every = (shown(command, by=by) for by in ("--help", "--help-all"))
    assert options_in(few) <= options_in(every)
    assert {setting.option for setting in settings_of(command)} <= options_in(every)
    reading = {one.option for one in SNIFFING}
    if command != "init":
        assert not options_in(few) & reading
        assert len(options_in(few)) <= 20
    assert ("--help-all` lists all options" in few) == (few != every)


def test_reading_options_are_listed_by_init_and_accepted_by_others():
    assert {one.option for one in SNIFFING} <= options_in(shown("init"))
    assert {one.option for one in SNIFFING} <= options_in(shown("evaluate", by="--help-all"))


@pytest.mark.parametrize(
    ("typed", "same"),
    [
        (["help"], ["--help"]),
        (["--help-all"], ["--help"]),
        (["help", "impute"], ["impute", "--help"]),
        (["-V"], ["--version"]),
        (["version"], ["--version"]),
    ],
)
def test_help_and_version_are_found_by_other_names(typed, same):
    asked, known = cfl(*typed), cfl(*same)
    assert (asked.exit_code, asked.stdout) == (0, known.stdout)
    assert known.stdout


def test_help_of_an_unknown_command_is_refused_by_name():
    result = cfl("help", "imptue")
    assert result.exit_code == 2
    assert "'imptue': unknown command (did you mean 'impute'?)" in result.stderr


@pytest.mark.parametrize("typed", [["t.csv", "--cf", "a", "b c"], ["--cf", "a", "b c", "t.csv"]])
def test_several_words_after_one_option_are_told_to_be_repeated(typed):
    result = cfl("init", *typed)
    assert result.exit_code == 2
    assert "to name several, repeat --cf: --cf a --cf 'b c'" in result.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_speaks_of_cfs_explains_them_and_ends_with_an_example(command):
    text = shown(command)
    assert ("complementary feature, CF)" in " ".join(text.split())) == bool(
        re.search("CFs?\\b", text)
    )
    assert re.search(rf"^Example:\n  cfl {command}", text, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_setting_of_a_command_is_in_its_help_in_full(command):
    text = " ".join(shown(command, by="--help-all").split())
    for setting in settings_of(command):
        assert f"{setting.option} " in text
        assert setting.help in text


OURS = re.compile(
    r"hidden (cell|row)|commonest (candidate|value)|(?<!-)\banswer|\bjudg|likewise|as readily|\balike\b"
    r"|\bso\.|\b(who|what) (names|knows|ends|is said)|way out|at fault",
    re.IGNORECASE,
)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_is_in_the_words_of_the_field(command):
    text = " ".join(shown(command, width=200, by="--help-all").split("Example:")[0].split())
    assert not [found.group() for found in OURS.finditer(text)]


@pytest.mark.parametrize("command", COMMANDS)
def test_environment_variables_are_named_once_and_not_at_every_option(command):
    text = " ".join(shown(command, by="--help-all").split())
    assert text.count(ENVIRONMENT.partition("{")[0]) == 1
    [variable] = re.findall("CFL_[A-Z_]+", text)
    has_k = "--k N" in text
    assert variable == ("CFL_K" if has_k else "CFL_LOG_FORMAT")


def test_options_stand_in_panels_and_a_long_name_on_a_line_of_its_own():
    titles = re.findall(r"^([\w ]+):$", shown("impute", by="--help-all"), re.MULTILINE)
    panels = ["Arguments", "Input", "Method", "Evaluation", "Output", "Reading text tables", "Run"]
    assert titles == [*panels, "Example"]
    page = HelpPage(
        "cfl", "cfl", ("About.",), "", {"Run": [HelpEntry("--" + "x" * 50, "Short.")]}, "", ()
    )
    assert help_text(page, 80).splitlines()[-2:] == [f"  --{'x' * 50}", f"{' ' * 26}Short."]


@pytest.mark.parametrize("width", [64, 80, 120, 200])
def test_help_is_as_wide_as_the_terminal(width):
    lines = [line for line in shown("impute", width=width).splitlines() if "  cfl " not in line]
    widest = max(map(len, lines))
    assert widest <= width
    assert widest > width - 12


AT_THE_END = """\
import atexit, sys
loaded = lambda: [name for name, module in sys.modules.items() if module]
atexit.register(lambda: print(*loaded(), file=sys.stderr))
from cfl_cli.__main__ import main
main()
"""


def loaded_by(*arguments):
    """Return the modules that a command imports, in a process of its own."""
    command = [sys.executable, "-c", AT_THE_END, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(run.stderr.split())


@pytest.mark.parametrize("arguments", [["--help"], ["impute", "--help"]])
def test_help_loads_nothing_heavy(arguments):
    heavy = {"numpy", "scipy", "polars", "osqp", "pydantic", "yaml", "rich", "pyarrow", "jinja2"}
    assert not heavy & loaded_by(*arguments)


def test_only_the_command_that_is_asked_for_is_loaded():
    loaded = {
        name for name in loaded_by("impute", "--help") if name.startswith("cfl_cli.commands.")
    }
    assert loaded == {"cfl_cli.commands.impute"}


@pytest.fixture
def small(tmp_path):
    rows = [f"{row % 7},{row % 3 % 2},{'abc'[row % 3]}" for row in range(60)]
    (tmp_path / "t.csv").write_text("x,y,not\n" + "\n".join(rows))
    (tmp_path / "s.yml").write_text(
        "version: 1\ncolumns: {x: {role: ordinary, type: numeric}, y: {role: ordinary, "
        "type: numeric}, not: {role: complementary, values: [a, b, c]}}\n"
    )
    out, table, schema = (str(tmp_path / name) for name in ("o.parquet", "t.csv", "s.yml"))
    return ["impute", table, "--schema", schema, "--out", out, "-q"]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_small_table_is_imputed_without_what_only_large_ones_need(small, suffix):
    table = Path(small[1])
    pl.read_csv(table).write_parquet(table.with_suffix(".parquet"))
    small[1] = str(table.with_suffix(f".{suffix}"))
    loaded = loaded_by(*small, "--method", "graph")
    assert {"osqp", "polars", "pyarrow", "scipy.sparse"} <= loaded
    assert not {"lightgbm", "rich", "numba", "dask"} & loaded  # osqp loads jinja2
    assert not {f"cfl_cli.run.{name}" for name in ("explain", "batch", "impute_stored")} & loaded


def test_a_small_table_that_is_right_is_imputed_without_what_explains_problems(small):
    loaded = loaded_by(*small, "--method", "graph")
    assert "cfl_cli.encode.columns" in loaded
    causes = {f"cfl_cli.encode.{name}causes" for name in ("", "cf_", "number_", "type_")}
    assert not {*causes, "cfl_cli.models", "cfl_cli.large.stored"} & loaded


def test_help_names_every_format_that_there_is():
    text = Data.__metadata__[0].help
    assert text.startswith(
        "Table: .csv, .tsv, .jsonl (also .gz, .zst), .parquet, .arrow, .xlsx, .ods, or a "
        "folder of .parquet files; "
    )
    assert all(f".{part}" in text for name in FORMATS for part in name.split("."))
    assert INPUT_FORMAT.kind.choices == tuple(FORMATS)
    assert FORMAT.kind.choices == tuple(RENDERERS)


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
