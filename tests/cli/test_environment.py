import json

import pytest
from builders.command_line import cfl, done, impute, refused

from cfl_cli.cli.options import settings_of
from cfl_cli.core.settings import SETTINGS, FileName


def settings(folder):
    return json.loads((folder / "out.csv.report.json").read_text())["settings"]


def test_the_command_line_wins_over_the_environment_and_that_over_the_schema(folder):
    impute()
    assert settings(folder)["k"] == 3
    impute("--overwrite", CFL_K="4")
    assert settings(folder)["k"] == 4
    impute("--overwrite", "--k", 5, CFL_K="4")
    assert settings(folder)["k"] == 5


def test_no_variable_names_a_file_or_permits_overwriting(folder):
    (folder / "result.csv").write_text("precious")
    impute()
    result = done(cfl("report", "out.csv", CFL_OUT="result.csv", CFL_OVERWRITE="1"))
    assert result.stdout.startswith("12 rows")
    assert (folder / "result.csv").read_text() == "precious"
    again = impute(CFL_OVERWRITE="true")
    assert (again.exit_code, "already exists" in again.stderr) == (2, True)


@pytest.mark.parametrize("name", ["CFL_DATA", "CFL_SCHEMA", "CFL_OUT", "CFL_REPORT", "CFL_TRUTH"])
def test_a_variable_with_the_name_of_a_file_option_is_not_read(folder, name):
    before = sorted(path.name for path in folder.iterdir())
    for command in (["impute"], ["evaluate", "data.csv"], ["report", "data.csv"]):
        cfl(*command, **{name: "surprise.csv"})
    assert impute("-q", **{name: "surprise.csv"}).exit_code == 0
    new = {"out.csv", "out.csv.report.json"}
    assert sorted(path.name for path in folder.iterdir()) == sorted({*before, *new})


def test_of_the_settings_only_files_overwriting_and_resuming_have_no_variable():
    without = {setting.name for setting in SETTINGS.values() if setting.env is None}
    names_of_files = {s.name for s in SETTINGS.values() if isinstance(s.kind, FileName)}
    assert without == {"overwrite", "resume", *names_of_files} - {"scheduler"}


def test_a_variable_that_cannot_be_read_is_named_in_the_error(folder):
    refused(impute(CFL_K="twenty"), 2, "cfl: CFL_K: expected a whole number, found 'twenty'\n")
    refused(impute(CFL_MODE="loud"), 2, "cfl: CFL_MODE: expected hard, soft or both, found 'loud'")
    refused(impute(CFL_MODE="sotf"), 2, "found 'sotf' (did you mean 'soft'?)\n")
    refused(impute(CFL_QUIET="Maybe"), 2, "cfl: CFL_QUIET: expected true or false, found 'Maybe'")
    assert "CFL_K" not in impute("--k", 3, CFL_K="twenty").stderr


def test_a_variable_that_does_not_apply_is_blamed_and_not_an_option_that_nobody_typed(folder):
    impute(out="table.parquet")
    refused(
        impute(data="table.parquet", CFL_DELIMITER=";"),
        2,
        "cfl: CFL_DELIMITER does not apply to table.parquet, which is parquet\n",
    )
    typed = impute("--delimiter", "|", data="table.parquet", CFL_DELIMITER=";")
    refused(typed, 2, "cfl: --delimiter does not apply to table.parquet")
    refused(impute(CFL_FOLDS="1"), 2, "cfl: CFL_FOLDS: one fold would hold out every row")


@pytest.mark.parametrize("word", ["1", "true", "True", "yes", "on", "y", "t", "T", "YES"])
def test_a_switch_can_be_turned_on_by_the_usual_words(folder, word):
    assert impute(CFL_QUIET=word).output == ""


@pytest.mark.parametrize("word", ["0", "false", "no", "off", "n", "f", "F", "OFF"])
def test_a_switch_can_be_turned_off_by_the_usual_words(folder, word):
    assert "12 rows" in impute(CFL_QUIET=word).stderr


def test_an_empty_variable_is_not_given(folder):
    assert impute(CFL_K="", CFL_MODE="").exit_code == 0
    assert settings(folder)["k"] == 3


def test_how_a_text_table_is_read_can_be_set_once_for_all_commands(folder):
    text = (folder / "data.csv").read_text()
    (folder / "data.csv").write_text(text.replace(",", ";"))
    assert impute(CFL_DELIMITER=";").exit_code == 0
    (folder / "rows.csv").write_text(text + "13\n")
    assert impute(data="rows.csv", out="rest.csv", CFL_ON_BAD_ROW="set-aside").exit_code == 0
    assert (folder / "rest.csv.rejects.csv").exists()


def test_names_of_columns_stand_on_a_line_each_and_are_not_split_at_blanks(folder):
    (folder / "data.csv").write_text("first age,last job,my id\n1,a,7\n2,b,8\n3,c,9\n")
    drafted = done(cfl("init", "data.csv", CFL_CF="last job", CFL_IGNORE="first age\nmy id\n"))
    text = drafted.stdout.replace('"', "").replace("'", "")
    assert "last job: {role: complementary" in text
    assert text.count("role: ignore}") == 2


@pytest.mark.parametrize("name", [s.name for s in settings_of("impute") if s.env])
def test_every_setting_of_a_run_is_checked_before_the_work(folder, name):
    refused(impute(**{f"CFL_{name.upper()}": "nonsense!"}), 2, f"cfl: CFL_{name.upper()}: ")


def test_a_format_belongs_to_one_file_and_has_no_variable(folder):
    assert impute(CFL_OUTPUT_FORMAT="jsonl", CFL_INPUT_FORMAT="parquet").exit_code == 0
    assert (folder / "out.csv").read_text().startswith("x,")
