import json
from pathlib import Path

import polars as pl
import pytest
import yaml
from builders.command_line import cfl
from builders.tuning import FEW, SCHEMA, table

from cfl_cli.commands.tune import job
from cfl_cli.run.search import tuned
from cfl_cli.schema.model import Schema


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(job, "CHOICES", FEW)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.yml").write_bytes(SCHEMA.encode())
    table(150).write_csv("data.csv")
    return tmp_path


def tune(*options, **environment):
    return cfl("tune", "data.csv", "--schema", "schema.yml", *options, **environment)


def test_the_schema_goes_to_stdout_and_the_trials_to_stderr(folder):
    result = tune("--trials", 3)
    assert result.exit_code == 0, result.output
    written = Schema.parse(result.stdout)
    assert written.columns == Schema.parse(SCHEMA).columns
    settings = yaml.safe_load(result.stdout)["settings"]
    assert {*settings} == {"k", "iterations", "gamma", "ridge", "seed"}
    assert written.settings.seed == 1
    for comment in ("# all of them", "# few"):
        assert comment in result.stdout
    assert len([line for line in result.stderr.splitlines() if "±" in line]) >= 2
    assert "3 trials on 150 rows" in result.stderr


def test_with_a_file_the_trials_go_to_stdout(folder):
    result = tune("--trials", 3, "--out", "new.yml", "--format", "json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert [trial["trial"] for trial in facts["trials"]] == [1, 2, 3]
    assert tuned(Schema.load("new.yml").settings) == facts["chosen"]
    assert Path("schema.yml").read_text() == SCHEMA


def test_the_bytes_do_not_depend_on_threads_or_the_run(folder):
    shown = set()
    for jobs in (1, 2, 2):
        result = tune(
            "--trials", 6, "--jobs", jobs, "--out", "new.yml", "--overwrite", "-f", "json"
        )
        shown.add((result.stdout, Path("new.yml").read_bytes()))
    assert len(shown) == 1


def test_csv_markdown_and_table_show_the_same_trials(folder):
    options = "--trials", 4, "--overwrite", "--out", "new.yml", "--format"
    records = tune(*options, "csv").stdout.splitlines()
    assert records[0].startswith("trial,iterations,k,gamma,ridge,score,gain,")
    assert len(records) == 5
    title, blank, *lines = tune(*options, "md").stdout.splitlines()
    assert (title.partition(",")[0], blank, len(lines)) == ("4 trials", "", 6)
    assert all(line.startswith("| ") and line.endswith(" |") for line in lines)
    rows = tune(*options, "table").stdout.splitlines()
    assert rows[3].split()[:5] == ["1", "60", "3", "0.25", "0.3"]
    assert "start" in rows[3]


def test_quiet_prints_the_schema_alone(folder):
    result = tune("--trials", 1, "-q")
    assert Schema.parse(result.stdout)
    assert result.stderr == ""
    assert tune("--trials", 1, "-q", "--out", "new.yml").output == ""
    assert "1 trial on" in tune(CFL_TRIALS="1").stderr


def test_the_schema_itself_is_replaced_only_when_told_to(folder):
    refused = tune("--trials", 1, "--out", "schema.yml")
    assert (refused.exit_code, "--overwrite" in refused.stderr) == (2, True)
    assert tune("--trials", 1, "--out", "schema.yml", "--overwrite").exit_code == 0
    assert Path("schema.yml").read_text() == SCHEMA + "  gamma: 0.25\n  ridge: 0.3\n"
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "schema.yml"]


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--trials", 0], 2, "--trials"),
        (["--budget", -1], 2, "--budget"),
        (["--out", "no/new.yml"], 2, "no/new.yml"),
        (["--out", "data.csv", "--overwrite"], 2, "data.csv"),
        (["--max-memory", "1MB"], 4, "--max-memory"),
        (["--jobs", 0], 2, "--jobs"),
        (["--input-format", "parquet"], 1, "data.csv"),
    ],
)
def test_what_cannot_be_done_is_refused(folder, options, code, words):
    before = Path("data.csv").read_bytes()
    result = tune(*options)
    assert Path("data.csv").read_bytes() == before
    assert result.exit_code == code, result.output
    assert words in result.stderr
    assert "Traceback" not in result.output
    assert result.stdout == ""


def test_no_cell_of_the_table_is_shown(folder):
    frame = pl.read_csv("data.csv", infer_schema=False)
    frame.with_columns(x=pl.lit("0.77") + pl.col("x").str.slice(2)).write_csv("data.csv")
    assert "0.77" not in tune("--trials", 3, "-f", "json").output
