"""The stages of the graph, how long they take by hand, and what settings leave to hidden cells."""

import pytest

from cfl_cli.core.progress import Work
from cfl_cli.core.settings import DEFAULT_GAMMA, Settings
from cfl_cli.methods import graph
from cfl_cli.methods.graph import (
    GraphMethod,
    chooses_round,
    chooses_steps,
    expected,
    gamma,
    most_steps,
    stage_of,
)
from cfl_cli.methods.interface import TableSize

SMALL = TableSize(1000, 5, (3, 4))


def names(size, *, folds, **given):
    return [one.stage.name for one in GraphMethod().stages(size, Settings(**given), folds=folds)]


def test_one_round_without_folds_is_a_graph_and_a_walk():
    stages = ["round 1: neighbors", "round 1: weights", "round 1: propagation"]
    assert names(SMALL, folds=0, gamma=0.0) == stages


def test_a_second_round_ends_the_run_and_every_fold():
    second = ["round 2: neighbors", "round 2: weights", "round 2: propagation"]
    fold = ["fold 1, round 1: propagation", *(f"fold 1, {name}" for name in second)]
    ends = ["round 1: propagation", "shuffled: propagation", *second]
    assert names(SMALL, folds=1) == ["round 1: neighbors", "round 1: weights", *fold, *ends]


def test_steps_that_are_chosen_need_every_fold_once_more():
    more = names(SMALL, folds=2, gamma=0.0, iterations="auto")
    once = names(SMALL, folds=2, gamma=0.0)
    assert more[2:4] == ["fold 1, round 1: propagation", "fold 2, round 1: propagation"]
    assert more[:2] + more[4:] == once


@pytest.mark.parametrize(("rows", "sampled"), [(20_000, False), (20_001, True)])
def test_only_a_large_table_is_sampled(rows, sampled):
    ahead = names(TableSize(rows, 5, (3,)), folds=1)
    assert ("sample: neighbors" in ahead) == sampled


def test_a_walk_takes_time_for_each_row_step_neighbor_and_value():
    settings = Settings(k=10, iterations=50)
    (walk,) = expected([Work.PROPAGATION], "round 1", SMALL, settings)
    assert walk.stage == stage_of("round 1", Work.PROPAGATION)
    assert walk.seconds == pytest.approx(graph.STEP_SECONDS * 1000 * 50 * 10 * 7)


def test_chosen_steps_are_expected_to_end_at_a_quarter_of_the_longest():
    chosen, given = Settings(iterations="auto"), Settings(iterations=25)
    walk = [Work.PROPAGATION], "round 1", SMALL
    (brief,) = expected(*walk, chosen, longest=100)
    assert [brief] == expected(*walk, given)
    assert expected(*walk, chosen)[0].seconds == pytest.approx(4 * brief.seconds)


def test_what_is_given_is_fixed():
    settings = Settings(iterations=30, gamma=0.5)
    assert (most_steps(settings), gamma(settings)) == (30, 0.5)
    assert most_steps(settings, 20) == 30
    assert not chooses_steps(settings)
    assert not chooses_round(settings)


def test_auto_leaves_steps_and_rounds_to_hidden_cells():
    settings = Settings(iterations="auto", gamma="auto")
    assert (most_steps(settings), most_steps(settings, 100)) == (400, 100)
    assert gamma(settings) == gamma(Settings()) == DEFAULT_GAMMA
    assert chooses_steps(settings)
    assert chooses_round(settings)


@pytest.mark.parametrize("value", [0.0, 0.5])
def test_as_a_part_of_auto_the_graph_chooses_the_round_with_the_gamma_that_is_given(value):
    settings = Settings("auto", gamma=value)
    assert chooses_round(settings)
    assert gamma(settings) == value
