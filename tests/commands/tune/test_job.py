import numpy as np
import polars as pl
import pytest
from builders.tuning import FEW, SCHEMA, table

from cfl_cli.commands.tune import job
from cfl_cli.commands.tune.job import summary, tune
from cfl_cli.core import draws
from cfl_cli.core.progress import Expected
from cfl_cli.core.settings import METHODS
from cfl_cli.encode.encode import encode
from cfl_cli.errors import DataError, UsageError
from cfl_cli.run.search import Folds, row_scores
from cfl_cli.schema.model import Schema


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(job, "CHOICES", FEW)


def test_no_row_is_hidden_for_both_the_search_and_the_test():
    for rows in (5, 600, 30_000):
        dealt = draws.order(rows, draws.TRIALS, 3)
        folds = Folds.of(dealt)
        assert not np.isin(np.concatenate(folds.confirming), folds.searching).any()
        part = Folds.of(dealt[: rows // 2 + 3])
        assert np.isin(part.searching, folds.searching).all()
    assert not folds.mutual


def test_rows_of_one_group_leave_none_to_test_the_choice_on(monkeypatch):
    monkeypatch.setattr(job, "SAMPLE", 30)
    homes = pl.Series("home", ["a"] * 299 + ["b"])
    schema = Schema.parse(SCHEMA + "group: home\n")
    with pytest.raises(DataError, match="belong to one group"):
        tune(table(300).with_columns(homes), schema)


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
    monkeypatch.setattr(job, "SAMPLE", 300)
    found = tune(table(900), Schema.parse(SCHEMA), trials=20, ridge=0.01)
    assert (found.rows, found.searched_rows, found.tested_rows) == (900, 300, 900)
    assert "300 of 900 rows" in " ".join(summary(found))


def test_choices_that_do_not_fit_are_left_out(monkeypatch):
    monkeypatch.setattr(job, "CHOICES", {**FEW, "k": (3, 15, 40), "gamma": ("auto", 0.0)})
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


@pytest.mark.parametrize("method", sorted({*METHODS} - {"graph"}))
def test_other_methods_are_refused_with_what_to_do_instead(method):
    with pytest.raises(UsageError) as caught:
        tune(table(40), Schema.parse(SCHEMA), method=method)
    [problem] = caught.value.problems
    assert problem.code == "tune-other-method"
    assert f"and the method is {method}: " in str(problem)
    assert "set `method: graph` in the schema to tune graph" in str(problem)
    instead = "it needs no tuning, because it chooses its settings on held-out cells: run `impute`, or set"
    assert (instead in str(problem)) == METHODS[method].needs_hidden_rows


class Heard:
    """A progress callback that keeps what is expected, and all that is told."""

    def __init__(self):
        self.expected, self.told = [], []

    def expect(self, stages: list[Expected]):
        self.expected.append(stages)

    def __call__(self, stage, done, total):
        self.told.append((stage.name, done, total))


def test_progress_counts_all_trials_that_there_is_time_for_and_the_tests_behind_them(few):
    heard = Heard()
    found = tune(table(300), Schema.parse(SCHEMA), trials=3, ridge=0.01, progress=heard)
    assert heard.told[1][:2] == ("trials", 0)
    assert all(total <= 3 for name, _, total in heard.told[2:] if name == "trials")
    assert (len(found.trials), found.complete) == (3, False)
    *_, tests = heard.expected[-1]
    assert tests.stage.name == "tests"
    assert tests.seconds > 0
    assert all(len(stages) == 2 for stages in heard.expected)
