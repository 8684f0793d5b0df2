"""The stages of the graph, how long they take by hand, and what settings leave to hidden cells."""

import pytest

from cfl_cli.core.progress import Work
from cfl_cli.core.settings import DEFAULT_GAMMA, Settings
from cfl_cli.methods import graph
from cfl_cli.methods.graph import expected, gamma, stage_of
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


def test_settings_give_gamma_or_leave_it_at_its_default():
    assert gamma(Settings(gamma="auto")) == gamma(Settings()) == DEFAULT_GAMMA
    assert [gamma(Settings("auto", gamma=value)) for value in (0.0, 0.5)] == [0.0, 0.5]
