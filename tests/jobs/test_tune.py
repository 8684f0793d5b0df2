"""Settings are chosen by hidden cells, and only replaced by clearly better ones."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml
from typer.testing import CliRunner

from cfl_cli.cli.app import app
from cfl_cli.cli.show.trials import summary
from cfl_cli.core import draws
from cfl_cli.core.parallel import Workers
from cfl_cli.core.settings import Settings
from cfl_cli.errors import DataError
from cfl_cli.estimators.graph import judge
from cfl_cli.jobs import tune as tuning
from cfl_cli.jobs.search import tuned
from cfl_cli.jobs.trials import Folds, Trials, row_scores
from cfl_cli.jobs.tune import tune
from cfl_cli.schema.model import Schema
from cfl_cli.steps.encode import encode

SCHEMA = """\
version: 1
columns:  # all of them
  x: {role: ordinary, type: numeric}
  y: {role: ordinary, type: numeric}
  one: {role: complementary, values: [a, b, c], separator: ";"}
  two: {role: complementary, values: [d, e, f, g]}
settings:
  k: 3  # few
  iterations: 60
  seed: 1
"""
FEW = {"iterations": ("auto",), "k": (3, 15), "gamma": (0.0, 0.25), "ridge": (0.3,)}


def table(rows, *, seed=0):
    """Return a table in which both CFs follow from where a row lies."""
    random = np.random.default_rng(seed)
    x, y = random.random(rows), random.random(rows)
    columns = {"x": x.round(3).astype(str), "y": y.round(3).astype(str)}
    for name, domain, at in (("one", "abc", x), ("two", "defg", y)):
        size = len(domain)
        sure = (at * size).astype(int)
        value = np.where(random.random(rows) < 0.8, sure, random.integers(0, size, rows))
        wrong = (value + random.integers(1, size, rows)) % size
        columns[name] = np.array(list(domain))[wrong]
    return pl.DataFrame(columns)


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(tuning, "CHOICES", FEW)


def test_no_row_is_hidden_for_both_the_search_and_the_test():
    for rows in (5, 600, 30_000):
        dealt = draws.order(rows, draws.TRIALS, 3)
        folds = Folds.of(dealt)
        assert not np.isin(np.concatenate(folds.confirming), folds.searching).any()
        part = Folds.of(dealt[: rows // 2 + 3])
        assert np.isin(part.searching, folds.searching).all()
    assert not folds.mutual


def test_the_score_weighs_a_cell_by_what_it_tells():
    encoded = encode(
        pl.DataFrame({"x": ["1", "2"], "y": ["3", "5"], "one": ["a;b", ""], "two": ["d", "e"]}),
        Schema.parse(SCHEMA),
    )
    priors = np.array([[0.2, 0.3, 0.5, 0.4, 0.2, 0.2, 0.2], [0.2, 0.3, 0.5, 0.1, 0.5, 0.2, 0.2]])
    scores = row_scores(encoded, np.array([0, 1]), priors)
    one = (3 - 1) / 2 * np.log(0.5)  # two exclusions of three values: as good as the value
    two = (4 - 1) * np.mean(np.log([0.6 / 3, 0.5 / 3]))
    assert scores.mean() == pytest.approx((one + two) / 2)


def test_hidden_rows_are_told_the_same_when_the_choice_is_made():
    encoded = encode(table(300), Schema.parse(SCHEMA))
    folds = Folds.of(draws.order(300, draws.TRIALS, 0))
    with Workers(1) as workers:
        trials = Trials(encoded, np.arange(300), workers)
        for settings in (Settings(k=5), Settings(k=5, iterations="auto", gamma="auto")):
            rounds = trials._rounds(settings, lambda *_: None)  # noqa: SLF001 — what both stand on
            choice, hidden = judge(rounds, [folds.searching])
            again = rounds.predict_hidden("again", folds.searching, choice)
            np.testing.assert_allclose(again, hidden.priors, atol=1e-6)


def test_poor_settings_are_replaced_and_good_ones_stay(few):
    frame, schema = table(900), Schema.parse(SCHEMA)
    found = tune(frame, schema, trials=20, ridge=0.01)
    assert found.chosen.settings["k"] == 15
    assert found.tests[-1].passed
    assert found.complete
    again = tune(frame, schema, trials=20, **found.chosen.settings)
    assert again.chosen == again.trials[0]


def test_cells_that_follow_from_nothing_change_nothing(few):
    frame = table(400).with_columns(pl.col("one", "two").shuffle(seed=1))
    found = tune(frame, Schema.parse(SCHEMA), trials=20, k=15, gamma=0.0, iterations=5)
    assert found.chosen == found.trials[0]


def test_no_time_means_the_start_alone(few):
    found = tune(table(200), Schema.parse(SCHEMA), budget=0)
    assert (len(found.trials), found.tests, found.complete) == (1, (), False)
    assert found.chosen.settings == {"k": 3, "iterations": 60, "gamma": 0.25, "ridge": 0.3}


def test_a_large_table_is_searched_on_a_part_and_tested_on_the_whole(few, monkeypatch):
    monkeypatch.setattr(tuning, "SAMPLE", 300)
    found = tune(table(900), Schema.parse(SCHEMA), trials=20, ridge=0.01)
    assert (found.rows, found.searched_rows, found.tested_rows) == (900, 300, 900)
    assert "300 of 900 rows" in " ".join(summary(found))


def test_choices_that_do_not_fit_are_left_out(monkeypatch):
    monkeypatch.setattr(tuning, "CHOICES", {**FEW, "k": (3, 15, 40), "gamma": ("auto", 0.0)})
    found = tune(table(40), Schema.parse(SCHEMA), trials=50, folds=0)
    tried_settings = [trial.settings for trial in found.trials]
    assert {settings["k"] for settings in tried_settings} <= {3, 15}
    assert not any("auto" in settings.values() for settings in tried_settings)


@pytest.mark.parametrize(
    ("cells", "words"),
    [([""] * 30, "every CF cell is empty"), (["", "a", *[""] * 28], "too few rows")],
)
def test_a_table_whose_cells_say_too_little_is_refused(cells, words):
    frame = table(30).with_columns(one=pl.Series(cells), two=pl.Series([""] * 30))
    with pytest.raises(DataError, match=f"table: {words}"):
        tune(frame, Schema.parse(SCHEMA))


@pytest.fixture
def folder(tmp_path, monkeypatch, few):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.yml").write_bytes(SCHEMA.encode())
    table(150).write_csv("data.csv")
    return tmp_path


def cfl(*options, **environment):
    arguments = ["tune", "data.csv", "--schema", "schema.yml", *map(str, options)]
    return CliRunner().invoke(app, arguments, env=environment)


def test_the_schema_goes_to_stdout_and_the_trials_to_stderr(folder):
    result = cfl("--trials", 3)
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
    result = cfl("--trials", 3, "--out", "new.yml", "--format", "json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    assert [trial["trial"] for trial in facts["trials"]] == [1, 2, 3]
    written = Schema.load("new.yml").settings
    assert tuned(written) == facts["chosen"]
    assert Path("schema.yml").read_text() == SCHEMA


def test_the_bytes_do_not_depend_on_threads_or_the_run(folder):
    shown = set()
    for jobs in (1, 2, 2):
        result = cfl("--trials", 6, "--jobs", jobs, "--out", "new.yml", "--overwrite", "-f", "json")
        shown.add((result.stdout, Path("new.yml").read_bytes()))
    assert len(shown) == 1


def test_csv_markdown_and_table_show_the_same_trials(folder):
    options = "--trials", 4, "--overwrite", "--out", "new.yml", "--format"
    records = cfl(*options, "csv").stdout.splitlines()
    assert records[0].startswith("trial,iterations,k,gamma,ridge,score,gain,")
    assert len(records) == 5
    title, blank, *lines = cfl(*options, "md").stdout.splitlines()
    assert (title.partition(",")[0], blank, len(lines)) == ("4 trials", "", 6)
    assert all(line.startswith("| ") and line.endswith(" |") for line in lines)
    rows = cfl(*options, "table").stdout.splitlines()
    assert rows[3].split()[:5] == ["1", "60", "3", "0.25", "0.3"]
    assert "start" in rows[3]


def test_quiet_prints_the_schema_alone(folder):
    result = cfl("--trials", 1, "-q")
    assert Schema.parse(result.stdout)
    assert result.stderr == ""
    assert cfl("--trials", 1, "-q", "--out", "new.yml").output == ""


def test_the_environment_sets_options(folder):
    assert "1 trial on" in cfl(CFL_TRIALS="1").stderr


def test_the_schema_itself_is_replaced_only_when_told_to(folder):
    refused = cfl("--trials", 1, "--out", "schema.yml")
    assert (refused.exit_code, "--overwrite" in refused.stderr) == (2, True)
    assert cfl("--trials", 1, "--out", "schema.yml", "--overwrite").exit_code == 0
    text = Path("schema.yml").read_text()
    assert text == SCHEMA + "  gamma: 0.25\n  ridge: 0.3\n"
    assert sorted(path.name for path in folder.iterdir()) == ["data.csv", "schema.yml"]


def test_the_table_is_never_replaced(folder):
    before = Path("data.csv").read_bytes()
    assert cfl("--out", "data.csv", "--overwrite").exit_code == 2
    assert Path("data.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--trials", 0], 2, "--trials"),
        (["--budget", -1], 2, "--budget"),
        (["--out", "no/new.yml"], 2, "no/new.yml"),
        (["--max-memory", "1MB"], 4, "--max-memory"),
        (["--jobs", 0], 2, "--jobs"),
        (["--input-format", "parquet"], 1, "data.csv"),
    ],
)
def test_what_cannot_be_done_is_refused(folder, options, code, words):
    result = cfl(*options)
    assert result.exit_code == code, result.output
    assert words in result.stderr
    assert "Traceback" not in result.output
    assert result.stdout == ""


def test_no_cell_of_the_table_is_shown(folder):
    frame = pl.read_csv("data.csv", infer_schema=False)
    frame.with_columns(x=pl.lit("0.77") + pl.col("x").str.slice(2)).write_csv("data.csv")
    result = cfl("--trials", 3, "-f", "json")
    assert "0.77" not in result.output
