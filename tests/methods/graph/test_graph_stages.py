"""The stages of the graph, how long they take by hand, and what settings leave to hidden cells."""

import pytest

from cfl_cli.core.progress import Work
from cfl_cli.core.settings import DEFAULT_GAMMA, Settings
from cfl_cli.methods import graph
from cfl_cli.methods.graph import (
    chooses_round,
    chooses_steps,
    expected,
    gamma,
    most_steps,
    stage_of,
)
from cfl_cli.methods.interface import TableSize

SMALL = TableSize(1000, 5, (3, 4))


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
