import inspect
import json
from importlib import import_module
from pathlib import Path

import pytest
from builders.command_line import cfl, done, impute
from builders.killed import dying

from cfl_cli import large as engine
from cfl_cli.commands.impute import work
from cfl_cli.core import system

COMMANDS = "cfl_cli.commands"
CATEGORY = "y: {role: ordinary, type: categorical}"


def test_check_reports_sizes_and_what_a_run_takes(folder):
    result = done(cfl("check", "data.csv", "--schema", "schema.yml"))
    for words in ("12", "MB", "no problems"):
        assert words in result.stdout


def test_check_finds_all_problems_at_once(folder):
    (folder / "data.csv").write_text("x,y,cf\n1,many,a\n2,3,d\n3,4,b\n")
    result = cfl("check", "data.csv", "--schema", "schema.yml")
    assert result.exit_code == 1
    assert "column 'y': 'many' (row 1) is not a number" in result.stderr
    assert "'d'" in result.stderr


def test_check_names_bad_cells_absent_columns_and_k_together(folder):
    (folder / "data.csv").write_text("x,z,cf\nmany,1,a\n2,3,d\n3,4,b\n")
    result = cfl("check", "data.csv", "--schema", "schema.yml")
    for word in (
        "column 'y' is in the schema but not in the table",
        "'many'",
        "'d'",
        "3 rows are too few",
    ):
        assert word in result.stderr
    assert cfl("check", "data.csv", "-s", "schema.yml", "--k", "2").stderr.count("too few") == 0


def test_every_problem_is_a_line_and_an_object_for_programs(folder):
    (folder / "data.csv").write_text("x,y,cf\n" + "1;5,4,a;b\n2;5,NA,b\n" * 10)
    result = cfl("check", "data.csv", "-s", "schema.yml", "--format", "json")
    assert result.exit_code == 1
    assert result.stderr == ""
    facts = json.loads(result.stdout)
    assert {(one["column"], one["cause"]) for one in facts["problems"]} == {
        ("x", "not-a-number"),
        ("y", "missing-code"),
        ("cf", "separator"),
    }
    assert facts["plan"] is None
    lines = cfl("check", "data.csv", "-s", "schema.yml")
    assert len(lines.stderr.splitlines()) == 3
    assert lines.stdout == "3 problems found\n"


def test_what_is_wrong_with_the_schema_or_the_file_is_found_too(folder):
    (folder / "odd.yml").write_text("version: 1\ncolumns: {x: {role: ordinry}, y: {rol: ignore}}\n")
    result = cfl("check", "data.csv", "-s", "odd.yml", "--format", "json")
    assert result.exit_code == 1
    causes = [one["cause"] for one in json.loads(result.stdout)["problems"]]
    assert set(causes) == {"schema"}
    assert len(causes) >= 2
    (folder / "data.csv").write_text("x,y,cf\n1,2\n")
    result = cfl("check", "data.csv", "-s", "schema.yml", "--format", "json")
    assert [one["cause"] for one in json.loads(result.stdout)["problems"]] == ["file"]


def causes(*arguments):
    result = cfl("check", *arguments, "--format", "json")
    problems = json.loads(result.stdout)["problems"]
    return result.exit_code, [one["cause"] for one in problems]


def test_what_is_wrong_with_a_file_has_a_key_that_stays_the_same(folder):
    table = (folder / "data.csv").read_text()
    for text, encoding, key in [
        (table.replace(",", ";"), "utf-8", "file-delimiter"),
        (table.replace("\n0,", "\nKöln,", 1), "cp1252", "file-encoding"),
        (f"Survey 2024\n\n{table}", "utf-8", "file-header"),
        (table.partition("\n")[2], "utf-8", "file-header"),
        (table.replace("x,", "z,", 1), "utf-8", "no-column"),
    ]:
        (folder / "odd.csv").write_text(text, encoding=encoding)
        assert causes("odd.csv", "-s", "schema.yml") == (1, [key])
    assert causes("schema.yml", "-s", "data.csv") == (2, ["swapped"])
    swapped = cfl("check", "schema.yml", "-s", "data.csv").stderr
    assert "swap them: data.csv --schema schema.yml" in swapped


def test_a_schema_that_is_wrong_hides_no_file_that_cannot_be_read(folder):
    table, schema = ((folder / name).read_text() for name in ("data.csv", "schema.yml"))
    semicolons = f'file: {{delimiter: ";"}}\n{schema}'
    for wrong, data, found in [
        (f"odd: 1\n{schema}", f"{table}1,2\n", ["file", "schema"]),
        (f"odd: 1\n{schema}", table.replace(",", ";"), ["file-delimiter", "schema"]),
        (f"odd: 1\n{semicolons}", table.replace(",", ";"), ["schema"]),
        ("a: b: c", table.replace(",", ";"), ["schema"]),  # which may have named the delimiter
    ]:
        (folder / "odd.yml").write_text(wrong)
        (folder / "data.csv").write_text(data)
        assert causes("data.csv", "-s", "odd.yml") == (1, found)


def test_a_column_that_fails_hides_no_warning_of_another(folder):
    rows = "".join(f"1,{'many' if n == 3 else n},{'abc'[n % 3]}\n" for n in range(30))
    (folder / "data.csv").write_text("x,y,cf\n" + rows)
    result = cfl("check", "data.csv", "-s", "schema.yml")
    assert result.exit_code == 1
    assert "column 'y': 'many' (row 4) is not a number" in result.stderr
    assert "warning: data.csv: column 'x' holds only one value" in result.stdout


def test_check_takes_every_option_of_impute_and_writes_nothing(folder):
    assert _options("impute") - {"draws", "for_", "reference"} <= _options("check")
    before = sorted(folder.iterdir())
    line = [
        "data.csv",
        "-s",
        "schema.yml",
        "-o",
        "out.csv",
        "--report",
        "r.json",
        "--model",
        "m.cfl",
    ]
    result = cfl("check", *line, "--seed", "7", "--ridge", "1", "--overwrite", "-q")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert sorted(folder.iterdir()) == before


def _options(command):
    return {*inspect.signature(getattr(import_module(f"{COMMANDS}.{command}"), command)).parameters}


@pytest.mark.parametrize("option", ["-o", "--model"])
def test_a_target_that_cannot_be_written_is_found_before_the_work(folder, option):
    result = cfl("check", "data.csv", "-s", "schema.yml", option, "nowhere/out.csv")
    assert result.exit_code == 2
    assert "does not exist" in result.stderr


def test_warnings_are_shown_with_the_plan(folder):
    rows = "".join(f"{n % 7},same,{'abc'[n % 3]}\n" for n in range(30))
    (folder / "data.csv").write_text("x,y,cf\n" + rows)
    schema = (folder / "schema.yml").read_text()
    (folder / "schema.yml").write_text(
        schema.replace("y: {role: ordinary, type: numeric}", CATEGORY)
    )
    result = done(cfl("check", "data.csv", "-s", "schema.yml"))
    assert "warning: data.csv: column 'y' holds only one value" in result.stdout
    assert result.stdout.endswith("found\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--scheduler", "tcp://192.0.2.1:8786"], "is not on this host: use TLS"),
        (["--workers", "100000"], "100,000 processes would overload this machine"),
    ],
)
def test_an_engine_that_a_run_could_not_have_is_refused_as_a_run_would(folder, options, said):
    pytest.importorskip("distributed")
    result = cfl("check", "data.csv", "-s", "schema.yml", "--engine", "dask", *options)
    assert result.exit_code == 2
    assert said in result.stderr


CHECK = ("check", "data.csv", "-s", "schema.yml", "--method", "graph", "--run-dir", "run")


@pytest.fixture
def begun(folder, monkeypatch):
    with dying(monkeypatch):
        impute("--method", "graph", "--run-dir", "run")
    return folder / "run"


def test_a_run_directory_that_is_not_there_yet_is_not_made(folder):
    assert "run directory  is ready for a new run\n" in done(cfl(*CHECK)).stdout
    assert not Path("run").exists()


def test_a_run_that_can_be_resumed_is_said_to_be_and_left_as_it_is(begun):
    before = {path: path.stat().st_mtime_ns for path in begun.rglob("*")}
    result = done(cfl(*CHECK, "--resume"))
    assert "run directory  has a checkpoint that a run would resume\n" in result.stdout
    assert {path: path.stat().st_mtime_ns for path in begun.rglob("*")} == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "holds a checkpoint of an earlier run: resume it with --resume"),
        (("--resume", "--k", "4"), "the settings differ: k: 3 → 4"),
    ],
)
def test_a_run_directory_is_refused_as_a_run_would(begun, options, said):
    result = cfl(*CHECK, *options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert impute("--method", "graph", "--run-dir", "run", *options).stderr == result.stderr


@pytest.mark.unix
def test_a_run_directory_in_use_or_of_something_else_is_refused(begun, folder):
    with (begun / "lock").open() as lock:
        system.lock(lock.fileno())
        result = cfl(*CHECK, "--resume")
    assert result.exit_code == 2
    assert "another run is using this folder" in result.stderr
    other = cfl(*CHECK[:-1], folder)
    assert other.exit_code == 2
    assert "not empty, and not a folder of a run" in other.stderr


def test_a_large_table_is_checked_with_cells_and_arrays_on_disk(folder, monkeypatch):
    whole = cfl(*CHECK[:-2], "--format", "json")
    monkeypatch.setattr(work, "LARGE", 1)
    monkeypatch.setattr(engine, "IN_MEMORY", 1)
    blocks = done(cfl(*CHECK[:-2], "--format", "json"))
    one, other = (json.loads(result.stdout) for result in (whole, blocks))
    for plan in (one["plan"], other["plan"]):
        del plan["seconds"], plan["memory_mb"], plan["others"]
    assert one == other
    assert not list(folder.glob(".cfl*"))
