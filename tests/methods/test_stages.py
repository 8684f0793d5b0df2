"""Every estimator says its stages ahead, and then makes them in that order."""

import pytest
from builders.known import table

from cfl_cli import methods
from cfl_cli.core.draws import folds
from cfl_cli.core.parallel import Workers
from cfl_cli.core.settings import AUTO, METHODS, Settings
from cfl_cli.methods import auto, boost, graph, net
from cfl_cli.methods.interface import TableSize


def made(name, settings, *, rows=60, hidden=3):
    """Return the stages that a run says ahead, and those that it makes."""
    known, _ = table(0, rows)
    size = TableSize(rows, known.features.shape[1], tuple(how.size for how in known.mechanisms))
    heard = []

    def hear(stage, done, total):
        assert 0 <= done <= total
        if not heard or heard[-1] != stage:
            heard.append(stage)

    with Workers(2) as workers:
        methods.load(name).estimate(
            known, settings, folds=folds(rows, 5, seed=0)[:hidden], workers=workers, progress=hear
        )
    ahead = methods.load(name).stages(size, settings, folds=hidden)
    assert all(one.seconds > 0 for one in ahead)
    return [one.stage for one in ahead], heard


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(net, "STEPS", 24)
    monkeypatch.setattr(boost, "MOST_ROUNDS", 4)


@pytest.mark.parametrize("name", METHODS)
def test_what_is_said_ahead_is_what_is_made(name, monkeypatch):
    monkeypatch.setattr(auto, "WORTH_IT", 2.0)  # no second run of the graph
    ahead, heard = made(name, Settings(name, k=5, iterations=20))
    assert ahead == heard


@pytest.mark.parametrize("iterations", [AUTO, 20])
@pytest.mark.parametrize("gamma", [0.0, 0.25])
@pytest.mark.parametrize("hidden", [0, 1, 3])
def test_the_graphs_stages_depend_on_rounds_steps_and_folds(iterations, gamma, hidden):
    if hidden or iterations != AUTO:
        settings = Settings(k=5, iterations=iterations, gamma=gamma)
        ahead, heard = made("graph", settings, hidden=hidden)
        assert _without_repeats(ahead) == heard


def _without_repeats(stages):
    return [one for place, one in enumerate(stages) if not place or stages[place - 1] != one]


def test_of_a_large_table_a_sample_is_expected(monkeypatch):
    monkeypatch.setattr(graph, "SAMPLED_ABOVE", 50)
    monkeypatch.setattr(graph, "SAMPLE_ROWS", 12)
    ahead, heard = made("graph", Settings(k=5, iterations=20), hidden=1)
    assert ahead == heard
    assert "sample: neighbors" in [stage.name for stage in ahead]


def test_with_a_budget_every_part_is_timed_on_some_rows_first(monkeypatch):
    monkeypatch.setattr(auto, "PILOT_ROWS", 40)
    monkeypatch.setattr(auto, "WORTH_IT", 2.0)
    ahead, heard = made("auto", Settings("auto", k=5, budget=1e6))
    assert ahead == heard
    assert sum(stage.name.startswith("pilot of ") for stage in ahead) == 3


def test_more_rows_folds_neighbors_and_values_are_expected_to_take_longer():
    def seconds(name, *, rows=5000, domains=(3, 4), hidden=2, **given):
        size = TableSize(rows, 5, domains)
        ahead = methods.load(name).stages(size, Settings(name, **given), folds=hidden)
        return sum(one.seconds for one in ahead)

    for name in ("graph", "boost", "net", "ipal", "auto"):
        usual = seconds(name)
        assert seconds(name, rows=10_000) > usual
        assert seconds(name, hidden=5) > usual
        assert name == "net" or seconds(name, domains=(3, 4, 9)) > usual
    assert seconds("graph", k=40) > seconds("graph")
    assert seconds("graph", gamma=0.0) < seconds("graph")
    assert seconds("graph", iterations=10) < seconds("graph")
