"""Settings are chosen by hidden cells, and only replaced by clearly better ones."""

import json
from itertools import count
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
from cfl_cli.jobs.tune import Bench, Folds, Limit, confirm, gain, is_clear, row_scores, search, tune
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
CHOICES = {"iterations": ("auto",), "k": (5, 10, 20), "gamma": (0.0, 1.0)}
NOISE = np.random.default_rng(0).normal(size=(1000, 1))  # one CF
NOISE -= NOISE.mean()
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


def peak(k, gamma, *, noise=0.0):
    """Return a score that is best at some k and gamma; `noise` is on the scores, row by row."""

    def score(settings):
        miss = abs(np.log(settings.k / k)) + abs(settings.gamma - gamma)
        return -miss + NOISE + noise * NOISE[::-1] * miss

    return score


def test_the_search_climbs_to_the_best_settings_one_at_a_time():
    start = Settings(k=20, gamma=0.0, iterations=100)
    found = search(start, CHOICES, peak(5, 1.0))
    assert found.complete
    assert [(step.k, step.gamma) for step in found.path] == [(5, 0.0), (5, 1.0)]
    assert found.path[-1].iterations == 100  # auto was no better
    assert next(iter(found.tried)) == start
    assert found.trials[0].gain.value == 0


def test_the_search_stays_where_differences_are_noise():
    found = search(Settings(k=10, gamma=0.0), CHOICES, peak(5, 0.0, noise=1000.0))
    assert found.complete
    assert found.path == ()


def test_a_second_pass_sees_what_the_first_could_not():
    def score(settings):  # a small k pays only with gamma
        worth = {(20, 0.0): 0, (20, 1.0): 1, (5, 1.0): 2}.get((settings.k, settings.gamma), -1)
        return worth + NOISE

    found = search(Settings(k=20, gamma=0.0), CHOICES, score)
    assert (found.path[-1].k, found.path[-1].gamma) == (5, 1.0)


def test_no_settings_are_tried_twice_and_progress_knows_how_many_are_left():
    asked, told = [], []

    def score(settings):
        asked.append(settings)
        return peak(5, 1.0)(settings)

    search(Settings(), CHOICES, score, progress=lambda *news: told.append(news))
    assert len(asked) == len(set(asked)) == len(told)
    assert [done for _, done, _ in told] == list(range(1, len(told) + 1))
    assert told[-1][1] == told[-1][2]
    assert all(done <= total for _, done, total in told)


def test_a_search_that_is_cut_short_ends_with_the_best_so_far():
    answers = iter([NOISE, NOISE + 1, NOISE + 2])
    found = search(Settings(k=10), CHOICES, lambda _: next(answers, None))
    assert not found.complete
    assert len(found.tried) == 3
    assert found.path[-1] == [*found.tried][-1]


def test_the_end_of_the_path_is_chosen_if_it_wins_on_other_rows():
    start, end = Settings(k=20), Settings(k=5)
    ((settings, found, passed),) = confirm(start, [end], peak(5, 0.25))
    assert (settings, passed) == (end, True)
    assert found.value == pytest.approx(np.log(4))


def test_moves_are_taken_back_until_one_is_clearly_better():
    start, better, worse = Settings(k=20), Settings(k=5), Settings(k=5, gamma=3.0)
    tests = confirm(start, [better, worse], peak(5, 0.25))
    assert [(settings, passed) for settings, _, passed in tests] == [(worse, False), (better, True)]
    assert confirm(start, [better, worse], peak(5, 0.25), may=lambda: False) == tests[:1]
    assert confirm(start, [], peak(5, 0.25)) == []


def test_chance_passes_a_test_seldom():
    random = np.random.default_rng(0)
    start, path = Settings(k=20), [Settings(k=k) for k in (5, 6, 7, 8)]
    passed = sum(
        confirm(start, path, lambda _: random.standard_t(5, size=(400, 1)))[-1][2]
        for _ in range(400)
    )
    assert passed <= 0.04 * 400


def test_no_cf_pays_for_the_gain_of_others():
    def score(settings):  # a small k is good for the first CF and bad for the second
        small = settings.k < 10
        return np.hstack([NOISE + 3 * small, NOISE[::-1] - small])

    found = search(Settings(k=20), CHOICES, score)
    assert found.trials[2].settings["k"] == 5
    assert found.trials[2].gain.value == pytest.approx(1)
    assert found.path == ()
    ((_, gained, passed),) = confirm(Settings(k=20), [Settings(k=5)], score)
    assert (gained.value, passed) == (pytest.approx(1), False)


def test_a_gain_on_few_rows_is_never_clear():
    found = gain(np.ones((20, 1)), np.zeros((20, 1)))
    assert found.value == 1
    assert not is_clear(found, rows=20)
    assert is_clear(found, rows=400)


def test_rows_hidden_in_turn_count_for_less():
    alone, mutual = gain(NOISE, 0 * NOISE), gain(NOISE, 0 * NOISE, mutual=True)
    assert mutual.error == pytest.approx(np.sqrt(2) * alone.error)
    assert mutual.value == alone.value


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
        bench = Bench(encoded, np.arange(300), workers)
        for settings in (Settings(k=5), Settings(k=5, iterations="auto", gamma="auto")):
            rounds = bench._rounds(settings, lambda *_: None)  # noqa: SLF001 — what both stand on
            choice, hidden = judge(rounds, [folds.searching])
            again = rounds.predict_hidden("again", folds.searching, choice)
            np.testing.assert_allclose(again, hidden.priors, atol=1e-6)


def test_the_clock_lets_no_trial_begin_that_would_not_end_in_time():
    clock = map(float, count(step=10))  # ten seconds from one look to the next
    limit = Limit(seconds=100, clock=lambda: next(clock), kept_back=lambda trial: 2 * trial)
    assert limit.allows()  # the first, whatever the clock says
    limit.time(lambda: NOISE)
    assert limit.longest == 10
    allowed = [limit.allows() for _ in range(6)]
    assert allowed == sorted(allowed, reverse=True)
    assert set(allowed) == {True, False}


def test_the_number_of_trials_is_held():
    limit = Limit(trials=2)
    for expected in (True, True, False):
        assert limit.allows() is expected
        limit.time(lambda: NOISE)


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
    assert tuning.tuned(written) == facts["chosen"]
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
